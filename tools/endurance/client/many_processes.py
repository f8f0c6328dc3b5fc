"""Many processes that report to the same surveys with one journal."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from ldp_client import Journal
from tools.endurance.client.surveys import compiled


def _compete(path: Path, names: Sequence[str], results: Any) -> None:
    journal, plan, mine = Journal(path), compiled("any"), os.getpid().to_bytes(4, "big")
    created, seconds = [], []
    for name in names:
        each = replace(plan, id=name, family=name)
        agreed = journal.grant(each, "http://collector.test/v1/surveys/any")
        start = time.perf_counter()
        created.append(journal.commit(agreed.identity, each, lambda _: mine)[1])
        seconds.append(time.perf_counter() - start)
    results.put((os.getpid(), created, seconds))


@dataclass(frozen=True)
class Crowd:
    """Seconds of many processes on one journal; the last two are of commits that made a report."""

    entries: int
    elapsed: float
    usual: float
    longest: float


def crowd(folder: Path, processes: int, surveys: int) -> Crowd:
    """Let processes answer the same surveys on one journal at once."""
    path, names = folder / "crowd.db", [f"survey-{number}" for number in range(surveys)]
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    racers = [context.Process(target=_compete, args=(path, names, results)) for _ in range(processes)]
    start = time.monotonic()
    for racer in racers:
        racer.start()
    results_by_process = [results.get(timeout=900) for _ in racers]
    elapsed = time.monotonic() - start
    for racer in racers:
        racer.join()
    makers = {
        name: [pid for pid, made, _ in results_by_process if made[place]] for place, name in enumerate(names)
    }
    entries = Journal(path).entries()
    assert all(len(pids) == 1 for pids in makers.values()), "a survey was answered twice, or never"
    assert {entry.survey: entry.report for entry in entries} == {
        name: pids[0].to_bytes(4, "big") for name, pids in makers.items()
    }, "an entry is lost, or not what was recorded"
    seconds = [
        second
        for _, made, took in results_by_process
        for mine, second in zip(made, took, strict=True)
        if mine
    ]
    return Crowd(len(entries), elapsed, median(seconds), max(seconds))
