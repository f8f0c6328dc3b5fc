"""Infers a feature from a column of a sample, and recognises cells that are no answers, such as dates."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise

from encoders.canonical import is_text, parse_decimal, to_nfc
from encoders.errors import LdpError
from encoders.explain.nonresponse import OTHER, is_complete
from encoders.survey.features import SEPARATOR
from encoders.survey.parse_value import MISSING_TEXT, category_text
from ldp_design.authoring.toml_edit import format_array, format_decimal, format_values, is_whole_number, quote

MAX_VALUES = 50
"""Maximum number of categories of a column of texts; with more, each is too rare to estimate."""

MAX_DISTINCT_NUMBERS = 10
"""Maximum number of different numbers that become single values; with more, numbers go into bins."""

MAX_BINS = 8

_UNREPRESENTABLE = "its numbers have too many digits for edges of bins, or are too large or small"
_BOOLEAN_TEXTS = {"True", "False", "TRUE", "FALSE"}
_LABELLED_CODE = re.compile(r"[\[(]?(-?\d{1,4}|\.[a-z]?)[\])]?\s*[.:=)-]\s*[^\W\d].*", re.DOTALL)


class LeftOut(LdpError):
    """Why a column is left out of a draft."""


def infer_feature(cells: Sequence[str], choices: Sequence[str] = ()) -> list[str]:
    """Return lines of TOML that ask for confirmation, without texts that only one cell contains."""
    counts = count_values(cells)
    answers = [cell for cell in cells if cell.strip().lower() not in NO_ANSWER]
    choices = choices or find_choices(counts)
    if not "".join(cells).strip():
        raise LeftOut("empty in every row")
    if why := find_unsuitable(choices or counts):
        raise LeftOut(why)
    numbers = [number for cell in answers if (number := parse_number(cell)) is not None]
    if choices:
        return _infer_choices(cells, answers, choices)
    # codes of digits, such as 007 or 02134, are no numbers
    are_codes = any(len(cell) > 1 and cell.isdigit() and cell.startswith("0") for cell in answers)
    if not answers or len(numbers) < len(answers) or are_codes:
        return _infer_categories(cells, counts)
    if infinite := sum(map(math.isinf, numbers)):
        raise LeftOut(f"{infinite} of its numbers are infinite: empty those cells?")
    return _infer_numbers(cells, answers, numbers)


def parse_number(cell: str) -> float | None:
    """Return a cell's number as :meth:`BinnedFeature.from_text`: NaN if empty, None if it is not a number."""
    try:
        return float(cell) if cell.strip() else math.nan
    except ValueError:
        return None


# -- categories ---------------------------------------------------------------------------------


def _infer_categories(cells: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    texts = [text for text, count in counts.items() if count > 1]
    rare, hints = len(counts) - len(texts), find_spelling_hints(counts)
    if len(counts) == 1 and "" not in cells:
        raise LeftOut("the same in every row")
    if 2 * rare > sum(counts.values()) or len(texts) > MAX_VALUES:
        many = f"{len(counts)} different texts, more than {MAX_VALUES}"
        why = many if len(counts) > MAX_VALUES else "a different text in most rows"
        raise LeftOut("; ".join([why + _explain_mixed_column(cells), *hints]))
    if not all(map(is_text, texts)) or MISSING_TEXT in texts:
        raise LeftOut(f"texts that are not printable, too long, or {MISSING_TEXT}")
    comment = "# guess: all values that occur at least twice; confirm, and add those that the sample lacks"
    lines = format_value_list(texts, is_open=rare > 0)
    return [comment, *(f"# {hint}" for hint in hints), *lines, *_format_missing(cells)]


def _infer_choices(cells: Sequence[str], answers: Sequence[str], choices: Sequence[str]) -> list[str]:
    return [
        "# guess: several answers; confirm that all choices are listed",
        f'# In a CSV file an empty cell is a missing answer, and "{SEPARATOR}" alone ticks no choice.',
        *_list_missing_words(cells),
        format_values(choices, name="choices"),
        *_format_missing(cells, len(cells) - len(answers)),
    ]


def find_choices(counts: Mapping[str, int]) -> list[str]:
    """Return the choices if the different texts of a column are lists of them, otherwise nothing.

    Texts with ";" are lists if several have a choice in common, or if ";" alone is a text. Texts with commas
    or blanks are lists only if each choice is a text too: "Train, tram" may be one choice.
    """
    texts = {text: count for text, count in counts.items() if text.strip().lower() not in NO_ANSWER}
    for separator in (SEPARATOR, ",", " "):
        lists = {text: {part.strip() for part in text.split(separator)} - {""} for text in texts}
        lengths = Counter(part for parts in lists.values() for part in parts)
        cells = Counter(part for text, parts in lists.items() for part in parts for _ in range(texts[text]))
        choices = sorted(part for part, count in cells.items() if count > 1)
        is_list = any(len(parts) > 1 for parts in lists.values()) and max(lengths.values()) > 1
        if separator == SEPARATOR:
            is_list |= SEPARATOR in map(str.strip, texts)
        else:
            is_list &= texts.keys() >= set(choices)
        is_usable = 2 <= len(choices) <= MAX_VALUES and all(map(is_text, choices))
        if is_list and is_usable and MISSING_TEXT not in choices and SEPARATOR not in "".join(choices):
            return choices
    return []


def count_values(cells: Sequence[str]) -> Counter[str]:
    """Count the different texts of a column in NFC, without empty cells; booleans are "false" and "true"."""
    counts = Counter(to_nfc(cell) for cell in cells if cell)
    booleans = Counter(text.strip().lower() for text in counts.elements())
    return booleans if set(booleans) == {"true", "false"} else counts


def format_value_list(texts: Sequence[str], *, is_open: bool = False) -> list[str]:
    """Return the lines of `values`, with "other" at the end unless the list seems complete."""
    if is_complete((*texts, "a", "b", "c") if is_open else texts):
        return [format_values(texts)]
    comment = f'# guess: "{OTHER}" stands for every answer that is not listed; confirm'
    return [comment, format_values(texts, (OTHER,))]


def _format_missing(cells: Sequence[str], gaps: int | None = None) -> list[str]:
    gaps = cells.count("") if gaps is None else gaps
    if not gaps:
        return []
    return [f"# guess: {gaps} of {len(cells)} rows have no answer; confirm", 'missing = "category"']


def _list_missing_words(cells: Sequence[str]) -> list[str]:
    words = Counter(cell for cell in cells if cell.strip().lower() in NO_ANSWER - {"", "nan"})
    shown = [quote(word) for word, count in words.items() if count > 1] or ["such as NA"]
    comment = f"# {words.total()} cells ({', '.join(shown)}) mean no answer: empty them in files of rows"
    return [comment] if words else []


def find_spelling_hints(counts: Mapping[str, int]) -> list[str]:
    """Return hints about values that mean no answer or have several spellings, if at least two cells do."""
    spellings = Counter(map(_fold, counts))
    has_lists = 2 * sum("," in text for text in counts) >= len(counts)
    numbers = list(filter(is_whole_number, counts))
    tests: dict[str, Callable[[str], object]] = {
        'if it means "no answer", leave it out and write missing = "category"': (
            lambda text: text.strip().lower() in NO_ANSWER | {"none"}
        ),
        "an application's True and False are the values true and false": _BOOLEAN_TEXTS.__contains__,
        "an application's number is the value without .0": (
            lambda text: text.endswith(".0") and is_whole_number(text[:-2])
        ),
        "spellings differ in case or blanks only: keep one, and let applications pass it": (
            lambda text: spellings[_fold(text)] > 1
        ),
        'numbers among texts: if they are codes for "no answer", move them to missing_codes': (
            lambda text: text in numbers and 2 * len(numbers) <= len(counts)
        ),
        'codes of statistical software: write what applications pass, and leave out "no answer"': (
            _LABELLED_CODE.fullmatch
        ),
        'if these are several answers, joined by commas, separate them by ";" in the sample': (
            lambda text: has_lists and "," in text
        ),
    }
    found = {hint: sorted(filter(test, counts)) for hint, test in tests.items()}
    quoted = {hint: [quote(text) for text in texts if counts[text] > 1] for hint, texts in found.items()}
    return [
        f"{', '.join(quoted[each][:9]) or 'some texts'}: {each}" for each, texts in found.items() if texts
    ]


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _explain_mixed_column(cells: Sequence[str]) -> str:
    rows = [row for row, cell in enumerate(cells, 1) if parse_number(cell) is None]
    if not 0 < len(rows) <= len(cells) // 10:
        return ""
    return f"; all but {len(rows)} cells are numbers: empty row {rows[0]}?"


# -- numbers ------------------------------------------------------------------------------------


def _infer_numbers(cells: Sequence[str], answers: Sequence[str], numbers: Sequence[float]) -> list[str]:
    if are_serial(numbers):
        raise LeftOut("a different whole number in each row, such as an identifier")
    counts = Counter(number for number in numbers if math.isfinite(number))
    codes, doubtful = find_codes(counts)
    lines = [*_list_missing_words(cells), *_format_codes(counts, codes, doubtful)]
    for code in codes:
        del counts[code]
    texts = [text for text, number in zip(answers, numbers, strict=True) if number in counts]
    found = sorted(counts)
    shared = [number for number in found if counts[number] > 1]
    if all(not 0 < each < 10 and _CODE.fullmatch(category_text(each) or "") for each in found):
        raise LeftOut("only codes for missing answers, such as -99 or 999")
    if len(found) < 2:
        raise LeftOut("the same number in every row that has one")
    if len(found) <= MAX_DISTINCT_NUMBERS and len(shared) > 1 and all(map(is_whole_number, texts)):
        entries = _infer_categories(texts, Counter(texts))
    elif shared == found and len(found) <= MAX_DISTINCT_NUMBERS:
        entries = _infer_bin_per_number(found)
    else:
        entries = _infer_bins(found)
    if len(counts) == len(cells):
        lines.append("# every row has a different number: leave it out if it identifies people")
    missing = _format_missing(cells, len(cells) - len(texts))
    return [*lines, *entries, *missing]


def _format_codes(
    counts: Mapping[float, int], codes: Sequence[float], doubtful: Sequence[float]
) -> Iterator[str]:
    """Yield the line of codes that many cells contain, and comments on other numbers that may be codes."""
    frequent = [code for code in codes if counts[code] >= MIN_CODE_CELLS]
    listed, maybe = (
        format_array("missing_codes", [format_decimal(Decimal(repr(each))) for each in numbers])
        for numbers in (frequent, doubtful)
    )
    if frequent:
        yield "# guess: codes for missing answers, because they are far from all other numbers; confirm"
        yield listed
    if doubtful:
        yield f"# if these mean no answer, take them out of the values or the range, and write {maybe}"
    if rare := sum(counts[code] for code in codes if code not in frequent):
        yield f"# {rare} cells are far from all others: if they mean no answer, list them in missing_codes"


def _infer_bin_per_number(numbers: Sequence[float]) -> list[str]:
    exact = [Decimal(repr(number)) for number in numbers]
    edges = [*exact, 2 * exact[-1] - exact[-2]]
    if not all(parse_decimal(edge) is not None for edge in edges):
        raise LeftOut(_UNREPRESENTABLE)
    comment = "# guess: a bin for each number of the sample, from it up to the next; confirm"
    return [comment, format_array("edges", map(format_decimal, edges))]


def _infer_bins(numbers: Sequence[float]) -> list[str]:
    low, high = Decimal(repr(numbers[0])), Decimal(repr(numbers[-1]))
    if high - low < max(abs(low), abs(high)) / 10**9:
        raise LeftOut("its numbers differ in the tenth digit and beyond")
    start, end, bins = round_outward(low, high)
    if parse_decimal(start) is None or parse_decimal(end) is None:
        raise LeftOut(_UNREPRESENTABLE)
    width = format_decimal((end - start) / bins)
    return [
        "# guess: the range of the sample, rounded outward; numbers beyond are clipped; confirm",
        f"range = [{format_decimal(start)}, {format_decimal(end)}]",
        f"# guess: each bin is {width} wide; confirm; with fewer bins, estimates are more accurate",
        f"bins = {bins}",
    ]


def round_outward(low: Decimal, high: Decimal) -> tuple[Decimal, Decimal, int]:
    """Return a range and a number of bins, whose width is 1, 2, 2.5 or 5 times a power of ten."""
    power = (high - low).adjusted() - 1
    while True:
        for digit in ("1", "2", "2.5", "5"):
            step = Decimal(digit).scaleb(power)
            first = (low / step).to_integral_value(ROUND_FLOOR)
            last = (high / step).to_integral_value(ROUND_CEILING)
            if last - first <= MAX_BINS:
                return first * step, last * step, int(last - first)
        power += 1


NO_ANSWER = {"", "?", "-", "--", ".", "na", "n/a", "#n/a", "nan", "null"}
"""Texts in lower case that mean "no answer" among numbers or lists of choices."""
MIN_CODE_CELLS = 10
"""A number is called a code only if at least this many cells contain it."""

_LONGEST = 300
_NUMBER = "numbers with {}: write plain numbers into the sample, such as 1234.5, as applications pass them"
_UNIT = r"([$€£¥₹%]|usd|eur|gbp|chf|jpy|inr)?"
_KINDS = {
    "dates or times, which can identify people: ask for an age group, or a part of the day": (
        r"([^\W\d]{2,9}\.?,? )?(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
        r"|(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
        r"|\d{1,2}(st|nd|rd|th|\.)?[ -][^\W\d]{3,9}\.?,?[ -]\d{2,4}"
        r"|[^\W\d]{3,9}\.? \d{1,2}(st|nd|rd|th)?,? \d{4})([t, ].*)?|\d{1,2}:\d\d(:\d\d)?([ .,].*)?"
    ),
    _NUMBER.format("underscores, digits of another script or hexadecimal digits"): (
        r"[+-]?\d+(_\d+)+(\.\d*)?|0x[\da-f]+|(?=.*[^\x00-\x7f])[+-]?\d+([.\u066b]\d+)?"
    ),
    _NUMBER.format("separators of thousands, decimal commas, currencies or %, or answers joined by commas"): (
        rf"(?!-?\d+(\.\d+)?$)[-+\u2212]?{_UNIT}\s?[-+\u2212]?\d+([.,'\u2019 \u00a0\u202f]\d+)*\s?{_UNIT}"
    ),
}
"""What most texts of a column are if they match."""
_ADDRESSES = {
    "e-mail or web addresses": r".*([^\s@]@[^\s@]+\.\w|https?://|www\.).*",
    "telephone numbers": r"\+\d[\d ()/.-]{6,}",
    "network addresses": r"\[?((\d{1,3}\.){3}\d{1,3}|([\da-f]{1,4}:){7}[\da-f]{1,4}|[\da-f:]*::[\da-f:.]*"
    r"|([\da-f]{2}[:-]){5}[\da-f]{2})\]?(%\w+)?([:/]\d+)?",
}
"""What identifies people in a single text."""
_CODE = re.compile(r"-\d|[789]|-?(6{2,}|7{2,}|8{2,}|9{2,}|9+[5678])")


def find_unsuitable(texts: Collection[str]) -> str:
    """Return why the different texts of a column cannot be answers, as the end of a sentence; or ""."""
    short = [text.strip()[:_LONGEST].lower() for text in texts]
    short = [text for text in short if text not in NO_ANSWER]
    for kind, pattern in _ADDRESSES.items():
        if any(re.fullmatch(pattern, text, re.DOTALL) for text in short):
            return f"{kind}, which identify people"
    matches = {kind: sum(bool(re.fullmatch(each, text)) for text in short) for kind, each in _KINDS.items()}
    return next((kind for kind, count in matches.items() if 2 * count > len(short)), "")


def are_serial(numbers: Sequence[float]) -> bool:
    """Return whether the numbers of a column, in the order of its rows, look like numbers of people."""
    if len(numbers) < 10 or len(set(numbers)) < len(numbers) or not all(map(float.is_integer, numbers)):
        return False
    is_sorted = len({after > before for before, after in pairwise(numbers)}) == 1
    return min(numbers) >= 10**8 or (is_sorted and min(numbers) >= 1000)


def find_codes(counts: Mapping[float, int]) -> tuple[list[float], list[float]]:
    """Return the numbers of a column that are codes for missing answers, and those that may be.

    A code looks like -99, 8 or 999, and its distance from all other numbers is larger than their range. One
    digit is a code only if it is the only one. `counts` has the cells of each number.
    """
    looks = [each for each in sorted(counts) if _CODE.fullmatch(category_text(each) or "")]
    others = sorted(counts.keys() - looks)
    if len(others) < 2:
        return [], []

    def distance(number: float) -> float:
        return min(abs(number - each) for each in others)

    spacing = max(after - before for before, after in pairwise(others))
    for each in sorted(looks, key=distance):
        if distance(each) <= spacing and not each < 0 <= min(others):
            others.append(each)
    outside = [each for each in looks if each not in others]
    codes = [each for each in outside if distance(each) > max(others) - min(others)]
    digits = [each for each in codes if 0 < each < 10]
    codes = [each for each in codes if each not in digits or len(digits) == 1]
    return codes, [each for each in outside if each not in codes and counts[each] >= MIN_CODE_CELLS]
