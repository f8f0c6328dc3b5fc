"""The decision tree: scores by brute force, the exact law of whole trees, mutants, and large epsilon."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from encoders.randomness import FastStream, SystemEntropy
from ldp_aggregator.prediction.decision_tree import Split
from ldp_central import tree as tree_module
from ldp_central.coded_rows import CodedRows
from ldp_central.tree import fit_tree, list_splits, smooth_leaves, split_columns, split_scores, tree_depth
from tests.ldp_central.small_rows import (
    BINS,
    GAPS,
    NUMBER,
    THREE,
    TWO,
    make_rows,
    neighbours,
    random_rows,
)
from tests.support.branching import enumerated

EPSILON = Fraction(1)


def gini(left: Sequence[int], right: Sequence[int]) -> Fraction:
    """Return minus the impurity of two sides."""
    return -sum(
        (sum(side) - Fraction(sum(n * n for n in side), sum(side)) for side in (left, right) if sum(side)),
        Fraction(0),
    )


@pytest.mark.parametrize("k", [2, 3])
def test_gini_never_rises_with_a_row_and_falls_by_less_than_two(k):
    # a row changes one side only
    changes = []
    for side in product(range(4 if k == 3 else 8), repeat=k):
        for c in range(k):
            more = [n + (place == c) for place, n in enumerate(side)]
            changes.append(gini(more, [0] * k) - gini(side, [0] * k))
    assert max(changes) == 0
    assert -2 < min(changes) < -1


def test_hits_of_a_split_rise_by_at_most_one():
    changes = {
        max(n + (place == c) for place, n in enumerate(side)) - max(side)
        for side in product(range(4), repeat=3)
        for c in range(3)
    }
    assert changes == {0, 1}


def test_tests_of_features():
    assert list_splits((TWO,)) == [Split(0, 0, 0)]
    assert list_splits((THREE,)) == [Split(0, 0, 0), Split(0, 1, 1), Split(0, 2, 2)]
    assert list_splits((BINS,)) == [
        Split(0, 0, 0),
        Split(0, 0, 1),
        Split(0, 0, 2),
    ]  # the last: is not missing
    assert [len(list_splits((feature,))) for feature in (NUMBER, GAPS)] == [7, 8]
    assert len(list_splits((type(TWO)("one", ("a",)),))) == 1


@pytest.mark.parametrize("by_hits", [False, True])
@pytest.mark.parametrize("as_objects", [False, True])
def test_scores_of_splits_are_those_of_brute_force(by_hits, as_objects, monkeypatch):
    if as_objects:
        monkeypatch.setattr(tree_module, "_MAX_ROWS_IN_WORDS", 0)
    rows = random_rows((TWO, THREE, BINS, NUMBER, GAPS), 3, 50)
    node = np.random.default_rng(1).integers(0, 2, 50)
    found = split_scores(rows, split_columns(rows), node, 2, by_hits)
    for place in range(2):
        here = node == place
        for index, split in enumerate(list_splits(rows.features)):
            value = rows.codes[here, split.feature]
            inside = (split.low <= value) & (value <= split.high)
            sides = [np.bincount(rows.labels[here][each], minlength=3) for each in (inside, ~inside)]
            score = Fraction(found[place].tops[index], found[place].bottoms[index])
            if by_hits:
                assert score == sum(int(side.max()) for side in sides)
            else:
                assert score - here.sum() == gini(*(side.tolist() for side in sides))


Law = dict[tuple[Split, ...], tuple[float, np.ndarray]]
"""For each choice of splits its probability and the exact counts of the leaves."""
Fit = Callable[[CodedRows], tuple[tuple[Split, ...], np.ndarray]]


def fit_without_noise(expected_rows: int) -> Fit:
    def fit(rows: CodedRows) -> tuple[tuple[Split, ...], np.ndarray]:
        tree, _ = fit_tree(rows, expected_rows, EPSILON, SystemEntropy())
        return tree.splits, tree.counts

    return fit


def law_of(fit: Fit, rows: CodedRows) -> Law:
    leaves = {}

    def run() -> tuple[Split, ...]:
        chosen, counts = fit(rows)
        leaves[chosen] = counts
        return chosen

    with pytest.MonkeyPatch.context() as patch, enumerated("ldp_central.tree") as paths:
        patch.setattr(tree_module, "draw_laplace_array", lambda scale, count, source: np.zeros(count, int))
        law, left = paths.law(run)
    assert left < 1e-8
    return {chosen: (float(mass), leaves[chosen]) for chosen, mass in law.items()}


def realised(fit: Fit, features: tuple, k: int, most: int) -> float:
    """Return the exact epsilon of the whole tree: that of the splits plus that of the leaves' counts."""

    @cache
    def law(rows: tuple) -> Law:
        return law_of(fit, make_rows(features, k, rows))

    worst = 0.0
    for one, other in neighbours(features, k, most):
        if law(one).keys() != law(other).keys():
            return math.inf
        for chosen, (mass, counts) in law(one).items():
            other_mass, other_counts = law(other)[chosen]
            of_leaves = float(EPSILON / 4) * int(np.abs(counts - other_counts).sum())
            worst = max(worst, abs(math.log(mass / other_mass)) + of_leaves)
    return worst


@pytest.mark.slow
@pytest.mark.parametrize(
    ("features", "k", "spent"), [((TWO, TWO), 2, 1.0), ((THREE,), 2, 1.0), ((TWO, TWO), 3, 0.8125)]
)
def test_a_tree_of_depth_one_spends_what_its_scores_can_show(features, k, spent):
    # hits for two classes spend epsilon; Gini for three changes by less than its bound in few rows
    assert realised(fit_without_noise(60), features, k, 3) == pytest.approx(spent, abs=1e-9)


@pytest.mark.slow
def test_a_tree_of_depth_one_with_gini_and_two_classes(monkeypatch):
    monkeypatch.setattr(tree_module, "HITS_BELOW", 0)
    assert 0.5 < realised(fit_without_noise(60), (TWO, THREE), 2, 2) <= 1 + 1e-9


@pytest.mark.slow
def test_a_tree_of_depth_two_spends_at_most_epsilon():
    assert realised(fit_without_noise(240), (TWO, TWO), 2, 2) == pytest.approx(1.0, abs=1e-9)


def stop_at_empty_nodes(rows: CodedRows) -> tuple[tuple[Split, ...], np.ndarray]:
    chosen, counts = fit_without_noise(60)(rows)
    return (chosen if len(rows) else ()), counts


def median_cut(rows: CodedRows) -> tuple[tuple[Split, ...], np.ndarray]:
    middle = int(np.median(rows.codes[:, 0])) if len(rows) else 0
    inside = rows.codes[:, 0] <= middle
    counts = [np.bincount(rows.labels[each], minlength=rows.k) for each in (~inside, inside)]
    return (Split(0, 0, middle),), np.stack(counts)


def twice_the_rate(rows: CodedRows) -> tuple[tuple[Split, ...], np.ndarray]:
    choose = tree_module.choose_split
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            tree_module, "choose_split", lambda scores, epsilon, *rest: choose(scores, 2 * epsilon, *rest)
        )
        return fit_without_noise(60)(rows)


def best_split(rows: CodedRows) -> tuple[tuple[Split, ...], np.ndarray]:
    def choose(scores: tree_module.SplitScores, *_: object) -> int:
        return int(np.argmax(np.divide(scores.tops, scores.bottoms)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_module, "choose_split", choose)
        return fit_without_noise(60)(rows)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [stop_at_empty_nodes, median_cut, twice_the_rate, best_split])
def test_mutants_of_the_tree_exceed_epsilon(mutant):
    assert realised(mutant, (THREE, TWO), 2, 2) > 1.02


def test_the_tree_is_grown_to_its_depth_without_rows():
    rows = make_rows((TWO, THREE), 2, [])
    tree, _ = fit_tree(rows, 1000, EPSILON, FastStream(1))
    assert len(tree.splits) == 2**4 - 1
    assert tree.leaves.shape == (16, 2)
    law = law_of(fit_without_noise(60), rows)
    assert [mass for mass, _ in law.values()] == pytest.approx([1 / 4] * 4)


def test_the_depth_follows_from_public_numbers():
    assert [tree_depth(n, EPSILON) for n in (1, 119, 120, 479, 480, 10**7)] == [1, 1, 1, 2, 3, 8]


def test_a_large_epsilon_gives_the_greedy_tree_and_the_shares_of_its_leaves():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (4000, 5))
    labels = (codes[:, 1] & codes[:, 3]) ^ (rng.random(4000) < 0.02)
    rows = CodedRows((TWO,) * 5, 2, codes, labels)
    tree, spent = fit_tree(rows, 1, Fraction(1000), FastStream(2))
    assert sum(each.epsilon for each in spent) == 1000
    assert {split.feature for split in tree.splits[:3]} >= {1, 3}
    assert (tree.scores(codes).argmax(axis=1) == labels).mean() > 0.97
    leaf = tree.find_leaves(codes)
    for place in np.unique(leaf):
        shares = np.bincount(labels[leaf == place], minlength=2) / (leaf == place).sum()
        assert tree.leaves[place] == pytest.approx(shares, abs=0.02)


def test_leaves_without_counts_take_the_distribution_of_their_parents():
    shares = smooth_leaves(np.array([[90.0, 10], [0, 0], [0, 0], [0, 0]]), 8.0)
    assert shares.sum(axis=1) == pytest.approx(np.ones(4))
    assert shares[0, 0] > shares[1, 0] > 0.6
    assert shares[2] == pytest.approx(shares[3])
    assert (smooth_leaves(np.full((4, 3), -50.0), 8.0) > 0).all()
