"""Surveys, and reports and archives of any size."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from encoders.mechanisms import Mechanism
from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.reports.record_format import PlanFormat, QuestionFormat
from ldp_aggregator.snapshot import Snapshot, require_people, take_snapshot
from ldp_aggregator.stores import MemoryStore

SURVEY = """
[survey]
id = "{survey}"
epsilon = 1.0
[label]
name = "label"
values = ["a", "b"]
[features.few]
values = ["1", "2", "3"]
[features.many]
values = [{many}]
"""
_BATCH = 200_000


def make_plan(survey: str = "one", more: str = "") -> Plan:
    """Return a plan with payloads of one byte and of ten bytes, and the questions in `more`."""
    many = ", ".join(f'"{value}"' for value in range(39))
    return read_survey(SURVEY.format(survey=survey, many=many) + more).compile()


def make_reports(plan: Plan, count: int, seed: int = 1) -> list[bytes]:
    """Return reports of different people, equally many to each question."""
    rng = np.random.default_rng(seed)
    asked = rng.integers(0, len(plan.questions), count)
    reports = np.empty(count, dtype=object)
    for form in PlanFormat(plan).questions:
        chosen = np.flatnonzero(asked == form.question.index)
        reports[chosen] = _many(form, len(chosen), rng)
    return reports.tolist()


def _many(form: QuestionFormat, count: int, rng: np.random.Generator) -> list[bytes]:
    mechanism = form.question.mechanism
    assert isinstance(mechanism, Mechanism)
    payloads = mechanism.perturb_many(np.zeros(count, dtype=np.int64), FastStream(int(rng.integers(1 << 30))))
    ids = rng.integers(0, 256, (count, 16), dtype=np.uint8)
    parts = [_same(form.prefix, count), ids, _same(form.separator, count), payloads]
    packed = np.hstack(parts).tobytes()
    return [packed[at : at + form.length] for at in range(0, len(packed), form.length)]


def _same(data: bytes, count: int) -> np.ndarray:
    return np.tile(np.frombuffer(data, np.uint8), (count, 1))


def write_archive(plan: Plan, path: Path, count: int, seed: int = 1) -> None:
    """Write many reports, a batch at a time."""
    with path.open("wb") as file:
        for start in range(0, count, _BATCH):
            file.writelines(make_reports(plan, min(_BATCH, count - start), seed + start))


def count_by_intake(plan: Plan, *bodies: bytes) -> Snapshot:
    """Return what a collector counts of the same bytes."""
    store = MemoryStore()
    store.publish(plan.id, plan.json)
    intake = Intake(plan, store)
    for body in bodies:
        intake.record_body(body)
    intake.flush()
    return require_people(take_snapshot(store, plan.id))
