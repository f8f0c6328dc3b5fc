"""Compares the errors of two fits of an ordered feature: a smooth one, and the one that is used.

It measures the errors of quartiles and of shares. The rule of the smooth fit was chosen with the three
distributions of :mod:`quantile_errors`, so this benchmark uses others: simulated numbers between 0 and 1, the
numbers of two public data sets, and simulated numbers that resemble four variables of the MAGIC gamma
telescope data (length, asymmetry, angle and distance).
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.shares.populations import Floats
from benchmarks.tables.populations import Codes
from encoders.randomness import FastStream
from encoders.survey import BinnedFeature, Plan, read_survey
from ldp_aggregator.estimation.discrete.frequencies import (
    CombinedFrequencies,
    TableEstimate,
    compute_sum_covariances,
    project_simplex,
)
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.quantiles import PROBABILITIES, fit_cumulative
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports

HIDDEN, BINS = 200_000, 64
"""People from whom each survey draws its own, and the bins of each number."""
_ORDER = 3
"""The penalty of a smooth fit is the sum of squared differences of shares, of this order."""
_WEIGHTS = np.geomspace(1e-5, 1e6, 45)
"""Weights of the penalty, in units in which it is typically as large as the noise."""
_Draw = Callable[[np.random.Generator], Floats]


def _mix(rng: np.random.Generator, *peaks: tuple[float, float, float]) -> Floats:
    """Return numbers of several normal distributions: share, middle and standard deviation of each."""
    shares, middles, deviations = np.array(peaks).T
    chosen = rng.choice(len(peaks), HIDDEN, p=shares)
    numbers: Floats = rng.normal(middles[chosen], deviations[chosen])
    return numbers


def _round_some(rng: np.random.Generator) -> Floats:
    """Return numbers of which six in ten are rounded to tenths."""
    numbers = rng.normal(0.45, 0.2, HIDDEN)
    return np.where(rng.random(HIDDEN) < 0.6, np.round(numbers, 1), numbers)


LAWS: dict[str, _Draw] = {
    "normal, narrow": lambda rng: rng.normal(0.32, 0.07, HIDDEN),
    "lognormal": lambda rng: rng.lognormal(-1.6, 0.6, HIDDEN),
    "two peaks, unequal": lambda rng: _mix(rng, (0.75, 0.3, 0.1), (0.25, 0.8, 0.05)),
    "three peaks": lambda rng: _mix(rng, (0.3, 0.15, 0.05), (0.4, 0.5, 0.06), (0.3, 0.85, 0.05)),
    "uniform": lambda rng: rng.random(HIDDEN),
    "round numbers": _round_some,
    "heavy tail": lambda rng: 0.05 * rng.pareto(1.5, HIDDEN),
    "jump": lambda rng: np.where(
        rng.random(HIDDEN) < 0.8, 0.4 + 0.2 * rng.random(HIDDEN), rng.random(HIDDEN)
    ),
    "MAGIC, length": lambda rng: 0.04 + rng.lognormal(-2.2, 0.7, HIDDEN),
    "MAGIC, asymmetry": lambda rng: 0.55 + 0.06 * rng.standard_t(2, HIDDEN),
    "MAGIC, angle": lambda rng: np.abs(_mix(rng, (0.6, 0.0, 0.1), (0.4, 0.3, 0.4))),
    "MAGIC, distance": lambda rng: rng.normal(0.4, 0.16, HIDDEN),
}
COLUMNS = {
    "adult, age": ("adult.csv", "age", 15, 95),
    "adult, hours": ("adult.csv", "hours-per-week", 0, 100),
    "adult, weight": ("adult.csv", "fnlwgt", 0, 600_000),
    "yrbss, height": ("yrbss.csv", "height", 1.2, 2.2),
    "yrbss, weight": ("yrbss.csv", "weight", 25, 185),
}
"""The file, the column and the range of numbers of public surveys."""
SETTINGS = [*product((*LAWS, *COLUMNS), (1_000, 5_000, 20_000), ("0.5", "1", "2", "4"))]


@dataclass(frozen=True)
class SmoothErrors:
    """Mean squared errors in one setting, of quartiles as shares of the range and of shares of bins."""

    law: str
    people: int
    epsilon: str
    levels: bool
    """Whether the compiler divides the people among levels; if not, nothing is smooth."""
    quartiles: list[float]
    """Without the smooth fit, and with it."""
    change: list[float]
    """The mean change of a survey's squared error of quartiles, and its standard error."""
    shares: list[float]
    """Projected to the simplex, and from the fit."""

    @property
    def gain(self) -> float:
        """How many times fewer people are needed for quartiles."""
        return self.quartiles[0] / self.quartiles[1]

    @property
    def share_gain(self) -> float:
        """How many times fewer people are needed for shares of bins."""
        return self.shares[0] / self.shares[1]

    @property
    def direction(self) -> int:
        """1 if the fit is clearly better, by three standard errors, and -1 if it is clearly worse."""
        mean, stderr = self.change
        return int(np.sign(-mean)) if abs(mean) > 3 * stderr else 0


def draw_numbers(law: str, directory: Path | None) -> Floats:
    """Return numbers between 0 and 1; larger and smaller ones are cut."""
    if law in LAWS:
        numbers = LAWS[law](np.random.default_rng(45))
    else:
        assert directory is not None
        file, column, low, high = COLUMNS[law]
        with (directory / file).open(encoding="utf-8", newline="") as rows:
            texts = [row[column] for row in csv.DictReader(rows)]
        numbers = (np.array([float(text) for text in texts if text]) - low) / (high - low)
    return np.clip(numbers, 0.0, 1.0 - 1e-9)


def measure_smooth(
    law: str, people: int, epsilon: str, surveys: int, directory: Path | None
) -> list[dict[str, object]]:
    """Simulate surveys of one setting, and return the errors with the smooth fit and without it."""
    numbers = draw_numbers(law, directory)
    plan = read_survey(
        f'[survey]\nid = "q"\nepsilon = {epsilon}\nusers = {people}\n'
        f"[features.x]\nrange = [0, 1]\nbins = {BINS}\n"
    ).compile()
    [feature] = plan.features
    assert isinstance(feature, BinnedFeature)
    codes = encode_numbers(feature, numbers)[:, None]
    truth, shares = np.quantile(numbers, PROBABILITIES), np.bincount(codes[:, 0], minlength=BINS) / len(codes)
    quartiles, bins = [], []
    for survey in range(surveys):
        estimate = _simulate(plan, codes, people, survey)
        curves = [
            np.pad(fit_cumulative(each, BINS, 1)[:, 0], 1, constant_values=(0, 1))
            for each in (estimate, smooth_levels(estimate, BINS))
        ]
        quartiles.append([np.interp(PROBABILITIES, each, np.array(feature.edges, float)) for each in curves])
        bins.append([project_simplex(estimate.raw), np.diff(curves[1])])
    errors = np.square(np.array(quartiles) - truth).mean(axis=2)
    changes = errors[:, 1] - errors[:, 0]
    found = SmoothErrors(
        law=law,
        people=people,
        epsilon=epsilon,
        levels=len(plan.questions) > 1,
        quartiles=errors.mean(axis=0).tolist(),
        change=[float(changes.mean()), float(changes.std(ddof=1) / np.sqrt(surveys))],
        shares=np.square(np.array(bins) - shares).mean(axis=(0, 2)).tolist(),
    )
    return [asdict(found)]


def smooth_levels(estimate: TableEstimate, values: int) -> TableEstimate:
    """Return the frequencies of a feature with levels, smoothed; others are returned unchanged.

    Penalised least squares with the covariance of the frequencies, among those that add up to 1. In
    coordinates in which noise and penalty are diagonal, each estimate is multiplied by a factor of
    1 / (1 + weight s). The weight minimises an unbiased estimate of the squared error in units of the noise
    (C_L of Mallows 1973, see docs/results/replication.md).
    """
    size = len(estimate.raw)
    if not (isinstance(estimate, CombinedFrequencies) and estimate.levels):
        return estimate
    sums = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, 1:]]))[0]
    changes = sums[:, 1:]  # a basis of the frequencies that add up to 0
    noise = np.linalg.cholesky(compute_sum_covariances(estimate, changes.T, 1, 0))
    differences = np.diff(np.eye(values, size), _ORDER, axis=0) @ changes @ noise
    penalties, vectors = np.linalg.eigh(differences.T @ differences)
    unpenalised = len(penalties) - len(differences)
    penalties[:unpenalised] = 0.0
    penalties /= np.exp(np.log(penalties[unpenalised:]).mean())
    estimates = vectors.T @ np.linalg.solve(noise, changes.T @ estimate.raw)
    kept = 1 / (1 + np.outer(_WEIGHTS, penalties))
    errors = np.square((1 - kept) * estimates).sum(axis=1) + 2 * kept.sum(axis=1)
    smooth = 1 / size + changes @ noise @ vectors @ (kept[errors.argmin()] * estimates)
    return replace(estimate, raw=smooth, levels=())


def _simulate(plan: Plan, codes: Codes, people: int, survey: int) -> TableEstimate:
    rows = np.random.default_rng([46, survey]).integers(0, len(codes), people)
    devices = FastStream(np.random.SeedSequence([47, survey]))
    labels = np.zeros(len(codes), dtype=np.int64)
    [shares] = compute_raw_estimates(simulate_reports(plan, codes, labels, devices, rows)).share_estimates
    assert shares is not None
    assert not isinstance(shares, ClassMoments)
    return shares
