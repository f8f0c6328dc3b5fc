"""The silo survey as its author writes it, and the tables of its file."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from encoders.survey.compiled_plan import OPEN, SILO
from encoders.survey.features import Feature, Label
from encoders.survey.schema_tables import HINTS, Mistake, SchemaReader, Table
from encoders.survey.silo_plan import MAX_ROWS, SiloPlan
from encoders.survey.texts import SurveyTexts

_HINTS = {
    ("survey", "users"): "a silo survey has rows instead, the most rows of one message",
    ("", "mechanism"): "a silo survey has one mechanism, exact noise in every count: delete it",
    ("", "projection"): "a silo survey cannot have a projection: delete it",
    ("", "validation"): "only people's answers can validate a model: delete it",
    ("label", "weight"): "a silo counts every value, so delete the weight",
    ("features", "weight"): "a silo counts every value, so delete the weight",
    ("features", "weights"): "a silo survey cannot have a projection: delete it",
    ("features", "offset"): "a silo survey cannot have a projection: delete it",
}
_SURVEY_KEYS = {"id", "epsilon", "kind", "rows", "rows_per_person", "family", "enrolment"}


@dataclass(frozen=True, kw_only=True)
class SiloSurvey:
    """An authored survey of silos, checked but not yet compiled."""

    kind: ClassVar[str] = SILO

    id: str
    epsilon: Decimal
    label: Label
    features: tuple[Feature, ...]
    rows: int
    rows_per_person: int = 1
    family: str = ""
    enrolment: str = OPEN
    texts: SurveyTexts | None = None
    """`family`, `enrolment` and `texts`: see :class:`~encoders.survey.compiled_plan.CompiledPlan`."""

    def compile(self) -> SiloPlan:
        """Return the plan with the least private noise; raise SurveyError if a message would be too long."""
        return SiloPlan(
            id=self.id,
            epsilon=self.epsilon,
            label=self.label,
            features=self.features,
            rows=self.rows,
            rows_per_person=self.rows_per_person,
            family=self.family,
            enrolment=self.enrolment,
            texts_digest=self.texts.digest if self.texts else "",
            texts=self.texts,
        )


def read_silo_tables(document: Table) -> tuple[SiloSurvey, list[Mistake]]:
    """Return the silo survey that a parsed TOML document describes, and every mistake in it."""
    reader = _SiloReader(document)
    return reader.read_silo_survey(), reader.mistakes


class _SiloReader(SchemaReader):
    """Reads the tables of a silo survey, which has neither weights nor mechanisms nor a projection."""

    hints = HINTS | _HINTS
    feature_keys = frozenset(
        {"values", "choices", "range", "bins", "edges", "missing", "missing_codes", "spread"}
    )

    def read_silo_survey(self) -> SiloSurvey:
        tables = {name: self.read_table(name) for name in ("survey", "label", "features")}
        self.check_keys(self.document, {*tables, "about", "texts"}, ())
        self.check_keys(tables["survey"], _SURVEY_KEYS, ("survey",))
        self.check_keys(tables["label"], {"name", "values"}, ("label",))
        label = self.read_label(tables["label"])
        features = self.read_features(tables["features"])
        if label.exists and label.name in tables["features"]:
            self.note(("features", label.name), "has the label's name; the label is not a feature: delete it")
        rows = self.read_count(tables["survey"], "rows", MAX_ROWS, "the most rows of one message")
        return SiloSurvey(
            id=self.read_id(tables["survey"]),
            epsilon=self.read_epsilon(tables["survey"]),
            label=label,
            features=features,
            rows=rows,
            rows_per_person=self.read_count(
                {"rows_per_person": 1} | tables["survey"],
                "rows_per_person",
                rows,
                "the most rows of one person, at most rows",
            ),
            family=self.read_family(tables["survey"]),
            enrolment=self.read_enrolment(tables["survey"]),
            texts=self.read_texts(label, features),
        )

    def read_count(self, table: Table, key: str, most: int, what: str) -> int:
        value = table.get(key)
        if type(value) is int and 1 <= value <= most:
            return value
        self.note(("survey", key), f"needs {what}, a whole number from 1 to {most:,}")
        return most
