"""Who was invited to a survey: tokens are made here, and the collector knows them again by their hashes.

A store keeps the hashes of a survey's tokens as it keeps the ids of reports, under a name that no survey has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from encoders.randomness import RandomSource
from encoders.survey import Plan, Question
from encoders.survey.invitation import HASH_BYTES, format_token, hash_token
from encoders.survey.report_id import draw_report_id
from ldp_aggregator.arrays import BoolArray, ByteArray
from ldp_aggregator.reports.batch_reader import QuestionBatch
from ldp_aggregator.stores import Batch, Store
from ldp_aggregator.stores.base import byte_rows

_AT_ONCE = 10_000


def create_tokens(store: Store, plan: Plan, count: int, rng: RandomSource) -> Iterator[str]:
    """Make tokens; each is yielded when the store knows it.

    Questions get their shares of them to within one, and the tokens come in random order.

    Parameters
    ----------
    store : Store
    plan : Plan
        One whose survey is answered by invitation.
    count : int
    rng : RandomSource
    """
    asked = _shuffled([question for question, share in _shares(plan, count, rng) for _ in range(share)], rng)
    for start in range(0, count, _AT_ONCE):
        made = [
            (question.key, draw_report_id(plan, question, rng))
            for question in asked[start : start + _AT_ONCE]
        ]
        by_counter: dict[str, list[bytes]] = {}
        for counter, token in made:
            by_counter.setdefault(counter, []).append(token)
        store.record([_batch(plan, counter, tokens) for counter, tokens in by_counter.items()])
        yield from (format_token(plan, token) for _, token in made)


def created(store: Store, survey: str) -> int:
    """Return how many tokens of a survey were made."""
    return sum(total.n for total in store.totals(tokens_of(survey)).values())


def enrolled(
    store: Store, plan: Plan, batches: Sequence[QuestionBatch]
) -> list[tuple[QuestionBatch, BoolArray]]:
    """Put hashes in the place of tokens, and tell which reports have a token of their question.

    From here on the hash is the report's id: no store ever holds a token, not even one that was used.
    """
    hashed = [replace(batch, ids=_hashes(plan, byte_rows(batch.ids))) for batch in batches]
    known = store.find_recorded(tokens_of(plan.id), {batch.question.key: batch.ids for batch in hashed})
    return [
        (batch, np.array([each in known[batch.question.key] for each in byte_rows(batch.ids)], dtype=bool))
        for batch in hashed
    ]


def _shares(plan: Plan, count: int, rng: RandomSource) -> Iterator[tuple[Question, int]]:
    """Divide tokens over the questions by weight: each share is rounded up or down, on average exact."""
    total = sum(question.weight for question in plan.questions)
    reached = before = int.from_bytes(rng.take(16), "little") % total
    for question in plan.questions:
        reached += question.weight * count
        yield question, reached // total - before // total
        before = reached


def _shuffled(asked: list[Question], rng: RandomSource) -> list[Question]:
    keys = np.frombuffer(rng.take(8 * len(asked)), "<u8")
    return [asked[place] for place in np.argsort(keys, kind="stable").tolist()]


def _batch(plan: Plan, counter: str, ids: Sequence[bytes]) -> Batch:
    no_marks = np.zeros((len(ids), 8), dtype=np.uint8)
    return Batch(tokens_of(plan.id), counter, _hashes(plan, ids), no_marks, np.zeros(0, dtype=np.int64))


def _hashes(plan: Plan, ids: Sequence[bytes]) -> ByteArray:
    kept = b"".join(hash_token(plan, each) for each in ids)
    return np.frombuffer(kept, np.uint8).reshape(-1, HASH_BYTES)


def tokens_of(survey: str) -> str:
    """Return the name under which a store keeps a survey's tokens."""
    return f"{survey}.tokens"
