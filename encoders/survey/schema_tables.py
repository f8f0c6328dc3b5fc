"""Reads the tables that surveys of people and of silos share: [survey], [label], [features.NAME], texts.

Every mistake is noted with its path, so that all of them are reported at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from encoders.canonical import MAX_DIGITS, decimal_text, equal_width_edges, look_of, parse_decimal, text_fault
from encoders.epsilon_proof import MAX_EPSILON, MIN_EPSILON
from encoders.errors import RowError, SurveyError
from encoders.survey.compiled_plan import ENROLMENTS, LOCAL, is_survey_id
from encoders.survey.conditions import KEY, read_conditions
from encoders.survey.features import (
    MOMENTS,
    NO_LABEL,
    SEPARATOR,
    BinnedFeature,
    CategoricalFeature,
    Choices,
    Feature,
    Label,
    NumericFeature,
    row_entries,
    split_choices,
)
from encoders.survey.parse_value import MISSING_TEXT, category_text
from encoders.survey.plan_checks import MAX_WEIGHT
from encoders.survey.row_cells import FeatureT, add_missing_codes
from encoders.survey.texts import MAX_TEXTS_BYTES, EntryNames, SurveyTexts, find_problems, values_with_texts

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
    ("features", "moments"): "only a survey of people asks for moments: delete it",
    ("", "tables"): "only a survey of people has tables: delete it",
    ("", "relay"): "only a survey of people has a relay: delete it",
    ("", "waves"): "only a survey of people has waves: delete it",
    ("", "series"): "only a survey of people belongs to a series: delete it",
    ("survey", "rows"): 'it is only for kind = "silo"',
    ("survey", "rows_per_person"): 'it is only for kind = "silo"',
    ("label", "missing"): 'add a value such as "unknown", which becomes a class',
}
"""What to write instead of an unknown key, by the first table of its path and its name."""
MAX_BINS = 1000
_KEYS_OF_A_KIND = (
    ("bins", "range", "range = [low, high]"),
    ("spread", "range", "range = [low, high] without bins"),
    ("moments", "range", "range = [low, high] without bins"),
    ("ordered", "values", "values = [...]; bins are ordered anyway"),
)

_ONE_KIND = (
    "needs exactly one of: values = [...], choices = [...] (several answers), range = [low, high] (and bins "
    "= N, or none), edges = [...]"
)


_IDS = {
    "id": "needs 1 to 64 of a-z, 0-9 and '-', for example \"sleep-2026\"",
    "family": "needs the id of the first survey of its family",
}
_WHO_ANSWERS = 'must be "open" (anybody answers) or "token" (by invitation)'
_WHICH_MOMENTS = 'must be "both" (the default) or "mean"'


def survey_kind(document: Table) -> str:
    """Return the kind that a parsed survey file states, "local" by default; empty if it is not a text."""
    table = document.get("survey")
    kind = table.get("kind", LOCAL) if isinstance(table, dict) else LOCAL
    return kind if isinstance(kind, str) else ""


class Mistake(NamedTuple):
    path: Path
    why: str
    value: str = ""


class SchemaReader:
    """Reads the tables of one document; a default replaces a mistaken entry, so that reading continues."""

    hints: Mapping[tuple[str, str], str] = HINTS
    table_keys: Mapping[str, Collection[str]]
    """The keys of each table that may be in the document."""
    tables_of_names = frozenset({"features", "about", "texts"})
    """Other entries of the document."""
    feature_keys = frozenset(
        {"values", "choices", "range", "bins", "edges", "missing", "missing_codes", "ordered", "weight"}
        | {"weights", "offset"}
    )

    def __init__(self, document: Table) -> None:
        self.document = document
        self.mistakes: list[Mistake] = []

    def note(self, path: Path, why: str, value: str = "") -> None:
        if (mistake := Mistake(path, why, value)) not in self.mistakes:
            self.mistakes.append(mistake)

    def accepts(self, check: Callable[[], object]) -> bool:
        """Return whether a check passes; note its problems, where the name of a feature may contain dots."""
        try:
            check()
        except SurveyError as error:
            for each in error.problems:
                self.note(tuple(each.field.split(".", 2)), each.why)
            return False
        return True

    # -- entries that occur in several tables ------------------------------------------------

    def check_keys(self, table: Table, known: Iterable[str], path: Path) -> None:
        for key in table:
            if key not in known:
                hint = self.hints.get(((*path, "")[0], key)) or f"known: {', '.join(sorted(known))}"
                self.note((*path, key), f"is not an entry here; {hint}")

    def check_name(self, name: object, path: Path, absent: str = "needs a name") -> None:
        if not (isinstance(name, str) and name):
            self.note(path, absent)
        elif why := text_fault(name):
            self.note(path, f"needs another name: this one {why}")

    def read_choice(self, table: Table, path: Path, known: Sequence[str], why: str) -> str:
        """Read one of several words, by default the first."""
        value = table.get(path[-1], known[0])
        if value not in known:
            self.note(path, why)
            return known[0]
        return str(value)

    def read_flag(self, table: Table, path: Path) -> bool:
        value = table.get(path[-1], False)
        if not isinstance(value, bool):
            self.note(path, "must be true or false")
        return value is True

    def read_whole(
        self, table: Any, path: Path, low: int, high: int, why: str, default: int | None = None
    ) -> int | None:
        """Read a whole number; the default if it is absent or mistaken."""
        value = _table(table).get(path[-1], default)
        if value is default or (type(value) is int and low <= value <= high):
            return value
        self.note(path, why)
        return default

    def read_missing(self, table: Table, path: Path) -> str:
        why = 'must be "category" (one more value) or "error" (it is refused)'
        return self.read_choice(table, (*path, "missing"), ("error", "category"), why)

    def read_weight(self, table: Any, path: Path, default: int | None) -> int | None:
        why = "needs a whole number from 0 (never asked) to 1,000,000"
        return self.read_whole(table, (*path, "weight"), 0, MAX_WEIGHT, why, default)

    def read_values(self, entries: Any, path: Path, fewest: int) -> tuple[str, ...]:
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
        bounds = self.read_edges(table.get("range"), path, "range")
        if bounds is None:
            return None
        if len(bounds) != 2:
            self.note((*path, "range"), "needs two numbers: [low, high]")
            return None
        return bounds[0], bounds[1]

    def read_edges(self, entries: Any, path: Path, key: str = "edges") -> tuple[str, ...] | None:
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

    # -- the fields of all surveys -----------------------------------------------------------

    def read_common(self) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
        """Check the keys of all tables; return the tables, and the fields that all surveys have."""
        tables = {name: self.read_table(name) for name in (*self.table_keys, "features")}
        self.check_keys(self.document, {*self.table_keys, *self.tables_of_names}, ())
        for name, known in self.table_keys.items():
            self.check_keys(tables[name], known, (name,))
        survey, label = tables["survey"], self.read_label(tables["label"])
        features = self.read_features(tables["features"])
        if label.exists and label.name in tables["features"]:
            self.note(("features", label.name), "has the label's name; the label is not a feature: delete it")
        for key, why in _IDS.items():
            if (key == "id" or key in survey) and not is_survey_id(survey.get(key)):
                self.note(("survey", key), why)
        return tables, {
            "id": str(survey.get("id")),
            "epsilon": self.read_epsilon(survey),
            "label": label,
            "features": features,
            "family": str(survey.get("family", "")),
            "enrolment": self.read_choice(survey, ("survey", "enrolment"), ENROLMENTS, _WHO_ANSWERS),
            "texts": self.read_texts(label, features),
        }

    def read_texts(self, label: Label, features: Sequence[Feature]) -> SurveyTexts | None:
        about, languages = (_strip(self.document.get(name, {})) for name in ("about", "texts"))
        conditions = {
            name: entry[KEY]
            for name, entry in _table(self.document.get("features")).items()
            if isinstance(entry, dict) and KEY in entry
        }
        rows = _names_of_rows(self.document, features)
        names = EntryNames(label.values if label.exists else None, label.name, rows)
        problems = list(find_problems(about, languages, conditions, names))
        for path, why in problems:
            self.note(path, why)
        if problems or not (about or languages or conditions):
            return None
        texts = SurveyTexts(about, languages, read_conditions(conditions))
        if len(texts.json) > MAX_TEXTS_BYTES:
            size = f"{len(texts.json):,} bytes, more than {MAX_TEXTS_BYTES:,}"
            self.note(("texts",), f"has {size} with [about]: shorten texts, or use fewer languages")
        return texts

    def read_table(self, name: str) -> dict[str, Any]:
        """Return a table of the document; an empty one if it is absent or no table."""
        entry = self.document.get(name, {})
        if not isinstance(entry, dict):
            self.note((name,), f"must be a table: [{name}]")
            return {}
        return entry

    def read_epsilon(self, table: Table, most: Decimal = MAX_EPSILON) -> Decimal:
        value = parse_decimal(table.get("epsilon"))
        if value is None or not MIN_EPSILON <= value <= most:
            self.note(("survey", "epsilon"), f"needs a number from {MIN_EPSILON} to {most}, for example 1.0")
            return Decimal(1)
        return value

    def read_label(self, table: Table) -> Label:
        if "label" not in self.document:
            return NO_LABEL
        name = table.get("name")
        self.check_name(name, ("label", "name"), "needs the name of the label's column")
        return Label(str(name), self.read_values(table.get("values"), ("label", "values"), 2))

    # -- [features.NAME] -------------------------------------------------------------------

    def read_features(self, tables: Table) -> tuple[Feature, ...]:
        if not tables:
            self.note(("features",), "add at least one table [features.NAME]")
        read = []
        for name, entry in tables.items():
            path = ("features", name)
            feature = self.read_feature(name, entry, path)
            read += [self.read_missing_codes(feature, entry, path)] if feature else []
        return split_choices(read)

    def read_missing_codes(self, feature: FeatureT, entry: Table, path: Path) -> FeatureT:
        """Return a feature with its codes for missing answers in rows, if the author lists any."""
        if "missing_codes" not in entry:
            return feature
        try:
            if "weights" in entry:
                raise RowError(
                    feature.name, "belongs to the inputs of the projection: write it in their tables"
                )
            return add_missing_codes(feature, entry["missing_codes"])
        except RowError as error:
            self.note((*path, "missing_codes"), error.why)
            return feature

    def read_feature(self, name: str, entry: Any, path: Path) -> Feature | None:
        """Read one feature; None if it has a mistake without a default."""
        self.check_name(name, path)
        if not isinstance(entry, dict):
            self.note(path, f"must be a table: [features.{name}]")
            return None
        self.check_keys(entry, self.feature_keys, path)
        missing = self.read_missing(entry, path)
        kinds = [key for key in ("values", "choices", "range", "edges") if key in entry]
        if len(kinds) != 1:
            self.note(path, _ONE_KIND)
            return None
        for key, kind, why in _KEYS_OF_A_KIND:
            if key in entry and kinds != [kind]:
                self.note((*path, key), f"is only for {why}: delete it")
        if kinds == ["choices"]:
            return self.read_choices(name, entry["choices"], missing, path)
        if kinds == ["values"]:
            values = self.read_values(entry["values"], (*path, "values"), 1 if missing == "category" else 2)
            if MISSING_TEXT in values:
                self.note(
                    (*path, "values"),
                    f'{MISSING_TEXT!r} is reserved for a missing value: write missing = "category" instead',
                    MISSING_TEXT,
                )
            return CategoricalFeature(name, values, missing, self.read_flag(entry, (*path, "ordered")))
        if kinds == ["edges"]:
            edges = self.read_edges(entry["edges"], path)
            return BinnedFeature(name, edges, missing) if edges else None
        return self.read_range(name, entry, missing, path)

    def read_range(self, name: str, entry: Table, missing: str, path: Path) -> Feature | None:
        bounds = self.read_bounds(entry, path)
        if "bins" not in entry:
            if not bounds:
                return None
            return NumericFeature(
                name,
                *bounds,
                missing,
                spread=self.read_spread(entry, bounds, path),
                moments=self.read_choice(entry, (*path, "moments"), MOMENTS, _WHICH_MOMENTS),
            )
        for key in [each for each in ("spread", "moments") if each in entry]:
            self.note((*path, key), "is only for range = [low, high] without bins: delete it")
        why = f"needs a whole number of bins from 2 to {MAX_BINS}"
        bins = self.read_whole(entry, (*path, "bins"), 2, MAX_BINS, why)
        if not (bins and bounds):
            return None
        return BinnedFeature(name, equal_width_edges(Decimal(bounds[0]), Decimal(bounds[1]), bins), missing)

    def read_spread(self, entry: Table, bounds: tuple[str, str], path: Path) -> float | None:
        """Read the standard deviation that the author expects of a number."""
        if "spread" not in entry:
            return None
        spread, width = parse_decimal(entry["spread"]), Decimal(bounds[1]) - Decimal(bounds[0])
        if spread is not None and width / 10**6 <= spread <= width / 2:
            return float(spread)
        wanted = "a number from a millionth to a half of the width of the range"
        self.note((*path, "spread"), f"needs the expected standard deviation: {wanted}")
        return None

    def read_choices(self, name: str, entries: Any, missing: str, path: Path) -> Choices:
        values = self.read_values(entries, (*path, "choices"), 2)
        for value in values:
            why = f"cannot be {MISSING_TEXT!r}, contain {SEPARATOR!r}, or begin or end with a space"
            if value == value.strip() != MISSING_TEXT and SEPARATOR not in value:
                why = text_fault(f"{name}: {value}")
            if why:
                self.note((*path, "choices"), f"the choice, with the feature's name, {why}", value)
        return Choices(name, values, missing)


def _strip(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {key: _strip(each) for key, each in entry.items()}
    return entry.strip() if isinstance(entry, str) else entry


def _names_of_rows(document: Table, features: Sequence[Feature]) -> dict[str, Collection[str] | None]:
    """Return the entries of a row, and their values that may have texts; None for a mistaken entry."""
    tables = _table(document.get("features"))
    read = {each.name: values_with_texts(each) for each in row_entries(features)}
    names: dict[str, Collection[str] | None] = {
        name: read.get(name) for name, entry in tables.items() if "weights" not in _table(entry)
    }
    for name, entry in _table(_table(document.get("projection")).get("inputs")).items():
        names[name] = (MISSING_TEXT,) if _table(entry).get("missing") == "category" else ()
    return names


def _table(value: object) -> Table:
    return value if isinstance(value, dict) else {}
