"""Data sets in the codings of the papers, split for each repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.stats import norm

from benchmarks.central import predict, read_columns, read_rows, take
from encoders.survey.numeric_features import BinnedFeature
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.central.budget import ADD_REMOVE, Promise
from ldp_aggregator.central.coded_rows import CodedRows
from ldp_aggregator.central.learner import train
from ldp_aggregator.simulation.labelled_table import split_rows

MIN_EPSILON = Fraction(1, 10**5)
"""The smallest epsilon at which ours runs; below it stands for a smaller one of a paper."""


@dataclass(frozen=True)
class PaperRows:
    """Rows with numbers and categories.

    Attributes
    ----------
    coded : CodedRows
        For ours; numbers are in bins.
    classes : (k,) array
        Codes of the labels that occur in the whole data set; those of the papers.
    values : (m, F) array
        Numbers as they are, and codes of categories.
    is_number : (F,) array
        False for numbers with missing values: their bins are categories.
    low, high : (F,) array
        The public bounds of numbers; the codes of categories are in 0, ..., high.
    binary : (m, D) array
        0 or 1 for each value of a category that occurs, and for "above the median" of each number. Neither
        the values that occur nor the medians are private.
    """

    coded: CodedRows
    classes: IntArray
    values: FloatArray
    is_number: BoolArray
    low: FloatArray
    high: FloatArray
    binary: FloatArray

    @property
    def labels(self) -> IntArray:
        """The index of each row's label among those that occur."""
        return self.find_labels(self.coded.labels)

    @property
    def k(self) -> int:
        """The number of labels that occur in the data set."""
        return len(self.classes)

    def find_labels(self, codes: IntArray) -> IntArray:
        """Return the index of each label by its code; -1 if it does not occur."""
        places = np.full(self.coded.k, -1)
        places[self.classes] = np.arange(self.k)
        return places[codes]

    def __len__(self) -> int:
        return len(self.coded)

    @classmethod
    def read(cls, path: Path) -> PaperRows:
        """Read a data set; the survey that `ldp-survey init` drafts from it is taken as public."""
        coded, (texts, _) = read_rows(path), read_columns(path)
        values = coded.codes.astype(np.float64)
        low, high = np.zeros(len(coded.features)), np.array([each.size - 1.0 for each in coded.features])
        is_number = np.zeros(len(coded.features), dtype=np.bool_)
        for place, feature in enumerate(coded.features):
            column = texts[feature.name]
            if isinstance(feature, BinnedFeature) and all(column):
                low[place], high[place] = map(float, feature.bounds)
                values[:, place] = np.clip(np.array(column, dtype=np.float64), low[place], high[place])
                is_number[place] = True
        columns = [
            values[:, place] > np.median(values[:, place]) if is_number[place] else values[:, place] == value
            for place in range(len(is_number))
            for value in (range(1) if is_number[place] else np.unique(values[:, place]))
        ]
        binary = np.stack(columns, axis=1).astype(np.float64)
        return cls(coded, np.unique(coded.labels), values, is_number, low, high, binary)

    def take(self, indices: IntArray) -> PaperRows:
        coded, values, binary = take(self.coded, indices), self.values[indices], self.binary[indices]
        return PaperRows(coded, self.classes, values, self.is_number, self.low, self.high, binary)

    @property
    def numbers(self) -> FloatArray:
        """The numbers, (m, count), on [0, 1]."""
        part = self.is_number
        scaled: FloatArray = (self.values[:, part] - self.low[part]) / (self.high[part] - self.low[part])
        return scaled

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


def accuracies(
    rows: PaperRows, repeats: int, seed: int, fit_and_predict: Callable[[PaperRows, PaperRows], IntArray]
) -> Iterator[float]:
    """Yield the accuracy of each split into four fifths and one fifth."""
    for split in split_rows(len(rows), repeats, seed, 0.0):
        test = rows.take(split.test)
        yield float((fit_and_predict(rows.take(split.train), test) == test.labels).mean())


def predict_ours(
    learner: str, epsilon: Fraction, adjacency: str = ADD_REMOVE
) -> Callable[[PaperRows, PaperRows], IntArray]:
    """Return training and prediction by this project's curator."""
    promise = Promise(max(epsilon, MIN_EPSILON), adjacency=adjacency)

    def fit_and_predict(training: PaperRows, test: PaperRows) -> IntArray:
        training_of = train(training.coded, promise, users=len(training), learner=learner)
        return test.find_labels(predict(training_of.model, test.coded.codes))

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
