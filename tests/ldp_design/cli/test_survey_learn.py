"""ldp-survey learn on the command line: from a first round's model to the survey of a second."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import ldp_client
from encoders.randomness import FastStream
from encoders.survey import BinnedFeature, NumericFeature, read_survey
from ldp_aggregator import estimate_snapshot, save_model
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from ldp_design.cli.survey import main

SURVEY = """\
# What this is about.
[survey]
id = "tea"     # confirmed
epsilon = 1.0
[label]
name = "tired"
values = ["yes", "no"]
[features.kind]
values = ["black", "grün"]
[features.hours]
range = [0, 12]
bins = 2
weight = 2
[features.cups]
range = [0, 20]
bins = 2
missing = "category"
weight = 2
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a survey, and the model of 30,000 reports on it."""
    folder = tmp_path_factory.mktemp("rounds")
    (folder / "tea.toml").write_bytes(SURVEY.encode())
    plan, rng = read_survey(SURVEY).compile(), np.random.default_rng(1)
    labels = rng.integers(0, 2, 30_000)
    # tired people (code 0) sleep less, and drink as much as the others
    hours = (rng.random(30_000) < 0.2 + 0.6 * labels).astype(int)
    codes = np.stack([rng.integers(0, 2, 30_000), hours, rng.integers(0, 3, 30_000)], axis=1)
    snapshot = simulate_reports(plan, codes, labels, FastStream(1))
    save_model(folder / "pilot.json", snapshot, estimate_snapshot(snapshot))
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def learned(folder: Path, *options: object) -> str:
    result = run("learn", "--pilot", folder / "pilot.json", *options, folder / "tea.toml")
    assert result.exit_code == 0, result.output
    return result.stdout_bytes.decode()


def unwrap(text: str) -> str:
    return " ".join(line.lstrip("# ") for line in text.splitlines())


def test_the_second_round_is_of_the_first_ones_family_and_asks_about_a_separating_component(
    folder,
):
    text = learned(folder)
    survey = read_survey(text)
    assert (survey.id, survey.family, survey.epsilon) == ("tea-learned1", "tea", 1)
    assert [feature.name for feature in survey.features] == ["kind", "learned1"]
    assert isinstance(survey.features[1], NumericFeature)
    assert survey.weights[1:] == (1, 2)
    (component,) = survey.projection.components
    hours, cups = map(float, component.weights)
    assert hours > 5 * abs(cups)
    assert [each.missing for each in survey.projection.inputs] == ["error", "category"]
    plan = survey.compile()
    report = ldp_client.make_report(plan, {"kind": "grün", "hours": 7.5, "cups": None}, "no")
    assert plan.digest.encode() not in report
    assert len(report) < 100
    (folder / "round2.toml").write_bytes(text.encode())
    assert run("check", folder / "round2.toml").exit_code == 0


def test_the_text_states_its_origin_and_who_may_answer(folder):
    text = unwrap(learned(folder))
    assert "What this is about." in text
    assert "confirmed" in text
    assert (
        'learned from the model "pilot.json", trained on the 30,000 randomised reports of an earlier round'
        in text
    )
    assert "a device that answered another round does not answer this one" in text
    assert "Their epsilon covers it" in text
    assert "along the estimated difference of the two classes' means" in text
    assert "ldp-simulate SURVEY ROWS --epsilon 1.0 --project none,learned:1" in text


PLAIN = SURVEY.replace('[features.kind]\nvalues = ["black", "grün"]\n', "").replace(
    'missing = "category"\n', ""
)


def pilot(folder: Path, text: str, reports: int = 1000) -> None:
    """Write a survey, and a model of reports by people of two kinds."""
    (folder / "tea.toml").write_bytes(text.encode())
    plan = read_survey(text).compile()
    labels = np.arange(reports) % 2
    snapshot = simulate_reports(plan, np.stack([labels] * len(plan.features), axis=1), labels, FastStream(1))
    save_model(folder / "pilot.json", snapshot, estimate_snapshot(snapshot))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "NOT recommended for 1,429 people over both rounds: two rounds need about 2,000 people:"),
        (("--people", 2000), "Recommended for 2,000 people over both rounds: from about 2,000 on"),
        (("--people", 1999), "NOT recommended for 1,999 people"),
    ],
)
def test_two_rounds_are_recommended_to_many_people_only(tmp_path, options, sentence):
    pilot(tmp_path, PLAIN)
    assert sentence in unwrap(learned(tmp_path, *options))


def test_objections_to_two_rounds_are_in_the_text(folder):
    text = unwrap(learned(folder))
    assert (
        "NOT recommended for 42,858 people over both rounds: questions about categories take reports" in text
    )
    assert "% of the people lack one of the numbers" in text


def test_people_counts_those_of_the_first_round_too(folder):
    result = run("learn", "--pilot", folder / "pilot.json", "--people", 30_000, folder / "tea.toml")
    assert result.exit_code == 1
    assert "the first round alone had 30,000 reports: give a larger number" in result.stderr


def test_an_id_that_leaves_no_room_for_a_new_one_is_refused(tmp_path):
    pilot(tmp_path, PLAIN.replace('"tea"', f'"{"t" * 55}-learned1"'))
    result = run("learn", "--pilot", tmp_path / "pilot.json", tmp_path / "tea.toml")
    assert result.exit_code == 1
    assert "shorten it" in result.stderr


def test_a_name_that_a_component_needs_is_refused(tmp_path):
    pilot(tmp_path, PLAIN.replace("[features.cups]", "[features.learned1]"))
    result = run("learn", "--pilot", tmp_path / "pilot.json", tmp_path / "tea.toml")
    assert result.exit_code == 1
    assert "learned1: the survey has a column of that name already; rename it" in result.stderr


def test_components_may_be_asked_in_bins(folder):
    feature = read_survey(learned(folder, "--bins", 4)).features[1]
    assert isinstance(feature, BinnedFeature)
    assert len(feature.edges) == 5


def test_a_family_that_the_survey_has_already_is_kept(tmp_path):
    text = PLAIN.replace('id = "tea"', 'family = "drinks"\nid = "tea"')
    pilot(tmp_path, text)
    assert read_survey(learned(tmp_path)).family == "drinks"


def test_a_model_of_another_survey_is_refused(folder, tmp_path):
    (tmp_path / "tea.toml").write_bytes(SURVEY.replace("epsilon = 1.0", "epsilon = 2.0").encode())
    result = run("learn", "--pilot", folder / "pilot.json", tmp_path / "tea.toml")
    assert result.exit_code == 1
    assert '"pilot.json" was not trained on this survey' in result.stderr


def test_an_uninformative_model_is_refused(folder, tmp_path):
    plan = read_survey(SURVEY).compile()
    empty = Snapshot(plan, {}, {})
    save_model(tmp_path / "pilot.json", empty, estimate_snapshot(empty))
    result = run("learn", "--pilot", tmp_path / "pilot.json", folder / "tea.toml")
    assert result.exit_code == 1
    assert "nothing to learn" in result.stderr


def test_too_many_components_and_a_file_that_is_no_model_are_refused(folder):
    result = run("learn", "--pilot", folder / "pilot.json", "--components", 2, folder / "tea.toml")
    assert result.exit_code == 1
    assert "at most 1 component, not 2" in result.stderr
    result = run("learn", "--pilot", folder / "tea.toml", folder / "tea.toml")
    assert result.exit_code == 1
    assert "Error: " in result.stderr
    assert "Traceback" not in result.stderr


def test_a_survey_that_is_projected_already_is_refused(folder):
    (folder / "second.toml").write_bytes(learned(folder).encode())
    result = run("learn", "--pilot", folder / "pilot.json", folder / "second.toml")
    assert result.exit_code == 1
    assert "has a projection already" in result.stderr


def test_only_the_id_itself_is_exchanged_in_its_line(tmp_path):
    pilot(tmp_path, PLAIN.replace('id = "tea"     # confirmed', """id = 'tea'  # not "tea" alone"""))
    assert """id = "tea-learned1"  # not "tea" alone""" in learned(tmp_path)
