"""A further round leaves out uninformative questions; everything else of the survey stays."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest

from encoders.mechanisms import NUMERIC_MECHANISMS
from encoders.survey import Survey, read_survey
from ldp_aggregator.estimation import IntervalEstimate, estimate_snapshot
from ldp_aggregator.estimation.validation_result import ValidationResult
from ldp_aggregator.snapshot import Snapshot
from ldp_design.rounds.narrow import (
    MIN_EXPLAINED_SHARE,
    MIN_GAIN,
    FeatureRelevance,
    compute_round_ends,
    find_validated_features,
    median_stderr,
    narrow_survey,
)

SURVEY = """
[survey]
id = "tea"
epsilon = {epsilon}
[label]
name = "tired"
values = ["yes", "no"]
weight = {label}
"""
FEATURE = '[features.f{number}]\nvalues = ["a", "b"]\n'
CLEARLY, NOISE = 0.1, 0.5


def make_relevances(
    relevance: Sequence[float], errors: Sequence[float] = (), noise: float = NOISE
) -> list[FeatureRelevance]:
    pairs = zip(relevance, errors or [CLEARLY] * len(relevance), strict=True)
    return [FeatureRelevance(explained, error, noise) for explained, error in pairs]


def make_survey(features: int = 4, epsilon: float = 1, label: int = 0, more: str = "") -> Survey:
    written = SURVEY.format(epsilon=epsilon, label=label)
    return read_survey(written + "".join(FEATURE.format(number=each) for each in range(features)) + more)


def keys(survey: Survey) -> set[str]:
    return {question.key for question in survey.compile().questions}


def test_the_fewest_questions_that_explain_nine_tenths_are_kept():
    survey = make_survey()
    assert MIN_EXPLAINED_SHARE == 0.9
    assert narrow_survey(survey, make_relevances([0.05, 0.5, 0.04, 0.41])).weights == (0, 0, 1, 0, 1)
    assert narrow_survey(survey, make_relevances([0.06, 0.5, 0.05, 0.39], noise=9)).weights == (0, 1, 1, 0, 1)


@pytest.mark.parametrize("relevance", [[0.3, 0.3, 0.2, 0.2], [0.0] * 4])
def test_the_survey_stays_if_every_question_is_needed_or_none_is_informative(relevance):
    survey = make_survey()
    if not any(relevance):
        relevance = [1e-9] * 4
    assert narrow_survey(survey, make_relevances(relevance)) is survey


@pytest.mark.parametrize("error", [1.01, math.inf])
def test_nothing_is_left_out_while_the_median_standard_error_is_above_one(error):
    survey = make_survey()
    assert narrow_survey(survey, make_relevances([1, 0, 0, 0], [error] * 3 + [CLEARLY])) is survey
    assert narrow_survey(survey, make_relevances([1, 0, 0, 0], [error] + [CLEARLY] * 3)).weights == (
        0,
        1,
        0,
        0,
        0,
    )


@pytest.mark.parametrize(
    ("relevance", "noise", "gains"),
    [
        ([0.5, 0.05, 0, 0], 0.5, True),
        ([0.5, 0.05, 0, 0], 0.02, False),  # the informative features are known precisely
        ([0.2, 0.15, 0.1, 0.04], 0.1, False),  # the features left out are informative
        ([0.2, 0.01, 0.01, 0.0], 0.1, True),
    ],
)
def test_nothing_is_left_out_if_little_would_be_gained(relevance, noise, gains):
    survey = make_survey()
    found = narrow_survey(survey, make_relevances(relevance, noise=noise))
    assert (found is not survey) == gains
    order = sorted(relevance, reverse=True)
    fewest = next(n for n in range(1, 5) if sum(order[:n]) >= MIN_EXPLAINED_SHARE * sum(order))
    more = 1 + 4 / fewest
    narrow = sum(r * r / (r + noise / (more if n < fewest else 1)) for n, r in enumerate(order) if r)
    assert (narrow / sum(r * r / (r + noise / 2) for r in order if r) >= MIN_GAIN) == gains


def test_a_feature_left_out_is_not_asked_again_and_its_error_does_not_count():
    survey = make_survey()
    second = narrow_survey(survey, make_relevances([0.5, 0.45, 0.05, 0], noise=9))
    assert second.weights == (0, 1, 1, 0, 0)
    assert median_stderr(second, make_relevances([1] * 4, [0.2, 0.4, math.inf, math.inf])) == pytest.approx(
        0.3
    )
    third = narrow_survey(
        second, make_relevances([0.95, 0.05, 5, 5], [0.2, 0.4, math.inf, math.inf], noise=9)
    )
    assert third.weights == (0, 1, 0, 0, 0)


@pytest.mark.slow
def test_a_narrowed_round_asks_a_subset_of_the_questions_so_that_reports_add_up():
    more = '[features.many]\nvalues = ["a", "b", "c", "d", "e", "f"]\n'
    for epsilon in (1, 4, 6):  # from about 3 on, questions are about several features
        survey = make_survey(12, epsilon, more=more)
        plan = survey.compile()
        for informative in range(13):
            relevance = [1.0 if place == informative else 0.001 for place in range(13)]
            second = narrow_survey(survey, make_relevances(relevance))
            asked = next(
                each.feature_indices for each in plan.questions if informative in each.feature_indices
            )
            assert keys(second) < keys(survey)
            assert {place for place, weight in enumerate(second.weights[1:]) if weight} == set(asked)


def test_both_questions_about_a_number_are_kept_or_left_out_together():
    survey = make_survey(2, more="[features.number]\nrange = [0, 10]\n")
    kept = narrow_survey(survey, make_relevances([0, 0, 1]))
    assert kept.weights == (0, 0, 0, 1)
    assert [each.kind for each in kept.compile().questions] == ["mean", "square"]
    assert keys(kept) < keys(survey)
    left = narrow_survey(survey, make_relevances([1, 0, 0]))
    assert keys(left) < keys(survey)


NUMBER = "[features.number]\nrange = [0, 10]\n"


@pytest.mark.parametrize("more", ["", NUMBER])
@pytest.mark.parametrize("label", [1, 3, 10])
@pytest.mark.parametrize("kept", [1, 4])
def test_the_label_is_asked_in_the_same_proportion(more, label, kept):
    survey = make_survey(20, label=label, more=more)
    relevance = [1.0] * kept + [0.0] * (len(survey.features) - kept)
    second = narrow_survey(survey, make_relevances(relevance))
    assert keys(second) < keys(survey)
    shares = []
    for each in (survey, second):
        questions = each.compile().questions
        shares.append(questions[0].weight / sum(question.weight for question in questions))
    assert shares[1] == pytest.approx(shares[0], rel=0.05)


@pytest.mark.parametrize("users", [None, 500])
def test_a_label_that_is_not_asked_by_itself_is_not_asked_in_the_next_round_either(users):
    survey = dataclasses.replace(make_survey(20), weights=(None, *[1] * 20), users=users and 10**9)
    second = narrow_survey(survey, make_relevances([1.0] + [0.0] * 19))
    assert second.weights[0] == (None if users is None else 0)
    few = dataclasses.replace(second, users=users)
    assert keys(few) < keys(survey)


@pytest.mark.parametrize("numeric", ["auto", *NUMERIC_MECHANISMS])
def test_a_question_that_estimates_the_label_s_shares_is_kept(numeric):
    more = f'{NUMBER}[features.more]\nrange = [0, 10]\n[mechanism]\nnumeric = "{numeric}"\n'
    survey = dataclasses.replace(make_survey(12, more=more), weights=(None, *[1] * 14))
    for numbers in ([1.0, 0.0], [0.0, 1.0]):
        second = narrow_survey(survey, make_relevances([0.001] * 11 + [0.002, *numbers]))
        assert keys(second) < keys(survey)
        assert sum(bool(weight) for weight in second.weights[1:]) <= 3


def test_half_of_the_people_answer_the_first_round_and_the_others_equal_shares_of_the_later_ones():
    assert compute_round_ends(1000, 1) == [1000]
    assert compute_round_ends(1000, 2) == [500, 1000]
    assert compute_round_ends(1001, 3) == [500, 751, 1001]
    assert compute_round_ends(10, 5) == [5, 6, 8, 9, 10]


@pytest.mark.parametrize(
    ("asked", "validated", "gain", "expected"),
    [
        (4, (1, 2, 0, 3), 0.5, {1, 2}),  # the round selects a subset
        (4, (1, 2), -0.5, {1, 2}),  # the model has fewer features than are asked
        (2, (0, 1), -0.5, set()),
        (2, (0, 1, 2, 3), 0.5, {0, 1}),
    ],
)
def test_a_selected_subset_or_a_model_of_fewer_features_than_are_asked_decides_the_features(
    asked, validated, gain, expected
):
    survey = make_survey(4)
    survey = dataclasses.replace(survey, weights=(0, *(int(place < asked) for place in range(4))))
    estimates = estimate_snapshot(Snapshot(survey.compile(), {}))
    gains = IntervalEstimate.from_stderr(np.array([gain]), np.array([0.01]), (-1, 1))
    names = tuple(survey.features[place].name for place in validated)
    result = ValidationResult(names, (2,), accuracy=gains, gains=gains)
    estimates = dataclasses.replace(
        estimates, validation=dataclasses.replace(estimates, validation_result=result)
    )
    assert find_validated_features(estimates, survey) == expected


def test_features_of_a_validated_model_are_asked_even_if_others_explain_more():
    survey = make_survey(4)
    relevance = make_relevances([0.9, 0.0, 0.0, 0.0])
    assert narrow_survey(survey, relevance, frozenset({1, 2})).weights == (0, 0, 1, 1, 0)
    assert narrow_survey(survey, relevance, frozenset({0, 1, 2, 3})) is survey


def test_all_choices_of_an_entry_are_kept_or_left_out_together():
    survey = make_survey(2, more='[features.cups]\nchoices = ["s", "m", "l"]\n')
    assert narrow_survey(survey, make_relevances([0, 0, 0.9, 0, 0], noise=9)).weights == (0, 0, 0, 1, 1, 1)
    assert narrow_survey(survey, make_relevances([0, 0.9, 0, 0, 0.001])).weights == (0, 0, 1, 0, 0, 0)
