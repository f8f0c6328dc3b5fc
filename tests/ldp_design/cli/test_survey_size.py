"""ldp-survey size on the command line."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_reports
from ldp_aggregator.snapshot import Snapshot
from tests.support.commands import command
from tests.support.snapshots import train_model
from tests.support.surveys import survey_toml

SURVEY = survey_toml(features={"kind": ["black", "green", "mint"], "hours": {"range": [0, 12]}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a survey, one that expects users, and a pilot's model and snapshot."""
    folder = tmp_path_factory.mktemp("size")
    (folder / "tea.toml").write_text(SURVEY)
    (folder / "expecting.toml").write_text(SURVEY.replace("epsilon", "users = 300\nepsilon"))
    plan = read_survey(SURVEY).compile()
    rows = SyntheticPopulation.from_strength(plan, 3.0, 1.5).draw_people(30_000, np.random.default_rng(1))
    snapshot = simulate_reports(plan, *rows, FastStream(1))
    train_model(folder / "pilot.json", snapshot)
    (folder / "snapshot.json").write_bytes(snapshot.to_json())
    nobody = Snapshot(plan, {})
    train_model(folder / "empty-model.json", nobody)
    (folder / "empty-snapshot.json").write_bytes(nobody.to_json())
    (folder / "toml.json").write_text(SURVEY)
    (folder / "empty.json").write_bytes(b"")
    (folder / "binary.json").write_bytes(bytes(range(256)))
    return folder


def run(folder: Path, *arguments: object, survey: str = "tea.toml") -> Result:
    named = [folder / each if str(each).endswith(".json") else each for each in arguments]
    return command("ldp-survey", "size", folder / survey, *named, check=False)


def read_sizes(folder: Path, *arguments: object, survey: str = "tea.toml") -> list[dict[str, Any]]:
    result = run(folder, *arguments, "--json", survey=survey)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
def test_size_prints_what_to_expect_of_a_number_of_people(folder):
    result = run(folder, "--users", 50_000)
    assert result.exit_code == 0, result.output
    assert "tea: what to expect from 50,000 people at epsilon 1" in result.stdout
    assert "features strongly related to the label" in result.stdout
    assert "No feature is noise." in result.stdout


@pytest.mark.slow
def test_the_survey_s_own_users_are_the_default(folder):
    (found,) = read_sizes(folder, survey="expecting.toml")
    assert found["users"] == 300
    assert found["white_noise"]
    assert found["label_question_probability"] > 0
    assert found["remedies"]["users"] > 300
    screen = " ".join(run(folder, survey="expecting.toml").stdout.split())
    assert "otherwise the standard error of P(tired) would be above 0.1 with 300 users in [survey]" in screen


@pytest.mark.slow
def test_without_users_a_few_numbers_of_people_are_compared(folder):
    assert [each["users"] for each in read_sizes(folder)] == [1_000, 10_000, 100_000, 1_000_000]
    assert "  noise\n" in run(folder).stdout


@pytest.mark.slow
def test_json_holds_all_margins_and_the_requested_one(folder):
    (found,) = read_sizes(folder, "--margin", "0.05")
    assert found["accuracy"] == {}
    kind, hours = found["margins"][1:]
    assert max(kind["margin"], hours["margin"] / hours["unit"]) <= 0.05
    assert hours["unit"] == 12
    assert hours["variance"] > 0
    assert (found["pilot"], found["requested_margin"]) == (None, 0.05)
    assert isinstance(found["label_question_probability"], float)


@pytest.mark.slow
@pytest.mark.parametrize("pilot", ["pilot.json", "snapshot.json"])
def test_a_pilot_s_people_decide_the_accuracy(folder, pilot):
    (found,) = read_sizes(folder, "--users", 20_000, "--pilot", pilot)
    (band,) = found["accuracy"].values()
    assert found["pilot"] == {"name": pilot, "reports": 30_000, "noise": []}
    assert band["majority"] < band["low"] <= band["mean"] <= band["high"] <= band["best_possible"] + 0.01


@pytest.mark.slow
def test_the_number_of_people_for_an_accuracy_comes_from_a_pilot(folder):
    (found,) = read_sizes(folder, "--accuracy", "0.7", "--pilot", "pilot.json")
    assert found["accuracy"]["pilot"]["mean"] >= 0.7
    assert found["users"] == found["accuracy"]["pilot"]["users"]
    progress = run(folder, "--accuracy", "0.7", "--pilot", "pilot.json").stderr
    assert progress.splitlines()[:2] == ["simulating 100 people", "simulating 400 people"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--users", 0), "is not in the range"),
        (("--margin", 0), "is not in the range"),
        (("--margin", 1), "is not in the range"),
        (("--accuracy", 1), "is not in the range"),
        (("--users", 5, "--margin", 0.1), "give one of --users, --margin and --accuracy"),
        (("--accuracy", 0.7), "--accuracy needs --pilot"),
        (("--accuracy", 0.999, "--pilot", "pilot.json"), "the best possible accuracy is"),
        (("--accuracy", 0.999, "--pilot", "pilot.json"), "as the pilot of 30,000 reports describes them"),
        (("--margin", "5%"), "'5%' is not a valid share: write it as in 0.05"),
        (("--margin", 1e-8), "margins of at most 1e-08: not even 1,000,000,000,000 people are enough, for '"),
        (("--users", 5, "--pilot", "nowhere.json"), "does not exist"),
        (("--users", 5, "--pilot", "toml.json"), "toml.json: is neither a model of ldp-train nor a snapshot"),
        (
            ("--users", 5, "--pilot", "empty.json"),
            "empty.json: is neither a model of ldp-train nor a snapshot",
        ),
        (
            ("--users", 5, "--pilot", "binary.json"),
            "binary.json: is neither a model of ldp-train nor a snapshot",
        ),
        (
            ("--users", 5, "--pilot", "empty-snapshot.json"),
            "empty-snapshot.json: it does not contain a report yet",
        ),
        (
            ("--users", 5, "--pilot", "empty-model.json"),
            "empty-model.json: it does not contain a report yet",
        ),
    ],
)
def test_invalid_options_are_refused_with_a_message(folder, arguments, message):
    result = run(folder, *arguments)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


def test_a_compiled_plan_is_refused(folder):
    (folder / "plan.toml").write_bytes(read_survey(SURVEY).compile().json)
    assert "the file looks like a compiled plan" in run(folder, survey="plan.toml").output


@pytest.mark.parametrize(("name", "kind"), [("pilot.json", "a model file"), ("snapshot.json", "a snapshot")])
def test_a_model_or_a_snapshot_is_refused_as_a_survey(folder, name, kind):
    why = f"{name}: is not a survey file: give the TOML survey; the file looks like {kind}"
    assert why in run(folder, survey=name).output


@pytest.mark.slow
def test_the_requested_margin_is_repeated_and_explained_for_a_number(folder):
    screen = run(folder, "--margin", "0.05").stdout
    assert screen.startswith("tea: margins of at most 5% need ")
    assert "For a number's mean, 5% is a share of its range." in screen
    (folder / "bins.toml").write_text(SURVEY + "bins = 4\n")
    assert "is a share of its range" not in run(folder, "--margin", "0.05", survey="bins.toml").stdout


@pytest.mark.slow
def test_label_shares_replace_equal_shares(folder):
    (equal,) = read_sizes(folder, "--margin", "0.1")
    (rare,) = read_sizes(folder, "--margin", "0.1", "--label-shares", "yes=0.1,no=0.9")
    assert (equal["label_shares"], rare["label_shares"]) == (None, [0.1, 0.9])
    assert rare["users"] > 15 * equal["users"]
    screen = " ".join(run(folder, "--margin", "0.1", "--label-shares", "yes=0.1,no=0.9").stdout.split())
    assert "Shares of the classes, as given: yes 0.1, no 0.9." in screen
    assert "If a class is rarer" not in screen


@pytest.mark.slow
def test_without_shares_a_line_says_how_many_times_more_people_a_rare_label_needs(folder):
    screen = " ".join(run(folder, "--margin", "0.1").stdout.split())
    assert "If a class is rarer than that, the same margins need many times as many people" in screen
    times = re.search(r"about (\d+) times if its share is 10%. --label-shares yes=0.1,no=0.9 states", screen)
    assert times is not None
    equal, rare = (
        read_sizes(folder, "--margin", "0.02", *more)[0]["users"]
        for more in ([], ["--label-shares", "yes=0.1,no=0.9"])
    )
    assert rare / equal == pytest.approx(int(times[1]), rel=0.06)
    pilot = " ".join(run(folder, "--margin", "0.1", "--pilot", "pilot.json").stdout.split())
    assert "If a class is rarer" not in pilot


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--label-shares", "yes=0.1"), '--label-shares: there is no share of "no"'),
        (("--label-shares", "yes=0.1,no=0.9", "--pilot", "pilot.json"), "give --label-shares or --pilot"),
        (("--epsilon", "1,much"), "'--epsilon': needs a number above 0 and at most 32; separate several by"),
        (("--epsilon", "0"), "'--epsilon': needs a number above 0"),
    ],
)
def test_mistakes_in_shares_and_epsilons_are_explained(folder, arguments, message):
    result = run(folder, *arguments)
    assert result.exit_code != 0
    assert message in result.stderr


@pytest.mark.slow
def test_epsilons_are_compared(folder):
    sizes = read_sizes(folder, "--users", 5_000, "--epsilon", "0.5,1,2")
    assert [(each["epsilon"], each["users"]) for each in sizes] == [(0.5, 5000), (1, 5000), (2, 5000)]
    low, middle, high = (each["margins"][1]["margin"] for each in sizes)
    assert low > middle > high
    people = [each["users"] for each in read_sizes(folder, "--margin", "0.1", "--epsilon", "0.5,1,2")]
    assert people[0] > 3 * people[1] > 9 * people[2]
    table = run(folder, "--margin", "0.1", "--epsilon", "0.5,1,2").stdout
    assert "tea: people for margins of at most 10%, by epsilon" in table
    assert f"{people[0]:,}" in table
    assert "what to expect by epsilon" in run(folder, "--epsilon", "0.5,1").stdout


@pytest.mark.slow
def test_one_epsilon_replaces_that_of_the_survey(folder):
    (size,) = read_sizes(folder, "--margin", "0.1", "--epsilon", "2")
    assert size["epsilon"] == 2
    assert "at epsilon 2" in run(folder, "--margin", "0.1", "--epsilon", "2").stdout
