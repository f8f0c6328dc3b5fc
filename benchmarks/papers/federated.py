"""Marchioro et al. 2022: federated Naive Bayes with noise at the local sensitivity.

Each silo adds noise to its counts, and to its sums and sums of squares of each class. The paper scales the
noise of sums by the largest value of the silo's own rows. The corrected form clips to public bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from benchmarks.central.ours import predict
from benchmarks.papers.marks import FLOATS, PaperError, Section, not_for_release
from benchmarks.papers.measured_epsilon import lower_bound
from benchmarks.papers.paper_rows import (
    TINY,
    NaiveBayes,
    PaperRows,
    describe_splits,
    mean_accuracy,
    predict_majority,
)
from encoders.randomness import SystemEntropy
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation.tables.noisy_tables import NoisyTable
from ldp_central.coded_rows import CodedRows
from ldp_central.curator_naive_bayes import CentralNaiveBayes, measure_tables, smooth

DATA_SETS = ("pima", "mushroom", "adult", "skin")
SILOS = (1, 10, 100)
EPSILONS = ("0.01", "0.1", "1", "10")
DRAWS = 200
TRIALS = 1_000_000


@dataclass(frozen=True)
class Message:
    """What a silo sends: counts, and sums of numbers, by class.

    Attributes
    ----------
    classes : (k,) array
    tables : list of (A, k) arrays
    sums, squares : (count, k) arrays
    """

    classes: FloatArray
    tables: list[FloatArray]
    sums: FloatArray
    squares: FloatArray

    def __add__(self, other: Message) -> Message:
        """Return the message about the rows of both."""
        tables = [one + two for one, two in zip(self.tables, other.tables, strict=True)]
        return Message(
            self.classes + other.classes, tables, self.sums + other.sums, self.squares + other.squares
        )

    def fit(self, printed_variance: bool = False) -> NaiveBayes:
        """Return the classifier of algorithm 2; with `printed_variance`, that of equation 20."""
        totals = np.maximum(self.classes, 1.0)
        mean = self.sums / totals
        variance = self.squares / totals - (mean if printed_variance else mean**2)
        tables = [np.maximum(each, TINY) / totals for each in self.tables]
        return NaiveBayes(totals / totals.sum(), tables, mean, np.sqrt(np.maximum(variance, TINY)))


@dataclass(frozen=True)
class Online:
    """The parameters of algorithm 3, which an aggregator updates by each message."""

    classes: FloatArray
    tables: list[FloatArray]
    mean: FloatArray
    variance: FloatArray

    @classmethod
    def begin(cls, message: Message) -> Online:
        """Return the parameters of a first message."""
        mean = message.sums / message.classes
        return cls(message.classes, message.tables, mean, message.squares / message.classes - mean**2)

    def update(self, message: Message) -> Online:
        """Return the parameters after one more message."""
        classes = self.classes + message.classes
        tables = [one + two for one, two in zip(self.tables, message.tables, strict=True)]
        old = self.classes / classes
        mean = old * self.mean + message.sums / classes
        square = old * (self.variance + self.mean**2) + message.squares / classes
        return Online(classes, tables, mean, square - mean**2)


def _add_noise(rows: PaperRows, epsilon: float, rng: np.random.Generator, bounded: bool) -> Message:
    """Return the message of algorithm 1; numbers are scaled to [0, 1] if they are `bounded`."""
    e, k = epsilon / rows.queries, rows.k
    classes = np.bincount(rows.labels, minlength=k) + rng.laplace(0, 1 / e, k)
    tables = []
    for codes, size in rows.categories:
        cells = np.bincount(codes * k + rows.labels, minlength=size * k).reshape(size, k)
        tables.append(cells + rng.laplace(0, 1 / e, cells.shape))
    numbers = rows.numbers if bounded else rows.raw_numbers
    sums, squares = np.zeros((2, numbers.shape[1], k))
    for place, label in np.ndindex(sums.shape):
        x = numbers[rows.labels == label, place]
        for target, each in ((sums, x), (squares, x**2)):
            sensitivity = 1.0 if bounded else float(np.abs(each).max(initial=0.0))
            target[place, label] = each.sum() + rng.laplace(0, sensitivity / e)
    return Message(classes, tables, sums, squares)


@not_for_release("the noise of a sum is scaled by the largest value in the rows, which it thereby reveals.")
def local_message(rows: PaperRows, epsilon: float, rng: np.random.Generator) -> Message:
    """Return a silo's message of algorithm 1, with the local sensitivity of each sum."""
    return _add_noise(rows, epsilon, rng, bounded=False)


@not_for_release(FLOATS)
def bounded_message(rows: PaperRows, epsilon: float, rng: np.random.Generator) -> Message:
    """Return a silo's message about numbers that are clipped to public bounds."""
    return _add_noise(rows, epsilon, rng, bounded=True)


def sum_silos(silos: Sequence[CodedRows], epsilon: Fraction) -> CentralNaiveBayes:
    """Return ours: the classifier of the sum of the exact noisy tables of all silos."""
    source = SystemEntropy()
    noisy = [measure_tables(each, epsilon, source) for each in silos]
    tables = [_sum_tables(each) for each in zip(*noisy, strict=True)]
    return smooth(silos[0], dict(enumerate(tables)))


def _sum_tables(tables: Sequence[NoisyTable]) -> NoisyTable:
    cells: IntArray = np.sum([each.cells for each in tables], axis=0)
    variance = sum(each.cell_variance for each in tables)
    return replace(tables[0], cells=cells, cell_variance=variance, terms=len(tables))


def divide(rows: PaperRows, silos: int) -> list[PaperRows]:
    """Return the rows of each silo; the rows are in random order."""
    return [rows.take(np.arange(place, len(rows), silos)) for place in range(silos)]


def _predict(
    kind: str, silos: int, epsilon: str, rng: np.random.Generator
) -> Callable[[PaperRows, PaperRows], IntArray]:
    def fit_and_predict(training: PaperRows, test: PaperRows) -> IntArray:
        parts = divide(training, silos)
        if kind == "ours":
            model = sum_silos([each.coded for each in parts], Fraction(epsilon))
            return predict(model, test.data)
        send = local_message if kind == "as printed" else bounded_message
        total, *others = (send(each, float(epsilon), rng) for each in parts)
        for message in others:
            total += message
        return total.fit().predict(test, test.raw_numbers if kind == "as printed" else test.numbers)

    return fit_and_predict


def sections(data: dict[str, PaperRows], repeats: int, seed: int) -> Iterator[Section]:
    """Yield figure 1, accuracies by number of silos, figures 2 and 3, and algorithm 3."""
    table = []
    for name in DATA_SETS:
        rows = data[name]
        majority = mean_accuracy(rows, repeats, seed, predict_majority)
        for kind in ("as printed", "corrected", "ours"):
            rng = np.random.default_rng(seed)
            for silos in SILOS:
                cells = [
                    mean_accuracy(rows, repeats, seed, _predict(kind, silos, epsilon, rng))
                    for epsilon in EPSILONS
                ]
                start = [name, f"{majority:.3f}", kind, str(silos)]
                table.append([*start, *(f"{each:.3f}" for each in cells)])
    head = ["", "majority", "", "silos", *(f"eps {each}" for each in EPSILONS)]
    yield Section("Figure 1", f"Mean accuracy of {describe_splits(repeats)}.", head, table)
    yield _sensitivities({name: data[name] for name in ("adult", "skin")})
    yield _mean_errors(data["adult"], seed)
    yield _compare_online(data["adult"], seed)


def _sensitivities(data: dict[str, PaperRows]) -> Section:
    """Return figure 2: the local sensitivities of the sums of silos, over that of all rows."""
    table = []
    for name, rows in data.items():
        everyone = np.abs(rows.raw_numbers)
        largest = np.stack([everyone[rows.labels == label].max(axis=0) for label in range(rows.k)])
        for silos in SILOS:
            found = [
                np.abs(part.raw_numbers[part.labels == label]).max(axis=0, initial=0.0) / largest[label]
                for part in divide(rows, silos)
                for label in range(rows.k)
            ]
            quantiles = np.quantile(np.concatenate(found), [0.05, 0.25, 0.5, 0.75, 0.95])
            table.append([name, str(silos), *(f"{each:.2f}" for each in quantiles)])
    text = (
        "Quantiles of the local sensitivity of a silo's sum of a number, over that of the sum over all rows."
    )
    return Section("Figure 2", text, ["", "silos", "5%", "25%", "50%", "75%", "95%"], table)


def _mean_errors(rows: PaperRows, seed: int) -> Section:
    """Return figure 3: the errors of noisy means, and how long their tails are."""
    rng, table = np.random.default_rng(seed), []
    true = np.stack([rows.raw_numbers[rows.labels == label].mean(axis=0) for label in range(rows.k)], axis=1)
    for silos in SILOS:
        parts, errors = divide(rows, silos), []
        for _ in range(DRAWS):
            total, *others = (local_message(part, 1.0, rng) for part in parts)
            for message in others:
                total += message
            errors.append(np.abs(total.fit().mean / true - 1))
        half, most = np.quantile(errors, [0.5, 0.98], axis=0)
        table.append(
            [str(silos), f"{np.median(half):.1%}", f"{np.median(most):.1%}", f"{(most / half).mean():.1f}"]
        )
    text = (
        f"Relative errors of the mean of a number in a class of adult, as printed at epsilon 1, in {DRAWS} "
        "draws. Half of the draws exceed the first error, and 2% exceed the second (medians over all means). "
        "Their ratio is 5.6 for Laplace noise, and 3.4 for normal noise."
    )
    return Section("Figure 3", text, ["silos", "50%", "2%", "ratio"], table)


def _compare_online(rows: PaperRows, seed: int) -> Section:
    """Return how far algorithm 3 is from sums."""
    rng, table = np.random.default_rng(seed), []
    for silos in SILOS[1:]:
        first, *others = (bounded_message(part, 10.0, rng) for part in divide(rows, silos))
        online, total = Online.begin(first), first
        for message in others:
            online, total = online.update(message), total + message
        mean = total.sums / total.classes
        variance = total.squares / total.classes - mean**2
        differences = (np.abs(online.mean - mean).max(), np.abs(online.variance - variance).max())
        table.append([str(silos), *(f"{each:.0e}" for each in differences)])
    text = (
        "The largest difference between the parameters that algorithm 3 updates with each message, and those "
        "of the sums, on adult. Sums of counters need no update of a division, and are exact (ours)."
    )
    return Section("Algorithm 3", text, ["silos", "means", "variances"], table)


EPSILON, VALUES, OUTLIER, THRESHOLD = 1 / 3, (1.0, *[9 / 19] * 19), 50.0, 30.0
"""The attack: 20 values in [0, 1] with the sum 10, a neighbour with one more, and the event |S - 10| > 30."""


@not_for_release("it adds the same noise to a sum as `local_message`, with the scale max abs(x) / epsilon.")
def draw_local_sums(
    values: Sequence[float], epsilon: float, count: int, rng: np.random.Generator
) -> FloatArray:
    """Return independent noisy sums, with the local sensitivity of section 2."""
    return sum(values) + rng.laplace(0, max(map(abs, values), default=0.0) / epsilon, count)


def attack(trials: int, seed: int) -> tuple[float, float]:
    """Return the epsilon of the attack's event, exactly, and a lower bound from drawing it."""
    rng, neighbours = np.random.default_rng(seed), (VALUES, (*VALUES, OUTLIER))
    centre = sum(VALUES)
    rare, frequent = (
        int((np.abs(draw_local_sums(each, EPSILON, trials, rng) - centre) > THRESHOLD).sum())
        for each in neighbours
    )
    scale = OUTLIER / EPSILON  # of the neighbour's noise, whose sum lies OUTLIER above the centre
    inside = (math.exp(-(OUTLIER - THRESHOLD) / scale) - math.exp(-(OUTLIER + THRESHOLD) / scale)) / 2
    exact = math.log(1 - inside) + THRESHOLD * EPSILON / max(VALUES)
    return exact, lower_bound(rare, frequent, trials)


def noise_growth(values: FloatArray, silos: int) -> float:
    """Return the deviation of the noise in a sum over silos, over that of one silo."""
    largest = [float(np.abs(part).max()) for part in np.array_split(values, silos)]
    return math.sqrt(sum(each**2 for each in largest)) / max(largest)


def errors() -> Iterator[PaperError]:
    """Yield the errors of the paper."""
    exact, measured = attack(TRIALS, 1)
    yield PaperError(
        "section 2, equation 9",
        'noise at the local sensitivity is called epsilon-private "using both definitions of sensitivity"',
        "0.33",
        f"{exact:.1f}; measured at least {measured:.1f} by {TRIALS:,} draws",
        "public bounds",
    )
    yield PaperError(
        "section 2, empty class",
        "a class without rows has the local sensitivity 0, so its sum is exactly 0",
        "0.33",
        "infinite",
        "public bounds",
    )
    values = np.random.default_rng(1).lognormal(0, 3, 10_000)
    yield PaperError(
        "section 6.3",
        "more silos are said to need less noise, but the one with the largest value adds as much as one silo",
        "-",
        f"noise of 100 silos / of one: {noise_growth(values, 100):.2f} (log-normal values)",
        "more silos always have more noise",
    )
    exact_moments = Message(np.array([4.0]), [], np.array([[8.0]]), np.array([[20.0]]))
    printed, correct = (exact_moments.fit(each).deviation[0, 0] ** 2 for each in (True, False))
    yield PaperError(
        "equation 20",
        "the variance is E x^2 - E x (here of 1, 1, 3, 3)",
        "-",
        f"{printed:g} for {correct:g}",
        "E x^2 - (E x)^2, as in its algorithm 3",
    )
