"""Trains a classifier of a trusted curator: the choice of the learner, and its budgets.

Everything but the rows is public. All decisions - which learner, how many features, which depth - depend on
public numbers only; the best learner by accuracy on the rows would reveal them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from encoders.exact_samplers import draw_laplace
from encoders.randomness import RandomSource, SystemEntropy
from ldp_aggregator.central.coded_rows import CentralError, CodedRows
from ldp_aggregator.central.design import Design
from ldp_aggregator.central.linear import LinearModel, fit_linear
from ldp_aggregator.central.naive_bayes import CentralNaiveBayes, fit_naive_bayes
from ldp_aggregator.central.promise import Promise, Spending
from ldp_aggregator.central.tree import DecisionTree, fit_tree

AUTO, NAIVE_BAYES, LINEAR, TREE = "auto", "nb", "linear", "tree"
LEARNERS = (AUTO, NAIVE_BAYES, LINEAR, TREE)
COUNT_SHARE = Fraction(1, 50)
"""The share of epsilon for a noisy number of rows, where the survey does not have a public one."""
ROWS_PER_WEIGHT = 30
"""Product of rows and epsilon, for each weight of a linear model, from which it is preferred to a tree."""

CentralModel = CentralNaiveBayes | LinearModel | DecisionTree


@dataclass(frozen=True)
class Training:
    """The result of a training."""

    learner: str
    """One of "nb", "linear" or "tree"."""
    model: CentralModel
    promise: Promise
    spendings: tuple[Spending, ...]
    """What each step spent, for the promise's neighbours; their epsilons add up to its epsilon exactly."""
    expected_rows: int
    """The public or noisy number of rows."""

    @property
    def delta(self) -> Fraction:
        """The sum of the deltas of the steps."""
        return sum((each.delta for each in self.spendings), Fraction(0))


def train(
    rows: CodedRows,
    promise: Promise,
    *,
    users: int | None = None,
    learner: str = AUTO,
    source: RandomSource | None = None,
) -> Training:
    """Train a classifier that may be published under the promise.

    Parameters
    ----------
    rows : CodedRows
    promise : Promise
        With a delta above zero, the tables of Naive Bayes have discrete Gaussian noise. Other learners need
        no delta but that of the tail of a linear model's noise, see :attr:`Training.delta`.
    users : int, optional
        The public number of expected rows. Without it, 2% of epsilon are spent on a noisy number.
    learner : str
        "nb", "linear", "tree", or "auto": "linear" if there are enough rows for its weights, else "tree".
    source : RandomSource, optional
        The operating system's by default. A seeded source is for tests: its models are not private.

    Raises
    ------
    CentralError
        If an argument is invalid, or a solver did not converge; nothing may then be released.
    """
    if learner not in LEARNERS:
        raise CentralError(f"learner is one of {', '.join(LEARNERS)}")
    if users is not None and users < 1:
        raise CentralError("the expected number of rows must be at least 1")
    source = source or SystemEntropy()
    epsilon, spendings = promise.row_epsilon, []
    expected_rows = users
    if expected_rows is None:
        spendings.append(Spending("number of rows", COUNT_SHARE * epsilon))
        expected_rows = max(len(rows) + draw_laplace(1 / spendings[0].epsilon, source), 1)
        epsilon -= spendings[0].epsilon
    chosen = learner if learner != AUTO else choose_learner(rows, expected_rows, epsilon)
    model: CentralModel
    if chosen == NAIVE_BAYES:
        model, spent = fit_naive_bayes(rows, expected_rows, epsilon, source, promise.row_delta)
    elif chosen == LINEAR:
        model, spent = fit_linear(rows, expected_rows, epsilon, source)
    else:
        model, spent = fit_tree(rows, expected_rows, epsilon, source)
    scaled = tuple(promise.for_group(each) for each in (*spendings, *spent))
    return Training(chosen, model, promise, scaled, expected_rows)


def choose_learner(rows: CodedRows, expected_rows: int, epsilon: Fraction) -> str:
    """Return "linear" or "tree"; of `rows`, only the public features and labels are used."""
    weights = Design.from_features(rows.features).columns * (rows.k - 1)
    return LINEAR if expected_rows * epsilon >= ROWS_PER_WEIGHT * weights else TREE
