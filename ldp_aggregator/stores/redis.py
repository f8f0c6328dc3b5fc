"""The shared store: Redis, one script per atomic act.

The two keys of one question share a hash tag, so that a batch of one question is one slot. A name's
survey part holds no brace, since survey ids are a-z, 0-9 and '-'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import redis
from numpy.typing import NDArray

from ldp_aggregator.stores.base import (
    DURABLE,
    PIECE,
    Batch,
    CounterError,
    Known,
    Policy,
    Remembered,
    StoreError,
    Total,
    columns_of,
    no_survey,
    other_plan,
    rows_of,
)

_LOSS = (
    "a crash of Redis's machine may lose what was acknowledged in its last second or two; such reports are "
    "not sent again"
)
_FSYNC = {"always": ("always",), "everysec": ("everysec", "always")}
"""Which settings of appendfsync satisfy a policy."""

_SETTINGS = ("appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory-policy")
_RECORD = (files("ldp_aggregator.stores") / "lua" / "record.lua").read_text()


_SECONDS = 5.0
"""How long a server may be silent: older versions of redis-py wait for ever, and all requests with them."""

_CLUSTER = "redis+cluster://"
_FAILURES = (redis.RedisError, redis.exceptions.RedisClusterException)


class RedisStore:
    """Counters in Redis; see :class:`~ldp_aggregator.stores.base.Store`.

    Parameters
    ----------
    url : str
        ``redis://[:password@]host:port/db``, ``rediss://...``, ``unix:///path``, or
        ``redis+cluster://[:password@]host:port`` with any node of a cluster.

    Notes
    -----
    In a cluster a question is on one shard, so that a batch is one act; questions spread over the shards.
    A replica that takes over may lack what its primary acknowledged last, see docs/operating.md.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            if url.startswith(_CLUSTER):
                address = "redis://" + url.removeprefix(_CLUSTER)
                self._redis: Any = redis.RedisCluster.from_url(address, **_patience())
            else:
                self._redis = redis.Redis.from_url(url, **_patience())  # connects on first use
                pool = self._redis.connection_pool
                pool.connection_class(**pool.connection_kwargs)  # odd options would be told no earlier
        except (ValueError, TypeError) as error:
            raise StoreError("no usable Redis URL; percent-encode what is odd in its password") from error
        except _FAILURES as error:
            raise StoreError(f"the Redis cluster cannot be reached: {error}") from error

    def publish(self, survey: str, plan: bytes) -> None:
        """See :meth:`Store.publish`."""
        with _errors():
            if (
                not self._redis.hsetnx("ldp:plans", survey, plan)
                and self._redis.hget("ldp:plans", survey) != plan
            ):
                raise other_plan(survey)

    def plans(self) -> dict[str, bytes]:
        """See :meth:`Store.plans`."""
        with _errors():
            return {survey.decode(): plan for survey, plan in self._redis.hgetall("ldp:plans").items()}

    def set_window(self, survey: str, window: bytes) -> None:
        """See :meth:`Store.set_window`."""
        known = self.plans()
        if survey not in known:
            raise no_survey(survey, known)
        with _errors():
            self._redis.hset("ldp:windows", survey, window)

    def windows(self) -> dict[str, bytes]:
        """See :meth:`Store.windows`."""
        with _errors():
            return {survey.decode(): window for survey, window in self._redis.hgetall("ldp:windows").items()}

    def record(self, batches: Sequence[Batch]) -> list[Known]:
        """See :meth:`Store.record`: one script per batch, all in one round trip per server."""
        with _errors():
            # the script's text goes along: a script that a restarted server forgot would stop the others
            pipeline = self._redis.pipeline(transaction=False)
            for batch in batches:
                keys = _keys(batch.survey, batch.counter)
                where = self._where(keys[0])
                pipeline.execute_command("EVAL", _RECORD, len(keys), *keys, *_arguments(batch), **where)
            answers = pipeline.execute()
        return [dict(zip(flat[::2], flat[1::2], strict=True)) for flat in answers]

    def known(self, survey: str, ids: Mapping[str, NDArray[np.uint8]]) -> dict[str, Known]:
        """See :meth:`Store.known`."""
        wanted = {counter: rows_of(each) for counter, each in ids.items()}
        with _errors():
            pipeline = self._redis.pipeline(transaction=False)
            for counter, each in wanted.items():
                pipeline.hmget(_keys(survey, counter)[0], each)
            answers = pipeline.execute()
        return {
            counter: {report_id: mark for report_id, mark in zip(each, marks, strict=True) if mark}
            for (counter, each), marks in zip(wanted.items(), answers, strict=True)
        }

    def totals(self, survey: str) -> dict[str, Total]:
        """See :meth:`Store.totals`: looks through the keys, so no list can lack a counter."""
        before, after = _keys(survey, "*")[1].split("*")
        with _errors():
            names = {name.decode() for name in self._redis.scan_iter(f"{before}*{after}", count=1000)}
            found = {name: self._redis.get(name) for name in sorted(names)}
        return {
            name.removeprefix(before).removesuffix(after): _total(sums)
            for name, sums in found.items()
            if sums
        }

    def reports(self, survey: str, counter: str) -> Iterator[Remembered]:
        """See :meth:`Store.reports`: while Redis resizes the hash, it may tell an entry twice."""
        key, cursor = _keys(survey, counter)[0], 0
        while True:
            with _errors():
                cursor, entries = self._redis.hscan(key, cursor, count=PIECE)
            if entries:
                yield columns_of(entries)
            if not cursor:
                return

    def reject(self, survey: str, reason: str, count: int = 1) -> None:
        """See :meth:`Store.reject`."""
        with _errors():
            self._redis.hincrby(f"ldp:rejections:{survey}", reason, count)

    def rejections(self, survey: str) -> dict[str, int]:
        """See :meth:`Store.rejections`."""
        with _errors():
            counts = self._redis.hgetall(f"ldp:rejections:{survey}")
            return {reason.decode(): int(count) for reason, count in counts.items()}

    def ready(self) -> None:
        """See :meth:`Store.ready`."""
        with _errors():
            self._redis.set("ldp:ready", 1)  # a Redis that is full, or read-only, still answers a PING

    def promise(self, policy: Policy) -> str:
        """See :meth:`Store.promise`: reads the settings of every server that keeps counters."""
        self._require_guarded(policy)
        if policy.durability == "unchecked":
            return "Redis's settings were not checked: the operator vouches for them"
        for settings in self._settings():
            _require_kept(settings, policy)
        return DURABLE if policy.durability == "always" else _LOSS

    def _require_guarded(self, policy: Policy) -> None:
        parts = urlsplit(self._url)
        if parts.scheme != "unix" and not parts.password and not policy.allow_open:
            raise StoreError(
                "this Redis asks for no password: whoever reaches it can change the counters. Give it one "
                "(redis://:PASSWORD@HOST), use a Unix socket, or say --allow-open-redis"
            )

    def _settings(self) -> list[dict[str, str]]:
        nodes: list[dict[str, Any]] = [{}]
        if self._url.startswith(_CLUSTER):
            nodes = [{"target_nodes": node} for node in self._redis.get_primaries()]
        try:
            with _errors():
                return [
                    {name: self._redis.config_get(name, **node)[name] for name in _SETTINGS} for node in nodes
                ]
        except StoreError as error:
            if not isinstance(error.__cause__, redis.ResponseError):
                raise
            raise StoreError(
                "this Redis does not show its settings: see that they are appendonly yes, appendfsync always "
                "and maxmemory-policy noeviction, and say --durability unchecked"
            ) from error

    def close(self) -> None:
        """See :meth:`Store.close`."""
        self._redis.close()

    def _where(self, key: str) -> dict[str, Any]:
        """Name the server of a key: else redis-py asks any one of the cluster where a script's keys are."""
        return {"target_nodes": self._redis.get_node_from_key(key)} if self._url.startswith(_CLUSTER) else {}


def _patience() -> dict[str, float]:
    """Return the time limits of a connection; `?socket_timeout=` in the URL comes before them."""
    return {"socket_timeout": _SECONDS, "socket_connect_timeout": _SECONDS}


def _require_kept(settings: Mapping[str, str], policy: Policy) -> None:
    """Refuse settings by which Redis may forget what it acknowledged."""
    fsync = settings["appendfsync"]
    if settings["maxmemory-policy"] != "noeviction":
        raise StoreError("this Redis evicts keys when memory is short: set maxmemory-policy noeviction")
    if settings["appendonly"] != "yes" or fsync not in _FSYNC[policy.durability]:
        found = f"appendonly {settings['appendonly']}, appendfsync {fsync}"
        raise StoreError(
            f"this Redis may forget counted reports ({found}): set appendonly yes and appendfsync always; or "
            "appendfsync everysec, and accept by --durability everysec that a crash loses a second's reports"
        )
    if settings["no-appendfsync-on-rewrite"] != "no":
        raise StoreError(
            "this Redis syncs nothing while it rewrites its file: set no-appendfsync-on-rewrite no"
        )


def _keys(survey: str, counter: str) -> list[str]:
    """Return the two keys of a question; the tag in braces keeps them on one server."""
    return [f"ldp:{{{survey}:{counter}}}:ids", f"ldp:{{{survey}:{counter}}}:sums"]


def _arguments(batch: Batch) -> tuple[bytes, int, str]:
    """Return what the script takes; few strings, since each argument costs more than what it says."""
    entries = np.concatenate([batch.ids, batch.marks], axis=1).tobytes()
    changed = np.flatnonzero(batch.tally)
    pairs = np.stack([changed, batch.tally[changed]], axis=1).ravel()
    return entries, len(batch.tally), " ".join(map(str, pairs.tolist()))


def _total(sums: bytes) -> Total:
    n, *_ = cells = np.frombuffer(sums, ">i8").astype(np.int64)
    return Total(int(n), cells[1:])


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        kind = CounterError if "LDP " in str(error) else StoreError  # the script's own word
        raise kind(f"the Redis store cannot be used: {_told(error)}") from error


def _told(error: Exception) -> str:
    """Return what Redis says, without the script that a pipeline quotes."""
    return str(error).rpartition("caused error: ")[2]
