"""Expected totals, and the margins computed from them, compared with simulated surveys."""

import numpy as np
import pytest

from encoders.mechanisms import MECHANISMS, NUMERIC_MECHANISMS
from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator.estimation import Estimates, IntervalEstimate, estimate_snapshot
from ldp_aggregator.estimation.intervals import compute_typical_margins
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_reports, simulate_survey
from ldp_design.sizing.margins import ExpectedTotals, compute_expected_margins
from ldp_design.sizing.sample_size import find_min_users
from tests.ldp_aggregator.estimation.conftest import raw_results
from tests.support.surveys import make_plan

FEATURES = {
    "four": ["p", "q", "r", "s"],
    "binned": {"range": [0, 10], "bins": 5, "missing": "category"},
    "number": {"range": [0, 100]},
    "gaps": {"range": [-1, 3], "missing": "category"},
}
USERS, REPEATS = 100_000, 8
VARIANTS = [(1.5, *pair) for pair in zip(MECHANISMS, NUMERIC_MECHANISMS, strict=True)]
VARIANTS += [(1.5, "auto", "auto"), (6, "auto", "auto")]  # the last asks about both categories at once


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda each: "-".join(map(str, each)))
def world(request: pytest.FixtureRequest) -> tuple[Plan, SyntheticPopulation]:
    plan = plan_of(*request.param)
    return plan, SyntheticPopulation.from_strength(plan, 2.0, 1.0)


def plan_of(epsilon: float, oracle: str, numeric: str, label: object = ("a", "b", "c")) -> Plan:
    mechanism = {"frequency": oracle, "numeric": numeric}
    label = label and {"name": "class", "values": label}
    return make_plan(epsilon=epsilon, features=FEATURES, label=label, mechanism=mechanism)


def test_the_last_variant_asks_about_several_features_in_one_question():
    assert any(len(each.feature_indices) > 1 for each in plan_of(*VARIANTS[-1]).questions)


def collect_intervals(estimates: Estimates) -> dict[str, IntervalEstimate]:
    found = {estimates.label: estimates.raw_prior}
    for each in estimates.features:
        if each.kind != "numeric":
            found[each.name] = each.conditionals
        else:
            found |= {
                f"{each.name} mean": each.by_class.means,
                f"{each.name} variance": each.by_class.variances,
            }
            if each.by_class.missing:
                found[f"{each.name} missing"] = each.by_class.missing
    return found


@pytest.mark.slow
def test_estimates_from_the_expected_totals_are_the_population(
    world,
):
    plan, people = world
    found = estimate_snapshot(ExpectedTotals(plan, people).snapshot(10**9))
    for each, truth in zip(found.features, people.conditionals, strict=True):
        if each.kind == "numeric":
            low, high = (
                float(plan.features[2 + (each.name == "gaps")].__dict__[end]) for end in ("low", "high")
            )
            middle, width = (low + high) / 2, (high - low) / 2
            assert each.by_class.means.value == pytest.approx(middle + width * truth.mean, abs=1e-3 * width)
            assert each.by_class.variances.value == pytest.approx(width**2 * truth.variance, rel=1e-2)
            assert truth.missing is None or each.by_class.missing.value == pytest.approx(
                truth.missing, abs=1e-4
            )
        else:
            assert each.conditionals.value == pytest.approx(truth, abs=1e-4)
    assert found.raw_prior.value == pytest.approx(people.prior, abs=1e-4)


@pytest.mark.slow
def test_margins_are_within_a_tenth_of_those_that_simulated_surveys_report(
    world,
):
    plan, people = world
    expected = ExpectedTotals(plan, people)
    margins = {each.name: each for each in compute_expected_margins(expected, USERS)}
    predicted = {"class": margins["class"].margin}
    for name in ("four", "binned"):
        predicted[name] = margins[name].margin
    for name in ("number", "gaps"):
        predicted |= {f"{name} mean": margins[name].margin, f"{name} variance": margins[name].variance}
    predicted["gaps missing"] = margins["gaps"].missing
    simulated = []
    for seed in range(REPEATS):
        rows = people.draw_people(USERS, np.random.default_rng(seed))
        simulated.append(
            collect_intervals(estimate_snapshot(simulate_reports(plan, *rows, FastStream(seed))))
        )
    for name, margin in predicted.items():
        typical = np.mean([compute_typical_margins(each[name]) for each in simulated], axis=0)
        assert margin == pytest.approx(typical.max(), rel=0.1), name
        if name in ("class", "four", "number mean", "gaps mean"):  # others' intervals are cut at zero
            half = np.mean([(each[name].high - each[name].low) / 2 for each in simulated], axis=0)
            assert margin == pytest.approx(half.reshape(-1, 3).mean(axis=0).max(), rel=0.1), name


@pytest.mark.slow
@pytest.mark.parametrize(("oracle", "numeric"), [("DE", "auto"), ("OUE", "onebit"), ("SHE", "sign")])
def test_without_a_label_margins_are_within_a_tenth_of_those_of_reported_shares_and_means(oracle, numeric):
    plan = plan_of(1.5, oracle, numeric, label=None)
    people = SyntheticPopulation.uniform(plan)
    margins = {each.name: each for each in compute_expected_margins(ExpectedTotals(plan, people), USERS)}
    assert list(margins) == ["four", "binned", "number", "gaps"]
    reported = []
    for seed in range(REPEATS):
        snapshot = simulate_survey(plan, people, USERS, np.random.default_rng(seed), FastStream(seed))
        found = estimate_snapshot(snapshot).features
        estimates = [each.overall.means if each.kind == "numeric" else each.shares for each in found]
        reported.append([compute_typical_margins(each.reshape(-1, 1))[0] for each in estimates])
    for each, margin in zip(margins.values(), np.mean(reported, axis=0), strict=True):
        assert each.margin == each.overall == pytest.approx(margin, rel=0.1), each.name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "repeats"),
    [(2, 100), *(pytest.param(*each, marks=pytest.mark.statistics) for each in ((5, 100), (20, 20)))],
)
def test_near_the_threshold_margins_are_within_a_tenth_of_reported_margins_and_true_errors(labels, repeats):
    plan = make_plan(
        features={name: ["p", "q", "r", "s"] for name in "xy"}, label=list(map(str, range(labels)))
    )
    people = SyntheticPopulation.uniform(plan)
    expected = ExpectedTotals(plan, people)

    def margin_of(users: int) -> float:
        return compute_expected_margins(expected, users)[1].margin

    threshold = find_min_users(lambda users: margin_of(users) / 0.25)
    for users in (round(0.85 * threshold), threshold, 2 * threshold):
        reported, errors = [], []
        for seed in range(repeats):
            rng = np.random.default_rng([labels, seed])
            snapshot = simulate_survey(plan, people, users, rng, FastStream(seed))
            found = raw_results(snapshot, [0, 1]).features.values()
            reported += [np.sqrt(np.mean(compute_typical_margins(each.conditionals) ** 2)) for each in found]
            errors += [abs(each.conditionals.value - 0.25) for each in found]
        assert margin_of(users) == pytest.approx(np.median(reported), rel=0.1)
        assert margin_of(users) == pytest.approx(np.quantile(errors, 0.95), rel=0.1)


@pytest.mark.slow
def test_a_margin_is_that_of_the_least_exact_class():
    plan = make_plan(features={name: ["p", "q", "r", "s"] for name in "xy"}, label=["common", "rare"])
    people = SyntheticPopulation(np.array([0.95, 0.05]), SyntheticPopulation.uniform(plan).conditionals)
    margin = compute_expected_margins(ExpectedTotals(plan, people), 20_000)[1]
    errors = []
    for seed in range(40):
        rows = people.draw_people(20_000, np.random.default_rng([9, seed]))
        found = raw_results(simulate_reports(plan, *rows, FastStream(seed)), [0, 1]).features.values()
        errors.append([abs(each.conditionals.value - 0.25) for each in found])
    common, rare = np.nanquantile(np.moveaxis(errors, -1, 0).reshape(2, -1), 0.95, axis=1)
    assert margin.class_margins[0] == pytest.approx(common, rel=0.15)
    assert margin.margin == margin.class_margins[1] > 0.8 * rare > 10 * common
    assert margin.is_noise


def test_a_large_population_draws_its_own_distribution():
    plan = plan_of(1.5, "auto", "auto")
    people = SyntheticPopulation.from_strength(plan, 2.0, 1.0)
    codes, labels = people.draw_people(200_000, np.random.default_rng(0))
    for label in range(3):
        own = codes[labels == label]
        shares = np.bincount(own[:, 0], minlength=4) / len(own)
        assert shares == pytest.approx(people.conditionals[0][:, label], abs=0.01)
        there = own[:, 3] <= 2 << 20
        assert np.mean(~there) == pytest.approx(0.1, abs=0.01)
        assert np.mean(own[there, 3] / 2**20 - 1) == pytest.approx(
            people.conditionals[3].mean[label], abs=0.01
        )


def test_a_uniform_population_has_equally_frequent_values():
    plan = plan_of(1.5, "auto", "auto")
    people = SyntheticPopulation.uniform(plan)
    assert people.conditionals[0] == pytest.approx(np.full((4, 3), 0.25))
    assert people.conditionals[2].mean == pytest.approx(np.zeros(3))
