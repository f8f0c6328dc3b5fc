"""Applications with the Java client that are killed while they report, and many that report at once."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.faulty_proxy import faulty
from tests.support.java import java_command, require_java_client
from tools.endurance.client.surveys import ROWS, compiled, counted, require_one_report, running, url_of

HALTS = ("in-draw", "before-post", "after-post")
"""Places at which an application ends itself, as `kill -9` would."""
_MARK = bytes([0x95, 1, 0xC4, 32]) + bytes.fromhex(compiled("sleep").digest)
"""The first bytes of each report."""


@dataclass(frozen=True)
class Kills:
    """The counts of a trial of kills."""

    killed: int
    finished: int
    """Applications that ended before they were killed."""
    found: Counter[str]
    """What the journal contained after a kill."""
    devices: int
    requests: int
    """Reports that all devices posted, with repeated ones."""


class _Device:
    """A device on which applications answer the survey; its network records what they send."""

    def __init__(self, journal: Path, url: str) -> None:
        self._journal, self._url = journal, url
        self.reports: set[bytes] = set()
        """The reports that the journal contained after a kill."""

    def start(self, row: int, *options: str) -> subprocess.Popen[str]:
        """Start an application, and return when its client is ready to report."""
        given = [self._url, str(self._journal), json.dumps(ROWS[row]), "label=yes", "wait=true", *options]
        command = [*java_command("ldpbayes.client.Answer"), *given]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        return process

    def finish(self, process: subprocess.Popen[str]) -> list[str]:
        """Let an application run to its end, and return the states of its receipts."""
        printed, _ = process.communicate("\n", timeout=120)
        assert process.returncode == 0
        return [json.loads(line)["state"] for line in printed.splitlines()]

    def kill(self, process: subprocess.Popen[str], seconds: float) -> bool:
        """Kill an application after so many seconds; return whether it was still running."""
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        time.sleep(seconds)
        process.kill()
        process.communicate()
        return process.returncode != 0

    def survey(self) -> str:
        """Note the reports in the journal's file, and return what is there."""
        file = self._journal / "journal"
        content = file.read_bytes() if file.exists() else b""
        place = content.find(_MARK)
        if place >= 0:
            self.reports.add(content[place:])
        return "a report" if place >= 0 else "no report" if content else "nothing"


def kills(folder: Path, count: int) -> Kills:
    """Kill at least `count` applications, at chosen places and at random moments; then answer again."""
    require_java_client()
    killed = finished = requests = 0
    found: Counter[str] = Counter()
    with running(folder, "sleep") as base, faulty(base) as proxy:
        url = url_of(proxy.port)
        usual = _usual_seconds(_Device(folder / "undisturbed", url))
        proxy.take()
        for devices in itertools.count(2):
            device = _Device(folder / f"device-{devices}", url)
            if devices % 4 < len(HALTS):
                ended = device.start(0, f"halt={HALTS[devices % 4]}")
                ended.communicate("\n", timeout=120)
                was_killed = ended.returncode != 0
                assert was_killed
            else:
                was_killed = device.kill(device.start(0), usual * random.uniform(0, 1))
            killed, finished = killed + was_killed, finished + (not was_killed)
            found[device.survey()] += 1
            states = device.finish(device.start(1))
            assert states[-1] in ("sent", "duplicate"), states
            bodies = proxy.take()
            [report] = require_one_report(bodies, set())
            assert all(each.startswith(report) for each in device.reports), "a survey was randomised twice"
            assert device.survey() == "no report", "the report is still in the journal"
            requests += len(bodies)
            if killed >= count:
                break
        assert counted(base) == devices, "a report was lost, or counted twice"
    return Kills(killed, finished, found, devices, requests)


def _usual_seconds(device: _Device) -> float:
    process, start = device.start(0), time.monotonic()
    device.finish(process)
    return time.monotonic() - start


def crowd(folder: Path, processes: int) -> Sequence[str]:
    """Let processes answer one survey with one journal at once; return what `report` returned to each."""
    require_java_client()
    with running(folder, "sleep") as base, faulty(base) as proxy:
        device = _Device(folder / "crowd", url_of(proxy.port))
        started = [device.start(number % 2) for number in range(processes)]
        for process in started:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        outcomes = [device.finish(process)[1] for process in started]
        require_one_report(proxy.take(), set())
        assert counted(base) == 1, "the survey was counted more than once, or not at all"
    return sorted(outcomes)
