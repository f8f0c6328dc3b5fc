"""Shares, numbers of all people and comparisons of two classes, against independent calculations."""

import itertools
import json
import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.shares.coverage import Coverage, Setting, measure_coverage
from benchmarks.shares.looks import watch_surveys
from benchmarks.shares.page import write_page
from benchmarks.shares.people import Detour, measure_people
from benchmarks.shares.populations import MADE_UP, MISSING, SHARE, collect_estimates, make_up
from encoders.mechanisms import MECHANISMS, NUMERIC_MECHANISMS, design
from ldp_aggregator.codec import from_json
from ldp_aggregator.estimation import (
    Estimates,
    EstimationError,
    FeatureResult,
    IntervalEstimate,
    NumberResult,
    estimate_snapshot,
    to_covariance,
)
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.feature_result import join_choices
from ldp_aggregator.estimation.intervals import (
    estimate_joint_intervals,
    estimate_share_intervals,
    standardise,
)
from ldp_aggregator.estimation.numeric.number import AllClasses, ClassMoments
from ldp_aggregator.estimation.odds_ratios import compare_two_classes, estimate_class_correlation
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.snapshot import Snapshot, Total
from tests.ldp_aggregator.estimation.conftest import make_world
from tests.support.snapshots import make_snapshot
from tests.support.statistical_checks import assert_correct_errors, assert_unbiased, small_and_full
from tests.support.surveys import make_plan

FEATURES = {
    "tea": {"values": ["black", "green", "white"], "missing": "category"},
    "hours": {"range": [0, 12], "missing": "category"},
    "naps": {"range": [-2, 5]},
    "cups": {"choices": ["small", "large"]},
}
CLASSES, N = 2, 1000
JOINT = np.array([[0.25, 0.1], [0.15, 0.2], [0.05, 0.25]])
"""P(value, label)."""


# -- the variance of sums over classes, by enumeration ----------------------------------------------


def enumerate_reports(name: str, d: int, value: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all reports of a value, (reports, d), and their probabilities, from p and q alone."""
    oracle = design(name, d, Decimal(1))
    p, q = oracle.on_mean, oracle.off_mean
    if name in ("DE", "SS"):
        size = round(p + (d - 1) * q)
        reports = np.array(
            [[int(i in each) for i in range(d)] for each in itertools.combinations(range(d), size)]
        )
        holds = reports[:, value] == 1
        return reports, np.where(holds, p / holds.sum(), (1 - p) / (~holds).sum())
    reports = np.array(list(itertools.product((0, 1), repeat=d)))
    ones = np.where(np.arange(d) == value, p, q)
    return reports, np.where(reports == 1, ones, 1 - ones).prod(axis=1)


def enumerate_covariance(name: str, frequencies: np.ndarray) -> np.ndarray:
    """Return the covariance matrix of one report's estimates of all frequencies."""
    oracle, d = design(name, len(frequencies), Decimal(1)), len(frequencies)
    second = np.zeros((d, d))
    for value, share in enumerate(frequencies):
        reports, probabilities = enumerate_reports(name, d, value)
        estimates = (reports - oracle.off_mean) / (oracle.on_mean - oracle.off_mean)
        np.testing.assert_allclose(probabilities @ estimates, np.arange(d) == value, atol=1e-9)
        second += share * np.einsum("r,ri,rj->ij", probabilities, estimates, estimates)
    return second - np.outer(frequencies, frequencies)


ENUMERATED = [name for name in MECHANISMS if name != "SHE"]


def make_table(name: str) -> Frequencies:
    """Return frequencies whose noise is evaluated at JOINT."""
    plan = make_plan(
        label=["a", "b"], features={"f": ["x", "y", "z"]}, mechanism={"frequency": name}, epsilon=1
    )
    [question] = [each for each in plan.questions if each.feature_indices]
    raw = JOINT.ravel()
    return Frequencies(question, N, raw, FrequencyCovariance.from_mechanism(question.mechanism, raw, N))


@pytest.mark.parametrize("name", ENUMERATED)
def test_the_covariance_of_shares_is_that_of_all_possible_reports(name):
    plan = make_plan(label=None, features={"f": ["x", "y", "z"]}, mechanism={"frequency": name}, epsilon=1)
    snapshot = make_snapshot(plan, 500)
    [estimate] = compute_raw_estimates(snapshot).share_estimates
    likely, found = estimate.covariance.distribution, to_covariance(snapshot, "f")
    np.testing.assert_allclose(found, enumerate_covariance(name, likely) / 500, rtol=1e-7, atol=1e-12)
    # the equation of the docstring
    oracle, both = design(name, 3, Decimal(1)), np.zeros((3, 3))
    for value, share in enumerate(likely):
        reports, probabilities = enumerate_reports(name, 3, value)
        both += share * np.einsum("r,ri,rj->ij", probabilities, reports, reports)
    p, q = oracle.on_mean, oracle.off_mean
    g = q + (p - q) * likely
    np.testing.assert_allclose(found, (both - np.outer(g, g)) / (500 * (p - q) ** 2), rtol=1e-7, atol=1e-12)


def test_the_diagonal_of_a_covariance_has_the_squares_of_the_standard_errors():
    plan = make_plan(
        label=["a", "b"],
        features=FEATURES | {"age": {"values": ["young", "old", "oldest"], "ordered": True}},
        tables={"both": {"features": ["tea", "age"]}},
    )
    snapshot = make_snapshot(plan)
    estimates = estimate_snapshot(snapshot)
    shares = {each.name: each for each in estimates.features if isinstance(each, FeatureResult)}
    expected = {name: each.shares.stderr for name, each in shares.items()}
    expected |= {each.name: each.cells.stderr.ravel() for each in estimates.tables}
    for name, stderr in (expected | {plan.label.name: estimates.raw_prior.stderr}).items():
        found = to_covariance(snapshot, name)
        np.testing.assert_allclose(np.sqrt(np.diag(found)), stderr, rtol=1e-9)
        np.testing.assert_allclose(found, found.T)
        assert (np.linalg.eigvalsh(found) > -1e-12).all()
    for name in ("cups: small", "cups: large"):
        found = np.sqrt(np.diag(to_covariance(snapshot, name, by_class=True)))
        np.testing.assert_allclose(found, shares[name].frequencies.stderr.ravel(), rtol=1e-9)


PAIRS = list(itertools.combinations(range(4), 2))
CONTRASTS = np.array([[(i == a) + sign * (i == b) for i in range(4)] for a, b in PAIRS for sign in (1, -1)])
"""The sums and the differences of two of four shares."""


@pytest.mark.parametrize("surveys", small_and_full(40, 600))
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_errors_of_sums_and_differences_follow_from_the_covariance(mechanism, surveys):
    world, found = make_world(mechanism), []
    for seed in range(surveys):
        snapshot = world.snapshot(1500, seed)
        raw, covariance = compute_raw_estimates(snapshot), to_covariance(snapshot, "four")
        stderr = np.sqrt(np.diag(CONTRASTS @ covariance @ CONTRASTS.T))
        found.append(IntervalEstimate.from_stderr(CONTRASTS @ raw.share_estimates[0].raw, stderr))
    assert_unbiased(found, CONTRASTS @ world.joint.sum(axis=1))
    assert_correct_errors(found, slack=0.05)


def test_a_covariance_needs_shares_and_is_unknown_without_reports():
    plan = make_plan(label=["a", "b"], features=FEATURES)
    empty = Snapshot(plan, {})
    assert (to_covariance(empty, "tea") == math.inf).all()
    for name in ("naps", "coffee", ""):
        with pytest.raises(EstimationError, match=f"^{name}: .*; choose one of tea, cups"):
            to_covariance(empty, name)


@pytest.mark.parametrize("name", ENUMERATED)
def test_the_variance_of_a_share_is_the_sum_of_the_covariances_of_its_cells(name):
    table, covariance = make_table(name), enumerate_covariance(name, JOINT.ravel()) / N
    sums = np.kron(np.eye(len(JOINT)), np.ones(CLASSES))
    found = table.covariance.sum_cells(CLASSES, axis=1)
    np.testing.assert_allclose(found.variance, np.diag(sums @ covariance @ sums.T), rtol=1e-9)
    np.testing.assert_allclose(found.distribution, JOINT.sum(axis=1))
    shares = estimate_share_intervals(table, CLASSES)
    np.testing.assert_allclose(shares.stderr**2, found.variance)
    # at each end the estimate is as unlikely as 1.96 standard errors of a normal variable
    for end, side in ((shares.low, 1), (shares.high, -1)):
        for place, (value, bound) in enumerate(zip(shares.value, end, strict=True)):
            at_end = JOINT * ((1 - bound) / (1 - value))
            at_end[place] = JOINT[place] * bound / value
            variance = (sums @ enumerate_covariance(name, at_end.ravel()) @ sums.T)[place, place] / N
            weights, members = np.eye(3)[0], np.array([1.0, 0.0, len(JOINT) - 1.0])
            of_report = found.contrast_moments(weights, members, np.array([bound, 0.0, 1 - bound]))
            assert of_report[0] == pytest.approx(variance, rel=1e-6)
            distance = value - bound - side * found.step / 2
            z = standardise(np.array([distance]), variance, of_report[1])
            assert z == pytest.approx(stats.norm.isf(0.025), rel=1e-6)


@pytest.mark.parametrize("name", ENUMERATED)
def test_the_correlation_of_two_classes_is_that_of_their_contrasts(name):
    table, covariance = make_table(name), enumerate_covariance(name, JOINT.ravel()) / N
    found = estimate_class_correlation(table)
    ratios = JOINT / JOINT.sum(axis=0)
    for value, correlation in enumerate(found):
        contrasts = np.zeros((CLASSES, *JOINT.shape))
        for label in range(CLASSES):
            contrasts[label, value, label] = 1.0
            contrasts[label, :, label] -= ratios[value, label]
        flat = contrasts.reshape(CLASSES, -1)
        expected = flat @ covariance @ flat.T
        assert correlation == pytest.approx(
            expected[0, 1] / math.sqrt(expected[0, 0] * expected[1, 1]), abs=1e-9
        )


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_share_is_the_sum_over_the_classes_and_without_a_label_the_mechanisms_estimate(name):
    features = {"f": ["x", "y", "z"]}
    for label in (["a", "b", "c"], None):
        plan = make_plan(label=label, features=features, mechanism={"frequency": name})
        snapshot = make_snapshot(plan, 500)
        [result] = estimate_snapshot(snapshot).features
        np.testing.assert_allclose(result.shares.value, result.frequencies.value.sum(axis=1), atol=1e-12)
    [question] = plan.questions
    [total] = snapshot.totals.values()
    counts, _ = question.mechanism.estimate(total.cells, total.n)
    np.testing.assert_allclose(result.shares.value, counts / total.n, atol=1e-12)
    [raw] = compute_raw_estimates(snapshot).feature_estimates
    variance = question.mechanism.variance(raw.covariance.distribution) / total.n
    np.testing.assert_allclose(result.shares.stderr, np.sqrt(variance))
    joint = estimate_joint_intervals(raw, 1)
    for name, array in vars(result.shares).items():
        np.testing.assert_allclose(array, getattr(joint, name)[:, 0])


# -- comparisons of two classes ---------------------------------------------------------------------


def compare_shares(shares, correlation):
    return compare_two_classes(shares, correlation, shares.value)


def wilson(count: int, n: int) -> tuple[float, float]:
    """Return Wilson's interval of a share, without the product's code."""
    z, p = stats.norm.isf(0.025), count / n
    middle, root = p + z**2 / (2 * n), z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return (middle - root) / (1 + z**2 / n), (middle + root) / (1 + z**2 / n)


def make_conditionals(*counts: tuple[int, int]) -> IntervalEstimate:
    """Return P(value | class) of one value in classes in which `count` of n people have it."""
    low, high = np.array([wilson(*each) for each in counts]).T[:, None]
    value = np.array([[count / n for count, n in counts]])
    return IntervalEstimate(value, np.full(value.shape, np.nan), low, high, low, high)


@pytest.mark.parametrize(
    ("first", "second", "difference", "low", "high"),
    [
        ((56, 70), (48, 80), 0.2000, 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.6000, 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.5714, 0.0582, 0.8062),
        ((5, 56), (0, 29), 0.0893, -0.0381, 0.1926),
    ],
)
def test_risk_differences_are_those_of_a_published_table(first, second, difference, low, high):
    """Newcombe (1998), table II, method 10: MOVER with Wilson's intervals of independent shares."""
    found = compare_shares(make_conditionals(first, second), np.zeros(1))["risk difference"]
    expected = difference, low, high
    assert [found.value[0], found.low[0], found.high[0]] == pytest.approx(expected, abs=5.1e-5)


@pytest.mark.parametrize("correlation", [-0.4, 0.0, 0.7])
def test_ratios_are_movers_of_logarithms_and_logits(correlation):
    counts = (56, 70), (48, 80)
    found = compare_shares(make_conditionals(*counts), np.array([correlation]))
    scales = {
        "risk difference": (float, float),
        "risk ratio": (math.log, math.exp),
        "odds ratio": (lambda p: math.log(p / (1 - p)), math.exp),
    }
    for name, (there, back) in scales.items():
        (a, la, ua), (b, lb, ub) = ([there(each) for each in (x / n, *wilson(x, n))] for x, n in counts)
        down = (a - la) ** 2 + (ub - b) ** 2 - 2 * correlation * (a - la) * (ub - b)
        up = (ua - a) ** 2 + (b - lb) ** 2 - 2 * correlation * (ua - a) * (b - lb)
        expected = back(a - b), back(a - b - math.sqrt(down)), back(a - b + math.sqrt(up))
        actual = found[name]
        assert [actual.value[0], actual.low[0], actual.high[0]] == pytest.approx(expected)


def test_a_ratio_is_unknown_only_where_its_own_intervals_touch_the_end_of_the_range():
    shares = make_conditionals((56, 70), (48, 80))
    wide = replace(shares, simultaneous_low=shares.low * [[1, 0]])
    ratio = compare_shares(wide, np.zeros(1))["risk ratio"]
    assert ratio.low[0] == compare_shares(shares, np.zeros(1))["risk ratio"].low[0]
    assert np.isnan([ratio.simultaneous_low, ratio.simultaneous_high]).all()
    touching = replace(wide, low=wide.simultaneous_low)
    found = compare_shares(touching, np.zeros(1))
    assert np.isnan(
        [each for name in ("risk ratio", "odds ratio") for each in vars(found[name]).values()]
    ).all()
    assert np.isfinite(list(vars(found["risk difference"]).values())).all()
    certain = replace(shares, high=np.ones((1, 2)))
    found = compare_shares(certain, np.zeros(1))
    assert np.isfinite(found["risk ratio"].high[0])
    assert np.isnan(found["odds ratio"].value[0])


def test_comparisons_are_of_the_consistent_shares_and_inside_their_interval():
    shares = make_conditionals((56, 70), (48, 80))
    correlation = np.zeros(1)
    raw = compare_shares(shares, correlation)
    for consistent, expected in (((0.7, 0.63), 0.07), ((0.5, 0.9), raw["risk difference"].low[0])):
        found = compare_two_classes(shares, correlation, np.array([consistent]))
        assert found["risk difference"].value[0] == pytest.approx(expected)
        assert found["risk difference"].low == raw["risk difference"].low
        assert found["risk difference"].simultaneous_high == raw["risk difference"].simultaneous_high
    found = compare_two_classes(shares, correlation, np.array([[0.7, 0.63]]))
    assert found["risk ratio"].value[0] == pytest.approx(0.7 / 0.63)
    for ends in ([0.0, 0.0], [1.0, 1.0]):  # there the odds ratio is not defined
        odds = compare_two_classes(shares, correlation, np.array([ends]))["odds ratio"]
        assert odds.value == raw["odds ratio"].value


# -- numbers of all people --------------------------------------------------------------------------


def perturb(raw: ClassMoments, change: np.ndarray) -> ClassMoments:
    """Return the moments with changed sources, (7, k), as if reports had been slightly different."""
    prior = raw.prior.estimate
    weights = [raw.weight_of(each) for each in raw.questions]
    value = prior.value + weights[0] * change[2] + weights[1] * change[5] + change[6]
    return replace(
        raw,
        questions=tuple(replace(each, raw=each.raw + change[own]) for each, own in raw.blocks),
        prior=replace(raw.prior, estimate=replace(prior, value=value)),
    )


def all_sources(raw: ClassMoments) -> np.ndarray:
    """Return the covariance of all sources of all classes, (7, k, 7, k), entry by entry."""
    k, between = raw.k, raw.prior.between
    share = np.clip(raw.prior.estimate.value, 0.0, 1.0)
    noise = np.zeros((raw.sources, k, raw.sources, k))
    for c, d in itertools.product(range(k), repeat=2):
        if c == d:
            noise[:, c, :, c] = raw.noise[:, :, c]
            continue
        rest = (
            between.constant + between.linear * (share[c] + share[d]) - between.product * share[c] * share[d]
        )
        for moments, own in raw.blocks:
            factor = moments.class_factor
            noise[own, c, own, d] = -np.outer(factor[:, c], factor[:, d])
            offset = moments.class_offset
            of_question = -(share[c] + offset) * (share[d] + offset) / moments.n
            rest -= raw.weight_of(moments) ** 2 * of_question
        noise[6, c, 6, d] = rest
    return noise


@pytest.mark.parametrize("name", NUMERIC_MECHANISMS)
def test_errors_of_numbers_of_all_people_are_propagated_from_every_source(name):
    features = {"hours": FEATURES["hours"], "tea": ["black", "green"]}
    plan = make_plan(label=["a", "b", "c"], features=features, mechanism={"numeric": name}, epsilon=3)
    raw = compute_raw_estimates(make_snapshot(plan, 30_000)).feature_estimates[0]
    noise, step = all_sources(raw), 1e-5
    found = AllClasses.from_classes(raw)
    for read in (
        lambda moments: AllClasses.from_classes(moments).mean,
        lambda moments: AllClasses.from_classes(moments).missing.over(
            AllClasses.from_classes(moments).class_share
        ),
    ):
        slopes = np.zeros((raw.sources, raw.k))
        # the weights of both questions in the missing share depend on the noise only, which stays the same
        for place in np.ndindex(slopes.shape):
            change = np.zeros(slopes.shape)
            change[place] = step
            ends = [read(perturb(raw, sign * change)).value[0] for sign in (1, -1)]
            slopes[place] = (ends[0] - ends[1]) / (2 * step)
        expected = np.einsum("ic,icjd,jd->", slopes, noise, slopes)
        assert read(raw).variance(found.noise)[0] == pytest.approx(expected, rel=1e-4)


def test_numbers_of_all_people_are_the_weighted_numbers_of_the_classes():
    plan = make_plan(label=["a", "b", "c"], features=FEATURES, epsilon=6)
    raw = compute_raw_estimates(make_snapshot(plan, 30_000))
    for each in raw.feature_estimates:
        if isinstance(each, ClassMoments):
            every, weights = AllClasses.from_classes(each), each.present.value
            assert every.mean.value[0] == pytest.approx(weights @ each.mean.value / weights.sum())


def test_without_a_label_all_people_are_the_only_class():
    plan = make_plan(label=None, features=FEATURES)
    for result in estimate_snapshot(make_snapshot(plan)).features:
        if isinstance(result, NumberResult):
            for name, one in vars(result.by_class).items():
                every = getattr(result.overall, name)
                for field, array in vars(one).items() if one else ():
                    np.testing.assert_allclose(getattr(every, field), array, err_msg=f"{name} {field}")


@pytest.mark.slow
@pytest.mark.parametrize("label", [None, ["a", "b"]])
def test_z_scores_have_the_variance_of_a_normal_distribution(label):
    """The mean of 100 squares, a chi-square variable, is outside both limits with a probability of 1e-6."""
    population = make_up()
    plan, surveys = population.plan("2", label is not None), 100
    found = [population.survey(plan, 3000, [41, each]) for each in range(surveys)]
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], surveys) / surveys
    for key in ((SHARE, "helmet"), ("mean", "weight"), (MISSING, "weight")):
        values = np.array([each[key].value[0] for each in found])
        errors = np.array([each[key].stderr[0] for each in found])
        assert low < np.mean(((values - population.truths[key][0]) / errors) ** 2) < high


# -- little data, and JSON --------------------------------------------------------------------------


def few_reports(label: list[str] | None, epsilon: float, mechanisms: dict[str, str], people: int) -> Snapshot:
    plan = make_plan(label=label, features=FEATURES, epsilon=epsilon, mechanism=mechanisms)
    if not people:
        return Snapshot(plan, {}, {})
    return make_snapshot(plan, people)


PAIRS = list(itertools.zip_longest(MECHANISMS, NUMERIC_MECHANISMS, fillvalue="auto"))


@pytest.mark.slow
@pytest.mark.parametrize(("frequency", "numeric"), PAIRS)
@pytest.mark.parametrize("epsilon", [0.1, 16.0])
def test_all_estimates_are_possible_and_survive_json_whatever_the_number_of_reports(
    frequency, numeric, epsilon
):
    by = {"frequency": frequency, "numeric": numeric}
    for label, people in itertools.product((None, ["a", "b"]), (0, 1, 3, 60)):
        estimates = estimate_snapshot(few_reports(label, epsilon, by, people))
        document = json.loads(json.dumps(estimates.as_dict(), allow_nan=False))
        assert from_json(Estimates, document).as_dict() == document
        for result in estimates.features:
            if isinstance(result, FeatureResult):
                check_intervals(result.shares, 0, 1)
                for name, each in result.comparisons.items():
                    known = np.isfinite(each.low)
                    assert (each.low <= each.high)[known].all()
                    assert ((each.low <= each.value) & (each.value <= each.high))[known].all()
                    assert not (np.isfinite(each.simultaneous_low) & ~known).any()
                    if name == "risk difference":
                        assert (np.abs(each.value[known]) <= 1).all()
            else:
                low, high = {"hours": (0, 12), "naps": (-2, 5)}[result.name]
                check_intervals(result.overall.means, low, high)
                check_intervals(result.overall.deviations, 0, (high - low) / 2)
                if result.overall.missing:
                    check_intervals(result.overall.missing, 0, 1)


def check_intervals(estimate: IntervalEstimate, low: float, high: float) -> None:
    ends = estimate.simultaneous_low, estimate.low, estimate.high, estimate.simultaneous_high
    for one, other in itertools.pairwise([np.full(1, low), *ends, np.full(1, high)]):
        assert (one <= other + 1e-12).all()


def test_a_class_without_people_makes_comparisons_unknown_not_wrong():
    plan = make_plan(label=["a", "b"], features={"f": ["x", "y"]}, mechanism={"frequency": "DE"}, epsilon=8)
    [question] = [each for each in plan.questions if each.feature_indices]
    # cells are (value, class): all 100 people are of the first class
    snapshot = Snapshot(plan, {question.key: Total(100, np.array([60, 0, 40, 0]))}, {})
    [result] = estimate_snapshot(snapshot).features
    assert result.shares.low[0] < 0.6 < result.shares.high[0]
    assert result.shares.value.sum() == pytest.approx(1)
    for name, each in result.comparisons.items():
        assert np.isnan(each.low).all() or name == "risk difference"
    difference = result.comparisons["risk difference"]
    assert np.isnan(difference.low).all() or (difference.high - difference.low >= 1).all()


def test_shares_of_questions_about_several_features_are_sums_over_the_others():
    features = {"three": ["p", "q", "r"], "two": ["v", "w"]}
    plan = make_plan(label=["a", "b"], features=features, epsilon=5)
    assert [each.feature_indices for each in plan.questions] == [(0, 1)]
    snapshot = make_snapshot(plan, 2000)
    [question], [total] = plan.questions, snapshot.totals.values()
    counts, _ = question.mechanism.estimate(total.cells, total.n)
    table = (counts / total.n).reshape(3, 2, 2)
    three, two = estimate_snapshot(snapshot).features
    np.testing.assert_allclose(three.shares.value, table.sum(axis=(1, 2)))
    np.testing.assert_allclose(two.shares.value, table.sum(axis=(0, 2)))
    # the sum of 6 of 12 cells has the variance of one report's estimate of that sum
    [_, raw] = compute_raw_estimates(snapshot).feature_estimates
    likely = raw.covariance.distribution.reshape(2, 2).sum(axis=1)
    expected = question.mechanism.variance(likely, 6) / total.n
    np.testing.assert_allclose(two.shares.stderr**2, expected)


def test_joined_choices_are_compared_like_their_features():
    plan = make_plan(label=["a", "b"], features={"cups": {"choices": ["small", "large"]}}, epsilon=4)
    snapshot = make_snapshot(plan, 5000)
    joined = collect_estimates(snapshot)
    for place, result in enumerate(estimate_snapshot(snapshot).features):
        for name in ("risk difference", "odds ratio"):
            own, shown = result.comparisons[name], joined[name, "cups"]
            # logarithms of arrays of other lengths may be rounded otherwise
            assert shown.value[place] == pytest.approx(own.value[1], rel=1e-12)
            assert shown.low[place] == pytest.approx(own.low[1], rel=1e-12)


@pytest.mark.slow
def test_equal_classes_are_called_different_in_one_choice_of_five_percent_of_surveys():
    """Of 60 surveys 3 are expected; 13 or more have a probability below 1e-4. One test each would find 20."""
    choices = [f"c{each}" for each in range(8)]
    plan = make_plan(label=["a", "b"], features={"cups": {"choices": choices}}, mechanism={"frequency": "DE"})
    rng, alarms = np.random.default_rng(7), 0
    for _ in range(60):
        totals = {}
        for question in plan.questions:
            totals[question.key] = Total(400, rng.multinomial(400, np.full(4, 0.25)))
        estimates = estimate_snapshot(Snapshot(plan, totals, {}))
        [(_, result)] = join_choices(plan.features, estimates.features)
        alarms += result.distinguishable
    assert alarms < 13


def test_the_relevance_of_choices_is_the_largest_that_is_known():
    cups = {"cups": {"choices": ["small", "large"]}}
    plan = make_plan(label=["a", "b"], features=cups, mechanism={"frequency": "DE"})
    snapshot = make_snapshot(plan, 5000)
    first, *_ = [each.key for each in plan.questions if 0 in each.feature_indices]
    totals = {key: total for key, total in snapshot.totals.items() if key != first}
    estimates = estimate_snapshot(Snapshot(plan, totals, {}))
    [(_, joined)] = join_choices(plan.features, estimates.features)
    assert joined.relevance == estimates.features[1].relevance
    assert np.isnan(joined.shares.value).tolist() == [True, False]


def test_simultaneous_intervals_of_choices_are_of_all_choices_and_the_missing_answer():
    cups = {"choices": [f"c{each}" for each in range(12)], "missing": "category"}
    plan = make_plan(label=None, features={"cups": cups}, mechanism={"frequency": "DE"})
    snapshot = make_snapshot(plan, 40_000)
    results, raw = estimate_snapshot(snapshot).features, compute_raw_estimates(snapshot)
    [(_, joined)] = join_choices(plan.features, results)
    assert joined.values[-1] == "(missing)"
    assert joined.counts == (*(each.n for each in results), max(each.n for each in results))
    most = max(results, key=lambda each: each.n)
    cells = [*((choice, 1) for choice in range(12)), (results.index(most), 2)]
    for place, (choice, index) in enumerate(cells):
        assert joined.shares.value[place] == results[choice].shares.value[index]
        expected = estimate_share_intervals(raw.share_estimates[choice], 1, 13)
        assert joined.shares.simultaneous_high[place] == pytest.approx(expected.simultaneous_high[index])


# -- the benchmark ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("labelled", [False, True])
def test_the_benchmark_measures_the_estimates_of_a_survey(labelled):
    plan = make_up().plan("1", labelled)
    snapshot = make_snapshot(plan, 3000)
    found = collect_estimates(snapshot)
    for result in estimate_snapshot(snapshot).features:
        if isinstance(result, NumberResult):
            pairs = [
                (found["mean", result.name], result.overall.means),
                (found[MISSING, result.name], result.overall.missing),
            ]
        elif result.name == "helmet":
            pairs = [(found[SHARE, result.name], result.shares)]
            pairs += [(found[name, result.name], each) for name, each in result.comparisons.items()]
        else:
            continue
        for one, other in pairs:
            for name, array in vars(one).items():
                np.testing.assert_array_equal(array, getattr(other, name), err_msg=name)


@pytest.mark.slow
def test_the_benchmark_writes_its_tables_into_a_page(tmp_path: Path):
    setting = Setting(MADE_UP, 500, "4", True)
    no_means = {"what": "mean", "10": 0, "40": 0, "200": 0, "all": 0, "wider": 1}
    results = {
        "coverage": measure_coverage(setting, 3, None),
        "people": measure_people(2),
        "looks": [*watch_surveys(SHARE, 0, 1), no_means],
    }
    page = tmp_path / "page.md"
    names = "summary", "coverage", "people", "looks"
    page.write_text(
        "\n".join(f"<!-- {name}: written by benchmarks.shares -->\n<!-- end of {name} -->" for name in names)
    )
    lines = list(write_page(page, results))
    text = page.read_text()
    assert all(line in text for line in lines)
    assert list(write_page(page, results)) == lines
    assert page.read_text() == text
    page.write_text("nothing")
    with pytest.raises(ValueError, match="summary"):
        list(write_page(page, results))
    known = Coverage(**results["coverage"][0])
    assert known.setting == setting


@pytest.mark.parametrize("values", [2, 5])
def test_without_a_label_at_most_half_as_many_people_are_needed(values):
    assert Detour(values, 1).people() * 2 <= Detour(values, 2).people()
