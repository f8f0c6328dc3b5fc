"""Deletion: when it is due, and the tombstone, with which nobody publishes or counts a survey again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import NamedTuple

from ldp_aggregator.stores.failure import StoreError, StoreFailure
from ldp_aggregator.stores.store import TEXTS, Store

DELETED = "deleted"
"""The kind of a store's notes that are tombstones, by survey id."""
_DATE = re.compile(r"(?<![\d-])\d{4}-\d\d-\d\d(?![\d-])", re.ASCII)


class DeletedSurveyError(StoreError):
    """The survey was deleted from the store; it cannot come back."""


class Tombstone(NamedTuple):
    digest: str
    time: int
    """When its deletion began, in Unix seconds."""
    complete: bool = False
    """Whether its data are deleted; otherwise the deletion was interrupted, or is running."""

    @property
    def date(self) -> str:
        return f"{datetime.fromtimestamp(self.time, UTC):%Y-%m-%d}"


def deleted_survey_error(survey: str, data: bytes) -> DeletedSurveyError:
    return DeletedSurveyError(
        f"survey {survey!r} was deleted from this store on {Tombstone(*json.loads(data)).date}, and its id "
        "cannot be used again: give a new survey another id",
        StoreFailure.SURVEY_MISSING,
    )


def read_tombstones(store: Store) -> dict[str, Tombstone]:
    return {survey: Tombstone(*json.loads(data)) for survey, data in store.notes(DELETED).items()}


def require_living(store: Store, survey: str, undo: Sequence[str] = ()) -> None:
    """Raise DeletedSurveyError for a survey whose deletion has begun; erase what was written under `undo`."""
    if data := store.notes(DELETED, survey).get(survey):
        for name in undo:
            store.erase(name)
        raise deleted_survey_error(survey, data)


def read_deletion_dates(store: Store) -> dict[str, date]:
    """Return the first date YYYY-MM-DD in each survey's `about.retention`, if there is one."""
    found = {}
    for survey, texts in store.notes(TEXTS).items():
        dates = []
        with suppress(ValueError, KeyError, TypeError):  # no texts, or no retention in them
            for text in _DATE.findall(json.loads(texts)["about"]["retention"]):
                with suppress(ValueError):  # a day that does not exist
                    dates.append(date.fromisoformat(text))
        if dates:
            found[survey] = min(dates)
    return found
