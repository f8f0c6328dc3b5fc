"""Margins to expect: by number of people, with and without a pilot."""

import math
from dataclasses import replace

import pytest

from encoders.survey import read_survey
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_design.sizing.changes import compute_table_costs
from ldp_design.sizing.margins import Grade, Margin
from ldp_design.sizing.survey_size import (
    compare_sizes,
    size_for_margin,
    size_for_users,
)
from tests.ldp_design.sizing.surveys import SURVEY, make_rare_pilot, widest
from tests.support.relays import all_answers_text


@pytest.mark.slow
@pytest.mark.usefixtures("without_remedies")
@pytest.mark.parametrize("margin", [0.2, 0.05, 0.01])
def test_the_users_found_for_a_margin_have_it_and_slightly_fewer_do_not(margin):
    found = size_for_margin(SURVEY, margin)
    assert widest(found) <= margin
    fewer = size_for_users(SURVEY, round(found.users * 0.97), repeats=0)
    assert widest(fewer) > margin
    assert found.margins == size_for_users(SURVEY, found.users, repeats=0).margins


@pytest.mark.slow
def test_a_hundred_times_the_people_have_a_tenth_of_the_margins():
    few, many = compare_sizes(SURVEY, users=(200_000, 20_000_000))
    for one, other in zip(few.margins, many.margins, strict=True):
        assert one.margin == pytest.approx(10 * other.margin, rel=0.02)


@pytest.mark.slow
def test_margins_are_those_of_the_pilots_people():
    uniform, piloted = size_for_margin(SURVEY, 0.05), size_for_margin(SURVEY, 0.05, make_rare_pilot())
    assert piloted.users > 2 * uniform.users  # a rare label needs more people
    assert piloted.margins[1].class_margins[0] > 2 * piloted.margins[1].class_margins[1]


@pytest.mark.slow
def test_a_feature_that_is_never_asked_about_has_no_margin():
    partial = replace(SURVEY, weights=(None, 1, 0, 1, 1))
    assert [each.name for each in compare_sizes(partial)[0].margins] == ["tired", "kind", "cups", "sugar"]


@pytest.mark.parametrize(
    ("margin", "values", "typical", "expected"),
    [
        (0.05, 5, 0.2, Grade.GOOD),
        (0.12, 5, 0.2, Grade.ROUGH),
        (0.13, 5, 0.2, Grade.NOISE),
        (0.25, 2, 0.5, Grade.ROUGH),
        (0.26, 2, 0.5, Grade.NOISE),
        (math.inf, 2, 0.5, Grade.NOISE),
        (5.0, None, 10.0, Grade.ROUGH),
        (6.1, None, 10.0, Grade.NOISE),
    ],
)
def test_one_rule_decides_what_is_noise(margin, values, typical, expected):
    found = Margin(
        name="",
        kind="",
        reports=(),
        question_probability=1,
        margin=margin,
        class_margins=(margin,),
        typical=typical,
        values=values,
    )
    assert found.grade is expected
    assert found.is_noise == (expected is Grade.NOISE) == (found.excess > 1)


@pytest.mark.parametrize("shares", [None, (0.1, 0.9)])
@pytest.mark.usefixtures("without_remedies")
def test_a_label_is_compared_with_the_share_of_its_rarest_class(shares):
    size = size_for_users(SURVEY, 5_000, repeats=0, label_shares=shares)
    assert size.margins[0].typical == pytest.approx(min(shares or (0.5,)))


@pytest.mark.slow
@pytest.mark.usefixtures("without_remedies")
def test_each_person_counts_for_every_question_if_the_survey_asks_all():
    names = "".join(f'[features.{each}]\nvalues = ["p", "q"]\n' for each in "xyz")
    text = all_answers_text(names.replace("[features.x]\n", "[features.x]\nalone = true\n"), 6)
    size = size_for_users(read_survey(f'{text}[tables.t]\nfeatures = ["x", "y"]\n'), 1000, repeats=0)
    x, y, z, table = size.margins
    assert {(each.reports, each.question_probability) for each in size.margins} == {((1000,), 1)}
    assert len(size.plan.questions) == 3  # x; z; x and y: epsilon 2 each
    # of one yes/no question, P(1 - P) / n of the reports, over the slope: (1/2) / tanh(1)
    assert z.margin == pytest.approx(1.96 * 0.5 / math.tanh(1) / math.sqrt(1000), rel=1e-3)
    # x is in two questions: its noise falls, and its sampling stays
    noise, sampling = z.margin**2 - 1.96**2 / 4000, 1.96**2 / 4000
    noise_in_table = y.margin**2 - sampling
    both = 1 / (1 / noise + 1 / noise_in_table)
    assert x.margin == pytest.approx(math.sqrt(both + sampling), rel=1e-3)
    # without the table, each of three answers has epsilon 2 again: one question less, one more
    [cost] = compute_table_costs(
        size.survey, size.plan, SyntheticPopulation.uniform(size.plan), 1000, size.margins
    )
    assert cost.other_people == pytest.approx(1)
    assert table.overall == pytest.approx(cost.margin)
