"""Private selection: the score by brute force, its exact ratio, and mutants."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from encoders.exact_samplers import permute_and_flip
from encoders.randomness import FastStream, SystemEntropy
from ldp_central.coded_rows import CodedRows
from ldp_central.curator_naive_bayes import count_hits, feature_count, select_features
from tests.ldp_central.small_rows import NUMBER, THREE, TWO, make_rows, neighbours, random_rows
from tests.support.branching import enumerated, realised_epsilon

EPSILON = Fraction(1)


def hits(table: np.ndarray) -> int:
    return int(table.max(axis=1).sum())


def class_difference(table: np.ndarray) -> int:
    """Return the count score of the feature selection thesis, which is not monotone."""
    return int((table.max(axis=1) - table.min(axis=1)).max())


@pytest.mark.parametrize(("score", "changes"), [(hits, {0, 1}), (class_difference, {-1, 0, 1})])
def test_changes_of_a_score_by_one_row_over_all_small_tables(score, changes):
    found = set()
    for cells in product(range(4), repeat=4):
        table = np.array(cells).reshape(2, 2)
        for place in product(range(2), repeat=2):
            more = table.copy()
            more[place] += 1
            found.add(score(more) - score(table))
    assert found == changes


def test_hits_of_rows_are_those_of_their_tables():
    rows = random_rows((TWO, THREE), 3, 30)
    for place, found in enumerate(count_hits(rows)):
        table = np.zeros((3, 3), dtype=np.int64)
        np.add.at(table, (rows.codes[:, place], rows.labels), 1)
        assert found == hits(table)


def test_hits_of_a_number_rise_by_at_most_one():
    rows = random_rows((NUMBER,), 3, 60)
    scores = [count_hits(CodedRows(rows.features, 3, rows.codes[:m], rows.labels[:m]))[0] for m in range(61)]
    assert all(0 <= after - before <= 1 for before, after in pairwise(scores))


def realised(scores: Callable[[CodedRows], Sequence], rate: Fraction, most: int) -> float:
    """Return the exact epsilon of the choice of one feature among two, over all small data sets."""

    @cache
    def law(rows: tuple) -> dict:
        with enumerated("encoders.exact_samplers") as paths:
            found, _ = paths.law(
                lambda: permute_and_flip(scores(make_rows((TWO, THREE), 2, rows)), rate, SystemEntropy())
            )
        return found

    return max(realised_epsilon(law(one), law(other)) for one, other in neighbours((TWO, THREE), 2, most))


def difference_scores(rows: CodedRows) -> list[int]:
    tables = []
    for column, feature in zip(rows.codes.T, rows.features, strict=True):
        table = np.zeros((feature.size, rows.k), dtype=np.int64)
        np.add.at(table, (column, rows.labels), 1)
        tables.append(table)
    return [class_difference(table) for table in tables]


@pytest.mark.slow
def test_the_choice_of_a_feature_realises_epsilon_and_no_more():
    assert realised(count_hits, EPSILON, 3) == pytest.approx(1.0)
    assert realised(difference_scores, EPSILON / 2, 3) == pytest.approx(1.0)


@pytest.mark.slow
def test_the_rate_of_monotone_scores_is_too_high_for_the_count_score():
    assert realised(difference_scores, EPSILON, 3) == pytest.approx(2.0)


def test_selected_features_are_sorted_distinct_and_the_best_at_a_large_epsilon():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 500)
    codes = rng.integers(0, 2, (500, 6))
    codes[:, 4] = labels
    codes[:, 1] = np.where(rng.random(500) < 0.9, labels, 1 - labels)
    rows = CodedRows((TWO,) * 6, 2, codes, labels)
    assert select_features(rows, 2, Fraction(100), FastStream(1)) == [1, 4]
    assert sorted(set(select_features(rows, 6, Fraction(1), FastStream(1)))) == [0, 1, 2, 3, 4, 5]


def test_the_number_of_features_follows_from_public_numbers():
    assert [feature_count(36, n, Fraction(1, 10)) for n in (10, 1600, 2400, 10**6)] == [1, 2, 2, 36]
