"""The silo survey as its author writes it, and the tables of its file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

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
    table_keys: Mapping[str, Collection[str]] = {"survey": _SURVEY_KEYS, "label": {"name", "values"}}
    feature_keys = frozenset(
        {"values", "choices", "range", "bins", "edges", "missing", "missing_codes", "spread"}
    )

    def read_silo_survey(self) -> SiloSurvey:
        tables, common = self.read_common()
        survey: dict[str, Any] = {"rows": None, "rows_per_person": 1} | tables["survey"]
        rows = self.read_count(survey, "rows", MAX_ROWS, "the most rows of one message")
        most = self.read_count(survey, "rows_per_person", rows, "the most rows of one person, at most rows")
        return SiloSurvey(**common, rows=rows, rows_per_person=most)

    def read_count(self, table: Table, key: str, most: int, what: str) -> int:
        why = f"needs {what}, a whole number from 1 to {most:,}"
        return self.read_whole(table, ("survey", key), 1, most, why, most) or most
