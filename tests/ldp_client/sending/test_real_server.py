"""When clients send to a real server: after a 503, at exit, on flush and close."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from encoders.survey import Plan
from ldp_client import Client, Journal, State
from tests.ldp_client.conftest import ROW
from tests.ldp_client.sending.conftest import Collector
from tests.support.sending_schedules import DAY, most_by_chance
from tests.support.servers import wait_for

pytestmark = pytest.mark.slow


def _report(server: Collector, plan: Plan, journal: Path, name: str, **options: float) -> Client:
    client = Client(replace(plan, id=name, family=name), server.url(name), journal=journal, **options)
    client.grant()
    assert client.report(ROW, "no").state is State.QUEUED
    return client


def test_real_clients_send_at_unrelated_times_after_a_503(server, plan, tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_client.sending.sending_times.MIN_MEAN_WAIT_SECONDS", 1.5)
    monkeypatch.setattr("ldp_client.retry_after.MAX_BACKOFF_SECONDS", 0.3)
    names, journals = ("sleep", "diet"), [tmp_path / f"{device}.db" for device in range(10)]
    server.is_down = True
    clients = [_report(server, plan, journal, name, spread=0.05) for journal in journals for name in names]
    owner = {entry.report: journal for journal in journals for entry in Journal(journal).entries()}
    wait_for(lambda: {owner[body] for _, body, _, _ in list(server.requests)} == set(journals))
    server.is_down = False
    wait_for(lambda: all(client.status().state is State.SENT for client in clients))
    for client in clients:
        client.close()
    connections = [connection for _, _, connection, _ in server.requests]
    assert len(set(connections)) == len(connections), "two requests came over one connection"
    gaps = []
    for journal in journals:
        first, second = (when for when, body, _, taken in server.requests if taken and owner[body] == journal)
        gaps.append(second - first)
    # exponential with a mean of 1.5 s; where the reports of a device share a pause, all gaps are this short
    assert sum(gap < 0.15 for gap in gaps) <= most_by_chance(10, 0.0952, 1e-7)


A_RUN = """
import sys
from encoders.survey import Plan
from dataclasses import replace
from ldp_client import Client
from ldp_client.sending import process_exit
process_exit.stop_senders.__defaults__ = (60.0, False)  # a busy machine needs more than 2 s
plan, base, journal = Plan.from_json(sys.stdin.buffer.read()), *sys.argv[1:]
clients = [
    Client(replace(plan, id=name, family=name), f"{base}/{name}", journal=journal, spread=86400)
    for name in ("sleep", "diet", "sport")
]
for client in clients:
    client.grant()
    client.report({"age": "old", "hours": 7.5}, "no")
"""


def test_each_run_that_ends_at_once_sends_one_report_at_its_exit(server, plan, tmp_path):
    command = [sys.executable, "-c", A_RUN, server.url("")[:-1], str(tmp_path / "journal.db")]
    arrived = []
    for _ in range(4):
        subprocess.run(command, input=plan.json, check=True, timeout=60)
        arrived.append(len(server.taken))
    assert arrived == [1, 2, 3, 3]
    assert len(set(server.taken)) == 3


def test_clients_that_are_closed_in_turn_do_not_send_right_after_each_other(server, plan, tmp_path):
    for name in ("sleep", "diet", "sport"):
        _report(server, plan, tmp_path / "journal.db", name, spread=DAY).close(5.0)
    assert len(server.taken) == 1


def test_flush_sends_the_survey_that_it_names_and_no_other(server, plan, tmp_path):
    clients = [_report(server, plan, tmp_path / "journal.db", name, spread=1e9) for name in ("sleep", "diet")]
    assert clients[1].flush().state is State.SENT
    assert len(server.taken) == 1
    assert clients[0].status().state is State.QUEUED
    for client in clients:
        client.close()
    assert len(server.taken) == 1


def test_flush_without_a_wait_sends_the_report_of_an_earlier_run(server, plan, tmp_path):
    server.is_down = True
    _report(server, plan, tmp_path / "journal.db", "sleep", spread=DAY).close()
    server.is_down = False
    with Client(plan, server.url("sleep"), journal=tmp_path / "journal.db") as client:
        client.flush(0)
        wait_for(lambda: client.status().state is State.SENT)
