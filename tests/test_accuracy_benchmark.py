"""`make accuracy` measures every cell once, even if it is stopped, and writes the tables."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from click.testing import CliRunner, Result

from benchmarks import every_question
from benchmarks.accuracy import grid, run
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.gains import Gain, data_set, summed
from benchmarks.accuracy.grid import DATA_SETS, LABEL, NON_PRIVATE, OURS, PAPER, VALIDATED, Cell
from benchmarks.accuracy.page import SUMMARIES, parted, placed
from benchmarks.accuracy.plain import INSTALLED
from benchmarks.accuracy.results import Results, Settings
from benchmarks.accuracy.ways import Task, coded, train_real_noise
from ldp_aggregator.prediction.scoring import DiscreteLikelihood

ROOT = Path(__file__).parent.parent
RESULTS_PAGE = ROOT / "docs" / "results" / "accuracy.md"
TABLES = ("tiny", "gains", "scaling", "peers", "calibration")


@pytest.fixture
def few_people(monkeypatch: pytest.MonkeyPatch) -> None:
    for users in list(grid.POPULATIONS):
        monkeypatch.delitem(grid.POPULATIONS, users)
    monkeypatch.setitem(grid.POPULATIONS, 300, 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    lines = ["tea,milk,always,class"]
    for _ in range(80):
        tired = rng.random() < 0.6
        tea = rng.choice(["black", "green", "mint"], p=[0.6, 0.2, 0.2] if tired else [0.1, 0.5, 0.4])
        lines.append(f"{tea},{rng.integers(2)},1,{'yes' if tired else 'no'}")
    (tmp_path / "tiny.csv").write_text("\n".join(lines))
    marks = (f"<!-- {name}: written by make accuracy -->\nold\n<!-- end of {name} -->" for name in TABLES)
    (tmp_path / "page.md").write_text("\n".join(["# Written by a person", *marks, "The end"]))
    return tmp_path


def arguments(folder: Path, *more: str, results: str = "results.jsonl", repeats: int = 2) -> list[str]:
    named = {"sets": "tiny", "repeats": repeats, "results": folder / results, "page": folder / "page.md"}
    return [str(folder), *(f"--{name}={value}" for name, value in named.items()), *more]


def invoke(folder: Path, *more: str, **named: Any) -> Result:
    return CliRunner().invoke(main, arguments(folder, "--processes=1", *more, **named))


def finished(path: Path) -> list[Cell]:
    lines = path.read_bytes().splitlines()[1:] if path.exists() else []
    return [Cell(**json.loads(line)["cell"]) for line in lines]


def killed(folder: Path, cells: int) -> Path:
    """Run it over two processes, kill it after so many cells, and leave half a line."""
    path = folder / "results.jsonl"
    command = [sys.executable, "-m", "benchmarks.accuracy", *arguments(folder, "--processes=2")]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 300
        while not path.exists() or path.read_bytes().count(b"\n") <= cells:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
    with path.open("ab") as file:
        file.write(b'{"cell": {"data": "ti')
    return path


@pytest.mark.slow
def test_a_killed_run_goes_on_and_computes_nothing_twice(folder, few_people, monkeypatch):
    path = killed(folder, 3)
    done, measured = path.read_bytes().count(b"\n") - 1, []
    kept = path.read_bytes()[: path.read_bytes().rfind(b"\n") + 1]

    def record_and_measure(task: Task, measure: Callable[[Task], Any] = run.measure) -> Any:
        measured.append(task.cell)
        return measure(task)

    monkeypatch.setattr(run, "measure", record_and_measure)
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
    assert len(measured) == 2 * len(grid.EPSILONS) * 9 * 2 + 2 * 2 * 10


@pytest.mark.slow
def test_the_tables_are_written_between_their_marks(folder, few_people):
    output = invoke(folder).stdout
    page = (folder / "page.md").read_text()
    assert page.startswith("# Written by a person\n<!-- tiny")
    assert page.endswith("<!-- end of calibration -->\nThe end")
    assert page.count("\nold\n") == (0 if INSTALLED else 1)
    assert ("peers: written" in output) == INSTALLED
    assert INSTALLED or "peers: not changed, not measured: tiny, DE MI accuracy at epsilon 0.1" in output
    for row in ("| ours - best of five | ", "| z of the majority | ", "| tiny | 1 | 300 | "):
        assert row in page
    assert (folder / "figures" / "tiny.png").stat().st_size > 10_000

    (folder / "page.md").write_text(page.replace("| tiny |", "| gone |"))
    assert invoke(folder, "--only-write").exit_code == 0
    assert (folder / "page.md").read_text() == page


def test_errors_are_reported_before_anything_is_measured(folder, monkeypatch):
    monkeypatch.setattr(run, "measure", None)
    (folder / "empty.csv").write_text("tea,class\n")
    (folder / "one.csv").write_text("tea,class\nblack,yes\ngreen,yes\n")
    (folder / "bare.csv").write_text("tea\nblack\n")
    for more, why in [
        (["--only-write"], "there are no results yet"),
        (["--only-write", "--fresh"], "--fresh deletes the results that --only-write would write"),
        (["--only-write", "--sets=nothing"], "add the lines <!-- nothing: written"),
        (["--sets=tiny,nothing"], "nothing.csv: cannot be read"),
        (["--sets= ,"], "--sets contains no data set"),
        (["--sets=empty"], "empty.csv: has no rows"),
        (["--sets=one"], "one.csv: label: needs at least two values"),
        (["--sets=bare"], "bare.csv: there is no column 'class'"),
        ([f"--page={folder / 'gone.md'}"], "gone.md: there is no such page"),
    ]:
        result = invoke(folder, *more)
        assert result.exit_code in (1, 2)
        assert why in result.stderr
    assert not (folder / "results.jsonl").exists()


@pytest.mark.slow
def test_a_summary_of_some_sets_does_not_replace_that_of_all(folder, few_people):
    page = folder / "page.md"
    marks = "<!-- car: written by make accuracy -->\nof car\n<!-- end of car -->\n"
    page.write_text(page.read_text().replace("The end", f"{marks}The end"))
    result = invoke(folder, repeats=1)
    summaries = "gains, scaling, peers, calibration"
    assert f"{summaries}: not changed, because they include car too" in result.stdout
    assert "tiny: written" in result.stdout
    assert page.read_text().count("\nold\n") == 4
    assert "of car" in page.read_text()


@pytest.mark.slow
def test_a_page_states_the_repeats_and_no_error_of_a_single_repeat(folder, few_people):
    assert invoke(folder, repeats=1).exit_code == 0
    page = " ".join((folder / "page.md").read_text().split())
    assert page.count("1 repeat.") == (3 if INSTALLED else 2)
    assert "the same splits (1 repeat)" in page
    assert re.search(r"\| all \| [+-]0\.\d{3} ± - \| 8 \| - \| - \| \d \|", page)
    assert "± 0.000" not in page


@pytest.mark.slow
def test_results_of_other_data_or_other_code_are_refused(folder, few_people, monkeypatch):
    assert invoke(folder, repeats=1).exit_code == 0
    kept = (folder / "results.jsonl").read_bytes()
    assert "was begun with --repeats 1 --seed 0" in invoke(folder, repeats=2).stderr
    with monkeypatch.context() as patched:
        patched.setattr("benchmarks.accuracy.__main__.digest_of_code", lambda: "another")
        assert "measured by other code: measure again with --fresh" in invoke(folder, repeats=1).stderr
    table = folder / "tiny.csv"
    table.write_text(table.read_text().replace("mint", "iced"))
    assert "measured on another tiny.csv: use that file, or --fresh" in invoke(folder, repeats=1).stderr
    assert (folder / "results.jsonl").read_bytes() == kept
    assert invoke(folder, "--fresh", repeats=1).exit_code == 0
    assert (folder / "results.jsonl").read_bytes() != kept


@pytest.mark.parametrize("text", ["no results\nbut notes", "notes", "[1]\n", '{"id": 1}\nmore', "\xff"])
def test_a_file_without_results_is_not_changed(folder, text):
    path = folder / "notes.txt"
    path.write_bytes(text.encode("latin-1"))
    for more in ([], ["--fresh"], ["--only-write"]):
        assert "is not a file of results" in invoke(folder, *more, results="notes.txt").stderr
        assert path.read_bytes() == text.encode("latin-1")


def test_writing_alone_does_not_change_the_results(folder):
    path = folder / "results.jsonl"
    path.write_text(torn := '{"repeats": 2, "seed": 0, "code": ""}\n{"cell": {"da')
    assert invoke(folder, "--only-write").exit_code == 0
    assert path.read_text() == torn


def test_a_stopped_run_prints_how_to_continue(folder, few_people, monkeypatch):
    def stopped(task: Task) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "measure", stopped)
    assert "stopped: the same command continues" in invoke(folder).stderr
    assert "stopped: the same command, without --fresh, continues" in invoke(folder, "--fresh").stderr


def test_gains_are_paired_with_the_best_in_hindsight(tmp_path):
    results = Results(tmp_path / "results.jsonl", Settings(3, 0), {"d": "0" * 64})
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


def test_real_valued_noise_vanishes_at_a_large_epsilon(folder):
    (view,) = coded(folder / "tiny.csv", 1, 0)
    users, labels = view.split.train, view.table.labels[view.split.train]
    model = train_real_noise(view, 1e9, np.random.default_rng(1), every_question=True)
    assert np.exp(model.prior) == pytest.approx(np.bincount(labels) / len(labels))
    for likelihood, codes in zip(model.likelihoods, view.codes.T, strict=True):
        assert isinstance(likelihood, DiscreteLikelihood)
        counts = np.zeros_like(likelihood.log_table)
        np.add.at(counts, (codes[users], labels), 1)
        assert np.exp(likelihood.log_table) == pytest.approx(counts / counts.sum(axis=0), abs=1e-6)


@pytest.mark.slow
def test_every_question_at_the_full_epsilon_is_more_accurate(folder):
    command = ["--set=tiny", "--epsilon=3", "--repeats=8", str(folder)]
    result = CliRunner().invoke(every_question.main, command)
    assert result.exit_code == 0, result.output
    _, *rows = result.output.splitlines()
    found = [[float(each.split()[0]) for each in re.findall(r"0\.\d+ ±", row)] for row in rows]
    assert len(found) == 6
    one, every = np.mean(found, axis=0)
    assert one < every


def block_of(page: Path, name: str) -> str:
    """Return the text between a table's marks."""
    text = page.read_text("utf-8")
    before, after = parted(page, text, name)
    return text[len(before) : -len(after)]


def without_numbers(text: str) -> str:
    """Replace everything that depends on the measured numbers, and all line breaks."""
    text = re.sub(r"[+-]?\d[\d,]*(\.\d+)?", "#", text.replace(" below |", " |")).replace("**#**", "#")
    text = re.sub(r"\((DE|SUE|OUE|SHE|THE)\)", "(best)", text)
    text = re.sub(r"(Lost by more than #:|this holds in #:) [^.]*\.", r"\1 cells.", text)
    return " ".join(text.split())


@pytest.mark.slow
def test_the_results_page_has_the_form_that_the_command_writes(tmp_path):
    results, rng = Results(tmp_path / "results.jsonl", Settings(20, 0), {}), np.random.default_rng(1)
    names = ["accuracy", "majority", "z", "error", "loss", "plug-in error", "MI accuracy", "IBU accuracy"]
    names += ["plug-in loss"]
    results.digests.update(dict.fromkeys(DATA_SETS, ""))
    for cell in grid.cells(DATA_SETS):
        results.append(cell, [{name: float(rng.random()) for name in names} for _ in range(cell.repeats(20))])
    tables = {name: data_set(results, name) for name in DATA_SETS}
    tables |= {name: table(results, DATA_SETS) for name, table in SUMMARIES.items()}
    assert sorted(placed(RESULTS_PAGE)) == sorted(tables)
    for name, table in tables.items():
        assert without_numbers(block_of(RESULTS_PAGE, name)) == without_numbers(table)


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of each row of the tables in a text."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"
    ]


def table_of_page(name: str, *head: str) -> tuple[list[str], list[list[str]]]:
    """Return the values of epsilon in a table's head as on the results page, and the rows below the head."""
    rows = rows_of((ROOT / "docs" / name).read_text("utf-8"))
    start = next(number for number, row in enumerate(rows) if row[: len(head)] == [*head])
    epsilons = [each.removeprefix("epsilon ") for each in rows[start][len(head) :]]
    end = start + 2 + 2 * len(DATA_SETS)  # below the line of dashes; two rows for each data set
    assert not rows[end:] or rows[end][0] not in {*DATA_SETS, ""}
    return [f"eps {each}" for each in epsilons if each in grid.EPSILONS], rows[start + 2 : end]


def test_the_replication_page_shows_values_of_the_results_page():
    epsilons, rows = table_of_page("results/replication.md", "data set", "survey", "guessing")
    assert len(epsilons) == 6
    for number, data in enumerate(DATA_SETS):
        guessing, non_private, measured = measured_on(data)
        shown = rows[2 * number : 2 * number + 2]
        assert [row[0].partition(":")[0] for row in shown] == [data, ""]
        for row, survey, method in zip(
            shown, ("default", "default, validated"), (OURS, VALIDATED), strict=True
        ):
            bold = [format_accuracy(measured[method][each], guessing) for each in epsilons]
            around = (guessing, non_private) if method == OURS else ("", "")
            assert row[1:] == [survey, around[0], *bold, around[1]]


def test_the_comparison_with_the_paper_shows_values_of_the_results_page():
    epsilons, rows = table_of_page("results/replication.md", "data set", "method")
    assert len(epsilons) == 6
    for number, data in enumerate(DATA_SETS):
        guessing, _, measured = measured_on(data)
        differences = measured["ours - best of five"]
        best = {each: text.rpartition("(")[2].rstrip(")") for each, text in differences.items()}
        assert all(best[f"eps {each}"] == "DE" for each in grid.EPSILONS if float(each) >= 2)
        accuracies = [measured[best[each]][each].partition(" ")[0] for each in epsilons]
        assert rows[2 * number] == [data, "best of five", *accuracies]
        gains = [differences[each].partition(" ")[0] for each in epsilons]
        no_use = [measured[OURS][each].partition(" ")[0] <= guessing for each in epsilons]
        marked = [f"*{gain}*" if marks else gain for gain, marks in zip(gains, no_use, strict=True)]
        assert rows[2 * number + 1] == ["", "difference", *marked]


def format_accuracy(text: str, guessing: str) -> str:
    """Return "0.543" of "0.543 ± 0.006", bold if it is above guessing by at least two standard errors."""
    accuracy, stderr = text.split(" ± ")
    exceeds = Decimal(accuracy) - Decimal(guessing) >= 2 * Decimal(stderr) and accuracy > guessing
    return f"**{accuracy}**" if exceeds else accuracy


def measured_on(data: str) -> tuple[str, str, dict[str, dict[str, str]]]:
    """Return the accuracies of guessing and without privacy, and the text of each method at each epsilon."""
    text = block_of(RESULTS_PAGE, data)
    (_, *columns), _, *rows = rows_of(text)
    measured = {name: dict(zip(columns, row, strict=True)) for name, *row in rows}
    non_private, majority = re.findall(r"(?:has an accuracy of|the majority class) (0\.\d+)", text)
    return majority, non_private, measured
