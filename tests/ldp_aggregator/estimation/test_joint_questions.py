"""Questions about several features: the estimates of each feature, against the full covariance matrix."""

import json
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pytest

from encoders.mechanisms import MECHANISMS, design
from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator.collector.current_results import describe_progress
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.estimation.intervals import estimate_conditional_intervals, estimate_joint_intervals
from ldp_aggregator.estimation.poisoning.summary import PoisoningSummary
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot, Total
from tests.ldp_aggregator.estimation.conftest import without_intervals
from tests.ldp_aggregator.estimation.poisoning.test_influence import influences, payloads, without
from tests.support.statistical_checks import (
    assert_correct_errors,
    assert_covered,
    assert_unbiased,
    small_and_full,
)
from tests.support.surveys import make_plan

VALUES = ["p", "q", "r"]
"""Of the feature "three"."""
# P(three, two, label): "three" and "two" are correlated, and "two" alone is uninformative
JOINT = np.array([[[0.15, 0.03], [0.04, 0.06]], [[0.05, 0.12], [0.11, 0.06]], [[0.1, 0.05], [0.15, 0.08]]])
THREE, TWO, PRIOR = JOINT.sum(axis=1), JOINT.sum(axis=0), JOINT.sum(axis=(0, 1))
LONE = np.array([0.3, 0.6])


@dataclass(frozen=True)
class World:
    """A population's truth, and a way to collect reports from it."""

    plan: Plan
    joint: np.ndarray

    def snapshot(self, users: int, seed: int) -> Snapshot:
        rng = np.random.default_rng([seed, 1])
        drawn = rng.choice(self.joint.size, size=users, p=self.joint.ravel())
        three, two, label = np.unravel_index(drawn, self.joint.shape)
        lone = (rng.random(users) >= LONE[label]).astype(np.int64)
        return simulate_reports(self.plan, np.column_stack([three, lone, two]), label, FastStream([seed, 2]))


def make_world(name: str, values: int = 3) -> World:
    """Ask about "three" and "two" in one question, by any mechanism; only "auto" groups by itself.

    With 2 values of "three" there are 2^8 payloads of OUE instead of 2^12.
    """
    features = {"three": VALUES[:values], "lone": {"values": ["x", "y"], "weight": 2}, "two": ["v", "w"]}
    plan = make_plan(epsilon=5, label={"name": "label", "values": ["a", "b"]}, features=features)
    assert [each.feature_indices for each in plan.questions] == [(0, 2), (1,)]
    joint = JOINT[:values] / JOINT[:values].sum()
    oracle = design(name, joint.size, Decimal(3))
    asked = (replace(plan.questions[0], mechanism=oracle), plan.questions[1])
    return World(replace(plan, questions=asked), joint)


@pytest.fixture(params=MECHANISMS)
def world(request: pytest.FixtureRequest) -> World:
    return make_world(request.param)


# -- noise ---------------------------------------------------------------------------------------


def matrix(noise: FrequencyCovariance) -> np.ndarray:
    """Return the covariance matrix that a Noise describes."""
    f = noise.distribution
    bound = noise.slope * (f[:, None] + f) - np.outer(f, f) / noise.n
    return np.diag(noise.independent_variance) + noise.shared + bound


@pytest.mark.parametrize("shape", [(3, 2, 2), (2, 3, 5), (4, 2), (2, 2, 2, 3)])
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_noise_of_a_feature_is_the_sum_over_the_full_covariance_matrix(name, shape):
    oracle, cells = design(name, int(np.prod(shape)), Decimal("2.5")), int(np.prod(shape))
    joint = np.random.default_rng(1).dirichlet(np.ones(cells))
    whole = oracle.covariance(joint[:, None], joint[None, :])
    np.fill_diagonal(whole, oracle.variance(joint))
    for place in range(len(shape) - 1):
        sums = np.zeros((shape[place] * shape[-1], *shape))
        for number, (value, label) in enumerate(np.ndindex(shape[place], shape[-1])):
            sums[number][(*[slice(None)] * place, value)][..., label] = 1
        sums = sums.reshape(-1, cells)
        noise = FrequencyCovariance.from_mechanism(oracle, sums @ joint, 1000)
        np.testing.assert_allclose(matrix(noise), sums @ whole @ sums.T / 1000, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.diag(matrix(noise)), noise.variance, rtol=1e-9)


@pytest.mark.parametrize("surveys", small_and_full(60, 500, long=True))
def test_each_features_estimates_are_unbiased_and_their_errors_correct(world, surveys):
    collected = [compute_raw_estimates(world.snapshot(3000, seed)) for seed in range(surveys)]
    for place, truth in ((0, THREE), (2, TWO)):
        frequencies = [estimate_joint_intervals(each.feature_estimates[place], 2) for each in collected]
        assert_unbiased(frequencies, truth)
        assert_correct_errors(frequencies)
        assert_covered(frequencies, truth)
        assert_covered(
            [estimate_conditional_intervals(each.feature_estimates[place], 2) for each in collected],
            truth / PRIOR,
        )
    priors = [each.prior.estimate for each in collected]
    assert_unbiased(priors, PRIOR)
    assert_correct_errors(priors)
    assert_covered(priors, PRIOR)


# -- what follows ---------------------------------------------------------------------------------


def test_the_pooled_prior_counts_the_question_once():
    snapshot = make_world("SS").snapshot(5000, 1)
    question, lone = snapshot.plan.questions
    prior = compute_raw_estimates(snapshot).prior
    assert list(prior.weights) == [0, 1]
    alone = compute_raw_estimates(
        Snapshot(snapshot.plan, {question.key: snapshot.totals[question.key]}, {})
    ).prior
    assert alone.weights == {0: 1.0}
    counts, _ = question.mechanism.estimate(
        snapshot.totals[question.key].cells, snapshot.totals[question.key].n
    )
    shares = (counts / snapshot.totals[question.key].n).reshape(6, 2).sum(axis=0)
    np.testing.assert_allclose(alone.estimate.value, shares)
    other = compute_raw_estimates(
        Snapshot(snapshot.plan, {lone.key: snapshot.totals[lone.key]}, {})
    ).prior.estimate
    both = prior.weights[0] * alone.estimate.value + prior.weights[1] * other.value
    np.testing.assert_allclose(prior.estimate.value, both)


def test_the_classes_of_each_feature_are_distinguishable_by_its_own_values():
    estimates, classifier = estimate_survey(make_world("DE").snapshot(60_000, 1))
    three, lone, two = estimates.features
    assert three.distinguishable_entries.all()
    assert lone.distinguishable_entries.all()
    assert not two.distinguishable_entries.any()
    np.testing.assert_allclose(classifier.conditionals[0], THREE / PRIOR, atol=0.03)
    np.testing.assert_allclose(classifier.conditionals[2], TWO / PRIOR, atol=0.03)


def test_few_reports_and_none_give_json():
    for users in (0, 1, 30):
        document = estimate_snapshot(make_world("OUE").snapshot(users, 1)).as_dict()
        assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_features_name_the_others_in_the_same_reports():
    snapshot = make_world("OUE").snapshot(2000, 1)
    estimates = estimate_snapshot(snapshot)
    assert [each.asked_with for each in estimates.features] == [("two",), (), ("three",)]
    assert [each["asked_with"] for each in estimates.as_dict()["features"]] == [["two"], [], ["three"]]
    three, lone, two = estimates.features
    assert three.n == two.n == 2000 - lone.n
    assert [(each["name"], each["n"]) for each in describe_progress(snapshot)["questions"]] == [
        ("three, two", three.n),
        ("lone", lone.n),
    ]


# -- the poisoning meter ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("name", "values"), [("DE", 3), ("OUE", 2), ("SS", 3)])
def test_no_payload_moves_a_features_estimates_beyond_the_bound_and_one_attains_it(name, values):
    snapshot = make_world(name, values).snapshot(20_000, 1)
    question = snapshot.plan.questions[0]
    before = [
        compute_raw_estimates(without(snapshot, question, each)).feature_estimates
        for each in payloads(question.mechanism)
    ]
    now, bound = (
        compute_raw_estimates(snapshot).feature_estimates,
        influences(estimate_snapshot(snapshot, poisoning=True), question),
    )
    # ratios are first-order
    for interval, name, slack in (
        (estimate_joint_intervals, "frequencies", 1e-9),
        (estimate_conditional_intervals, "conditionals", 0.03),
    ):
        for place, feature in ((0, "three"), (2, "two")):
            with without_intervals():
                values = np.stack([interval(each[place], 2).value for each in before])
            moved = abs(interval(now[place], 2).value - values).max(axis=0)
            np.testing.assert_allclose(moved, bound[f"{name} of {feature}"].one, rtol=slack)
    of_features = ("shares", "frequencies", "conditionals", "risk_differences")
    of_table = {"cells", "row_shares", "column_shares", "prior"}
    assert set(bound) == of_table | {f"{what} of {name}" for what in of_features for name in ("three", "two")}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "values"), [("DE", 3), ("OUE", 2), ("SS", 3)])
def test_no_payload_moves_the_prior_beyond_the_bound_and_one_attains_it(name, values):
    """With the grouped question alone, whose pooling weight is then 1."""
    full = make_world(name, values).snapshot(20_000, 1)
    question = full.plan.questions[0]
    snapshot = Snapshot(full.plan, {question.key: full.totals[question.key]}, {})
    with without_intervals():
        values = [
            compute_raw_estimates(without(snapshot, question, each)).prior.estimate.value
            for each in payloads(question.mechanism)
        ]
    moved = abs(compute_raw_estimates(snapshot).prior.estimate.value - np.stack(values)).max(axis=0)
    np.testing.assert_allclose(
        moved, influences(estimate_snapshot(snapshot, poisoning=True), question)["prior"].one, rtol=1e-9
    )


def test_an_alarm_names_the_values_of_all_features_of_a_question():
    plan = make_world("OUE").plan
    question, rng = plan.questions[0], np.random.default_rng(2)
    honest = question.mechanism.perturb_many(rng.choice(12, size=6000, p=JOINT.ravel()), FastStream(7))
    fakes = np.tile(np.array([[0b11, 0]], dtype=np.uint8), (600, 1))  # the first two cells

    def meter(payloads: np.ndarray) -> PoisoningSummary:
        total = Total(len(payloads), question.mechanism.tally(payloads))
        support = Total(0, question.mechanism.support_counters.count(payloads))
        snapshot = Snapshot(plan, {question.key: total, question.support_key: support})
        return estimate_snapshot(snapshot, poisoning=True).poisoning

    assert not meter(honest).alarms
    check = meter(np.concatenate([honest, fakes]))
    assert [each.question for each in check.alarms] == [question.name]
    assert [each.question for each in check.untested] == ["lone"]
    pair = ("[three = p, two = v, label = a]", "[three = p, two = v, label = b]")
    assert pair in [each.values for each in check.alarms[0].alarm.suspicious_pairs]
