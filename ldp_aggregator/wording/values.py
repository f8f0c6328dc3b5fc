"""Values of statements and tables: numbers and names that state how they are written; bounds, rounded up."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import groupby, pairwise
from types import MappingProxyType

from encoders.mechanisms.counted_table import CountTable
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.display_texts import DisplayText, display_texts, join_texts
from encoders.survey.features import ChoiceFeature
from ldp_aggregator.wording.language import LANGUAGE
from ldp_aggregator.wording.statement import Texts

MAX_MARGIN = 0.5
"""An estimate is unknown if its margin, before it is cut, is larger than this share of the range."""
_MAX_NAMED = 8
"""Number of names that a short text writes."""
_ROUND_UP = Context(prec=3, rounding=ROUND_CEILING)
_MAX_DIGITS = 4
"""Largest number of decimals of a bound near 100%."""
_SHORT = Context(prec=4, rounding=ROUND_CEILING)
_LONG = Context(prec=60, rounding=ROUND_CEILING)
_LEAST_PLAIN = -4
_HUGE = 10**12
"""From this number on, a factor is written with an exponent."""

WORDS = Texts("ldp_aggregator.wording")


_SHOWN: ContextVar[Mapping[tuple[str, str], str]] = ContextVar("_SHOWN", default=MappingProxyType({}))
"""What is written for the name of a feature, a question or the label, and for its values."""


def quote(name: str, value: str = "") -> str:
    """Return the quoted question for a name, or the text of one of its values; without a text, themselves."""
    return _SHOWN.get().get((name, value), value or name)


@contextmanager
def quote_questions(plan: AnyPlan) -> Iterator[None]:
    """Let :func:`quote` return meanwhile the texts of a survey in the language of the page."""
    texts, shown = display_texts(plan, LANGUAGE.get().tag), dict[tuple[str, str], str]()
    label = {plan.row_label.name: texts.label} if texts.label else {}
    for name, entry in {**texts.features, **label}.items():
        if isinstance(entry.title, DisplayText):
            shown[name, ""] = join_texts(WORDS.write("values.quoted", text=entry.title), [entry.title])
        shown |= {(name, value): text for value, text in entry.values.items()}

    questions = (getattr(each, "asked_features", ()) for each in plan.questions)
    for asked in [*((each,) for each in plan.features), *questions]:
        names, titles, parts = [each.name for each in asked], [], []
        for name, group in groupby(asked, key=lambda each: each.row_name):
            choices = [shown[name, each.choice] for each in group if isinstance(each, ChoiceFeature)]
            titles.append(shown.get((name, ""), name))
            parts.append(f"{titles[-1]} ({', '.join(choices)})" if choices else titles[-1])
        if any(isinstance(each, DisplayText) for each in titles):
            text = join_texts(" \u00d7 ".join(parts), titles)
            shown |= dict.fromkeys([(sign.join(names), "") for sign in (" x ", ", ")], text)
            shown |= {(", ".join(names) + end, ""): text + end for end in (" (mean)", " (square)")}
    token = _SHOWN.set(shown)
    try:
        yield
    finally:
        _SHOWN.reset(token)


def localise(number: str) -> str:
    """Return a number that has commas between thousands and a decimal point in the signs of the language."""
    if not LANGUAGE.get().words:
        return number
    shown = re.fullmatch(r"1(\D*)234(\D)5", WORDS.write("values.number"))
    assert shown
    return number.translate({ord(","): shown[1], ord("."): shown[2]})


def write_percent(number: str) -> str:
    """Return a percentage in the signs of the language."""
    return WORDS.write("values.percent", number=localise(number)) if LANGUAGE.get().words else f"{number}%"


def write_bins(edges: Sequence[str]) -> list[str]:
    """Return the names of the bins between edges, as :attr:`BinnedFeature.texts` has them in English."""
    limits = [localise(each) for each in edges]
    spans = [WORDS.write("values.interval", low=low, high=high) for low, high in pairwise(limits)]
    if len(spans) > 1:
        spans[0] = WORDS.write("values.first-bin", edge=limits[1])
        spans[-1] = WORDS.write("values.last-bin", edge=limits[-2])
    return spans


def write_time(time: str) -> str:
    """Return a time as 2026-03-31 12:00, which is in UTC, in the form of the language."""
    year, month, day, clock = re.split("[- ]", time)
    return WORDS.write("values.time", year=year, month=month, day=day, clock=clock)


def write_unknown() -> str:
    """Return what is shown where an interval covers nearly all values."""
    return WORDS.write("values.unknown")


class Count(int):
    """A number of reports, people or rows: 12,345."""

    def __str__(self) -> str:
        return localise(f"{int(self):,}")


class Counted(Count):
    """A number with what it counts, a name in counted.md: "1 report", "2,000 people"."""

    noun: str

    def __new__(cls, number: int, noun: str) -> Counted:
        found = super().__new__(cls, number)
        found.noun = noun
        return found

    def __str__(self) -> str:
        return WORDS.write(f"counted.{self.noun}", number=Count(self), one=self == 1)


class Share(float):
    """A share: 53.9%, without a negative zero."""

    def __str__(self) -> str:
        return write_percent(f"{round(100 * float(self), 1) + 0.0:.1f}")


class RoundShare(float):
    """A share that is a round number: 50%."""

    def __str__(self) -> str:
        return write_percent(f"{100 * float(self):.0f}")


class ShareAtMost(float):
    """An upper bound on a probability, rounded up; see :func:`percent_at_most`."""

    def __str__(self) -> str:
        return percent_at_most(float(self))


class FactorAtMost(float):
    """An upper bound on a factor, rounded up; see :func:`factor_at_most`."""

    def __str__(self) -> str:
        return factor_at_most(float(self))


class Number(float):
    """A number with at most four digits."""

    def __str__(self) -> str:
        return localise(f"{float(self):.4g}") if math.isfinite(self) else write_unknown()


class GivenShare(float):
    """A share that a person chose, with at most three digits: 5%, 12.5%."""

    def __str__(self) -> str:
        return write_percent(f"{100 * float(self):.3g}")


class ShareMargin(float):
    """The margin of a share: 9.1%."""

    def __str__(self) -> str:
        return str(Share(self)) if self < MAX_MARGIN else WORDS.write("values.half-or-more")


class NumberMargin(float):
    """The margin of a number in its own unit, with three digits."""

    def __str__(self) -> str:
        if not math.isfinite(self):
            return write_unknown()
        text = f"{float(f'{float(self):.3g}'):,.0f}" if self >= 100 else f"{float(self):.3g}"
        return localise(text)


class Points(float):
    """A difference of accuracies in percentage points: 3.4."""

    def __str__(self) -> str:
        return localise(f"{round(100 * float(self), 1) + 0.0:.1f}")


class SignedPoints(float):
    """A difference of accuracies with its sign: +3.4."""

    def __str__(self) -> str:
        return localise(f"{round(100 * float(self), 1) + 0.0:+.1f}")


class Names(tuple[str, ...]):
    """Names, all of which are written."""

    __slots__ = ()

    def __new__(cls, names: Iterable[str]) -> Names:
        """Take any iterable of names."""
        return super().__new__(cls, tuple(names))

    def __str__(self) -> str:
        return ", ".join(self)


class FirstNames(Names):
    """Names in a short text, of which the first eight are written."""

    __slots__ = ()

    def __str__(self) -> str:
        named, more = ", ".join(self[:_MAX_NAMED]), len(self) - _MAX_NAMED
        return WORDS.write("values.more", names=named, more=more) if more > 0 else named


def count_people(users: int) -> Counted:
    return Counted(users, "person")


def round_up(number: float, digits: int) -> int:
    """Round a number of people, rows or reports up to so many digits."""
    step: int = 10 ** max(len(str(int(number))) - digits, 0)
    return int(-(-number // step)) * step


def name_counted(mechanism: str | None) -> str:
    """Return what a feature's estimates count, for :class:`Counted`: reports, rows, or both."""
    if mechanism == CountTable.name:
        return "row"
    return "report-or-row" if mechanism and mechanism.endswith(f" + {CountTable.name}") else "report"


# -- upper bounds -----------------------------------------------------------------------------------


def percent_at_most(share: float) -> str:
    """Write an upper bound on a probability as a percentage with three digits, rounded up.

    A bound below 1 never becomes 100%: it has more digits instead, as 99.95%, and above 99.9999% it is
    "nearly 100%".
    """
    exact = 100 * Decimal(share)
    rounded = _ROUND_UP.plus(exact)
    digits = 2
    while rounded >= 100 and digits <= _MAX_DIGITS:
        rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
        digits += 1
    return WORDS.write("values.nearly-all") if rounded >= 100 else write_percent(f"{rounded:f}")


def factor_at_most(factor: float | Decimal) -> str:
    """Write an upper bound on a factor with three digits, rounded up; a huge one has an exponent."""
    rounded = _ROUND_UP.plus(Decimal(factor))
    plain = f"{rounded:,f}" if rounded < 100 else f"{int(rounded):,}"
    return localise(f"{rounded:.2e}" if rounded >= _HUGE else plain)


def format_share(share: float) -> str:
    return localise(f"{min(math.ceil(share * 1000) / 1000, 1.0):.3f}")


def format_amount(amount: Fraction) -> str:
    """Return an exact fraction as a decimal of at most four digits, rounded up."""
    long = _LONG.divide(_LONG.create_decimal(amount.numerator), _LONG.create_decimal(amount.denominator))
    short = long.normalize(_SHORT)
    return localise(format(short, "f" if not short or short.adjusted() >= _LEAST_PLAIN else "e"))


# -- numbers with an uncertainty, and intervals -----------------------------------------------------


_MAX_DECIMALS, _ROUNDING = 6, 1e-9
_MAX_WHOLE = 1e15

Format = Callable[[float], str]


def format_percent(share: float) -> str:
    """Return a share as a percentage with one decimal; only shares of 0 and 1 are 0.0% and 100.0%."""
    if _ROUNDING < share < 0.0005 or 0.9995 < share < 1 - _ROUNDING:
        name, limit = ("below", "0.1") if share < 0.5 else ("above", "99.9")
        return WORDS.write(f"values.{name}", percent=write_percent(limit))
    return write_percent(f"{round(100 * share, 1) + 0.0:.1f}")


def format_axis_percent(share: float) -> str:
    return write_percent(f"{100 * share:.4g}")


def format_points(difference: float) -> str:
    return localise(f"{round(100 * difference, 1) + 0.0:+.1f}")


def format_ratio(ratio: float) -> str:
    return localise(f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:#.3g}")


def choose_number_format(uncertainty: float | None) -> Format:
    """Return the function that formats numbers with the digits that their uncertainty justifies.

    Of `uncertainty`, a typical standard error, two digits are shown; None or 0 if it is unknown.
    """
    if not uncertainty or not math.isfinite(uncertainty):
        return lambda number: localise(f"{number:,.4g}")
    digits = min(1 - math.floor(math.log10(uncertainty)), _MAX_DECIMALS)  # below 0: tens, hundreds, ...
    return lambda number: localise(f"{round(number, digits) + 0.0:,.{max(digits, 0)}f}")


def format_interval(ends: tuple[float, float] | None, write: Format) -> str:
    """Return "0.1 to 0.2"; "unknown" without an interval."""
    if ends is None:
        return write_unknown()
    return WORDS.write("values.interval", low=write(ends[0]), high=write(ends[1]))


def format_plain(number: float) -> str:
    """Return a number of an axis or a range: whole numbers with all digits, others with six."""
    is_whole = number.is_integer() and abs(number) < _MAX_WHOLE
    return localise(f"{number:,.0f}" if is_whole else f"{number:,.6g}")
