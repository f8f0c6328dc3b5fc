"""ldp-simulate --waves: errors and coverage of levels, changes and slopes."""

import csv
import json

import numpy as np
import pytest
from scipy import stats

from encoders.survey import read_survey
from ldp_design.simulation.variants import SimulationGrid
from ldp_design.sizing.simulated_series import simulate_waves
from ldp_design.sizing.survey_size import add_series, size_for_users
from tests.support.commands import command
from tests.support.statistical_checks import ALARM, small_and_full

WAVES = 3
SURVEY = """
survey = {id = "tea", epsilon = 2}
features.tea.values = ["never", "daily", "weekly"]
features.cups.range = [0, 10]
waves = {first = 2027-01-01, every = "month", count = 3}
"""
LABEL = 'label = {name = "smoker", values = ["yes", "no"]}\n'


def make_rows(count: int) -> dict[str, list]:
    """Return people of three waves, in which "daily" rises by 8 points each, and cups by 1."""
    rng = np.random.default_rng(5)
    waves = rng.integers(WAVES, size=count)
    daily = rng.random(count) < 0.2 + 0.08 * waves
    other = np.where(rng.random(count) < 0.5, "never", "weekly")
    return {
        "month": [f"2027-{wave + 1:02}" for wave in waves],
        "tea": np.where(daily, "daily", other).tolist(),
        "cups": np.clip(rng.normal(4 + waves, 1), 0, 10).tolist(),
        "smoker": np.where(rng.random(count) < 0.4 + 0.1 * daily, "yes", "no").tolist(),
    }


def measure(text: str, repeats: int, **options: object):
    survey = read_survey(text)
    variants = SimulationGrid(epsilons=[survey.epsilon]).list_variants(survey, "default")
    found = simulate_waves(survey, make_rows(6000), "month", variants, repeats, **options)
    return {(each.feature, each.estimate): each for each in found}


@pytest.mark.parametrize("repeats", small_and_full(30, 400, long=True))
@pytest.mark.parametrize("label", ["", LABEL], ids=["without a label", "label"])
def test_intervals_contain_the_truth_of_the_rows(label, repeats):
    """Bounds at 1e-7 for each kind of estimate, as if its intervals in one repeat were a single one."""
    found = measure(LABEL * bool(label) + SURVEY, repeats)
    kinds = {name.partition(", ")[2] for _, name in found}
    assert kinds == {"", "change", "slope"}
    low = stats.binom.ppf(ALARM / 2 / len(found), repeats, 0.95) / repeats
    for each in found.values():
        assert each.coverage >= low - 0.015, each
        assert 0.6 < 1.96 * each.error / each.margin < 1.5, each


@pytest.mark.slow
def test_errors_are_those_that_the_size_forecasts():
    text = SURVEY.replace("features.cups.range = [0, 10]\n", "")
    size = size_for_users(read_survey(text).of_one_wave(), 2000, repeats=0)
    [expected] = add_series(size, WAVES, 6000).series.estimates
    found = measure(text, 60)
    for kind, name in (("level", "share"), ("change", "share, change"), ("slope", "share, slope")):
        assert 1.96 * found["tea", name].error == pytest.approx(getattr(expected, kind), rel=0.3)
        assert found["tea", name].margin == pytest.approx(getattr(expected, kind), rel=0.05)


@pytest.mark.slow
def test_more_people_than_rows_have_smaller_errors():
    few, many = (measure(SURVEY, 5, users=users)["tea", "share"].margin for users in (6_000, 24_000))
    assert few / many == pytest.approx(2, rel=0.05)


@pytest.fixture
def files(tmp_path):
    survey, rows = tmp_path / "tea.toml", tmp_path / "rows.csv"
    survey.write_text(LABEL + SURVEY)
    columns = make_rows(600)
    with rows.open("w", newline="") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return survey, rows


@pytest.mark.slow
def test_the_command_prints_levels_changes_and_slopes(files):
    shown = command("ldp-simulate", *files, "--waves", "month", "--repeats", 2).stdout
    assert "share in a class, change" in shown
    assert "mean, slope" in shown
    found = json.loads(command("ldp-simulate", *files, "--waves", "month", "--repeats", 2, "--json").stdout)
    assert len(found) == 3 * (1 + 2 + 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "options", "why"),
    [
        (None, ["--waves", "week"], "week"),
        (("2027-02", "2027-05"), ["--waves", "month"], "there is no wave '2027-05'; the waves are 2027-01"),
        (("2027-02", "2027-01"), ["--waves", "month"], None),
        (None, ["--waves", "month", "--users", "2"], "a wave has no report in a repeat"),
        (None, ["--waves", "month", "--validate"], "leave --validate out"),
    ],
    ids=["no column", "no wave", "an empty wave", "few people", "model"],
)
def test_bad_columns_are_refused(files, change, options, why):
    survey, rows = files
    if change:
        rows.write_text(rows.read_text().replace(*change))
    found = command("ldp-simulate", survey, rows, "--repeats", 2, *options, check=False)
    assert (found.exit_code == 0) == (why is None)
    assert (why or "") in found.stderr


def test_a_survey_without_waves_is_refused(files):
    survey, rows = files
    survey.write_text((LABEL + SURVEY).partition("waves =")[0])
    found = command("ldp-simulate", survey, rows, "--waves", "month", check=False)
    assert "has no waves: leave --waves out" in found.stderr
