"""Levels of ordered features: when they are chosen, which intervals they have, and what devices answer."""

import itertools
import json
from decimal import Decimal

import numpy as np
import pytest

from encoders import canonical
from encoders.errors import SurveyError
from encoders.mechanisms import design
from encoders.survey import BinnedFeature, CategoricalFeature, Plan
from encoders.survey.auto_questions import MAX_LEVELS, MIN_LEVEL_GAIN, choose_widths
from encoders.survey.questions import find_shift, join_values
from ldp_aggregator.simulated_population import true_answers
from tests.support.mistakes import refuse
from tests.support.surveys import make_plan


def compile_bins(bins, **changes):
    hours = {"range": [0, 64], "bins": bins, "missing": "category"}
    return make_plan(**{"label": None, "features": {"hours": hours}} | changes)


def mean_variance(widths, values, variance):
    """Return the mean variance of cumulative shares by weighted least squares, with full matrices.

    All shares are known to add up to 1, so equal errors of all do not matter.
    """
    information = np.zeros((values, values))
    for width in widths:
        intervals = -(-values // width)
        shift = -values % width
        sums = np.equal.outer(np.arange(intervals), (np.arange(values) + shift) // width).astype(float)
        information += sums.T @ sums / (len(widths) * variance(intervals))
    covariance = np.linalg.inv(information)
    cumulative = np.tri(values)[:-1]
    cumulative -= cumulative.mean(axis=1, keepdims=True)
    return np.diag(cumulative @ covariance @ cumulative.T).mean()


@pytest.mark.slow
@pytest.mark.parametrize("values", [45, 64, 81, 100, 200])
def test_the_chosen_levels_are_the_best_of_their_kind(values):
    def variance(intervals):
        return design("auto", intervals, Decimal(1)).independent_variance

    flat = mean_variance((1,), values, variance)
    chains = [
        tuple(factor**power for power in reversed(range(count)))
        for factor in range(2, 33)
        for count in range(2, MAX_LEVELS + 1)
        if factor ** (count - 1) < values
    ]
    best = min(mean_variance(widths, values, variance) for widths in chains)
    chosen = mean_variance(choose_widths(values, variance), values, variance)
    assert chosen <= 1.05 * best
    assert chosen <= flat / MIN_LEVEL_GAIN


@pytest.mark.slow
def test_levels_begin_where_they_halve_the_variance():
    counts = [len(compile_bins(bins).questions) for bins in (8, 16, 32, 64, 200, 1000)]
    assert counts == sorted(counts)
    assert counts[0] == counts[1] == 1
    assert counts[3] > 1


def test_levels_have_equal_shares_of_the_people():
    plan = compile_bins(64)
    assert len({each.weight for each in plan.questions}) == 1
    assert [each.width for each in plan.questions][-1] == 1


@pytest.mark.parametrize("options", [{"label": {}}, {"mechanism": {"frequency": "OUE"}}, {"bins": 8}])
def test_labelled_surveys_fixed_mechanisms_and_few_bins_have_no_levels(options):
    [question] = compile_bins(**{"bins": 64, **options}).questions
    assert question.width == 1


@pytest.mark.parametrize(("values", "width"), [*itertools.product((5, 12, 13), (2, 3, 4))])
def test_intervals_have_equal_widths_but_the_first(values, width):
    feature = BinnedFeature("x", tuple(map(str, range(values + 1))), "category")
    joined, shift = join_values(feature, width), find_shift(feature, width)
    assert joined.edges[0] == "0"
    assert joined.edges[-1] == str(values)
    assert {int(b) - int(a) for a, b in itertools.pairwise(joined.edges[1:])} <= {width}
    codes = [(code + shift) // width for code in range(feature.size)]
    for value in range(values):
        low, high = (float(each) for each in joined.edges[codes[value] : codes[value] + 2])
        assert low <= value < high
    assert codes[-1] == joined.size - 1
    assert joined.texts[-1] == "(missing)"


def test_intervals_of_values_are_named_by_their_ends():
    feature = CategoricalFeature("x", tuple("abcde"), "error", ordered=True)
    assert join_values(feature, 2).values == ("a", "b to c", "d to e")


def test_only_ordered_features_with_enough_values_have_intervals():
    with pytest.raises(SurveyError, match="only an ordered feature can be asked about in intervals"):
        join_values(CategoricalFeature("x", tuple("abc"), "error"), 2)
    with pytest.raises(SurveyError, match="has too few values for intervals of 3"):
        join_values(CategoricalFeature("x", tuple("abc"), "error", ordered=True), 3)


def test_devices_answer_with_the_interval_of_their_value():
    plan = compile_bins(64)
    rows = np.arange(65)[:, None]
    labels, every = np.zeros(65, dtype=np.int64), np.arange(65)
    for question in plan.questions:
        expected = [question.value([code], 0) for code in range(65)]
        assert true_answers(question, rows, labels, every).tolist() == expected
        assert expected == sorted(expected)
        assert set(expected) == set(range(question.domain))
        assert question.meaning(expected[-1]) == {"hours": "(missing)"}


def test_a_plan_with_levels_is_read_back():
    plan = compile_bins(64)
    again = Plan.from_json(plan.json)
    assert again.json == plan.json
    assert [(each.width, each.shift, each.name) for each in again.questions] == [
        (each.width, each.shift, each.name) for each in plan.questions
    ]
    assert len({each.key for each in again.questions}) == len(plan.questions)


@pytest.mark.parametrize("width", [0, 1, -4, True, "4", 64, 100, None])
def test_a_tampered_width_is_refused(width):
    document = json.loads(compile_bins(64).json)
    document["questions"][0]["width"] = width
    refuse(canonical.dump_canonical_json(document), Plan.from_json)


def test_a_level_asked_twice_is_refused():
    document = json.loads(compile_bins(64).json)
    document["questions"].insert(0, document["questions"][0])
    assert "each question is asked at most once" in str(
        refuse(canonical.dump_canonical_json(document), Plan.from_json)
    )
