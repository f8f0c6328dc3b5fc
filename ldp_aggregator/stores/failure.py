"""Why a store cannot be used: the error, and fixed words for logs and /readyz."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from encoders.errors import LdpError
from encoders.explain.text import Counted
from ldp_aggregator.stores.losses import NO_LOSS, Loss


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
    surveys: tuple[str, ...] = ()
    """The surveys that have lost data, if the others can go on."""

    def __init__(self, message: str, reason: StoreFailure = StoreFailure.OTHER) -> None:
        super().__init__(message)
        self.reason = reason


class CounterError(StoreError):
    """A batch cannot be counted; the store itself works, and can count other batches."""


class MissingSurveyError(CounterError):
    """The store lacks a survey that it had before, or has another plan of it."""

    def __init__(self, surveys: Iterable[str]) -> None:
        self.surveys = tuple(sorted(surveys))
        names = ", ".join(self.surveys)
        super().__init__(
            f"the store has lost {names}, or has another plan of it: it was emptied or replaced, or another "
            "collector has published a changed survey. Restore the store. Only if the survey was changed on "
            "purpose, restart this collector with the survey files that it serves from now on",
            StoreFailure.SURVEY_MISSING,
        )


def lost_plan_error(survey: str) -> CounterError:
    error = CounterError(
        f"the store has lost the plan of {survey}: start a collector with the survey's file, which publishes "
        "the plan again, and says what else is lost",
        StoreFailure.SURVEY_MISSING,
    )
    error.surveys = (survey,)
    return error


class LostReportsError(CounterError):
    """The store has lost reports that it had acknowledged, or their ids; nothing more is counted there."""

    def __init__(self, losses: Mapping[str, Loss]) -> None:
        self.surveys = tuple(sorted({name.partition(".")[0] for name in losses}))
        parts = (f"{name.partition('.')[0]}: {describe_loss(name, loss)}" for name, loss in losses.items())
        self.what = "; ".join(parts)
        super().__init__(
            f"the store has lost data of {self.what}. Restore the newest copy of the store or, to go on with "
            "what is left, import it into a new store: ldp-collector import "
            f"{' / '.join(self.surveys)} --from OLD --store NEW --accept-loss",
            StoreFailure.REPORTS_LOST,
        )


def require_whole(losses: Mapping[str, Mapping[str, Loss]], missing: Collection[str] = ()) -> None:
    """Raise an error if surveys are missing, or have lost something; the losses are by name and counter."""
    lost = {name: sum(each.values(), NO_LOSS) for name, each in losses.items() if each}
    if missing:
        raise MissingSurveyError({name.partition(".")[0] for name in (*missing, *lost)})
    if lost:
        raise LostReportsError(lost)


def describe_loss(name: str, loss: Loss) -> str:
    if "." in name:
        return f"{Counted(max(loss.reports, loss.ids), 'token')}, whose holders are refused"
    numbers = {
        f"{Counted(loss.reports, 'acknowledged report')} that no count contains": loss.reports,
        f"{Counted(loss.ids, 'id')} of reports, which would count again if they were sent again": loss.ids,
        f"the number of reports of {Counted(loss.counters, 'counter')}, which may lack more": loss.counters,
    }
    return " and ".join(text for text, number in numbers.items() if number)
