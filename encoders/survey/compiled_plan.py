"""What every compiled survey has, whether people or silos answer it: one form, one digest, its questions.

The id of a report is 16 random bytes, by which the collector counts the report once. A token, see
:mod:`encoders.survey.invitation`, is an id that begins with the index of its question, two bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from encoders.canonical import decimal_text, load_canonical_json
from encoders.errors import OTHER_TEXTS, RECOMPILE, SurveyError, combine_errors
from encoders.late_imports import LateImport
from encoders.mechanisms.base import CountedMechanism
from encoders.randomness import RandomSource
from encoders.report import ID_BYTES, MAX_REPORT_BYTES, Report, pack
from encoders.survey.features import Feature, Label, row_entries

if TYPE_CHECKING:
    from encoders.survey.texts import SurveyTexts

_TEXTS = LateImport("encoders.survey.texts")  # devices seldom need them
FORMAT = 1
INDEX_BYTES = 2
MAX_PLAN_BYTES = 1 << 20
OPEN, TOKEN = "open", "token"
ENROLMENTS = (OPEN, TOKEN)
LOCAL, SILO, CENTRAL = "local", "silo", "central"
"""The kinds of surveys: people answer, organisations with many rows answer, or a curator trains on rows."""
SILO_REFUSAL = (
    "this survey is for organisations that each send one message of counts, not for answers of people: "
    "`ldp-survey check` prints its noise, `ldp-collector serve` collects its messages, `ldp-silo report` "
    "sends one, `ldp-audit silo` audits them, and `ldp-train` computes estimates"
)
CENTRAL_REFUSAL = (
    "this survey is for a curator who holds the rows, so nothing is compiled, sent or collected: `ldp-survey "
    "check` prints what it needs, `ldp-central train` trains on the rows, `ldp-compare` measures accuracies "
    "on made-up rows, and `ldp-audit central` audits trainings"
)
REFUSALS = {SILO: SILO_REFUSAL, CENTRAL: CENTRAL_REFUSAL}
"""What to do with a survey of each kind that people do not answer."""
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_SHA256_OR_NONE = re.compile(r"([0-9a-f]{64})?")


def is_survey_id(value: object) -> bool:
    """Return whether a value can be a survey's id, which is part of URLs, file names and counters."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def check_id(survey: object) -> None:
    if not is_survey_id(survey):
        raise SurveyError("needs 1 to 64 of a-z, 0-9 and '-'", "id")


class CountedQuestion(Protocol):
    """What a collector uses of a question, see :class:`~encoders.survey.questions.Question`."""

    @property
    def index(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def support_key(self) -> str: ...
    @property
    def cells(self) -> int: ...
    @property
    def mechanism(self) -> CountedMechanism: ...


QuestionT = TypeVar("QuestionT", bound=CountedQuestion, covariant=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledPlan(Generic[QuestionT]):
    """A compiled survey; :class:`~encoders.survey.plan.Plan` is a survey of people."""

    kind: ClassVar[str]
    """The kind of its survey: "local" if people answer it, or "silo"."""
    max_report_bytes: ClassVar[int] = MAX_REPORT_BYTES

    id: str
    epsilon: Decimal
    """Nominal privacy budget of what one person sends."""
    label: Label
    """`NO_LABEL` for a survey without a label."""
    features: tuple[Feature, ...]
    questions: tuple[QuestionT, ...]
    family: str = ""
    """Id of the first of several rounds. By default the survey's own id."""
    enrolment: str = OPEN
    """"open": anybody may answer. "token": those with an invitation, see
    :mod:`encoders.survey.invitation`."""
    texts_digest: str = ""
    """SHA-256 of the survey's texts, in hexadecimal; empty if it has none."""
    texts: SurveyTexts | None = field(default=None, repr=False)
    """The survey's texts, if they are at hand: a plan that is read alone has only their digest."""
    users: int | None = field(default=None, repr=False)
    """Number of expected people, if it is at hand; it is not in the document."""
    json: bytes = field(init=False, repr=False)
    """Canonical form; its SHA-256 is the digest in every report."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.json == other.json

    def __hash__(self) -> int:
        return hash(self.json)

    def _check_publication(self) -> None:
        object.__setattr__(self, "family", self.family or self.id)
        if not is_survey_id(self.family):
            raise SurveyError("needs a survey's id", "family")
        if self.enrolment not in ENROLMENTS:
            raise SurveyError('must be "open" or "token"', "enrolment")
        if not (isinstance(self.texts_digest, str) and _SHA256_OR_NONE.fullmatch(self.texts_digest)):
            raise SurveyError("needs 64 hexadecimal digits in lower case", "texts")
        if self.texts and self.texts.digest != self.texts_digest:
            raise SurveyError(OTHER_TEXTS, "texts")

    def _set_json(self, data: bytes) -> None:
        object.__setattr__(self, "json", data)
        if len(data) > MAX_PLAN_BYTES:
            raise SurveyError(
                f"the plan is larger than {MAX_PLAN_BYTES} bytes, which no client accepts: use fewer values "
                "or features"
            )

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.json).hexdigest()

    @cached_property
    def digest_bytes(self) -> bytes:
        return bytes.fromhex(self.digest)

    @cached_property
    def longest_report(self) -> int:
        return max(map(self.report_bytes, self.counted_questions))

    def report_bytes(self, question: CountedQuestion) -> int:
        payload = bytes(question.mechanism.payload_bytes)
        return len(pack(Report(self.digest_bytes, question.index, bytes(ID_BYTES), payload)))

    @property
    def counted_questions(self) -> Sequence[QuestionT]:
        """The questions as reports name them and a collector counts them, in the order of their indices."""
        return self.questions

    @property
    def asks_all(self) -> bool:
        return False

    @property
    def series_id(self) -> str:
        """Name and key of the plan's series; empty without one."""
        return ""

    @property
    def by_invitation(self) -> bool:
        return self.enrolment == TOKEN

    @property
    def entries(self) -> tuple[Feature, ...]:
        return row_entries(self.features)

    @property
    def row_label(self) -> Label:
        return self.label

    def with_texts(self, data: bytes) -> Self:
        """Return this plan with its texts from the bytes of their file; raise SurveyError for other texts."""
        if not self.texts_digest:
            raise SurveyError("the survey has no texts: give none", "texts")
        module = _TEXTS.load()
        plan, names = copy(self), module.EntryNames.from_row(self.row_label, self.entries)
        object.__setattr__(plan, "texts", module.SurveyTexts.from_json(data, self.texts_digest, names))
        return plan

    def _common_entries(self) -> dict[str, Any]:
        """Return the entries of every plan's document; those with a default only if they differ from it."""
        optional = {
            "family": self.family if self.family != self.id else "",
            "enrolment": self.enrolment if self.enrolment != OPEN else "",
            "texts": self.texts_digest,
        }
        return (
            {name: value for name, value in optional.items() if value}
            | self.label.as_entries()
            | {
                "epsilon": decimal_text(self.epsilon),
                "features": [each.as_dict() for each in row_entries(self.features)],
                "format": FORMAT,
                "id": self.id,
            }
        )

    def require_json(self, data: bytes) -> None:
        """Raise SurveyError unless these bytes are the plan's canonical form."""
        if self.json != data:
            raise SurveyError(
                "the plan contradicts itself, because it is not written as its entries require: update "
                f"ldp-bayes if a later version made it, or {RECOMPILE}"
            )


def load_plan_document(data: bytes) -> dict[str, Any]:
    """Parse a plan's canonical JSON; raise SurveyError if it is too long, or not a plan of this format."""
    if len(data) > MAX_PLAN_BYTES:
        raise SurveyError(f"the plan is larger than {MAX_PLAN_BYTES} bytes: use fewer values or features")
    document = load_canonical_json(data)
    if not isinstance(document, dict) or (found := document.get("format")) != FORMAT:
        if isinstance(document, dict) and type(found) is int and found > FORMAT:
            raise SurveyError(f"a later version made this plan (format {found}): update ldp-bayes", "format")
        raise SurveyError(f"not a plan of format {FORMAT}: {RECOMPILE}", "format")
    return document


@contextmanager
def plan_errors() -> Iterator[None]:
    """Raise every error while a plan is read as SurveyError, with the remedy for it."""
    try:
        yield
    except SurveyError as error:
        raise combine_errors([_with_remedy(each) for each in error.problems]) from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise SurveyError(f"the plan lacks an entry, or an entry has the wrong type: {RECOMPILE}") from error


def _with_remedy(error: SurveyError) -> SurveyError:
    has_remedy = RECOMPILE in error.why or "update ldp-bayes" in error.why
    return error if has_remedy else type(error)(f"{error.why}; {RECOMPILE}", error.field)


AnyPlan = CompiledPlan[CountedQuestion]
PlanT = TypeVar("PlanT", bound=AnyPlan)


def report_id_prefix(plan: AnyPlan, question: CountedQuestion) -> bytes:
    """Return the bytes with which all report ids of a question begin; none without invitations."""
    return question.index.to_bytes(INDEX_BYTES, "big") if plan.by_invitation else b""


def draw_report_id(plan: AnyPlan, question: CountedQuestion, rng: RandomSource) -> bytes:
    """Draw the id of a report or an invitation; takes 16 random bytes, or 14 in a survey by invitation."""
    prefix = report_id_prefix(plan, question)
    return prefix + rng.take(ID_BYTES - len(prefix))
