"""ldp-simulate on the command line."""

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shlex import split

import pytest
from click.testing import Result

from ldp_aggregator import load_model
from tests.support.commands import command
from tests.support.surveys import TEA

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "size-and-epsilon.md").read_text("utf-8")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    survey, rows = tmp_path / "survey.toml", tmp_path / "rows.csv"
    survey.write_text(TEA)
    rows.write_text("tea,hours,tired\n" + "black,3,yes\n" * 60 + "green,9.5,no\n" * 50 + "green,,no\n" * 10)
    return partial(command, "ldp-simulate", survey, rows, check=False)


def test_the_table_shows_every_variant_and_the_baselines(run):
    result = run("--epsilon", "1, 8", "--mechanism", "DE,auto", "--repeats", 2)
    assert result.exit_code == 0
    assert [line.split()[:2] for line in result.stdout.splitlines()[3:7]] == [
        ["1", "DE"],
        ["1", "auto"],
        ["8", "DE"],
        ["8", "auto"],
    ]
    assert all(line.split()[-1] == "1.0000" for line in result.stdout.splitlines()[3:7])  # non-private
    assert "majority class 0." in result.stdout


def test_json_is_the_only_thing_printed(run):
    result = run("--epsilon", "8", "--repeats", 2, "--estimator", "paper", "--seed", 3, "--json")
    document = json.loads(result.stdout)
    assert set(document) == {"rows", "non_private", "majority", "majority_class", "public_share"}
    assert document["rows"][0]["estimator"] == "paper"
    assert document["rows"][0]["accuracy"] > 0.8


@pytest.mark.slow
def test_a_plot_is_written(run, tmp_path):
    assert run("--epsilon", "1,2", "--repeats", 2, "--plot", tmp_path / "out.png").exit_code == 0
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "code", "why"),
    [
        ("out.sound", 1, "the plot cannot be written: its name must end in one of"),
        ("out", 1, "its name must end in one of"),
        ("gone/out.png", 2, "--plot: there is no folder"),
        ("/proc/out.png", 2, "--plot: no file can be written to /proc"),
    ],
)
def test_a_plot_that_cannot_be_written_is_refused_before_simulating(
    run,
    tmp_path,
    monkeypatch,
    path,
    code,
    why,
):
    if path.startswith("/proc") and not Path("/proc").is_dir():
        pytest.skip("needs a folder in which nobody can make files")
    monkeypatch.setattr("ldp_design.cli.simulate.simulate", None)
    refused = run("--epsilon", "1", "--repeats", 1, "--plot", tmp_path / path)
    assert (refused.exit_code, why in refused.stderr) == (code, True)


@pytest.mark.slow
@pytest.mark.parametrize("json_", [[], ["--json"]])
def test_the_table_is_printed_even_if_the_plot_cannot_be_written(run, tmp_path, monkeypatch, json_):
    def full(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("ldp_design.simulation.plot.write_atomically", full)
    result = run("--epsilon", "1", "--repeats", 1, "--plot", tmp_path / "out.png", *json_)
    assert result.exit_code == 1
    assert ('"majority"' if json_ else "majority class") in result.stdout
    assert "out.png: the plot cannot be written: No space left on device" in result.stderr


def test_without_matplotlib_the_extra_is_named_before_simulating(run, tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_design.cli.simulate.simulate", None)
    for module in ["matplotlib", *(name for name in sys.modules if name.startswith("matplotlib."))]:
        monkeypatch.setitem(sys.modules, module, None)  # importing it now fails
    result = run("--epsilon", "1", "--repeats", 1, "--plot", tmp_path / "out.png")
    assert result.exit_code == 1
    assert "needs the extra [plot]: pip install 'ldp-bayes[plot]'" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--epsilon", "much"], "needs a number above 0 and at most 32; separate several by commas"),
        (["--epsilon", "0"], "'--epsilon': needs a number above 0"),
        (["--epsilon", "1", "--mechanism", "MAGIC"], "choose one of"),
        (["--epsilon", "1", "--repeats", "0"], "repeats"),
    ],
)
def test_mistakes_are_explained(run, arguments, why):
    result = run(*arguments)
    assert result.exit_code != 0
    assert why in result.stderr


def test_booleans_in_csv_are_read_in_other_spellings(tmp_path):
    survey, rows = tmp_path / "survey.toml", tmp_path / "rows.csv"
    survey.write_text(
        '[survey]\nid = "b"\nepsilon = 8.0\n[label]\nname = "ill"\nvalues = [true, false]\n'
        "[features.smokes]\nvalues = [true, false]\n"
    )
    texts = []
    for true, false in (("true", "false"), ("True", "FALSE"), ("1", "0")):
        rows.write_text("smokes,ill\n" + f"{true},{true}\n{false},{false}\n" * 50)
        texts.append(command("ldp-simulate", survey, rows, "--epsilon", 8, "--repeats", 2).stdout)
    assert texts[0] == texts[1] == texts[2]


def test_a_useless_model_is_marked_although_its_accuracy_is_high(tmp_path):
    survey, rows = tmp_path / "survey.toml", tmp_path / "rows.csv"
    survey.write_text(TEA)
    rows.write_text(
        "tea,hours,tired\n" + ("black,3,no\ngreen,9,no\n" * 9 + "black,9,yes\ngreen,3,yes\n") * 20
    )
    result = command("ldp-simulate", survey, rows, "--epsilon", "0.5,1", "--repeats", 4)
    text = " ".join(result.stdout.split())
    assert "* marks models that are not better than always predicting 'no'" in text
    assert "majority class 0.8" in text or "majority class 0.9" in text
    assert len([line for line in result.stdout.splitlines() if " * " in line]) == 2
    document = json.loads(command("ldp-simulate", survey, rows, "--repeats", 4, "--json").stdout)
    (row,) = document["rows"]
    head, line = result.stdout.splitlines()[2], result.stdout.splitlines()[4]
    assert head.split()[-2:] == ["balanced", "non-private"]
    assert line.split()[-2] == f"{row['balanced_accuracy']:.4f}"  # at the survey's epsilon, 1
    assert row["accuracy"] > 0.8
    assert row["balanced_accuracy"] == pytest.approx(0.5, abs=0.1)
    assert not row["beats_majority"]
    assert document["majority_class"] == "no"


def test_a_useful_model_is_not_marked(run):
    result = run("--epsilon", "8", "--repeats", 3, "--seed", 3)
    assert "not better" not in result.stdout
    assert "balanced is the accuracy within each class" in result.stdout


def test_epsilon_is_that_of_the_survey_by_default(run):
    result = run("--repeats", 1, "--json")
    assert [row["epsilon"] for row in json.loads(result.stdout)["rows"]] == [1.0]


# -- --reports ----------------------------------------------------------------------------------


def test_reports_of_all_rows_are_written_for_training(run, tmp_path):
    archive, model, table = tmp_path / "made up.reports", tmp_path / "model.json", tmp_path / "estimates.csv"
    result = run("--repeats", 1, "--json", "--reports", archive)
    assert result.exit_code == 0
    json.loads(result.stdout)  # what --reports prints is not part of the result
    assert f"wrote {archive}: 120 reports, one for each row" in result.stderr
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("  ldp-train ")]
    arguments = split(line)[1:]
    assert arguments[:3] == [str(archive), "--plan", str(tmp_path / "survey.toml")]
    trained = command("ldp-train", *arguments[:3], "-o", model, "--csv", table)
    assert "The reports (120) were simulated" in trained.stdout
    assert table.read_text().startswith("feature,statistic,value,class,estimate")


def test_reports_differ_although_the_seed_is_equal(run, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for archive in (first, second):
        assert run("--repeats", 1, "--seed", 5, "--reports", archive).exit_code == 0
    assert first.read_bytes() != second.read_bytes()


@pytest.mark.parametrize("name", ["survey.toml", "rows.csv"])
def test_reports_do_not_replace_an_input(run, tmp_path, name):
    result = run("--repeats", 1, "--reports", tmp_path / name)
    assert result.exit_code == 2
    assert f"{tmp_path / name} is an input of this command too" in result.stderr
    assert (tmp_path / "survey.toml").read_text() == TEA


def test_reports_and_plot_need_different_files(run, tmp_path):
    result = run("--repeats", 1, "--reports", tmp_path / "out.png", "--plot", tmp_path / "out.png")
    assert result.exit_code == 2
    assert "--plot and --reports are the same file" in result.stderr


def test_no_reports_are_written_if_a_row_does_not_fit_the_survey(run, tmp_path):
    with (tmp_path / "rows.csv").open("a") as file:
        file.write("mint,3,yes\n")
    result = run("--repeats", 1, "--reports", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: tea: row 121: ")
    assert "mint" not in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_example_of_the_documentation_simulates_trains_and_sizes(tmp_path, monkeypatch):
    example = PAGE.partition("## Try it on made-up answers")[2].partition("\n## ")[0]
    (survey,) = re.findall(r"```toml\n(.*?)```", example, re.DOTALL)
    (script,) = re.findall(r"```python\n(.*?)```", example, re.DOTALL)
    commands = [split(each) for each in re.findall(r"^    (ldp-.*)", example, re.MULTILINE)]
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(survey)
    exec(script, {})
    assert [name for name, *_ in commands] == ["ldp-simulate", "ldp-train", "ldp-survey"]
    simulated, trained, sized = (command(*words) for words in commands)
    assert "wrote made-up.reports: 20,000 reports" in simulated.stderr
    assert "The reports (20,000) were simulated" in trained.stdout
    model = load_model("model.json")
    assert model.privacy_.simulated
    assert "20,000 (simulated)" in str(model)
    assert "People are as the pilot of 20,000 reports describes them" in " ".join(sized.stdout.split())


def test_users_are_stated_and_every_row_has_calibration(run):
    printed = run("--users", 3000, "--repeats", 2)
    assert printed.exit_code == 0, printed.stderr
    assert "accuracy over 2 repeats, 3,000 people, estimator default" in printed.stdout
    (row,) = json.loads(run("--users", 3000, "--repeats", 2, "--json").stdout)["rows"]
    assert 0 <= row["calibration_error"] < 0.2
    assert 0 <= row["log_loss"] < 0.7
    assert run("--users", 0).exit_code == 2
