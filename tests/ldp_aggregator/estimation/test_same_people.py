"""If the same people answer all questions, their sampling counts once, and they are counted once."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator.estimation import NumberResult, estimate_snapshot
from ldp_aggregator.estimation.class_prior import LabelShares, pool_prior
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import pool_covariances
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.numeric.moments import Population
from ldp_aggregator.estimation.numeric.number import AllClasses, ClassMoments
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.estimation.sequential_intervals import hold_at_all_looks
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import dump_results, parse_results
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_reports, simulate_survey
from ldp_aggregator.snapshot import Snapshot, SnapshotError, Total, sum_snapshots
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.data import find_data
from ldp_aggregator.statements.privacy import PrivacyFacts
from ldp_aggregator.views.progress_page import render_progress
from ldp_aggregator.views.results_page import render_page
from tests.ldp_aggregator.estimation.conftest import RawResults, assert_equal_results, raw_results
from tests.support.relays import all_answers_plan
from tests.support.statistical_checks import assert_correct_errors, assert_covered, small_and_full

LABEL = '[label]\nname = "y"\nvalues = ["a", "b"]\n'
FEATURES = "".join(f'[features.x{each}]\nvalues = ["p", "q"]\n' for each in range(5))
ALONE = FEATURES.replace("[features.x0]\n", "[features.x0]\nalone = true\n")
TABLES = ALONE + "".join(f'[tables.t{each}]\nfeatures = ["x0", "x{each}"]\n' for each in range(1, 5))
NUMBER = '[features.z]\nrange = [-1, 1]\nmissing = "category"\n'
NUMBERS = "[features.z]\nrange = [-1, 1]\n[features.skewed]\nrange = [-1, 1]\n"
PRIOR, GIVEN = np.array([0.3, 0.7]), np.array([0.2, 0.6])
SHARE = 0.35


def covariance(n: int, noise: float, f: Sequence[float] = (0.2, 0.8)) -> FrequencyCovariance:
    return FrequencyCovariance(
        np.array(f), n, floor=noise, growth=1 / n, shared=0.0, slope=0.0, product=1 / n
    )


# -- formulas ---------------------------------------------------------------------------------


def test_the_sampling_of_three_tables_counts_once_and_weights_follow_the_noise():
    noises, n = np.array([0.001, 0.002, 0.004]), 100
    first, second, third = (covariance(n, each) for each in noises)
    _, both = pool_covariances(first, second, same_people=True)
    weight, pooled = pool_covariances(both, third, same_people=True)
    weights = 1 / noises / (1 / noises).sum()
    f = first.distribution
    assert 1 - weight == pytest.approx(weights[2])
    assert pooled.variance == pytest.approx((weights**2 * noises).sum() + (f - f**2) / n)
    assert (pooled.n, pooled.product) == (n, pytest.approx(1 / n))
    assert pooled.noise_variance == pytest.approx((weights**2 * noises).sum())


def test_the_sampling_of_other_people_is_independent():
    weight, pooled = pool_covariances(covariance(100, 0.001), covariance(100, 0.001))
    assert (weight, pooled.n) == (0.5, 200)
    assert pooled.variance == pytest.approx(covariance(100, 0.001).variance / 2)


@pytest.mark.parametrize("people", [0, 100])
def test_the_prior_of_the_same_people_has_the_sampling_once(people: int):
    noises, n = np.array([0.001, 0.004]), 100
    sampling = PRIOR * (1 - PRIOR) / n
    shares = [LabelShares(index, PRIOR, covariance(n, noise, PRIOR)) for index, noise in enumerate(noises)]
    pooled = pool_prior(shares, 2, people)
    weights = np.array(list(pooled.weights.values()))
    assert not people or weights == pytest.approx([0.8, 0.2])
    expected = (weights**2 * noises).sum() + sampling * (1 if people else (weights**2).sum())
    assert pooled.estimate.stderr**2 == pytest.approx(expected)
    assert pooled.between.product == pytest.approx((1 if people else (weights**2).sum()) / n)


X = np.array([-1.0, -1.0, 0.5, 0.5, 0.5, 0.8, np.nan])
Y = np.array([0, 1, 0, 1, 1, 0, 1])
N = 1000


def exact_population() -> Population:
    """Return the moments of people with the numbers X and the classes Y, without the normal assumption."""
    of_class = (Y == [[0], [1]]) / len(Y)
    powers = [of_class @ np.where(np.isnan(X), 0, X**power) for power in range(5)]
    return Population(powers[0], of_class @ np.isnan(X), *powers[1:])


def exact_number(plan: Plan) -> tuple[ClassMoments, np.ndarray]:
    """Return estimates at this population, and what each person adds on average to the sources."""
    codes = np.zeros((N, len(plan.features)), dtype=np.int64)
    raw = compute_raw_estimates(simulate_reports(plan, codes, np.arange(N) % 2, FastStream(1)))
    [number] = raw.numbers
    mean, square = (each.at_population(exact_population()) for each in number.questions)
    number = replace(number, questions=(mean, square))
    of_class = (Y == [[0], [1]]).astype(float)
    missing = np.isnan(X)
    x = np.where(missing, 0, X)
    rest = 1 - number.weight_of(mean) - number.weight_of(square)
    one = np.ones(len(Y))
    of_mean, of_square = (one * each.estimates_prior for each in (mean, square))
    rows = [x, missing, of_mean, x**2, missing, of_square, one * rest]
    return number, np.array([row * of_class for row in rows])


@pytest.mark.slow
@pytest.mark.parametrize("entries", [LABEL + NUMBER + FEATURES, LABEL + NUMBER])
def test_questions_about_a_number_covary_as_the_people_do(entries: str):
    number, sources = exact_number(all_answers_plan(entries, 8))
    whole = np.cov(sources.reshape(14, -1), bias=True).reshape(7, 2, 7, 2) / N
    blocks = np.array([0, 0, 0, 1, 1, 1, 2])
    other = ~np.equal.outer(blocks, blocks)
    joined = AllClasses.from_classes(number).noise[:, :, 0].reshape(7, 2, 7, 2)
    assert np.abs(whole[other.nonzero()[0], 0, other.nonzero()[1], 0]).max() > 1e-5
    for c in range(2):
        for d in range(2):
            assert joined[:, c, :, d][other] == pytest.approx(whole[:, c, :, d][other], abs=1e-12)
    assert number.noise[..., 0] == pytest.approx(joined[:, 0, :, 0])
    assert number.class_share.variance(number.noise) == pytest.approx(number.prior.estimate.stderr**2)


@pytest.mark.slow
def test_numbers_of_other_people_do_not_covary():
    number, _ = exact_number(all_answers_plan(LABEL + NUMBER + FEATURES, 8))
    alone = replace(number, prior=replace(number.prior, people=0))
    assert not alone.noise[:3, 3:].any()
    assert not alone.sample[1].any()


# -- coverage: bounds at 1e-7, see tests/support/statistical_checks.py ---------------------------


def surveys(plan: Plan, rows: object, count: int, features: Sequence[int], n: int = 600) -> list[RawResults]:
    """Return the estimates of some features in many surveys of `n` people."""
    snapshots = []
    for seed in range(count):
        codes, labels = rows(np.random.default_rng([seed, 1]), n)
        snapshots.append(simulate_reports(plan, codes, labels, FastStream([seed, 2])))
    found = [raw_results(each, features) for each in snapshots]
    assert_equal_results(estimate_snapshot(snapshots[0]), found[0])
    return found


def draw_labelled(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    labels = (rng.random(n) < PRIOR[1]).astype(np.int64)
    return (rng.random((10, n)) < GIVEN[labels]).astype(np.int64).T, labels


@pytest.mark.parametrize("count", small_and_full(60, 2000, long=True))
def test_a_label_in_ten_questions(count: int):
    features = "".join(f'[features.x{each}]\nvalues = ["p", "q"]\n' for each in range(10))
    found = surveys(all_answers_plan(LABEL + features, 20), draw_labelled, count, [0])
    priors = [each.raw_prior for each in found]
    assert_correct_errors(priors)
    assert_covered(priors, PRIOR)
    first = [each.features[0] for each in found]
    assert_covered([each.conditionals for each in first], np.array([1 - GIVEN, GIVEN]))
    share = PRIOR @ GIVEN
    assert_covered([each.shares for each in first], np.array([1 - share, share]))


@pytest.mark.parametrize("count", small_and_full(60, 2000, long=True))
def test_a_feature_alone_and_in_four_tables(count: int):
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        return (rng.random((n, 5)) < SHARE).astype(np.int64), np.zeros(n, dtype=np.int64)

    plan = all_answers_plan(TABLES, 10)
    assert [len(each.feature_indices) for each in plan.questions] == [1, 2, 2, 2, 2]
    first = [each.features[0] for each in surveys(plan, draw, count, [0])]
    assert {each.n for each in first if isinstance(each, FeatureResult)} == {600}
    shares = [each.shares for each in first if isinstance(each, FeatureResult)]
    assert_correct_errors(shares)
    assert_covered(shares, np.array([1 - SHARE, SHARE]))


@pytest.mark.parametrize("count", small_and_full(250, 2000, long=True))
@pytest.mark.parametrize("epsilon", [2, 4])
def test_means_and_variances_also_of_numbers_near_an_end(epsilon: int, count: int):
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.column_stack([rng.normal(0.4, 0.2, n), rng.exponential(0.3, n) - 1]).clip(-1, 1)
        codes = [encode_numbers(feature, x[:, each]) for each, feature in enumerate(plan.features)]
        return np.column_stack(codes), np.zeros(n, dtype=np.int64)

    plan = all_answers_plan(NUMBERS, 4 * epsilon)
    found = surveys(plan, draw, count, [0, 1])
    truth = np.column_stack(
        [
            np.random.default_rng(0).normal(0.4, 0.2, 10**6),
            -1 + np.random.default_rng(0).exponential(0.3, 10**6),
        ]
    ).clip(-1, 1)
    for place in range(2):
        overall = [
            each.features[place].overall for each in found if isinstance(each.features[place], NumberResult)
        ]
        assert_correct_errors([each.means for each in overall])
        assert_covered([each.means for each in overall], truth[:, place].mean(keepdims=True))
        assert_covered([each.variances for each in overall], truth[:, place].var(keepdims=True))


# -- people are counted once ------------------------------------------------------------------


PLAN = all_answers_plan(LABEL + FEATURES, 8)


def make_snapshot(people: int = 1000, lacking: int = 0) -> Snapshot:
    population = SyntheticPopulation.from_strength(PLAN, 2.0, 1.0)
    snapshot = simulate_survey(PLAN, population, people, np.random.default_rng(1), FastStream(1))
    key = PLAN.questions[1].key
    total = snapshot.totals[key]
    return replace(snapshot, totals={**snapshot.totals, key: Total(total.n - lacking, total.cells)})


def test_people_are_the_largest_number_of_reports_of_a_question():
    snapshot = make_snapshot(lacking=31)
    assert (snapshot.total(), snapshot.people) == (4969, 1000)
    assert replace(snapshot, totals={}).people == 0
    results = make_results(snapshot)
    assert (results.estimates.reports, results.estimates.people) == (1000, 1000)
    texts = {each.id: str(each) for each in find_data(results.estimates, results.privacy, validation=False)}
    assert texts["data.people"].startswith("1,000 people answered 5 questions each.")
    assert texts["data.lacking"].endswith(f"the question {PLAN.questions[1].name} lacks 31 answers.")


def test_a_model_file_says_that_people_answer_all_questions_and_what_that_spends():
    results = make_results(make_snapshot(lacking=31))
    data = dump_results(results)
    people = json.loads(data)["privacy"]["people"]
    assert (people["ask"], people["epsilon"], people["reports"]) == ("all", "8", 1000)
    assert [each["reports"] for each in people["questions"]] == [1000, 969, 1000, 1000, 1000]
    assert dump_results(parse_results(data)) == data
    spent = results.privacy.people
    assert spent
    assert 7.99 < spent.spent == sum(float(each.epsilon) for each in spent.questions) <= 8
    one = replace(results, privacy=replace(results.privacy, people=replace(spent, ask="one")))
    assert "ask" not in json.loads(dump_results(one))["privacy"]["people"]


def test_results_tell_the_promise_from_the_epsilon_of_all_answers_together():
    results = make_results(make_snapshot())
    people = results.privacy.people
    assert people
    statement = replace(results.privacy, simulated=False)
    texts = {each.id: str(each) for each in TEXTS.section("privacy", PrivacyFacts.of(statement))}
    relay = results.privacy.relay
    assert relay
    belief = 100 / (1 + math.exp(-max(float(each.epsilon) for each in people.questions)))
    together = 100 / (1 + math.exp(-8))
    assert (
        f"(epsilon {relay.epsilon:g}, with a remainder of at most 1e-06), or of at most"
        in texts["privacy.short"]
    )
    assert "(epsilon 8) if relay and collector work together" in texts["privacy.short"]
    found = re.findall(r"at most ([0-9.]+[0-9])%", texts["privacy.beliefs"])
    assert [float(each) for each in found] == pytest.approx([belief, together], abs=0.1)
    assert "Each report" not in str(TEXTS.find("privacy.report", PrivacyFacts.of(results.privacy)))
    broken = replace(statement, relay=replace(relay, broken_batches=1))
    assert "remainder" not in str(TEXTS.find("privacy.short", PrivacyFacts.of(broken)))
    shown = render_page(results).decode()
    assert f"{relay.epsilon:g}; 8 without trust in the relay" in shown
    assert "answered by 1,000 people." in shown
    assert ">People so far<" in render_progress(results, all_looks=False).decode()


@pytest.mark.slow
def test_simulated_people_answer_every_question_about_one_row():
    plan = all_answers_plan(TABLES, 20)
    population = SyntheticPopulation.from_strength(plan, 3.0, 1.0)
    snapshot = simulate_survey(plan, population, 4000, np.random.default_rng(1), FastStream(1))
    assert {total.n for total in snapshot.totals.values()} == {4000}
    # at epsilon 4 few answers are changed: the shares of x0 differ by less than the sampling would make them
    shares = [each.raw[0] for each in compute_raw_estimates(snapshot).margins[0]]
    assert np.ptp(shares) < 0.008


def test_rounds_that_ask_one_question_and_all_are_not_added():
    assert PLAN.relay
    one = replace(PLAN, relay=replace(PLAN.relay, ask="one"))
    other = Snapshot(one, make_snapshot().totals)
    with pytest.raises(SnapshotError):
        sum_snapshots([make_snapshot(), other])


@pytest.mark.slow
def test_early_looks_plan_with_each_person_once():
    plan = all_answers_plan(TABLES, 10)
    population = SyntheticPopulation.uniform(plan)
    snapshot = simulate_survey(plan, population, 1000, np.random.default_rng(1), FastStream(1))
    estimates = estimate_snapshot(snapshot)
    once, first = (each.features[0] for each in (estimates, hold_at_all_looks(estimates, plan)))
    assert isinstance(once, FeatureResult)
    assert isinstance(first, FeatureResult)
    wider = (first.shares.high - first.shares.low) / (once.shares.high - once.shares.low)
    assert wider == pytest.approx(1.55, abs=0.01)  # at the planned number of reports
