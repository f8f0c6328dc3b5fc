"""Finds the surveys of a store that have lost data; the others can go on."""

from __future__ import annotations

from ldp_aggregator.snapshot_entries import stored_counters
from ldp_aggregator.stores.failure import CounterError, LostReportsError, lost_plan_error, require_whole
from ldp_aggregator.stores.operator_log import read_tombstones
from ldp_aggregator.stores.store import Store, token_namespace


def require_whole_survey(store: Store, survey: str, plan: bytes) -> None:
    counters = {survey: stored_counters(store, survey, plan), token_namespace(survey): []}
    require_whole({name: store.find_losses(name, each) for name, each in counters.items()})


def find_damage(store: Store) -> dict[str, CounterError]:
    found: dict[str, CounterError] = {each: lost_plan_error(each) for each in store.lost_plans()}
    for survey, plan in store.plans().items():
        try:
            require_whole_survey(store, survey, plan)
        except LostReportsError as error:
            found[survey] = error
    deleted = read_tombstones(store).keys()  # last: a deletion that begins meanwhile looks like damage
    return {survey: error for survey, error in found.items() if survey not in deleted}
