"""Intervals for early looks: their width, their range, and how often all of them contain the truth."""

import numpy as np
import pytest
from scipy import stats

from encoders.randomness import FastStream
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.estimation.sequential_intervals import (
    PLANNED_REPORTS,
    hold_at_all_looks,
    sequential_z,
)
from ldp_aggregator.simulated_population import simulate_total
from ldp_aggregator.snapshot import Snapshot, Total
from tests.support.snapshots import make_snapshot
from tests.support.statistical_checks import small_and_full
from tests.support.surveys import make_plan

FEATURES = {
    "tea": {"values": ["black", "green", "white"]},
    "hours": {"range": [0, 12], "missing": "category"},
}


def test_the_width_is_least_at_the_planned_number_of_reports_and_grows_slowly_beside_it():
    assert sequential_z(1.0) / Z95 == pytest.approx(1.55, abs=0.005)
    assert sequential_z(1.0) < min(sequential_z(0.9), sequential_z(1.1)) * 1.001
    for progress in (0.1, 10.0, 100.0):
        assert sequential_z(1.0) < sequential_z(progress) < 2 * Z95
    assert sequential_z(1.0, 0.005) > sequential_z(1.0, 0.05)


def test_every_interval_contains_the_one_for_one_look_and_stays_in_its_range():
    plan = make_plan(features=FEATURES, users=2000)
    estimates = estimate_snapshot(make_snapshot(plan))
    wide = hold_at_all_looks(estimates, plan)
    tea, hours = estimates.features
    wide_tea, wide_hours = wide.features
    for one, many, bounds in (
        (estimates.raw_prior, wide.raw_prior, (0, 1)),
        (tea.shares, wide_tea.shares, (0, 1)),
        (tea.conditionals, wide_tea.conditionals, (0, 1)),
        (hours.overall.means, wide_hours.overall.means, (0, 12)),
        (hours.by_class.deviations, wide_hours.by_class.deviations, (0, 6)),
        (hours.by_class.missing, wide_hours.by_class.missing, (0, 1)),
    ):
        assert (many.low <= one.low).all()
        assert (many.high >= one.high).all()
        assert (many.simultaneous_low <= many.low).all()
        assert (many.low >= bounds[0]).all()
        assert (many.high <= bounds[1]).all()
        assert (many.value == one.value).all()
        assert ((many.high - many.low) > 1.3 * (one.high - one.low))[one.high - one.low < 0.3].all()


def test_without_reports_nothing_changes():
    plan = make_plan(features=FEATURES)
    estimates = estimate_snapshot(Snapshot(plan, {}, {}))
    assert hold_at_all_looks(estimates, plan).as_dict() == estimates.as_dict()


def test_classes_count_as_distinguishable_if_their_intervals_do_not_overlap():
    plan = make_plan(features=FEATURES, epsilon=4.0)
    for ratio, expected in ((1.0, False), (9.0, True)):
        estimates = estimate_snapshot(make_snapshot(plan, 20_000, ratio=ratio))
        tea, hours = hold_at_all_looks(estimates, plan).features
        assert tea.distinguishable is expected
        assert set(hours.distinguishable_entries) == {"means", "variances", "missing"}


@pytest.mark.slow
@pytest.mark.parametrize("surveys", small_and_full(15, 100))
def test_at_most_one_survey_in_twenty_excludes_the_truth_at_any_look(surveys):
    plan = make_plan(label=None, features={"tea": ["black", "green"]}, users=PLANNED_REPORTS)
    [question], rng = plan.questions, np.random.default_rng(5)
    looks = np.unique(np.geomspace(100, 5000, 20).astype(int))
    wrong = 0
    for survey in range(surveys):
        people = (rng.random(looks[-1]) < 0.3).astype(np.int64)
        total, missed = Total(0, np.zeros(question.cells, dtype=np.int64)), False
        for first, last in zip([0, *looks[:-1]], looks, strict=True):
            more = simulate_total(question, people[first:last], FastStream(1000 * survey + int(last)))
            total = Total(total.n + more.n, total.cells + more.cells)
            estimates = estimate_snapshot(Snapshot(plan, {question.key: total}, {}))
            [tea] = hold_at_all_looks(estimates, plan).features
            missed |= not tea.shares.low[1] <= 0.3 <= tea.shares.high[1]
        wrong += missed
    assert wrong <= stats.binom.isf(1e-7, surveys, 0.05)
