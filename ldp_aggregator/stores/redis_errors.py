"""Errors of Redis as errors of stores, with a fixed word for the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import redis

from ldp_aggregator.stores.failure import (
    CounterError,
    LostReportsError,
    MissingSurveyError,
    StoreError,
    StoreFailure,
)
from ldp_aggregator.stores.losses import compare_numbers

FAILURES = (redis.RedisError, redis.exceptions.RedisClusterException)


@contextmanager
def store_errors() -> Iterator[None]:
    """Raise StoreError in place of redis-py's errors."""
    try:
        yield
    except FAILURES as error:
        raise _store_error(error) from error


def _store_error(error: Exception) -> StoreError:
    text = str(error).rpartition("caused error: ")[2]  # without the script that a pipeline quotes
    _, own, detail = text.partition("LDP ")  # the prefix of record.lua's errors
    if own and detail.startswith("missing "):
        return MissingSurveyError([detail.split()[1]])
    if own and detail.startswith("lost "):
        _, survey, *numbers = detail.split()
        loss = compare_numbers(*map(int, numbers))
        return LostReportsError(survey, loss.reports, loss.ids)
    message = f"the Redis store cannot be used: {text}"
    if own:
        overflow = "overflow" in detail
        return CounterError(message, StoreFailure.OVERFLOW if overflow else StoreFailure.OTHER)
    return StoreError(message, classify_failure(error))


_FAILURES_BY_TYPE = {
    redis.exceptions.TimeoutError: StoreFailure.TIMEOUT,
    redis.exceptions.BusyLoadingError: StoreFailure.LOADING,
    redis.exceptions.AuthenticationError: StoreFailure.NO_PERMISSION,
    redis.exceptions.NoPermissionError: StoreFailure.NO_PERMISSION,
    redis.exceptions.ReadOnlyError: StoreFailure.READ_ONLY,
    redis.exceptions.ClusterDownError: StoreFailure.CLUSTER_DOWN,
    redis.exceptions.RedisClusterException: StoreFailure.CLUSTER_DOWN,
}
_FAILURES_BY_TEXT = {
    "No space left": StoreFailure.DISK_FULL,
    "MISCONF": StoreFailure.DISK_ERROR,
    "OOM": StoreFailure.OUT_OF_MEMORY,
    "used memory >": StoreFailure.OUT_OF_MEMORY,  # redis-py removes the prefix OOM
    "NOPERM": StoreFailure.NO_PERMISSION,
    "NOAUTH": StoreFailure.NO_PERMISSION,
    "WRONGPASS": StoreFailure.NO_PERMISSION,
    "LOADING": StoreFailure.LOADING,
    "READONLY": StoreFailure.READ_ONLY,
    "CLUSTERDOWN": StoreFailure.CLUSTER_DOWN,
}


def classify_failure(error: Exception) -> StoreFailure:
    """Return the reason why Redis cannot be used, from the type or the text of an error of redis-py."""
    text = str(error).rpartition("caused error: ")[2]
    for kind, failure in _FAILURES_BY_TYPE.items():
        if isinstance(error, kind):
            return failure
    for part, failure in _FAILURES_BY_TEXT.items():
        if part in text:
            return failure
    is_connection = isinstance(error, redis.exceptions.ConnectionError)
    return StoreFailure.CONNECTION_FAILED if is_connection else StoreFailure.OTHER


_URL_FAULTS = {
    "Port could not": "its port is not a number",
    "Port out of range": "its port is above 65535",
    "following schemes": "it must begin with redis://, rediss://, unix:// or redis+cluster://",
    "Invalid value": "an option after the question mark has an invalid value",
    "unexpected keyword": "it has an unknown option after the question mark",
}


def explain_url_error(url: str, error: Exception) -> str:
    """Return the reason why redis-py refuses a URL, without quoting the URL: it may contain a password."""
    why = next((why for part, why in _URL_FAULTS.items() if part in str(error)), "it cannot be read")
    return f"{why}. Percent-encode the special characters of its password" if "@" in url else why
