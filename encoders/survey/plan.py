"""The plan: the immutable, hashed form of a survey that device, collector and trainer share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

from encoders.canonical import decimal_text, dump_canonical_json
from encoders.composition import Message
from encoders.epsilon_proof import realised_epsilon
from encoders.errors import LdpError, RowError, SurveyError, map_collecting_errors
from encoders.late_imports import LateImport
from encoders.randomness import RandomSource
from encoders.survey.compiled_plan import LOCAL, REFUSALS, SILO, CompiledPlan, load_plan_document, plan_errors
from encoders.survey.features import CategoricalFeature, Feature, Label, entry_codes, row_entries
from encoders.survey.parse_value import row_entry
from encoders.survey.plan_checks import check_envelope, check_plan, check_spending, check_validation
from encoders.survey.plan_document import parse_plan_fields
from encoders.survey.projection import Projection, required_features
from encoders.survey.questions import Question, draw, thresholds
from encoders.survey.relay import RELAY_REFUSES_TOKENS, Relay
from encoders.survey.validation_round import Validation
from encoders.survey.waves import Series, Waves

_PLAN_HTML = LateImport("encoders.notebook_html:plan_html")  # loaded in notebooks alone


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(CompiledPlan[Question]):
    """A compiled survey that people answer."""

    kind: ClassVar[str] = LOCAL

    projection: Projection | None = None
    """Computes some of the features from other numbers of the row."""
    validation: Validation | None = None
    """A model that devices validate. Label and features are then whether its predictions are right."""
    relay: Relay | None = None
    waves: Waves | None = None
    """The waves in which the questions are asked, if there are several; each person answers in one."""
    series: Series | None = None
    """The series that the plan belongs to, if it does; one consent may cover several of its plans."""

    def __post_init__(self) -> None:
        check_plan(self.id, self.label, self.features, self.questions, self.projection)
        check_spending(self.epsilon, self.questions, asks_all=self.asks_all)
        if self.validation:
            check_validation(self.validation, self.label, self.features, self.questions)
        self._check_publication()
        if self.series:
            self.series.check()
        if self.waves:
            self.waves.check(len(self.questions))
            if self.validation:
                raise SurveyError("a validation has no waves: delete one of them", "waves")
            ends = self.waves.list[0].opens, self.waves.list[-1].closes
            if self.relay and (self.relay.opens, self.relay.closes) != ends:
                raise SurveyError("must be the times of the first and the last wave", "relay.opens")
        if self.relay:
            if self.by_invitation:
                raise SurveyError(RELAY_REFUSES_TOKENS, "enrolment")
            self.relay.check(self.id)
            self.relay.require_promise(self.messages)
        self._set_json(dump_canonical_json(_as_dict(self)))
        if self.relay:
            check_envelope(self.longest_by_column)

    def _repr_html_(self) -> str:
        html: str = _PLAN_HTML.load()(self)
        return html

    @classmethod
    def from_json(cls, data: bytes) -> Plan:
        """Read a plan and check everything in it.

        The exact likelihood ratio of each question, or the product of all if a person answers all, must be at
        most e^epsilon. The plan that is rebuilt from the survey and tables must have the bytes that were
        read. Raises SurveyError if the bytes are not a consistent plan of this format, and PrivacyError if a
        question spends more than epsilon.
        """
        document = load_plan_document(data)
        if document.get("kind") == SILO:
            raise SurveyError(REFUSALS[SILO], "kind")
        with plan_errors():
            plan = cls(**parse_plan_fields(document))
            if plan.relay and not plan.relay.has_keys:
                raise SurveyError("needs both public keys", "relay")
            plan.require_json(data)
        return plan

    @property
    def series_id(self) -> str:
        """Name and key of the plan's series; empty without one."""
        return self.series.id if self.series else ""

    @property
    def messages(self) -> tuple[Message, ...]:
        """What bounds the message of each question, for the promise of a relay."""
        return tuple(question.mechanism.message for question in self.questions)

    @property
    def asks_all(self) -> bool:
        """Whether each person answers all questions, in one envelope; else each answers one."""
        return self.relay is not None and self.relay.asks_all

    @cached_property
    def counted_questions(self) -> tuple[Question, ...]:
        """The questions as reports name them: question j of Q in wave w has the index w Q + j."""
        count, waves = len(self.questions), self.waves.list if self.waves else ()
        return (
            self.questions
            if not waves
            else tuple(
                replace(each, index=wave * count + each.index, wave=wave)
                for wave in range(len(waves))
                for each in self.questions
            )
        )

    def in_wave(self, question: Question, wave: int | None) -> Question:
        """Return a question as it is asked in a wave, by its index; raise LdpError without such a wave."""
        if self.waves is None and wave is None:
            return question
        count = len(self.waves.list) if self.waves else 0
        if wave is None or not 0 <= wave < count:
            raise LdpError(f"give a wave of this survey, which has {count} waves")
        return self.counted_questions[wave * len(self.questions) + question.index]

    @cached_property
    def longest_by_column(self) -> list[int]:
        """Length of the longest report of each column in bytes: of each question, or of all of them."""
        if not self.asks_all:
            return [self.longest_report]
        count = len(self.questions)
        return [max(map(self.report_bytes, self.counted_questions[at::count])) for at in range(count)]

    @property
    def row_schema(self) -> Plan | Validation:
        """The object whose label, features and projection code rows: this plan, or the model it validates."""
        return self.validation or self

    @property
    def entries(self) -> tuple[Feature, ...]:
        return required_features(self.row_schema.features, self.row_schema.projection)

    @property
    def row_label(self) -> Label:
        return self.row_schema.label

    def encode_row(self, row: Mapping[str, object]) -> tuple[int, ...]:
        """Code the features of a row; raise RowError, without the value, if an entry does not fit."""
        full = self._projected(row)
        coded = (entry_codes(entry, row_entry(full, entry.name)) for entry in self._coded_entries)
        return tuple(chain.from_iterable(coded))

    def _projected(self, row: Mapping[str, object]) -> Mapping[str, object]:
        if not isinstance(row, Mapping):
            raise RowError("row", f"must map each feature's name to its value, not a {type(row).__name__}")
        projection = self.row_schema.projection
        return {**row, **projection.apply(row)} if projection else row

    def clipped_names(self, row: Mapping[str, object]) -> tuple[str, ...]:
        """Return the names of the entries outside their public bounds, of a row that `encode` accepts."""
        full, rows = self._projected(row), self.row_schema
        numbers = [each for each in rows.features if not isinstance(each, CategoricalFeature)]
        inputs = rows.projection.clipped_inputs(row) if rows.projection else ()
        return (*inputs, *(each.name for each in numbers if each.is_clipped(row_entry(full, each.name))))

    def encode(self, row: Mapping[str, object], label: object) -> tuple[tuple[int, ...], int]:
        """Code a row and its label, None without one; every entry is checked, whatever the question.

        Raises RowError, without a value, if entries do not fit; `problems` has one error for each.
        """
        with suppress(RowError):
            return self._coded(row, label)
        if isinstance(row, Mapping):  # entry by entry, to name every one that does not fit
            given, parts = {**row, self.row_label.name: label}, (*self.entries, self.row_label)
            map_collecting_errors(lambda part: part.code(row_entry(given, part.name)), parts)
        return self._coded(row, label)

    def _coded(self, row: Mapping[str, object], label: object) -> tuple[tuple[int, ...], int]:
        codes, code = self.encode_row(row), self.row_label.code(label)
        return self.validation.validate(codes, code) if self.validation else (codes, code)

    def draw(self, rng: RandomSource) -> Question:
        """Draw the question by the public weights and 8 random bytes; the row has no part in it."""
        if self.asks_all:
            raise LdpError("each person answers all questions of this survey: draw none")
        return self.questions[draw(self._limits, rng)]

    def question_probability(self, question: Question) -> float:
        """Return the probability that a person is asked this question; 1 if each answers all."""
        if self.asks_all:
            return 1.0
        return question.weight / sum(each.weight for each in self.questions)

    @cached_property
    def _coded_entries(self) -> tuple[Feature, ...]:
        """The entries that are coded, each of which is read once: components, and the row's other entries."""
        return row_entries(self.row_schema.features)

    @cached_property
    def _limits(self) -> Sequence[int]:
        return thresholds([question.weight for question in self.questions])


def _as_dict(plan: Plan) -> dict[str, Any]:
    optional: dict[str, Any] = {
        "projection": plan.projection,
        "relay": plan.relay,
        "series": plan.series,
        "validation": plan.validation,
        "waves": plan.waves,
    }
    more = {name: part.as_dict() for name, part in optional.items() if part}
    tables = {
        question.index: dump_canonical_json(question.mechanism.parameters) for question in plan.questions
    }
    keys = {index: hashlib.sha256(data).hexdigest()[:16] for index, data in tables.items()}
    ratios = {question.mechanism.ratio for question in plan.questions}
    realised = {ratio: decimal_text(realised_epsilon(ratio)) for ratio in ratios}
    return {
        **plan._common_entries(),
        **more,
        "questions": [q.as_dict(keys[q.index], realised[q.mechanism.ratio]) for q in plan.questions],
        "tables": {keys[question.index]: question.mechanism.parameters for question in plan.questions},
    }
