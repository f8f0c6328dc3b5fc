"""The shared store: Redis, with one script per atomic operation.

The two keys of one question share a hash tag, so that a batch of one question is in one slot. Survey ids
consist of a-z, 0-9 and '-', so a key's survey part holds no brace.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ldp_aggregator.arrays import ByteArray
from ldp_aggregator.stores import failure, redis_settings, store
from ldp_aggregator.stores.operator_log import DELETED, deleted_survey_error
from ldp_aggregator.stores.redis_errors import FAILURES
from ldp_aggregator.stores.redis_servers import (
    NUMBERS_SCRIPT,
    RECORD_SCRIPT,
    TIMEOUT_SECONDS,
    RedisServers,
    counter_keys,
    hash_plan,
    marker_key,
    node_name,
    note_key,
    number_field,
    script_arguments,
    unpack_total,
)

_LOCK = {"timeout": 60.0, "blocking_timeout": TIMEOUT_SECONDS}
"""How long one publication of a survey may take, and how long the next one waits for it, in seconds."""
_PLANS_KEY = "ldp:plans"


class RedisStore:
    """Counters in Redis; see :class:`~ldp_aggregator.stores.store.Store`.

    The URL is ``redis://[:password@]host:port/db``, ``rediss://...``, ``unix:///path``, or
    ``redis+cluster://[:password@]host:port`` with any node of a cluster. With ``?rewrite_seconds=N`` Redis
    rewrites its append-only file N seconds after a report; 0: never; default 300. After a failover, the
    replica may lack what its primary acknowledged last, see docs/running.md.
    """

    def __init__(self, url: str) -> None:
        url, rewrite_seconds = redis_settings.split_rewrite_seconds(url)
        self._url = url
        self._required: dict[str, tuple[bytes, Sequence[str]]] = {}  # a plan's hash, and the counters
        self.seen = failure.SeenTotals()
        self._servers = RedisServers(url)
        self._redis, self._is_cluster = self._servers.client, self._servers.is_cluster
        self._check = redis_settings.DurabilityCheck(self._servers)
        self._rewriter = redis_settings.AofRewriter(self._servers, rewrite_seconds)

    def publish(self, survey: str, plan: bytes, counters: Sequence[str] = ()) -> None:
        with self._servers.errors(), self._redis.lock(f"ldp:publishing:{survey}", **_LOCK):
            if tombstone := self._redis.hget(note_key(DELETED), survey):
                raise deleted_survey_error(survey, tombstone)
            stored = self.plans(survey).get(survey)
            keys = self._marker_keys(survey, counters)
            if stored not in (None, plan):
                self._prepare_replacement(survey, stored)
            elif stored or survey in self._surveys_with_data([survey]):
                marks = self._read_marks([(survey, key) for key in keys])
                if not stored and {*marks.values()} - {b"", hash_plan(plan)}:
                    raise store.changed_plan_error(survey, self.totals(survey))
                # a table that lacks its mark has lost its numbers; support counters have no reports
                keys = {key for (_, key), mark in marks.items() if mark or key.endswith("+}:published")}
            self._mark(survey, keys, plan)
            self._redis.hset(_PLANS_KEY, survey, store.mark_plan(plan, counters))  # last: all marks are there

    def _prepare_replacement(self, survey: str, plan: bytes) -> None:
        """Replace the marks of a plan without reports by those of none: from then on the totals are final.

        The tables are not left without marks, which would look like a loss if this process were killed.
        """
        keys = self._find_marker_keys(survey)
        totals = None
        try:
            self._mark(survey, keys, b"no plan")
            totals = self.totals(survey)
        finally:
            if totals != {}:
                self._mark(survey, keys, plan)
        if totals:
            raise store.changed_plan_error(survey, totals)
        self._redis.hdel(note_key(store.TEXTS), survey)

    def _find_marker_keys(self, survey: str) -> set[str]:
        if not self._is_cluster:
            return self._marker_keys(survey, [""])
        return {key.decode() for key in self._servers.scan(f"ldp:{{{survey}:*}}:published")}

    def _mark(self, survey: str, keys: Iterable[str], plan: bytes) -> None:
        pipeline = self._servers.pipeline()
        for key in keys:
            pipeline.hset(key, survey, hash_plan(plan)) if plan else pipeline.hdel(key, survey)
        pipeline.execute()

    def plans(self, survey: str | None = None) -> dict[str, bytes]:
        stored = self._read_hash(_PLANS_KEY, survey)
        return {name: store.unmark_plan(plan) for name, plan in stored.items()}

    def _read_hash(self, key: str, field: str | None) -> dict[str, bytes]:
        with self._servers.errors():
            found = {field.encode(): self._redis.hget(key, field)} if field else self._redis.hgetall(key)
        return {name.decode(): value for name, value in found.items() if value is not None}

    def lost_plans(self) -> set[str]:
        with self._servers.errors():
            keys = self._servers.scan("ldp:{*:*}:*")
            fields = self._redis.hscan_iter("ldp:published", "*:*", count=1000)
            found = [*(key[5:] for key in keys), *(field for field, _ in fields)]
        names = {name.partition(b":")[0].decode().partition(".")[0] for name in found}
        noted = {survey for kind in store.SURVEY_KINDS for survey in self.notes(kind)}
        plans = self.plans().keys()
        return self._surveys_with_data(names - plans) | (noted - plans)

    def _surveys_with_data(self, surveys: Collection[str]) -> set[str]:
        named = [(each, name) for each in surveys for name in (each, store.token_namespace(each))]
        return {
            each for each, name in named if store.count_reports(self.totals(name)) or self.find_losses(name)
        }

    def require_survey(self, survey: str, plan: bytes, counters: Sequence[str] = ()) -> None:
        self._required[survey] = hash_plan(plan), counters

    def notes(self, kind: str, name: str | None = None) -> dict[str, bytes]:
        return self._read_hash(note_key(kind), name)

    def set_note(self, kind: str, name: str, note: bytes, once: bool = False) -> None:
        if kind in store.SURVEY_KINDS and not self.plans(name):
            raise store.unknown_survey_error(name, self.plans())
        with self._servers.errors():
            (self._redis.hsetnx if once else self._redis.hset)(note_key(kind), name, note)

    def unpublish(self, survey: str) -> None:
        with self._servers.errors(), self._redis.lock(f"ldp:publishing:{survey}", **_LOCK):
            self._mark(survey, self._find_marker_keys(survey), b"")
            self._redis.hdel(_PLANS_KEY, survey)

    def erase(self, survey: str) -> None:
        with self._servers.errors():
            for key in self._servers.scan(f"ldp:{{{survey}:*}}:*"):
                if key.endswith((b":ids", b":sums", b":published")):  # no note of a survey "ldp"
                    self._redis.unlink(key)  # DEL would block Redis while it frees millions of ids
            for field, _ in self._redis.hscan_iter("ldp:published", number_field(survey, "*"), count=1000):
                self._redis.hdel("ldp:published", field)
            for kind in store.SURVEY_KINDS:
                self._redis.hdel(note_key(kind), survey)
            self._redis.delete(f"ldp:rejections:{survey}")
        self._rewriter.request()

    def record(self, batches: Sequence[store.Batch]) -> list[store.MarksById]:
        """Record batches with a script each, and read the settings, in one round trip per server."""
        with self._servers.errors():
            # EVAL, not EVALSHA: a restarted server lacks the script, and the other batches would fail
            pipeline = self._servers.pipeline()
            nodes = []
            for batch in batches:
                keys = self._keys(batch.survey, batch.counter)
                nodes.append(self._servers.node_of_key(keys[0]))
                plan_hash, _ = self._required.get(batch.survey, (b"", ()))
                arguments = script_arguments(batch, plan_hash, self._seen_number(batch.survey, batch.counter))
                pipeline.execute_command("EVAL", RECORD_SCRIPT, len(keys), *keys, *arguments, **nodes[-1])
            queried_nodes = self._check.add_queries(pipeline, nodes)
            answers = pipeline.execute()
        self._check.check_replies(queried_nodes, answers[len(batches) :])
        if self._check.policy.durability != "unchecked" and any(len(batch.ids) for batch in batches):
            self._rewriter.request()
        return [self._read_answer(*each) for each in zip(batches, answers[: len(batches)], strict=True)]

    def _read_answer(self, batch: store.Batch, answer: Sequence[Any]) -> store.MarksById:
        if len(answer) == 1:
            self.seen.see(batch.survey, batch.counter, answer[0])
            return {}
        return dict(zip(answer[::2], answer[1::2], strict=True))

    def _seen_number(self, survey: str, counter: str) -> int:
        """Return how many reports a counter must have; weaker settings than "always" may lose some."""
        return self.seen.get(survey, counter) if self._check.policy.durability == "always" else 0

    def server_of(self, survey: str, counter: str) -> str:
        with self._servers.errors():
            return node_name(self._servers.node_of_key(counter_keys(survey, counter)[0]))

    def find_recorded(self, survey: str, ids: Mapping[str, ByteArray]) -> dict[str, store.MarksById]:
        wanted = {counter: store.byte_rows(each) for counter, each in ids.items()}
        with self._servers.errors():
            pipeline = self._servers.pipeline()
            for counter, each in wanted.items():
                pipeline.hmget(counter_keys(survey, counter)[0], each)
            answers = pipeline.execute()
        return {
            counter: {report_id: mark for report_id, mark in zip(each, marks, strict=True) if mark}
            for (counter, each), marks in zip(wanted.items(), answers, strict=True)
        }

    def totals(self, survey: str) -> dict[str, store.Total]:
        return self._scan_totals(survey).get(survey, {})

    def all_totals(self) -> dict[str, dict[str, store.Total]]:
        return self._scan_totals("*")

    def _scan_totals(self, surveys: str) -> dict[str, dict[str, store.Total]]:
        totals: dict[str, dict[str, store.Total]] = {}
        with self._servers.errors():
            names = sorted(self._servers.scan(counter_keys(surveys, "*")[1]))
            pipeline = self._servers.pipeline()
            for name in names:
                pipeline.get(name)
            for name, sums in zip(names, pipeline.execute(), strict=True):
                if sums:
                    survey, _, counter = name.decode()[5:].rpartition("}")[0].partition(":")
                    totals.setdefault(survey, {})[counter] = unpack_total(sums)
        return totals

    def counters(self, survey: str) -> set[str]:
        prefix = f"ldp:{{{survey}:"
        with self._servers.errors():
            keys = self._servers.scan(f"{prefix}*}}:*")
            found = {key.decode().removeprefix(prefix).rpartition("}:")[0] for key in keys}
            if not self._is_cluster:
                fields = self._redis.hscan_iter("ldp:published", number_field(survey, "*"), count=1000)
                found |= {field.decode().partition(":")[2] for field, _ in fields}
        return found

    def find_losses(
        self, survey: str, counters: Collection[str] = (), thorough: bool = True, durable: bool = False
    ) -> dict[str, failure.Loss]:
        """Compare the numbers of each counter, read in one atomic step; see :meth:`Store.find_losses`.

        If it is `thorough`, these are all counters that have a key or a number. If all numbers are known to
        be `durable`, none of them may become smaller.
        """
        found = self.seen.counters(survey) | {*counters} | (self.counters(survey) if thorough else set())
        with self._servers.errors():
            names, pipeline = sorted(found), self._servers.pipeline()
            seen = [self._seen_number(survey, counter) for counter in names]  # before others record more
            for counter in names:
                keys, field = self._keys(survey, counter), number_field(survey, counter)
                target = self._servers.node_of_key(keys[0])
                pipeline.execute_command("EVAL", NUMBERS_SCRIPT, len(keys), *keys, field, survey, **target)
            numbers = pipeline.execute()
        losses = {}
        for counter, (ids, n, published, is_marked), least in zip(names, numbers, seen, strict=True):
            losses[counter] = failure.compare_numbers(ids, n, published, least)
            # tokens (".") and support counters ("+"), which have no reports, need no mark
            if counter in counters and not (is_marked or "." in survey or counter.endswith("+")):
                losses[counter] = replace(losses[counter], counters=1)
            if durable:
                self.seen.see(survey, counter, n)
        return {counter: loss for counter, loss in losses.items() if loss != failure.NO_LOSS}

    def report_ids(self, survey: str, counter: str) -> Iterator[store.IdsAndMarks]:
        """Scan the hash of ids; entries may repeat while Redis resizes it; see :meth:`Store.report_ids`."""
        key, cursor = counter_keys(survey, counter)[0], None
        while cursor != 0:
            with self._servers.errors():
                cursor, entries = self._redis.hscan(key, cursor or 0, count=store.REPORTS_PER_READ)
            if entries:
                yield store.arrays_from_entries(entries)

    def add_rejections(self, survey: str, reason: str, count: int = 1) -> None:
        key = f"ldp:rejections:{survey}"
        with self._servers.errors():
            self._redis.hincrby(key, reason, count)
        with suppress(*FAILURES):  # after the addition: of the two deletions, one comes last
            if self._redis.hexists(note_key(DELETED), survey):
                self._redis.delete(key)

    def rejections(self, survey: str) -> dict[str, int]:
        with self._servers.errors():
            counts = self._redis.hgetall(f"ldp:rejections:{survey}")
            return {reason.decode(): int(count) for reason, count in counts.items()}

    def check_ready(self, closed: Collection[str] = ()) -> None:
        with self._servers.errors():
            self._servers.write_probes()
            self._check.check_servers()
            left_out = {*closed, *self.notes(DELETED)}
            required = {k: v for k, v in self._required.items() if k.partition(".")[0] not in left_out}
            keys = [
                (survey, key)
                for survey, (plan_hash, counters) in required.items()
                for key in ({_PLANS_KEY, *self._marker_keys(survey, counters)} if plan_hash else ())
            ]
            marks = self._read_marks(keys)
            missing = {survey for (survey, _), mark in marks.items() if mark != required[survey][0]}
            whole = {k: counters for k, (_, counters) in required.items() if k not in missing}
            failure.require_whole(
                {k: self.find_losses(k, each, False, True) for k, each in whole.items()}, missing
            )

    def space(self) -> dict[str, int]:
        with suppress(failure.StoreError), self._servers.errors():
            found = [self._redis.info("memory", **node) for node in self._servers.primaries()]
            sizes = [(one["used_memory"], one["maxmemory"] or one["total_system_memory"]) for one in found]
            used, most = max(sizes, key=lambda size: size[0] / size[1])
            return {"memory_used": used, "memory_max": most}
        return {}

    def check_durability(self, policy: store.StorePolicy) -> str:
        redis_settings.require_password(self._url, policy)
        self._check.policy = policy
        try:
            guarantee = redis_settings.describe_guarantee(policy, self._check.check_servers())
        except failure.StoreError as error:
            is_unreachable = error.reason in (
                failure.StoreFailure.TIMEOUT,
                failure.StoreFailure.CONNECTION_FAILED,
            )
            if is_unreachable and policy.durability != "unchecked":
                self._rewriter.start()  # a worker goes on with the other servers
            if not is_unreachable or not self._url.startswith("rediss:"):
                raise
            message = f"{error}; does this Redis speak TLS? If not, write redis://"
            raise failure.StoreError(message, error.reason) from error
        if policy.durability != "unchecked":
            self._rewriter.start()
        return guarantee + self._check.describe_evictions()

    def _read_marks(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], bytes]:
        """Return the hash of a survey's plan in each table, given by survey and key; empty without one."""
        pipeline = self._servers.pipeline()
        for survey, key in keys:
            pipeline.hget(key, survey)
        found = zip(keys, pipeline.execute(), strict=True)
        return {each: hash_plan(mark) if each[1] == _PLANS_KEY else mark or b"" for each, mark in found}

    def _keys(self, survey: str, counter: str) -> list[str]:
        return [*counter_keys(survey, counter), marker_key(survey, counter, self._is_cluster)]

    def _marker_keys(self, survey: str, counters: Sequence[str]) -> set[str]:
        return {
            marker_key(survey, each, self._is_cluster) for each in (counters if self._is_cluster else [""])
        }

    def close(self) -> None:
        self._rewriter.close()
        self._servers.close()
