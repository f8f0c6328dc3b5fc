"""Invitations to a survey: creates tokens, and recognises them in reports by their hashes.

A store keeps the hashes of tokens in the same way as ids of reports, under a name that no survey can have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from encoders.randomness import RandomSource
from encoders.survey import Plan, Question
from encoders.survey.compiled_plan import AnyPlan, CountedQuestion, draw_report_id
from encoders.survey.invitation import HASH_BYTES, format_token, hash_token
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import BoolArray, ByteArray
from ldp_aggregator.reports.batch_reader import QuestionBatch
from ldp_aggregator.stores import Batch, Store
from ldp_aggregator.stores.group_commit import GroupCommit
from ldp_aggregator.stores.operator_log import require_living
from ldp_aggregator.stores.store import byte_rows, count_reports, token_namespace

_TOKENS_PER_BATCH = 10_000


def create_tokens(
    store: Store, plan: Plan | SiloPlan, count: int, rng: RandomSource, wave: int | None = None
) -> Iterator[str]:
    """Yield new tokens in random order, each after the store has recorded its hash.

    The number of tokens of each question is proportional to its weight, rounded up or down. In a survey with
    waves, `wave` is the index of the wave that the tokens are for.
    """
    questions = _draw_questions(plan, count, rng, wave)
    for start in range(0, count, _TOKENS_PER_BATCH):
        tokens = [
            (question.key, draw_report_id(plan, question, rng))
            for question in questions[start : start + _TOKENS_PER_BATCH]
        ]
        by_counter: dict[str, list[bytes]] = {}
        for counter, token in tokens:
            by_counter.setdefault(counter, []).append(token)
        try:
            store.record([_token_batch(plan, counter, ids) for counter, ids in by_counter.items()])
        finally:  # a deletion that began meanwhile is also an error
            require_living(store, plan.id, undo=[token_namespace(plan.id)])
        yield from (format_token(plan, token) for _, token in tokens)


def count_tokens(store: Store, survey: str) -> int:
    return count_reports(store.totals(token_namespace(survey)))


def find_invited(
    store: Store | GroupCommit, plan: AnyPlan, batches: Sequence[QuestionBatch]
) -> list[tuple[QuestionBatch, BoolArray]]:
    """Replace tokens by their hashes, and return which reports have a token of their question.

    From then on, the hash is the report's id: no store ever contains a token, not even a used one.
    """
    hashed = [replace(batch, ids=_hash_tokens(plan, byte_rows(batch.ids))) for batch in batches]
    known = store.find_recorded(token_namespace(plan.id), {batch.question.key: batch.ids for batch in hashed})
    return [
        (batch, np.array([each in known[batch.question.key] for each in byte_rows(batch.ids)], dtype=bool))
        for batch in hashed
    ]


def _draw_questions(
    plan: Plan | SiloPlan, count: int, rng: RandomSource, wave: int | None
) -> Sequence[CountedQuestion]:
    if isinstance(plan, SiloPlan):
        return [plan.question] * count
    shares = _divide_by_weight(plan, count, rng)
    drawn = [plan.in_wave(question, wave) for question, share in shares for _ in range(share)]
    keys = np.frombuffer(rng.take(8 * len(drawn)), "<u8")
    return [drawn[index] for index in np.argsort(keys, kind="stable").tolist()]


def _divide_by_weight(plan: Plan, count: int, rng: RandomSource) -> Iterator[tuple[Question, int]]:
    """Yield each question with its number of tokens: its share by weight, rounded at random without bias."""
    total = sum(question.weight for question in plan.questions)
    cumulative = previous = int.from_bytes(rng.take(16), "little") % total
    for question in plan.questions:
        cumulative += question.weight * count
        yield question, cumulative // total - previous // total
        previous = cumulative


def _token_batch(plan: AnyPlan, counter: str, ids: Sequence[bytes]) -> Batch:
    no_marks = np.zeros((len(ids), 8), dtype=np.uint8)
    return Batch(
        token_namespace(plan.id), counter, _hash_tokens(plan, ids), no_marks, np.zeros(0, dtype=np.int64)
    )


def _hash_tokens(plan: AnyPlan, ids: Sequence[bytes]) -> ByteArray:
    hashes = b"".join(hash_token(plan, each) for each in ids)
    return np.frombuffer(hashes, np.uint8).reshape(-1, HASH_BYTES)
