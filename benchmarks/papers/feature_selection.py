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

from benchmarks.papers.marks import FLOATS, PaperError, Section, not_for_release
from benchmarks.papers.paper_rows import PaperRows, accuracies, predict_majority, predict_ours
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.central.selection import feature_count

EPSILON = 0.1
DATA_SETS = ("mushroom", "chess")
Select = Callable[[FloatArray, int, float], Sequence[int]]
"""Selects a number of features by their counts, at an epsilon."""


def threshold(features: int, epsilon: float) -> float:
    """Return the 65th percentile of Laplace noise of scale features / epsilon (equation 3.15)."""
    return -features / epsilon * math.log(2 * (1 - 0.65))


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
    owner = rng.permutation(len(x)) % x.shape[1]
    own = [
        count_cells(x[owner == place, place : place + 1], labels[owner == place])
        for place in range(x.shape[1])
    ]
    return noisy_cells(np.concatenate(own, axis=1), epsilon, 1, rng)


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


def log_sums(scores: FloatArray, count: int, rate: float, printed: bool = False) -> FloatArray:
    """Return s(t, d) of algorithm 5: the log of the sum of e^(rate q.m) over masks of d bits with t ones.

    With `printed`, the recursion lacks q_d as in line 26.
    """
    size = len(scores)
    sums = np.full((count + 1, size + 1), -np.inf)
    sums[0] = 0.0
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

    def without_privacy(cells: FloatArray, count: int, _epsilon: float) -> list[int]:
        return sorted(np.argsort(-mutual_information(cells), kind="stable")[:count].tolist())

    return {
        "selected without privacy": without_privacy,
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
    table = [
        [name, *(f"{np.mean(list(accuracies(data[each], repeats, seed, fit))):.3f}" for each in DATA_SETS)]
        for name, fit in methods.items()
    ]
    text = (
        f"Mean accuracy of {repeats} splits at epsilon {EPSILON}. Neighbours differ by one row that is "
        "added or removed."
    )
    yield Section("Naive Bayes with selected features", text, ["", *DATA_SETS], table)


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
