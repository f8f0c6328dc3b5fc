"""The receipt of a call: the state of a survey on this device, and the reason; errors become receipts too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import wraps
from itertools import count
from typing import Any, TypeVar, cast

from encoders.errors import LdpError, RowError, TokenError
from encoders.late_imports import LateImport
from ldp_client.debug_log import describe_error, log, log_report
from ldp_client.errors import ClosedError, ConsentError, ExpiredError, JournalError, TransportError

REPEATS_BEFORE_WARNING = 10
_RECEIPT_HTML = LateImport("encoders.notebook_html:receipt_html")  # loaded in notebooks alone
INTERNAL_ERROR = "internal-error"
"""The reason of an error that nobody expected."""

_repeat_numbers = count(1)
"""Numbers the `already_reported` receipts of this process; no row is kept to compare."""


class State(StrEnum):
    """The state of a survey on this device, or the outcome of a call."""

    NO_CONSENT = "no_consent"
    """The person has not agreed, or withdrew before answering; nothing was drawn or spent."""
    READY = "ready"
    """The person has agreed, and the plan is on this device: `report` will answer."""
    WAITING = "waiting"
    """The person is asked in a wave that has not opened yet; nothing is stored or spent until then."""
    NOT_ASKED = "not_asked"
    """The person's wave was over when they agreed; nothing is drawn or spent."""
    MISSED = "missed"
    """The person's wave is over, and they did not answer in it; nothing is drawn or spent."""
    QUEUED = "queued"
    """The answer is randomised and written to the journal; the report is still to be sent."""
    SENT = "sent"
    """The collector has counted the report; or, with a relay, the relay has it."""
    DUPLICATE = "duplicate"
    """The collector had already counted the same bytes; equivalent to SENT."""
    REJECTED = "rejected"
    """The collector or this client has refused the report for good; `reason` gives the cause."""
    EXPIRED = "expired"
    """The survey was closed, and still a day later; the report is deleted, but may have been counted."""
    WITHDRAWN = "withdrawn"
    """The person withdrew while the report waited; it is deleted, and none is ever made in its place."""
    ALREADY_REPORTED = "already_reported"
    """This device answered the survey before; nothing was drawn or spent."""
    INVALID = "invalid"
    """The answers or the token do not fit the survey; nothing was drawn or spent."""
    UNAVAILABLE = "unavailable"
    """The plan or journal cannot be read, or the client is closed; nothing was drawn or spent: try again."""


HELD_BY_RELAY = "the relay has it; it is counted when enough others have answered"
"""Why a report that was sent through a relay may not be counted yet."""
LEFT_RELAY = "the relay has passed it on, or deleted it because too few others answered"
"""What has become of such a report some days after the relay has stopped."""
CODE_REFUSALS = {
    "code-missing": "the survey needs a code: use the link that you received",
    "code-unknown": "the relay did not give this code: use the link that you received",
    "code-used": "this code was used before, and the first answer counts",
}
"""The reasons of a relay that refuses the code in a message for good, and what they mean."""

_STATES: dict[type[Exception], State] = {
    RowError: State.INVALID,
    TokenError: State.INVALID,
    ConsentError: State.NO_CONSENT,
    ExpiredError: State.EXPIRED,
    ClosedError: State.UNAVAILABLE,
    JournalError: State.UNAVAILABLE,
    TransportError: State.UNAVAILABLE,
}


_STATE_MEANINGS = {
    State.NO_CONSENT: "nothing is drawn or sent without consent",
    State.READY: "the person has agreed",
    State.WAITING: "the person is asked later",
    State.NOT_ASKED: "nothing is asked",
    State.MISSED: "nothing is asked any more",
    State.QUEUED: "the report is stored and waits to be sent",
    State.SENT: "the collector has counted the report",
    State.DUPLICATE: "the collector had counted the report before",
    State.REJECTED: "nothing more is sent",
    State.EXPIRED: "the survey is closed",
    State.WITHDRAWN: "the report is deleted",
    State.ALREADY_REPORTED: "this device has answered before",
    State.INVALID: "the answers or the token do not fit the survey; nothing was drawn",
    State.UNAVAILABLE: "nothing was drawn",
}


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a call of a client; it contains no value of the row.

    `field`, `why`, `problems` and `clipped` name the entries that did not fit: for the person, not for a log.
    `str` returns the state and the cause in one line, `repr` the fields that are not empty.
    """

    state: State
    survey: str = ""
    """The survey's id; the id of an earlier round, if this device answered that round."""
    epsilon: float = 0.0
    """The epsilon that this call spent of the person's budget: 0 unless it queued a report."""
    reason: str = ""
    """A stable word for why a report was rejected or still waits, or what is unavailable."""
    field: str = ""
    """The feature or label that was invalid, or "token"; of several, the first."""
    why: str = ""
    """The cause as a sentence for people, without any value of the row; about `field`, if it is set."""
    clipped: tuple[str, ...] = ()
    """Names of the numbers that were beyond the survey's public bounds, and were clipped to them."""
    problems: tuple[tuple[str, str], ...] = ()
    """Every `field` that was invalid, with its `why`."""
    opens: int | None = None
    closes: int | None = None
    """When the person's wave opens and closes, in seconds since 1970 (UTC), if it is not open."""
    series: str = ""
    """Of `status`: what the plans of the survey's series have spent and may spend, if the person agreed."""
    rehearsal: bool = False
    """Whether the client rehearses: nothing was sent, kept or spent, whatever the state is."""

    @classmethod
    def from_error(cls, error: Exception, survey: str) -> Receipt:
        """Return the receipt of a call that raised an error."""
        state = _STATES.get(type(error), State.REJECTED)
        if isinstance(error, RowError):
            problems = tuple((each.field, each.why) for each in error.problems)
            return cls(
                state, survey, reason=error.reason, field=error.field, why=error.why, problems=problems
            )
        if isinstance(error, TokenError):
            problems = (("token", error.why),)
            return cls(state, survey, reason=error.reason, field="token", why=error.why, problems=problems)
        if isinstance(error, LdpError):
            return cls(state, survey, reason=error.reason, why=str(error))
        # not ours, so its text may quote anything, the row too
        why = f"an unexpected {type(error).__name__}; a strict client raises it"
        return cls(State.UNAVAILABLE, survey, reason=INTERNAL_ERROR, why=why)

    def _repr_html_(self) -> str:
        html: str = _RECEIPT_HTML.load()(self)
        return html

    def __repr__(self) -> str:
        given = [f"{each.name}={value!r}" for each in fields(self) if (value := getattr(self, each.name))]
        return f"Receipt({', '.join(given)})"

    def __str__(self) -> str:
        causes = self.problems or ((self.field or self.reason, self.why),)
        cause = "; ".join(": ".join(filter(None, each)) for each in causes)
        if self.clipped:
            cause = f"clipped: {', '.join(self.clipped)}"
        prefix = "rehearsal: " if self.rehearsal else ""
        return f"{prefix}{self.state} ({cause})" if cause else f"{prefix}{self.state}"


Method = TypeVar("Method", bound=Callable[..., Receipt])


def return_errors(method: Method, then: Callable[[Any, Receipt], None] | None = None) -> Method:
    """Decorate a client's method: an error is returned as a receipt, unless the client is strict.

    A survey must never stop the application that embeds it. `then` is called with the client and the receipt;
    if it fails, a report that was stored stays queued.
    """
    name = method.__name__

    @wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Receipt:
        receipt, failure = Receipt(State.UNAVAILABLE, self.survey, reason=INTERNAL_ERROR), None
        try:
            receipt = method(self, *arguments, **named)
        except Exception as error:
            failure = error
            with suppress(Exception):
                receipt = Receipt.from_error(error, self.survey)
        del arguments, named  # they must not be in the traceback
        with suppress(Exception):
            if self.rehearsal:
                receipt = replace(receipt, rehearsal=True, epsilon=0.0)
            if failure or name != "status":  # applications call it often, and nothing happens in it
                cause = f"; {describe_error(failure)}" if failure else ""
                log_report(self.identity, f"{name}: {_describe(receipt)}{cause}")
        try:
            if then and not (failure and self._strict):
                then(self, receipt)
        except Exception as error:
            failure = failure or error
            if receipt.state is State.QUEUED:
                why = f"an unexpected {type(error).__name__}; the report is stored, and is sent later"
                receipt = replace(receipt, reason=INTERNAL_ERROR, why=why)
        try:
            if failure and self._strict:
                raise failure
            return receipt
        finally:
            del failure  # else the error and this frame refer to each other

    return cast(Method, call)


def _describe(receipt: Receipt) -> str:
    """Return a receipt for the log: no fields, and no sentences, which may contain a URL."""
    reason = f" ({receipt.reason})" if receipt.reason else ""
    if receipt.rehearsal:
        return f"rehearsal: {receipt.state}{reason}, nothing is sent or kept"
    return f"{receipt.state}{reason}, {_STATE_MEANINGS[receipt.state]}"


def warn_of_repeats() -> None:
    """Log a warning, once per process, that several people may share one journal."""
    if next(_repeat_numbers) == REPEATS_BEFORE_WARNING:
        log.warning(
            "%d reports of this process were already_reported: if several people answer here, they share one "
            "journal and only the first answer counts, so make one client per person with person=ID",
            REPEATS_BEFORE_WARNING,
        )
