"""The benchmark of a curator's trainings: data sets are coded for other libraries, tables are written."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from benchmarks.accuracy.page import placed
from benchmarks.accuracy.results import Results, Settings
from benchmarks.central.__main__ import main
from benchmarks.central.cells import MAJORITY, accuracy_cells, models_of, splits_of, timed_cells
from benchmarks.central.data_sets import DATA_SETS, DataSet, read_data_set
from benchmarks.central.ours import AUTO, OURS, fit, predict
from benchmarks.central.peers import FIVE
from benchmarks.central.tables import SUMMARIES, standard_error

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "results" / "central.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a data set whose label follows the tea, and a page with a place for all tables."""
    rng = np.random.default_rng(1)
    lines = ["tea,milk,hours,class"]
    for _ in range(400):
        kind = rng.choice(["black", "green", "mint"])
        hours = "" if rng.random() < 0.1 else f"{rng.random() * 12:.2f}"
        lines.append(f"{kind},{rng.integers(2)},{hours},{'calm' if kind == 'mint' else kind}")
    (tmp_path / "car.csv").write_text("\n".join(lines))
    (tmp_path / "page.md").write_text(PAGE.read_text("utf-8"), "utf-8")
    return tmp_path


def invoke(folder: Path, *more: str) -> Result:
    options = [f"--results={folder / 'results.jsonl'}", f"--page={folder / 'page.md'}", "--splits=2"]
    return CliRunner().invoke(main, [*options, *more])


def cell(table: str, row: str, epsilon_place: int) -> str:
    [line] = [line for line in table.splitlines() if line.startswith(f"| {row} |")]
    return line.split("|")[2 + epsilon_place].strip()


def table_of(page: str, name: str) -> str:
    return page.split(f"<!-- {name}: written by make accuracy -->")[1].split(f"<!-- end of {name} -->")[0]


def test_the_page_has_a_place_for_every_table():
    assert sorted(placed(PAGE)) == sorted([*DATA_SETS, *SUMMARIES])


def test_columns_for_other_libraries_have_public_bounds(folder):
    data = read_data_set(folder / "car.csv")
    assert [feature.name for feature in data.rows.features] == ["tea", "milk", "hours"]
    assert data.rows.features[0].texts == ("black", "green", "mint")  # the draft adds "other"
    assert data.rows.k == 3
    numbers = data.scaled[:, 2]
    assert np.isnan(numbers).any()
    assert np.nanmin(data.scaled) >= 0
    assert np.nanmax(data.scaled) <= 1
    assert (data.without_gaps()[np.isnan(numbers), 2] == 0.5).all()
    hot = data.one_hot()
    assert hot.shape == (400, 3 + 1 + 2)
    assert ((hot**2).sum(axis=1) <= 3).all()
    assert (hot[np.isnan(numbers), -2:] == [0, 1]).all()


def test_ours_is_trained_and_tested_on_the_given_rows(folder):
    data = read_data_set(folder / "car.csv")
    taken = data.take(np.arange(300))
    assert isinstance(taken, DataSet)
    for name in OURS:
        predicted = predict(fit(name, taken, "50"), data.take(np.arange(300, 400)))
        assert (predicted == data.rows.labels[300:]).mean() > 0.9


@pytest.mark.slow
def test_a_stopped_run_continues_and_reports_what_is_missing(folder):
    first = invoke(folder, str(folder), "--sets=car", "--processes=1")
    assert first.exit_code == 0, first.output
    found = Results(folder / "results.jsonl").found
    assert {each.way for each in found} >= {MAJORITY, *OURS}
    lines = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "results.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    again = invoke(folder, str(folder), "--sets=car", "--processes=1")
    assert again.exit_code == 0, again.output
    continued = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    assert continued[:-1] == lines[:-1]
    assert set(Results(folder / "results.jsonl").found) == set(found)


def test_tables_compare_ours_with_the_best_other_model(folder):
    results = Results(folder / "results.jsonl", Settings(2, 1), dict.fromkeys(DATA_SETS, ""))
    for each in accuracy_cells(DATA_SETS):
        accuracies = {
            AUTO: 0.8,
            "nb": 0.91 if each.data == "chess" else 0.6,
            "tree": 0.7,
            FIVE[1]: 0.75,
            FIVE[3]: 0.81 if each.data == "pima" else 0.7,
        }
        accuracy = accuracies.get(each.way, 0.6)
        results.append(each, [{"accuracy": accuracy}, {"accuracy": accuracy + 0.02}])
    for each in timed_cells(DATA_SETS):
        results.append(each, [{"seconds": 0.25}])
    written = invoke(folder, "--only-write")
    assert written.exit_code == 0, written.output
    assert len(re.findall(": written", written.output)) == len([*DATA_SETS, *SUMMARIES])
    page = (folder / "page.md").read_text("utf-8")
    car, pima, means = (table_of(page, name) for name in ("car", "pima", "means"))
    assert cell(car, AUTO, 0) == "0.810"
    assert cell(car, "auto - best of five", 0) == f"+0.050 ± 0.000 ({FIVE[1]})"
    assert cell(pima, "auto - best of five", 4) == f"-0.010 ± 0.000 ({FIVE[3]})"
    assert cell(pima, "auto - DP-EBM", 4) == "+0.200 ± 0.000"
    assert "DP-EBM" not in car
    assert cell(car, "auto - best single learner", 0) == "+0.100 ± 0.000 (tree)"
    assert cell(means, "best single learner", 0) == f"{0.71 + 0.21 / len(DATA_SETS):.3f}"
    assert cell(means, "best of five", 0) == f"{0.76 + 0.06 / len(DATA_SETS):.3f}"
    assert cell(means, "auto is more than 0.005 behind best of five on", 0) == "pima"
    assert cell(means, "auto is more than 0.012 behind best single learner on", 0) == "chess"
    assert cell(means, "auto is more than 0.020 behind tree on", 0) == "none"
    assert cell(table_of(page, "times"), "nb", 0) == "0.25"


def test_the_standard_error_allows_for_overlapping_splits():
    assert standard_error(np.array([0.1, 0.3])) == pytest.approx(((1 / 2 + 1 / 4) * 0.02) ** 0.5)


def test_large_data_sets_have_fewer_splits():
    assert splits_of("connect-4", 20) == 5
    assert splits_of("connect-4", 2) == 2
    assert splits_of("adult", 20) == splits_of("skin", 20) == 5
    assert splits_of("car", 20) == 20
    assert len(models_of("car")) == len(models_of("chess")) - 1


def test_wrong_arguments_are_refused(folder):
    assert "names none of" in invoke(folder, str(folder), "--sets=tea").output
    assert "--fresh deletes" in invoke(folder, str(folder), "--fresh", "--only-write").output
    assert "there are no results yet" in invoke(folder, "--only-write").output
    assert "chess.csv" in invoke(folder, str(folder), "--sets=chess").output
