"""Deletes a survey from a store; what stays is a tombstone with its id, digest and date."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

from encoders.errors import LdpError
from ldp_aggregator.collector.invitations import count_tokens
from ldp_aggregator.stores import Store
from ldp_aggregator.stores.operator_log import DELETED, Tombstone, read_tombstones, write_log
from ldp_aggregator.stores.schedule import Phase, read_schedule
from ldp_aggregator.stores.store import count_reports, token_namespace, unknown_survey_error

_COUNTED = "counted"
"""The kind of a store's notes with the numbers of what was deleted, by survey id."""


class DeletionError(LdpError):
    """A survey that must not be deleted yet; the message states what to do."""


def delete_survey(store: Store, survey: str, who: str, even_open: bool = False) -> dict[str, Any]:
    """Delete a survey with its counters, report ids and tokens; return its digest, the time and the numbers.

    Collectors may run meanwhile: a report is counted before its deletion, or refused. If the deletion is
    interrupted, or runs twice at a time, another run completes it with the same numbers.
    Raises DeletionError if the survey is not closed, without `even_open`, and StoreError if the store cannot
    be used, or has never had the survey.
    """
    rejected = sum(store.rejections(survey).values())  # before the tombstone, which ends their counting
    if survey not in read_tombstones(store):
        _begin(store, survey, who, even_open)
    store.unpublish(survey)  # from now on no report is counted: the numbers are final
    reports, tokens = count_reports(store.totals(survey)), count_tokens(store, survey)
    numbers = {"reports": reports, "rejected": rejected, "tokens": tokens}
    store.set_note(_COUNTED, survey, json.dumps(numbers).encode(), once=True)  # before anything is erased
    for name in (survey, token_namespace(survey)):
        store.erase(name)
    tombstone = read_tombstones(store)[survey]._replace(complete=True)
    store.set_note(DELETED, survey, json.dumps(tombstone).encode())
    counted = json.loads(store.notes(_COUNTED)[survey])
    return {"digest": tombstone.digest, "time": tombstone.time, **counted}


def _begin(store: Store, survey: str, who: str, even_open: bool) -> None:
    """Write the tombstone: from now on nobody can publish the survey."""
    plans = store.plans()
    if survey not in plans:
        if survey in read_tombstones(store):
            return  # another run began meanwhile
        raise unknown_survey_error(survey, plans)
    if read_schedule(store, survey).phase(time.time()) is not Phase.CLOSED and not even_open:
        raise DeletionError(
            f"{survey} is not closed, and may still get reports: run `ldp-collector close {survey}` first, "
            "or add --even-open"
        )
    write_log(store, who, "deleted", survey)
    tombstone = Tombstone(hashlib.sha256(plans[survey]).hexdigest(), int(time.time()))
    store.set_note(DELETED, survey, json.dumps(tombstone).encode(), once=True)
