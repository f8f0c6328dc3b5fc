"""Short forms of what tests do with stores: batches as dictionaries of report id to mark, and readiness."""

from collections.abc import Mapping

import numpy as np

from ldp_aggregator.stores import Batch, MarksById, Store, StoreError


def batch(survey: str, counter: str, ids: Mapping[bytes, bytes], tally: np.ndarray) -> Batch:
    columns = [
        np.frombuffer(b"".join(each), np.uint8).reshape(len(ids), -1) for each in (ids.keys(), ids.values())
    ]
    return Batch(survey, counter, *columns, tally)


def record(
    store: Store, survey: str, counter: str, ids: Mapping[bytes, bytes], tally: np.ndarray
) -> MarksById:
    (known,) = store.record([batch(survey, counter, ids, tally)])
    return known


def is_ready(store: Store) -> bool:
    """Return whether a store can take reports."""
    try:
        store.check_ready()
    except StoreError:
        return False
    return True
