"""From totals to estimates: both estimators, and estimates from few or no reports."""

import json
from dataclasses import replace

import numpy as np
import pytest

from encoders.mechanisms import MECHANISMS, NUMERIC_MECHANISMS
from encoders.randomness import FastStream
from encoders.survey import Plan, Survey, read_survey
from ldp_aggregator.estimation import EstimationError, estimate_snapshot
from ldp_aggregator.estimation.discrete.frequencies import replace_negatives
from ldp_aggregator.estimation.estimates import estimate_parameters, estimate_survey
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot, Total
from ldp_aggregator.statements.warnings import find_warnings
from tests.ldp_aggregator.estimation.conftest import (
    World,
    assert_equal_results,
    make_world,
    number_world,
    raw_results,
)
from tests.support.surveys import make_plan, survey_toml

# Yilmaz et al. 2019, table 1
CUSTOMERS = """
young low male yes,young high female yes,medium high male no,old medium male no,old high male no
old low female yes,medium low female no,medium medium male yes,young low male no,old high female no
"""


def payments(mechanism: str = "DE", **changes: object) -> Survey:
    features = {
        "age": ["young", "medium", "old"],
        "income": ["low", "medium", "high"],
        "gender": ["male", "female"],
    }
    settings = {"epsilon": 16.0, "label": {"name": "missed", "weight": 1}} | changes
    return read_survey(survey_toml(features=features, mechanism={"frequency": mechanism}, **settings))


def customers(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    rows = [line.split() for line in CUSTOMERS.strip().replace("\n", ",").split(",")]
    coded = [plan.encode(dict(zip(["age", "income", "gender"], row, strict=False)), row[3]) for row in rows]
    return np.array([codes for codes, _ in coded]), np.array([label for _, label in coded])


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["DE", "SUE", "OUE", "SHE", "THE", "SS"])
@pytest.mark.parametrize("estimator", ["default", "paper"])
def test_the_worked_example_of_the_paper_is_reproduced(mechanism, estimator):
    # Tables 1 and 2 ask for a young woman with a medium income: .025 for "missed"; the other product is
    # .6 (1/6)(1/6)(2/6) = .0056, which the paper misprints as .055, flipping its conclusion
    plan = payments(mechanism).compile()
    codes, labels = (np.repeat(array, 20_000, axis=0) for array in customers(plan))
    found = estimate_parameters(simulate_reports(plan, codes, labels, FastStream(1)), estimator)
    tables = LogProbabilities.from_probabilities(found.prior, found.conditionals)
    woman = np.array([plan.encode_row({"age": "young", "income": "medium", "gender": "female"})])
    products = np.exp(tables.compute_scores(woman))[0]
    np.testing.assert_allclose(products, [0.025, 0.6 / 108], rtol=0.1)
    np.testing.assert_allclose(found.conditionals[0][:, 0], [2 / 4, 1 / 4, 1 / 4], atol=0.015)
    np.testing.assert_allclose(found.conditionals[0][:, 1], [1 / 6, 2 / 6, 3 / 6], atol=0.015)


def test_exact_totals_give_exact_estimates(de_world):
    snapshot = expected_snapshot(de_world, 10**9)
    estimates, classifier = estimate_survey(snapshot)
    np.testing.assert_allclose(estimates.features[0].frequencies.value, de_world.joint, atol=1e-6)
    conditionals = de_world.joint / de_world.prior
    np.testing.assert_allclose(estimates.features[0].conditionals.value, conditionals, atol=1e-4)
    np.testing.assert_allclose(classifier.prior, de_world.prior, atol=1e-6)
    np.testing.assert_allclose(classifier.conditionals[1], de_world.two / de_world.prior, atol=2e-3)


def expected_snapshot(world: World, n: int) -> Snapshot:
    truths = [world.prior, world.joint.ravel(), world.two.ravel()]
    totals = {}
    for question, truth in zip(world.plan.questions, truths, strict=True):
        mechanism = question.mechanism
        mean = n * (mechanism.off_mean + truth * (mechanism.on_mean - mechanism.off_mean))
        totals[question.key] = Total(n, np.rint(mean).astype(np.int64))
    return Snapshot(world.plan, totals, {})


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [*MECHANISMS, *NUMERIC_MECHANISMS])
def test_results_contain_the_raw_estimates_and_their_intervals(mechanism):
    world = make_world(mechanism) if mechanism in MECHANISMS else number_world(mechanism)
    snapshot = world.snapshot(2000, seed=1)
    raw = raw_results(snapshot, range(len(world.plan.features)))
    assert_equal_results(estimate_snapshot(snapshot), raw)


def test_without_reports_probabilities_are_uniform_and_json_is_valid(world):
    for estimator in ("default", "paper"):
        estimates, classifier = estimate_survey(Snapshot(world.plan, {}, {}), estimator)
        np.testing.assert_allclose(classifier.prior, 1 / 3)
        np.testing.assert_allclose(classifier.conditionals[0], 1 / 4)
        document = json.loads(json.dumps(estimates.as_dict(), allow_nan=False))
        assert document["features"][0]["conditionals"]["stderr"] == [[None] * 3] * 4
        assert document["features"][0]["conditionals"]["high"] == [[1.0] * 3] * 4
        assert [each.id for each in find_warnings(estimates)] == ["warnings.empty"]


@pytest.mark.slow
@pytest.mark.parametrize("users", [1, 2, 5])
def test_few_reports_give_a_warning_for_each_feature(world, users):
    for estimator in ("default", "paper"):
        estimates, classifier = estimate_survey(world.snapshot(users, seed=3), estimator)
        assert estimates.reports == users
        json.dumps(estimates.as_dict(), allow_nan=False)
        for feature, conditional in zip(estimates.features, classifier.conditionals, strict=True):
            np.testing.assert_allclose(conditional.sum(axis=0), 1)
            assert feature.n == 0 or any(
                str(each).startswith(feature.name) for each in find_warnings(estimates)
            )


def test_a_feature_that_is_not_asked_cannot_inform():
    plan = replace(payments(), weights=(0, 1, 0, 1)).compile()
    codes, labels = (np.repeat(array, 500, axis=0) for array in customers(plan))
    estimates, classifier = estimate_survey(simulate_reports(plan, codes, labels, FastStream(2)))
    income = estimates.features[1]
    assert (income.mechanism, income.n) == (None, 0)
    np.testing.assert_allclose(classifier.conditionals[1], 1 / 3)
    assert np.isinf(income.conditionals.stderr).all()
    assert "warnings.not-asked" in [each.id for each in find_warnings(estimates)]


def test_the_papers_estimator_needs_the_label_question():
    plan = replace(payments(), weights=(0, 1, 1, 1)).compile()
    with pytest.raises(EstimationError, match=r"give \[label\] a weight of 1"):
        estimate_snapshot(Snapshot(plan, {}, {}), "paper")
    with pytest.raises(EstimationError, match="this survey does not ask: use the default estimator"):
        estimate_snapshot(Snapshot(make_plan(label=None), {}, {}), "paper")


def test_an_unknown_estimator_is_named(de_world):
    with pytest.raises(EstimationError, match="'magic' is not one of default, paper"):
        estimate_snapshot(Snapshot(de_world.plan, {}, {}), "magic")


def test_the_papers_conditionals_are_plain_ratios_of_its_counts(de_world):
    snapshot = de_world.snapshot(300, seed=4)
    estimates, classifier = estimate_survey(snapshot, "paper")
    feature = estimates.features[0]
    counts = replace_negatives(feature.frequencies.value * feature.n)
    np.testing.assert_allclose(classifier.conditionals[0], counts / counts.sum(axis=0))


def test_noise_alone_makes_no_class_impossible():
    label = {"values": ["yes", "no", "never"], "weight": 1}
    plan = payments(epsilon=1.0, label=label).compile()
    label, k = plan.questions[0], 3
    share = label.mechanism.off_mean
    # fewer reports contain "never" than noise alone would produce
    counts = np.rint(1000 * np.array([0.6 - share / 2, 0.4 - share / 2, share - 0.05])).astype(np.int64)
    estimates, classifier = estimate_survey(Snapshot(plan, {label.key: Total(1000, counts)}, {}))
    raw, errors = estimates.raw_prior.value, estimates.raw_prior.stderr
    assert raw[k - 1] < -errors[k - 1]
    assert 0 < classifier.prior[k - 1] < errors[k - 1]


def test_raw_estimates_do_not_depend_on_the_estimator(de_world):
    snapshot = de_world.snapshot(300, seed=4)
    one, other = (estimate_snapshot(snapshot, name).features[0] for name in ("default", "paper"))
    np.testing.assert_array_equal(one.frequencies.value, other.frequencies.value)
    np.testing.assert_array_equal(one.conditionals.low, other.conditionals.low)
