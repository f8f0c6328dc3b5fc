"""The survey as a person writes it: TOML in, every mistake named with its field and line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from encoders.errors import SurveyError
from encoders.mechanisms import Mechanism, check_name, design
from encoders.survey.canonical import decimal_text
from encoders.survey.checks import MAX_WEIGHT, is_survey_id
from encoders.survey.features import BinnedFeature, CategoricalFeature, Feature, Label, text_of
from encoders.survey.plan import Plan
from encoders.survey.questions import Question
from encoders.survey.toml_lines import line_of
from encoders.tables import MAX_EPSILON, MIN_EPSILON

_KEYS = {
    (): {"survey", "label", "features", "mechanism"},
    ("survey",): {"id", "epsilon"},
    ("label",): {"name", "values", "weight"},
    ("mechanism",): {"frequency", "numeric"},
}
_FIFTEEN = Context(prec=15)
_MAX_DIGITS = 20
_FEATURE_KEYS = {"values", "range", "bins", "edges", "missing", "weight"}


@dataclass(frozen=True)
class Survey:
    """An authored survey, checked but not yet compiled.

    Attributes
    ----------
    id : str
    epsilon : Decimal
        Budget of one report.
    label : Label
    features : tuple of Feature
    weights : tuple of int
        Public weights of the questions: the label's first (0: it is not asked on its own, since every
        coupled report tells of it too), then each feature's.
    frequency : str
        Mechanism of every question, or "auto": the best of each by closed-form variance.
    """

    id: str
    epsilon: Decimal
    label: Label
    features: tuple[Feature, ...]
    weights: tuple[int, ...]
    frequency: str = "auto"

    def compile(self) -> Plan:
        """Design every question's tables for `epsilon`, prove them, and return the plan.

        Raises
        ------
        SurveyError, PrivacyError
        """
        designed: dict[int, Mechanism] = {}
        questions: list[Question] = []
        for place, weight in zip([None, *range(len(self.features))], self.weights, strict=True):
            if not weight:
                continue
            feature = None if place is None else self.features[place]
            domain = (feature.size if feature else 1) * len(self.label.values)
            if domain not in designed:
                designed[domain] = _design(self, domain, feature)
            questions.append(Question(len(questions), self.label, feature, place, weight, designed[domain]))
        return Plan(self.id, self.epsilon, self.label, self.features, tuple(questions))


def _design(survey: Survey, domain: int, feature: Feature | None) -> Mechanism:
    name = f"features.{feature.name}" if feature else "label"
    try:
        return design(survey.frequency, domain, survey.epsilon)
    except SurveyError as error:
        raise type(error)(error.why, name) from error


def read_survey(text: str) -> Survey:
    """Read an authored survey.

    Parameters
    ----------
    text : str
        TOML; `ldp-survey init` writes a commented example.

    Raises
    ------
    SurveyError
        With `field`, `line` and, where several entries are wrong, all of them in the message and in
        `problems`.
    """
    import tomllib  # late: devices read compiled plans

    text = text.removeprefix("\ufeff")
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise SurveyError(_explain_syntax(str(error)), "", _line_in(str(error))) from error
    reader = _Reader(document)
    survey = reader.survey()
    if reader.problems:
        problems = [SurveyError(why, ".".join(path), line_of(text, path)) for path, why in reader.problems]
        problems.sort(key=lambda problem: problem.line or 0)
        raise problems[0] if len(problems) == 1 else _together(problems)
    return survey


def _together(problems: list[SurveyError]) -> SurveyError:
    error = SurveyError(problems[0].why, problems[0].field, problems[0].line)
    error.problems = tuple(problems)
    error.args = ("\n".join(str(problem) for problem in problems),)
    return error


def _explain_syntax(message: str) -> str:
    twice = "Cannot declare" in message or "Cannot overwrite" in message
    return f"two entries have one name: {message}" if twice else f"not valid TOML: {message}"


def _line_in(message: str) -> int | None:
    match = re.search(r"at line (\d+)", message)
    return int(match[1]) if match else None


class _Reader:
    """Walks a parsed document and notes every problem instead of stopping at the first."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.problems: list[tuple[tuple[str, ...], str]] = []

    def survey(self) -> Survey:
        tables = {name: self.table(name) for name in ("survey", "label", "features", "mechanism")}
        for path, known in _KEYS.items():
            self.known(self.document if not path else tables[path[0]], known, path)
        label = self.label(tables["label"])
        features = [self.feature(name, entry) for name, entry in tables["features"].items()]
        if not features:
            self.wrong(("features",), "add at least one table [features.NAME]")
        if label.name in tables["features"]:
            self.wrong(("features", label.name), "has the label's name; the label is not a feature")
        weights = [self.weight(tables["label"], ("label",), 0)]
        weights += [self.weight(entry, ("features", name), 1) for name, entry in tables["features"].items()]
        frequency = self.frequency(tables["mechanism"])
        return Survey(
            self.id(tables["survey"]),
            self.epsilon(tables["survey"]),
            label,
            tuple(feature for feature in features if feature),
            tuple(weights),
            frequency,
        )

    # -- entries ---------------------------------------------------------------------------

    def id(self, table: Mapping[str, Any]) -> str:
        value = table.get("id")
        if not is_survey_id(value):
            self.wrong(("survey", "id"), "needs 1 to 64 of a-z, 0-9 and '-', for example \"sleep-2026\"")
        return str(value)

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
        return Label(str(name), self.values(table.get("values"), ("label", "values"), 2))

    def frequency(self, table: Mapping[str, Any]) -> str:
        if table.get("numeric", "auto") != "auto":
            self.wrong(("mechanism", "numeric"), 'only "auto" for now: numbers are answered in bins')
        name = table.get("frequency", "auto")
        try:
            return check_name(name if isinstance(name, str) else "")
        except SurveyError as error:
            self.wrong(("mechanism", "frequency"), error.why)
            return "auto"

    def feature(self, name: str, entry: Any) -> Feature | None:
        path = ("features", name)
        if not name:
            self.wrong(path, "needs a name")
        if not isinstance(entry, dict):
            self.wrong(path, f"is a table: [features.{name}]")
            return None
        self.known(entry, _FEATURE_KEYS, path)
        missing = entry.get("missing", "error")
        if missing not in ("category", "error"):
            self.wrong(
                (*path, "missing"), '"category" (missing is one more value) or "error" (it is refused)'
            )
        forms = [key for key in ("values", "range", "edges") if key in entry]
        if len(forms) != 1:
            self.wrong(
                path, "needs exactly one of: values = [...], range = [low, high] with bins = N, edges = [...]"
            )
            return None
        if "bins" in entry and forms != ["range"]:
            self.wrong((*path, "bins"), "goes with range = [low, high]")
        if forms == ["values"]:
            fewest = 1 if missing == "category" else 2
            return CategoricalFeature(name, self.values(entry["values"], (*path, "values"), fewest), missing)
        edges = self.edges(entry["edges"], path) if forms == ["edges"] else self.bins(entry, path)
        return BinnedFeature(name, edges, missing) if edges else None

    def weight(self, entry: Any, path: tuple[str, ...], default: int) -> int:
        value = entry.get("weight", default) if isinstance(entry, dict) else default
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
        twice = [text for text, count in Counter(texts).items() if text and count > 1]
        if twice:
            self.wrong(path, f"has values twice: {', '.join(sorted(twice))}")
        return tuple(dict.fromkeys(text for text in texts if text))

    def bins(self, entry: Mapping[str, Any], path: tuple[str, ...]) -> tuple[str, ...] | None:
        bounds = self.edges(entry["range"], path, "range")
        if bounds is None:
            return None
        if len(bounds) != 2:
            self.wrong((*path, "range"), "needs two numbers: [low, high]")
            return None
        bins = entry.get("bins")
        if not (type(bins) is int and 2 <= bins <= 1000):
            self.wrong((*path, "bins"), "needs a whole number of bins from 2 to 1000")
            return None
        return equal_width(Decimal(bounds[0]), Decimal(bounds[1]), bins)

    def edges(self, entries: Any, path: tuple[str, ...], key: str = "edges") -> tuple[str, ...] | None:
        numbers = [number(entry) for entry in entries] if isinstance(entries, list) else []
        finite = [value for value in numbers if value is not None]
        fewest = 2 if key == "range" else 3
        if len(finite) < fewest or len(finite) < len(numbers):
            self.wrong((*path, key), f"needs at least {fewest} finite numbers of up to {_MAX_DIGITS} digits")
            return None
        if sorted({float(value) for value in finite}) != [float(value) for value in finite]:
            self.wrong((*path, key), "numbers must increase, low before high")
            return None
        return tuple(decimal_text(value) for value in finite)

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

    def wrong(self, path: tuple[str, ...], why: str) -> None:
        self.problems.append((path, why))


def number(value: object) -> Decimal | None:
    """Return a number as a Decimal if it is finite, also as a double, and of at most 20 digits; else None."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    exact = Decimal(value)
    sober = exact.is_finite() and -300 < exact.adjusted() < 300
    return exact if sober and len(exact.as_tuple().digits) <= _MAX_DIGITS else None


def equal_width(low: Decimal, high: Decimal, bins: int) -> tuple[str, ...]:
    """Return the bins + 1 edges of equal-width discretisation (001, section 3.2), to 15 digits."""
    exact = (Fraction(low) + (Fraction(high) - Fraction(low)) * j / bins for j in range(1, bins))
    inner = [_FIFTEEN.divide(Decimal(edge.numerator), Decimal(edge.denominator)) for edge in exact]
    return tuple(decimal_text(edge) for edge in [low, *inner, high])
