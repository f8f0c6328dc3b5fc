"""The exception tree of ldp-bayes.

::

    LdpError               .reason
        SurveyError        .field, .line, .problems
            PrivacyError, SignatureError
        RowError           .field, .why, .problems
        TokenError         .why
        ReportError

Clients and collectors derive their own errors from :class:`LdpError`. An error contains names of fields and
public texts of the survey. It never contains a value of a person's row.
"""

from __future__ import annotations

from enum import StrEnum

TYPE_CHECKING = False  # importing typing takes longer than all else that has_consent() loads
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self, TypeVar

    ErrorT = TypeVar("ErrorT", bound="_CollectedError")
    Item = TypeVar("Item")
    Result = TypeVar("Result")

RECOMPILE = "compile the survey again"
OTHER_TEXTS = f"these texts belong to another plan: {RECOMPILE}, and copy the plan and its texts together"


class Reason(StrEnum):
    """Why a report is rejected: stable words of the HTTP interface, each with its own counter."""

    MALFORMED = "malformed"
    TOO_LARGE = "too-large"
    WRONG_PLAN = "wrong-plan"
    UNKNOWN_QUESTION = "unknown-question"
    WRONG_QUESTION = "wrong-question"
    BAD_PAYLOAD = "bad-payload"
    ID_REUSED = "id-reused"
    NOT_ENROLLED = "not-enrolled"
    BAD_SEAL = "bad-seal"
    PROMISE_BROKEN = "promise-broken"
    """Counts batches, not reports; see :func:`encoders.survey.unsealing.breaks_promise`."""
    # the collector's HTTP side decides these before it reads a report
    LENGTH_REQUIRED = "length-required"
    INCOMPLETE = "incomplete-body"
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type"
    UNKNOWN_SURVEY = "unknown-survey"
    NO_SIGNATURE = "no-signature"
    NO_TEXTS = "no-texts"
    RELAY_REQUIRED = "relay-required"
    SURVEY_CLOSED = "survey-closed"
    SURVEY_NOT_OPEN = "survey-not-open"
    TOO_MANY_REQUESTS = "too-many-requests"
    TOO_MANY_REPORTS = "too-many-reports"
    STORE_UNAVAILABLE = "store-unavailable"
    NOT_AUTHORISED = "not-authorised"
    NO_SUCH_PAGE = "no-such-page"
    INTERNAL = "internal-error"


class LdpError(Exception):
    """Base class of all deliberate errors; a text from a file or server is escaped, for terminals."""

    reason: str = "error"
    """A stable word for the kind of the error, as in the receipts of a client."""

    def __str__(self) -> str:
        return "\n".join(map(escape_unprintable, super().__str__().split("\n")))


def escape_unprintable(text: str) -> str:
    r"""Return a text in which each character that is not printable is escaped, such as \\x1b."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


class _CollectedError(LdpError):
    """An error for several problems; no reference to itself, so it is freed without the garbage collector."""

    _problems: tuple[Self, ...] = ()

    @property
    def problems(self) -> tuple[Self, ...]:
        return self._problems or (self,)


class SurveyError(_CollectedError):
    """A survey file or plan that cannot be used.

    Its `field` is the dotted name of the wrong entry, for example ``features.age.values``, or empty. `line`
    is that of the authored file, `file` its name, and `why` what is wrong and how to correct it. `problems`
    has all errors in the order of the file; the other attributes are those of the first.
    """

    reason = "invalid-plan"
    file = ""

    def __init__(self, why: str, field: str = "", line: int | None = None) -> None:
        self.why, self.field, self.line = why, field, line
        place = f"line {line}: " if line else ""
        super().__init__(f"{place}{field}: {why}" if field else f"{place}{why}")


class PrivacyError(SurveyError):
    """Probability tables that would spend more than the epsilon they claim."""


class SignatureError(SurveyError):
    """A plan that was not signed with the expected key, or a malformed key or signature."""

    reason = "bad-signature"


class RowError(_CollectedError):
    """A row or label that does not fit the survey; raised before any privacy budget is spent.

    Its `field` is the name of the feature or label, and `why` what is wrong, without the value itself.
    `problems` has one error for each field that does not fit; the other attributes are those of the first.
    """

    reason = "invalid-row"

    def __init__(self, field: str, why: str) -> None:
        self.field, self.why = field, why
        super().__init__(f"{field}: {why}")


def map_collecting_errors(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply `function` to every item, and return the results; raise one error for all items that fail."""
    results: list[Result] = []
    problems: list[RowError | SurveyError] = []
    for item in items:
        try:
            results.append(function(item))
        except (RowError, SurveyError) as error:
            for each in error.problems:
                each.__traceback__ = each.__context__ = each.__cause__ = None
                problems.append(each)
    if problems:
        raise combine_errors(problems)
    return results


def combine_errors(problems: Sequence[ErrorT]) -> ErrorT:
    """Return one error for several problems: the first, with all of them in its text and in `problems`."""
    first = problems[0]  # copied: if raised itself, the frame that holds `problems` would keep it alive
    error = type(first).__new__(type(first))
    vars(error).update(vars(first))
    error._problems = tuple(problems) if len(problems) > 1 else ()
    error.args = ("\n".join(map(str, problems)),)
    return error


class TokenError(LdpError):
    """An invitation that is missing, misspelt or of another survey; `why` does not contain the token."""

    reason = "invalid-token"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"token: {why}")


class ReportError(LdpError):
    """Bytes that are not a valid report."""

    reason: Reason

    def __init__(self, reason: Reason, why: str = "") -> None:
        self.reason, self.why = reason, why
        super().__init__(f"{reason}: {why}" if why else str(reason))
