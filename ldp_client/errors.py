"""What can go wrong on the device.

::

    LdpError
    ├── RowError, SurveyError, ReportError    from the shared part: rows, plans, report bytes
    └── ClientError                           (.reason)
        ├── BudgetError        the plan asks for more epsilon than this client grants
        ├── ClosedError        the client was closed; nothing was drawn
        ├── JournalError       the journal cannot be read or written; nothing was spent
        └── TransportError     the collector cannot be reached or answers nonsense
"""

from __future__ import annotations

from typing import ClassVar

from encoders.errors import LdpError, ReportError, RowError, SurveyError

__all__ = [
    "BudgetError",
    "ClientError",
    "ClosedError",
    "JournalError",
    "LdpError",
    "ReportError",
    "RowError",
    "SurveyError",
    "TransportError",
]


class ClientError(LdpError):
    """Base of the client's own errors; `reason` is a stable word."""

    reason: ClassVar[str] = "client-error"


class BudgetError(ClientError):
    """The plan asks for more epsilon than this client grants; nothing was drawn."""

    reason = "epsilon-above-cap"


class ClosedError(ClientError):
    """The client was closed; nothing was drawn."""

    reason = "client-closed"


class JournalError(ClientError):
    """The journal cannot be read or written; no report was made, so nothing was spent."""

    reason = "journal-unavailable"


class TransportError(ClientError):
    """The collector cannot be reached, or its answer is not a collector's."""

    reason = "collector-unreachable"
