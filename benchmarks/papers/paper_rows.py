"""Data sets in the codings of the papers, split for each repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.stats import norm

from benchmarks.central.data_sets import DataSet, read_data_set
from benchmarks.central.ours import predict
from encoders.survey.features import BinnedFeature
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.privacy_statement import ADD_REMOVE
from ldp_central.coded_rows import CodedRows
from ldp_central.learner import train
from ldp_central.promise import Promise
from ldp_design.simulation.experiment import split_rows

MANY_ROWS, FEW_SPLITS = 10_000, 5
"""With more rows, splits differ by so little that a few are enough."""
MIN_EPSILON = Fraction(1, 10**5)
"""The smallest epsilon at which ours runs; below it stands for a smaller one of a paper."""


@dataclass(frozen=True)
class PaperRows:
    """Rows with numbers and categories.

    Attributes
    ----------
    data : DataSet
        For ours; numbers are in bins. Its survey is taken as public.
    is_number : (F,) array
        False for numbers with missing values: their bins are categories.
    low, high : (F,) array
        The public bounds of numbers; the codes of categories are in 0, ..., high.
    binary : (m, D) array
        0 or 1 for each value of a category that occurs, and for "above the median" of each number. Neither
        the values that occur nor the medians are private.
    """

    data: DataSet
    is_number: BoolArray
    low: FloatArray
    high: FloatArray
    binary: FloatArray

    @classmethod
    def read(cls, path: Path) -> PaperRows:
        """Read a data set."""
        data = read_data_set(path)
        features, codes = data.rows.features, data.rows.codes
        low, high = np.zeros(len(features)), np.array([each.size - 1.0 for each in features])
        is_number = np.zeros(len(features), dtype=np.bool_)
        columns: list[BoolArray] = []
        for place, feature in enumerate(features):
            column = data.scaled[:, place]
            if isinstance(feature, BinnedFeature) and not np.isnan(column).any():
                is_number[place] = True
                low[place], high[place] = map(float, feature.bounds)
                columns.append(column > np.median(column))
            else:
                columns += [codes[:, place] == value for value in np.unique(codes[:, place])]
        return cls(data, is_number, low, high, np.stack(columns, axis=1).astype(np.float64))

    def take(self, indices: IntArray) -> PaperRows:
        return replace(self, data=self.data.take(indices), binary=self.binary[indices])

    def __len__(self) -> int:
        return len(self.coded)

    @property
    def coded(self) -> CodedRows:
        return self.data.rows

    @property
    def labels(self) -> IntArray:
        return self.coded.labels

    @property
    def k(self) -> int:
        return self.coded.k

    @property
    def values(self) -> FloatArray:
        """Numbers as they are, and codes of categories, (m, F)."""
        raw = self.low + self.data.scaled * (self.high - self.low)
        return np.where(self.is_number, raw, self.coded.codes)

    @property
    def numbers(self) -> FloatArray:
        """The numbers, (m, count), on [0, 1]."""
        return self.data.scaled[:, self.is_number]

    @property
    def raw_numbers(self) -> FloatArray:
        """The numbers as they are, (m, count)."""
        return self.values[:, self.is_number]

    @property
    def categories(self) -> list[tuple[IntArray, int]]:
        """The codes of each category, and the number of its values."""
        places = np.flatnonzero(~self.is_number)
        return [(self.coded.codes[:, place], self.coded.features[place].size) for place in places]

    @property
    def queries(self) -> int:
        """The number of queries about a row that the papers count: 1 + categories + 2 numbers."""
        return 1 + len(self.is_number) + int(self.is_number.sum())


def splits(rows: PaperRows, repeats: int, seed: int) -> Iterator[tuple[PaperRows, PaperRows]]:
    """Yield training rows, four fifths, and test rows, one fifth."""
    for split in split_rows(len(rows), repeats, seed, 0.0):
        yield rows.take(split.train), rows.take(split.test)


def accuracies(
    rows: PaperRows, repeats: int, seed: int, fit_and_predict: Callable[[PaperRows, PaperRows], IntArray]
) -> Iterator[float]:
    """Yield the accuracy of each split into four fifths and one fifth."""
    for training, test in splits(rows, repeats, seed):
        yield float((fit_and_predict(training, test) == test.labels).mean())


def mean_accuracy(
    rows: PaperRows, repeats: int, seed: int, fit_and_predict: Callable[[PaperRows, PaperRows], IntArray]
) -> float:
    """Return the mean of :func:`accuracies`; large data sets have few splits."""
    repeats = min(repeats, FEW_SPLITS) if len(rows) > MANY_ROWS else repeats
    return float(np.mean(list(accuracies(rows, repeats, seed, fit_and_predict))))


def describe_splits(repeats: int) -> str:
    """Return how many splits a mean is of, as words."""
    return f"{repeats} splits ({min(repeats, FEW_SPLITS)} if there are more than {MANY_ROWS:,} rows)"


def predict_ours(
    learner: str, epsilon: Fraction, adjacency: str = ADD_REMOVE
) -> Callable[[PaperRows, PaperRows], IntArray]:
    """Return training and prediction by this project's curator."""
    promise = Promise(max(epsilon, MIN_EPSILON), adjacency=adjacency)

    def fit_and_predict(training: PaperRows, test: PaperRows) -> IntArray:
        training_of = train(training.coded, promise, users=len(training), learner=learner)
        return predict(training_of.model, test.data)

    return fit_and_predict


def predict_majority(training: PaperRows, test: PaperRows) -> IntArray:
    """Predict the most frequent label."""
    return np.full(len(test), np.bincount(training.labels).argmax())


@dataclass(frozen=True)
class NaiveBayes:
    """Naive Bayes with normal numbers.

    Attributes
    ----------
    prior : (k,) array
    tables : list of (A, k) arrays
        P(value | label).
    mean, deviation : (count, k) arrays
    """

    prior: FloatArray
    tables: list[FloatArray]
    mean: FloatArray
    deviation: FloatArray

    def predict(self, rows: PaperRows, numbers: FloatArray, truncated: bool = False) -> IntArray:
        """Return the most probable labels.

        With `truncated`, the densities are those of normal distributions truncated to [0, 1].
        """
        scores = np.tile(np.log(np.maximum(self.prior, TINY)), (len(rows), 1))
        for table, (codes, _) in zip(self.tables, rows.categories, strict=True):
            scores += np.log(np.maximum(table, TINY))[codes]
        for column, mean, deviation in zip(numbers.T, self.mean, self.deviation, strict=True):
            scores += -(((column[:, None] - mean) / deviation) ** 2) / 2 - np.log(deviation)
            if truncated:
                scores -= np.log(np.maximum(_mass(mean, deviation), TINY))
        best: IntArray = scores.argmax(axis=1)
        return best


TINY = 1e-5
"""The smallest count and the smallest deviation; Lopuhaa-Zwakenberg et al. 2021 use it too."""


def _mass(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the mass of normal distributions on [0, 1]."""
    mass: FloatArray = norm.cdf((1 - mean) / deviation) - norm.cdf(-mean / deviation)
    return mass
