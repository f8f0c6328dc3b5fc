"""ldp-silo and a real collector: messages are counted once, whatever is repeated."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from encoders.report import unpack
from ldp_client import Client, State
from ldp_client.silo import Silo, SiloJournal
from tests.ldp_client.silo.conftest import WriteRows, draw_rows
from tests.support.servers import TOKEN, collector, free_port, inherited_environment
from tests.support.silo_surveys import WARDS, read_silo_survey

pytestmark = pytest.mark.slow

BY_TOKEN = WARDS.replace('id = "wards"', 'id = "invited"\nenrolment = "token"')
COMMANDS = {
    "ldp-silo": "ldp_client.silo.cli:main",
    "ldp-collector": "encoders.extras:ldp_collector",
    "ldp-survey": "encoders.extras:ldp_survey",
}
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Server:
    """A collector of two surveys, and a folder for the files of its silos."""

    base: str
    folder: Path
    store: str
    key: str

    def url(self, survey: str = "wards") -> str:
        return f"{self.base}/v1/surveys/{survey}"

    def totals(self, survey: str = "wards") -> tuple[int, list[int]]:
        """Return the number of messages that are counted, and the sums of their cells."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        request = urllib.request.Request(f"{self.url(survey)}/snapshot", headers=headers)
        with urllib.request.urlopen(request) as response:
            (total,) = json.load(response)["totals"].values() or [{"n": 0, "cells": []}]
        return total["n"], total["cells"]


def command(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command as its script does."""
    module, _, function = COMMANDS[name].partition(":")
    code = f"import sys; sys.argv[0] = {name!r}; from {module} import {function}; {function}()"
    words = [sys.executable, "-c", code, *map(str, arguments)]
    environment = inherited_environment()
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("silos")
    surveys = [folder / "wards.toml", folder / "invited.toml"]
    for path, text in zip(surveys, (WARDS, BY_TOKEN), strict=True):
        path.write_text(text)
    made = command("ldp-survey", "keygen", folder / "author.pem")
    assert made.returncode == 0, made.stderr
    signed = command("ldp-survey", "sign", surveys[0], "--key", folder / "author.pem")
    assert signed.returncode == 0, signed.stderr
    store = f"sqlite:///{folder}/ldp.db"
    with collector(surveys, store) as (base, _):
        yield Server(base, folder, store, made.stdout.split()[-1])


def messages(*journals: Path) -> list[list[int]]:
    """Return the cells of each message in some journals."""
    found = []
    for journal in journals:
        for epoch in SiloJournal(journal).epochs():
            plan = read_silo_survey(BY_TOKEN if epoch.survey == "invited" else WARDS).compile()
            assert epoch.message is not None
            payload = unpack(epoch.message, plan.max_report_bytes).payload
            found.append(plan.mechanism.contribution(payload))
    return found


def test_silos_report_epochs_that_add_up(server: Server, write_rows: WriteRows, tmp_path: Path) -> None:
    journals = [tmp_path / f"{name}.journal" for name in "ab"]
    for seed, journal in enumerate(journals, 1):
        options = [server.url(), "--journal", journal, "--public-key", server.key]
        granted = command("ldp-silo", "grant", *options)
        assert granted.returncode == 0, granted.stderr
        for epoch, size in (("1", 500), ("2", 100), ("1", 500)):
            rows = write_rows(draw_rows(size, seed=10 * seed + int(epoch)))
            report = [server.url(), rows, *options[1:], "--epoch", epoch, "--new-rows"]
            sent = command("ldp-silo", "report", *report)
            assert sent.returncode == 0, sent.stderr
            assert "counted" in sent.stdout
    sums = [sum(column) for column in zip(*messages(*journals), strict=True)]
    assert server.totals() == (4, sums)
    shown = command("ldp-silo", "status", "--journal", journals[0]).stdout
    assert shown.endswith("epsilon spent by one person over all epochs, at most: 1\n")


def test_a_plan_without_the_pinned_signature_is_refused(server: Server, tmp_path: Path) -> None:
    other = command("ldp-survey", "keygen", tmp_path / "other.pem").stdout.split()[-1]
    refused = command(
        "ldp-silo", "grant", server.url(), "--journal", tmp_path / "journal", "--public-key", other
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("Error: ")


def test_each_silo_reports_with_a_token_once(server: Server, write_rows: WriteRows, tmp_path: Path) -> None:
    made = command("ldp-collector", "tokens", "create", "invited", "--count", "2", "--store", server.store)
    first, second = made.stdout.split()[-2:]
    url, rows = server.url("invited"), write_rows(300)
    one = Silo(url, journal=tmp_path / "one.journal", token=first)
    assert one.grant().state is State.READY
    assert one.report(rows).state is State.SENT
    # the ledger is lost: the collector refuses a second message with the token
    again = Silo(url, journal=tmp_path / "again.journal", token=first)
    again.grant()
    refused = again.report(rows)
    assert (refused.state, refused.reason) == (State.REJECTED, "id-reused")
    later = write_rows(draw_rows(50, seed=9), name="later.csv")
    two = Silo(url, journal=tmp_path / "one.journal", token=second)
    assert two.report(later, epoch="2", new_rows=True).state is State.SENT
    sums = [sum(column) for column in zip(*messages(tmp_path / "one.journal"), strict=True)]
    assert server.totals("invited") == (2, sums)


def test_a_client_of_people_refuses_a_survey_of_silos(server: Server, tmp_path: Path) -> None:
    with Client(server.url(), journal=tmp_path / "person.db") as client:
        receipt = client.grant()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "invalid-plan")


def test_a_message_waits_for_a_collector_that_is_away(
    server: Server, write_rows: WriteRows, tmp_path: Path
) -> None:
    rows, journal = write_rows(200), tmp_path / "journal"
    plan = tmp_path / "plan.json"
    away = f"http://127.0.0.1:{free_port()}/v1/surveys/wards"
    plan.write_bytes(read_silo_survey().compile().json)
    silo = Silo(plan, away, journal=journal)
    silo.grant()
    receipt = silo.report(rows, timeout=0.2)
    assert (receipt.state, receipt.reason) == (State.QUEUED, "collector-unreachable")
    waits = command("ldp-silo", "flush", away, "--journal", journal, "--timeout", "0")
    assert waits.returncode == 3
    assert "the message waits in the journal" in waits.stdout
