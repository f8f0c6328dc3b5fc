"""The shared store: Redis, one script per atomic act.

The two keys of one question share a hash tag, so that a batch of one question is one slot. A name's
survey part holds no brace, since survey ids are a-z, 0-9 and '-'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import numpy as np
import redis

from ldp_aggregator.stores.base import Int64Array, StoreError, Total, other_plan

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
        self._record = self._redis.register_script(_RECORD)
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

    def record(
        self, survey: str, counter: str, ids: Mapping[bytes, bytes], tally: Int64Array
    ) -> dict[bytes, bytes]:
        """See :meth:`Store.record`."""
        # one string for all reports: thousands of arguments would cost more than the counting
        entries = b"".join(report_id + fingerprint for report_id, fingerprint in ids.items())
        arguments: list[object] = [entries, len(tally)]
        changed = np.flatnonzero(tally)
        for cell, amount in zip(changed.tolist(), tally[changed].tolist(), strict=True):
            arguments += (cell, amount)
        with _errors():
            self._list(survey, counter)
            flat = self._record(keys=_keys(survey, counter), args=arguments)
        return dict(zip(flat[::2], flat[1::2], strict=True))

    def totals(self, survey: str) -> dict[str, Total]:
        """See :meth:`Store.totals`."""
        with _errors():
            counters = sorted(name.decode() for name in self._redis.smembers(f"ldp:counters:{survey}"))
            found = {counter: self._redis.hgetall(_keys(survey, counter)[1]) for counter in counters}
        return {counter: _total(cells) for counter, cells in found.items() if cells}

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
    return [f"ldp:{{{survey}:{counter}}}:ids", f"ldp:{{{survey}:{counter}}}:cells"]


def _total(fields: Mapping[bytes, bytes]) -> Total:
    cells = np.zeros(int(fields[b"d"]), dtype=np.int64)
    for cell, amount in fields.items():
        if cell not in (b"n", b"d"):
            cells[int(cell)] = int(amount)
    return Total(int(fields[b"n"]), cells)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except redis.RedisError as error:
        raise StoreError(f"the Redis store cannot be used: {error}") from error
