"""A thesis on feature selection, chapter 3: private Naive Bayes and selection of binary features.

The thesis adds noise to the counts of all features and raises small counts to a threshold. It selects
features by mutual information or by a score of counts. There are two classes. The corrected form of the
selection is the sampler of subsets; this project selects with permute-and-flip.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from scipy.special import expit

from benchmarks.accuracy.tables import shown
from benchmarks.papers.marks import FLOATS, PaperError, Section, error_note, not_for_release
from benchmarks.papers.paper_rows import PaperRows, accuracies, predict_majority, predict_ours, splits
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_central.curator_naive_bayes import feature_count

EPSILON = 0.1
DATA_SETS = ("mushroom", "chess", "adult")
"""The first and the last are the thesis's; chess stands in for its texts."""
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Numbers of features of figures 3.7 and 3.8."""
SYNTHETIC = {
    "dense, 3,000 rows": (3000, (0.8, 0.5), 0.1),
    "sparse, 3,000 rows": (3000, (0.01, 0.03), 0.1),
    "sparse, 30,000 rows": (30_000, (0.01, 0.03), 0.1),
    "sparse, 60,000 rows": (60_000, (0.01, 0.03), 0.01),
}
"""Rows of figure 3.8, P(on | class) of every feature, and epsilon."""
SYNTHETIC_FEATURES = 300
Select = Callable[[FloatArray, int, float], Sequence[int]]
"""Selects a number of features by their counts, at an epsilon."""


def threshold(features: int, epsilon: float, percentile: float = 0.65) -> float:
    """Return a percentile of Laplace noise of scale features / epsilon (equation 3.15)."""
    return -features / epsilon * math.log(2 * (1 - percentile))


def count_cells(x: FloatArray, labels: IntArray) -> FloatArray:
    """Return how often each feature is off and on in each class, (2, D, 2)."""
    by_class = np.eye(2)[labels]
    on = x.T @ by_class
    return np.stack([by_class.sum(axis=0) - on, on])


@not_for_release("its threshold was chosen by accuracies on the private rows, and " + FLOATS)
def noisy_cells(cells: FloatArray, epsilon: float, features: int, rng: np.random.Generator) -> FloatArray:
    """Return the counts of algorithm 1: noise of scale features / epsilon, raised to the threshold."""
    noisy = cells + rng.laplace(0, features / epsilon, cells.shape)
    return np.maximum(noisy, threshold(features, epsilon))


@not_for_release("its threshold was chosen like the threshold of `noisy_cells`, and " + FLOATS)
def partitioned_cells(
    x: FloatArray, labels: IntArray, epsilon: float, rng: np.random.Generator
) -> FloatArray:
    """Return counts of which each feature has its own share of the rows, and noise of scale 1 / epsilon."""
    return noisy_cells(count_shares(x, labels, rng), epsilon, 1, rng)


def count_shares(x: FloatArray, labels: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return the counts of each feature in its own share of the rows (section 3.4)."""
    owner = rng.permutation(len(x)) % x.shape[1]
    shares = [
        count_cells(x[owner == place, place : place + 1], labels[owner == place])
        for place in range(x.shape[1])
    ]
    return np.concatenate(shares, axis=1)


def predict_from_cells(cells: FloatArray, x: FloatArray) -> IntArray:
    """Return the labels that Naive Bayes of counts (2, D, 2) predicts, with one pseudo count each."""
    smoothed = np.log((cells + 1) / (cells + 1).sum(axis=0))
    prior = np.log(np.maximum(cells.sum(axis=0).mean(axis=0), 1.0))  # mean of each feature's class counts
    scores = x @ smoothed[1] + (1 - x) @ smoothed[0] + prior
    best: IntArray = scores.argmax(axis=1)
    return best


def count_scores(cells: FloatArray) -> FloatArray:
    """Return the score of equation 3.22, the largest difference of two classes; its sensitivity is 1."""
    scores: FloatArray = np.abs(cells[:, :, 1] - cells[:, :, 0]).max(axis=0)
    return scores


def mutual_information(cells: FloatArray) -> FloatArray:
    """Return the mutual information of each feature and the label, in bits."""
    joint = cells / cells.sum(axis=(0, 2), keepdims=True)
    product = joint.sum(axis=0, keepdims=True) * joint.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(joint > 0, joint * np.log2(joint / product), 0.0)
    information: FloatArray = terms.sum(axis=(0, 2))
    return information


def information_sensitivity(rows: int) -> float:
    """Return the sensitivity of equation 3.20, in bits, for a row that is replaced."""
    return math.log2(rows) / rows + (rows - 1) / rows * math.log2(rows / (rows - 1))


@not_for_release("its counts are from `noisy_cells`, which is not private.")
def ranking_of_model(cells: FloatArray, count: int, epsilon: float, rng: np.random.Generator) -> list[int]:
    """Return the features with the most information in noisy counts (algorithm 2)."""
    return most_informative(noisy_cells(cells, epsilon, cells.shape[1], rng), count)


@not_for_release(FLOATS)
def ranking_of_information(
    cells: FloatArray, count: int, epsilon: float, rng: np.random.Generator
) -> list[int]:
    """Return the features with the most information plus noise (algorithm 3), whose scale grows with D."""
    features = cells.shape[1]
    scale = features * information_sensitivity(round(cells[:, 0].sum())) / epsilon
    noisy = mutual_information(cells) + rng.laplace(0, scale, features)
    return sorted(np.argsort(-noisy, kind="stable")[:count].tolist())


def most_informative(cells: FloatArray, count: int) -> list[int]:
    """Return the features with the most information, without privacy unless the counts are private."""
    return sorted(np.argsort(-mutual_information(cells), kind="stable")[:count].tolist())


@not_for_release("a feature that is not selected spends epsilon too, and the loop may consider all of them.")
def iterative_selection(
    scores: FloatArray, count: int, epsilon: float, sensitivity: float, rng: np.random.Generator
) -> list[int]:
    """Return the features that algorithm 4 selects."""
    selected: list[int] = []
    for index, probability in _coin_flips(scores, count, epsilon, sensitivity):
        if len(selected) < count and rng.random() < probability:
            selected.append(index)
    return selected


def _coin_flips(
    scores: FloatArray, count: int, epsilon: float, sensitivity: float
) -> list[tuple[int, float]]:
    """Return the features by falling score, each with the probability of its selection."""
    order = np.argsort(-scores, kind="stable")
    shift = scores[order[count]] if count < len(order) else 0.0
    rate = epsilon / count / (2 * sensitivity)
    return [(int(index), float(expit(rate * (scores[index] - shift)))) for index in order]


def iterative_law(scores: FloatArray, count: int, epsilon: float) -> dict[frozenset[int], float]:
    """Return the exact probabilities of the sets that algorithm 4 selects by scores of sensitivity 1."""
    states = {frozenset[int](): 1.0}
    for index, probability in _coin_flips(scores, count, epsilon, 1.0):
        following: dict[frozenset[int], float] = {}
        for chosen, mass in states.items():
            share = probability if len(chosen) < count else 0.0
            following[chosen] = following.get(chosen, 0.0) + mass * (1 - share)
            if share:
                following[chosen | {index}] = following.get(chosen | {index}, 0.0) + mass * share
        states = following
    return states


def log_sums(
    scores: FloatArray, count: int, rate: float, printed: bool = False, empty_sum: float = 0.0
) -> FloatArray:
    """Return s(t, d) of algorithm 5: the log of the sum of e^(rate q.m) over masks of d bits with t ones.

    With `printed`, the recursion lacks q_d as in line 26. With the log `empty_sum` of -inf, the sum of the
    empty mask is 0 as in the text of section 3.5.5.
    """
    size = len(scores)
    sums = np.full((count + 1, size + 1), -np.inf)
    sums[0] = empty_sum
    for t, d in itertools.product(range(1, count + 1), range(1, size + 1)):
        if t == d:
            sums[t, d] = rate * scores[:d].sum()
        elif t < d:
            term = rate * (1.0 if printed else scores[d - 1])
            sums[t, d] = np.logaddexp(sums[t, d - 1], sums[t - 1, d - 1] + term)
    return sums


def bit_probability(sums: FloatArray, scores: FloatArray, rate: float, t: int, d: int) -> float:
    """Return the probability that bit d is one if t ones are left; as printed it may be above 1."""
    return float(np.exp(sums[t - 1, d - 1] + rate * scores[d - 1] - sums[t, d])) if 0 < t <= d else 0.0


@not_for_release("the printed probabilities differ from the probabilities in the proof, and " + FLOATS)
def sample_subset(
    scores: FloatArray,
    count: int,
    epsilon: float,
    sensitivity: float,
    rng: np.random.Generator,
    printed: bool = False,
) -> list[int]:
    """Return features by algorithm 5: the exponential mechanism among all sets of `count` features."""
    rate = epsilon / (2 * count * sensitivity)
    sums, left, chosen = log_sums(scores, count, rate, printed), count, []
    for d in range(len(scores), 0, -1):
        if rng.random() < bit_probability(sums, scores, rate, left, d):
            chosen.append(d - 1)
            left -= 1
    return sorted(chosen)


def _naive_bayes(
    select: Select | None,
    rng: np.random.Generator,
    partitioned: bool = False,
) -> Callable[[PaperRows, PaperRows], IntArray]:
    """Return training with half of epsilon for a selection, if there is one."""

    def fit_and_predict(training: PaperRows, test: PaperRows) -> IntArray:
        x, labels, left = training.binary, training.labels, EPSILON
        chosen: Sequence[int] = range(x.shape[1])
        if select:
            left = EPSILON / 2
            count = feature_count(x.shape[1], len(x), Fraction(1, 10))
            chosen = select(count_cells(x, labels), count, left)
        x = x[:, chosen]
        if partitioned:
            cells = partitioned_cells(x, labels, left, rng)
        else:
            cells = noisy_cells(count_cells(x, labels), left, len(chosen), rng)
        return predict_from_cells(cells, test.binary[:, chosen])

    return fit_and_predict


def selections(rng: np.random.Generator) -> dict[str, Select]:
    """Return each way to select features."""

    def by_counts(cells: FloatArray, count: int, epsilon: float) -> list[int]:
        return sample_subset(count_scores(cells), count, epsilon, 1.0, rng)

    def by_information(cells: FloatArray, count: int, epsilon: float) -> list[int]:
        sensitivity = information_sensitivity(round(cells[:, 0].sum()))
        return sample_subset(mutual_information(cells), count, epsilon, sensitivity, rng)

    def one_by_one(cells: FloatArray, count: int, epsilon: float) -> list[int]:
        sensitivity = information_sensitivity(round(cells[:, 0].sum()))
        return iterative_selection(mutual_information(cells), count, epsilon, sensitivity, rng)

    return {
        "selected without privacy": lambda cells, count, _: most_informative(cells, count),
        "algorithm 2": lambda cells, count, epsilon: ranking_of_model(cells, count, epsilon, rng),
        "algorithm 3": lambda cells, count, epsilon: ranking_of_information(cells, count, epsilon, rng),
        "algorithm 5 corrected, counts": by_counts,
        "algorithm 5 corrected, information": by_information,
        "algorithm 4, information": one_by_one,
    }


def sections(data: dict[str, PaperRows], repeats: int, seed: int) -> Iterator[Section]:
    """Yield the accuracies of Naive Bayes."""
    rng = np.random.default_rng(seed)
    methods = {
        "all features, threshold (algorithm 1)": _naive_bayes(None, rng),
        "all features, partitioned rows (3.4)": _naive_bayes(None, rng, partitioned=True),
        **{name: _naive_bayes(select, rng) for name, select in selections(rng).items()},
        "ours, Naive Bayes": predict_ours("nb", Fraction(EPSILON).limit_denominator(10)),
        "majority": predict_majority,
    }
    found = np.array(
        [[list(accuracies(data[each], repeats, seed, fit)) for each in DATA_SETS] for fit in methods.values()]
    )
    means = found.mean(axis=2)
    table = [[name, *(f"{each:.3f}" for each in row)] for name, row in zip(methods, means, strict=True)]
    text = (
        f"Mean accuracy of {repeats} splits at epsilon {EPSILON}. Neighbours differ by one row that is "
        f"added or removed.{error_note(np.moveaxis(found, 2, 0))}"
    )
    yield Section("Naive Bayes with selected features", text, ["", *DATA_SETS], table)
    yield _thresholds(data, repeats, seed)
    yield _numbers_of_features(data, repeats, seed)
    yield _partitions(data, repeats, seed)


def _measure(
    rows: PaperRows, repeats: int, seed: int, test_cells: Callable[[PaperRows, PaperRows], Iterator[float]]
) -> FloatArray:
    """Return the values that `test_cells` yields, shape (splits, values)."""
    return np.array([list(test_cells(*each)) for each in splits(rows, repeats, seed)])


def _accuracy(cells: FloatArray, x: FloatArray, labels: IntArray) -> float:
    return float((predict_from_cells(cells, x) == labels).mean())


def _thresholds(data: dict[str, PaperRows], repeats: int, seed: int) -> Section:
    """Return the accuracy of algorithm 1 for each threshold that the thesis tries."""
    rng = np.random.default_rng(seed)
    percentiles = (0.65, 0.7, 0.8, 0.9, 0.95, 0.99)
    names = ["0", "1", "log 2 / eps", "10", "100", *(f"{each:.0%} of the noise" for each in percentiles)]

    def test_cells(training: PaperRows, test: PaperRows) -> Iterator[float]:
        cells = count_cells(training.binary, training.labels)
        features = cells.shape[1]
        least = [0.0, 1.0, math.log(2) / EPSILON, 10.0, 100.0]
        for each in (*least, *(threshold(features, EPSILON, percentile) for percentile in percentiles)):
            noisy = cells + rng.laplace(0, features / EPSILON, cells.shape)
            yield _accuracy(np.maximum(noisy, each), test.binary, test.labels)
            yield float((noisy < each).any(axis=(0, 2)).mean())
            yield float((noisy[1] < each).all(axis=1).mean())

    samples = np.stack([_measure(data[name], repeats, seed, test_cells) for name in DATA_SETS], axis=2)
    samples = samples.reshape(repeats, len(names), 3, len(DATA_SETS))
    table = [
        [name, *(cell for each in row.T for cell in (f"{each[0]:.3f}", f"{each[1]:.0%}, {each[2]:.0%}"))]
        for name, row in zip(names, samples.mean(axis=0), strict=True)
    ]
    text = (
        f"Mean accuracy of {repeats} splits of algorithm 1 at epsilon {EPSILON} by its threshold. Raised: "
        "the share of features with a count that was raised to the threshold, and the share whose on-counts "
        f"were raised in both classes.{error_note(samples[:, :, 0])}"
    )
    head = ["threshold", *(cell for name in DATA_SETS for cell in (name, "raised"))]
    return Section("Figures 3.1 to 3.3: thresholds", text, head, table)


def _numbers_of_features(data: dict[str, PaperRows], repeats: int, seed: int) -> Section:
    """Return the accuracy by the number of features, which are selected without privacy."""
    rng = np.random.default_rng(seed)

    def test_cells(training: PaperRows, test: PaperRows) -> Iterator[float]:
        cells = count_cells(training.binary, training.labels)
        for count in (*COUNTS, cells.shape[1]):
            chosen = most_informative(cells, count)
            kept, x = cells[:, chosen], test.binary[:, chosen]
            yield _accuracy(kept, x, test.labels)
            yield _accuracy(noisy_cells(kept, EPSILON, len(chosen), rng), x, test.labels)

    table = []
    samples = np.stack([_measure(data[name], repeats, seed, test_cells) for name in DATA_SETS], axis=1)
    for name, found in zip(DATA_SETS, samples.mean(axis=0), strict=True):
        for title, column in zip(
            ("without privacy", f"epsilon {EPSILON}"), found.reshape(-1, 2).T, strict=True
        ):
            table.append([name, title, *(f"{each:.3f}" for each in column)])
    text = (
        f"Mean accuracy of {repeats} splits with the features that have the most information on the label; "
        f"this selection is not private. A data set with fewer features uses all.{error_note(samples)}"
    )
    return Section("Figure 3.7: number of features", text, ["", "", *map(str, COUNTS), "all"], table)


def _partitions(data: dict[str, PaperRows], repeats: int, seed: int) -> Section:
    """Return the accuracy with all rows for each feature, and with a share of the rows for each."""
    rng = np.random.default_rng(seed)

    def test_cells(
        x: FloatArray, labels: IntArray, others: FloatArray, truth: IntArray, epsilon: float
    ) -> Iterator[float]:
        cells = count_cells(x, labels)
        for count in COUNTS:
            chosen = most_informative(cells, count)
            kept, test, size = x[:, chosen], others[:, chosen], len(chosen)
            shares = count_shares(kept, labels, rng)
            yield _accuracy(cells[:, chosen], test, truth)
            yield _accuracy(shares, test, truth)
            yield _accuracy(noisy_cells(cells[:, chosen], epsilon, size, rng), test, truth)
            yield _accuracy(noisy_cells(shares, epsilon, 1, rng), test, truth)

    def test_split(training: PaperRows, test: PaperRows) -> Iterator[float]:
        return test_cells(training.binary, training.labels, test.binary, test.labels, EPSILON)

    samples = {name: _measure(data[name], repeats, seed, test_split) for name in DATA_SETS}
    for name, (count, on, epsilon) in SYNTHETIC.items():
        draws = []
        for _ in range(repeats):
            labels = rng.integers(0, 2, (2, count))
            x = (rng.random((2, count, SYNTHETIC_FEATURES)) < np.array(on)[labels][:, :, None]) * 1.0
            draws.append(list(test_cells(x[0], labels[0], x[1], labels[1], epsilon)))
        samples[name] = np.array(draws)
    table = []
    for name, sample in samples.items():
        found = sample.reshape(repeats, len(COUNTS), 4)
        epsilon = SYNTHETIC[name][2] if name in SYNTHETIC else EPSILON
        for title, first in (("no privacy", 0), (f"epsilon {epsilon}", 2)):
            for rows, way in (("all rows", first), ("shares", first + 1)):
                table.append(
                    [name, f"{title}, {rows}", *(f"{each:.3f}" for each in found[:, :, way].mean(axis=0))]
                )
            table[-2].append("")
            table[-1].append(shown((found[:, :, first + 1] - found[:, :, first]).mean(axis=1), "+"))
    text = (
        f"Mean accuracy of {repeats} splits by the number of features, which are "
        f"selected without privacy, and of {repeats} draws of the thesis's synthetic rows, which have "
        f"{SYNTHETIC_FEATURES} features and as many test rows. With shares of the rows, each feature is "
        f"counted in other rows (section 3.4). The last column is the mean paired difference of the two."
    )
    return Section("Figure 3.8: partitioning", text, ["", "", *map(str, COUNTS), "shares - all rows"], table)


def realised_by_iteration(features: int, count: int, epsilon: float) -> float:
    """Return the epsilon of algorithm 4, over all scores of 0..3 that change by at most 1 each."""
    laws = {
        scores: iterative_law(np.array(scores, dtype=np.float64), count, epsilon)
        for scores in itertools.product(range(4), repeat=features)
    }
    most = 0.0
    for scores, law in laws.items():
        for steps in itertools.product((-1, 0, 1), repeat=features):
            other = laws.get(tuple(a + b for a, b in zip(scores, steps, strict=True)))
            if other:
                most = max(most, *(math.log(mass / other[chosen]) for chosen, mass in law.items()))
    return most


def largest_bit_probability(scores: FloatArray, count: int, epsilon: float) -> float:
    """Return the largest "probability" of algorithm 5 as printed, over all calls that its loop may make."""
    rate = epsilon / (2 * count)
    sums = log_sums(scores, count, rate, printed=True)
    calls = itertools.product(range(1, count + 1), range(1, len(scores) + 1))
    return max(bit_probability(sums, scores, rate, t, d) for t, d in calls)


def last_bit_probability(scores: FloatArray, count: int, epsilon: float) -> float:
    """Return the largest probability of the last feature if the sum of the empty mask were 0."""
    rate = epsilon / (2 * count)
    sums = log_sums(scores, count, rate, empty_sum=-math.inf)
    return max(bit_probability(sums, scores, rate, 1, d) for d in range(1, len(scores) + 1))


def realised_by_resampling(epsilon: float) -> float:
    """Return the epsilon of a count with noise that is drawn again until it is positive, for counts 0 and 1.

    The densities at 0 are e and e^(1 - e) / (2 - e^-e), in the notation e for epsilon.
    """
    return epsilon + math.log(2 - math.exp(-epsilon))


def errors() -> Iterator[PaperError]:
    """Yield the errors of chapter 3, and of the work that it discusses."""
    yield PaperError(
        "algorithm 4",
        "the loop considers more than T features, and the shift depends on the rows (4 features, T = 1)",
        "1",
        f"{realised_by_iteration(4, 1, 1.0):.2f}",
        "algorithm 5, or permute-and-flip",
    )
    scores = np.array([10.0, 40.0, 20.0, 30.0])
    yield PaperError(
        "algorithm 5, line 26",
        "the recursion lacks q_d (scores 10, 40, 20, 30; T = 2; epsilon 1)",
        "-",
        f'a "probability" of {largest_bit_probability(scores, 2, 1.0):,.0f}',
        "`log_sums`",
    )
    yield PaperError(
        "section 3.5.5",
        '"the sum is 0" for an empty mask, which would end the sampler with T - 1 features (same scores)',
        "-",
        f'the last feature has the "probability" {last_bit_probability(scores, 2, 1.0):g}',
        "the sum 1, as line 21 has it (log 0)",
    )
    yield PaperError(
        "Vaidya et al. 2013, as cited in 3.3.5",
        "the epsilons of D features and C classes are not added up (the thesis notes it)",
        "epsilon",
        "D epsilon + C",
        "one total",
    )
    nominal = (0.5, 1.0, 2.0)
    yield PaperError(
        "Vaidya et al. 2013, as cited in 3.3.5",
        "a noisy count is drawn again until it is positive (counts 0 and 1)",
        ", ".join(f"{each:g}" for each in nominal),
        ", ".join(f"{realised_by_resampling(each):.2f}" for each in nominal),
        "clip after the noise",
    )
