"""The trials of a relay at full size; SCALE=0.1 runs a tenth of the size."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from encoders.survey import Plan, read_survey
from encoders.survey.sealing import column_bytes
from encoders.survey.unsealing import open_outer
from ldp_client import Journal
from tests.support.relay_histories import History
from tests.support.relays import ALL, RELAY, SMALL, RelayedSite, relay, small_text, write_relay_files
from tests.support.servers import free_port, inherited_environment, wait_for
from tools.endurance.client_trials import Trial
from tools.endurance.collector_trials import scaled

HOUR_SECONDS = 0.3
BATCH = 20
_PEOPLE = 12
"""People who answer between two kills."""
SHORT_PAUSE = """
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


def kills(folder: Path, count: int, survey: str = SMALL) -> str:
    """Kill devices, relay and collector at random moments; each person must be counted once."""
    site, draw, port = RelayedSite(folder, survey=survey), random.Random(33), free_port()
    # the first three of these draws end a device, the collector and the relay
    settings = site.settings(f"http://127.0.0.1:{port}")
    journals = folder / "journals"
    journals.mkdir()
    killed: Counter[str] = Counter()
    for number in range(count):
        with (
            site.collector(port) as (_, served),
            relay(settings, HOUR_SECONDS, prelude=SHORT_PAUSE) as relaying,
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
    with site.collector(port), relay(settings, HOUR_SECONDS, prelude=SHORT_PAUSE):
        with _devices(site, journals, 0, people) as answering:  # each sends what is still in its journal
            assert answering.wait(600) == 0
        wait_for(lambda: site.counts()["waiting"] < 2 * BATCH and site.counts()["leaving"] == 0)
    counts = site.counts()
    assert counts["received"] == people, (counts, people)
    counted, left = site.counted_by_question(), people - counts["waiting"]
    assert (counted == [left] * len(counted)) if site.plan.asks_all else (sum(counted) == left)
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


_TWO_SURVEYS = """
import sys
from pathlib import Path
from ldp_client import Client
folder, people, *surveys = sys.argv[1:]
for person in range(int(people)):
    for plan, url in zip(surveys[::2], surveys[1::2]):
        options = {"relay": url.rpartition("/")[0], "journal": Path(folder, f"{person}.db"), "spread": 0}
        with Client(Path(plan), url, **options) as client:
            client.grant()
            client.report({"nights": "some", "rested": True})
            client.flush(0.5)
"""
DEVICES = 100
_OPEN_SECONDS = 120


def pairing(folder: Path) -> str:
    """Let devices answer two surveys in turn, at first and after a failure; pair reports by what is seen."""
    found = []
    for scene in ("at first", "after a failure, exit and restart"):
        inside = folder / scene.partition(" ")[0]
        inside.mkdir()
        places = _observe(inside, fails_first=scene != "at first")
        one, other = ([place[person] for person in range(DEVICES)] for place in places)
        pairs = {
            "the same place": sum(a == b for a, b in zip(one, other, strict=True)),
            "the mirrored place": sum(a + b == DEVICES - 1 for a, b in zip(one, other, strict=True)),
            "the next place": sum(a + 1 == b for a, b in zip(one, other, strict=True)),
        }
        best = max(pairs, key=lambda name: pairs[name])
        assert pairs[best] <= 1 + 4 * 1.0, (scene, pairs)  # 1 is expected, with a standard deviation of 1
        found.append(f"{scene}: {pairs[best]} of {DEVICES} devices by {best}")
    return "; ".join(found)


def _observe(folder: Path, *, fails_first: bool) -> list[dict[int, int]]:
    """Return the place of each device's report in the only batch of each of two surveys."""
    port, closes = free_port(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + _OPEN_SECONDS))
    survey = SMALL.replace("2200-12-31T00:00:00Z", closes).replace("batch = 20", f"batch = {DEVICES}")
    texts = [small_text(port, survey.replace("night-work", name)) for name in ("one", "two")]
    plans = [read_survey(text).compile() for text in texts]
    arrays: dict[str, list[bytes]] = {plan.id: [] for plan in plans}
    journals = folder / "journals"
    journals.mkdir()
    with _spy(plans, arrays) as base:
        words: list[object] = [journals, DEVICES]
        tables = []
        for plan, text in zip(plans, texts, strict=True):
            inside = folder / plan.id
            inside.mkdir()
            settings = write_relay_files(inside, text, base).read_text()
            for name in ("plan.json", "relay.key", "token"):
                settings = settings.replace(f'"{name}"', f'"{plan.id}/{name}"')
            tables.append(settings)
            words += [inside / "plan.json", f"http://127.0.0.1:{port}/{plan.id}"]
        merged = folder / "relay.toml"
        merged.write_text(tables[0] + tables[1].partition("messages_per_network = 0")[2])
        command = [sys.executable, "-c", _TWO_SURVEYS, *map(str, words)]
        run = partial(subprocess.run, command, env=inherited_environment(), check=True)
        if fails_first:
            run(stderr=subprocess.DEVNULL)
        with relay(merged, HOUR_SECONDS, prelude=SHORT_PAUSE):
            run(stderr=subprocess.DEVNULL)
            while not all(arrays.values()):
                time.sleep(0.5)
    return [_find_places(plan, arrays[plan.id], journals) for plan in plans]


@contextmanager
def _spy(plans: Sequence[Plan], arrays: dict[str, list[bytes]]) -> Iterator[str]:
    """Serve a collector that keeps the arrays of each survey; yield its URL."""
    sizes = {plan.id: sum(column_bytes(plan)) for plan in plans}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            survey = self.path.split("/")[3]
            if body:
                arrays[survey].append(body)
            counts = {"recorded": len(body) // sizes[survey], "duplicate": 0, "rejected": 0}
            content = json.dumps(counts).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _find_places(plan: Plan, arrays: Sequence[bytes], journals: Path) -> dict[int, int]:
    """Return the place of each device's report in what a collector saw."""
    size, seen = sum(column_bytes(plan)), b"".join(arrays)
    places = {seen[start : start + size]: start // size for start in range(0, len(seen), size)}
    found = {}
    for person in range(DEVICES):
        [entry] = [each for each in Journal(journals / f"{person}.db").entries() if each.survey == plan.id]
        assert entry.sealed is not None
        found[person] = places[open_outer(plan, entry.sealed, RELAY)]
    assert len(places) == DEVICES
    return found


def histories(folder: Path, count: int) -> str:
    """Run random histories; no message may leave twice, after its withdrawal, or in a small batch."""
    done: Counter[str] = Counter()
    for seed in range(count):
        done += History(seed, folder).run()
    return ", ".join(f"{number:,} {name}" for name, number in done.items())


def every() -> Iterator[tuple[str, Trial]]:
    yield "pairing the reports of one device", pairing
    for name, survey in (("", SMALL), (", each person answers all", ALL)):
        trial = partial(kills, count=scaled(200), survey=survey)
        yield f"kill -9 of devices, relay and collector{name}", trial
    yield "random histories with wrong clocks", lambda folder: histories(folder, scaled(500))
