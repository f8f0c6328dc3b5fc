"""The survey and the plan of silos: each organisation sends one message of noisy counts of its rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from encoders.canonical import dump_canonical_json
from encoders.epsilon_proof import check_epsilon
from encoders.errors import SurveyError
from encoders.mechanisms.counted_table import SOFT_CELLS, SOFT_UNIT, CountTable, place_code, soft_parts
from encoders.report import MAX_MESSAGE_BYTES, OVERHEAD_BYTES
from encoders.survey.compiled_plan import OPEN, SILO, CompiledPlan, check_id, load_plan_document, plan_errors
from encoders.survey.features import Feature, Label, NumericFeature
from encoders.survey.plan_checks import check_row_schema
from encoders.survey.plan_document import read_common_fields
from encoders.survey.schema_tables import HINTS, Mistake, SchemaReader, Table
from encoders.survey.texts import SurveyTexts

MAX_ROWS = 10**9
_MAX_SCALE = 1 << 128
_CANONICAL_INTEGER = re.compile(r"[1-9][0-9]{0,38}")


@dataclass(frozen=True, kw_only=True)
class SiloQuestion:
    """The one question of a silo survey: the counts of every feature's values with the label."""

    index: ClassVar[int] = 0
    name: ClassVar[str] = "counts"

    label: Label
    asked_features: tuple[Feature, ...]
    mechanism: CountTable

    @property
    def cells(self) -> int:
        return self.mechanism.cells

    @property
    def support_key(self) -> str:
        """Name of a total of support counters, which this question does not have."""
        return f"{self.key}:support"

    @cached_property
    def key(self) -> str:
        """Hash of what is counted and of the noise; counters with equal keys may be added."""
        counted = {
            "feature": [feature.as_dict() for feature in self.asked_features],
            "mechanism": self.mechanism.name,
            "scale": _scale_texts(self.mechanism.scale),
            **self.label.as_entries(),
        }
        return hashlib.sha256(dump_canonical_json(counted)).hexdigest()[:16]

    def row_parts(self, codes: Sequence[int], label_code: int) -> Iterator[tuple[int, int]]:
        """Yield each cell that a row adds to, with what it adds: one unit in each table."""
        k = len(self.label.values)
        for feature, table, code in zip(self.asked_features, self.mechanism.tables, codes, strict=True):
            if not isinstance(feature, NumericFeature):
                yield table.start + code * k + label_code, table.unit
                continue
            parts = soft_parts(place_code(code), feature.missing == "category")
            for cell, part in enumerate(parts):
                yield table.start + cell * k + label_code, part


@dataclass(frozen=True, eq=False, kw_only=True)
class SiloPlan(CompiledPlan[SiloQuestion]):
    """A compiled survey that silos answer; it is no :class:`~encoders.survey.plan.Plan` of people."""

    kind: ClassVar[str] = SILO
    max_report_bytes: ClassVar[int] = MAX_MESSAGE_BYTES
    projection: ClassVar[None] = None
    validation: ClassVar[None] = None
    relay: ClassVar[None] = None
    waves: ClassVar[None] = None

    rows: int
    """The most rows that one message may count."""
    rows_per_person: int = 1
    """The most rows of one person among them."""
    scale: Fraction = Fraction(0)
    """Scale of the noise, in rows; by default the least that is epsilon-differentially private."""
    questions: tuple[SiloQuestion, ...] = field(init=False)

    def __post_init__(self) -> None:
        check_id(self.id)
        check_epsilon(self.epsilon)
        check_row_schema(self.label, self.features)
        if not self.features:
            raise SurveyError("a silo survey needs at least one feature", "features")
        if not (type(self.rows) is int and 1 <= self.rows <= MAX_ROWS):
            raise SurveyError(f"needs a whole number of rows from 1 to {MAX_ROWS:,}", "rows")
        if not (type(self.rows_per_person) is int and 1 <= self.rows_per_person <= self.rows):
            raise SurveyError("needs a whole number from 1 to rows", "rows_per_person")
        self._check_publication()
        if not self.scale:
            needed = Fraction(len(self.features) * self.rows_per_person) / Fraction(self.epsilon)
            object.__setattr__(self, "scale", needed)
        object.__setattr__(self, "questions", (self._make_question(),))
        self._set_json(dump_canonical_json(self._as_dict()))

    def _make_question(self) -> SiloQuestion:
        shapes = [_shape(feature) for feature in self.features]
        labels = len(self.label.values)
        cells, most = sum(values for values, _ in shapes) * labels, _MAX_CELLS
        if cells > most:
            raise SurveyError(
                f"a message of {cells:,} cells is longer than {MAX_MESSAGE_BYTES:,} bytes, and {most:,} "
                "cells fit: use fewer values or features",
                "features",
            )
        mechanism = CountTable(shapes, labels, self.rows, self.rows_per_person, self.scale)
        mechanism.prove(self.epsilon)
        return SiloQuestion(label=self.label, asked_features=self.features, mechanism=mechanism)

    @property
    def row_schema(self) -> SiloPlan:
        return self

    @property
    def question(self) -> SiloQuestion:
        return self.questions[0]

    @property
    def mechanism(self) -> CountTable:
        return self.question.mechanism

    @property
    def message_bytes(self) -> int:
        return self.longest_report

    @classmethod
    def from_json(cls, data: bytes) -> SiloPlan:
        """Read a plan of silos; raise SurveyError if it is inconsistent, PrivacyError if it spends more."""
        document = load_plan_document(data)
        if document.get("kind") != SILO:
            raise SurveyError('this plan asks people, not silos: use a survey with kind = "silo"', "kind")
        with plan_errors():
            plan = cls(**_parse_fields(document))
            plan.require_json(data)
        return plan

    def _as_dict(self) -> dict[str, Any]:
        return self._common_entries() | {
            "kind": SILO,
            "questions": [{"mechanism": CountTable.name, "scale": _scale_texts(self.scale)}],
            "rows": self.rows,
            "rows_per_person": self.rows_per_person,
        }


_MAX_CELLS = (MAX_MESSAGE_BYTES - OVERHEAD_BYTES) // 8


def _shape(feature: Feature) -> tuple[int, int]:
    """Return the number of values or soft cells of a feature's table, and its unit."""
    if isinstance(feature, NumericFeature):
        return SOFT_CELLS + (feature.missing == "category"), SOFT_UNIT
    return feature.size, 1


def _scale_texts(scale: Fraction) -> list[str]:
    return [str(scale.numerator), str(scale.denominator)]


def _parse_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    questions = document["questions"]
    if not (isinstance(questions, list) and len(questions) == 1):
        raise SurveyError("a silo survey has one question", "questions")
    if questions[0]["mechanism"] != CountTable.name:
        raise SurveyError(f"a silo survey needs {CountTable.name}", "questions.0.mechanism")
    return read_common_fields(document) | {
        "rows": document["rows"],
        "rows_per_person": document["rows_per_person"],
        "scale": _read_scale(questions[0]["scale"]),
    }


def _read_scale(texts: object) -> Fraction:
    integers = [
        int(text)
        for text in (texts if isinstance(texts, list) else ())
        if isinstance(text, str) and _CANONICAL_INTEGER.fullmatch(text) and int(text) <= _MAX_SCALE
    ]
    if len(integers) != 2 or not isinstance(texts, list) or len(texts) != 2:
        raise SurveyError(
            "needs numerator and denominator as decimal strings, from 1 to 2^128", "questions.0.scale"
        )
    scale = Fraction(*integers)
    if _scale_texts(scale) != texts:
        raise SurveyError("must be in lowest terms", "questions.0.scale")
    return scale


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
