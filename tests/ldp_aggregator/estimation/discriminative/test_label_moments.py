"""Moments of values and classes: their order, and their covariance against explicit sums."""

from collections.abc import Sequence

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator.estimation.discrete.frequencies import estimate_frequencies
from ldp_aggregator.estimation.discriminative import DiscriminativeError, LabelMoments, estimate_label_moments
from ldp_aggregator.estimation.discriminative.label_moments import ALL_ROWS
from ldp_aggregator.estimation.raw_estimates import total_of
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from tests.support.surveys import make_plan


def compile_survey(label_weight: int = 1, labels: Sequence[str] = "ab", **more: list[str]) -> Plan:
    features = {"three": ["p", "q", "r"], "lone": {"values": ["x", "y"], "weight": 2}, "two": ["v", "w"]}
    label = {"values": list(labels), "weight": label_weight}
    return make_plan(epsilon=5, label=label, features=features | more)


def collect(plan: Plan, users: int = 5_000) -> Snapshot:
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(size, size=users) for size in (3, 2, 2)], axis=1)
    labels = (rng.random(users) < 0.2 + 0.3 * (codes[:, 0] == 1)).astype(np.int64)
    return simulate_reports(plan, codes, labels, FastStream(2))


@pytest.fixture(scope="module")
def moments() -> LabelMoments:
    return estimate_label_moments(collect(compile_survey()))


def test_moments_follow_the_order_of_the_plan_with_the_label_question_first(moments):
    assert moments.features == (ALL_ROWS, 0, 1, 2)
    assert moments.sizes == (1, 3, 2, 2)
    assert moments.mean.shape == (8, 2)


def test_survey_without_label_question_has_only_features():
    moments = estimate_label_moments(collect(compile_survey(label_weight=0)))
    assert moments.features == (0, 1, 2)
    assert moments.without_label_question() is moments


def test_moments_of_grouped_features_equal_explicit_sums_over_the_question():
    plan = compile_survey()
    snapshot = collect(plan)
    moments = estimate_label_moments(snapshot)
    grouped = [question for question in plan.questions if len(question.feature_indices) == 2]
    assert len(grouped) == 1, "epsilon 5 asks about two of these features in one report"
    (question,) = grouped
    frequencies = estimate_frequencies(question, total_of(snapshot, question))
    noise, f = frequencies.covariance, frequencies.covariance.distribution
    every = np.diag(noise.independent_variance) + noise.shared - np.outer(f, f) / noise.n
    every += noise.slope * (f[:, None] + f)
    rows = []
    for place, size in enumerate(question.shape[:-1]):
        for value in range(size):
            for label in range(2):
                mask = np.zeros(question.shape)
                where: list[slice | int] = [slice(None)] * len(question.shape)
                where[place], where[-1] = value, label
                mask[tuple(where)] = 1
                rows.append(mask.ravel())
    member = np.stack(rows)
    selected = moments.select(question.feature_indices).without_label_question()
    np.testing.assert_allclose(selected.mean.ravel(), member @ frequencies.raw, atol=1e-12)
    size = len(member)
    np.testing.assert_allclose(
        selected.covariance.reshape(size, size), member @ every @ member.T, atol=1e-15, rtol=1e-9
    )


def test_moments_of_different_questions_are_uncorrelated(moments):
    label_question, rest = moments.covariance[:1], moments.covariance[:1, :, 1:]
    assert np.abs(label_question[:, :, 0]).max() > 0
    assert np.abs(rest).max() == 0


def test_shares_add_up_over_classes(moments):
    shares = moments.select([1]).without_label_question()
    np.testing.assert_allclose(shares.shares, shares.mean[:, 0] + shares.mean[:, 1])
    np.testing.assert_allclose(
        np.diag(shares.share_covariance), np.einsum("acad->a", shares.covariance), rtol=1e-12
    )


def test_features_without_reports_are_left_out():
    plan = compile_survey()
    snapshot = collect(plan)
    (lone,) = (question for question in plan.questions if question.feature_indices == (1,))
    totals = {key: total for key, total in snapshot.totals.items() if key != lone.key}
    assert 1 not in estimate_label_moments(Snapshot(plan, totals)).features


def test_some_features_have_the_same_moments_and_covariances_as_all(moments):
    selected = moments.select([0, 1])
    assert selected.features == (ALL_ROWS, 0, 1)
    np.testing.assert_array_equal(selected.mean, moments.mean[:6])
    np.testing.assert_array_equal(selected.covariance, moments.covariance[:6, :, :6])


@pytest.mark.parametrize(
    ("classes", "sizes", "message"),
    [
        (2, (1_400, 1_400, 400), "the survey asks about 6414 combinations of a value and a class"),
        (2, (800, 800), "the features of the survey have 1607 values in all"),
        (120, (3,), "the label has 120 values"),
        (4, (900,), "one question asks about 3600 combinations of a value and a class"),
    ],
)
def test_survey_with_too_many_values_is_refused(classes, sizes, message):
    large = {f"large{place}": [f"v{number}" for number in range(size)] for place, size in enumerate(sizes)}
    plan = compile_survey(labels=[f"label {number}" for number in range(classes)], **large)
    with pytest.raises(DiscriminativeError, match=message):
        estimate_label_moments(Snapshot(plan, {}))
