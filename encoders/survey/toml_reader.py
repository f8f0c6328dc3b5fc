"""Reads a parsed survey entry by entry, and notes every mistake with its path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from encoders.epsilon_proof import MAX_EPSILON, MIN_EPSILON
from encoders.errors import SurveyError
from encoders.mechanisms import check_name, check_numeric_name
from encoders.survey.canonical import decimal_text
from encoders.survey.decimals import MAX_DIGITS, equal_width, number
from encoders.survey.features import CategoricalFeature, Feature, Label
from encoders.survey.numeric_features import BinnedFeature, NumericFeature
from encoders.survey.parse_value import MISSING_TEXT, text_of
from encoders.survey.plan_checks import ENROLMENTS, MAX_WEIGHT, OPEN, is_survey_id, text_fault
from encoders.survey.projection import Component, Projection
from encoders.survey.survey import Survey
from encoders.survey.validation_round import Validation

_KEYS = {
    (): {"survey", "label", "features", "mechanism", "projection", "validation"},
    ("survey",): {"id", "epsilon", "family", "enrolment", "users"},
    ("label",): {"name", "values", "weight"},
    ("mechanism",): {"frequency", "numeric"},
    ("projection",): {"inputs"},
    ("validation",): {"order", "tops", "prior", "scores"},
}
_FEATURE_KEYS = {"values", "range", "bins", "edges", "missing", "weight", "weights", "offset"}
MAX_USERS = 10**11
_INPUT_KEYS = {"range", "missing"}
_ONE_FORM = "needs exactly one of: values = [...], range = [low, high] (and bins = N, or none), edges = [...]"


class Problem(NamedTuple):
    """The path of an entry, what is wrong with it, and which text of its list that is about, if any."""

    path: tuple[str, ...]
    why: str
    value: str = ""


def read_document(document: Mapping[str, Any]) -> tuple[Survey, list[Problem]]:
    """Return the survey that a parsed TOML document describes, and every mistake in it."""
    reader = _Reader(document)
    return reader.survey(), reader.problems


class _Reader:
    """Walks a parsed document and notes every problem instead of stopping at the first."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def survey(self) -> Survey:
        tables = {name: self.table(name) for name in sorted(_KEYS[()])}
        for path, known in _KEYS.items():
            self.known(self.document if not path else tables[path[0]], known, path)
        label = self.label(tables["label"])
        features = [self.feature(name, entry) for name, entry in tables["features"].items()]
        if not features:
            self.wrong(("features",), "add at least one table [features.NAME]")
        if label.name in tables["features"]:
            self.wrong(("features", label.name), "has the label's name; the label is not a feature")
        weights = [self.weight(tables["label"], ("label",), None)]
        weights += [self.weight(entry, ("features", name), 1) for name, entry in tables["features"].items()]
        mechanism = tables["mechanism"]
        survey = Survey(
            id=self.id(tables["survey"]),
            epsilon=self.epsilon(tables["survey"]),
            label=label,
            features=tuple(feature for feature in features if feature),
            weights=tuple(weights),
            frequency=self.mechanism(mechanism, "frequency", check_name),
            numeric=self.mechanism(mechanism, "numeric", check_numeric_name),
            projection=self.projection(tables["projection"], tables["features"]),
            family=self.family(tables["survey"]),
            enrolment=self.enrolment(tables["survey"]),
            users=self.users(tables["survey"]),
        )
        judged = self.validation(tables["validation"], survey) if "validation" in self.document else None
        return survey.with_validation(judged) if judged else survey

    # -- entries ---------------------------------------------------------------------------

    def id(self, table: Mapping[str, Any]) -> str:
        value = table.get("id")
        if not is_survey_id(value):
            self.wrong(("survey", "id"), "needs 1 to 64 of a-z, 0-9 and '-', for example \"sleep-2026\"")
        return str(value)

    def family(self, table: Mapping[str, Any]) -> str:
        value = table.get("family", "")
        if "family" in table and not is_survey_id(value):
            self.wrong(("survey", "family"), "needs the id of the first survey of its family")
        return str(value)

    def enrolment(self, table: Mapping[str, Any]) -> str:
        value = table.get("enrolment", OPEN)
        if value not in ENROLMENTS:
            self.wrong(("survey", "enrolment"), '"open" (anybody answers) or "token" (by invitation)')
            return OPEN
        return str(value)

    def users(self, table: Mapping[str, Any]) -> int | None:
        value = table.get("users")
        if value is None or (type(value) is int and 1 <= value <= MAX_USERS):
            return value
        self.wrong(("survey", "users"), "needs how many people are expected to answer, a whole number from 1")
        return None

    def epsilon(self, table: Mapping[str, Any]) -> Decimal:
        value = number(table.get("epsilon"))
        if value is None or not MIN_EPSILON <= value <= MAX_EPSILON:
            why = f"needs a number from {MIN_EPSILON} to {MAX_EPSILON}, for example 1.0"
            self.wrong(("survey", "epsilon"), why)
            return Decimal(1)
        return value

    def label(self, table: Mapping[str, Any]) -> Label:
        name = table.get("name")
        if not (isinstance(name, str) and name):
            self.wrong(("label", "name"), "needs the name of the label's column")
        elif why := text_fault(name):
            self.wrong(("label", "name"), f"needs another name: this one {why}")
        return Label(str(name), self.values(table.get("values"), ("label", "values"), 2))

    def mechanism(self, table: Mapping[str, Any], key: str, check: Callable[[str], str]) -> str:
        name = table.get(key, "auto")
        try:
            return check(name if isinstance(name, str) else "")
        except SurveyError as error:
            self.wrong(("mechanism", key), error.why)
            return "auto"

    def feature(self, name: str, entry: Any) -> Feature | None:
        path = ("features", name)
        self.name(name, path)
        if not isinstance(entry, dict):
            self.wrong(path, f"is a table: [features.{name}]")
            return None
        self.known(entry, _FEATURE_KEYS, path)
        missing = self.missing(entry, path)
        forms = [key for key in ("values", "range", "edges") if key in entry]
        if len(forms) != 1:
            self.wrong(path, _ONE_FORM)
            return None
        if "bins" in entry and forms != ["range"]:
            self.wrong((*path, "bins"), "goes with range = [low, high]")
        if forms == ["values"]:
            fewest = 1 if missing == "category" else 2
            values = self.values(entry["values"], (*path, "values"), fewest)
            if MISSING_TEXT in values:
                why = f'{MISSING_TEXT!r} is the name of a missing value: write missing = "category" instead'
                self.wrong((*path, "values"), why, MISSING_TEXT)
            return CategoricalFeature(name, values, missing)
        if forms == ["edges"]:
            edges = self.edges(entry["edges"], path)
            return BinnedFeature(name, edges, missing) if edges else None
        return self.number(name, entry, path, missing)

    def number(
        self, name: str, entry: Mapping[str, Any], path: tuple[str, ...], missing: str
    ) -> BinnedFeature | NumericFeature | None:
        bounds = self.bounds(entry, path)
        if "bins" not in entry:
            return NumericFeature(name, *bounds, missing) if bounds else None
        bins = entry["bins"]
        if not (type(bins) is int and 2 <= bins <= 1000):
            self.wrong((*path, "bins"), "needs a whole number of bins from 2 to 1000")
            return None
        edges = equal_width(Decimal(bounds[0]), Decimal(bounds[1]), bins) if bounds else None
        return BinnedFeature(name, edges, missing) if edges else None

    def missing(self, entry: Mapping[str, Any], path: tuple[str, ...]) -> str:
        value = entry.get("missing", "error")
        if value in ("category", "error"):
            return str(value)
        self.wrong((*path, "missing"), '"category" (missing is one more value) or "error" (it is refused)')
        return "error"

    def weight(self, entry: Any, path: tuple[str, ...], default: int | None) -> int | None:
        if not isinstance(entry, dict) or "weight" not in entry:
            return default
        value = entry["weight"]
        if not (type(value) is int and 0 <= value <= MAX_WEIGHT):
            self.wrong((*path, "weight"), "needs a whole number from 0 (never asked) to 1,000,000")
            return default
        return value

    # -- kinds of values -------------------------------------------------------------------

    def values(self, entries: Any, path: tuple[str, ...], fewest: int) -> tuple[str, ...]:
        texts = [text_of(entry) for entry in entries] if isinstance(entries, list) else []
        if len(texts) < fewest:
            self.wrong(path, f'needs a list of at least {fewest} values, for example ["yes", "no"]')
        if not all(texts):
            self.wrong(path, "each value is a text that is not empty, a whole number, true or false")
        for text in filter(None, dict.fromkeys(texts)):
            if why := text_fault(text):
                self.wrong(path, f"the value {text!a} {why}", text)
        twice = [text for text, count in Counter(texts).items() if text and count > 1]
        if twice:
            self.wrong(path, f"has values twice: {', '.join(sorted(twice))}")
        return tuple(dict.fromkeys(text for text in texts if text))

    def bounds(self, entry: Mapping[str, Any], path: tuple[str, ...]) -> tuple[str, str] | None:
        found = self.edges(entry.get("range"), path, "range")
        if found is None:
            return None
        if len(found) != 2:
            self.wrong((*path, "range"), "needs two numbers: [low, high]")
            return None
        return found[0], found[1]

    def edges(self, entries: Any, path: tuple[str, ...], key: str = "edges") -> tuple[str, ...] | None:
        numbers = [number(entry) for entry in entries] if isinstance(entries, list) else []
        finite = [value for value in numbers if value is not None]
        fewest = 2 if key == "range" else 3
        if len(finite) < fewest or len(finite) < len(numbers):
            self.wrong((*path, key), f"needs at least {fewest} finite numbers of up to {MAX_DIGITS} digits")
            return None
        if sorted({float(value) for value in finite}) != [float(value) for value in finite]:
            self.wrong((*path, key), "numbers must increase, low before high")
            return None
        return tuple(decimal_text(value) for value in finite)

    # -- the projection --------------------------------------------------------------------

    def projection(self, table: Mapping[str, Any], features: Mapping[str, Any]) -> Projection | None:
        path = ("projection", "inputs")
        tables = {name: each for name, each in features.items() if isinstance(each, dict)}
        components = [
            self.component(name, each) for name, each in tables.items() if {"weights", "offset"} & set(each)
        ]
        entries = table.get("inputs", {})
        if not isinstance(entries, dict):
            self.wrong(path, "is made of tables: [projection.inputs.NAME]")
            return None
        inputs = [self.input(name, each, (*path, name)) for name, each in entries.items()]
        taken = [name for name in entries if name in (*features, self.table("label").get("name"))]
        for name in taken:
            self.wrong((*path, name), "has the name of a feature or the label; an input is neither")
        if not (components or "projection" in self.document):
            return None
        found = Projection(tuple(each for each in inputs if each), tuple(each for each in components if each))
        if None not in inputs and None not in components and not taken:
            self.check_projection(found)
        return found

    def component(self, name: str, entry: Mapping[str, Any]) -> Component | None:
        path = ("features", name)
        if "range" not in entry and "edges" not in entry:
            self.wrong(path, "has weights, so it is a number: give it a range = [low, high], or edges")
        listed = entry.get("weights", [])
        numbers = [number(each) for each in listed] if isinstance(listed, list) else []
        weights = [each for each in numbers if each is not None]
        if not weights or len(weights) < len(numbers):
            self.wrong((*path, "weights"), "needs a list of finite numbers, one for each input")
            return None
        offset = number(entry.get("offset", 0))
        if offset is None:
            self.wrong((*path, "offset"), "needs a finite number")
            return None
        return Component(name, tuple(decimal_text(each) for each in weights), decimal_text(offset))

    def input(self, name: str, entry: Any, path: tuple[str, ...]) -> NumericFeature | None:
        if not isinstance(entry, dict):
            self.wrong(path, f"is a table: [projection.inputs.{name}]")
            return None
        self.name(name, path)
        self.known(entry, _INPUT_KEYS, path)
        bounds = self.bounds(entry, path)
        missing = self.missing(entry, path)
        return NumericFeature(name, *bounds, missing) if bounds else None

    def check_projection(self, found: Projection) -> None:
        for problem in found.problems():
            table, _, rest = problem.field.partition(".")
            name, _, key = rest.rpartition(".")  # a name may hold dots itself
            self.wrong(tuple(part for part in (table, name, key) if part), problem.why)

    # -- a model to be judged --------------------------------------------------------------

    def validation(self, table: Mapping[str, Any], survey: Survey) -> Validation | None:
        if self.problems:
            return None
        places = {feature.name: place for place, feature in enumerate(survey.features)}
        order = [places.get(name) if isinstance(name, str) else None for name in _list(table.get("order"))]
        if None in order:
            self.wrong(("validation", "order"), "needs a list of the names of features")
            return None
        scores = table.get("scores")
        if not isinstance(scores, dict) or set(scores) != set(places):
            self.wrong(
                ("validation", "scores"), "needs a table of scores for each feature, NAME = [[...], ...]"
            )
            return None
        found = Validation(
            label=survey.label,
            features=survey.features,
            order=tuple(place for place in order if place is not None),
            top_k=tuple(_list(table.get("tops"))),
            prior=tuple(_list(table.get("prior"))),
            scores=tuple(tuple(tuple(_list(row)) for row in _list(scores[name])) for name in places),
            projection=survey.projection,
        )
        try:
            found.check()
        except SurveyError as error:
            self.wrong(tuple(error.field.split(".", 2)), error.why)  # a name may hold dots itself
            return None
        return found

    # -- structure -------------------------------------------------------------------------

    def table(self, name: str) -> dict[str, Any]:
        entry = self.document.get(name, {})
        if not isinstance(entry, dict):
            self.wrong((name,), f"is a table: [{name}]")
            return {}
        return entry

    def known(self, table: Mapping[str, Any], keys: Iterable[str], path: tuple[str, ...]) -> None:
        for key in table:
            if key not in keys:
                self.wrong((*path, key), f"is not an entry here; known: {', '.join(sorted(keys))}")

    def wrong(self, path: tuple[str, ...], why: str, value: str = "") -> None:
        self.problems.append(Problem(path, why, value))

    def name(self, name: str, path: tuple[str, ...]) -> None:
        if not name:
            self.wrong(path, "needs a name")
        elif why := text_fault(name):
            self.wrong(path, f"needs another name: this one {why}")


def _list(value: object) -> list[Any]:
    """Return a list as it is, and nothing for what is none; whoever checks what it holds misses that."""
    return value if isinstance(value, list) else []
