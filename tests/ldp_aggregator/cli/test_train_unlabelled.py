"""ldp-train --unlabelled on the command line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator import load_model
from ldp_aggregator.models.model_file import read_model
from ldp_aggregator.simulated_population import simulate_reports
from ldp_design.validation_round import write_validation_round
from tests.support.commands import command, module_of
from tests.support.overlapping import SURVEY, draw_people, simulate, to_columns, to_csv


@pytest.fixture(scope="module")
def snapshot_json() -> bytes:
    return simulate(20_000).to_json()


@pytest.fixture
def run(tmp_path, snapshot_json):
    (tmp_path / "snapshot.json").write_bytes(snapshot_json)
    (tmp_path / "rows.csv").write_text(to_csv(draw_people(512, 2)[0]))

    def run(*arguments):
        output = tmp_path / "model.json"
        return command("ldp-train", tmp_path / "snapshot.json", "-o", output, *arguments, check=False)

    return run


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_summary_states_the_classifier_and_that_epsilon_does_not_cover_the_rows(run, tmp_path):
    result = run("--unlabelled", tmp_path / "rows.csv")
    assert result.exit_code == 0, result.stderr
    summary = flat(result.stdout)
    assert (
        "The classifier is a logistic regression, fitted to the reports and about 500 unlabelled rows"
        in summary
    )
    assert "Epsilon does NOT cover the unlabelled rows" in summary
    assert "The weights of the classifier have no interval" in summary
    assert "512" not in summary
    assert result.stderr == ""
    plain = run()
    assert "unlabelled rows" not in plain.stdout
    prior = "Classes of tired"
    assert result.stdout.partition(prior)[2][:400] == plain.stdout.partition(prior)[2][:400]


def test_public_rows_are_stated_as_public(run, tmp_path):
    result = run("--unlabelled", tmp_path / "rows.csv", "--unlabelled-public")
    assert "The unlabelled rows were declared public" in flat(result.stdout)
    assert json.loads((tmp_path / "model.json").read_bytes())["unlabelled"]["declared_public"] is True


def test_the_rows_are_the_rows_to_predict(run, tmp_path):
    codes, labels = draw_people(3000, 5)
    (tmp_path / "rows.csv").write_text(to_csv(codes))
    accuracies = []
    for options in ([], ["--unlabelled", tmp_path / "rows.csv"]):
        assert run(*options).exit_code == 0
        lines = command("ldp-predict", tmp_path / "model.json", tmp_path / "rows.csv").stdout.splitlines()
        predicted = np.array([line.partition(",")[0] for line in lines[1:]])
        accuracies.append(np.mean(predicted == np.array(["yes", "no"])[labels]))
    assert accuracies[1] > accuracies[0] + 0.05


def test_labels_in_the_file_are_ignored_with_a_warning(run, tmp_path):
    assert run("--unlabelled", tmp_path / "rows.csv").exit_code == 0
    without = (tmp_path / "model.json").read_bytes()
    codes, labels = draw_people(512, 2)
    (tmp_path / "rows.csv").write_text(to_csv(codes, labels))
    result = run("--unlabelled", tmp_path / "rows.csv")
    assert "the labels in its column 'tired' are ignored" in result.stderr
    assert (tmp_path / "model.json").read_bytes() == without


def test_missing_columns_and_contradictions_are_stated(run, tmp_path):
    lines = to_csv(draw_people(512, 2, tired=0.85)[0]).splitlines()
    (tmp_path / "rows.csv").write_text("\n".join(line.partition(",")[2] for line in lines))
    result = run("--unlabelled", tmp_path / "rows.csv")
    assert result.exit_code == 0, result.stderr
    assert "The rows have no column copy0" in flat(result.stdout)
    assert "the rows contradict the reports in" in result.stderr
    assert "hours" in result.stderr
    assert "The rows contradict the reports in" in flat(load_model(tmp_path / "model.json").card())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.replace("high", "middle", 1), "copy"),
        (lambda text: "\n".join(text.splitlines()[:51]), "50 unlabelled rows are too few: give at least 100"),
        (
            lambda text: "name\n" + "x\n" * 200,
            "none of the columns of the unlabelled rows is a feature of the survey",
        ),
        (lambda text: text.replace(",", ";"), "separated by ';'"),
        (lambda text: "", "the first line must name the columns"),
        (lambda text: text + "low\n", "row 513 has 1 cells"),
    ],
)
def test_rows_that_cannot_be_used_are_refused_before_a_model_is_written(run, tmp_path, change, why):
    (tmp_path / "rows.csv").write_text(change((tmp_path / "rows.csv").read_text()))
    result = run("--unlabelled", tmp_path / "rows.csv")
    assert result.exit_code == 1
    assert why in result.stderr
    assert "middle" not in result.stderr
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize("columns", [["hours"], ["hours", "copy0"]])
def test_rows_without_a_feature_that_can_be_fitted_are_refused_with_one_sentence(run, tmp_path, columns):
    text = SURVEY.replace("range = [0, 3]\nbins = 3", "range = [0, 3]")
    if "copy0" in columns:  # a survey of numbers alone
        text = re.sub(r"\[features\.copy\d\]\nvalues = .*\n", "", text)
    plan = read_survey(text).compile()
    codes, labels = draw_people(2000, 1)
    numbers = plan.features[-1].code_array(codes[:, -1] + 0.5)
    codes = np.column_stack([codes[:, : len(plan.features) - 1], numbers])
    (tmp_path / "snapshot.json").write_bytes(simulate_reports(plan, codes, labels, FastStream(1)).to_json())
    rows = to_columns(draw_people(200, 2)[0])
    lines = zip(*(rows[name] for name in columns), strict=True)
    text = "\n".join([",".join(columns), *(",".join(map(str, line)) for line in lines)])
    (tmp_path / "rows.csv").write_text(text)
    refused = run("--unlabelled", tmp_path / "rows.csv")
    assert refused.exit_code == 1
    assert refused.stderr.count("\n") == 1
    assert "numbers without bins alone cannot be fitted" in refused.stderr
    assert not (tmp_path / "model.json").exists()


def test_a_value_outside_the_survey_is_refused_with_its_row_as_in_prediction(run, tmp_path):
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    lines[42] = lines[42].replace("low", "tall").replace("high", "tall")
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    refused = run("--unlabelled", tmp_path / "rows.csv")
    assert refused.exit_code == 1
    assert run().exit_code == 0
    refused_too = command("ldp-predict", tmp_path / "model.json", tmp_path / "rows.csv", check=False)
    assert refused.stderr == refused_too.stderr
    assert "copy0: row 42: is not one of the survey's values" in refused.stderr


def test_cells_with_line_breaks_are_read_on_request(run, tmp_path):
    header, *rows = (tmp_path / "rows.csv").read_text().splitlines()
    lines = [f"{header},note", *(f'{row},"a\nb"' for row in rows)]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    refused = run("--unlabelled", tmp_path / "rows.csv")
    assert refused.exit_code == 1
    assert "rows.csv: line 2: a quoted cell continues on the next line" in refused.stderr
    assert run("--unlabelled", tmp_path / "rows.csv", "--multiline").exit_code == 0


def test_options_that_do_not_fit_each_other_are_refused(run, tmp_path):
    assert "--unlabelled-public" in run("--unlabelled-public").stderr
    paper = run("--unlabelled", tmp_path / "rows.csv", "--estimator", "paper")
    assert "needs the default estimator" in paper.stderr
    assert run("--unlabelled", tmp_path / "absent.csv").exit_code != 0
    rows = tmp_path / "rows.csv"
    overwritten = run("--unlabelled", rows, "-o", rows)
    assert overwritten.exit_code == 2
    assert rows.read_text().startswith("copy0,")


def test_from_few_reports_the_summary_states_why_naive_bayes_is_kept(run, tmp_path):
    (tmp_path / "snapshot.json").write_bytes(simulate(12, epsilon="0.5").to_json())
    result = run("--unlabelled", tmp_path / "rows.csv")
    assert "The classifier is Naive Bayes, although it got about 500 unlabelled rows" in flat(result.stdout)
    assert "the reports are mostly noise" in flat(result.stdout)


@pytest.fixture
def rounds(run, tmp_path) -> list[Path]:
    """Answers of people who validate Naive Bayes, and of people for whom the fitted model is wrong."""
    files = []
    for name, options in (("plain", []), ("fitted", ["--unlabelled", tmp_path / "rows.csv"])):
        assert run(*options).exit_code == 0
        model = read_model(tmp_path / "model.json")
        plan = read_survey(write_validation_round(SURVEY, model, name)).compile()
        codes, labels = draw_people(4000, 8)
        answers = simulate_reports(plan, codes, 1 - labels if name == "fitted" else labels, FastStream(3))
        files.append(tmp_path / f"{name}-round.json")
        files[-1].write_bytes(answers.to_json())
    (tmp_path / "model.json").unlink()
    return files


def test_two_validation_rounds_choose_and_the_summary_states_both_accuracies(run, rounds, tmp_path):
    result = run(*rounds, "--unlabelled", tmp_path / "rows.csv")
    assert result.exit_code == 0, result.stderr
    summary = flat(result.stdout)
    assert "The classifier is Naive Bayes" in summary
    assert "because the answers of two validation rounds choose it" in summary
    assert "(4,000 devices) of logistic regression" in summary
    assert "In the round overlapping-validation, 4,000 devices reported" in summary
    assert "In the round overlapping-validation-fitted, 4,000 devices validated" in summary
    assert "validated the classifier that was not kept" in summary
    model = load_model(tmp_path / "model.json")
    assert model.unlabelled_.chosen_by == "answers"
    assert model.privacy_.compared_validation.reports == 4000


def test_two_validation_rounds_without_unlabelled_rows_are_refused(run, rounds, tmp_path):
    refused = run(*rounds)
    assert refused.exit_code == 1
    assert "validate two models: give one of them" in refused.stderr
    assert "--unlabelled" in refused.stderr
    assert not (tmp_path / "model.json").exists()


def test_a_round_of_a_model_of_other_rows_is_refused_and_no_model_is_written(run, rounds, tmp_path):
    codes = draw_people(512, 9)[0][:, [5, 1, 2, 3, 4, 0]].clip(0, 1)
    (tmp_path / "rows.csv").write_text(to_csv(codes))
    refused = run(*rounds, "--unlabelled", tmp_path / "rows.csv")
    assert refused.exit_code == 1
    assert "overlapping-validation-fitted validated a model that is neither" in refused.stderr
    assert not (tmp_path / "model.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train", "simulate", "predict", "results", "survey"])
def test_commands_load_the_method_only_if_it_is_used(name):
    code = f"import sys, {module_of(name)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not [module for module in loaded.split() if "discriminative" in module]
