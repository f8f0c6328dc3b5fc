"""Infers a feature from a column of a sample: categories, several answers, or numbers in bins."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from encoders.explain.nonresponse import OTHER, is_complete
from encoders.nfc import to_nfc
from encoders.survey.choices import SEPARATOR
from encoders.survey.decimals import parse_decimal
from encoders.survey.parse_value import MISSING_TEXT
from encoders.survey.plan_checks import is_text
from ldp_design.authoring.toml_edit import (
    format_array,
    format_decimal,
    format_values,
    is_whole_number,
    quote,
)

MAX_VALUES = 50
"""Maximum number of categories of a column of texts; with more, each is too rare to estimate."""

MAX_DISTINCT_NUMBERS = 10
"""Maximum number of different numbers that become single values; with more, numbers go into bins."""

MAX_BINS = 8

_UNREPRESENTABLE = "its numbers have too many digits for edges of bins, or are too large or small"
_MISSING_WORDS = {"?", "-", ".", "na", "n/a", "nan", "none", "null"}
_BOOLEAN_TEXTS = {"True", "False", "TRUE", "FALSE"}


@dataclass(frozen=True)
class InferredFeature:
    """The inferred entries of a feature, or the reason why its column is left out."""

    entries: tuple[str, ...] = ()
    """Lines of TOML with comments that ask for confirmation; empty if the column is left out."""
    left_out: str = ""


def infer_feature(cells: Sequence[str]) -> InferredFeature:
    """Infer a feature from the cells of a column, as texts of a CSV file."""
    numbers = [number for cell in cells if (number := parse_number(cell)) is not None]
    finite = sorted({number for number in numbers if math.isfinite(number)})
    if len(numbers) < len(cells) or _has_leading_zeros(cells) or not finite:
        return _infer_categories(cells)
    if infinite := sum(map(math.isinf, numbers)):
        return InferredFeature(left_out=f"{infinite} of its numbers are infinite: empty those cells?")
    gaps = sum(map(math.isnan, numbers))
    if len(finite) > MAX_DISTINCT_NUMBERS:
        return _infer_bins(cells, finite, gaps)
    if all(cell == "" or is_whole_number(cell) for cell in cells):
        return _infer_categories(cells)
    return _infer_bin_per_number(finite, cells, gaps)


def parse_number(cell: str) -> float | None:
    """Return a cell's number, NaN if the cell is empty, None if it is not a number.

    Reads a cell as :meth:`BinnedFeature.from_text` does.
    """
    try:
        return float(cell) if cell.strip() else math.nan
    except ValueError:
        return None


def _has_leading_zeros(cells: Sequence[str]) -> bool:
    """Return whether any cell is a code of digits, such as 007 or 02134, and not a number."""
    return any(len(cell) > 1 and cell.isdigit() and cell.startswith("0") for cell in cells)


# -- categories ---------------------------------------------------------------------------------


def _infer_categories(cells: Sequence[str]) -> InferredFeature:
    texts = find_values(cells)
    if not texts:
        return InferredFeature(left_out="empty in every row")
    if len(texts) == 1 and "" not in cells:
        return InferredFeature(left_out="the same in every row")
    if choices := find_choices(texts):
        comment = f'# guess: several answers, separated by "{SEPARATOR}"; all choices of the sample; confirm'
        note = f'# In a CSV file an empty cell is a missing answer, and "{SEPARATOR}" alone ticks no choice.'
        missing = _format_missing(cells, sum(not cell.strip() for cell in cells))
        return InferredFeature((comment, note, format_values(choices, name="choices"), *missing))
    if not all(map(is_text, texts)) or MISSING_TEXT in texts:
        return InferredFeature(left_out=f"texts that are not printable, too long, or {MISSING_TEXT}")
    if len(texts) > MAX_VALUES:
        return InferredFeature(
            left_out=f"{len(texts)} different texts, more than {MAX_VALUES}{_explain_mixed_column(texts)}"
        )
    hints = [f"# {hint}" for hint in find_spelling_hints(texts)]
    comment = "# guess: all values of the sample; confirm, and add those that it lacks"
    return InferredFeature((comment, *hints, *format_value_list(texts), *_format_missing(cells)))


def find_choices(texts: Sequence[str]) -> list[str]:
    """Return the choices if the different texts of a column are lists of them, otherwise nothing.

    They are lists if several texts have a choice in common, or if the separator alone is a text.
    """
    lists = [{part.strip() for part in text.split(SEPARATOR)} - {""} for text in texts]
    counts = Counter(part for each in lists for part in each)
    has_lists = SEPARATOR in map(str.strip, texts) or (
        any(len(each) > 1 for each in lists) and max(counts.values()) > 1
    )
    is_usable = 2 <= len(counts) <= MAX_VALUES and all(map(is_text, counts)) and MISSING_TEXT not in counts
    return sorted(counts) if has_lists and is_usable else []


def find_values(cells: Sequence[str]) -> list[str]:
    """Return the different texts of a column in NFC, sorted.

    If all of them spell true or false, for example "True", and both occur, they are "false" and "true".
    """
    texts = set(map(to_nfc, cells)) - {""}
    booleans = {text.strip().lower() for text in texts}
    return sorted(booleans if booleans == {"true", "false"} else texts)


def format_value_list(texts: Sequence[str]) -> list[str]:
    """Return the lines of `values`, with "other" at the end unless the list seems complete."""
    if is_complete(texts):
        return [format_values(texts)]
    comment = f'# guess: "{OTHER}" stands for every answer that is not listed; confirm'
    return [comment, format_values(texts, (OTHER,))]


def _format_missing(cells: Sequence[str], gaps: int | None = None) -> list[str]:
    gaps = cells.count("") if gaps is None else gaps
    if not gaps:
        return []
    return [f"# guess: {gaps} of {len(cells)} rows have no answer; confirm", 'missing = "category"']


def find_spelling_hints(texts: Sequence[str]) -> list[str]:
    """Return hints about values that an application may spell differently: numbers, booleans, missing."""
    hints = []
    missing_words = [text for text in texts if text.strip().lower() in _MISSING_WORDS | {""}]
    if missing_words:
        hints.append(
            f'{quote(missing_words[0])}: if it means "no answer", leave it out and write missing = "category"'
        )
    booleans = [text for text in texts if text in _BOOLEAN_TEXTS]
    if booleans:
        hints.append(f"{quote(booleans[0])}: an application's True and False are the values true and false")
    decimals = [text for text in texts if text.endswith(".0") and is_whole_number(text[:-2])]
    if decimals:
        hints.append(f"{quote(decimals[0])}: an application's {decimals[0]} is the value {decimals[0][:-2]}")
    return hints


def _explain_mixed_column(texts: Sequence[str]) -> str:
    """Return a hint if nearly all texts of a column are numbers."""
    texts_among_numbers = [text for text in texts if parse_number(text) is None]
    if len(texts_among_numbers) > len(texts) // 10:
        return ""
    return f"; all but {', '.join(map(quote, texts_among_numbers[:3]))} are numbers: empty those cells?"


# -- numbers ------------------------------------------------------------------------------------


def _infer_bin_per_number(numbers: Sequence[float], cells: Sequence[str], gaps: int) -> InferredFeature:
    if len(numbers) == 1:
        return InferredFeature(left_out="the same number in every row that has one")
    exact = [Decimal(repr(number)) for number in numbers]
    edges = [*exact, 2 * exact[-1] - exact[-2]]
    if not all(parse_decimal(edge) is not None for edge in edges):
        return InferredFeature(left_out=_UNREPRESENTABLE)
    comment = "# guess: a bin for each number of the sample, from it up to the next; confirm"
    return InferredFeature(
        (comment, format_array("edges", map(format_decimal, edges)), *_format_missing(cells, gaps))
    )


def _infer_bins(cells: Sequence[str], numbers: Sequence[float], gaps: int) -> InferredFeature:
    low, high = Decimal(repr(numbers[0])), Decimal(repr(numbers[-1]))
    if high - low < max(abs(low), abs(high)) / 10**9:
        return InferredFeature(left_out="its numbers differ in the tenth digit and beyond")
    start, end, bins = round_outward(low, high)
    if parse_decimal(start) is None or parse_decimal(end) is None:
        return InferredFeature(left_out=_UNREPRESENTABLE)
    sample_range = f"the sample has {format_decimal(low)} to {format_decimal(high)}, here rounded outward"
    width = format_decimal((end - start) / bins)
    entries = [
        f"# guess: {sample_range}; numbers beyond are clipped; confirm",
        f"range = [{format_decimal(start)}, {format_decimal(end)}]",
        f"# guess: each bin is {width} wide; confirm; with fewer bins, estimates are more accurate",
        f"bins = {bins}",
        *_format_missing(cells, gaps),
    ]
    if len(numbers) == len(cells):
        entries.insert(0, "# every row has a different number: leave it out if it identifies people")
    return InferredFeature(tuple(entries))


def round_outward(low: Decimal, high: Decimal) -> tuple[Decimal, Decimal, int]:
    """Return a range around low and high, and its number of bins, at most MAX_BINS.

    The width of a bin is 1, 2, 2.5 or 5 times a power of ten.
    """
    power = (high - low).adjusted() - 1
    while True:
        for digit in ("1", "2", "2.5", "5"):
            step = Decimal(digit).scaleb(power)
            first = (low / step).to_integral_value(ROUND_FLOOR)
            last = (high / step).to_integral_value(ROUND_CEILING)
            if last - first <= MAX_BINS:
                return first * step, last * step, int(last - first)
        power += 1
