"""Errors of quartiles with levels, beside those from bins alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product

import numpy as np

from benchmarks.shares.populations import Floats
from encoders.randomness import FastStream
from encoders.survey import BinnedFeature, Plan, read_survey
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.quantiles import PROBABILITIES, OrderedResult
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports

PEOPLE = 5_000
HIDDEN = 200_000
"""People from whom each survey draws its own."""
SHAPES = ("normal", "skewed", "two peaks")
SETTINGS = [*product(SHAPES, (64,), ("0.5", "1", "2")), *product(SHAPES, (32, 128, 256), ("1",))]


@dataclass(frozen=True)
class QuantileErrors:
    """Root mean squared errors of quartiles, as shares of the range."""

    shape: str
    bins: int
    epsilon: str
    widths: list[int]
    """Values in an interval of each level."""
    flat: list[float]
    """Of the three quartiles, from bins alone."""
    levels: list[float]
    """From levels."""

    @property
    def ratio(self) -> float:
        """The errors with levels divided by those of bins alone, over the three quartiles."""
        return float(np.sqrt(np.square(self.levels).sum() / np.square(self.flat).sum()))


def draw_numbers(shape: str) -> Floats:
    """Return numbers between 0 and 1."""
    rng = np.random.default_rng(41)
    if shape == "normal":
        numbers = rng.normal(0.5, 0.15, HIDDEN)
    elif shape == "skewed":
        numbers = rng.gamma(2.0, 0.1, HIDDEN)
    else:
        numbers = rng.normal(np.where(rng.random(HIDDEN) < 0.4, 0.2, 0.7), 0.08)
    return np.clip(numbers, 0.0, 1.0 - 1e-9)


def compile_survey(bins: int, epsilon: str, mechanism: str = "auto") -> Plan:
    """Return the plan of a survey about one number; levels are chosen by the mechanism "auto" only."""
    return read_survey(
        f'[survey]\nid = "q"\nepsilon = {epsilon}\nusers = {PEOPLE}\n'
        f'[mechanism]\nfrequency = "{mechanism}"\n[features.x]\nrange = [0, 1]\nbins = {bins}\n'
    ).compile()


def measure_quantiles(shape: str, bins: int, epsilon: str, surveys: int) -> list[dict[str, object]]:
    """Simulate surveys with levels and without them, and return the errors of the quartiles."""
    levels = compile_survey(bins, epsilon)
    flat = compile_survey(bins, epsilon, levels.questions[-1].mechanism.name)
    numbers = draw_numbers(shape)
    truth = np.quantile(numbers, PROBABILITIES)
    errors = [
        np.sqrt(np.mean((_simulate(plan, numbers, surveys) - truth) ** 2, axis=0)).tolist()
        for plan in (flat, levels)
    ]
    widths = [each.width for each in levels.questions]
    return [asdict(QuantileErrors(shape, bins, epsilon, widths, *errors))]


def _simulate(plan: Plan, numbers: Floats, surveys: int) -> Floats:
    """Return the estimated quartiles of all surveys, (surveys, 3)."""
    [feature] = plan.features
    assert isinstance(feature, BinnedFeature)
    codes = encode_numbers(feature, numbers)[:, None]
    labels, found = np.zeros(len(codes), dtype=np.int64), []
    for survey in range(surveys):
        rows = np.random.default_rng([43, survey]).integers(0, len(codes), PEOPLE)
        devices = FastStream(np.random.SeedSequence([44, survey]))
        raw = compute_raw_estimates(simulate_reports(plan, codes, labels, devices, rows))
        [joint], [shares] = raw.feature_estimates, raw.share_estimates
        assert not isinstance(joint, ClassMoments)
        assert not isinstance(shares, ClassMoments)
        found.append(OrderedResult.from_estimates(feature, joint, shares, 1).quantiles.value)
    return np.stack(found)
