"""Why a store cannot be used: the error, and fixed words for logs and /readyz."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from encoders.errors import LdpError
from encoders.explain.text import Counted


class StoreFailure(StrEnum):
    """Why a store cannot be used; docs/monitoring.md explains each word."""

    FILE_MISSING = "file-missing"
    FILE_REPLACED = "file-replaced"
    SURVEY_MISSING = "survey-missing"
    REPORTS_LOST = "reports-lost"
    WEAK_DURABILITY = "weak-durability"
    CONNECTION_FAILED = "connection-failed"
    TIMEOUT = "timeout"
    LOADING = "loading"
    CLUSTER_DOWN = "cluster-down"
    NO_PERMISSION = "no-permission"
    READ_ONLY = "read-only"
    DISK_FULL = "disk-full"
    DISK_ERROR = "disk-error"
    OUT_OF_MEMORY = "out-of-memory"
    LOCKED = "locked"
    DAMAGED = "damaged"
    OVERFLOW = "overflow"
    OTHER = "other"


class StoreError(LdpError):
    """The store cannot be used; nothing was recorded."""

    reason: StoreFailure
    """A fixed word without anything from a request, an address or a path."""

    def __init__(self, message: str, reason: StoreFailure = StoreFailure.OTHER) -> None:
        super().__init__(message)
        self.reason = reason


class CounterError(StoreError):
    """A batch cannot be counted; the store itself works, and can count other batches."""


class MissingSurveyError(CounterError):
    """The store lacks a survey that it had before, or has another plan of it."""

    def __init__(self, surveys: Iterable[str]) -> None:
        names = ", ".join(sorted(surveys))
        super().__init__(
            f"the store has lost {names}, or has another plan of it: it was emptied or replaced, or another "
            "collector has published a changed survey. Restore the store. Only if the survey was changed on "
            "purpose, restart this collector with the survey files that it serves from now on",
            StoreFailure.SURVEY_MISSING,
        )


class LostReportsError(CounterError):
    """The store has lost reports that it had acknowledged, or their ids; nothing more is counted there."""

    def __init__(self, name: str, reports: int, ids: int) -> None:
        survey = name.partition(".")[0]
        super().__init__(
            f"the store has lost data of {survey}: {describe_loss(name, reports, ids)}. Restore the newest "
            "copy of the store or, to go on with what is left, import it into a new store: ldp-collector "
            f"import {survey} --from OLD --store NEW --accept-loss",
            StoreFailure.REPORTS_LOST,
        )


def describe_loss(name: str, reports: int, ids: int) -> str:
    """Return how many reports and ids of a survey are lost, or how many tokens, whose names have a dot."""
    if "." in name:
        return f"{Counted(max(reports, ids), 'token')}, whose holders are refused"
    parts = [f"{Counted(reports, 'acknowledged report')} that no count contains"] if reports else []
    parts += (
        [f"{Counted(ids, 'id')} of reports, which would count again if they were sent again"] if ids else []
    )
    return " and ".join(parts)
