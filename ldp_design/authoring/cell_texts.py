"""Recognises cells that are no answers of a survey: identifiers, dates, codes for missing answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from encoders.survey.parse_value import category_text

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


def are_codes(numbers: Collection[float]) -> bool:
    """Return whether all numbers of a column look like codes for missing answers of two digits or a sign."""
    return all(not 0 < each < 10 and _CODE.fullmatch(category_text(each) or "") for each in numbers)


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
