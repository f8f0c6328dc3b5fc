"""The validation result of a model, and the features that it selects."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from encoders.randomness import FastStream
from encoders.survey import Plan, Survey, read_survey
from encoders.survey.validation_round import Validation
from ldp_aggregator.estimation import EstimationError, Gaussian, IntervalEstimate, estimate_snapshot
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.estimation.relevance import compute_relevance
from ldp_aggregator.estimation.validation_result import SELECTION_ERROR, ValidationResult, make_uninformative
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.statements.warnings import find_warnings
from tests.support.statistical_checks import small_and_full
from tests.support.surveys import survey_toml

NAMES = ("informative", "echo", "again")
SURE, UNSURE, NOTHING = ((0, -900), (-900, 0)), ((0, -500), (-500, 0)), tuple([(0, 0)] * 65)
ALL, TOP = 0.62, 0.8
"""How often the label is the echo, which two features repeat, and how often the informative feature is."""


def make_survey(epsilon: float = 1) -> Survey:
    features = {name: ["a", "b"] for name in ("informative", "echo", "again")}
    features["number"] = {"range": [0, 1], "missing": "category"}
    return read_survey(survey_toml(epsilon=epsilon, features=features))


def make_validation(top_k: tuple[int, ...] = (1, 2)) -> Validation:
    """A model whose two echoes outvote the one informative feature."""
    survey = make_survey()
    return Validation(
        label=survey.label,
        features=survey.features,
        order=(0, 1, 2),
        top_k=top_k,
        prior=(0, 0),
        scores=(SURE, UNSURE, UNSURE, NOTHING),
    )


def make_people(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    top, echo = (np.where(rng.random(count) < often, labels, 1 - labels) for often in (TOP, ALL))
    return np.stack([top, echo, echo, np.zeros_like(top)], axis=1), labels


def validated(people: int, epsilon: float = 4, top_k: tuple[int, ...] = (1, 2), seed: int = 1) -> Snapshot:
    plan = make_survey(epsilon).with_validation(make_validation(top_k)).compile()
    return simulate_reports(plan, *make_people(people, seed), FastStream(seed))


def trained(people: int, epsilon: float = 4) -> Snapshot:
    return simulate_reports(make_survey(epsilon).compile(), *make_people(people, 2), FastStream(2))


def test_the_accuracy_and_the_gains_lie_within_their_intervals():
    # 5 standard errors: false alarm 6e-7 each
    found = ValidationResult.from_snapshot(validated(40_000))
    assert abs(found.accuracy.value - ALL) < 5 * found.accuracy.stderr < 0.03
    # with two features the first one, more certain, decides
    assert np.all(np.abs(found.gains.value - (TOP - ALL)) < 5 * found.gains.stderr)
    assert np.all(found.gains.stderr < 0.01)


@pytest.mark.parametrize("surveys", small_and_full(40, 200))
@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_the_standard_error_of_a_gain_is_its_spread_over_many_surveys(epsilon, surveys):
    found = [ValidationResult.from_snapshot(validated(3_000, epsilon, seed=seed)) for seed in range(surveys)]
    spread = np.std([each.gains.value for each in found], axis=0, ddof=1)
    claimed = np.mean([each.gains.stderr for each in found], axis=0)
    # 5 standard errors of a standard deviation
    assert np.all(np.abs(spread / claimed - 1) < 5 / math.sqrt(2 * surveys))


def test_the_top_k_set_with_the_best_significant_gain_is_selected_else_all_features():
    sure = ValidationResult.from_snapshot(validated(40_000))
    assert (sure.selected, sure.selected_features) in [(0, NAMES[:1]), (1, NAMES[:2])]
    unsure = ValidationResult.from_snapshot(validated(40, epsilon=0.5, seed=2))
    assert (unsure.selected, unsure.selected_features) == (None, NAMES)
    nothing = ValidationResult.from_snapshot(validated(0))
    assert nothing.selected is None


@pytest.mark.parametrize(
    ("gains", "errors", "chosen"),
    [
        ([0.05, 0.06, 0.06], [0.01] * 3, 0),  # within a standard error of the largest
        ([0.04, 0.06, 0.061], [0.01] * 3, 1),
        ([0.04, 0.05, 0.06], [0.005] * 3, 2),
        ([0.015, 0.0, -0.5], [0.01] * 3, None),  # 1.83 standard errors would suffice
        ([0.0, 0.019, -0.5], [0.01] * 3, 1),
        ([0.1, 0.04, 0.1], [0.15, 0.015, 0.15], 0),  # within one standard error, though not significant
        ([-0.5, 0.02, 0.05], [0.001, 0.002, 0.6], 1),  # an uncertain set is not the reference
        ([np.nan, 0.5, np.nan], [np.inf, 0.1, np.inf], 1),
        ([np.nan] * 3, [np.inf] * 3, None),
    ],
)
def test_the_smallest_set_within_a_standard_error_of_the_best_is_selected(gains, errors, chosen):
    found = ValidationResult.from_snapshot(validated(100))
    estimate = IntervalEstimate.from_stderr(np.array(gains), np.array(errors), (-1, 1))
    assert dataclasses.replace(found, gains=estimate).selected == chosen


@pytest.mark.parametrize("surveys", small_and_full(40, 300))
def test_a_set_without_gain_is_selected_in_at_most_a_tenth_of_surveys(surveys):
    survey = make_survey(4)
    same = dataclasses.replace(make_validation(), scores=(SURE, NOTHING[:2], NOTHING[:2], NOTHING))
    plan = survey.with_validation(same).compile()
    chosen = [
        ValidationResult.from_snapshot(
            simulate_reports(plan, *make_people(500, seed), FastStream(seed))
        ).selected
        for seed in range(surveys)
    ]
    kept = sum(each is not None for each in chosen)
    assert SELECTION_ERROR == 0.1
    assert kept <= stats.binom.isf(1e-6, surveys, SELECTION_ERROR)


@pytest.mark.slow
def test_unselected_features_are_uninformative_for_the_classifier():
    snapshot, validation = trained(20_000), validated(40_000, top_k=(1,))
    plain, classifier = estimate_survey(snapshot)
    kept, selected = estimate_survey(snapshot, validation=validation)
    assert plain.validation is None
    assert kept.validation_result is None
    assert (plain.used_features, kept.used_features) == ({0, 1, 2, 3}, {0})
    relevances = [compute_relevance(each, selected.prior) for each in selected.conditionals]
    assert relevances[0] == compute_relevance(classifier.conditionals[0], classifier.prior) > 0.1
    assert max(relevances[1:]) < 1e-12
    assert (kept.validation.survey, kept.validation.reports) == ("tea", 40_000)
    result = kept.validation.validation_result
    assert (result.selected, result.top_k, result.features) == (0, (1,), NAMES)
    # raw estimates are as they were
    assert [each.relevance for each in kept.features] == [each.relevance for each in plain.features]


def test_without_a_significant_gain_the_model_keeps_exactly_its_validated_features():
    few = dataclasses.replace(
        make_validation((1,)), order=(0, 1)
    )  # an earlier validation left out the others
    plan = make_survey(4).with_validation(few).compile()
    found, classifier = estimate_survey(
        trained(20_000), validation=simulate_reports(plan, *make_people(5_000), FastStream(1))
    )
    assert found.validation.validation_result.selected is None
    assert found.used_features == {0, 1}
    relevances = [compute_relevance(each, classifier.prior) > 1e-12 for each in classifier.conditionals]
    assert relevances == [True, True, False, False]


def test_uninformative_probabilities_are_those_of_all_people_for_each_class():
    prior = np.array([0.25, 0.75])
    table = make_uninformative(np.array([[0.8, 0.4], [0.2, 0.6]]), prior)
    np.testing.assert_allclose(table, [[0.5, 0.5], [0.5, 0.5]])
    number = make_uninformative(
        Gaussian(np.array([0.4, 0.0]), np.array([0.1, 0.2]), np.array([0.4, 0.0])), prior
    )
    assert isinstance(number, Gaussian)
    np.testing.assert_allclose(number.mean, [0.1, 0.1])
    np.testing.assert_allclose(number.variance, [0.175 + 0.25 * 0.75 * 0.4**2] * 2)
    assert number.missing is not None
    np.testing.assert_allclose(number.missing, [0.1, 0.1])


def test_a_validation_round_alone_has_a_validation_result():
    found = estimate_snapshot(validated(1_000))
    assert found.validation_result is not None


def test_warnings_include_those_of_the_validation_round():
    found = estimate_snapshot(trained(1_000), validation=validated(0))
    assert "warnings.of-round" in [each.id for each in find_warnings(found)]


def other_family(plan: Plan) -> Plan:
    return dataclasses.replace(plan, family="coffee")


def test_a_validation_of_another_survey_is_refused():
    snapshot, validation = trained(100), validated(100)
    elsewhere = Snapshot(other_family(validation.plan), validation.totals)
    with pytest.raises(EstimationError, match="tea has epsilon 2, and tea has 4"):
        estimate_snapshot(snapshot, validation=validated(100, epsilon=2))
    for wrong in (elsewhere, snapshot):
        with pytest.raises(EstimationError, match="does not validate a model of tea"):
            estimate_snapshot(snapshot, validation=wrong)
