"""Estimates of surveys of silos, alone and pooled with people: bias, errors, coverage, extreme cases."""

import struct
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import stats

from encoders.errors import ReportError
from encoders.mechanisms.counted_table import SOFT_UNIT
from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from encoders.survey.any_survey import read_any_survey
from encoders.survey.features import GRID
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation import EstimationError, IntervalEstimate, estimate_snapshot
from ldp_aggregator.estimation.class_differences import find_differing_statistics
from ldp_aggregator.estimation.estimates import estimate_parameters, estimate_survey
from ldp_aggregator.estimation.intervals import estimate_conditional_intervals, estimate_joint_intervals
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.pooling import find_contradictions, pool_estimates
from ldp_aggregator.estimation.raw_estimates import RawEstimates, compute_raw_estimates
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import SiloSnapshot, Total, take_snapshot
from ldp_aggregator.statements.warnings import find_feature_warning, find_warnings
from ldp_design.comparison.trust_experiment import simulate_silos
from tests.ldp_aggregator.collector.conftest import make_store, outcomes_of
from tests.ldp_aggregator.estimation.conftest import without_intervals
from tests.support.silo_surveys import make_message
from tests.support.statistical_checks import (
    assert_correct_errors,
    assert_covered,
    assert_covered_simultaneously,
    assert_unbiased,
    small_and_full,
)

FEATURES = """
[label]
name = "label"
values = ["a", "b", "rare"]
[features.three]
values = ["p", "q", "r"]
[features.x]
range = [-1, 1]
missing = "category"
"""
PRIOR = np.array([0.6, 0.3, 0.1])
GIVEN = np.array([[0.5, 0.2, 0.1], [0.3, 0.3, 0.1], [0.2, 0.5, 0.8]])
"""P(three | label)."""
MEANS = np.array([-0.2, 0.1, 0.4])
SPREAD, MISSING = 0.2, 0.15


def silo_plan(epsilon: float = 2.0, rows: int = 20_000, features: str = FEATURES) -> SiloPlan:
    head = f'[survey]\nid = "silos"\nkind = "silo"\nepsilon = {epsilon}\nrows = {rows}\n'
    plan = read_any_survey(head + features).compile()
    assert isinstance(plan, SiloPlan)
    return plan


def people_plan(epsilon: float = 2.0, features: str = FEATURES) -> Plan:
    return read_survey(f'[survey]\nid = "people"\nepsilon = {epsilon}\n{features}').compile()


def draw_rows(count: int, rng: np.random.Generator, means: np.ndarray = MEANS) -> tuple:
    labels = rng.choice(3, count, p=PRIOR)
    ends = np.cumsum(GIVEN, axis=0)[:, labels]
    three = (rng.random(count) > ends[:-1]).sum(axis=0)
    x = np.rint((np.clip(rng.normal(means[labels], SPREAD), -1, 1) + 1) * GRID).astype(np.int64)
    x[rng.random(count) < MISSING] = 2 * GRID + 1
    return np.stack([three, x], axis=1), labels


def silo_snapshot(
    plan: SiloPlan, silos: int, rows: int, seed: int, means: np.ndarray = MEANS
) -> SiloSnapshot:
    codes, labels = draw_rows(rows, np.random.default_rng([seed, 1]), means)
    return simulate_silos(plan, codes, labels, silos, FastStream([seed, 2]))


def means_of(raw: RawEstimates) -> IntervalEstimate:
    number = raw.feature_estimates[1]
    assert isinstance(number, ClassMoments)
    return number.estimate_expectation(number.first, (-1.0, 1.0))


def variances_of(raw: RawEstimates) -> IntervalEstimate:
    number = raw.feature_estimates[1]
    assert isinstance(number, ClassMoments)
    extra = number.second_order_variance
    return number.estimate_expectation(number.squared_deviation, (0.0, 1.0), extra)


def missing_of(raw: RawEstimates) -> IntervalEstimate:
    number = raw.feature_estimates[1]
    assert isinstance(number, ClassMoments)
    return number.estimate_missing()


QUANTITIES = {
    "prior": (lambda raw: raw.prior.estimate, PRIOR),
    "joint": (lambda raw: estimate_joint_intervals(raw.feature_estimates[0], 3), GIVEN * PRIOR),
    "conditional": (lambda raw: estimate_conditional_intervals(raw.feature_estimates[0], 3), GIVEN),
    "mean": (means_of, MEANS),
    "variance": (variances_of, np.full(3, SPREAD**2)),
    "missing": (missing_of, np.full(3, MISSING)),
}


@dataclass
class Samples:
    """Raw estimates of many samples: of silos, of people, and pooled."""

    silos: list[RawEstimates] = field(default_factory=list)
    people: list[RawEstimates] = field(default_factory=list)
    pooled: list[RawEstimates] = field(default_factory=list)
    further: list[RawEstimates] = field(default_factory=list)
    """Of a second survey of silos, with a smaller epsilon and more rows."""
    both_silos: list[RawEstimates] = field(default_factory=list)
    all_three: list[RawEstimates] = field(default_factory=list)


@pytest.fixture(scope="module", params=small_and_full(40, 400, long=True))
def surveys(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="module", params=[1, 6])
def samples(request: pytest.FixtureRequest, surveys: int) -> Samples:
    """As many rows and people that both matter, from one silo or from six."""
    plan, asked, found = silo_plan(), people_plan(), Samples()
    private = silo_plan(0.25)
    for seed in range(surveys):
        codes, labels = draw_rows(3000, np.random.default_rng([seed, 3]))
        people = simulate_reports(asked, codes, labels, FastStream([seed, 4]))
        silos = silo_snapshot(plan, request.param, 1200, seed)
        found.silos.append(compute_raw_estimates(silos))
        found.further.append(compute_raw_estimates(silo_snapshot(private, 2, 4000, 1000 + seed)))
        found.people.append(compute_raw_estimates(people))
        found.pooled.append(pool_estimates(found.people[-1], [found.silos[-1]]))
        found.both_silos.append(pool_estimates(found.silos[-1], [found.further[-1]]))
        found.all_three.append(pool_estimates(found.people[-1], [found.silos[-1], found.further[-1]]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["silos", "pooled", "both_silos", "all_three"])
@pytest.mark.parametrize("name", QUANTITIES)
def test_estimates_are_unbiased_and_intervals_contain_the_truth(samples, kind, name):
    estimate, truth = QUANTITIES[name]
    found = [estimate(raw) for raw in getattr(samples, kind)]
    assert_covered(found, truth)
    assert_covered_simultaneously(found, truth)
    if name in ("prior", "joint"):
        assert_unbiased(found, truth, slack=1e-3)
        assert_correct_errors(found, slack=0.04)


@pytest.mark.slow
def test_pooled_errors_are_below_those_of_each_survey(samples):
    for name in ("prior", "joint", "mean", "missing"):
        estimate, _ = QUANTITIES[name]
        errors = {
            kind: np.sqrt(np.mean([estimate(raw).stderr ** 2 for raw in getattr(samples, kind)[:100]]))
            for kind in ("silos", "people", "pooled", "further", "both_silos", "all_three")
        }
        assert errors["pooled"] < min(errors["silos"], errors["people"])
        assert errors["both_silos"] < min(errors["silos"], errors["further"])
        assert errors["all_three"] < min(errors["pooled"], errors["both_silos"])


@pytest.mark.slow
def test_equal_classes_are_seldom_called_different(samples):
    # missing numbers are equally frequent in all classes; the level holds for all statistics together
    differ = np.mean(
        [find_differing_statistics(raw.feature_estimates[1])["missing"] for raw in samples.pooled]
    )
    assert differ < 0.05 + 5.5 * np.sqrt(0.05 * 0.95 / len(samples.pooled))  # false alarm below 1e-7
    found = [find_differing_statistics(raw.feature_estimates[1])["means"] for raw in samples.silos]
    assert np.mean(found) > 0.95


@pytest.mark.slow
def test_two_samples_of_one_population_seldom_contradict_each_other(samples):
    found = [
        find_contradictions(each) for each in zip(samples.people, samples.silos, samples.further, strict=True)
    ]
    assert sum(bool(each) for each in found) <= stats.binom.isf(1e-9, len(found), 1e-3)


@pytest.mark.parametrize("first", ["people", "silos", "nobody"])
def test_a_contradiction_is_named_in_a_warning(first):
    codes, labels = draw_rows(20_000, np.random.default_rng(1))
    people = simulate_reports(people_plan(), codes, labels, FastStream(1))
    private = silo_snapshot(silo_plan(0.5), 2, 20_000, 1)
    silos = silo_snapshot(silo_plan(), 2, 5000, 2, means=MEANS[::-1])
    surveys = {"people": (people, [silos]), "silos": (silos, [private])}
    surveys["nobody"] = (type(people)(people.plan, {}), [silos, private])
    snapshot, further = surveys[first]
    estimates = estimate_snapshot(snapshot, silos=further)
    assert "warnings.contradiction" in [each.id for each in find_warnings(estimates)]
    assert estimates.silos.contradictions == ("x",)


@pytest.mark.slow
def test_an_almost_exact_survey_has_almost_all_of_the_weight():
    exact, noisy = silo_snapshot(silo_plan(20.0), 1, 20_000, 1), silo_snapshot(silo_plan(0.002), 1, 20_000, 2)
    alone, both = estimate_snapshot(exact), estimate_snapshot(exact, silos=[noisy])
    assert both.raw_prior.value == pytest.approx(alone.raw_prior.value, abs=1e-3)
    assert both.raw_prior.stderr == pytest.approx(alone.raw_prior.stderr, rel=0.01)
    assert both.features[1].by_class.means.value == pytest.approx(
        alone.features[1].by_class.means.value, abs=3e-3
    )
    # a bare sum of the counts has the noise of the noisier survey
    assert estimate_snapshot(noisy).raw_prior.stderr.min() > 10 * both.raw_prior.stderr.max()


# -- through a store ------------------------------------------------------------------------------


def stored(plan: SiloPlan, messages: list[bytes]) -> SiloSnapshot:
    """Return the snapshot of a store that counted these messages."""
    store = make_store(plan)
    for message in messages:
        assert outcomes_of(plan, store, message) == ["recorded"]
    snapshot = take_snapshot(store, plan.id)
    assert isinstance(snapshot, SiloSnapshot)
    return snapshot


def messages_of(plan: SiloPlan, labels: tuple[int, ...], silos: int, rows: int) -> list[bytes]:
    """Return messages of silos whose rows have some of the labels."""
    rng, messages = np.random.default_rng(7), []
    for silo in range(silos):
        codes, drawn = draw_rows(rows, rng)
        kept = np.isin(drawn, labels)
        pairs = list(zip(codes[kept].tolist(), drawn[kept].tolist(), strict=True))
        messages.append(make_message(plan, pairs, FastStream([silo, 7])))
    return messages


def test_without_messages_the_estimates_contain_no_information():
    estimates, classifier = estimate_survey(stored(silo_plan(), []), poisoning=True)
    assert str(find_warnings(estimates)[0]).startswith("There are no messages yet")
    assert classifier.prior == pytest.approx(np.full(3, 1 / 3))
    assert np.isinf(estimates.raw_prior.stderr).all()
    warnings = {find_feature_warning(each, estimates.classes).id for each in estimates.features}
    assert warnings == {"warnings.no-reports"}
    assert classifier.conditionals[0] == pytest.approx(np.full((3, 3), 1 / 3))
    assert (estimates.silos.messages, estimates.silos.rows, estimates.silos.influence) == (0, 0.0, None)


def test_pooled_with_no_messages_or_no_people_the_estimates_are_those_of_the_other():
    codes, labels = draw_rows(3000, np.random.default_rng(1))
    people = simulate_reports(people_plan(), codes, labels, FastStream(1))
    silos = silo_snapshot(silo_plan(), 1, 3000, 1)
    nobody, no_silos = type(people)(people.plan, {}), SiloSnapshot(silos.plan, {})
    for one, other in (
        (estimate_parameters(people, silos=[no_silos]), estimate_parameters(people)),
        (estimate_parameters(nobody, silos=[silos]), estimate_parameters(silos)),
    ):
        assert one.prior == pytest.approx(other.prior)
        assert one.conditionals[0] == pytest.approx(other.conditionals[0])
        assert one.conditionals[1].mean == pytest.approx(other.conditionals[1].mean)
    [warning] = find_warnings(estimate_snapshot(nobody, silos=[no_silos]))
    assert str(warning).startswith("There are no reports yet")


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 32.0])
def test_a_class_without_rows_has_no_share_and_no_certain_conditionals(epsilon):
    plan = silo_plan(epsilon, features=FEATURES)
    snapshot = stored(plan, messages_of(plan, (0, 1), 2, 2000))
    estimates, classifier = estimate_survey(snapshot, poisoning=True)
    assert np.isfinite(classifier.prior).all()
    assert classifier.prior.sum() == pytest.approx(1)
    assert estimates.raw_prior.low[2] == 0
    assert {each.id for each in find_warnings(estimates)} <= {"warnings.noise"}
    conditionals = estimates.features[0].conditionals
    assert (conditionals.high[:, 2] - conditionals.low[:, 2] > 0.5).all()
    assert (classifier.conditionals[0] > 0).all()


@pytest.mark.slow
def test_a_huge_epsilon_gives_the_shares_and_means_of_the_rows():
    plan = silo_plan(32.0)
    rng = np.random.default_rng(3)
    codes, labels = draw_rows(4000, rng)
    pairs = list(zip(codes.tolist(), labels.tolist(), strict=True))
    messages = [make_message(plan, pairs[place::4], FastStream(place)) for place in range(4)]
    estimates = estimate_snapshot(stored(plan, messages))
    sizes = np.bincount(labels)
    assert estimates.raw_prior.value == pytest.approx(sizes / 4000, abs=1e-3)
    for label in range(3):
        mine = codes[labels == label]
        shares = np.bincount(mine[:, 0], minlength=3) / len(mine)
        assert estimates.features[0].conditionals.value[:, label] == pytest.approx(shares, abs=5e-3)
        x = (mine[:, 1][mine[:, 1] <= 2 * GRID] - GRID) / GRID
        assert estimates.features[1].by_class.means.value[label] == pytest.approx(x.mean(), abs=2e-3)
        assert estimates.features[1].by_class.variances.value[label] == pytest.approx(x.var(), abs=2e-3)


def test_a_tiny_epsilon_gives_unknown_estimates_and_an_uninformed_classifier():
    plan = silo_plan(0.001)
    estimates, classifier = estimate_survey(stored(plan, messages_of(plan, (0, 1, 2), 3, 300)))
    warnings = find_warnings(estimates)
    assert [each.id for each in warnings] == ["warnings.noise"] * len(estimates.features)
    assert "rows, the margin of a share in the class" in str(warnings[0])
    assert np.ptp(np.log(classifier.conditionals[0]), axis=1).max() < 0.5
    assert not estimates.features[0].distinguishable


def test_messages_of_epochs_and_collectors_add_up():
    plan = silo_plan()
    messages = messages_of(plan, (0, 1, 2), 4, 500)
    one, other = stored(plan, messages[:2]), stored(plan, messages[2:])
    together = estimate_snapshot(one + other).as_dict()
    assert together == estimate_snapshot(stored(plan, messages)).as_dict()
    assert together["silos"]["messages"] == 4


# -- which surveys are pooled ---------------------------------------------------------------------

MISMATCHES = {
    "label values": (('"rare"]', '"seldom"]'), "the label differs: values is "),
    "value": (('"r"]', '"s"]'), "the feature three differs: values is "),
    "bounds": (("[-1, 1]", "[-1, 2]"), "the feature x differs: high is 1 and 2"),
    "missing": (('missing = "category"', ""), "the feature x differs: "),
    "bins": (("range = [-1, 1]", "range = [-1, 1]\nbins = 3"), "the feature x differs: "),
    "name": (("features.three", "features.four"), "only people has the feature three"),
    "one more": (("[features.x]", '[features.y]\nvalues = ["k", "l"]\n[features.x]'), "only silos has the"),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_surveys_that_differ_are_not_pooled_and_the_first_difference_is_named(name):
    (old, new), message = MISMATCHES[name]
    features = FEATURES.replace(old, new)
    assert features != FEATURES
    silos = SiloSnapshot(silo_plan(features=features), {})
    people = simulate_reports(people_plan(), *draw_rows(10, np.random.default_rng(1)), FastStream(1))
    with pytest.raises(EstimationError, match="people and silos cannot be pooled: ") as error:
        estimate_snapshot(people, silos=[silos])
    assert message in str(error.value)


def test_the_estimator_of_the_paper_needs_people():
    silos = silo_snapshot(silo_plan(), 1, 100, 1)
    with pytest.raises(EstimationError, match="messages of silos: use the default"):
        estimate_snapshot(silos, "paper")


# -- the influence of one silo --------------------------------------------------------------------


def shares_after(snapshot: SiloSnapshot, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return prior and conditionals, cut to their range, after one more message."""
    total = Total(snapshot.messages + 1, snapshot.cells + cells)
    with without_intervals():
        raw = compute_raw_estimates(SiloSnapshot(snapshot.plan, {snapshot.plan.question.key: total}))
        conditionals = estimate_conditional_intervals(raw.feature_estimates[0], 3)
    return np.clip(raw.prior.estimate.value, 0, 1), np.clip(np.nan_to_num(conditionals.value, nan=1.0), 0, 1)


def invented_messages(plan: SiloPlan, rng: np.random.Generator) -> list[np.ndarray]:
    """Return messages with all rows of the plan in one place, or divided at random, without noise."""
    mechanism, found = plan.mechanism, []
    for value in range(3):
        for label in range(3):
            cells = np.zeros(mechanism.cells, dtype=np.int64)
            for table, place in zip(mechanism.tables, (value, rng.integers(0, 4)), strict=True):
                cells[table.start + place * 3 + label] = plan.rows * table.unit
            found.append(cells)
    return found


def noisy_messages(plan: SiloPlan, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Return messages that pass the checks, with cells at their limits, at random."""
    mechanism, found = plan.mechanism, []
    for _ in range(count):
        cells = np.zeros(mechanism.cells, dtype=np.int64)
        rows, signs = np.zeros(3, dtype=np.int64), rng.choice([-1, 0, 1], 3)
        rows[rng.integers(3)] = rng.choice([0, plan.rows])
        for table in mechanism.tables:
            low, high = table.accepted
            for label in range(3):
                mine = rng.choice([low, high, 0], table.values, p=[0.45, 0.1, 0.45])
                # the rest of the label's total is in one cell, as far as its limits allow
                total = rows[label] * table.unit + signs[label] * table.class_error * table.unit // SOFT_UNIT
                for place in rng.permutation(len(mine)):
                    mine[place] = np.clip(total - (mine.sum() - mine[place]), low, high)
                cells[table.start + label : table.end : 3] = mine
        try:
            mechanism.check(struct.pack(f"<{mechanism.cells}q", *cells.tolist()))
        except ReportError:
            continue
        found.append(cells)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_no_message_found_by_search_moves_an_estimate_further_than_stated(epsilon):
    plan = silo_plan(epsilon, rows=2000)
    snapshot = silo_snapshot(plan, 3, 30_000, 5)
    influence = estimate_snapshot(snapshot).silos.influence
    prior, conditionals = shares_after(snapshot, np.zeros(plan.mechanism.cells, dtype=np.int64))
    rng = np.random.default_rng(1)
    invented, noisy = invented_messages(plan, rng), noisy_messages(plan, rng, 1500)
    assert len(noisy) > 80
    moves = {}
    for name, messages in (("invented", invented), ("noisy", [*invented, *noisy])):
        after = [shares_after(snapshot, cells) for cells in messages]
        moves[name] = (
            np.max([np.abs(each[0] - prior) for each in after], axis=0),
            np.max([np.abs(each[1] - conditionals).max(axis=0) for each in after], axis=0),
        )
    assert (moves["invented"][0] <= influence.prior + 1e-9).all()
    assert (moves["invented"][1] <= influence.conditionals + 1e-9).all()
    assert (moves["noisy"][0] <= influence.prior_with_noise + 1e-9).all()
    assert (moves["noisy"][1] <= influence.conditionals_with_noise + 1e-9).all()
    # the bounds are close to the worst message that was found
    assert moves["invented"][0] == pytest.approx(influence.prior, rel=0.01)
    assert (moves["noisy"][1] > 0.5 * influence.conditionals_with_noise).all()
    # the simple bound: R / (N + R), and R / (N_c + R)
    assert (influence.prior <= 2000 / 32_000 + 1e-3).all()
    assert (influence.conditionals <= 2000 / (30_000 * PRIOR * 0.9 + 2000)).all()
