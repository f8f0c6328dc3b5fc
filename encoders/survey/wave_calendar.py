"""The times of waves at equal steps of the calendar."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta

from encoders.errors import SurveyError
from encoders.survey.waves import Wave

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_DAYS = {"day": 1, "week": 7}
PERIODS = (*_DAYS, *_MONTHS)


def schedule_waves(first: date, every: str, count: int, open_days: int | None) -> tuple[Wave, ...]:
    """Return waves at equal steps of the calendar; each opens at midnight UTC.

    `every` is one of `PERIODS`. Without `open_days`, each wave is open until the next one. Raises SurveyError
    if a date is beyond the calendar.
    """
    try:
        days = [_step(first, every, number) for number in range(count + 1)]
        ends = days[1:] if open_days is None else [day + timedelta(open_days) for day in days[:-1]]
    except (ValueError, OverflowError):
        raise SurveyError(
            "the last wave is beyond the calendar: use fewer or shorter ones", "waves.count"
        ) from None
    return tuple(
        Wave(_name(day, every), _seconds(day), _seconds(end))
        for day, end in zip(days[:-1], ends, strict=True)
    )


def _step(first: date, every: str, number: int) -> date:
    """Return the first day of a wave; a month that lacks this day begins with its last one."""
    if every in _DAYS:
        return first + timedelta(number * _DAYS[every])
    year, month = divmod(first.year * 12 + first.month - 1 + number * _MONTHS[every], 12)
    return date(year, month + 1, min(first.day, calendar.monthrange(year, month + 1)[1]))


def _name(day: date, every: str) -> str:
    if every == "quarter":
        return f"{day.year:04}-q{(day.month + 2) // 3}"
    return day.isoformat()[: {"year": 4, "month": 7}.get(every, 10)]


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
