"""Sizes of surveys with waves: levels, changes and slopes, checked by simulation."""

import json
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.estimation.figures import CONDITIONAL, SHARE
from ldp_aggregator.series.series import estimate_series
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_series
from ldp_design.sizing.series_size import POWER
from ldp_design.sizing.survey_size import add_series, size_for_users
from tests.support.commands import command
from tests.support.relays import relayed_text, without_times
from tests.support.statistical_checks import ALARM, small_and_full
from tests.support.surveys import RELAYED

WAVES = 'waves = {first = 2027-01-01, every = "month", count = 12}\n'
FOUR = 'survey = {id = "four", epsilon = 2}\nfeatures.four.values = ["p", "q", "r", "s"]\n'
LABELLED = FOUR + 'label = {name = "class", values = ["a", "b"]}\n'
ALL = (
    relayed_text(without_times(RELAYED))
    .replace("[features.nights]", 'ask = "all"\n[features.nights]', 1)
    .replace("epsilon = 2", "epsilon = 3", 1)
    .replace('missing = "category"\n', "")
    + "[waves]\n"
    + WAVES.removeprefix("waves = {").replace(", ", "\n").replace("}", "")
)
SURVEYS = {"one question": FOUR + WAVES, "by class": LABELLED + WAVES, "all questions": ALL}
PEOPLE = 20_000


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "four.toml"
    path.write_text(FOUR + WAVES)
    return path


def size_of(text: str, users: int = PEOPLE, waves: int = 12):
    survey = read_survey(text)
    return add_series(size_for_users(survey.of_one_wave(), users // waves, repeats=0), waves, users).series


def test_the_margins_of_a_question_of_four_values():
    [one], changes = size_of(FOUR + WAVES).estimates, size_of(FOUR + WAVES).changes
    merged = changes[1]
    assert [round(100 * each, 1) for each in (one.level, one.change, one.detectable)] == [3.4, 4.8, 6.8]
    assert [round(100 * each, 1) for each in (merged.level, merged.change, merged.detectable)] == [
        2.0,
        2.8,
        3.9,
    ]
    assert one.slope == pytest.approx(0.0028, abs=1e-4)
    levels = {each.name: each.level / one.level for each in changes}
    expected = {"planned": 1, "waves": math.sqrt(1 / 3), "people": math.sqrt(0.5)}
    assert levels == {name: pytest.approx(ratio, rel=0.002) for name, ratio in expected.items()}


@pytest.mark.slow
def test_half_of_the_questions_keep_the_promise_of_the_relay():
    assert [each.name for each in size_of(ALL).changes] == ["planned", "waves", "people"]  # one is not "all"
    changes = {each.name: each for each in size_of(f"{ALL}[features.third]\nvalues = [1, 2]\n").changes}
    assert changes["questions"].level < changes["planned"].level
    features = "".join(f'features.f{number}.values = ["a", "b"]\n' for number in range(4))
    changes = {each.name: each for each in size_of(features + WAVES + FOUR.splitlines()[0]).changes}
    ratio = changes["questions"].level / changes["planned"].level
    assert ratio == pytest.approx(math.sqrt(0.5), rel=0.001)


compile_text = cache(lambda text: read_survey(text).compile())


def simulate(text: str, seed: int, change: float):
    """Return the course of the first feature, whose first share changes up and down from wave to wave.

    It is as far above the share that the size assumes as below, so that the errors are those of this share.
    """
    plan = compile_text(text)
    people = SyntheticPopulation.uniform(plan)
    move = np.zeros_like(people.conditionals[0])
    move[0], move[1] = change / 2, -change / 2
    below, above = (
        SyntheticPopulation(people.prior, (people.conditionals[0] + each, *people.conditionals[1:]))
        for each in (-move, move)
    )
    rng, devices = np.random.default_rng([seed, 1]), FastStream(np.random.SeedSequence([seed, 2]))
    series = estimate_series(simulate_series(plan, [below, above] * 6, PEOPLE, rng, devices), "all")
    statistic = CONDITIONAL if plan.label.exists else SHARE
    return next(each for each in series.courses if each.statistic == statistic)


@pytest.mark.parametrize("repeats", small_and_full(12, 300, long=True))
@pytest.mark.parametrize("name", SURVEYS)
def test_margins_and_detectable_changes_are_those_of_simulated_series(name, repeats):
    """Bounds at 1e-7 each; the slack is for counts of people in a wave that vary, and for ratios."""
    text = SURVEYS[name]
    expected = next(each for each in size_of(text).estimates if each.of_class == ("label" in text))
    courses = [simulate(text, seed, expected.detectable) for seed in range(repeats)]
    levels = np.stack([each.levels.value[:, 0, 0] for each in courses])
    found = {
        "level": levels,
        "change": np.diff(levels)[:, ::2],  # independent of each other
        "slope": np.stack([each.slopes.value[:1, 0] for each in courses]),
    }
    for kind, values in found.items():
        free = values.size - values.shape[1]
        low, high = (math.sqrt(stats.chi2.ppf(q, free) / free) for q in (ALARM / 2, 1 - ALARM / 2))
        error = math.sqrt(((values - values.mean(axis=0)) ** 2).sum() / free)
        assert low - 0.03 < 1.96 * error / getattr(expected, kind) < high + 0.03, kind
    seen = np.stack([each.changes.low[::2, 0, 0] > 0 for each in courses])
    low, high = stats.binom.ppf([ALARM / 2, 1 - ALARM / 2], seen.size, POWER) / seen.size
    assert low - 0.03 <= seen.mean() <= high + 0.03


def test_the_command_shows_the_series(survey):
    shown = command("ldp-survey", "size", survey, "--users", PEOPLE).stdout
    rows = [line.split() for line in shown.splitlines()]
    assert ["four", "3.4%", "4.8%", "6.8%", "0.28%"] in rows
    assert ["or", "fewer", "waves", "20,000", "4", "2.0%", "2.8%", "3.9%", "0.29%"] in [
        row[3:] for row in rows
    ]
    assert "lacks 0 with a probability of 80%" in " ".join(shown.split())


def test_another_number_of_waves_is_tried_without_another_file(survey, tmp_path):
    shown = command("ldp-survey", "size", survey, "--users", PEOPLE, "--waves", 4).stdout
    (tmp_path / "other.toml").write_text(FOUR + WAVES.replace("12", "4"))
    assert shown == command("ldp-survey", "size", tmp_path / "other.toml", "--users", PEOPLE).stdout
    (tmp_path / "without.toml").write_text(FOUR)
    without = tmp_path / "without.toml"
    assert shown == command("ldp-survey", "size", without, "--users", PEOPLE, "--waves", 4).stdout
    alone = command("ldp-survey", "size", without, "--users", PEOPLE).stdout
    assert alone == command("ldp-survey", "size", survey, "--users", PEOPLE, "--waves", 1).stdout


def test_a_program_gets_the_series_too(survey):
    [found] = json.loads(command("ldp-survey", "size", survey, "--users", PEOPLE, "--json").stdout)
    [estimate] = found["series"]["estimates"]
    assert estimate["detectable"] == pytest.approx(0.068, abs=0.001)
    assert [each["name"] for each in found["series"]["changes"]] == ["planned", "waves", "people"]


def test_people_for_a_margin_are_those_of_all_waves(survey):
    [found] = json.loads(command("ldp-survey", "size", survey, "--margin", 0.05, "--json").stdout)
    assert found["series"]["changes"][0]["users"] == 12 * found["users"]


@pytest.mark.slow
def test_a_relay_has_other_waves_too(tmp_path):
    path = tmp_path / "all.toml"
    path.write_text(ALL)
    for waves in (6, 12):
        shown = command("ldp-survey", "size", path, "--users", PEOPLE, "--waves", waves).stdout
        assert f"Of 20,000 people in {waves} waves, each answers in one" in " ".join(shown.split())
        assert "all answers, through the relay" in shown


def test_too_many_waves_are_refused(tmp_path):
    features = "".join(f'features.f{number}.values = ["a", "b"]\n' for number in range(40))
    path = tmp_path / "many.toml"
    path.write_text(features + FOUR.splitlines()[0])
    found = command("ldp-survey", "size", path, "--users", PEOPLE, "--waves", 400, check=False)
    assert "400 waves of 20 questions" in found.stderr
