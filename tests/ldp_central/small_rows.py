"""Small data sets of two features, all of them, with their neighbours."""

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

import numpy as np

from encoders.survey import BinnedFeature, CategoricalFeature, Feature, NumericFeature
from ldp_central.coded_rows import CodedRows

TWO = CategoricalFeature("two", ("a", "b"))
THREE = CategoricalFeature("three", ("a", "b", "c"))
BINS = BinnedFeature("bins", ("0", "1", "2", "3"), "category")
NUMBER = NumericFeature("number", "0", "10")
GAPS = NumericFeature("gaps", "0", "10", "category")


def make_rows(features: Sequence[Feature], k: int, rows: Sequence[Sequence[int]]) -> CodedRows:
    """Return rows, each a list of codes with the label's code last."""
    table = np.array(rows, dtype=np.int64).reshape(-1, len(features) + 1)
    return CodedRows(tuple(features), k, table[:, :-1], table[:, -1])


def random_rows(features: Sequence[Feature], k: int, count: int, seed: int = 1) -> CodedRows:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, feature.size, count) for feature in features], axis=1)
    return CodedRows(tuple(features), k, codes, rng.integers(0, k, count))


def neighbours(
    features: Sequence[Feature], k: int, most: int
) -> Iterator[tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]]:
    """Yield all pairs of data sets of at most `most` rows and of one row more."""
    kinds = list(product(*(range(feature.size) for feature in features), range(k)))
    for size in range(most + 1):
        for rows in combinations_with_replacement(kinds, size):
            for extra in kinds:
                yield rows, tuple(sorted((*rows, extra)))
