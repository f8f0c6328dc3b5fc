"""The connections to the Redis servers of a store, one or those of a cluster, with its scripts and keys.

redis-py's client of a cluster repeats each command of a failed pipeline, so that a server that hangs would
delay all the others. Here a command is sent once, and its server has TIMEOUT_SECONDS to respond.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any

import numpy as np
import redis
from redis.backoff import NoBackoff
from redis.commands.core import CoreCommands
from redis.retry import Retry

from ldp_aggregator.background_task import BackgroundTask
from ldp_aggregator.stores import redis_errors
from ldp_aggregator.stores.failure import CounterError, StoreError
from ldp_aggregator.stores.store import SURVEY_KINDS, Batch, Total, merge_batches, unmark_plan

TIMEOUT_SECONDS = 5.0
"""Longest wait for a response; redis-py prefers `?socket_timeout=` in the URL."""

_MAP_SECONDS = 1.0
"""How soon after a failure the map of a cluster is read again."""
_MAX_PROBE_KEYS = 1000
"""Of so many keys, every server of a cluster has one, unless it has less than about 1% of the slots."""
_CLUSTER_SCHEME = "redis+cluster://"

Node = Mapping[str, Any]
"""Keyword arguments that select a server in redis-py; empty without a cluster."""


class RedisServers:
    """The Redis servers of a store; StoreError for a wrong URL or a cluster that is not reached."""

    def __init__(self, url: str) -> None:
        self.is_cluster = url.startswith(_CLUSTER_SCHEME)
        self.after_failure: Callable[[], object] = lambda: None
        """Called whenever the servers could not be used."""
        self._map_reader = BackgroundTask(self.read_map)
        timeouts = {"socket_timeout": TIMEOUT_SECONDS, "socket_connect_timeout": TIMEOUT_SECONDS}
        try:
            if self.is_cluster:
                address = "redis://" + url.removeprefix(_CLUSTER_SCHEME)
                once = Retry(NoBackoff(), 0)
                self.client: Any = _OneTryCluster.from_url(address, retry=once, **timeouts)
                self.client.cluster_error_retry_attempts = 0  # redis-py before version 6 has two settings
            else:
                self.client = redis.Redis.from_url(url, **timeouts)  # connects on first use
                pool = self.client.connection_pool
                pool.connection_class(**pool.connection_kwargs)  # checks the options now
        except (ValueError, TypeError) as error:
            raise StoreError(f"invalid Redis URL: {redis_errors.explain_url_error(url, error)}") from None
        except redis_errors.FAILURES as error:
            message = (
                f"the Redis cluster cannot be used: {error}{redis_errors.explain_permissions(str(error))}"
            )
            raise StoreError(message, redis_errors.classify_failure(error)) from error

    def node_of_key(self, key: str) -> Node:
        return {"target_nodes": self.client.get_node_from_key(key)} if self.is_cluster else {}

    def primaries(self) -> list[Node]:
        return [{"target_nodes": node} for node in self.client.get_primaries()] if self.is_cluster else [{}]

    def scan(self, pattern: str) -> set[bytes]:
        """Return the keys that match a pattern, on all servers.

        A cluster is read again with a new map of it, because a key may move meanwhile, or to a new server.
        """
        found = {*self.client.scan_iter(pattern, count=1000)}
        if self.is_cluster:  # only now: this takes long only if a server hangs, and then it has failed before
            self.read_map()
            found |= {*self.client.scan_iter(pattern, count=1000)}
        return found

    def pipeline(self) -> OneTryPipeline:
        return OneTryPipeline(self)

    def write_probes(self) -> None:
        """Write a key to each server that keeps counters: a full or read-only Redis still answers PING."""
        pipeline = self.pipeline()
        untried = {node_name(node) for node in self.primaries()}
        for number in range(_MAX_PROBE_KEYS):
            key = f"ldp:ready:{number}"
            if (name := node_name(self.node_of_key(key))) in untried:
                untried.remove(name)
                pipeline.set(key, 1)
            if not untried:
                break
        pipeline.execute()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise StoreError in place of redis-py's errors.

        After a failure the idle connections are closed, because they may lead to a server that is no longer
        the right one: the next command looks up the address again.
        """
        try:
            yield
        except redis_errors.FAILURES as error:
            found = redis_errors.store_error(error)
            if not isinstance(found, CounterError):
                self._close_idle_connections()
                self.after_failure()
                if isinstance(error, redis.exceptions.AskError):  # or MovedError
                    self.read_map()
                elif self.is_cluster:
                    self._map_reader.request(_MAP_SECONDS)  # not now: another server may hang
            raise found from error

    def close(self) -> None:
        self._map_reader.cancel()
        self.client.close()

    def _close_idle_connections(self) -> None:
        nodes = self.client.get_nodes() if self.is_cluster else []
        for client in [node.redis_connection for node in nodes] or [self.client]:
            if client:  # a node to which nothing was sent yet has none
                client.connection_pool.disconnect(inuse_connections=False)

    def read_map(self) -> None:
        """Read which node has which slot, of a cluster."""
        if self.is_cluster:
            with suppress(*redis_errors.FAILURES):
                self.client.nodes_manager.initialize()


class _OneTryCluster(redis.RedisCluster):  # type: ignore[misc]  # see redis-py in pyproject.toml
    """A client that neither follows a key to another node nor reads the map while a command waits."""

    def _execute_command(self, target_node: Any, *arguments: Any, **options: Any) -> Any:
        return self.get_redis_connection(target_node).execute_command(*arguments, **options)


class OneTryPipeline(CoreCommands):  # type: ignore[misc]  # see redis-py in pyproject.toml
    """Sends commands to several servers, in one round trip for each; stops at the first failure."""

    def __init__(self, servers: RedisServers) -> None:
        self._servers = servers
        self._pipelines: dict[str, Any] = {}
        self._order: list[str] = []

    def execute_command(self, *arguments: Any, target_nodes: Any = None, **options: Any) -> None:
        """Add a command for a node of the cluster; without one, for the server of its first argument."""
        if target_nodes is None and self._servers.is_cluster:
            target_nodes = self._servers.client.get_node_from_key(arguments[1])
        name = target_nodes.name if target_nodes else ""
        if name not in self._pipelines:
            client = self._servers.client
            if target_nodes:
                client = client.get_redis_connection(target_nodes)
            self._pipelines[name] = client.pipeline(transaction=False)
        self._pipelines[name].execute_command(*arguments, **options)
        self._order.append(name)

    def execute(self) -> list[Any]:
        """Send the commands; return their replies in order, or raise the first error of redis-py."""
        replies = {name: iter(pipeline.execute()) for name, pipeline in self._pipelines.items()}
        return [next(replies[name]) for name in self._order]


def node_name(node: Node) -> str:
    return getattr(node.get("target_nodes"), "name", "")


def _read_script(name: str) -> str:
    return (files("ldp_aggregator.stores") / "lua" / f"{name}.lua").read_text()


RECORD_SCRIPT = _read_script("numbers") + _read_script("record")
NUMBERS_SCRIPT = _read_script("numbers") + _read_script("read_numbers")


def counter_keys(survey: str, counter: str) -> list[str]:
    return [f"ldp:{{{survey}:{counter}}}:ids", f"ldp:{{{survey}:{counter}}}:sums"]


def marker_key(survey: str, counter: str, is_cluster: bool) -> str:
    """Return the key of a table that has the hash of the survey's plan while the server has its data.

    It also has the number of reports of each counter. In a cluster each counter needs its own table, because
    a script sees only keys of one slot.
    """
    return f"ldp:{{{survey}:{counter}}}:published" if is_cluster else "ldp:published"


def note_key(kind: str) -> str:
    """Return the key of the notes of a kind, on the server of the schedules: collectors read both at once."""
    return f"ldp:{kind}" if kind in SURVEY_KINDS else f"ldp:{{ldp:windows}}:{kind}"


def number_field(survey: str, counter: str) -> str:
    return f"{survey}:{counter}"


def script_arguments(batch: Batch, plan_hash: bytes, seen: int) -> list[bytes | int | str]:
    """Return few strings for a batch; any plan fits an empty hash, and `seen` is the least number."""
    batch = merge_batches([batch])  # sorted, because Redis's file shows the order of arguments
    entries = np.concatenate([batch.ids, batch.marks], axis=1).tobytes()
    changed = np.flatnonzero(batch.tally)
    pairs = np.stack([changed, batch.tally[changed]], axis=1).ravel()
    changes = " ".join(map(str, pairs.tolist()))
    field = number_field(batch.survey, batch.counter)
    return [entries, len(batch.tally), changes, batch.survey, plan_hash, field, seen]


def hash_plan(plan: bytes | None) -> bytes:
    return hashlib.sha256(unmark_plan(plan)).hexdigest().encode() if plan else b""


def unpack_total(sums: bytes) -> Total:
    n, *_ = cells = np.frombuffer(sums, ">i8").astype(np.int64)
    return Total(int(n), cells[1:])
