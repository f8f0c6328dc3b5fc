"""Shared by the generators of vectors: random bytes, draws, and the form of a case in a file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from encoders.randomness import GivenBytes
from encoders.report import unpack
from encoders.survey import Plan
from ldp_client import make_report

WORD = 1 << 64


def random_bytes(seed: str, count: int) -> bytes:
    """SHA-256 of "seed/0", "seed/1", ..., cut to length."""
    blocks = (hashlib.sha256(f"{seed}/{block}".encode()).digest() for block in range(-(-count // 32)))
    return b"".join(blocks)[:count]


def words(*values: int) -> bytes:
    """Return 64-bit words as bytes."""
    return b"".join(value.to_bytes(8, "little") for value in values)


def first_draws(plan: Plan) -> list[int]:
    """Return, for each question, a draw well inside its share."""
    total, reached, middles = sum(question.weight for question in plan.questions), 0, []
    for question in plan.questions:
        middles.append((2 * reached + question.weight) * (1 << 63) // total)
        reached += question.weight
    return middles


def spelled(value: object) -> object:
    """Return a value of a row as the files hold it, see docs/porting.md: no JSON reader changes it."""
    if isinstance(value, float) and (
        not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0)
    ):
        return {"double": repr(value)}
    if isinstance(value, int) and abs(value) > 1 << 53:
        return {"integer": str(value)}
    return [spelled(each) for each in value] if isinstance(value, list) else value


def spelled_row(row: Mapping[str, object]) -> dict[str, object]:
    return {name: spelled(value) for name, value in row.items()}


def case(
    plan: Plan,
    row: Mapping[str, Any],
    label: object,
    random: bytes,
    name: str = "",
    token: str | None = None,
    wave: str | None = None,
) -> dict[str, Any]:
    """Return what follows from a row and random bytes, all of which are used, and a token or a wave."""
    report = make_report(plan, row, label, GivenBytes(random), token, wave)
    question = plan.counted_questions[unpack(report).question]
    codes, label_code = plan.encode(row, label)
    assert len(random) == question.mechanism.random_bytes + (24 if token is None else 0)
    more: dict[str, Any] = ({"name": name} if name else {}) | ({"token": token} if token else {})
    if wave:
        more["wave"] = wave
    if plan.validation:
        more["row_codes"] = list(plan.encode_row(row))
    return more | {
        "codes": list(codes),
        "label": spelled(label),
        "label_code": label_code,
        "question": question.index,
        "random": random.hex(),
        "report": report.hex(),
        "row": spelled_row(row),
        "value": question.value(codes, label_code),
    }


def question_limits(plan: Plan) -> Iterator[int]:
    """Yield the first and the last draw of every question."""
    total, reached = sum(question.weight for question in plan.questions), 0
    for question in plan.questions:
        yield WORD * reached // total
        reached += question.weight
        yield WORD * reached // total - 1
