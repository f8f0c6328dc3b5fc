"""Applies the operations of the page to a survey's text, with those that need a compiled survey: relays.

With a relay, the epsilon of a survey follows from the promise: it is the largest that keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from encoders.canonical import decimal_text
from encoders.errors import SurveyError
from encoders.survey import Survey, read_survey
from encoders.survey.divide_epsilon import EQUAL
from encoders.survey.plan_checks import MAX_SUM
from ldp_design.authoring.relay_overview import MAX_LOCAL_EPSILON
from ldp_design.sizing.sample_size import round_up
from ldp_design.studio.blocks import Literal
from ldp_design.studio.edits import SurveyText

_PEOPLE = 2_000
_BATCH_SHARE = 0.6
_FAILURES = Decimal("0.01")
"""Delta times the number of people is at most this, as `check` recommends."""


def apply_operations(text: str, operations: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of a survey after operations; raises EditError or LayoutError."""
    survey = SurveyText(text)
    for each in operations:
        if each.get("op") == "relay":
            _set_relay(survey, each.get("value"))
        elif each.get("op") == "fit":
            survey = SurveyText(_fit_epsilon(survey.finish()))
        else:
            survey.apply(each)
    return survey.finish()


def _set_relay(survey: SurveyText, ask: Any) -> None:
    """Add a relay, or change how many questions each person answers; without `ask`, delete the relay."""
    promised = survey.find(("relay", "epsilon"))
    if not ask:
        survey.delete(("relay",))
        if promised is not None:
            survey.set(("survey", "epsilon"), Literal(str(promised)))
        return
    if survey.find(("relay",)) is None:
        survey.add(("relay",), _default_relay(survey))
    if ask == "all":
        survey.set(("relay", "ask"), "all")
    else:
        for key in ("ask", "divide"):
            survey.delete(("relay", key))


def _default_relay(survey: SurveyText) -> dict[str, Any]:
    """Return the entries of a relay whose address and times the author replaces."""
    users = survey.find(("survey", "users"))
    people = users if isinstance(users, int) and users > 0 else _PEOPLE
    delta = min(Decimal("1e-6"), Decimal(10) ** (_FAILURES / people).adjusted())
    epsilon = survey.find(("survey", "epsilon"))
    now = datetime.now(UTC)
    first, second = ((now.month + month, now.year) for month in (1, 2))
    opens, closes = (
        f"{year + (month - 1) // 12}-{(month - 1) % 12 + 1:02}-01T00:00:00Z"
        for month, year in (first, second)
    )
    times = {} if survey.find(("waves",)) else {"opens": Literal(opens), "closes": Literal(closes)}
    return {
        "url": f"https://relay.example/{survey.find(('survey', 'id')) or 'my-survey'}",
        "batch": batch_of(people),
        "honest": Literal("0.73"),
        "epsilon": Literal(str(epsilon if epsilon is not None and float(epsilon) <= 2 else 1)),
        "delta": Literal(decimal_text(max(delta, Decimal("1e-9")))),
        **times,
    }


def batch_of(people: int) -> int:
    """Return the largest batch that does not risk that too few people answer."""
    return max(int(people * _BATCH_SHARE), 2)


def _fit_epsilon(text: str) -> str:
    """Return a survey with a relay with the largest epsilon that keeps the promise; else the text itself."""
    try:
        survey = read_survey(text)
        if survey.relay is None:
            return text
        largest = find_largest_epsilon(survey)
    except (SurveyError, ValueError):
        return text  # `check` tells the author what is wrong
    changed = SurveyText(text)
    changed.set(("survey", "epsilon"), Literal(decimal_text(largest)))
    return changed.finish()


def find_largest_epsilon(survey: Survey) -> Decimal:
    """Return the largest epsilon of a survey with a relay that keeps the promise, and that clients accept."""
    assert survey.relay
    most = MAX_SUM if survey.asks_all else MAX_LOCAL_EPSILON
    fitted = replace(survey, epsilon=max(most, survey.relay.epsilon), divide=EQUAL).fit_promise()
    return fitted.epsilon
