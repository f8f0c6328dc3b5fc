"""The progress of long commands, on a terminal and elsewhere."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, redirect_stderr
from pathlib import Path

import pytest

from encoders.progress import describe_time_left, hide_progress, show_progress
from tests.support.surveys import TEA

ROOT = Path(__file__).resolve().parents[2]


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    monkeypatch.setattr(time, "time", clock)
    return clock


class Terminal:
    """Standard error on a pseudo terminal."""

    def __init__(self) -> None:
        self._reader, writer = pty.openpty()
        self.stream = os.fdopen(writer, "w")

    def capture(self) -> AbstractContextManager[object]:
        """Use the terminal as standard error, in a test itself: pytest replaces it after the fixtures."""
        return redirect_stderr(self.stream)

    def read(self) -> str:
        """Return what was written since the last call: everything before a mark that is written now."""
        mark = "\x00"
        self.stream.write(mark)
        self.stream.flush()
        text = ""
        while not text.endswith(mark):
            text += os.read(self._reader, 1 << 16).decode()
        return text.removesuffix(mark)

    def close(self) -> None:
        self.stream.close()
        os.close(self._reader)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "80")
    yield terminal
    terminal.close()


def work(clock: Clock, steps: int, seconds: float) -> None:
    """Do steps of so many seconds each."""
    with show_progress("simulating", steps, "trials") as progress:
        for _ in range(steps):
            clock.seconds += seconds
            progress.advance()


def test_without_a_terminal_there_is_one_line_every_15_seconds(clock, capfd):
    work(clock, 40, 4)
    captured = capfd.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[:2] == [
        "simulating: 4 of 40 trials, about 2 min left",
        "simulating: 8 of 40 trials, about 2 min left",
    ]
    assert len(lines) == 10
    assert "\r" not in captured.err


def test_a_line_has_the_stage_and_thousands(clock, capfd):
    with show_progress("auditing", 20_000, "reports") as progress:
        progress.begin_stage("timing", progress.done)
        clock.seconds += 20
        progress.advance(10_000)
    assert capfd.readouterr().err == "auditing: 10,000 of 20,000 reports, about 20 s left (timing)\n"


def test_a_line_without_a_unit_has_the_share(clock, capfd):
    with show_progress("reading archives", 1 << 30) as progress:
        clock.seconds += 20
        progress.advance(1 << 28)
    assert capfd.readouterr().err == "reading archives: 25% done, about 1 min left\n"


def test_before_the_first_step_no_time_is_predicted(clock, capfd):
    with show_progress("auditing", 4, "stages") as progress:
        clock.seconds += 20
        progress.begin_stage("timing", progress.done)
    assert capfd.readouterr().err == "auditing: 0 of 4 stages (timing)\n"


def test_short_work_shows_nothing_anywhere(clock, capfd, terminal):
    with terminal.capture():
        work(clock, 19, 0.1)
    assert terminal.read() == ""
    work(clock, 19, 0.1)
    assert capfd.readouterr().err == ""


def test_a_terminal_shows_a_bar_with_the_remaining_time(clock, terminal):
    with terminal.capture(), show_progress("simulating", 100, "trials") as progress:
        for _ in range(40):
            clock.seconds += 1
            progress.advance()
        shown = terminal.read()
        progress.advance(60)
    assert re.search(r"simulating  \[#+-+\]   40%  00:01:00", shown)
    assert "\n" not in shown
    end = terminal.read()
    assert "100%" in end
    assert end.endswith("\n")


def test_a_terminal_shows_the_stage(clock, terminal):
    with terminal.capture(), show_progress("auditing", 10, "reports") as progress:
        progress.begin_stage("timing", progress.done)
        clock.seconds += 3
        progress.advance()
    assert re.search(r"auditing  \[#+-+\]   10%  00:00:27  timing", terminal.read())


def test_failed_work_ends_the_bar_where_it_is(clock, terminal):
    def fail() -> None:
        with terminal.capture(), show_progress("simulating", 10, "trials") as progress:
            clock.seconds += 3
            progress.advance()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    shown = terminal.read()
    assert "10%" in shown
    assert "100%" not in shown
    assert shown.endswith("\n")


def test_a_closed_stream_stops_no_work(clock, monkeypatch):
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    work(clock, 10, 20)
    monkeypatch.setattr(sys, "stderr", None)
    work(clock, 10, 20)


def test_hidden_progress_shows_nothing(clock, capfd, terminal):
    with terminal.capture(), hide_progress("simulating", 10, "trials") as progress:
        clock.seconds += 100
        progress.begin_stage("timing", progress.done)
        progress.advance(10)
    assert (terminal.read(), capfd.readouterr()) == ("", ("", ""))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.1, "about 5 s left"),
        (38, "about 40 s left"),
        (57, "about 1 min left"),
        (130, "about 2 min left"),
        (5000, "about 83 min left"),
        (9000, "about 2.5 h left"),
    ],
)
def test_a_remaining_time_is_rounded(seconds, text):
    assert describe_time_left(seconds) == text


@pytest.mark.slow
def test_lines_need_no_click():
    code = (
        "import sys; import encoders.progress as p\nwith p.show_progress('a', 1): pass\nprint(*sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "click" not in shown.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_command_prints_its_result_on_standard_output_only(tmp_path, is_terminal):
    (tmp_path / "survey.toml").write_text(TEA)
    (tmp_path / "rows.csv").write_text("tea,hours,tired\n" + "black,3,yes\n" * 60 + "green,9.5,no\n" * 60)
    code = (
        "import encoders.progress as p; p.DELAY_SECONDS = p.LINE_SECONDS = 0.0\n"
        "from ldp_design.cli.simulate import main; main()"
    )
    reader, writer = pty.openpty()
    run = subprocess.run(
        [sys.executable, "-c", code, "survey.toml", "rows.csv", "--json", "--repeats", "3"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=writer if is_terminal else subprocess.PIPE,
        check=True,
        timeout=60,
    )
    os.write(writer, b"\x00")
    shown = os.read(reader, 1 << 16).decode() if is_terminal else run.stderr.decode()
    os.close(reader)
    os.close(writer)
    assert "rows" in json.loads(run.stdout)
    if is_terminal:
        assert "simulating  [" in shown
        assert "100%" in shown
    else:
        lines = shown.splitlines()
        assert lines[0].startswith("simulating: 1 of 3 trials, about 5 s left")
        assert lines[-1] == "simulating: 3 of 3 trials"
