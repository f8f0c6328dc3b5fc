"""ldp-predict on the command line."""

import csv
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from encoders.randomness import FastStream
from ldp_aggregator import load_model
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import save_results
from ldp_aggregator.simulated_population import simulate_reports
from tests.support.commands import command
from tests.support.surveys import make_plan


@pytest.fixture
def model(tmp_path) -> Path:
    plan = make_plan(epsilon=8.0)
    labels = np.arange(4000) % 2
    snapshot = simulate_reports(plan, np.column_stack([labels, labels]), labels, FastStream(1))
    save_results(tmp_path / "model.json", make_results(snapshot))
    return tmp_path / "model.json"


@pytest.fixture
def run(tmp_path, model):
    def run(text: str, *arguments):
        (tmp_path / "rows.csv").write_text(text)
        return command("ldp-predict", model, tmp_path / "rows.csv", *arguments, check=False)

    return run


ROWS = "id,hours,tea\n1,2.5,black\n2,11,green\n3,,green\n"


def test_every_row_gets_a_label_and_probabilities(run, model):
    result = run(ROWS)
    assert result.exit_code == 0
    head, *rows = csv.reader(io.StringIO(result.stdout))
    assert head == ["tired", "P(no)", "P(yes)"]
    assert [row[0] for row in rows] == ["yes", "no", "no"]
    named = [{"tea": "black", "hours": 2.5}, {"tea": "green", "hours": 11}, {"tea": "green", "hours": None}]
    shown = np.array([[float(each) for each in row[1:]] for row in rows])
    np.testing.assert_allclose(shown, load_model(model).predict_proba(named), rtol=1e-5)


def test_the_output_can_be_a_file(run, tmp_path):
    assert run(ROWS, "-o", tmp_path / "out.csv").stdout == ""
    assert (tmp_path / "out.csv").read_text() == run(ROWS).stdout


@pytest.mark.slow
def test_without_rows_only_the_header_is_printed(run):
    assert run("tea,hours\n").stdout == "tired,P(no),P(yes)\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "tea,hours\nblack,1\nsecret,2\n",
            'tea: row 2: is not one of the survey\'s values: "black", "green"',
        ),
        ("tea,hours\nblack,1\nblack,secret\n", "hours: row 2: must be a number"),
        ("tea,hours\n,1\n", "tea: row 1: is missing"),
        ("tea,hours\nblack,inf\n", "hours: row 1: is infinite: give a finite number"),
        ("tea;hours\nblack;1\n", "seems to be separated by ';'; save it with commas instead"),
        ("tea\nblack\n", "hours: the table has no such column"),
        ("more\n1\n", "tea: the table has no such column: add it\nhours: the table has no such column"),
        ("tea,hours\nblack\n", "row 1 has 1 cells, the header has 2"),
    ],
)
def test_a_bad_row_is_named_without_its_value(run, tmp_path, text, why):
    result = run(text, "-o", tmp_path / "out.csv")
    assert result.exit_code == 1
    assert why in result.stderr
    assert "secret" not in result.output
    assert not (tmp_path / "out.csv").exists()


def test_a_damaged_model_is_refused(run, model):
    model.write_bytes(model.read_bytes()[:-20])
    result = run(ROWS)
    assert result.exit_code == 1
    assert "truncated or edited" in result.stderr


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(model, tmp_path):
    (tmp_path / "rows.csv").write_text("tea,hours\n" + "green,2.5\n" * 5000)
    program = [str(Path(sys.executable).parent / "ldp-predict"), str(model), str(tmp_path / "rows.csv")]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("tired,")
        process.stdout.close()
        assert process.stderr.read() == ""


def test_an_unwritable_output_is_refused_before_rows_are_read(model, tmp_path):
    folder = tmp_path / "gone"
    result = command("ldp-predict", model, tmp_path / "not-read.csv", "-o", folder / "out.csv", check=False)
    assert (result.exit_code, f"--output: there is no folder {folder}" in result.stderr) == (2, True)


def test_labels_replace_an_existing_file_and_no_device(model, tmp_path):
    rows, output = tmp_path / "rows.csv", tmp_path / "out.csv"
    rows.write_text(ROWS)
    output.write_text("older")
    output.chmod(0o640)
    command("ldp-predict", model, rows, "-o", output)
    assert output.read_text().startswith("tired,")
    assert output.stat().st_mode & 0o777 == 0o640
    refused = command("ldp-predict", model, rows, "-o", "/dev/null", check=False)
    assert (refused.exit_code, "not a regular file" in refused.stderr) == (2, True)


def test_booleans_in_csv_are_read_and_printed_as_in_the_survey(tmp_path):
    features, label = {"smokes": [True, False]}, {"name": "ill", "values": [True, False]}
    plan = make_plan(epsilon=8.0, features=features, label=label)
    labels = np.arange(4000) % 2
    snapshot = simulate_reports(plan, labels[:, None], labels, FastStream(1))
    save_results(tmp_path / "model.json", make_results(snapshot))
    (tmp_path / "rows.csv").write_text("smokes\nTrue\nfalse\n1\n0\n")
    result = command("ldp-predict", tmp_path / "model.json", tmp_path / "rows.csv")
    head, *rows = csv.reader(io.StringIO(result.stdout))
    assert head == ["ill", "P(false)", "P(true)"]
    assert [row[0] for row in rows] == ["true", "false", "true", "false"]
