"""Tables and levels for an author: check, size, remedies, dossier and simulation."""

import json

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_reports
from ldp_aggregator.statements.warnings import find_warnings as find_warnings_of_results
from ldp_design.authoring.overview import find_warnings, format_overview
from ldp_design.dossier.people_dossier import render_dossier
from ldp_design.dossier.source import read_source
from ldp_design.simulation.accuracies import SimulationGrid, simulate
from ldp_design.sizing.margins import ExpectedTotals
from ldp_design.sizing.size_summary import format_size
from ldp_design.sizing.survey_size import size_for_margin, size_for_users, size_questions
from tests.support.commands import command
from tests.support.html_page import parse_page
from tests.support.surveys import survey_toml

LABEL = {"name": "ill"}
FEATURES = {"age": ["young", "middle", "old"], "smokes": ["yes", "no"], "sport": ["yes", "no"]}
TABLES = {"smoking": {"features": ["age", "smokes"]}}


def make_text(label=None, bins=4, **changes):
    features = FEATURES | {"hours": {"range": [0, 64], "bins": bins}}
    return survey_toml(**{"label": label, "features": features, "tables": TABLES} | changes)


def read(label=None, bins=4, **changes):
    return read_survey(make_text(label, bins, **changes))


def test_check_counts_the_questions_and_names_levels_and_tables():
    text = format_overview(read(bins=64).compile())
    assert "4 features, asked in 5 questions" in text
    assert "some ask for several features, a feature with levels takes one for each level" in text
    assert "hours (16 intervals)" in text
    assert "3 x 2 = 6" in text


def test_a_feature_that_the_classifier_cannot_use_is_a_warning():
    [warning] = [each for each in find_warnings(read(LABEL).compile()) if "classifier" in each.message]
    assert warning.path == ("features", "age")
    assert warning.message.startswith("age, smokes: asked without the label")
    assert not [each for each in find_warnings(read().compile()) if "classifier" in each.message]


def test_the_size_states_what_a_table_costs():
    survey = read()
    size = size_for_users(survey, 10_000)
    [cost] = size.tables
    without = size_for_users(survey.keep_tables(()), 10_000)
    assert (cost.features, cost.cells) == (("age", "smokes"), 6)
    assert cost.question_probability == pytest.approx(1 / 3)
    assert cost.other_people == pytest.approx(4 / 3)
    assert cost.without == {each.name: each.margin for each in without.margins[:2]}
    assert all(
        margin < each.margin for margin, each in zip(cost.without.values(), size.margins, strict=False)
    )
    assert json.loads(json.dumps(size.as_dict()))["tables"][0]["features"] == ["age", "smokes"]
    text = " ".join(format_size(size).split())
    assert "age x smokes: it has 6 combinations, on average with 16.7% +- 5.5% of all people" in text
    assert "the other features would need 133% of the people for the same margins" in text


def test_the_predicted_margin_of_a_cell_is_the_reported_one():
    """The intervals of simulated surveys have the margin that was predicted."""
    survey, people = read(), 60_000
    plan, rng = survey.compile(), np.random.default_rng(1)
    codes = np.stack([rng.integers(0, each.size, people) for each in plan.features], axis=1)
    snapshot = simulate_reports(plan, codes, np.zeros(people, dtype=np.int64), FastStream(1))
    stderr = estimate_snapshot(snapshot).tables[0].cells.stderr
    [cost] = size_for_users(survey, people).tables
    assert cost.margin == pytest.approx(Z95 * np.sqrt((stderr**2).mean()), rel=0.03)


@pytest.mark.slow
def test_of_a_feature_with_levels_the_size_is_that_of_cumulative_shares():
    levels = size_for_users(read(bins=64), 10_000)
    hours = levels.margins[3]
    assert (hours.values, hours.typical) == (2, 0.5)
    assert "cumulative share" in format_size(levels)


@pytest.mark.slow
def test_a_feature_without_the_label_has_the_margin_of_all_people():
    age, *_ = [each for each in size_for_users(read(LABEL), 10_000, repeats=0).margins if each.name == "age"]
    assert age.class_margins == (age.overall,)


@pytest.mark.slow
def test_fewer_features_leave_out_their_tables():
    remedies = size_for_users(read(bins=30), 2_000).remedies
    assert remedies.features
    assert "hours" not in remedies.features


@pytest.mark.slow
@pytest.mark.parametrize("label", [None, LABEL])
def test_a_survey_with_tables_is_simulated_and_documented(label, tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(make_text(label, 64))
    page = tmp_path / "dossier.html"
    result = command("ldp-survey", "dossier", str(path), "--users", "5000", "-o", str(page), check=False)
    assert result.exit_code == 0, result.output
    text = " ".join(page.read_text("utf-8").split())
    assert ("do not contain the answer to it" in text) == bool(label)
    assert ("the possible answers are intervals" in text) != bool(label)


def test_a_classifier_is_simulated_for_a_survey_with_tables():
    rng = np.random.default_rng(1)
    ill = rng.random(3000) < 0.5
    rows = {
        "age": rng.choice(["young", "middle", "old"], 3000),
        "smokes": np.where(rng.random(3000) < 0.5, "yes", "no"),
        "sport": np.where(rng.random(3000) < np.where(ill, 0.1, 0.9), "yes", "no"),
        "hours": rng.uniform(0, 64, 3000),
        "ill": np.where(ill, "yes", "no"),
    }
    found = simulate(read(LABEL), rows, SimulationGrid(epsilons=(4.0,)), repeats=2)
    assert found.rows[0].accuracy > 0.75


@pytest.mark.slow
@pytest.mark.parametrize("label", [None, LABEL])
def test_a_table_that_too_few_people_fill_is_noise_with_remedies(label):
    size = size_for_users(read(label, bins=4), 3_000, repeats=0)
    assert "age x smokes" in size.noise
    [table] = [each for each in size.margins if each.kind == "table"]
    assert (table.typical, table.values, table.overall) == (1 / 2, 2, size.tables[0].margin)
    assert len(table.class_margins) == 3  # one for each row
    assert size.remedies.users > 3_000
    enough = size_for_users(read(label, bins=4), size.remedies.users, repeats=0)
    assert not enough.noise
    entries = {each["name"]: each for each in json.loads(json.dumps(size.as_dict()))["margins"]}
    assert entries["age x smokes"]["grade"] == "noise"
    text = " ".join(format_size(size).split())
    assert "no feature or table is noise:" in text
    assert "in a row" in text


@pytest.mark.slow
def test_a_table_that_is_noise_can_be_left_out():
    size = size_for_users(read(), 10_000)
    assert size.noise == ()
    few = size_for_users(read(), 3_000)
    assert few.noise == ("age x smokes",)
    assert "age x smokes" not in few.remedies.features
    assert {"age", "smokes"} <= set(few.remedies.features)


def test_only_tables_of_the_author_are_graded():
    size = size_for_users(read(epsilon=6, tables={}), 5_000)
    assert any(len(each.feature_indices) > 1 for each in size.plan.questions)
    assert {each.kind for each in size.margins} <= {"categorical", "binned"}


@pytest.mark.slow
def test_the_predicted_margin_of_a_share_in_a_row_is_the_reported_one():
    survey, people = read(), 8_000
    plan, rng = survey.compile(), np.random.default_rng(1)
    found = []
    for seed in range(10):
        codes = np.stack([rng.integers(0, each.size, people) for each in plan.features], axis=1)
        snapshot = simulate_reports(plan, codes, np.zeros(people, dtype=np.int64), FastStream(seed))
        found.append(estimate_snapshot(snapshot).tables[0].row_shares.stderr)
    size = size_for_users(survey, people)
    assert size.margins[-1].margin == pytest.approx(Z95 * np.sqrt((np.stack(found) ** 2).mean()), rel=0.1)


@pytest.mark.slow
def test_the_people_for_a_margin_are_enough_for_its_tables():
    size = size_for_margin(read(), 0.1)
    assert max(each.share for each in size.margins) <= 0.1
    assert size.margins[-1].share > 0.095


@pytest.mark.slow
def test_yes_no_questions_are_sized_for_a_survey_with_tables():
    assert size_questions(read(), 0.1)[0].questions == 1


@pytest.mark.slow
def test_the_warnings_of_results_call_the_same_tables_noise_as_the_size():
    survey = read()
    population = SyntheticPopulation.uniform(survey.compile())
    for users in (2_000, 4_000, 12_000):
        size = size_for_users(survey, users)
        snapshot = ExpectedTotals(survey.compile(), population).snapshot(users)
        warnings = find_warnings_of_results(estimate_snapshot(snapshot))
        assert {str(each).partition(":")[0] for each in warnings} == set(size.noise)


@pytest.mark.slow
def test_the_dossier_names_a_table_that_is_noise(tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(make_text())
    page = parse_page(render_dossier(read_source(path, 3_000)))
    for section in ("summary", "accuracy"):
        text = " ".join(page.section(section).text.split())
        assert "how frequent the answers are for 4 of 5 questions and tables." in text
        assert "noise for age x smokes" in text
    assert "in a row" in page.section("accuracy").text
