"""Checks the settings of Redis servers: what they guarantee for an acknowledged report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import redis

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
