"""What a real process sends when it exits, to a real server: at most one report, and none after another."""

import subprocess
import sys
from pathlib import Path

import pytest

from encoders.survey import Plan
from ldp_client import Journal, State
from tests.ldp_client.sending.conftest import Collector
from tests.support.servers import wait_for

pytestmark = pytest.mark.slow

APPLICATION = """
import os, signal, sys, threading, time
from dataclasses import replace
from pathlib import Path
from encoders.survey import Plan
from ldp_client import Client, State, retry_after
from ldp_client.sending import process_exit

process_exit.stop_senders.__defaults__ = (60.0, False)  # a busy machine needs more than 2 s
folder, base = Path(sys.argv[1]), sys.argv[2]
PLAN, ROW = Plan.from_json(sys.stdin.buffer.read()), {"age": "old", "hours": 7.5}

def answer(name, row=ROW, label="no", journal="journal.db", spread=86400):
    plan = replace(PLAN, id=name, family=name)
    client = Client(plan, f"{base}/{name}", journal=folder / journal, spread=spread)
    client.grant()
    assert client.report(row, label).state is State.QUEUED
    return client

def answer_all(**options):
    return [answer(name, **options) for name in ("sleep", "diet", "sport")]
"""


def run(server: Collector, plan: Plan, folder: Path, code: str) -> None:
    """Run an application that answers surveys."""
    command = [sys.executable, "-c", f"{APPLICATION}\n{code}", str(folder), server.url("")[:-1]]
    subprocess.run(command, input=plan.json, stderr=subprocess.DEVNULL, check=False, timeout=120)


def states(folder: Path, name: str = "journal.db") -> list[State]:
    return sorted(entry.state for entry in Journal(folder / name).entries())


ONE_SENT = [State.QUEUED, State.QUEUED, State.SENT]
NONE_SENT = [State.QUEUED, State.QUEUED, State.QUEUED]


@pytest.mark.parametrize(
    ("end", "left"),
    [
        ("", ONE_SENT),
        ("sys.exit(3)", ONE_SENT),
        ("raise ValueError", ONE_SENT),
        ("raise KeyboardInterrupt", ONE_SENT),
        ("for client in clients: client.close(60)", ONE_SENT),
        ("os._exit(4)", NONE_SENT),
        ("signal.raise_signal(signal.SIGTERM)", NONE_SENT),
        ("signal.raise_signal(signal.SIGKILL)", NONE_SENT),
        ("os.environ['DO_NOT_TRACK'] = '1'", NONE_SENT),
        ("os.environ['LDP_REHEARSAL'] = '1'", NONE_SENT),
        ("if os.fork() == 0: sys.exit()\nos.wait(); os._exit(0)", NONE_SENT),
    ],
)
def test_exit_sends_at_most_one_report_and_keeps_the_others(server, plan, tmp_path, end, left):
    run(server, plan, tmp_path, f"clients = answer_all()\n{end}")
    assert states(tmp_path) == left
    assert len(server.requests) == left.count(State.SENT)


def test_exit_does_not_send_a_withdrawn_report(server, plan, tmp_path):
    run(server, plan, tmp_path, "answer('sleep').withdraw()")
    assert server.requests == []


def test_each_journal_sends_one_report_at_the_exit(server, plan, tmp_path):
    run(server, plan, tmp_path, "answer_all(journal='ann.db'), answer_all(journal='bob.db')")
    assert len(server.taken) == 2
    assert [states(tmp_path, name) for name in ("ann.db", "bob.db")] == [ONE_SENT, ONE_SENT]


@pytest.mark.parametrize("draw", [0.1, 0.5, 0.9])
def test_report_that_an_exit_sends_depends_on_the_draw_and_not_on_the_answers(server, plan, tmp_path, draw):
    sent = []
    for number, answer in enumerate(
        ("row=ROW, label='no'", "row={'age': 'young', 'hours': 1.0}, label='yes'")
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        fixed = f"retry_after.draw_uniform.__code__ = (lambda: {draw}).__code__"
        run(server, plan, folder, f"{fixed}\nclients = answer_all({answer})")
        sent.append([e.survey for e in Journal(folder / "journal.db").entries() if e.state is State.SENT])
    assert sent[0] == sent[1]
    assert len(sent[0]) == 1


A_SLOW_RESPONSE = """
first, second = (answer(name, spread=0.5) for name in ("sleep", "diet"))
while first._sender._schedule.latest_attempt[0] is None:
    time.sleep(0.01)
time.sleep(1)  # longer than the spread of the other report, which falls due

def release():
    while first._sender._mode.name == "SCHEDULED":
        time.sleep(0.01)
    (folder / "exits").touch()

threading.Thread(target=release, daemon=True).start()
"""


def test_exit_during_an_attempt_sends_no_other_report_right_after_it(server, plan, tmp_path):
    server.before_response = lambda: wait_for((tmp_path / "exits").exists)
    run(server, plan, tmp_path, A_SLOW_RESPONSE)
    assert states(tmp_path) == [State.QUEUED, State.SENT]
    assert len(server.requests) == 1
