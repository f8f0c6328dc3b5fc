"""Tables and levels for an author: check, size, remedies, rounds, dossier and simulation."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.models.model_file import dump_model, parse_model
from ldp_aggregator.simulated_population import simulate_reports
from ldp_design.authoring.overview import find_warnings, format_overview
from ldp_design.cli.survey import main
from ldp_design.rounds.narrow_toml import NarrowError, write_narrowed_round
from ldp_design.simulation.simulate import SimulationGrid, simulate
from ldp_design.sizing.size import size_for_users
from ldp_design.sizing.summary import format_size
from tests.ldp_aggregator.results.samples import TABLES, simulate_tables

LABEL = '[label]\nname = "ill"\nvalues = ["yes", "no"]\n'
SURVEY = """
[survey]
id = "habits"
epsilon = 1
{label}
[features.age]
values = ["young", "middle", "old"]
[features.smokes]
values = ["yes", "no"]
[features.sport]
values = ["yes", "no"]
[features.hours]
range = [0, 64]
bins = {bins}
[tables.smoking]
features = ["age", "smokes"]
"""


def read(label="", bins=4):
    return read_survey(SURVEY.format(label=label, bins=bins))


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
    lines = format_size(size).splitlines()
    [line] = [each for each in lines if each.startswith("age x smokes")]
    assert line.endswith("the others with 133% of the people")


def test_the_predicted_margin_of_a_cell_is_the_reported_one():
    """The intervals of simulated surveys have the margin that was predicted."""
    survey, people = read(), 60_000
    plan, rng = survey.compile(), np.random.default_rng(1)
    codes = np.stack([rng.integers(0, each.size, people) for each in plan.features], axis=1)
    snapshot = simulate_reports(plan, codes, np.zeros(people, dtype=np.int64), FastStream(1))
    stderr = estimate_snapshot(snapshot).tables[0].cells.stderr
    [cost] = size_for_users(survey, people).tables
    assert cost.margin == pytest.approx(Z95 * np.sqrt((stderr**2).mean()), rel=0.03)


def test_of_a_feature_with_levels_the_size_is_that_of_cumulative_shares():
    levels = size_for_users(read(bins=64), 10_000)
    hours = levels.margins[-1]
    assert (hours.values, hours.typical) == (2, 0.5)
    assert "cumulative share" in format_size(levels)


def test_a_feature_without_the_label_has_the_margin_of_all_people():
    age, *_ = [each for each in size_for_users(read(LABEL), 10_000, repeats=0).margins if each.name == "age"]
    assert age.class_margins == (age.overall,)


def test_fewer_features_leave_out_their_tables():
    remedies = size_for_users(read(bins=30), 2_000).remedies
    assert remedies.features
    assert "hours" not in remedies.features


@pytest.mark.slow
@pytest.mark.parametrize("label", ["", LABEL])
def test_a_survey_with_tables_is_simulated_and_documented(label, tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY.format(label=label, bins=64))
    page = tmp_path / "dossier.html"
    result = CliRunner().invoke(main, ["dossier", str(path), "--users", "5000", "-o", str(page)])
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


def test_a_survey_with_tables_is_not_narrowed():
    text = TABLES.format(label=LABEL)
    snapshot = simulate_tables(2_000, LABEL)
    model = parse_model(dump_model(snapshot, estimate_snapshot(snapshot)))
    with pytest.raises(NarrowError, match="a survey with tables is not narrowed"):
        write_narrowed_round(text, model, "model.json")
