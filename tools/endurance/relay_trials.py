"""The trials of a relay at full size; SCALE=0.1 runs a tenth of the size."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.relays import RelayedSite, relay
from tests.support.servers import free_port, inherited_environment, wait_for
from tools.endurance.client_trials import Trial
from tools.endurance.collector_trials import scaled

HOUR_SECONDS = 0.3
BATCH = 20
_PEOPLE = 12
"""People who answer between two kills."""
_SHORT_PAUSE = """
from ldp_relay import delivery
delivery.FIRST_PAUSE_SECONDS = delivery.LONGEST_PAUSE_SECONDS = 0.1
delivery.CHECK_SECONDS = 0.05
"""
_DEVICES = """
import sys
from pathlib import Path
from ldp_client import Client
url, origin, digest, folder, first, last = sys.argv[1:]
for person in range(int(first), int(last)):
    with Client(url, relay=origin, digest=digest, journal=Path(folder, f"{person}.db"), spread=0) as client:
        client.grant()
        client.report({"nights": "some", "rested": True})
        client.flush(5)
"""


def kills(folder: Path, count: int) -> str:
    """Kill devices, relay and collector at random moments; each person's report must be counted once."""
    site, draw, port = RelayedSite(folder), random.Random(38), free_port()
    settings = site.settings(f"http://127.0.0.1:{port}")
    journals = folder / "journals"
    journals.mkdir()
    killed: Counter[str] = Counter()
    for number in range(count):
        with (
            site.collector(port) as (_, served),
            relay(settings, HOUR_SECONDS, prelude=_SHORT_PAUSE) as relaying,
            _devices(site, journals, number * _PEOPLE, (number + 1) * _PEOPLE) as answering,
        ):
            victims = {"collectors": served.pid, "relays": relaying.pid, "devices": answering.pid}
            name = draw.choice(list(victims))
            timer = threading.Timer(draw.uniform(0.05, 1.5), _kill, (victims[name],))
            timer.start()
            timer.join()
            answering.wait(120)
            killed[name] += 1
    people = count * _PEOPLE
    with site.collector(port), relay(settings, HOUR_SECONDS, prelude=_SHORT_PAUSE):
        with _devices(site, journals, 0, people) as answering:  # each sends what is still in its journal
            assert answering.wait(600) == 0
        wait_for(lambda: site.counts()["waiting"] < 2 * BATCH and site.counts()["leaving"] == 0)
    counts = site.counts()
    assert counts["received"] == people, (counts, people)
    assert site.counted() == people - counts["waiting"]
    assert set(counts["sizes"]) == {BATCH}
    names = ", ".join(f"{killed[name]} {name}" for name in sorted(killed))
    return f"{names} killed; {people:,} reports, each counted once; {len(counts['sizes'])} batches of {BATCH}"


def _devices(site: RelayedSite, journals: Path, first: int, last: int) -> subprocess.Popen[bytes]:
    """Let people answer, each with their own journal; those who have answered send what is left."""
    url = f"http://127.0.0.1:{site.port}/{site.plan.id}"
    arguments = [url, url.rpartition("/")[0], site.plan.digest, journals, first, last]
    return subprocess.Popen(
        [sys.executable, "-c", _DEVICES, *map(str, arguments)],
        env=inherited_environment(),
        stderr=subprocess.DEVNULL,
    )


def _kill(process: int) -> None:
    """Kill a process and its children, unless it has ended."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        for each in (process, *map(int, children)):
            os.kill(each, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        pass


def every() -> Iterator[tuple[str, Trial]]:
    yield "kill -9 of devices, relay and collector", lambda folder: kills(folder, scaled(200))
