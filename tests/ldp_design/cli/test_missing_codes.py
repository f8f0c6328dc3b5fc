"""Codes for missing answers in the rows of an author's commands, and the truth of a simulation."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_design import simulate
from ldp_design.simulation.experiment import read_labelled_table
from ldp_design.simulation.reports import make_row_reports
from ldp_design.simulation.shares import ShareErrors, simulate_shares
from ldp_design.simulation.variants import SimulationError, SimulationGrid, Variant
from tests.support.commands import command
from tests.support.surveys import survey_toml

CATEGORY = {"missing": "category"}


def make_survey(*codes: object, label: object = None, missing: object = None, **changes: object) -> str:
    hours = {"range": [0, 60], **(CATEGORY if missing is None else {}), "missing_codes": list(codes) or None}
    options = {"label": None} if label is None else {}
    return survey_toml(
        epsilon=4.0, features={"hours": hours, "tea": ["black", "green"]}, **options, **changes
    )


def draw_rows(count: int = 2000, every: int = 5) -> list[dict[str, object]]:
    """Return rows of which a fifth have the code 999 in hours."""
    draw = random.Random(2)
    rows: list[dict[str, object]] = []
    for number in range(count):
        tea = draw.choice(("black", "green"))
        hours = 999 if number % every == 0 else draw.randrange(41)
        rows.append({"hours": hours, "tea": tea, "tired": "yes" if tea == "black" else "no"})
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [",".join(map(str, row.values())) for row in draw_rows()]
    (tmp_path / "rows.csv").write_text("\n".join(["hours,tea,tired", *lines, ""]))
    (tmp_path / "plain.toml").write_text(make_survey())
    (tmp_path / "coded.toml").write_text(make_survey(999))
    (tmp_path / "labelled.toml").write_text(make_survey(999, label=True, missing="error"))
    return tmp_path


def simulate_mean(text: str, rows: list[dict[str, object]]) -> ShareErrors:
    survey = read_survey(text)
    found = simulate_shares(survey, rows, [Variant(epsilon=survey.epsilon)], repeats=5)
    return next(each for each in found if each.estimate == "mean")


@pytest.mark.slow
def test_a_simulation_shows_the_bias_of_clipped_numbers():
    biased = simulate_mean(make_survey(), draw_rows())
    assert biased.coverage == 0
    assert biased.error > 100  # the mean of the rows is above 200, and reports are at most 60
    slightly = [row | {"hours": 70 if row["hours"] == 999 else row["hours"]} for row in draw_rows(20_000)]
    assert simulate_mean(make_survey(), slightly).coverage < 0.5
    fitting = simulate_mean(make_survey(999), draw_rows())
    assert fitting.coverage > 0.5
    assert fitting.error < 3


@pytest.mark.slow
def test_the_truth_leaves_codes_and_missing_numbers_out():
    rows = draw_rows()
    meant = [row | {"hours": None if row["hours"] == 999 else row["hours"]} for row in rows]
    assert simulate_mean(make_survey(999), rows) == simulate_mean(make_survey(), meant)
    kept = [row for row in rows if row["hours"] != 999]
    dropping, plain = (
        simulate_mean(make_survey(*codes, missing="error"), given)
        for codes, given in (([999], rows), ([], kept))
    )
    assert dropping == plain


def test_a_column_of_codes_alone_has_no_mean():
    rows = [row | {"hours": 999} for row in draw_rows(20)]
    with pytest.raises(SimulationError, match="hours: is missing in all rows"):
        simulate_mean(make_survey(999), rows)


def test_the_terminal_shows_codes_and_json_does_not(folder):
    result = command("ldp-simulate", folder / "plain.toml", folder / "rows.csv", "--repeats", 2, "--json")
    assert result.stderr.startswith(
        "hours: 400 of 2,000 cells are outside of 0 to 60, and are clipped. 400 of them are 999: if this"
    )
    assert {each["feature"]: each["coverage"] for each in json.loads(result.stdout)}["hours"] == 0
    assert "999" not in result.stdout
    result = command("ldp-simulate", folder / "coded.toml", folder / "rows.csv", "--repeats", 2, "--json")
    assert result.stderr == ""


def test_simulations_of_classifiers_leave_rows_out(folder, caplog, recwarn):
    survey = read_survey(make_survey(999, label=True, missing="error"))
    kept = [row for row in draw_rows() if row["hours"] != 999]
    assert simulate(survey, draw_rows(), repeats=2) == simulate(survey, kept, repeats=2)
    assert not caplog.text
    assert not recwarn
    result = command("ldp-simulate", folder / "labelled.toml", folder / "rows.csv", "--repeats", 1)
    assert result.stderr == "400 of 2,000 rows are left out, because they contain a missing code.\n"


def test_projections_are_fitted_to_the_rows_that_are_left():
    survey = read_survey(make_survey(999, label=True, missing="error"))
    kept = [row for row in draw_rows() if row["hours"] != 999]
    tables = [read_labelled_table(survey, rows) for rows in (draw_rows(), kept)]
    grids = [
        simulate(survey, rows, SimulationGrid(projections=["pca:1"]), repeats=1)
        for rows in (draw_rows(), kept)
    ]
    assert grids[0] == grids[1]
    np.testing.assert_array_equal(tables[0].labels, tables[1].labels)
    assert len(tables[0].kept) == len(kept)


def test_made_up_reports_are_of_the_rows_that_are_left():
    survey = read_survey(make_survey(999, label=True, missing="error"))
    kept = [row for row in draw_rows(50) if row["hours"] != 999]
    made = [
        make_row_reports(survey, rows, FastStream(np.random.SeedSequence(1)))
        for rows in (draw_rows(50), kept)
    ]
    assert made[0] == made[1]


def test_all_rows_of_codes_are_refused(folder):
    (folder / "rows.csv").write_text("hours,tea,tired\n" + "999,black,yes\n" * 30)
    for name in ("ldp-simulate", "ldp-compare"):
        output = ["--reports", folder / "made"] if name == "ldp-simulate" else ["-o", folder / "made"]
        result = command(name, folder / "labelled.toml", folder / "rows.csv", *output, check=False)
        assert result.exit_code == 1
        assert "hours: all rows contain a missing code" in result.stderr
        assert not (folder / "made").exists()


@pytest.mark.slow
def test_a_comparison_obeys_the_survey(folder):
    arguments = ["--trust", "none", "--epsilon", 1, "--splits", 3]
    page = folder / "page.html"
    found = command("ldp-compare", folder / "labelled.toml", folder / "rows.csv", *arguments, "-o", page)
    assert "400 of 2,000 rows are left out, because they contain a missing code." in found.stderr
    assert "left out, because" not in found.stdout + page.read_text()
    (folder / "rows.csv").write_text("hours,tea,tired\n" + "999,black,yes\n7,green,no\n" * 50)
    silo = folder / "silo.toml"
    silo.write_text(
        survey_toml(kind="silo", rows=1000, features={"hours": {"range": [0, 60], "missing_codes": [999]}})
    )
    silo.write_text(silo.read_text() + '[features.tea]\nvalues = ["black", "green"]\n')
    result = command("ldp-compare", silo, folder / "rows.csv", *arguments, check=False)
    assert "all rows have the label 'no'" in result.stderr


@pytest.mark.slow
def test_a_preview_shows_a_code_as_missing(folder):
    result = command("ldp-survey", "preview", folder / "coded.toml", "--csv", folder / "rows.csv")
    assert result.exit_code == 0
    assert "999" not in result.stdout
    result = command("ldp-survey", "preview", folder / "plain.toml", "--csv", folder / "rows.csv")
    assert "400 of 2,000 cells are outside" in result.stderr
    labelled = ["ldp-survey", "preview", folder / "labelled.toml", "--csv", folder / "rows.csv"]
    assert "hours: is missing" in command(*labelled, check=False).stderr


def test_a_projection_keeps_the_codes(folder):
    numbers = {
        "hours": {"range": [0, 60], "missing_codes": [999, -9.5]},
        "sleep": {"range": [0, 24], "bins": 4, "missing_codes": [99]},
    }
    text = survey_toml(features=numbers)
    (folder / "survey.toml").write_text(text)
    draw = random.Random(1)
    rows = [f"{draw.randrange(60)},{draw.randrange(24)},{draw.choice(('yes', 'no'))}" for _ in range(200)]
    for name, extra in (("rows.csv", ["999,5,yes", "7,99,no"] * 20), ("fits.csv", [])):
        (folder / name).write_text("\n".join(["hours,sleep,tired", *rows, *extra, ""]))
    arguments = ["ldp-survey", "project", folder / "survey.toml", "--method", "pca", "--from"]
    coded, plain = (command(*arguments, folder / name) for name in ("rows.csv", "fits.csv"))
    surveys = [read_survey(each.stdout) for each in (coded, plain)]
    assert [each.missing_codes for each in surveys[0].entries] == [(999.0, -9.5), (99.0,)]
    assert surveys[0].projection == surveys[1].projection
    assert coded.stderr == "40 of 240 rows are left out, because they contain a missing code.\n"
