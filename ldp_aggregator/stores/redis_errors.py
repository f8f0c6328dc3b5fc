"""Errors of Redis as errors of stores, with a fixed word for the reason."""

from __future__ import annotations

import redis

from ldp_aggregator.stores.failure import (
    CounterError,
    LostReportsError,
    MissingSurveyError,
    StoreError,
    StoreFailure,
    compare_numbers,
)

_OLD_SCRIPT_ERROR = "The user executing the script can't run this command"
"""What Redis before version 7.2 says if a script may not run a command, without the command's name."""
PERMISSIONS_ADVICE = 'give it the commands of the table "Permissions of a Redis user" in docs/running.md'
"""For a Redis user that may not run a command."""
_NO_PERMISSION = ("permissions to run", "ACL failure in script", _OLD_SCRIPT_ERROR)
_OUT_OF_MEMORY_ADVICE = (
    " Raise maxmemory in the settings of Redis: nothing can be written or deleted until then."
)
SCRIPT_COMMANDS = ("BITFIELD", "DEL", "GETRANGE", "HGET", "HLEN", "HMGET", "HSET", "STRLEN")
FAILURES = (redis.RedisError, redis.exceptions.RedisClusterException)


def store_error(error: Exception) -> StoreError:
    text = str(error).rpartition("caused error: ")[2]  # without the script that a pipeline quotes
    _, own, detail = text.partition("LDP ")  # the prefix of record.lua's errors
    if own and detail.startswith("missing "):
        return MissingSurveyError([detail.split()[1]])
    if own and detail.startswith("lost "):
        _, survey, *numbers = detail.split()
        return LostReportsError({survey: compare_numbers(*map(int, numbers))})
    message = f"the Redis store cannot be used: {text}"
    if isinstance(error, (redis.exceptions.AskError, redis.exceptions.TryAgainError)):
        message = "a question has moved to another node of the Redis cluster: try again"
    if isinstance(error, redis.exceptions.LockError):
        message = "another collector publishes this survey, or was killed while it did: try again in a minute"
    if own:
        overflow = "overflow" in detail
        return CounterError(message, StoreFailure.OVERFLOW if overflow else StoreFailure.OTHER)
    failure = classify_failure(error)
    fix = _OUT_OF_MEMORY_ADVICE if failure is StoreFailure.OUT_OF_MEMORY else explain_permissions(text)
    return StoreError(message + fix, failure)


def explain_permissions(text: str) -> str:
    if not any(each in text for each in _NO_PERMISSION):
        return ""
    script = f" (one of {', '.join(SCRIPT_COMMANDS)})" if _OLD_SCRIPT_ERROR in text else ""
    return f"{script}; {PERMISSIONS_ADVICE}"


_FAILURES = {
    StoreFailure.TIMEOUT: ("TimeoutError",),
    StoreFailure.DISK_FULL: ("No space left",),
    StoreFailure.DISK_ERROR: ("MISCONF",),
    StoreFailure.OUT_OF_MEMORY: ("OOM", "used memory >"),  # redis-py removes the prefix OOM
    StoreFailure.NO_PERMISSION: ("AuthenticationError", "NoPermissionError", "NOPERM", "NOAUTH", "WRONGPASS"),
    StoreFailure.LOADING: ("BusyLoadingError", "LOADING"),
    StoreFailure.LOCKED: ("LockError",),
    StoreFailure.READ_ONLY: ("ReadOnlyError", "MasterDownError", "READONLY", "NOREPLICAS"),
    StoreFailure.CLUSTER_DOWN: ("ClusterDown", "AskError", "TryAgain", "ClusterException", "CLUSTERDOWN"),
}
"""The reasons by names of classes of redis-py, and parts of messages of Redis."""


def classify_failure(error: Exception) -> StoreFailure:
    text = str(error).rpartition("caused error: ")[2]
    if explain_permissions(text):
        return StoreFailure.NO_PERMISSION
    names = " ".join(each.__name__ for each in type(error).__mro__)
    for where in (names, text):
        for failure, words in _FAILURES.items():
            if any(word in where for word in words):
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
