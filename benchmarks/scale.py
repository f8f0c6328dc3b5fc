"""Benchmark what a survey costs by its size: `python -m benchmarks.scale [PART ...]`.

The parts are reports, questions, values, classes and surveys. Times are processor time, including that of
the Redis server, without the start of Python and imports. Every line is measured in a new process, one after
the other; `python -m benchmarks.scale PART STORE SIZE` measures one line and prints JSON. The last line of a
table is the slope of its last two lines on logarithmic axes: 0 if the size costs nothing, 1 if the cost is
proportional to it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from io import StringIO
from multiprocessing import get_context
from pathlib import Path

import redis
from flask import Flask

from benchmarks import values
from benchmarks.parts import make_table
from benchmarks.servers import redis_server, sqlite_file
from benchmarks.synthetic_archives import make_plan, make_reports
from encoders.report import MEDIA_TYPE
from encoders.survey import Plan, read_survey
from ldp_aggregator.cli.train import main as train
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.startup import publish_surveys
from ldp_aggregator.snapshot import counter_names, take_snapshot
from ldp_aggregator.stores import Store, StorePolicy, open_store

BODY, SINGLES, LAST, PER_SURVEY, RUNS = 1_000, 200, 10_000, 20, 3
"""Reports per body; reports that are sent one by one; the reports whose bodies are timed; reports of each of
many surveys. Of what can be repeated, the least of several runs counts."""
TOKEN = "x" * 16
Row = dict[str, float]


class Clock:
    """Measures the processor time of this process and of its Redis server, and the space of a store."""

    def __init__(self, url: str) -> None:
        self._file = url.removeprefix("sqlite:///")
        self._redis = None if url.startswith("sqlite:") else redis.Redis.from_url(url)

    def seconds(self, server: tuple[str, ...] = ("user", "sys")) -> float:
        info = self._redis.info("cpu") if self._redis else {}
        return time.process_time() + sum(float(info.get(f"used_cpu_{kind}", 0)) for kind in server)

    def time(self, work: Callable[[], object], runs: int = RUNS) -> float:
        """Return the least seconds of several runs."""
        starts, ends = [], []
        for _ in range(runs):
            starts.append(self.seconds())
            work()
            ends.append(self.seconds())
        return min(end - start for start, end in zip(starts, ends, strict=True))

    def space(self) -> int:
        """Return the bytes of the file, or of Redis's memory."""
        return int(self._redis.info("memory")["used_memory"]) if self._redis else os.stat(self._file).st_size

    def close(self, store: Store) -> Row:
        """Close a store; for Redis, return the seconds of the rewrite that this starts, and its size."""
        before = self._children()
        store.close()
        if not self._redis:
            return {}
        spent = self._children() - before
        return {"rewrite, s": spent, "file, MB": self._redis.info("persistence")["aof_current_size"] / 1e6}

    def _children(self) -> float:
        """Return the seconds of Redis's child processes, which rewrite its file, when none is running."""
        while self._redis and self._redis.info("persistence")["aof_rewrite_in_progress"]:
            time.sleep(0.1)
        return self.seconds(("user_children", "sys_children")) - time.process_time()


@contextmanager
def new_store(kind: str) -> Iterator[tuple[str, Store, Clock]]:
    """Yield the URL of a new store, the store, and its clock."""
    with sqlite_file() if kind == "SQLite" else redis_server() as url, closing(open_store(url)) as store:
        store.check_durability(StorePolicy())
        yield url, store, Clock(url)


def fill(plan: Plan, store: Store, clock: Clock, count: int) -> Row:
    """Count reports in bodies, time the last bodies, then time reports that arrive one by one."""
    counters = counter_names(plan)
    store.publish(plan.id, plan.json, counters)
    store.require_survey(plan.id, plan.json, counters)
    intake = Intake(plan, store)
    for seed in range((count - LAST) // LAST):
        intake.record_body(b"".join(make_reports(plan, LAST, seed)))
    reports = make_reports(plan, LAST + SINGLES, seed=count)
    bodies = [b"".join(reports[at : at + BODY]) for at in range(0, LAST, BODY)]
    many = clock.time(lambda: [intake.record_body(body) for body in bodies], 1)
    one = clock.time(lambda: [intake.record_body(each) for each in reports[LAST:]], 1)
    return {"one, ms": 1e3 * one / SINGLES, "of 1,000, us": 1e6 * many / LAST}


def time_results(plan: Plan, store: Store, clock: Clock) -> Row:
    """Return the seconds of a snapshot by a collector, and of `ldp-train` with it."""
    snapshot = clock.time(lambda: take_snapshot(store, plan.id, thorough=False).to_json())
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        path, model = Path(folder, "snapshot.json"), f"{folder}/model.json"
        path.write_bytes(take_snapshot(store, plan.id).to_json())
        trained = clock.time(lambda: train([str(path), "-o", model], standalone_mode=False))
    return {"snapshot, ms": 1e3 * snapshot, "ldp-train, s": trained}


def measure_reports(kind: str, count: int) -> Row:
    """Measure so many reports to a survey of two questions."""
    plan = make_plan()
    with new_store(kind) as (_, store, clock):
        empty = clock.space()
        found = fill(plan, store, clock, count) | time_results(plan, store, clock)
        found["all ids, ms"] = 1e3 * clock.time(lambda: store.find_losses(plan.id))
        found |= clock.close(store)  # which empties SQLite's log
        return found | {"bytes per report": (clock.space() - empty) / (count + SINGLES)}


def measure_questions(kind: str, count: int) -> Row:
    """Measure a survey of so many yes/no questions."""
    features = "".join(f"[features.f{number}]\nvalues = [true, false]\n" for number in range(count))
    return measure_survey(kind, f'[survey]\nid = "one"\nepsilon = 1\n{features}')


def measure_values(kind: str, count: int) -> Row:
    """Measure a survey of one question with so many values; benchmarks.values measures its training."""
    found = measure_survey(kind, values.make_survey(count))
    return {name: each for name, each in found.items() if name != "ldp-train, s"}


def measure_survey(kind: str, text: str) -> Row:
    """Measure a survey with 20,000 reports."""
    start = time.process_time()
    plan = read_survey(text).compile()
    found = {"plan, bytes": len(plan.json), "check, s": time.process_time() - start}
    with new_store(kind) as (_, store, clock):
        found |= fill(plan, store, clock, 2 * LAST)
        return found | {"/readyz, ms": 1e3 * clock.time(store.check_ready)} | time_results(plan, store, clock)


def measure_classes(_: str, count: int) -> Row:
    """Measure a label of so many classes with one question of four values, see :mod:`benchmarks.values`."""
    names = json.dumps([f"c{number}" for number in range(count)])
    found = values.measure(4, f'[label]\nname = "c"\nvalues = {names}\n')
    return {f"{step}, s": seconds for step, seconds in found.items()}


def measure_surveys(kind: str, count: int) -> Row:
    """Measure so many surveys of two questions, with some reports each, on one collector."""
    with tempfile.TemporaryDirectory() as folder, new_store(kind) as (url, _, clock):
        plans = [make_plan(f"s{number}") for number in range(count)]
        files = tuple(Path(folder, f"{plan.id}.json") for plan in plans)
        for plan, file in zip(plans, files, strict=True):
            file.write_bytes(plan.json)
        settings = CollectorSettings(surveys=files, store=url, operator_token=TOKEN)
        publish = clock.time(lambda: publish_surveys(settings), 1)
        filler = get_context("fork").Process(
            target=fill_all, args=(plans, url)
        )  # whose memory does not count
        filler.start()
        filler.join()
        apps: list[Flask] = []
        start = clock.time(lambda: apps.append(publish_surveys(settings).make_app()), 1)
        app = apps[0]
        pages, of_app = app.test_client(), app.extensions["ldp"].store
        reports = make_reports(plans[0], SINGLES, seed=2)
        path, headers = f"/v1/surveys/{plans[0].id}", {"Authorization": f"Bearer {TOKEN}"}

        def post() -> None:
            for each in reports:
                assert pages.post(f"{path}/reports", data=each, content_type=MEDIA_TYPE).status_code == 200

        def read(page: str) -> None:
            assert pages.get(page, headers=headers).status_code == 200

        return {
            "publish, s": publish,
            "start, s": start,
            "request, ms": 1e3 * clock.time(post, 1) / SINGLES,
            "/readyz, ms": 1e3 * clock.time(of_app.check_ready),
            "snapshot, ms": 1e3 * clock.time(lambda: read(f"{path}/snapshot")),
            "/metrics, ms": 1e3 * clock.time(lambda: read("/metrics")),
            "memory, MB": os.sysconf("SC_PAGE_SIZE")
            * int(Path("/proc/self/statm").read_text().split()[1])
            / 1e6,
        }


def fill_all(plans: Sequence[Plan], url: str) -> None:
    """Count some reports of each survey."""
    with closing(open_store(url)) as store:
        for plan in plans:
            intake = Intake(plan, store)
            intake.record_body(b"".join(make_reports(plan, PER_SURVEY)))
            intake.flush()


STORES = ("SQLite", "Redis")
PARTS: dict[str, tuple[Callable[[str, int], Row], tuple[str, ...], tuple[int, ...]]] = {
    "reports": (measure_reports, STORES, (10_000, 100_000, 1_000_000)),
    "questions": (measure_questions, STORES, (1, 10, 100, 1_000)),
    "values": (measure_values, STORES, (100, 1_000, 10_000, 65_000)),
    "classes": (measure_classes, ("",), (2, 10, 100, 1_000)),
    "surveys": (measure_surveys, STORES, (1, 10, 100, 1_000)),
}


def main(parts: list[str]) -> None:
    """Print a table for each part and store."""
    for part, (_, stores, sizes) in PARTS.items():
        for store in stores if not parts or part in parts else ():
            rows = [measure_line(part, store, size) for size in sizes]
            lines = [[f"{size:,}", *map(show, row.values())] for size, row in zip(sizes, rows, strict=True)]
            pairs = zip(rows[-2].values(), rows[-1].values(), strict=True)
            slopes = [f"{math.log(new / old) / math.log(sizes[-1] / sizes[-2]):.2f}" for old, new in pairs]
            table = make_table((part, *rows[0]), [*lines, ["slope", *slopes]])
            print(f"\n{store}\n", *table, sep="\n", flush=True)


def measure_line(part: str, store: str, size: int) -> Row:
    """Return one line, measured in a new process."""
    command = [sys.executable, "-m", "benchmarks.scale", part, store, str(size)]
    row: Row = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return row


def show(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


if __name__ == "__main__":
    if sys.argv[3:] and sys.argv[3].isdecimal():
        print(json.dumps(PARTS[sys.argv[1]][0](sys.argv[2], int(sys.argv[3]))))
    else:
        main(sys.argv[1:])
