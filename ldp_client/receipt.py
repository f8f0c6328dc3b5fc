"""What became of one answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ldp_client.errors import ClientError, ClosedError, JournalError, LdpError, RowError, TransportError


class State(StrEnum):
    """Where an answer stands."""

    QUEUED = "queued"
    """Randomised and written to the journal; on its way."""
    SENT = "sent"
    """Counted by the collector."""
    DUPLICATE = "duplicate"
    """The collector had counted these very bytes before: as good as sent."""
    REJECTED = "rejected"
    """Refused for good, by the collector or by this client; `reason` says why."""
    ALREADY_REPORTED = "already_reported"
    """This device answered the survey before; nothing was drawn or spent."""
    INVALID = "invalid"
    """The row or label does not fit the survey; nothing was drawn or spent."""
    UNAVAILABLE = "unavailable"
    """Plan or journal are out of reach, or the client is closed; nothing was drawn or spent: try again."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one answer; it holds nothing of the row.

    Attributes
    ----------
    state : State
    survey : str
        Id of the survey, empty while no plan is known.
    epsilon : float
        What this call spent of the person's budget: 0 unless it queued a report.
    reason : str
        A stable word for a rejection or what is unavailable.
    field : str
        The feature or label that was invalid.
    why : str
        One sentence for people, without any value of the row.
    clipped : tuple of str
        Names of the numbers that were beyond the survey's public bounds, and were clipped to them.
    """

    state: State
    survey: str = ""
    epsilon: float = 0.0
    reason: str = ""
    field: str = ""
    why: str = ""
    clipped: tuple[str, ...] = ()


def receipt_of(error: LdpError, survey: str) -> Receipt:
    """Say what an error means to the caller."""
    if isinstance(error, RowError):
        return Receipt(State.INVALID, survey, field=error.field, reason="invalid-row", why=error.why)
    temporary = isinstance(error, ClosedError | JournalError | TransportError)
    reason = error.reason if isinstance(error, ClientError) else "invalid-plan"
    return Receipt(State.UNAVAILABLE if temporary else State.REJECTED, survey, reason=reason, why=str(error))
