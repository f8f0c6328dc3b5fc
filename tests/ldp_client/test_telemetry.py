"""Telemetry of a real tool, pygmentize: its output and exit code stay the same, whatever telemetry does."""

import json
import os
import pty
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from encoders.errors import LdpError
from encoders.survey import Plan, read_survey
from encoders.survey.signature import signature_text
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import open_store
from ldp_client import Journal
from ldp_client.telemetry import Telemetry
from ldp_design.authoring.signing import make_keys, sign
from tests.support.servers import collector, free_port, inherited_environment, wait_for

ROOT = Path(__file__).parents[2]
AUTHOR = make_keys()
SURVEY = """
[survey]
id = "tool-{release}"
epsilon = 1
[features.failed]
values = [true, false]
[features.format]
values = ["html", "other"]
[series]
name = "tool"
key = "{key}"
"""
TOOL = """
import json, os, sys
from pygments.cmdline import main
code = main(["pygmentize", *sys.argv[2:]])
settings = json.loads(sys.argv[1])
if settings:
    from ldp_client.telemetry import Telemetry
    telemetry = Telemetry(**settings)
    telemetry.report({"failed": code != 0, "format": "html"})
sys.exit(code)
"""
SHELL = """
import fcntl, signal, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
tool = subprocess.Popen(sys.argv[1:], {})
signal.signal(signal.SIGINT, signal.SIG_IGN)
try:
    tool.communicate(timeout=60)
finally:
    tool.kill()
sys.exit(tool.returncode)
"""
RUNS = tuple(map(str.split, ("-f html -l python code.py", "-f html -l no-such-lexer code.py", "missing.py")))
ROW = {"failed": True, "format": "html"}
CI = ("CI", "GITHUB_ACTIONS", "BUILD_ID", "BUILD_NUMBER", "JENKINS_URL", "TF_BUILD", "DO_NOT_TRACK")


class Machine:
    """A machine on which the tool is installed."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder, self.server, self.release, self.lifetime = folder, server, 1, 2
        self.home, self.environment = folder / "home", inherited_environment()
        for name in CI:
            self.environment.pop(name, None)
        (folder / "code.py").write_text("print('hello')\n")
        self.journal, self.state_path = self.home / "journal.db", self.home / "journal.db.pygmentize"

    def install(self, release: int, survey: str = SURVEY) -> Plan:
        self.release = release
        plan = read_survey(survey.format(release=release, key=AUTHOR.public_key)).compile()
        (self.folder / f"{release}.json").write_bytes(plan.json)
        signature = signature_text(sign(plan, AUTHOR.private_pem))
        (self.folder / f"{release}.json.sig").write_text(signature)
        return plan

    @property
    def settings(self) -> dict[str, object]:
        return {
            "tool": "pygmentize",
            "plan": str(self.folder / f"{self.release}.json"),
            "url": f"{self.server}/v1/surveys/tool-{self.release}",
            "public_key": AUTHOR.public_key,
            "lifetime_epsilon": self.lifetime,
            "asks": "whether it fails",
            "journal": str(self.journal),
            "spread": 0,
        }

    def command(self, arguments: list[str], absent: bool = False) -> list[str]:
        return [sys.executable, "-c", TOOL, json.dumps({} if absent else self.settings), *arguments]

    def run(self, arguments: list[str], absent: bool = False) -> tuple[int, bytes, bytes]:
        command = self.command(arguments, absent)
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def run_on_terminal(
        self,
        arguments: list[str],
        typed: bytes = b"",
        absent: bool = False,
        leads: bool = False,
        before: str = "",
        typed_ahead: bytes = b"",
    ) -> tuple[int, bytes]:
        """Run the tool with a terminal; return its exit code and all that the terminal shows.

        The person types `typed` at the question. If it `leads`, the terminal controls it; `before` is how the
        shell starts it then.
        """
        main, other = pty.openpty()
        os.write(main, typed_ahead)
        streams = {"stdin": other, "stdout": other, "stderr": other}
        command = self.command(arguments, absent)
        if leads:
            command = [sys.executable, "-c", SHELL.format(before), *command]
        process = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, start_new_session=leads, **streams
        )
        os.close(other)
        shown = b""
        while True:
            if b"[y/N]" in shown:
                os.write(main, typed)
                typed = b""
            try:
                some = os.read(main, 4096)
            except OSError:  # the last process with the terminal has ended
                break
            if not some:
                break
            shown += some
        os.close(main)
        return process.wait(), shown

    def state(self) -> list[str]:
        return self.state_path.read_text().split() if self.state_path.exists() else []

    def telemetry(self) -> Telemetry:
        return Telemetry(**self.settings)  # type: ignore[arg-type]

    def wait_until_done(self) -> None:
        """Wait for the background process, which writes the state at its end."""
        wait_for(lambda: float((self.state() or ["", "0"])[1]) > time.time() + 80_000)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path, f"http://127.0.0.1:{free_port()}")
    made.install(1)
    return made


def absent(machine: Machine) -> list[tuple[int, bytes, bytes]]:
    found = [machine.run(run, absent=True) for run in RUNS]
    assert [code for code, _, _ in found] == [0, 1, 1]
    assert all(out or err for _, out, err in found)
    return found


def consent(machine: Machine) -> None:
    machine.telemetry().command("on", ROW)


def spoil(path: Path, content: bytes | None = None) -> None:
    """Replace a file by another one, or by a folder."""
    path.unlink()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)


BROKEN: dict[str, Callable[[Machine], object]] = {
    "asked nowhere": lambda machine: None,
    "refused": lambda machine: machine.telemetry().command("off", ROW),
    "collector down": consent,
    "journal is a directory": lambda machine: (consent(machine), spoil(machine.journal)),
    "journal damaged": lambda machine: (consent(machine), spoil(machine.journal, bytes(5000))),
    "plan damaged": lambda machine: (consent(machine), spoil(machine.folder / "1.json", b"{")),
    "plan missing": lambda machine: (consent(machine), (machine.folder / "1.json").unlink()),
    "state damaged": lambda machine: (consent(machine), spoil(machine.state_path, b"\xff\0")),
    "state is a directory": lambda machine: (consent(machine), spoil(machine.state_path)),
    "no home": lambda machine: machine.home.write_bytes(b"a file, not a folder"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_the_tool_does_not_notice(machine, name):
    expected = absent(machine)
    shown = [machine.run_on_terminal(run, absent=True) for run in RUNS]
    BROKEN[name](machine)
    assert [machine.run(run) for run in RUNS] == expected
    if name != "asked nowhere":  # a terminal would ask
        assert [machine.run_on_terminal(run) for run in RUNS] == shown


@pytest.mark.slow
def test_the_question_is_asked_once_on_a_terminal_alone(machine):
    machine.run(RUNS[0])
    assert machine.state() == []
    _, plain = machine.run_on_terminal(RUNS[0], absent=True)
    code, shown = machine.run_on_terminal(RUNS[0], b"\n")
    assert code == 0
    assert b"telemetry off" in shown
    assert machine.state()[0] == "no"
    assert machine.run_on_terminal(RUNS[0])[1] == plain
    assert not machine.journal.exists()


@pytest.mark.slow
def test_what_was_typed_before_the_question_is_no_answer(machine):
    code, shown = machine.run_on_terminal(RUNS[0], b"\n", typed_ahead=b"y\n")
    assert (code, machine.state()[0]) == (0, "no")
    assert b"May pygmentize" in shown


@pytest.mark.slow
def test_a_question_that_is_interrupted_is_not_asked_again(machine):
    _, shown = machine.run_on_terminal(RUNS[0], b"\x03", leads=True)
    assert b"May pygmentize" in shown
    assert machine.state()[0] == "no"
    assert machine.state_path.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_tool_in_the_background_or_before_a_pager_asks_nothing(machine):
    code, shown = machine.run_on_terminal(RUNS[0], leads=True, before="process_group=0")
    assert (code, machine.state()) == (0, [])
    assert b"May pygmentize" not in shown
    code, shown = machine.run_on_terminal(RUNS[0], leads=True, before="stdout=subprocess.PIPE")
    assert (code, machine.state()) == (0, [])


def test_a_link_in_place_of_the_state_is_not_followed(machine):
    victim = machine.folder / "victim"
    victim.write_text("mine")
    machine.home.mkdir()
    Path(f"{machine.state_path}.{os.getpid()}").symlink_to(victim)
    machine.telemetry()._write_state("yes")
    assert victim.read_text() == "mine"
    assert machine.state() == []


def test_a_frozen_tool_does_not_start_itself(machine, monkeypatch):
    consent(machine)
    before = machine.state()
    for name in (*CI, "LDP_CLIENT_OFF"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    machine.telemetry().report(ROW)
    assert machine.state() == before
    monkeypatch.delattr(sys, "frozen")
    machine.telemetry().report(ROW)
    assert machine.state() != before


def test_off_holds_against_a_process_that_has_started_and_without_a_plan(machine):
    telemetry = machine.telemetry()
    telemetry._write_state("yes")
    telemetry.command("off", ROW)
    telemetry._send(ROW, None, True)
    assert machine.state()[0] == "no"
    assert not Journal(machine.journal).entries()
    consent(machine)
    (machine.folder / "1.json").unlink()
    with pytest.raises(LdpError):
        telemetry.command("off", ROW)
    assert machine.state()[0] == "no"


def test_nobody_is_asked_in_vain_when_the_epsilon_for_life_is_spent(machine, monkeypatch):
    monkeypatch.setattr("ldp_client.Client.flush", lambda client, _: client.status())  # no collector runs
    machine.lifetime = 0.5
    assert machine.telemetry().command("on", ROW).startswith("telemetry of pygmentize: off")
    for release in (1, 2, 3):
        machine.install(release)
        machine.telemetry()._write_state("yes")
        machine.telemetry()._send(ROW, None, release < 3)
        assert machine.state()[0] == "yes"
        machine.lifetime = 1
    assert float(machine.state()[1]) > time.time() + 80_000
    assert sum(entry.state == "queued" for entry in Journal(machine.journal).entries()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["CI", "DO_NOT_TRACK", "LDP_CLIENT_OFF", "TF_BUILD"])
def test_a_variable_forbids_the_question_and_the_report(machine, variable):
    machine.environment[variable] = "1"
    assert b"May pygmentize" not in machine.run_on_terminal(RUNS[0])[1]
    consent(machine)
    before = machine.state()
    machine.run(RUNS[0])
    assert machine.state() == before


@pytest.fixture
def served(machine: Machine) -> Iterator[tuple[Machine, str]]:
    """Serve two releases' surveys at a real collector."""
    machine.install(2)
    machine.install(3, SURVEY.replace('"other"', '"other", "latex"'))
    machine.install(1)
    store = f"sqlite:///{machine.folder}/ldp.db"
    plans = [machine.folder / f"{release}.json" for release in (1, 2, 3)]
    with collector(plans, store) as (server, _):
        machine.server = server
        yield machine, store


def counted(store: str, survey: str) -> int:
    opened = open_store(store, create=False)
    try:
        return sum(each.n for each in take_snapshot(opened, survey).totals.values())
    finally:
        opened.close()


@pytest.mark.slow
def test_ten_runs_send_one_report_for_each_release(served):
    machine, store = served
    expected, terminal = absent(machine), [machine.run_on_terminal(run, absent=True) for run in RUNS]
    _, shown = machine.run_on_terminal(RUNS[0], b"y\n")
    assert b"May pygmentize report whether it fails?" in shown
    machine.wait_until_done()
    for _ in range(10):
        assert machine.run(RUNS[0]) == expected[0]
    assert [machine.run(run) for run in RUNS] == expected
    assert [machine.run_on_terminal(run) for run in RUNS] == terminal
    assert counted(store, "tool-1") == 1
    machine.install(2)  # a new release: nobody is asked
    assert machine.run_on_terminal(RUNS[0]) == terminal[0]
    machine.wait_until_done()
    machine.run(RUNS[0])
    assert counted(store, "tool-2") == 1
    machine.install(3, SURVEY.replace('"other"', '"other", "latex"'))
    machine.lifetime = 3
    machine.run(RUNS[0])
    wait_for(lambda: machine.state()[0] == "ask")
    assert b"May pygmentize" in machine.run_on_terminal(RUNS[0], b"\n")[1]
    assert counted(store, "tool-3") == 0


@pytest.mark.slow
def test_the_tool_does_not_wait_for_a_collector_that_never_answers(machine):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        machine.server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        consent(machine)
        start = time.monotonic()
        machine.run(RUNS[0])
        assert time.monotonic() - start < 25  # the background process tries for half a minute
        wait_for(lambda: float(machine.state()[1]) > time.time() + 1000)


@pytest.mark.slow
def test_the_command_shows_and_ends_it(served, monkeypatch):
    machine, _ = served
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)
    telemetry = machine.telemetry()
    assert telemetry.command("status", ROW).startswith("telemetry of pygmentize: off")
    on = telemetry.command("on", ROW)
    assert on.startswith("telemetry of pygmentize: on")
    assert "epsilon 0 of 2 is spent" in on
    assert "Sending it spends epsilon = 1" in telemetry.command("show", ROW)
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    assert "off, because DO_NOT_TRACK is set" in telemetry.command("status", ROW)
    monkeypatch.delenv("DO_NOT_TRACK")
    assert telemetry.command("off", ROW).startswith("telemetry of pygmentize: off")
    standing = Journal(machine.journal).standing(f"tool {AUTHOR.public_key}")
    assert standing
    assert not standing.agreed
    machine.run(RUNS[0])
    assert machine.state()[0] == "no"
