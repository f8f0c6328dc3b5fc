"""`make accuracy` measures every cell once, whenever it is stopped, and writes what it measured."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.accuracy import grid, run
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.gains import Gain, summed
from benchmarks.accuracy.grid import LABEL, NON_PRIVATE, OURS, PAPER, Cell
from benchmarks.accuracy.plain import INSTALLED
from benchmarks.accuracy.results import Results, Settings
from benchmarks.accuracy.ways import calibration_error

ROOT = Path(__file__).parent.parent
TABLES = ("tiny", "gains", "scaling", "peers", "calibration")


@pytest.fixture
def few_people(monkeypatch):
    for users in list(grid.POPULATIONS):
        monkeypatch.delitem(grid.POPULATIONS, users)
    monkeypatch.setitem(grid.POPULATIONS, 300, 2)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    lines = ["tea,milk,always,class"]
    for _ in range(80):
        tired = rng.random() < 0.6
        tea = rng.choice(["black", "green", "mint"], p=[0.6, 0.2, 0.2] if tired else [0.1, 0.5, 0.4])
        lines.append(f"{tea},{rng.integers(2)},1,{'yes' if tired else 'no'}")
    (tmp_path / "tiny.csv").write_text("\n".join(lines))
    marks = (f"<!-- {name}: written by make accuracy -->\nold\n<!-- end of {name} -->" for name in TABLES)
    (tmp_path / "page.md").write_text("\n".join(["# Told by a person", *marks, "The end"]))
    return tmp_path


def arguments(folder, *more, results="results.jsonl", repeats=2):
    named = {"sets": "tiny", "repeats": repeats, "results": folder / results, "page": folder / "page.md"}
    return [str(folder), *(f"--{name}={value}" for name, value in named.items()), *more]


def invoke(folder, *more, **named):
    return CliRunner().invoke(main, arguments(folder, "--processes=1", *more, **named))


def finished(path):
    lines = path.read_bytes().splitlines()[1:] if path.exists() else []
    return [Cell(**json.loads(line)["cell"]) for line in lines]


def killed(folder, cells):
    """Run it over two processes, kill it after so many cells, and leave half a line."""
    path = folder / "results.jsonl"
    command = [sys.executable, "-m", "benchmarks.accuracy", *arguments(folder, "--processes=2")]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not path.exists() or path.read_bytes().count(b"\n") <= cells:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
    with path.open("ab") as file:
        file.write(b'{"cell": {"data": "ti')
    return path


def test_a_killed_run_goes_on_and_computes_nothing_twice(folder, few_people, monkeypatch):
    path = killed(folder, 3)
    done, measured = path.read_bytes().count(b"\n") - 1, []
    kept = path.read_bytes()[: path.read_bytes().rfind(b"\n") + 1]

    def noted(task, measure=run.measure):
        measured.append(task.cell)
        return measure(task)

    monkeypatch.setattr(run, "measure", noted)
    again = invoke(folder)
    assert again.exit_code == 0, again.output
    assert path.read_bytes().startswith(kept)
    assert finished(path) == list(grid.cells(["tiny"]))
    assert list(dict.fromkeys(measured)) == finished(path)[done:]

    measured.clear()
    assert invoke(folder).exit_code == 0
    assert not measured
    assert invoke(folder, results="other.jsonl").exit_code == 0  # in one process from beginning to end
    assert path.read_bytes() == (folder / "other.jsonl").read_bytes()
    assert invoke(folder, "--fresh").exit_code == 0
    assert len(measured) == 2 * len(grid.EPSILONS) * 7 * 2 + 2 * 2 * 8


def test_the_tables_are_written_between_their_marks(folder, few_people):
    told = invoke(folder).stdout
    page = (folder / "page.md").read_text()
    assert page.startswith("# Told by a person\n<!-- tiny")
    assert page.endswith("<!-- end of calibration -->\nThe end")
    assert page.count("\nold\n") == (0 if INSTALLED else 1)
    assert ("peers: written" in told) == INSTALLED
    assert INSTALLED or "peers: left as it was, not measured: tiny, DE MI accuracy at epsilon 0.1" in told
    for row in ("| ours - best of five | ", "| z of the majority | ", "| tiny | 1 | 300 | "):
        assert row in page
    assert (folder / "figures" / "tiny.png").stat().st_size > 10_000

    (folder / "page.md").write_text(page.replace("| tiny |", "| gone |"))
    assert invoke(folder, "--only-write").exit_code == 0
    assert (folder / "page.md").read_text() == page


def test_what_cannot_be_done_is_told(folder):
    assert "there are no results yet" in invoke(folder, "--only-write").stderr
    assert "nothing.csv" in invoke(folder, "--sets=nothing").stderr
    assert "was begun with Settings(repeats=2, seed=0)" in invoke(folder, repeats=3).stderr
    (folder / "page.md").write_text("")
    (folder / "results.jsonl").write_text("no results\n")
    assert "is no file of results" in invoke(folder).stderr


def test_gains_are_paired_with_the_best_in_hindsight(tmp_path):
    results = Results(tmp_path / "results.jsonl", Settings(3, 0))
    base = np.array([0.5, 0.7, 0.6])
    for place, way in enumerate(PAPER):
        results.append(Cell("d", way, "1"), [{"accuracy": each - place / 10} for each in base])
    results.append(Cell("d", OURS, "1"), [{"accuracy": each + 0.01} for each in base])
    results.append(Cell("d", LABEL, "1"), [{"z": 4.0}] * 3)
    results.append(Cell("d", NON_PRIVATE), [{"majority": 0.65}] * 3)
    gain = Gain.of(Results(tmp_path / "results.jsonl"), "d", "1")
    assert (gain.best, gain.z, gain.below) == ("DE", 4.0, True)
    assert gain.gains == pytest.approx([0.01] * 3)
    assert summed("d", [gain]) == ["d", "+0.010 ± 0.000", "1", "1", "0", "0"]


def test_the_calibration_error_is_how_far_off_what_was_said_is():
    right = np.array([True, True, True, False])
    assert calibration_error(np.full(4, 0.75), right) == pytest.approx(0)
    assert calibration_error(np.full(4, 1.0), right) == pytest.approx(0.25)
    assert calibration_error(np.array([0.55, 0.65, 0.95, 0.95]), right) == pytest.approx(0.425)
