"""Reads single entries of a survey file's tables, and notes every mistake with its path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from encoders.nfc import look_of, text_fault
from encoders.survey.canonical import MAX_DIGITS, decimal_text, parse_decimal
from encoders.survey.parse_value import category_text
from encoders.survey.plan_checks import LOCAL, MAX_WEIGHT

Path = tuple[str, ...]
Table = Mapping[str, Any]
_ORDERED_HINT = "write ordered = true, or, if the steps are numbers, range = [low, high] instead of values"
_MULTIPLE_HINT = "for several answers, write choices = [...] instead of values"
HINTS = {
    ("features", "ordinal"): _ORDERED_HINT,
    ("features", "scale"): _ORDERED_HINT,
    ("features", "multiple"): _MULTIPLE_HINT,
    ("features", "multi"): _MULTIPLE_HINT,
    ("features", "several"): _MULTIPLE_HINT,
    ("features", "alone"): "only a survey of people has tables: delete it",
    ("", "tables"): "only a survey of people has tables: delete it",
    ("", "relay"): "only a survey of people has a relay: delete it",
    ("survey", "rows"): 'it is only for kind = "silo"',
    ("survey", "rows_per_person"): 'it is only for kind = "silo"',
    ("label", "missing"): 'add a value such as "unknown", which becomes a class',
}
"""What to write instead of an unknown key, by the first table of its path and its name."""


def survey_kind(document: Table) -> str:
    """Return the kind that a parsed survey file states, "local" by default; empty if it is not a text."""
    table = document.get("survey")
    kind = table.get("kind", LOCAL) if isinstance(table, dict) else LOCAL
    return kind if isinstance(kind, str) else ""


class Mistake(NamedTuple):
    """A mistake: the path of the entry, what is wrong, and the wrong text of its list, if there is one."""

    path: Path
    why: str
    value: str = ""


class EntryReader:
    """Reads entries that occur in several tables, such as names and bounds, and notes every mistake."""

    hints: Mapping[tuple[str, str], str] = HINTS

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def note(self, path: Path, why: str, value: str = "") -> None:
        """Note a mistake."""
        self.mistakes.append(Mistake(path, why, value))

    def check_keys(self, table: Table, known: Iterable[str], path: Path) -> None:
        """Note every unknown key of a table."""
        for key in table:
            if key not in known:
                hint = self.hints.get(((*path, "")[0], key)) or f"known: {', '.join(sorted(known))}"
                self.note((*path, key), f"is not an entry here; {hint}")

    def check_name(self, name: str, path: Path) -> None:
        """Note a mistake in the name of a table."""
        if not name:
            self.note(path, "needs a name")
        elif why := text_fault(name):
            self.note(path, f"needs another name: this one {why}")

    def read_missing(self, table: Table, path: Path) -> str:
        """Read the treatment of a missing value: "category" or "error"."""
        value = table.get("missing", "error")
        if value in ("category", "error"):
            return str(value)
        self.note((*path, "missing"), 'must be "category" (one more value) or "error" (it is refused)')
        return "error"

    def read_weight(self, table: Any, path: Path, default: int | None) -> int | None:
        """Read the weight of a question."""
        if not isinstance(table, dict) or "weight" not in table:
            return default
        value = table["weight"]
        if not (type(value) is int and 0 <= value <= MAX_WEIGHT):
            self.note((*path, "weight"), "needs a whole number from 0 (never asked) to 1,000,000")
            return default
        return value

    def read_values(self, entries: Any, path: Path, fewest: int) -> tuple[str, ...]:
        """Read a list of different texts."""
        listed = entries if isinstance(entries, list) else []
        texts = [entry if isinstance(entry, str) else category_text(entry) for entry in listed]
        if len(texts) < fewest:
            self.note(path, f'needs a list of at least {fewest} values, for example ["tea", "coffee"]')
        if not all(texts):
            self.note(path, "each value must be a text that is not empty, a whole number, true or false")
        for text in filter(None, dict.fromkeys(texts)):
            if why := text_fault(text):
                self.note(path, f"the value {text!a} {why}", text)
        looks = Counter(look_of(text) for text in texts if text and not text_fault(text))
        repeated = [look for look, count in looks.items() if count > 1]
        if repeated:
            self.note(path, f"has repeated values: {', '.join(sorted(repeated))}")
        return tuple(dict.fromkeys(text for text in texts if text))

    def read_bounds(self, table: Table, path: Path) -> tuple[str, str] | None:
        """Read range = [low, high]."""
        bounds = self.read_edges(table.get("range"), path, "range")
        if bounds is None:
            return None
        if len(bounds) != 2:
            self.note((*path, "range"), "needs two numbers: [low, high]")
            return None
        return bounds[0], bounds[1]

    def read_edges(self, entries: Any, path: Path, key: str = "edges") -> tuple[str, ...] | None:
        """Read a list of increasing numbers."""
        numbers = [parse_decimal(entry) for entry in entries] if isinstance(entries, list) else []
        finite = [value for value in numbers if value is not None]
        fewest = 2 if key == "range" else 3
        if len(finite) < fewest or len(finite) < len(numbers):
            self.note((*path, key), f"needs at least {fewest} finite numbers of up to {MAX_DIGITS} digits")
            return None
        if sorted({float(value) for value in finite}) != [float(value) for value in finite]:
            self.note((*path, key), "numbers must increase, low before high")
            return None
        return tuple(decimal_text(value) for value in finite)
