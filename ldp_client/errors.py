"""What can go wrong on the device.

::

    LdpError
    ├── RowError, TokenError, SurveyError, ReportError    from the shared part: rows, plans, report bytes
    └── ClientError                           (.reason)
        ├── BudgetError        the plan asks for more epsilon than this client grants
        ├── ClosedError        the client was closed; nothing was drawn
        ├── ConsentError       the person has not agreed, or this device's environment forbids reports
        ├── ExpiredError       the collector has closed the survey
        ├── JournalError       the journal cannot be used; nothing was spent
        ├── PlanError          another plan than the one that this device, or the application, is bound to
        └── TransportError     the collector cannot be reached or answers nonsense
"""

from __future__ import annotations

from encoders.errors import (
    LdpError,
    PrivacyError,
    ReportError,
    RowError,
    SignatureError,
    SurveyError,
    TokenError,
)

__all__ = [
    "BudgetError",
    "ClientError",
    "ClosedError",
    "ConsentError",
    "ExpiredError",
    "JournalError",
    "LdpError",
    "PlanError",
    "PrivacyError",
    "ReportError",
    "RowError",
    "SignatureError",
    "SurveyError",
    "TokenError",
    "TransportError",
]


class ClientError(LdpError):
    """Base of the client's own errors.

    Attributes
    ----------
    reason : str
        A stable word, as in receipts.
    """

    reason: str = "client-error"

    def __init__(self, why: str, reason: str = "") -> None:
        super().__init__(why)
        self.reason = reason or self.reason


class BudgetError(ClientError):
    """The plan asks for more epsilon than this client grants; nothing was drawn."""

    reason = "epsilon-above-cap"


class ClosedError(ClientError):
    """The client was closed; nothing was drawn."""

    reason = "client-closed"


class ConsentError(ClientError):
    """The person has not agreed to this survey, or the environment forbids reports; nothing was drawn."""

    reason = "no-consent"


class ExpiredError(ClientError):
    """The collector has closed the survey; nothing was drawn."""

    reason = "survey-closed"


class JournalError(ClientError):
    """The journal cannot be read or written; no report was made, so nothing was spent."""

    reason = "journal-unavailable"


class PlanError(ClientError):
    """Another plan than the one that this device or the application is bound to; nothing was drawn."""

    reason = "plan-changed"


class TransportError(ClientError):
    """The collector cannot be reached, or its answer is not a collector's."""

    reason = "collector-unreachable"
