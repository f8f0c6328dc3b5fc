"""Silos that are killed while they report, and a collector that is killed while they send."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import random
import signal
import sys
import threading
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from encoders.report import unpack
from ldp_client import State
from ldp_silo import Epoch, Silo, SiloJournal
from tests.support.servers import TOKEN, KillableCollector, inherited_environment
from tests.support.silo_surveys import WARDS, read_silo_survey
from tools.endurance.client.kills import LineTracer, Place, spread_places
from tools.endurance.client.surveys import COUNTED

ROWS = 60
"""Rows of each silo."""
PATIENCE = 60.0
"""Seconds in which a silo delivers its message to a collector that starts again."""


def run(
    journal: Path,
    url: str,
    rows: Path,
    fatal: Place | None,
    traced: bool,
    results: Any,
    token: str | None = None,
) -> None:
    """Run a silo: agree, report, wait for the outcome."""
    tracer = LineTracer(fatal)
    with mock.patch("ldp_silo.epoch_reports.MAX_BACKOFF_SECONDS", 0.1):
        silo = Silo(url, journal=journal, token=token)
        if traced:
            threading.settrace(tracer)
            sys.settrace(tracer)
        end = time.monotonic() + PATIENCE
        while silo.grant().state is not State.READY and time.monotonic() < end:
            time.sleep(0.05)  # the plan cannot be fetched while the collector is away
        state = silo.report(rows, timeout=PATIENCE).state
        sys.settrace(None)
    if results is not None:
        results.send((state, tracer.places))


@dataclass(frozen=True)
class SiloKills:
    """The counts of a trial of kills."""

    silos: int
    killed: int
    """Kills of silos."""
    collector_killed: int
    found: Counter[str]
    """The state of the epoch after a silo was killed."""
    lines: int
    """Different lines of the client at which one was killed."""


class _Silos:
    """Silos that report one after the other, each with rows and a journal of its own."""

    def __init__(self, folder: Path, collector: KillableCollector) -> None:
        self._folder, self._collector = folder, collector
        self._url = f"{collector.base}/v1/surveys/wards"
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tools.endurance.client.silo_kills"])
        self.journals: list[Path] = []
        self.killed = self.collector_killed = 0
        self.found: Counter[str] = Counter()

    def add(self) -> tuple[Path, Path]:
        """Write the rows of another silo; return the paths of its journal and its rows."""
        number = len(self.journals)
        rows = self._folder / f"{number}.csv"
        lines = [f"yes,no,{(row + number) % 100},{50 + row / 7},{60 + row}" for row in range(ROWS)]
        rows.write_text("\n".join(["ill,smoker,age,weight,pulse", *lines]))
        self.journals.append(self._folder / f"{number}.journal")
        return self.journals[-1], rows

    def start(
        self, journal: Path, rows: Path, fatal: Place | None = None, traced: bool = False
    ) -> tuple[Any, Any]:
        """Start a silo; return its process, and the pipe of its result."""
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=run, args=(journal, self._url, rows, fatal, traced or fatal is not None, theirs)
        )
        process.start()
        theirs.close()
        return process, ours

    def finish(self, process: Any, ours: Any) -> list[Place]:
        """Wait until a silo has delivered its message; return the lines that ran."""
        state, places = ours.recv()
        process.join()
        assert process.exitcode == 0
        assert state in (*COUNTED, State.ALREADY_REPORTED), state
        return list(places)

    def kill(self, journal: Path, rows: Path, fatal: Place | float) -> None:
        """Kill a silo at a line, or after so many seconds."""
        before = self._committed(journal)
        process, _ = self.start(journal, rows, None if isinstance(fatal, float) else fatal)
        if isinstance(fatal, float):
            time.sleep(fatal)
            process.kill()
        process.join(PATIENCE)
        assert process.exitcode in (0, -signal.SIGKILL), f"ended with {process.exitcode} at {fatal}"
        self.killed += process.exitcode != 0
        after = self._committed(journal)
        assert before is None or (after is not None and after.message == before.message), "drawn twice"
        self.found[str(after.state) if after else "(none)"] += 1

    def _committed(self, journal: Path) -> Epoch | None:
        epochs = SiloJournal(journal).epochs()
        assert len(epochs) <= 1
        return epochs[0] if epochs else None

    def kill_collector(self, seconds: float) -> None:
        """Kill the collector a time after a silo was started, and start it again."""
        process, ours = self.start(*self.add())
        time.sleep(seconds)
        self._collector.kill()
        self._collector.start()
        self.collector_killed += 1
        self.finish(process, ours)


def kills(folder: Path, count: int) -> SiloKills:
    """Kill at least `count` times: silos at a line or at any moment, and each third time the collector."""
    survey = folder / "wards.toml"
    survey.write_text(WARDS)
    environment = inherited_environment() | {"LDP_OPERATOR_TOKEN": TOKEN}
    store = f"sqlite:///{folder}/ldp.db"
    collector = KillableCollector(survey, store, folder / "log", workers=1, environment=environment)
    try:
        collector.start()
        silos = _Silos(folder, collector)
        places = silos.finish(*silos.start(*silos.add(), traced=True))
        start = time.monotonic()
        silos.finish(*silos.start(*silos.add()))
        usual = time.monotonic() - start
        chosen = spread_places(places, max(1, count // 2))
        fatal: list[Place | float] = [*chosen]
        for turn in itertools.count():
            if silos.killed + silos.collector_killed >= count and silos.collector_killed:
                break
            if turn % 3 == 2:
                silos.kill_collector(usual * random.uniform(0.3, 1.0))
                continue
            journal, rows = silos.add()
            silos.kill(journal, rows, fatal.pop() if fatal else usual * random.uniform(0.2, 1.0))
            silos.kill(journal, rows, usual * random.uniform(0.2, 1.0))
            silos.finish(*silos.start(journal, rows))
        _require_exact_totals(collector.base, silos.journals)
    finally:
        collector.stop()
    return SiloKills(
        silos=len(silos.journals),
        killed=silos.killed,
        collector_killed=silos.collector_killed,
        found=silos.found,
        lines=len({place[:2] for place in chosen}),
    )


def _require_exact_totals(base: str, journals: list[Path]) -> None:
    """Require that the collector has counted the message of each journal, once."""
    plan = read_silo_survey().compile()
    sums = [0] * plan.mechanism.cells
    for journal in journals:
        (epoch,) = SiloJournal(journal).epochs()
        assert epoch.message is not None
        payload = unpack(epoch.message, plan.max_report_bytes).payload
        sums = [total + cell for total, cell in zip(sums, plan.mechanism.contribution(payload), strict=True)]
    request = urllib.request.Request(
        f"{base}/v1/surveys/wards/snapshot", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    with urllib.request.urlopen(request) as response:
        (total,) = json.load(response)["totals"].values()
    assert (total["n"], total["cells"]) == (len(journals), sums)
