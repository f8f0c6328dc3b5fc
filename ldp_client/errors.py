"""The errors of the client.

::

    LdpError
    ├── RowError, TokenError, SurveyError, ReportError    of the shared part: rows, plans, report bytes
    └── ClientError
        └── BudgetError, ClosedError, ConsentError, ExpiredError, JournalError, OptionError, PlanError,
            TransportError

Every error has a `reason`, the stable word that receipts have too. The reason of a mistake of the application
is :data:`BAD_OPTION`, whatever the class.
"""

from __future__ import annotations

from encoders.errors import LdpError

BAD_OPTION = "bad-option"
OTHER_PLAN = "other-plan"
"""The reason of a plan that has another relay than the application names, or none."""
ASKS_AGAIN = "asks-again"
"""The reason of a plan that the person's consent to its series does not cover."""


class ClientError(LdpError):
    """Base of the client's own errors."""

    reason = "client-error"

    def __init_subclass__(cls, reason: str = "") -> None:
        cls.reason = reason or cls.reason

    def __init__(self, why: str, reason: str = "") -> None:
        super().__init__(why)
        self.reason = reason or self.reason


class BudgetError(ClientError, reason="epsilon-above-cap"):
    """The plan spends more epsilon than this client allows; nothing was drawn."""


class ClosedError(ClientError, reason="client-closed"):
    """The client was closed; nothing was drawn."""


class ConsentError(ClientError, reason="no-consent"):
    """The person has not agreed to this survey, or the environment forbids reports; nothing was drawn."""


class ExpiredError(ClientError, reason="survey-closed"):
    """The collector has closed the survey; nothing was drawn."""


class JournalError(ClientError, reason="journal-unavailable"):
    """The journal cannot be read or written; no report was made, so nothing was spent."""


class OptionError(ClientError, reason=BAD_OPTION):
    """An option of a client cannot be used: a mistake of the application."""


class PlanError(ClientError, reason="plan-changed"):
    """The plan is not the one that this device or the application is bound to; nothing was drawn."""


class TransportError(ClientError, reason="collector-unreachable"):
    """The collector cannot be reached, or does not send the survey's plan."""
