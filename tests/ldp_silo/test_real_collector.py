"""ldp-silo and a real collector: messages are counted once, whatever is repeated."""

import inspect
import json
import multiprocessing
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from encoders.report import MAX_MESSAGE_BYTES, unpack
from ldp_client import Client, State
from ldp_silo import Epoch, Silo, SiloJournal, silo_ledger
from tests.ldp_silo.conftest import draw_rows
from tests.support.servers import TOKEN, collector, free_port, inherited_environment
from tests.support.silo_surveys import HABITS, WARDS, read_silo_survey
from tools.endurance.client import silo_kills
from tools.endurance.client.kills import Place, spread_places

pytestmark = pytest.mark.slow

SURVEYS = {
    "wards": WARDS,
    "invited": WARDS.replace('id = "wards"', 'id = "invited"\nenrolment = "token"'),
    "mixed-up": WARDS.replace('id = "wards"', 'id = "mixed-up"\nenrolment = "token"'),
    "habits": HABITS.replace('id = "habits"', 'id = "habits"\nenrolment = "token"'),
}
COMMANDS = {
    "ldp-silo": "ldp_silo.cli:main",
    "ldp-collector": "encoders.extras:ldp_collector",
    "ldp-survey": "encoders.extras:ldp_survey",
}
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Server:
    """A collector of several surveys, and a folder for the files of its silos."""

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

    def tokens(self, survey: str, count: int) -> list[str]:
        """Create tokens of a survey."""
        options = ["--count", count, "--store", self.store]
        return command("ldp-collector", "tokens", "create", survey, *options).stdout.split()[-count:]


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
    surveys = [folder / f"{name}.toml" for name in SURVEYS]
    for path, text in zip(surveys, SURVEYS.values(), strict=True):
        path.write_text(text)
    made = command("ldp-survey", "keygen", folder / "author.pem")
    assert made.returncode == 0, made.stderr
    signed = command("ldp-survey", "sign", surveys[0], "--key", folder / "author.pem")
    assert signed.returncode == 0, signed.stderr
    store = f"sqlite:///{folder}/ldp.db"
    with collector(surveys, store) as (base, _):
        yield Server(base, folder, store, made.stdout.split()[-1])


def cells_of(epoch: Epoch) -> list[int]:
    """Return the cells of an epoch's message."""
    plan = read_silo_survey(SURVEYS[epoch.survey]).compile()
    assert epoch.message is not None
    return plan.mechanism.contribution(unpack(epoch.message, plan.max_report_bytes).payload)


def messages(*journals: str | Path) -> list[list[int]]:
    """Return the cells of each message in some journals."""
    return [cells_of(epoch) for journal in journals for epoch in SiloJournal(journal).epochs()]


def test_silos_report_epochs_that_add_up(server, write_rows, tmp_path):
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
    assert "epsilon spent by one person over all epochs, at most: 1\n" in shown
    assert command("ldp-silo", "status", "--journal", journals[0], "--max-age", "1").returncode == 0


def test_a_plan_without_the_pinned_signature_is_refused(server, tmp_path):
    other = command("ldp-survey", "keygen", tmp_path / "other.pem").stdout.split()[-1]
    refused = command(
        "ldp-silo", "grant", server.url(), "--journal", tmp_path / "journal", "--public-key", other
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("Error: ")


def test_rows_without_a_label_and_with_several_answers_are_counted(server, write_rows, tmp_path):
    rows = [["yes", "beer; wine", "80", ""], ["no", ";", "70", "60"], ["no", "", "95", "100"]] * 100
    path = write_rows(rows, header=("smoker", "drinks", "weight", "pulse"))
    (token,) = server.tokens("habits", 1)
    silo = Silo(server.url("habits"), journal=tmp_path / "habits.journal", token=token)
    assert silo.grant().state is State.READY
    assert silo.report(path).state is State.SENT
    count, sums = server.totals("habits")
    assert count == 1
    assert [sums] == messages(tmp_path / "habits.journal")


def test_each_silo_reports_with_a_token_once(server, write_rows, tmp_path):
    first, second = server.tokens("invited", 2)
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


def test_a_client_of_people_refuses_a_survey_of_silos(server, tmp_path):
    with Client(server.url(), journal=tmp_path / "person.db") as client:
        receipt = client.grant()
    assert (receipt.state, receipt.reason) == (State.REJECTED, "invalid-plan")


def test_a_message_waits_for_a_collector_that_is_away(server, write_rows, tmp_path):
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


def require_counted_once(
    server: Server, survey: str, before: tuple[int, list[int]], journals: Sequence[str | Path]
) -> None:
    """Require that a survey has counted one message of each journal since `before`."""
    cells = [sum(column) for column in zip(*messages(*journals), strict=True)]
    sums = [old + new for old, new in zip(before[1] or [0] * len(cells), cells, strict=True)]
    assert server.totals(survey) == (before[0] + len(journals), sums)


def test_a_silo_with_the_token_of_another_one_reports_with_an_unused_token(server, write_rows, tmp_path):
    url, before = server.url("mixed-up"), server.totals("mixed-up")
    shared, spare = server.tokens("mixed-up", 2)
    (tmp_path / "spare").write_text(f"{spare}\n")
    one = Silo(url, journal=tmp_path / "one.journal", token=shared)
    one.grant()
    assert one.report(write_rows(300)).state is State.SENT
    other = tmp_path / "other.journal"
    assert command("ldp-silo", "grant", url, "--journal", other).returncode == 0
    report = ["report", url, write_rows(draw_rows(100, seed=9)), "--journal", other]
    refused = command("ldp-silo", *report, "--token", shared)
    assert refused.returncode == 1
    assert "refused by the collector (id-reused: " in refused.stdout
    assert "report the same file as the same epoch with an unused token" in refused.stdout
    (former,) = SiloJournal(other).epochs()
    for outcome in ("counted by the collector", "already counted"):
        again = command("ldp-silo", *report, "--token-file", tmp_path / "spare")
        assert again.returncode == 0, again.stderr
        assert f"epoch 1: {outcome}" in again.stdout
    (epoch,) = SiloJournal(other).epochs()
    assert epoch.message_id != former.message_id
    assert cells_of(epoch) == cells_of(former)
    require_counted_once(server, "mixed-up", before, [one.journal.path, other])


def choose_places(places: Sequence[Place]) -> list[Place]:
    """Choose lines before, in and after the change of an id, and before the message is sent."""
    change, start = inspect.getsourcelines(silo_ledger.change_message_id)
    lines = range(start, start + len(change))
    inside = [place for place in places if place[0].endswith("silo/silo_ledger.py") and place[1] in lines]
    first, last = places.index(inside[0]), places.index(inside[-1])
    parts = (places[:first], inside, places[last + 1 : last + 20], places[last + 20 :])
    return [place for part in parts for place in spread_places(part, 1)]


def test_a_killed_silo_has_the_former_id_or_the_new_one(server, write_rows, tmp_path):
    url, rows, before = server.url("mixed-up"), write_rows(50), server.totals("mixed-up")
    used, *spare = server.tokens("mixed-up", 7)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tools.endurance.client.silo_kills"])

    def report(journal: Path, token: str, fatal: Place | None = None) -> list[Place]:
        """Report in a process that is killed at a line; return the lines that ran."""
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(
            target=silo_kills.run, args=(journal, url, rows, fatal, True, theirs, token)
        )
        process.start()
        theirs.close()
        places = [] if fatal else ours.recv()[1]
        process.join()
        assert process.exitcode in ((0, -signal.SIGKILL) if fatal else (0,))
        return list(places)

    journals = [tmp_path / f"{number}.journal" for number in range(6)]
    for journal in journals:
        silo = Silo(url, journal=journal, token=used)
        silo.grant()
        silo.report(rows)
    assert silo.status().reason == "id-reused"
    found = []
    chosen = choose_places(report(journals[1], spare[1]))
    for journal, token, fatal in zip(journals[2:], spare[2:], chosen, strict=True):
        (former,) = SiloJournal(journal).epochs()
        report(journal, token, fatal)
        (epoch,) = SiloJournal(journal).epochs()
        assert epoch.message is not None
        assert unpack(epoch.message, MAX_MESSAGE_BYTES).id == epoch.message_id
        assert cells_of(epoch) == cells_of(former)
        assert (epoch == former) is (epoch.message_id == former.message_id)
        found.append(epoch == former)
        again = Silo(url, journal=journal, token=token).report(rows)
        assert again.state in (State.SENT, State.DUPLICATE, State.ALREADY_REPORTED)
    assert found[:2] == [True, True]
    assert found[3] is False
    require_counted_once(server, "mixed-up", before, journals)
