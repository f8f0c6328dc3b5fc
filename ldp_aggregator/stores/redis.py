"""The shared store: Redis, with one script per atomic operation.

The two keys of one question share a hash tag, so that a batch of one question is in one slot. Survey ids
consist of a-z, 0-9 and '-', so a key's survey part holds no brace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from urllib.parse import urlsplit

import numpy as np

from ldp_aggregator.arrays import ByteArray
from ldp_aggregator.stores.failure import MissingSurveyError, StoreError, StoreFailure
from ldp_aggregator.stores.redis_aof import AofRewriter, split_rewrite_seconds
from ldp_aggregator.stores.redis_servers import TIMEOUT_SECONDS, RedisServers, node_name
from ldp_aggregator.stores.redis_settings import DurabilityCheck, describe_guarantee
from ldp_aggregator.stores.store import (
    REPORTS_PER_READ,
    Batch,
    IdsAndMarks,
    MarksById,
    StorePolicy,
    Total,
    arrays_from_entries,
    byte_rows,
    changed_plan_error,
    merge_batches,
    unknown_survey_error,
)

_RECORD_SCRIPT = (files("ldp_aggregator.stores") / "lua" / "record.lua").read_text()

_LOCK = {"timeout": 60.0, "blocking_timeout": TIMEOUT_SECONDS}
"""How long one publication of a survey may take, and how long the next one waits for it, in seconds."""
_PLANS_KEY = "ldp:plans"
_MAX_PROBE_KEYS = 1000
"""Of so many keys, every server of a cluster has one, unless it has less than about 1% of the slots."""


def open_url(url: str, _read_only: bool, _create: bool) -> RedisStore:
    """Open the store of a URL; opening writes nothing."""
    return RedisStore(url)


class RedisStore:
    """Counters in Redis; see :class:`~ldp_aggregator.stores.store.Store`.

    Parameters
    ----------
    url : str
        ``redis://[:password@]host:port/db``, ``rediss://...``, ``unix:///path``, or
        ``redis+cluster://[:password@]host:port`` with any node of a cluster. With ``?rewrite_seconds=N``
        Redis rewrites its append-only file N seconds after a report; 0: never; default 300.

    Notes
    -----
    In a cluster a question is on one shard, so that a batch is atomic; questions spread over the shards.
    After a failover, the replica may lack what its primary acknowledged last, see docs/running.md.
    """

    def __init__(self, url: str) -> None:
        url, rewrite_seconds = split_rewrite_seconds(url)
        self._url = url
        self._required: dict[str, tuple[bytes, Sequence[str]]] = {}  # a plan's hash, and the counters
        self._servers = RedisServers(url)
        self._redis, self._is_cluster = self._servers.client, self._servers.is_cluster
        self._check = DurabilityCheck(self._servers)
        self._rewriter = AofRewriter(self._servers, rewrite_seconds)

    def publish(self, survey: str, plan: bytes, counters: Sequence[str] = ()) -> None:
        """Store the plan, or replace one without reports; mark its counters; see :meth:`Store.publish`."""
        with self._servers.errors(), self._redis.lock(f"ldp:publishing:{survey}", **_LOCK):
            stored = self._redis.hget(_PLANS_KEY, survey)
            if stored not in (None, plan):
                self._remove_plan(survey, stored)
            self._redis.hset(_PLANS_KEY, survey, plan)
            self._mark(survey, self._marker_keys(survey, counters), plan)

    def _remove_plan(self, survey: str, plan: bytes) -> None:
        """Prepare the replacement of a plan without reports.

        No report is counted without the marks, so the totals are final once all marks are removed.
        """
        keys = self._marker_keys(survey, [""])
        if self._is_cluster:
            found = self._redis.scan_iter(f"ldp:{{{survey}:*}}:published", count=1000)
            keys = {key.decode() for key in found}
        totals = None
        try:
            self._mark(survey, keys, b"")
            totals = self.totals(survey)
        finally:
            if totals != {}:
                self._mark(survey, keys, plan)
        if totals:
            raise changed_plan_error(survey, totals)
        self._redis.hdel("ldp:texts", survey)

    def _mark(self, survey: str, keys: Iterable[str], plan: bytes) -> None:
        """Set the marks of a plan, in every table; remove them if it is empty."""
        pipeline = self._servers.pipeline()
        for key in keys:
            pipeline.hset(key, survey, _hash_plan(plan)) if plan else pipeline.hdel(key, survey)
        pipeline.execute()

    def plans(self) -> dict[str, bytes]:
        """Read the plans from Redis; see :meth:`Store.plans`."""
        with self._servers.errors():
            return {survey.decode(): plan for survey, plan in self._redis.hgetall(_PLANS_KEY).items()}

    def require_survey(self, survey: str, plan: bytes, counters: Sequence[str] = ()) -> None:
        """Look for the hash of the plan in the script that counts; see :meth:`Store.require_survey`."""
        self._required[survey] = _hash_plan(plan), counters

    def set_texts(self, survey: str, texts: bytes) -> None:
        """Replace the texts of a survey in Redis; see :meth:`Store.set_texts`."""
        self._require_survey(survey)
        with self._servers.errors():
            self._redis.hset("ldp:texts", survey, texts)

    def texts(self) -> dict[str, bytes]:
        """Read the texts from Redis; see :meth:`Store.texts`."""
        with self._servers.errors():
            return {survey.decode(): texts for survey, texts in self._redis.hgetall("ldp:texts").items()}

    def set_schedule(self, survey: str, schedule: bytes) -> None:
        """Replace a schedule in Redis; see :meth:`Store.set_schedule`."""
        self._require_survey(survey)
        with self._servers.errors():
            self._redis.hset("ldp:windows", survey, schedule)

    def schedules(self) -> dict[str, bytes]:
        """Read the schedules from Redis; see :meth:`Store.schedules`."""
        with self._servers.errors():
            return {survey.decode(): data for survey, data in self._redis.hgetall("ldp:windows").items()}

    def record(self, batches: Sequence[Batch]) -> list[MarksById]:
        """Record batches with one script each, in one round trip per server; see :meth:`Store.record`.

        The same round trip then reads the settings, so that no report is acknowledged under weak settings.
        """
        with self._servers.errors():
            # EVAL, not EVALSHA: a restarted server lacks the script, and the other batches would fail
            pipeline = self._servers.pipeline()
            nodes = []
            for batch in batches:
                keys, arguments = _counter_keys(batch.survey, batch.counter), _script_arguments(batch)
                nodes.append(self._servers.node_of_key(keys[0]))
                if batch.survey in self._required:
                    keys.append(self._marker_key(batch.survey, batch.counter))
                    arguments += [batch.survey, self._required[batch.survey][0]]
                pipeline.execute_command("EVAL", _RECORD_SCRIPT, len(keys), *keys, *arguments, **nodes[-1])
            queried_nodes = self._check.add_queries(pipeline, nodes)
            answers = pipeline.execute()
        self._check.check_replies(queried_nodes, answers[len(batches) :])
        if any(len(batch.ids) for batch in batches):
            self._request_rewrite()
        return [dict(zip(flat[::2], flat[1::2], strict=True)) for flat in answers[: len(batches)]]

    def server_of(self, batch: Batch) -> str:
        """Return the node of a cluster that has the question; see :meth:`Store.server_of`."""
        with self._servers.errors():
            return node_name(self._servers.node_of_key(_counter_keys(batch.survey, batch.counter)[0]))

    def find_recorded(self, survey: str, ids: Mapping[str, ByteArray]) -> dict[str, MarksById]:
        """Look up ids in the hash of each counter; see :meth:`Store.find_recorded`."""
        wanted = {counter: byte_rows(each) for counter, each in ids.items()}
        with self._servers.errors():
            pipeline = self._servers.pipeline()
            for counter, each in wanted.items():
                pipeline.hmget(_counter_keys(survey, counter)[0], each)
            answers = pipeline.execute()
        return {
            counter: {report_id: mark for report_id, mark in zip(each, marks, strict=True) if mark}
            for (counter, each), marks in zip(wanted.items(), answers, strict=True)
        }

    def totals(self, survey: str) -> dict[str, Total]:
        """Scan the keys for counters, since a separate list might lack one; see :meth:`Store.totals`."""
        prefix, suffix = _counter_keys(survey, "*")[1].split("*")
        with self._servers.errors():
            names = {name.decode() for name in self._redis.scan_iter(f"{prefix}*{suffix}", count=1000)}
            pipeline = self._servers.pipeline()
            for name in sorted(names):
                pipeline.get(name)
            values = dict(zip(sorted(names), pipeline.execute(), strict=True))
        return {
            name.removeprefix(prefix).removesuffix(suffix): _unpack_total(sums)
            for name, sums in values.items()
            if sums
        }

    def report_ids(self, survey: str, counter: str) -> Iterator[IdsAndMarks]:
        """Scan the hash of ids; entries may repeat while Redis resizes it; see :meth:`Store.report_ids`."""
        key = _counter_keys(survey, counter)[0]
        cursor = 0
        while True:
            with self._servers.errors():
                cursor, entries = self._redis.hscan(key, cursor, count=REPORTS_PER_READ)
            if entries:
                yield arrays_from_entries(entries)
            if not cursor:
                return

    def add_rejections(self, survey: str, reason: str, count: int = 1) -> None:
        """Add to the number of rejections in Redis; see :meth:`Store.add_rejections`."""
        with self._servers.errors():
            self._redis.hincrby(f"ldp:rejections:{survey}", reason, count)

    def rejections(self, survey: str) -> dict[str, int]:
        """Read the rejections by reason from Redis; see :meth:`Store.rejections`."""
        with self._servers.errors():
            counts = self._redis.hgetall(f"ldp:rejections:{survey}")
            return {reason.decode(): int(count) for reason, count in counts.items()}

    def check_ready(self) -> None:
        """Raise StoreError if Redis cannot take a report now; see :meth:`Store.check_ready`."""
        with self._servers.errors():
            self._write_probes()
            self._require_published()
        self._check.check_servers()

    def check_durability(self, policy: StorePolicy) -> str:
        """Check the settings of every server that keeps counters; see :meth:`Store.check_durability`."""
        self._require_password(policy)
        self._check.policy = policy
        try:
            guarantee = describe_guarantee(policy, self._check.check_servers())
        except StoreError as error:
            is_unreachable = error.reason in (StoreFailure.TIMEOUT, StoreFailure.CONNECTION_FAILED)
            if not is_unreachable or not self._url.startswith("rediss:"):
                raise
            message = f"{error}; does this Redis speak TLS? If not, write redis://"
            raise StoreError(message, error.reason) from error
        self._request_rewrite()  # a killed collector may have left reports in order of arrival
        return guarantee

    def _require_survey(self, survey: str) -> None:
        plans = self.plans()
        if survey not in plans:
            raise unknown_survey_error(survey, plans)

    def _write_probes(self) -> None:
        """Write a key to each server that keeps counters: a full or read-only Redis still answers PING."""
        pipeline = self._servers.pipeline()
        untried = {node_name(node) for node in self._servers.primaries()}
        for number in range(_MAX_PROBE_KEYS):
            key = f"ldp:ready:{number}"
            if (name := node_name(self._servers.node_of_key(key))) in untried:
                untried.remove(name)
                pipeline.set(key, 1)
            if not untried:
                break
        pipeline.execute()

    def _require_published(self) -> None:
        """Raise MissingSurveyError for a required survey that Redis, or a server of the cluster, lacks."""
        if not self._required:
            return
        pipeline = self._servers.pipeline()
        indices = [
            (survey, plan_hash, key)
            for survey, (plan_hash, counters) in self._required.items()
            for key in {_PLANS_KEY, *self._marker_keys(survey, counters)}
        ]
        for survey, _, key in indices:
            pipeline.hget(key, survey)
        found = zip(indices, pipeline.execute(), strict=True)
        if missing := {
            survey
            for (survey, plan_hash, key), value in found
            if plan_hash != (_hash_plan(value) if key == _PLANS_KEY else value)
        }:
            raise MissingSurveyError(missing)

    def _marker_keys(self, survey: str, counters: Sequence[str]) -> set[str]:
        return {self._marker_key(survey, each) for each in (counters if self._is_cluster else [""])}

    def _marker_key(self, survey: str, counter: str) -> str:
        """Return the key of a table that has the hash of the survey's plan while the server has its data.

        In a cluster each counter needs its own, because a script sees only keys of one slot.
        """
        return f"ldp:{{{survey}:{counter}}}:published" if self._is_cluster else "ldp:published"

    def _require_password(self, policy: StorePolicy) -> None:
        parts = urlsplit(self._url)
        if parts.scheme != "unix" and not parts.password and not policy.allow_open:
            raise StoreError(
                "the URL of this Redis has no password: any client that reaches it can change the counters. "
                "Set one (redis://:PASSWORD@HOST), use a Unix socket, or add --allow-open-redis"
            )

    def close(self) -> None:
        """Start a pending rewrite of the append-only file, then close; see :meth:`Store.close`."""
        self._rewriter.close()
        self._servers.close()

    def _request_rewrite(self) -> None:
        """Request a rewrite of the append-only file, unless the policy is "unchecked"."""
        if self._check.policy.durability != "unchecked":
            self._rewriter.request()


def _counter_keys(survey: str, counter: str) -> list[str]:
    """Return the two keys of a question; the tag in braces keeps them on one server."""
    return [f"ldp:{{{survey}:{counter}}}:ids", f"ldp:{{{survey}:{counter}}}:sums"]


def _script_arguments(batch: Batch) -> list[bytes | int | str]:
    """Return a script's arguments for a batch, in few strings, because each argument costs time."""
    batch = merge_batches([batch])  # sorted, because Redis's file shows the order of arguments
    entries = np.concatenate([batch.ids, batch.marks], axis=1).tobytes()
    changed = np.flatnonzero(batch.tally)
    pairs = np.stack([changed, batch.tally[changed]], axis=1).ravel()
    return [entries, len(batch.tally), " ".join(map(str, pairs.tolist()))]


def _hash_plan(plan: bytes | None) -> bytes:
    """Return a short name of a survey's plan; empty if the survey has none."""
    return hashlib.sha256(plan).hexdigest().encode() if plan else b""


def _unpack_total(sums: bytes) -> Total:
    """Return the total that a counter's string holds."""
    n, *_ = cells = np.frombuffer(sums, ">i8").astype(np.int64)
    return Total(int(n), cells[1:])
