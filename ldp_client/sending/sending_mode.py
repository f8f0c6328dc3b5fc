"""Which reports a sender sends: each at its time, or before the exit of the application."""

from __future__ import annotations

from enum import Enum, auto


class SendingMode(Enum):
    """Which reports the sender's thread sends, and when."""

    SCHEDULED = auto()  # each at its scheduled time
    LAST_REPORT = auto()  # before the exit: one that the schedule allows, at once
    LAST_REPORT_TRIED = auto()  # none; the thread ends
    RESEND_ALL = auto()  # as SEND_ALL, after all attempts were forgotten
    SEND_ALL = auto()  # every untried report, at once
