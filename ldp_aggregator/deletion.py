"""Deletes a survey from a store; what stays is a tombstone with its id, digest and date."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, replace

from encoders.errors import LdpError
from ldp_aggregator.collector.invitations import count_tokens, token_namespace
from ldp_aggregator.stores import Store
from ldp_aggregator.stores.operator_log import write_log
from ldp_aggregator.stores.schedule import Phase, read_schedule
from ldp_aggregator.stores.store import count_reports, unknown_survey_error
from ldp_aggregator.stores.tombstone import DELETED, Tombstone, read_tombstones

_COUNTED = "counted"
"""The kind of a store's notes with the numbers of what was deleted, by survey id."""


class DeletionError(LdpError):
    """A survey that must not be deleted yet; the message states what to do."""


@dataclass(frozen=True, kw_only=True)
class DeletedSurvey:
    """What was deleted."""

    tombstone: Tombstone
    reports: int
    rejected: int
    tokens: int


def delete_survey(store: Store, survey: str, who: str, even_open: bool = False) -> DeletedSurvey:
    """Delete a survey with its counters, report ids and tokens; leave a tombstone.

    Collectors may run meanwhile: a report is counted before its deletion, or refused. If the deletion is
    interrupted, or runs twice at a time, another run completes it with the same numbers.

    Parameters
    ----------
    store : Store
    survey : str
    who : str
        Who deletes it, for the operator's log.
    even_open : bool
        Whether to delete a survey that is not closed.

    Raises
    ------
    DeletionError
        If the survey is not closed.
    StoreError
        If the store cannot be used, or has never had the survey.
    """
    plans, tombstones = store.plans(), read_tombstones(store)
    rejected = sum(store.rejections(survey).values())  # before the tombstone, which ends their counting
    if survey not in tombstones:
        if survey not in plans:
            raise unknown_survey_error(survey, plans)
        phase = read_schedule(store, survey).phase(time.time())
        if phase is not Phase.CLOSED and not even_open:
            raise DeletionError(
                f"{survey} is not closed, and may still get reports: run `ldp-collector close {survey}` "
                "first, or add --even-open"
            )
        write_log(store, who, "deleted", survey)
        new = Tombstone(digest=hashlib.sha256(plans[survey]).hexdigest(), time=int(time.time()))
        store.set_note(DELETED, survey, new.to_json(), once=True)  # from now on nobody can publish the survey
    store.unpublish(survey)  # from now on no report is counted: the numbers are final
    numbers = {
        "reports": count_reports(store.totals(survey)),
        "rejected": rejected,
        "tokens": count_tokens(store, survey),
    }
    store.set_note(_COUNTED, survey, json.dumps(numbers).encode(), once=True)  # before anything is erased
    for name in (survey, token_namespace(survey)):
        store.erase(name)
    tombstone = replace(read_tombstones(store)[survey], complete=True)
    store.set_note(DELETED, survey, tombstone.to_json())
    return DeletedSurvey(tombstone=tombstone, **json.loads(store.notes(_COUNTED)[survey]))
