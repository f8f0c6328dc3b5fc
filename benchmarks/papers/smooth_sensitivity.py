"""Zafarani and Clifton 2020: Naive Bayes with noise at the smooth sensitivity.

The paper adds Cauchy noise to the mean and the variance of each class, at the smooth sensitivity for a fixed
number of rows in the class. The corrected form accounts for rows that change their class, and divides epsilon
without loss between noise and smoothness. All numbers are on [0, 1]. A release is f + S Z / a, where S is a
b-smooth bound on the local sensitivity.
"""

from __future__ import annotations

import csv
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import truncnorm

from benchmarks.papers.marks import FLOATS, PaperError, Section, not_for_release
from benchmarks.papers.measured_epsilon import impossible_share
from benchmarks.papers.paper_rows import (
    TINY,
    NaiveBayes,
    PaperRows,
    describe_splits,
    mean_accuracy,
    predict_majority,
    predict_ours,
)
from ldp_aggregator.arrays import FloatArray, IntArray

DELTA = 1e-6
EPSILONS = ("0.1", "0.5", "1", "2", "5")
DATA_SETS = ("australian", "pima", "adult", "skin")
TRIMMED_SHARE = 0.1
DIVISIONS = {"1:2": 0.25, "1:1": 0.5, "2:1": 1.0, "4:1": 2.0, "8:1": 4.0}
"""Epsilon of a number to epsilon of a category, and of each of a number's two queries; 2:1 is the default."""
TIMED_ROWS = (5_000, 50_000, 200_000)
SYNTHETIC_ROWS = 10_000


@dataclass(frozen=True)
class Noise:
    """A distribution that is admissible for smooth sensitivity.

    Attributes
    ----------
    name : str
    spread, decay : callable
        a and b of an epsilon.
    draw : callable
    """

    name: str
    spread: Callable[[float], float]
    decay: Callable[[float], float]
    draw: Callable[[np.random.Generator], float]


CAUCHY = Noise("Cauchy", lambda e: e / 6, lambda e: e / 6, lambda rng: rng.standard_cauchy())
"""As printed: noise of 6 S / epsilon."""
TIGHT_CAUCHY = Noise(
    "tight Cauchy",
    lambda e: 2 * math.sinh(e / 3),  # 2 asinh(a / 2) + b = epsilon
    lambda e: e / 3,
    lambda rng: rng.standard_cauchy(),
)
GLOBAL = Noise("Laplace, global", lambda e: e, lambda _: 0.0, lambda rng: rng.laplace())
"""Noise at the global sensitivity, of means and deviations (Vaidya et al. 2013)."""
STUDENT = Noise(
    "Student t, 3 d.f.",
    lambda e: e / math.sqrt(3),  # (d + 1) / (2 sqrt(d)) a + d b = epsilon
    lambda e: e / 9,
    lambda rng: rng.standard_t(3),
)
LAPLACE = Noise(
    "Laplace, delta",
    lambda e: e / 2,
    lambda e: e / (2 * math.log(2 / DELTA)),
    lambda rng: rng.laplace(),
)
GAUSSIAN = Noise(
    "Gaussian, delta",
    lambda e: e / (5 * math.sqrt(2 * math.log(2 / DELTA))),
    lambda e: e / (4 * (1 + math.log(2 / DELTA))),
    lambda rng: rng.standard_normal(),
)


def bound_mean(x: FloatArray, decay: float) -> float:
    """Return the smooth sensitivity of the mean of a fixed number of sorted values (theorem 4)."""
    if not len(x):
        return 0.0
    return max(max(float(x[-1]), 1 - float(x[0])) / len(x), math.exp(-decay) / len(x))


def bound_variance(x: FloatArray, decay: float) -> float:
    """Return a smooth bound for the variance of a fixed number of sorted values; corrects theorem 7.

    After j replacements, one more changes the variance by at most (n-1)/n^2 max(h, 1-l)^2. Here l and h are
    the extreme means of n-1 rows.
    """
    n = len(x)
    if n < 2:
        return 0.0
    sums = np.concatenate([[0.0], np.cumsum(x)])
    j = np.arange(n)
    high = (j + sums[n] - sums[j + 1]) / (n - 1)
    low = sums[n - 1 - j] / (n - 1)
    change = (n - 1) / n**2 * np.maximum(high, 1 - low) ** 2
    return float((np.exp(-decay * j) * change).max())


def bound_class_change(count: int, decay: float) -> float:
    """Return a smooth bound for a mean of a class whose number of rows changes."""
    j = np.arange(max(count, 1))
    return float((np.exp(-decay * j) / np.maximum(1, count - j)).max())


@not_for_release("it is below the true smooth sensitivity, so the noise is too small.")
def literal_variance(x: FloatArray, decay: float) -> float:
    """Return the smooth sensitivity of the variance as theorem 7 states it.

    For each k, the k values are replaced that give the largest or the smallest variance. Then one value is
    replaced by 0, 1 or the mean.
    """
    n, best = len(x), 0.0
    for k in range(n):
        outer = [
            np.concatenate([x[:s], np.zeros(i), np.ones(k - i), x[s + k :]])
            for s in range(n - k + 1)
            for i in range(k + 1)
        ]
        kept = [x[i : n - k + i] for i in range(k + 1)]
        inner = [np.concatenate([each, np.full(k, each.mean())]) for each in kept]
        for chosen in (outer[np.var(outer, axis=1).argmax()], inner[np.var(inner, axis=1).argmin()]):
            best = max(best, math.exp(-decay * k) * _largest_change(chosen))
    return best


def compute_variance(x: FloatArray) -> float:
    """Return the mean squared distance from the mean."""
    return float(x.var())


def _largest_change(x: FloatArray) -> float:
    """Return the largest change of the variance if one value becomes 0, 1 or the mean."""
    changed = np.tile(x, (3, len(x), 1))
    for place in range(len(x)):
        changed[:, place, place] = 0.0, 1.0, x.mean()
    return float(np.abs(changed.var(axis=2) - x.var()).max())


def count_too_small(
    bound: Callable[[FloatArray, float], float],
    statistic: Callable[[FloatArray], float],
    size: int,
    decay: float,
) -> tuple[int, int]:
    """Return the number of data sets whose bound is below the true smooth sensitivity, and that of all.

    The data sets are all multisets of 5 points, and so are those that define the true value.
    """
    points = [0.0, 0.25, 0.5, 0.75, 1.0]
    sets = list(itertools.combinations_with_replacement(points, size))
    counts = [Counter(each) for each in sets]
    distance = np.array([[size - (a & b).total() for b in counts] for a in counts])
    values = np.array([statistic(np.array(each)) for each in sets])
    local = np.where(distance == 1, np.abs(values[:, None] - values), 0.0).max(axis=1)
    true = (np.exp(-decay * distance) * local).max(axis=1)
    found = np.array([bound(np.array(each), decay) for each in sets])
    return int((found < true - 1e-12).sum()), len(sets)


def bound_trimmed_mean(x: FloatArray, trim: int, decay: float) -> float:
    """Return the smooth sensitivity of the mean of sorted values without the `trim` least and greatest ones.

    The number of rows is fixed (Bun and Steinke 2019). Values beyond the ends are the bounds 0 and 1.
    """
    n, best = len(x), 0.0
    if n <= 2 * trim:
        return 1.0
    padded = np.concatenate([np.zeros(n + 2), x, np.ones(n + 2)])
    for j in range(n + 1):
        t = np.arange(j + 2)
        upper = np.minimum(n - trim + 1 + j - t, 2 * n + 2) + n + 1
        lower = np.maximum(trim + 1 - t, -n - 1) + n + 1
        change = float((padded[upper] - padded[lower]).max()) / (n - 2 * trim)
        best = max(best, math.exp(-decay * j) * change)
        if math.exp(-decay * (j + 1)) / (n - 2 * trim) <= best:
            break
    return best


def _moments_trimmed(x: FloatArray, noise: Noise, e: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the trimmed mean with noise, and the variance from that of the squares."""
    trim = int(TRIMMED_SHARE * len(x))
    noisy = []
    for each in (x, x**2):
        middle = float(each[trim : len(each) - trim].mean()) if len(each) else 0.0
        size = bound_trimmed_mean(each, trim, noise.decay(e)) / noise.spread(e)
        noisy.append(middle + size * noise.draw(rng))
    return noisy[0], noisy[1] - noisy[0] ** 2


def _moments(
    x: FloatArray, noise: Noise, e: float, rng: np.random.Generator, count: int | None
) -> tuple[float, float]:
    """Return a noisy mean and variance; the bounds are corrected if there is a noisy number of rows."""
    a, b = noise.spread(e), noise.decay(e)
    if noise is GLOBAL:  # no row is looked at, only their number
        of_mean, of_deviation = 1 / (len(x) + 1), 1 / math.sqrt(len(x) + 1)
        mean, deviation = (float(x.mean()), float(x.std())) if len(x) else (0.0, 0.0)
        deviation = max(deviation + of_deviation / a * noise.draw(rng), 0.0)
        return mean + of_mean / a * noise.draw(rng), deviation**2
    of_mean, of_variance = bound_mean(x, b), bound_variance(x, b)
    if count is not None:
        change = bound_class_change(count, b)
        of_mean, of_variance = max(of_mean, change), max(of_variance, 2 * change)
    mean, variance = (float(x.mean()), float(x.var())) if len(x) else (0.0, 0.0)
    return mean + of_mean / a * noise.draw(rng), variance + of_variance / a * noise.draw(rng)


@not_for_release("the number of rows of a class is taken as fixed, and " + FLOATS)
def fit_smooth(
    rows: PaperRows,
    epsilon: float,
    rng: np.random.Generator,
    noise: Noise = CAUCHY,
    corrected: bool = False,
    trimmed: bool = False,
    weight: float = 1.0,
) -> NaiveBayes:
    """Return the classifier of algorithm 1, or its corrected form, which has float noise too.

    Each of 1 + categories + 2 numbers gets the same share of epsilon, or a query about a number `weight`
    times the share of another one.
    """
    of_numbers = 2 * rows.numbers.shape[1]
    e = epsilon / (rows.queries - of_numbers + weight * of_numbers)
    counts = np.maximum(np.bincount(rows.labels, minlength=rows.k) + rng.laplace(0, 1 / e, rows.k), 0.0)
    tables = []
    for codes, size in rows.categories:
        cells = np.bincount(codes * rows.k + rows.labels, minlength=size * rows.k).reshape(size, rows.k)
        cells = np.maximum(cells + rng.laplace(0, 1 / e, cells.shape), 0.0) + 1
        tables.append(cells / cells.sum(axis=0))
    moments = np.zeros((2, rows.numbers.shape[1], rows.k))
    for place, column in enumerate(rows.numbers.T):
        for label in range(rows.k):
            x = np.sort(column[rows.labels == label])
            noisy_count = max(round(counts[label]), 1) if corrected else None
            moments[:, place, label] = (
                _moments_trimmed(x, noise, weight * e, rng)
                if trimmed
                else _moments(x, noise, weight * e, rng, noisy_count)
            )
    mean, deviation = np.clip(moments[0], 0, 1), np.sqrt(np.maximum(moments[1], TINY))
    return NaiveBayes((counts + 1) / (counts + 1).sum(), tables, mean, deviation)


def fit_truncated(model: NaiveBayes) -> NaiveBayes:
    """Return the model with normal distributions whose truncation to [0, 1] has the model's moments."""
    centres, spreads = (
        each.ravel() for each in np.meshgrid(np.linspace(-1, 2, 61), np.geomspace(0.01, 2, 40))
    )
    found = truncnorm.stats(-centres / spreads, (1 - centres) / spreads, loc=centres, scale=spreads)
    means, deviations = found[0], np.sqrt(found[1])
    misfit = (model.mean[..., None] - means) ** 2 + (
        np.minimum(model.deviation, 0.3)[..., None] - deviations
    ) ** 2
    nearest = misfit.argmin(axis=-1)
    return NaiveBayes(model.prior, model.tables, centres[nearest], spreads[nearest])


@dataclass(frozen=True)
class Method:
    """How means and variances get noise; `truncated` fits truncated normal distributions to them."""

    noise: Noise = CAUCHY
    corrected: bool = False
    trimmed: bool = False
    truncated: bool = False
    weight: float = 1.0

    def predictor(
        self, epsilon: float, rng: np.random.Generator
    ) -> Callable[[PaperRows, PaperRows], IntArray]:
        """Return training and prediction."""

        def fit_and_predict(training: PaperRows, test: PaperRows) -> IntArray:
            model = fit_smooth(training, epsilon, rng, self.noise, self.corrected, self.trimmed, self.weight)
            model = fit_truncated(model) if self.truncated else model
            return model.predict(test, test.numbers, self.truncated)

        return fit_and_predict


METHODS = {
    "global sensitivity, Laplace": Method(GLOBAL),
    "as printed: Cauchy 6S/eps": Method(),
    "as printed, truncated normal": Method(truncated=True),
    "as printed, Gaussian, delta": Method(GAUSSIAN),
    "as printed, Laplace, delta": Method(LAPLACE),
    "Bun and Steinke, Cauchy": Method(trimmed=True),
    "corrected, tight Cauchy": Method(TIGHT_CAUCHY, corrected=True),
    "corrected, Student t": Method(STUDENT, corrected=True),
}


def sections(data: dict[str, PaperRows], repeats: int, seed: int) -> Iterator[Section]:
    """Yield the accuracies on data sets with numbers, by division of the budget, and running times."""
    head = ["", *(f"eps {e}" for e in EPSILONS)]
    for name in DATA_SETS:
        rows = data[name]
        table = [_accuracy_row(title, method, rows, repeats, seed) for title, method in METHODS.items()]
        ours = [mean_accuracy(rows, repeats, seed, predict_ours("nb", Fraction(e))) for e in EPSILONS]
        table.append(["ours, Naive Bayes of bins", *(f"{each:.3f}" for each in ours)])
        majority = mean_accuracy(rows, repeats, seed, predict_majority)
        text = (
            f"Mean accuracy of {describe_splits(repeats)}. The majority class has an accuracy of "
            f"{majority:.3f}."
        )
        yield Section(f"Smooth sensitivity on {name}", text, head, table)
    table = []
    for name, rows in (("adult", data["adult"]), *_synthetic(seed)):
        for title, weight in DIVISIONS.items():
            row = _accuracy_row(title, Method(weight=weight), rows, repeats, seed)
            table.append([name, *row])
    text = (
        f"Figures 14 to 16: mean accuracy of {describe_splits(repeats)}, as printed with Cauchy noise, if a "
        "number gets a multiple of the epsilon of a category. Each synthetic set has 5 numbers and 5 "
        f"categories in {SYNTHETIC_ROWS:,} rows, of which the named ones depend on the label."
    )
    yield Section("Division of the budget", text, ["", "number:category", *head[1:]], table)
    yield _time_fits(data["skin"], seed)


def _accuracy_row(title: str, method: Method, rows: PaperRows, repeats: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    cells = (mean_accuracy(rows, repeats, seed, method.predictor(float(each), rng)) for each in EPSILONS)
    return [title, *(f"{each:.3f}" for each in cells)]


def _synthetic(seed: int) -> Iterator[tuple[str, PaperRows]]:
    """Yield the two data sets of the appendix: their numbers or their categories depend on the label."""
    rng = np.random.default_rng(seed)
    for name in ("numbers", "categories"):
        label = rng.integers(0, 2, SYNTHETIC_ROWS)[:, None]
        shift, bias = (label, 0.0 * label) if name == "numbers" else (0.0 * label, 0.2 * label)
        numbers = rng.normal(shift, 1.0, (SYNTHETIC_ROWS, 5)).round(4)
        categories = np.where(rng.random((SYNTHETIC_ROWS, 5)) < 0.4 + bias, "a", "b")
        with TemporaryDirectory() as folder:
            path = Path(folder, "synthetic.csv")
            with path.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow([*(f"n{i}" for i in range(5)), *(f"c{i}" for i in range(5)), "class"])
                writer.writerows(np.hstack([numbers, categories, np.where(label == 1, "yes", "no")]))
            yield f"synthetic, {name}", PaperRows.read(path)


def _time_fits(rows: PaperRows, seed: int) -> Section:
    """Return the running times of figure 13."""
    rng, table = np.random.default_rng(seed), []
    for count in TIMED_ROWS:
        some = rows.take(rng.permutation(len(rows))[:count])
        seconds = []
        for noise in (GLOBAL, CAUCHY):
            tries = []
            for _ in range(5):
                start = time.perf_counter()
                fit_smooth(some, 1.0, rng, noise)
                tries.append(time.perf_counter() - start)
            seconds.append(min(tries))
        table.append(
            [f"{len(some):,}", *(f"{each:.3f}" for each in seconds), f"{seconds[1] / seconds[0]:.1f}"]
        )
    text = "Figure 13: seconds of one training on rows of skin, the least of five. Both sort each column."
    return Section("Running time", text, ["rows", "global", "smooth", "ratio"], table)


def class_change_loss(epsilon: float, count: int) -> float:
    """Return the epsilon that a noisy mean realises as printed, if one of `count` rows changes its class.

    All rows of the class are 1/2, so that the mean stays as it is and only the noise changes.
    """
    b, a = CAUCHY.decay(epsilon), CAUCHY.spread(epsilon)
    one, other = (bound_mean(np.full(n, 0.5), b) / a for n in (count, count - 1))
    return abs(math.log(other / one))  # of the densities at 1/2; in the tails it is as large


def errors() -> Iterator[PaperError]:
    """Yield the errors of the paper."""
    below, of = count_too_small(literal_variance, compute_variance, 5, 0.1)
    corrected, _ = count_too_small(bound_variance, compute_variance, 5, 0.1)
    yield PaperError(
        "theorem 7",
        "the values that maximise the variance do not maximise its local sensitivity",
        "-",
        f"too small on {below} of {of} data sets (corrected: {corrected})",
        "`bound_variance`",
    )
    yield PaperError(
        "section 4",
        "the number of rows of a class is fixed, but a row can change its class (here from 2 rows to 1)",
        "0.1",
        f"{class_change_loss(0.1, 2):.2f}",
        "`bound_class_change`, or sums with public bounds (ours)",
    )
    yield PaperError(
        "algorithm 1, counts",
        "neighbours differ by a replaced row, which changes two cells, but a cell's noise is 1 / epsilon'",
        "1",
        "2",
        "noise of 2 / epsilon', or neighbours with one row more",
    )
    yield PaperError(
        "all papers",
        "noise consists of floating-point numbers: many outputs of the count 1 never occur with the count 0",
        "1",
        f"infinite, for {impossible_share(1, 100_000, 1):.0%} of the outputs",
        "integer noise (ours)",
    )
