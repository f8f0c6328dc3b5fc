"""Writes what a build leaves behind: stores, journals, a relay's queue, plans, a snapshot and a model file.

    python -m tools.earlier_builds FOLDER OUTPUT.zip

FOLDER has the sources of any commit. `make release` adds the file of the release to tests/earlier_builds/,
which tests/test_earlier_builds.py opens. Needs redis-server. Nothing is imported from the packages, which are
those of FOLDER: this module runs their commands, and programs that use their public API.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from zipfile import ZIP_DEFLATED, ZipFile

COMMUTE = """
[survey]
id = "commute"
epsilon = 2.0
[about]
title = "The way to work"
purpose = "To plan buses"
[label]
name = "late"
values = ["yes", "no"]
[features.mode]
values = ["foot", "bike", "bus"]
[features.minutes]
range = [0, 90]
"""
CLINIC = COMMUTE.replace('id = "commute"', 'id = "clinic"\nenrolment = "token"')
"""Needs invitations."""
NIGHT = """
[survey]
id = "night-work"
epsilon = 1
users = 1000
[relay]
url = "https://relay.example/night-work"
batch = 20
honest = 0.73
epsilon = 1
delta = 1e-6
opens = 2001-11-01T00:00:00Z
closes = 2200-12-31T00:00:00Z
collector_key = "{}"
relay_key = "{}"
[features.nights]
values = ["none", "some", "many"]
[features.rested]
values = [true, false]
"""
REPORTS, TOKENS, USED_TOKENS, MESSAGES = 40, 5, 3, 45
_PATIENCE_SECONDS = 60.0

_MAKE_REPORTS = """
import sys
from ldp_client import load_plan, make_report
plan, rows = load_plan(sys.argv[1]), ({"mode": "bike", "minutes": 30}, {"mode": "bus", "minutes": 75})
for place, token in enumerate(sys.argv[2:]):
    report = make_report(plan, rows[place % 2], "yes" if place % 3 else "no", token=token or None)
    sys.stdout.buffer.write(report)
"""
_TRANSPORT = """
import sys
from ldp_client import Client, HttpTransport

class Redirected:
    "Sends what is for ORIGIN to SERVER."
    def request(self, method, url, body, timeout):
        return HttpTransport().request(method, url.replace(ORIGIN, SERVER), body, timeout)
"""
_ANSWER = f"""{_TRANSPORT}
ORIGIN, SERVER = "https://collector.example", sys.argv[1]
URL, ROW = ORIGIN + "/v1/surveys/commute", {{"mode": "foot", "minutes": 12}}
with Client(URL, journal="answered.db", transport=Redirected(), spread=0) as sent:
    print(sent.grant().state, sent.report(ROW, "no").state, sent.flush(60).state)
client = Client(URL, journal="journal.db", transport=Redirected())
client.grant()
SERVER = "http://127.0.0.1:9"
print(client.report(ROW, "no").state)
client.close()
"""
_SEAL = f"""{_TRANSPORT}
from ldp_client import load_plan
ORIGIN, SERVER, plan, count = "https://relay.example", sys.argv[1], load_plan(sys.argv[2]), int(sys.argv[3])

def answer(journal, **options):
    options |= {{"relay": ORIGIN, "journal": journal, "transport": Redirected()}}
    client = Client(plan, ORIGIN + "/night-work", **options)
    client.grant()
    client.report({{"nights": "some", "rested": True}})
    return client

for number in range(count):
    with answer(f"{{sys.argv[4]}}/{{number}}.db", spread=0) as client:
        assert client.flush(60).state == "sent", client.status()
SERVER = "http://127.0.0.1:9"
with answer("journal.db") as client:
    print(client.status().state)
"""


class Sources:
    """The sources of a commit, whose commands run in a folder."""

    def __init__(self, sources: Path, folder: Path) -> None:
        self.sources, self.folder = sources.resolve(), folder
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("LDP_")}
        self._environment["PYTHONPATH"] = str(self.sources)

    def python(self, program: str, *arguments: object) -> bytes:
        """Run a program to its end; return what it prints."""
        words = [sys.executable, "-c", program, *map(str, arguments)]
        done = subprocess.run(
            words, cwd=self.folder, env=self._environment, stdout=subprocess.PIPE, check=True
        )
        return done.stdout

    def run(self, command: str, *arguments: object) -> str:
        """Run a command to its end; return what it prints."""
        return self.python(_entry_point(command), *arguments).decode()

    @contextmanager
    def serve(self, command: str, *arguments: object, prelude: str = "", until: str = "://") -> Iterator[str]:
        """Run a server, with its output in a file; yield the first line that contains `until`."""
        words = [sys.executable, "-c", f"{prelude}\n{_entry_point(command)}", "serve", *map(str, arguments)]
        log = self.folder / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                words, cwd=self.folder, env=self._environment, stdout=output, stderr=output
            )
        try:
            yield wait_for_line(log, until)
        finally:
            stop(process)
            log.unlink()


def _entry_point(command: str) -> str:
    return f"from encoders.extras import {command.replace('-', '_')} as run\nrun()"


def wait_for_line(log: Path, text: str) -> str:
    """Wait until a line of a file contains a text; return the line."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        for line in log.read_text().splitlines():
            if text in line:
                return line
        time.sleep(0.05)
    raise TimeoutError(f"no line contained {text!r}:\n{log.read_text()}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a process, and wait for its end."""
    process.send_signal(signal.SIGTERM)
    process.wait(_PATIENCE_SECONDS)


def main(sources: Path, output: Path) -> None:
    """Write the file of a commit."""
    with TemporaryDirectory() as name:
        folder = Path(name) / "files"
        folder.mkdir()
        build = Sources(sources, folder)
        keys = [build.run("ldp-relay", "key", each).strip() for each in ("night-work.json.key", "relay.key")]
        for survey, text in {"commute": COMMUTE, "clinic": CLINIC, "night-work": NIGHT.format(*keys)}.items():
            (folder / f"{survey}.toml").write_text(text)
            build.run("ldp-survey", "compile", f"{survey}.toml", "-o", f"{survey}.json")
        surveys = write_stores(build)
        write_journals(build, Path(name))
        write_relay(build, Path(name))
        expected = {"surveys": surveys, "reports": REPORTS, "tokens": TOKENS, "used_tokens": USED_TOKENS}
        (folder / "expected.json").write_text(json.dumps(expected | {"messages": MESSAGES}, indent=1))
        output.parent.mkdir(parents=True, exist_ok=True)
        with ZipFile(output, "w", ZIP_DEFLATED, compresslevel=9) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.name.endswith("-shm"):  # SQLite makes it again
                    archive.write(path, path.relative_to(folder))


def write_stores(build: Sources) -> dict[str, str]:
    """Write a SQLite file, the folder of a Redis, what they counted, a snapshot and a model.

    Return the digests of the surveys.
    """
    folder = build.folder
    write_store(build, "sqlite", f"sqlite:///{folder}/sqlite/ldp.db")
    sqlite = ("--store", f"sqlite:///{folder}/sqlite/ldp.db")
    build.run("ldp-collector", "export", "commute", *sqlite, "-o", "snapshot.json")
    build.run("ldp-train", "snapshot.json", "-o", "model.json")
    with redis_server(folder / "redis") as url:
        return write_store(build, "redis", url)


def write_store(build: Sources, name: str, store: str) -> dict[str, str]:
    """Fill a store with two surveys: reports, a rejection, invitations and times; return their digests."""
    folder = build.folder / name
    folder.mkdir(exist_ok=True)
    plans = ("commute.json", "clinic.json")
    with build.serve("ldp-collector", *plans, "--store", store, "--bind", "127.0.0.1:0") as line:
        origin = find_origin(line)
        tokens = build.run("ldp-collector", "tokens", "create", "clinic", "--count", TOKENS, "--store", store)
        (folder / "tokens.txt").write_text(tokens)
        for survey, used in {"commute": [""] * REPORTS, "clinic": tokens.split()[:USED_TOKENS]}.items():
            reports = build.python(_MAKE_REPORTS, f"{survey}.json", *used)
            (folder / f"{survey}.reports").write_bytes(reports)
            for body in (reports, b"junk"):
                post(f"{origin}/v1/surveys/{survey}/reports", body)
        with urlopen(f"{origin}/v1/surveys", timeout=60) as response:
            digests = {each["id"]: each["digest"] for each in json.load(response)["surveys"]}
    build.run("ldp-collector", "close", "clinic", "--at", "2199-01-01", "--grace", 3, "--store", store)
    return digests


def post(url: str, body: bytes) -> None:
    """Post reports; a refusal is no error."""
    with suppress(HTTPError):
        urlopen(Request(url, body, {"Content-Type": "application/vnd.msgpack"}), timeout=60).close()


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Run a Redis as docs/running.md describes; its append-only file is one that every version reads."""
    folder.mkdir()
    path = folder / "redis.sock"
    options = {"dir": folder, "port": 0, "unixsocket": path, "save": "", "appendonly": "yes"}
    options |= {"appendfsync": "always", "aof-use-rdb-preamble": "no", "maxmemory-policy": "noeviction"}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    process = subprocess.Popen(
        [shutil.which("redis-server") or "redis-server", *words], stdout=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + _PATIENCE_SECONDS
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.05)
        yield f"unix://{path}"
    finally:
        stop(process)


def write_journals(build: Sources, scratch: Path) -> None:
    """Write the journals of two devices: one whose report was counted, and one whose report waits.

    If there is a JDK, the Java client writes a journal too, whose report waits.
    """
    store, classes = f"sqlite:///{scratch}/ldp.db", scratch / "classes"
    with build.serve("ldp-collector", "commute.json", "--store", store, "--bind", "127.0.0.1:0") as line:
        build.python(_ANSWER, find_origin(line))
        if shutil.which("javac") is None:
            return
        java = build.sources / "clients" / "java"
        subprocess.run(["make", "--silent", "build/classes"], cwd=java, check=True)
        answer, path = java / "tests" / "ldpbayes" / "client" / "Answer.java", java / "build" / "classes"
        subprocess.run(["javac", "-encoding", "UTF-8", "-cp", path, "-d", classes, answer], check=True)
        url = f"{find_origin(line)}/v1/surveys/commute"
        (build.folder / "java.url").write_text(url)
        words = ["java", "-cp", f"{path}:{classes}", "ldpbayes.client.Answer", url]
        words += [str(build.folder / "java"), json.dumps({"mode": "foot", "minutes": 12}), "label=no"]
        subprocess.run([*words, "background=false", "calls=grant,report"], check=True)


def find_origin(line: str) -> str:
    """Return the address in a line that a server prints."""
    [origin] = re.findall(r"http://[\d.:]+", line)
    return str(origin)


def write_relay(build: Sources, scratch: Path) -> None:
    """Write a relay's database: one batch has been released, nothing has arrived, and some messages wait."""
    (build.folder / "relay.token").write_text("relay-token-of-an-earlier-build\n")
    (build.folder / "relay.toml").write_text(
        """
bind = "127.0.0.1:0"
messages_per_network = 0
[surveys.night-work]
plan = "night-work.json"
key = "relay.key"
collector = "http://127.0.0.1:9/v1/surveys/night-work"
collector_token_file = "relay.token"
"""
    )
    with build.serve("ldp-relay", "relay.toml") as line:
        build.python(_SEAL, find_origin(line), "night-work.json", MESSAGES, scratch)
    shutil.copy(scratch / "0.db", build.folder / "held.db")
    short = "from ldp_relay import release; release.HOUR_SECONDS = 0.5"
    with build.serve("ldp-relay", "relay.toml", prelude=short, until='"released"'):
        pass


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
