"""Requests rewrites of Redis's append-only file, which has reports in order of arrival before a rewrite."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.resources import files
from random import SystemRandom
from urllib.parse import parse_qsl, urlencode

import redis

from ldp_aggregator.background_task import BackgroundTask
from ldp_aggregator.stores.failure import StoreError
from ldp_aggregator.stores.redis_errors import FAILURES
from ldp_aggregator.stores.redis_servers import RedisServers

_OPTION = "rewrite_seconds"
_DEFAULT_SECONDS = 300.0
_MAX_SECONDS = 86_400.0
_RETRY_SECONDS = 5.0
_RECONNECT_SECONDS = 1.0
_MARGIN_SECONDS = 0.1
_PASSING = (
    redis.exceptions.AskError,
    redis.exceptions.TryAgainError,
    redis.exceptions.ClusterDownError,
    redis.exceptions.ReadOnlyError,
)
"""Responses of a cluster that changes; a MovedError is an AskError."""
_GROWTH_SCRIPT = (files("ldp_aggregator.stores") / "lua" / "finish_growth.lua").read_text()
_THOUSANDS_PER_CALL = 10
_ID_KEYS = "ldp:{*}:ids"
_draw_uniform = SystemRandom().random
_REWRITE_KEY = "ldp:rewriting"
"""Key of the lock that a collector takes before it requests a rewrite; it expires."""


class AofRewriter:
    """Makes Redis rewrite its append-only file, which shows the order of reports, in so many seconds."""

    def __init__(self, servers: RedisServers, seconds: float) -> None:
        self._servers = servers
        self._redis = servers.client
        self._seconds = seconds
        self._task = BackgroundTask(partial(self._try, self._rewrite))
        self._check = BackgroundTask(partial(self._try, self._check_rewrite))

    def request(self) -> None:
        """Schedule a rewrite at a random time within the interval: the new file shows when it was written."""
        if self._seconds:
            self._task.request(self._seconds * _draw_uniform())

    def start(self) -> None:
        """Rewrite the file within the interval, or at once if it was not rewritten since Redis started.

        After a crash, Redis 7.0 keeps the beginning of a script's transaction whose end was not written. At
        the next start, it would execute this part with the transaction that was appended to it. Redis may
        have started again after each failure.
        """
        self.request()  # a killed collector may have left reports in order of arrival
        if self._seconds:
            self._servers.after_failure = partial(self._check.request, 0)
            self._check.request(0)

    def close(self) -> None:
        """Start a rewrite now, if one was pending.

        Redis refuses during another rewrite; the last reports then stay in order of arrival until a
        collector runs again.
        """
        self._check.cancel()
        if self._task.cancel():
            with suppress(*FAILURES):
                self._rewrite_now()

    def _rewrite_now(self) -> None:
        with suppress(*FAILURES):  # without it, the file is written all the same
            self._finish_growth()
        failures = []
        for node in self._servers.primaries():
            try:
                self._redis.execute_command("BGREWRITEAOF", **node)
            except FAILURES as error:  # of one node: the others must not keep the order of arrival
                failures.append(error)
        if failures:
            raise failures[0]

    def _finish_growth(self) -> None:
        """Make Redis finish the growth of the hashes of ids.

        While a hash grows, Redis has two tables of it and writes one after the other; the reports that came
        after the growth began are all in the second.
        """
        for key in self._redis.scan_iter(_ID_KEYS, count=1000):
            node = self._servers.node_of_key(key)
            # the old table has at most as many buckets as the hash has ids
            thousands = math.ceil(self._redis.hlen(key) / 1000)
            while thousands > 0:
                now = min(thousands, _THOUSANDS_PER_CALL)
                self._redis.execute_command("EVAL", _GROWTH_SCRIPT, 1, key, now, **node)
                thousands -= now

    def _rewrite(self) -> float | None:
        """Request a rewrite unless another collector just did; return the seconds until the next try."""
        interval_ms = max(1, int(1000 * self._seconds))
        try:
            is_first = self._redis.set(_REWRITE_KEY, 1, px=interval_ms, nx=True)
        except (redis.ConnectionError, redis.TimeoutError):
            if not self._servers.is_cluster:
                raise
            with suppress(*FAILURES):  # the other nodes must not keep the order of arrival
                self._rewrite_now()
            return self._seconds + _RECONNECT_SECONDS
        if not is_first:
            remaining_ms: int = self._redis.pttl(_REWRITE_KEY)
            if remaining_ms <= interval_ms:
                return max(remaining_ms, 0) / 1000 + _MARGIN_SECONDS
            self._redis.set(_REWRITE_KEY, 1, px=interval_ms)  # the clock of Redis was set back
        try:
            self._rewrite_now()
        except redis.ResponseError:
            self._redis.delete(_REWRITE_KEY)
            raise
        self._check.request(_RETRY_SECONDS)
        return None

    def _try(self, run: Callable[[], float | None]) -> float | None:
        try:
            return run()
        except _PASSING:
            self._servers.read_map()
            return _RECONNECT_SECONDS
        except redis.ResponseError as error:
            return _RETRY_SECONDS if "in progress" in str(error) else None
        except FAILURES:
            return _RECONNECT_SECONDS

    def _check_rewrite(self) -> float | None:
        """Rewrite a file that failed or was not rewritten since a start; return seconds to the next check."""
        servers = [self._redis.info("persistence", **node) for node in self._servers.primaries()]
        if any(each["aof_rewrite_in_progress"] or each["aof_rewrite_scheduled"] for each in servers):
            return _RETRY_SECONDS
        is_rewritten = [each["aof_last_rewrite_time_sec"] >= 0 for each in servers]
        if all(is_rewritten) and all(each["aof_last_bgrewrite_status"] == "ok" for each in servers):
            return None
        self._rewrite_now()
        return _RETRY_SECONDS


def split_rewrite_seconds(url: str) -> tuple[str, float]:
    """Return a URL without `rewrite_seconds`, and that option's value or default."""
    before, _, query = url.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if _OPTION not in options:
        return url, _DEFAULT_SECONDS
    message = f"{_OPTION} in the Redis URL must be a number of seconds from 0 to {_MAX_SECONDS:.0f}"
    try:
        seconds = float(options.pop(_OPTION))
    except ValueError as error:
        raise StoreError(message) from error
    if not 0 <= seconds <= _MAX_SECONDS:
        raise StoreError(message)
    return (f"{before}?{urlencode(options)}" if options else before), seconds
