"""Measure what waves cost a collector: ``python -m benchmarks.waves intake``.

The same 40 questions in 12 waves, so that there are 480 counters, and without waves. Both take equally many
reports in turns, of the wave that is open, and the CPU time of this process is compared. The goal is a ratio
of at most 1.1. Bodies whose reports are of all waves, as in an archive, are measured besides, without a goal:
they are divided into 12 times as many batches.
"""

from __future__ import annotations

import shutil
import statistics
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import numpy as np

from benchmarks.servers import redis_server, sqlite_file
from encoders.randomness import FastStream
from encoders.report import ID_BYTES, Report, pack
from encoders.survey import Plan, read_survey
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.snapshot import counter_names
from ldp_aggregator.stores import Store, open_store

QUESTIONS, WAVES, GOAL = 40, 12, 1.1
SINGLES, BODIES, BODY = 300, 4, 1_000
_STREAM = FastStream(7)


def compile_plan(name: str, waves: int) -> Plan:
    first = datetime.now(UTC).date() - timedelta(366)
    survey = f'survey = {{id = "{name}", epsilon = 2}}\nmechanism.frequency = "DE"\n'
    features = "".join(f'features.f{at}.values = ["a", "b", "c", "d"]\n' for at in range(QUESTIONS))
    times = f'waves = {{first = {first}, every = "month", count = {waves}}}\n' if waves else ""
    plan = read_survey(survey + times + features).compile()
    assert len(plan.questions) == QUESTIONS
    return plan


def make_reports(plan: Plan, count: int, waves: int) -> list[bytes]:
    """Return reports of random people; of the first so many waves, or of the first alone."""
    rng, digest = np.random.default_rng(_STREAM.take(8)[0]), bytes.fromhex(plan.digest)
    asked = rng.integers(QUESTIONS, size=count) + QUESTIONS * rng.integers(max(waves, 1), size=count)
    mechanism = plan.questions[0].mechanism
    payloads = mechanism.perturb_many(rng.integers(4, size=count), _STREAM)
    return [
        pack(Report(digest, question, _STREAM.take(ID_BYTES), payload.tobytes()))
        for question, payload in zip(asked.tolist(), payloads, strict=True)
    ]


class Side:
    """One survey at a store."""

    def __init__(self, store: Store, waves: int, mixed: int = 1) -> None:
        self.plan, self.mixed = compile_plan(f"of-{waves}-{mixed}", waves), mixed
        store.publish(self.plan.id, self.plan.json, counter_names(self.plan))
        self.intake = Intake(self.plan, store)

    def measure(self, bodies: int, size: int) -> float:
        """Return the CPU seconds per report of so many bodies."""
        made = make_reports(self.plan, bodies * size, self.mixed)
        joined = [b"".join(made[start : start + size]) for start in range(0, len(made), size)]
        start = time.process_time()
        for body in joined:
            self.intake.record_body(body)
        return (time.process_time() - start) / len(made)


def compare(ours: Side, peer: Side, bodies: int, size: int, repeats: int) -> tuple[float, float, float]:
    """Return the median CPU seconds of both, and the median of the ratios of neighbouring turns."""

    def run(side: Side) -> float:
        return side.measure(bodies, size)

    for side in (ours, peer):
        run(side)  # unmeasured
    pairs = [(run(ours), run(peer)) if turn % 2 else (run(peer), run(ours))[::-1] for turn in range(repeats)]
    mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return mine, theirs, statistics.median(one / other for one, other in pairs)


def main(repeats: int) -> bool:
    """Print a table; return whether the goal is reached."""
    reached = True
    print("| store, body | 12 waves, us | without, us | ratio | goal |\n|---|---|---|---|---|")
    with ExitStack() as stack:
        stores = {"SQLite": stack.enter_context(sqlite_file())}
        if shutil.which("redis-server"):
            stores["Redis"] = stack.enter_context(redis_server())
        for name, url in stores.items():
            store = open_store(url)
            stack.callback(store.close)
            peer, one, mixed = Side(store, 0), Side(store, WAVES), Side(store, WAVES, WAVES)
            for what, side, goal in (("one wave", one, GOAL), ("all waves", mixed, None)):
                for bodies, size in ((SINGLES, 1), (BODIES, BODY)):
                    with patch("ldp_aggregator.collector.intake.WAVE_GRACE_SECONDS", 10**9):
                        ours, theirs, ratio = compare(side, peer, bodies, size, repeats)
                    reached = reached and (goal is None or ratio <= goal)
                    cells = [f"{name}, {size:,} a body, {what}", f"{1e6 * ours:.1f}", f"{1e6 * theirs:.1f}"]
                    print(f"| {' | '.join(cells)} | {ratio:.3f} | {goal or '-'} |", flush=True)
    return reached
