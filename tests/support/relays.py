"""A survey with a relay whose private keys the tests have, sealed reports of it, and real relays."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from encoders.survey.randomise import randomise, randomise_all
from encoders.survey.sealing import seal_envelope
from encoders.survey.unsealing import make_private_key, open_outer
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import open_store
from ldp_relay.held_messages import HeldMessages
from ldp_relay.relay_settings import read_settings
from tests.support.access import access, write_tokens
from tests.support.servers import collector, free_port, inherited_environment, stop
from tests.support.surveys import RELAYED

COLLECTOR, RELAY = make_private_key(), make_private_key()
RELAY_TOKEN = "relay-token-of-the-tests"
ROW = {"nights": "some", "rested": True}
_STREAM = FastStream(4)


def relayed_text(survey: str = RELAYED, collector: str = "", relay: str = "") -> str:
    """Return a survey file with the public keys of the tests, or with others."""
    keys = f'collector_key = "{collector or COLLECTOR.public_key}"\n'
    keys += f'relay_key = "{relay or RELAY.public_key}"\n'
    return survey.replace("[features.nights]", f"{keys}[features.nights]")


def relayed_plan(survey: str = RELAYED, collector: str = "", relay: str = "") -> Plan:
    """Compile such a survey."""
    return read_survey(relayed_text(survey, collector, relay)).compile()


def relayed_report(plan: Plan, **more: object) -> bytes:
    """Make a report of one person."""
    return randomise(plan, ROW | more, None, _STREAM).report


def relayed_reports(plan: Plan, wave: int | None = None, **more: object) -> list[bytes]:
    """Make all that one person sends."""
    coded = plan.encode(ROW | more, None)
    return [each.report for each in randomise_all(plan, coded, _STREAM, wave=wave)]


def inner_message(plan: Plan, *reports: bytes, wave: int | None = None) -> bytes:
    """Seal a person's reports, and open the outer seal as the relay does."""
    return open_outer(plan, seal_envelope(plan, reports, wave=wave), RELAY, wave=wave)


# -- a relay that runs -------------------------------------------------------------------------

SMALL = (
    RELAYED.replace("epsilon = 2\n", "epsilon = 1\n")
    .replace("batch = 600", "batch = 20")
    .replace("2026-11-01", "2001-11-01")
    .replace("2026-12-31", "2200-12-31")
)
"""A survey that is always open, with small batches: its promise is the local epsilon."""
ALL = SMALL.replace("batch = 20\n", 'batch = 20\nask = "all"\n')
"""The same survey, of which each person answers both questions."""


WAVES = """
[waves]
first = 2027-01-01
every = "month"
count = 3
"""


def without_times(survey: str) -> str:
    """Return a survey whose relay's times follow from waves, which are still to be added."""
    return re.sub("^(opens|closes) = .*\n", "", survey, flags=re.MULTILINE)


def waved_text(survey: str = SMALL, more: str = "") -> str:
    """Return a survey in three waves; `more` are lines of its table [waves]."""
    return relayed_text(without_times(survey)) + WAVES + more


def waved_plan(survey: str = SMALL, more: str = "") -> Plan:
    """Compile such a survey."""
    return read_survey(waved_text(survey, more)).compile()


def small_text(port: int, survey: str = SMALL) -> str:
    """Return the survey at a relay on a port of this machine."""
    return relayed_text(survey.replace("https://relay.example", f"http://127.0.0.1:{port}"))


def write_relay_files(folder: Path, survey: str | Plan, collector: str) -> Path:
    """Write the plan, the keys, the token and the settings of a relay; return the settings."""
    plan = read_survey(survey).compile() if isinstance(survey, str) else survey
    (folder / "plan.json").write_bytes(plan.json)
    (folder / "plan.json.key").write_bytes(COLLECTOR.pem)
    (folder / "relay.key").write_bytes(RELAY.pem)
    (folder / "token").write_text(f"{RELAY_TOKEN}\n")
    port = re.search(r"127\.0\.0\.1:(\d+)", plan.json.decode())
    (folder / "relay.toml").write_text(
        f"""
bind = "127.0.0.1:{port[1] if port else 0}"
messages_per_network = 0
[surveys.{plan.id}]
plan = "plan.json"
key = "relay.key"
collector = "{collector}/v1/surveys/{plan.id}"
collector_token_file = "token"
"""
    )
    return folder / "relay.toml"


@contextmanager
def relay(
    settings: Path, hour: float = 3600, log: Path | None = None, prelude: str = ""
) -> Iterator[subprocess.Popen[str]]:
    """Run ldp-relay, with a shorter hour, after some lines of Python; yield its process when it listens."""
    program = (
        f"from ldp_relay import release; release.HOUR_SECONDS = {hour}\n{prelude}\n"
        "from encoders.extras import ldp_relay; ldp_relay()"
    )
    command = [sys.executable, "-c", program, "serve", str(settings)]
    errors = (log or settings.with_suffix(".log")).open("ab")
    process = subprocess.Popen(
        command, env=inherited_environment(), stdout=subprocess.PIPE, stderr=errors, text=True
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("http://"), line
        yield process
    finally:
        errors.close()
        stop(process)


def send(url: str, body: bytes, method: str = "POST") -> tuple[int, bytes]:
    """Send one message to a relay, as a device does; return the status and the body."""
    request = urllib.request.Request(url, body, {"Content-Type": "text/plain"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


def later_after(file: Path) -> str:
    """Return the prelude of a relay whose clock moves an hour forward once a file exists.

    The collector's clock is not asked.
    """
    return f"""
import time
from pathlib import Path
now = time.time
time.time = lambda: now() + 3600 * Path({str(file)!r}).exists()
from ldp_relay import delivery
delivery.find_collector_time = lambda survey, end: time.time()
"""


class RelayedSite:
    """A survey, its relay and its collector on this machine."""

    def __init__(self, folder: Path, closes: int | None = None, survey: str = SMALL) -> None:
        self.folder, self.port = folder, free_port()
        survey = small_text(self.port, survey)
        if closes:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(closes))
            survey = survey.replace("2200-12-31T00:00:00Z", stamp)
        self.plan = read_survey(survey).compile()
        self.survey, self.store = survey, f"sqlite:///{folder}/ldp.db"
        self.url = f"http://127.0.0.1:{self.port}/{self.plan.id}/{self.plan.digest}"
        write_tokens(folder / "tokens.toml", access("relay", RELAY_TOKEN))

    def settings(self, base: str) -> Path:
        return write_relay_files(self.folder, self.survey, base)

    def collector(
        self, port: int = 0, prelude: str = ""
    ) -> AbstractContextManager[tuple[str, subprocess.Popen[str]]]:
        options = ["--tokens", self.folder / "tokens.toml"]
        options += ["--bind", f"127.0.0.1:{port}"] if port else []
        return collector([self.folder / "plan.json"], self.store, options=options, prelude=prelude)

    def send(self, count: int) -> list[bytes]:
        """Send new messages; each must be held."""
        messages = [seal_envelope(self.plan, relayed_reports(self.plan)) for _ in range(count)]
        for each in messages:
            assert send(self.url, each)[0] == 202
        return messages

    def counts(self) -> dict[str, Any]:
        settings = read_settings(self.folder / "relay.toml")
        held = HeldMessages(settings.database)
        [survey] = settings.surveys.values()
        try:
            digest = survey.plan.digest
            return held.counts(digest) | {"sizes": [size for _, size, _ in held.batches(digest)]}
        finally:
            held.close()

    def counted(self) -> int:
        return sum(self.counted_by_question())

    def counted_by_question(self) -> list[int]:
        store = open_store(self.store)
        try:
            return [each.n for each in take_snapshot(store, self.plan.id).totals.values()]
        finally:
            store.close()


# -- a survey in which each person answers all questions ---------------------------------------


def all_answers_text(entries: str, epsilon: float, users: int = 1000) -> str:
    """Return a survey file with other entries than RELAYED, in which each person answers all questions.

    The batch is so large that the promise holds with any epsilon.
    """
    head, _, _ = RELAYED.partition("[features.nights]")
    text = head.replace("epsilon = 2\nusers = 1000", f"epsilon = {epsilon}\nusers = {users}")
    text = text.replace("batch = 600", "batch = 1000000")
    return relayed_text(f'{text}ask = "all"\n[features.nights]').removesuffix("[features.nights]") + entries


def all_answers_plan(entries: str, epsilon: float, users: int = 1000) -> Plan:
    """Compile such a survey."""
    return read_survey(all_answers_text(entries, epsilon, users)).compile()
