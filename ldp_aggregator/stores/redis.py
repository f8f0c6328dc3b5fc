"""The shared store: Redis, one script per atomic act.

The two keys of one question share a hash tag, so that a batch of one question is one slot. A name's
survey part holds no brace, since survey ids are a-z, 0-9 and '-'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import numpy as np
import redis

from ldp_aggregator.stores.base import Batch, Known, StoreError, Total, other_plan

_DURABLE = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
"""What Redis must be set to for an answer to mean that a report is on disk, and stays."""

_RECORD = (files("ldp_aggregator.stores") / "lua" / "record.lua").read_text()


class RedisStore:
    """Counters in Redis; see :class:`~ldp_aggregator.stores.base.Store`.

    Parameters
    ----------
    url : str
        ``redis://[:password@]host:port/db``, ``rediss://...`` or ``unix:///path``. Connections are
        opened on first use, so a server may fork after this object is made.

    Notes
    -----
    Redis answers when its own settings say so: a counted report survives a crash of the machine only
    with ``appendonly yes`` and ``appendfsync always``. See :meth:`caveats`.
    """

    def __init__(self, url: str) -> None:
        try:
            self._redis: Any = redis.Redis.from_url(url)
        except ValueError as error:
            raise StoreError(f"no usable Redis URL: {error}") from error
        self._listed: set[tuple[str, str]] = set()

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

    def record(self, batches: Sequence[Batch]) -> list[Known]:
        """See :meth:`Store.record`: one script per batch, all in one round trip per server."""
        with _errors():
            for batch in batches:
                self._list(batch.survey, batch.counter)
            # the script's text goes along: a script that a restarted server forgot would stop the others
            pipeline = self._redis.pipeline(transaction=False)
            for batch in batches:
                pipeline.eval(_RECORD, 2, *_keys(batch.survey, batch.counter), *_arguments(batch))
            answers = pipeline.execute()
        return [dict(zip(flat[::2], flat[1::2], strict=True)) for flat in answers]

    def totals(self, survey: str) -> dict[str, Total]:
        """See :meth:`Store.totals`."""
        with _errors():
            counters = sorted(name.decode() for name in self._redis.smembers(f"ldp:counters:{survey}"))
            found = {counter: self._redis.get(_keys(survey, counter)[1]) for counter in counters}
        return {counter: _total(sums) for counter, sums in found.items() if sums}

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
            self._redis.ping()

    def caveats(self) -> list[str]:
        """See :meth:`Store.caveats`."""
        try:
            with _errors():
                found = {name: self._redis.config_get(name).get(name) for name in _DURABLE}
        except StoreError as error:
            if not isinstance(error.__cause__, redis.ResponseError):
                raise
            return ["this Redis does not show its settings: check that they are " + _wanted(_DURABLE)]
        weak = {name: value for name, value in _DURABLE.items() if found[name] != value}
        return [f"this Redis may forget counted reports: set {_wanted(weak)}"] if weak else []

    def close(self) -> None:
        """See :meth:`Store.close`."""
        self._redis.close()

    def _list(self, survey: str, counter: str) -> None:
        """Remember that a counter exists, before its first report."""
        if (survey, counter) not in self._listed:
            self._redis.sadd(f"ldp:counters:{survey}", counter)
            self._listed.add((survey, counter))


def _wanted(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


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
    except redis.RedisError as error:
        raise StoreError(f"the Redis store cannot be used: {error}") from error
