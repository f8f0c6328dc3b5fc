"""Sizes of silo surveys: every printed figure agrees with simulated messages, and remedies are enough."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from encoders.randomness import FastStream
from encoders.survey import NumericFeature
from encoders.survey.features import GRID
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation.intervals import Z95, estimate_conditional_intervals
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import RawEstimates, compute_raw_estimates
from ldp_aggregator.snapshot import SiloSnapshot, Total
from ldp_central.noise import draw_laplace_array
from ldp_design.sizing.margins import Margin
from ldp_design.sizing.sample_size import SizeError
from ldp_design.sizing.silo_size import (
    compare_silo_sizes,
    find_rows_for_margin,
    size_silos,
)
from ldp_design.sizing.size_summary import format_silo_sizes
from tests.support.silo_surveys import count_rows, read_silo_survey
from tests.support.statistical_checks import ALARM, small_and_full

SURVEY = read_silo_survey()
CASES = {
    "one silo": (SURVEY, 3_000, 1, None),
    "many silos": (SURVEY, 6_000, 12, None),
    "a rare label": (replace(SURVEY, epsilon=Decimal(2)), 6_000, 3, (0.2, 0.8)),
    "several rows of a person": (replace(SURVEY, rows_per_person=4), 12_000, 2, None),
}


def make_exact_rows(plan: SiloPlan, rows: int, shares: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of rows with exactly the shares, means and variances that a size assumes."""
    labels = np.repeat(np.arange(len(shares)), [round(rows * share) for share in shares])
    order = np.arange(rows)
    columns = []
    for feature in plan.features:
        if isinstance(feature, NumericFeature):
            code = np.where(order // 10 % 2, GRID - GRID // 3, GRID + GRID // 3)
            missing = order % 10 == 0 if feature.missing == "category" else np.zeros(rows, dtype=bool)
            columns.append(np.where(missing, 2 * GRID + 1, code))
        else:
            columns.append(order % feature.size)
    return np.stack(columns, axis=1), labels


def simulate(
    plan: SiloPlan, rows: int, silos: int, shares: Sequence[float], samples: int
) -> Iterator[RawEstimates]:
    """Yield the estimates of many surveys of the same rows, with the noise of as many messages."""
    codes, labels = make_exact_rows(plan, rows, shares)
    exact = np.array(count_rows(plan, zip(codes.tolist(), labels.tolist(), strict=True)))
    noise = np.zeros((samples, plan.mechanism.cells), dtype=np.int64)
    for table in plan.mechanism.tables:
        shape = (samples, silos, table.end - table.start)
        drawn = draw_laplace_array(table.scale, math.prod(shape), FastStream([rows, table.start]))
        noise[:, table.start : table.end] = drawn.reshape(shape).sum(axis=1)
    for each in noise:
        yield compute_raw_estimates(SiloSnapshot(plan, {plan.question.key: Total(silos, exact + each)}))


def list_values(plan: SiloPlan, raw: RawEstimates) -> Iterator[tuple[tuple[str, str], np.ndarray]]:
    """Yield the name and the kind of each estimate, and its value."""
    yield (plan.label.name, "raw_prior"), raw.prior.estimate.value
    for feature, each in zip(plan.features, raw.feature_estimates, strict=True):
        if not isinstance(each, ClassMoments):
            yield (feature.name, "conditionals"), estimate_conditional_intervals(each, 2).value
            continue
        assert isinstance(feature, NumericFeature)
        means = each.estimate_expectation(each.first, (-1.0, 1.0)).value
        yield (feature.name, "means"), feature.width * means
        variances = each.estimate_expectation(each.squared_deviation, (0.0, 1.0)).value
        yield (feature.name, "deviations"), feature.width * np.sqrt(variances)
        if each.can_be_missing:
            yield (feature.name, "missing"), each.estimate_missing().value


def list_figures(margins: Sequence[Margin]) -> Iterator[tuple[str, float, str, int]]:
    """Yield each figure: its name, its margin of a class, and the estimate that it is about."""
    for margin in margins:
        name = "means" if margin.kind == "numeric" else "conditionals"
        for c, each in enumerate(margin.class_margins):
            yield margin.name, each, "raw_prior" if margin.kind == "label" else name, c
        widest = int(np.argmax(margin.class_margins))
        if margin.deviation is not None:
            yield margin.name, margin.deviation, "deviations", widest
        if margin.missing is not None:
            yield margin.name, margin.missing, "missing", widest


@pytest.mark.parametrize("samples", small_and_full(60, 300))
@pytest.mark.parametrize("case", CASES)
def test_every_figure_is_that_of_simulated_messages(case, samples):
    """The probability of a false alarm is below 1e-6 for all cases together; the seeds are fixed."""
    survey, rows, silos, shares = CASES[case]
    plan, size = survey.compile(), size_silos(survey, rows, silos, shares)
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    for raw in simulate(plan, rows, silos, shares or (0.5, 0.5), samples):
        for key, value in list_values(plan, raw):
            found.setdefault(key, []).append(value)
    figures = list(list_figures(size.margins))
    assert len(figures) == 2 * 5 + 2 + 1  # classes of the label and features; deviations; a share of missing
    truths = {"raw_prior": np.array(shares or (0.5, 0.5)), "missing": 0.1}
    for name, margin, kind, c in figures:
        values = np.stack(found[name, kind])
        truth = np.broadcast_to(truths.get(kind, values.mean(axis=0)), values.shape[1:])
        errors = (values - truth)[..., c].reshape(samples, -1)
        squares = np.mean(errors**2, axis=1)
        bound = stats.t.isf(ALARM / len(figures), samples - 1) * squares.std(ddof=1) / math.sqrt(samples)
        assert squares.mean() == pytest.approx((margin / Z95) ** 2, abs=bound + 0.03 * (margin / Z95) ** 2)
        within = np.mean(np.abs(errors) <= margin)  # Laplace noise of one message has heavier tails
        assert within >= 0.935 - 6 * math.sqrt(0.05 * 0.95 / samples)


@pytest.mark.slow
def test_margins_follow_the_stated_proportion():
    size = size_silos(SURVEY, 20_000, 4)
    twice = {
        "silos": size_silos(SURVEY, 20_000, 16),
        "rows": size_silos(SURVEY, 10_000, 4),
        "epsilon": size_silos(replace(SURVEY, epsilon=Decimal("0.5")), 20_000, 4),
        "rows_per_person": size_silos(replace(SURVEY, rows_per_person=2), 20_000, 4),
    }
    for other in twice.values():
        for one, two in zip(size.margins, other.margins, strict=True):
            assert two.margin == pytest.approx(2 * one.margin, rel=0.02)


@pytest.mark.slow
def test_each_remedy_is_enough_and_slightly_less_is_not():
    size = size_silos(SURVEY, 400, 60)
    assert size.noise
    assert size.remedies is not None
    rows, silos = size.remedies.rows, size.remedies.silos
    assert silos is not None
    assert size.remedies.epsilon is None
    assert not size_silos(SURVEY, rows, 60).noise
    assert size_silos(SURVEY, round(0.98 * rows), 60).noise
    assert not size_silos(SURVEY, 400, silos).noise
    assert size_silos(SURVEY, 400, silos + 1).noise
    low = replace(SURVEY, epsilon=Decimal("0.2"))
    remedies = size_silos(low, 700, 10).remedies
    assert remedies is not None
    assert remedies.epsilon is not None
    assert not size_silos(replace(low, epsilon=remedies.epsilon), 700, 10).noise


@pytest.mark.slow
def test_rows_are_found_for_a_margin():
    size = find_rows_for_margin(SURVEY, 0.01, 4, None)
    assert max(each.share for each in size.margins) <= 0.01
    assert max(each.share for each in size_silos(SURVEY, round(0.98 * size.rows), 4).margins) > 0.01
    with pytest.raises(SizeError, match="needs more rows than fit into 1 message"):
        find_rows_for_margin(replace(SURVEY, rows=10), 0.01, 1, None)


@pytest.mark.slow
def test_a_comparison_has_no_more_rows_than_the_messages_count():
    sizes = compare_silo_sizes(replace(SURVEY, rows=5_000), None, None)
    assert all(each.rows <= 5_000 * each.silos for each in sizes)
    assert {each.silos for each in sizes} == {1, 10, 100}
    assert "  noise\n" in format_silo_sizes(sizes)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "silos"), [(1, 1), (400, 60), (None, 4)])
def test_the_words_of_a_size(rows, silos, compare_with_golden):
    compare_with_golden(
        f"silos-{rows}-{silos}", format_silo_sizes(compare_silo_sizes(SURVEY, rows, silos)) + "\n"
    )
