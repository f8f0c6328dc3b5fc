"""What Redis guarantees for an acknowledged report, and rewrites of its file, which hide the order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.resources import files
from random import SystemRandom
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import redis

from ldp_aggregator.background_task import BackgroundTask
from ldp_aggregator.stores.failure import StoreError, StoreFailure
from ldp_aggregator.stores.redis_errors import FAILURES, PERMISSIONS_ADVICE
from ldp_aggregator.stores.redis_servers import Node, RedisServers, node_name
from ldp_aggregator.stores.store import DURABLE, StorePolicy

_CHECKED_SETTINGS = ("appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory-policy")
_LIST_SETTINGS = "hash-max-*-entries"
"""The * is "listpack" since version 7, "ziplist" before."""

_LOSS_WARNING = (
    "a crash of Redis's machine may lose reports that were acknowledged in its last second or two; devices "
    "do not send them again"
)
_ORDER_WARNING = (
    "; but this Redis keeps the first reports of each question in order of arrival: set "
    "hash-max-listpack-entries 0"
)
_EVICTION_WARNING = (
    "; but this Redis has evicted {:,} keys since it started: if some were those of a collector, opening "
    "times, tokens or whole questions may be lost"
)
_ALLOWED_APPENDFSYNC = {"always": ("always",), "everysec": ("everysec", "always")}
"""The settings of appendfsync that satisfy each durability."""


class DurabilityCheck:
    """Compares the settings of Redis servers with what the operator requires.

    It checks now and then, so it overlooks an operator who turns ``appendonly`` off and on again between two
    checks. After that the server can acknowledge reports that its file does not contain yet.
    """

    def __init__(self, servers: RedisServers) -> None:
        self._servers = servers
        self.policy = StorePolicy("unchecked")  # nothing is checked until the store sets it
        self._unwritten: dict[str, object] = {}  # by node; a new object whenever appendonly was off

    def add_queries(self, pipeline: Any, nodes: Sequence[Node], extra: Sequence[str] = ()) -> list[Node]:
        """Add the commands that read the settings of Redis servers to a pipeline; return each server once."""
        if self.policy.durability == "unchecked":
            return []
        distinct = list({node_name(node): node for node in nodes}.values())
        for node in distinct:
            for name in (*_CHECKED_SETTINGS, *extra):  # versions before 7 accept only one name
                pipeline.execute_command("CONFIG GET", name, **node)
        return distinct

    def check_replies(
        self, nodes: Sequence[Node], replies: Sequence[Mapping[str, str]]
    ) -> list[dict[str, str]]:
        """Return each server's settings from replies; StoreError for weak ones or an unwritten file."""
        per_node = len(replies) // len(nodes) if nodes else 1
        settings_by_node: list[dict[str, str]] = [{} for _ in nodes]
        for position, reply in enumerate(replies):
            settings_by_node[position // per_node].update(reply)
        for node, settings in zip(nodes, settings_by_node, strict=True):
            if settings["appendonly"] != "yes":
                self._unwritten[node_name(node)] = object()
        for settings in settings_by_node:
            _require_durable(settings, self.policy)
        for node in nodes:
            self._require_written_file(node)
        return settings_by_node

    def check_servers(self) -> list[dict[str, str]]:
        try:
            with self._servers.errors():
                pipeline = self._servers.pipeline()
                queried_nodes = self.add_queries(pipeline, self._servers.primaries(), [_LIST_SETTINGS])
                replies = pipeline.execute()
        except StoreError as error:
            is_refusal = isinstance(error.__cause__, redis.ResponseError)
            if not is_refusal or error.reason not in (StoreFailure.NO_PERMISSION, StoreFailure.OTHER):
                raise
            raise StoreError(
                f"this Redis does not show its settings to this user, who may not run CONFIG GET: "
                f"{PERMISSIONS_ADVICE}; or make sure they are appendonly yes, appendfsync always and "
                "maxmemory-policy noeviction, and add --durability unchecked",
                StoreFailure.NO_PERMISSION,
            ) from error
        return self.check_replies(queried_nodes, replies)

    def describe_evictions(self) -> str:
        """Return a warning if servers have evicted keys since they started; they may have been of others."""
        with suppress(*FAILURES):
            nodes = self._servers.primaries()
            evicted = sum(self._servers.client.info("stats", **each)["evicted_keys"] for each in nodes)
            return _EVICTION_WARNING.format(evicted) if evicted else ""
        return ""

    def _require_written_file(self, node: Node) -> None:
        """Raise StoreError if a server that had `appendonly no` has not yet written its append-only file."""
        unwritten = self._unwritten.get(node_name(node))
        if unwritten is None:
            return
        with self._servers.errors():
            status = self._servers.client.info("persistence", **node)
        under_way = status["aof_rewrite_in_progress"] or status["aof_rewrite_scheduled"]
        failed = status["aof_last_bgrewrite_status"] != "ok"
        if failed and not under_way:
            with suppress(*FAILURES):
                self._servers.client.execute_command("BGREWRITEAOF", **node)
        if failed or under_way or not status["aof_enabled"]:
            raise StoreError(
                "this Redis had appendonly no and has not written its append-only file yet: wait until INFO "
                "persistence shows aof_rewrite_in_progress:0 and aof_last_bgrewrite_status:ok; if the status "
                "stays err, see Redis's log and run BGREWRITEAOF",
                StoreFailure.WEAK_DURABILITY,
            )
        # the same object: appendonly was not off again since the settings were read
        if self._unwritten.get(node_name(node)) is unwritten:
            del self._unwritten[node_name(node)]


def describe_guarantee(policy: StorePolicy, servers: Sequence[Mapping[str, str]]) -> str:
    if policy.durability == "unchecked":
        return "Redis's settings were not checked: the operator is responsible for them"
    has_lists = any(
        value != "0" for settings in servers for name, value in settings.items() if name.startswith("hash-")
    )
    return (DURABLE if policy.durability == "always" else _LOSS_WARNING) + (
        _ORDER_WARNING if has_lists else ""
    )


def _require_durable(settings: Mapping[str, str], policy: StorePolicy) -> None:
    fsync = settings["appendfsync"]
    if settings["maxmemory-policy"] != "noeviction":
        raise StoreError(
            "this Redis evicts keys when memory is short: set maxmemory-policy noeviction",
            StoreFailure.WEAK_DURABILITY,
        )
    if settings["appendonly"] != "yes" or fsync not in _ALLOWED_APPENDFSYNC[policy.durability]:
        current = f"appendonly {settings['appendonly']}, appendfsync {fsync}"
        raise StoreError(
            f"this Redis may lose counted reports ({current}): set appendonly yes and appendfsync always; "
            "or set appendfsync everysec, and add --durability everysec to accept that a crash loses the "
            "reports of a second",
            StoreFailure.WEAK_DURABILITY,
        )
    if settings["no-appendfsync-on-rewrite"] != "no":
        raise StoreError(
            "this Redis does not sync while it rewrites its file: set no-appendfsync-on-rewrite no",
            StoreFailure.WEAK_DURABILITY,
        )


def require_password(url: str, policy: StorePolicy) -> None:
    parts = urlsplit(url)
    if parts.scheme != "unix" and not parts.password and not policy.allow_open:
        raise StoreError(
            "the URL of this Redis has no password: any client that reaches it can change the counters. Set "
            "one (redis://:PASSWORD@HOST), use a Unix socket, or add --allow-open-redis"
        )


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
