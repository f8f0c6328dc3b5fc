"""What an author is told to expect: margins, accuracy, and what to change."""

import math
import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.estimation import estimate_parameters, estimate_snapshot
from ldp_aggregator.models.scoring import LogProbabilities
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.simulation.synthetic_people import SyntheticPopulation, simulate_survey
from ldp_aggregator.sizing.forecast import Forecaster
from ldp_aggregator.sizing.pilot import Pilot, PilotError
from ldp_aggregator.sizing.sample_size import SizeError, find_min_users, round_up
from ldp_aggregator.sizing.size import (
    compare_sizes,
    explain_label_question,
    size_for_accuracy,
    size_for_margin,
    size_for_users,
)
from ldp_aggregator.sizing.summary import format_comparison, format_size

TEXT = """
[survey]
id = "tea"
epsilon = 1.0
{users}
[label]
name = "tired"
values = ["yes", "no"]
{weight}
[features.kind]
values = ["black", "green", "mint", "rooibos"]
missing = "category"
[features.hours]
range = [0, 12]
bins = 8
[features.cups]
range = [0, 20]
missing = "category"
[features.sugar]
values = ["yes", "no"]
"""


def survey_of(users="", weight=""):
    return read_survey(TEXT.format(users=users, weight=weight))


SURVEY = survey_of()
PLAN = SURVEY.compile()


def pilot_of(plan=PLAN, ratio=2.0, mean_shift=1.0):
    people = SyntheticPopulation.from_strength(plan, ratio, mean_shift)
    return Pilot(
        name="pilot.json", plan=plan, prior=people.prior, conditionals=people.conditionals, reports=5_000
    )


def widest(size):
    return max(each.share for each in size.margins)


# -- margins -------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.2, 0.05, 0.01])
def test_the_people_that_a_margin_takes_have_that_margin_and_a_few_less_have_not(margin):
    found = size_for_margin(SURVEY, margin)
    assert widest(found) <= margin
    fewer = size_for_users(SURVEY, round(found.users * 0.97), repeats=0)
    assert widest(fewer) > margin
    assert found.margins == size_for_users(SURVEY, found.users, repeats=0).margins


def test_a_hundred_times_the_people_have_a_tenth_of_the_margins():
    few, many = compare_sizes(SURVEY, users=(200_000, 20_000_000))
    for one, other in zip(few.margins, many.margins, strict=True):
        assert one.margin == pytest.approx(10 * other.margin, rel=0.02)


def test_a_margin_is_about_the_pilots_people_if_there_are_any():
    even, told = size_for_margin(SURVEY, 0.05), size_for_margin(SURVEY, 0.05, rare_pilot())
    assert told.users > 2 * even.users  # a rare label takes more people
    assert told.margins[1].class_margins[0] > 2 * told.margins[1].class_margins[1]


def rare_pilot():
    return replace(pilot_of(), prior=np.array([0.1, 0.9]))


def test_a_feature_that_is_never_asked_about_has_no_margin():
    silent = replace(SURVEY, weights=(None, 1, 0, 1, 1))
    assert [each.name for each in compare_sizes(silent)[0].margins] == ["tired", "kind", "cups", "sugar"]


def test_nobody_tells_nothing_and_a_wish_beyond_all_people_says_so():
    for least, told in ((1, 1), (7, 7), (12_345, 12_400), (10**11 + 1, 101 * 10**9)):
        assert find_min_users(lambda users, least=least: (least / users) ** 0.5) == told
        assert find_min_users(lambda users, least=least: (least / users) ** 0.8) in (
            told,
            round_up(told + 1, 3),
        )
    assert find_min_users(lambda users: 0.5 if users >= 300 else math.inf) == 300
    with pytest.raises(SizeError, match="not even 1,000,000,000,000 people"):
        find_min_users(lambda _: math.inf)
    assert [round_up(users, 2) for users in (7, 123, 1201)] == [7, 130, 1300]


# -- accuracy ------------------------------------------------------------------------------------


def test_the_band_holds_what_other_surveys_of_that_population_reach():
    people, found = SyntheticPopulation.from_strength(PLAN, 2.0, 1.0), []
    forecast = Forecaster(PLAN, people, seed=1).forecast(5_000)
    for seed in range(10):
        rng = np.random.default_rng([7, seed])
        told = estimate_parameters(simulate_reports(PLAN, *people.draw_people(5_000, rng), FastStream(seed)))
        codes, labels = people.draw_people(20_000, rng)
        scores = LogProbabilities.from_probabilities(told.prior, told.conditionals).compute_scores(codes)
        found.append(np.mean(scores.argmax(axis=1) == labels))
    assert forecast.low < np.mean(found) < forecast.high
    assert forecast.majority < forecast.mean < forecast.best_possible
    error = np.std(found, ddof=1) * np.sqrt(1 / 10 + 1 / forecast.repeats)
    assert np.mean(found) == pytest.approx(forecast.mean, abs=4 * error)


def test_a_simulated_survey_is_heard_as_one_whose_people_are_drawn_whole():
    people, rng = SyntheticPopulation.from_strength(PLAN, 2.0, 1.0), np.random.default_rng(3)
    drawn = estimate_snapshot(simulate_survey(PLAN, people, 200_000, rng, FastStream(3)))
    whole = estimate_snapshot(simulate_reports(PLAN, *people.draw_people(200_000, rng), FastStream(4)))
    assert drawn.reports == whole.reports == 200_000
    for one, other in zip(drawn.features, whole.features, strict=True):
        number = one.kind == "numeric"
        told, same = (one.means, other.means) if number else (one.conditionals, other.conditionals)
        assert (abs(told.value - same.value) < 6 * np.hypot(told.stderr, same.stderr)).all()


def test_a_hundred_features_take_hardly_longer_than_a_few():
    features = "".join(f'[features.f{each}]\nvalues = ["1", "2", "3"]\n' for each in range(100))
    head = '[survey]\nid = "wide"\nepsilon = 1\n[label]\nname = "l"\nvalues = ["a", "b"]\n'
    plan = read_survey(head + features).compile()
    people, widths = SyntheticPopulation.uniform(plan), []

    class Noted(SyntheticPopulation):
        def draw_people(self, count, rng, places=None):
            widths.append(len(places))
            return super().draw_people(count, rng, places)

    simulate_survey(
        plan, Noted(people.prior, people.conditionals), 10_000, np.random.default_rng(1), FastStream(1)
    )
    assert set(widths) == {1}  # of each person the one feature that she is asked about


def test_equal_seeds_give_equal_forecasts():
    one, same, other = (
        Forecaster(PLAN, SyntheticPopulation.from_strength(PLAN, 2.0, 1.0), 3, seed).forecast(1_000)
        for seed in (1, 1, 2)
    )
    assert one == same != other


def test_the_people_that_an_accuracy_takes_reach_it_and_half_of_them_do_not():
    found = size_for_accuracy(SURVEY, 0.75, pilot_of(), repeats=6)
    forecast = found.forecasts["pilot"]
    assert forecast.users == found.users
    assert forecast.mean >= 0.75
    half = size_for_users(SURVEY, found.users // 2, pilot_of(), repeats=6).forecasts["pilot"]
    assert half.mean < 0.75


def test_an_accuracy_beyond_what_is_possible_is_refused_with_the_most():
    pilot = pilot_of()
    most = Forecaster(PLAN, pilot.build_population(PLAN)).best_possible
    with pytest.raises(SizeError, match=f"would reach {most:.1%}, which is the most"):
        size_for_accuracy(SURVEY, 0.99, pilot)


def test_an_accuracy_that_guessing_reaches_is_refused():
    with pytest.raises(SizeError, match=r"always guessing 'no' is right in 90\.0% of cases"):
        size_for_accuracy(SURVEY, 0.8, rare_pilot())


def test_an_accuracy_that_only_ever_more_people_come_near_is_refused(monkeypatch):
    monkeypatch.setattr("ldp_aggregator.sizing.forecast.MAX_SIMULATED_USERS", 1_000)
    most = Forecaster(PLAN, pilot_of().build_population(PLAN)).best_possible
    with pytest.raises(SizeError, match="1,000 people, the most that are simulated, reach"):
        size_for_accuracy(SURVEY, most - 0.001, pilot_of(), repeats=2)


def test_people_beyond_what_is_simulated_are_told_to_be(monkeypatch):
    monkeypatch.setattr("ldp_aggregator.sizing.forecast.MAX_SIMULATED_USERS", 1_000)
    found = size_for_users(SURVEY, 5_000, repeats=2)
    assert {each.users for each in found.forecasts.values()} == {1_000}
    assert "surveys of 1,000 people" in format_size(found)


# -- noise, and what to change -------------------------------------------------------------------


def test_a_plan_that_would_collect_only_white_noise_is_called_that():
    found = size_for_users(SURVEY, 200)
    assert found.white_noise
    assert "WHITE NOISE: 200 people at epsilon 1 tell too little to read any single feature" in format_size(
        found
    )


def test_a_plan_that_tells_enough_is_not():
    found = size_for_users(SURVEY, 200_000, repeats=3)
    assert (found.white_noise, found.noise, found.remedies) == (False, (), None)
    assert found.beats_majority
    assert "the figures are useful" in format_size(found)


def test_features_may_be_noise_one_by_one_while_a_model_of_all_gains():
    wide = read_survey(
        '[survey]\nid="w"\nepsilon=1\n[label]\nname="l"\nvalues=["a","b"]\n'
        + "".join(f'[features.f{i}]\nvalues=["1","2","3","4"]\n' for i in range(20))
    )
    found = size_for_users(wide, 3_000)
    assert len(found.noise) == 20
    assert found.beats_majority
    assert not found.white_noise
    assert "may still beat guessing" in format_size(found)


def test_without_a_simulation_white_noise_is_neither_told_nor_denied():
    assert [each.white_noise for each in compare_sizes(SURVEY, users=(200, 10**6))] == [None, False]


@pytest.fixture(scope="module")
def partly():
    """Return the size of a survey whose finest feature is noise."""
    found = size_for_users(SURVEY, 8_000, repeats=0)
    assert "hours" in found.noise
    assert "sugar" not in found.noise
    return found


def test_each_remedy_by_itself_makes_every_feature_useful(partly):
    found = partly.remedies
    users = size_for_users(SURVEY, found.users, repeats=0)
    epsilon = size_for_users(replace(SURVEY, epsilon=found.epsilon), 8_000, repeats=0)
    weights = (None, *(1 if each.name in found.features else 0 for each in SURVEY.features))
    fewer = size_for_users(replace(SURVEY, weights=weights), 8_000, repeats=0)
    assert users.noise == epsilon.noise == fewer.noise == ()


def test_each_remedy_is_the_least_of_its_kind(partly):
    found = partly.remedies
    assert size_for_users(SURVEY, round(0.97 * found.users), repeats=0).noise
    assert size_for_users(replace(SURVEY, epsilon=found.epsilon - Decimal("0.01")), 8_000, repeats=0).noise
    assert 0 < len(found.features) < len(SURVEY.features)
    assert "hours" not in found.features


def test_fewer_values_help_where_they_are_what_is_too_many():
    few = replace(SURVEY, weights=(None, 1, 1, 0, 1))
    found = size_for_users(few, 8_000, repeats=0)
    assert found.noise == ("hours",)
    assert 2 <= found.remedies.values < 8
    text = TEXT.format(users="", weight="").replace("bins = 8", f"bins = {found.remedies.values}")
    coarser = replace(read_survey(text), weights=(None, 1, 1, 0, 1))
    assert size_for_users(coarser, 8_000, repeats=0).noise == ()


def test_what_no_change_of_a_kind_can_mend_is_said():
    text = format_size(size_for_users(SURVEY, 100, repeats=0))
    assert "Any one of these" in text
    assert "more people" in text
    (vain,) = re.findall(r"Not enough by themselves: ([^.]*)\.", " ".join(text.split()))
    assert vain == (
        "an epsilon up to 2, the most that clients grant by default, fewer features, fewer values or bins"
    )


def test_users_in_the_survey_are_a_remedy_where_too_few_there_waste_reports_on_the_label():
    crowded = read_survey(TEXT.format(users="users = 100", weight=""))
    users = next(
        each
        for each in range(5_000, 60_000, 1_000)
        if not size_for_users(replace(crowded, users=each), each, repeats=0).noise
    )
    found = size_for_users(crowded, users, repeats=0)
    assert found.noise
    assert found.remedies.survey_users == users
    assert f"{users:,} instead of 100" in format_size(found)
    few = size_for_users(crowded, 1_000, repeats=0)
    assert few.remedies.survey_users is None


# -- the label by itself -------------------------------------------------------------------------


def test_it_is_said_why_the_label_is_asked_for_alone():
    assert explain_label_question(SURVEY, 100_000) == []
    (said,) = explain_label_question(survey_of(weight="weight = 1"), 100_000)
    assert said == "The label is asked for alone in 20.0% of the reports: [label] weight says so."
    (said,) = explain_label_question(survey_of("users = 300"), 300)
    assert "300 users in [survey] are too few" in said
    (said,) = explain_label_question(SURVEY, 300)
    assert said.startswith("With 300 users in [survey] the label would be asked for alone in")


# -- pilots --------------------------------------------------------------------------------------


def test_a_pilot_may_have_asked_about_more():
    text = TEXT.format(users="", weight="").partition("[features.cups]")[0]
    people = pilot_of().build_population(read_survey(text).compile())
    assert len(people.conditionals) == 2


def test_a_pilot_is_no_more_than_its_reports_and_what_is_noise_in_it_is_named():
    small, large = replace(pilot_of(), reports=1_000), replace(pilot_of(), reports=10**6)
    vague, clear = (
        " ".join(format_size(size_for_users(SURVEY, 10**5, each, 1)).split()) for each in (small, large)
    )
    assert "as the pilot of 1,000 reports describes them; a larger one may find more" in vague
    assert f"The pilot is mostly noise about {', '.join(small.noise)}" in vague
    assert "hours" in small.noise
    assert "mostly noise" not in clear


def test_with_a_pilot_no_even_share_is_shown_and_the_label_told_least_exactly_is_named():
    text = format_size(size_for_users(SURVEY, 10**5, rare_pilot(), 1))
    assert "20.0% +-" not in text
    assert "Here that is 'yes'." in " ".join(text.split())
    assert "20.0% +-" in format_size(size_for_users(SURVEY, 10**5, repeats=0))


def test_one_is_a_person():
    assert "what 1 person would tell" in format_size(size_for_users(SURVEY, 1, repeats=1))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "tired"', 'name = "weary"', 'its label is "tired", the survey\'s is "weary"'),
        (
            'values = ["yes", "no"]\n\n',
            'values = ["no", "yes"]\n\n',
            'has the values "yes", "no", the survey',
        ),
        ("[features.hours]", "[features.sleep]", 'it has no feature "sleep", which the survey has'),
        ("bins = 8", "bins = 4", 'its feature "hours" differs from the survey\'s in edges'),
        ('"mint", ', "", 'its feature "kind" differs from the survey\'s in values'),
        ("range = [0, 20]", "range = [0, 30]", 'its feature "cups" differs from the survey\'s in high'),
    ],
)
def test_a_pilot_of_something_else_is_refused_with_the_difference(old, new, said):
    text = TEXT.format(users="", weight="")
    assert old in text
    other = read_survey(text.replace(old, new, 1))
    with pytest.raises(PilotError) as refused:
        size_for_users(other, 1_000, pilot_of())
    assert said in str(refused.value)


# -- the screen ----------------------------------------------------------------------------------


@pytest.mark.parametrize("users", [100, 5_000, 10**6])
def test_every_line_fits_a_hundred_columns(users):
    for size in (size_for_users(SURVEY, users, repeats=1), size_for_users(SURVEY, users, pilot_of(), 1)):
        assert max(map(len, format_size(size).splitlines())) <= 100
    assert max(map(len, format_comparison(compare_sizes(SURVEY)).splitlines())) <= 100
