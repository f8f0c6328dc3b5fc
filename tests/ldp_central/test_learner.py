"""The learner: budgets add up exactly, decisions use public numbers, and the noise is the system's."""

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldp_central
from encoders.randomness import FastStream, SystemEntropy
from ldp_aggregator.privacy_statement import Spending
from ldp_central import learner as learner_module
from ldp_central.coded_rows import CentralError, CodedRows
from ldp_central.learner import LEARNERS, TRIAL_SHARE, Training, choose_learner, train
from ldp_central.promise import Promise
from tests.ldp_central.small_rows import BINS, NUMBER, THREE, TWO, make_rows, random_rows

ROWS = random_rows((TWO, THREE, BINS), 3, 200)
WIDE, ZEROS = (TWO,) * 10, (0,) * 10
"""So many features that no tree has a leaf for each possible row."""


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("users", [None, 200, 100_000])
@pytest.mark.parametrize(
    "promise",
    [
        Promise(Fraction("0.1")),
        Promise(Fraction("0.37"), adjacency="replace"),
        Promise(Fraction(7, 3), Fraction(1, 10**6), rows_per_person=3),
        Promise(Fraction(1), Fraction(1, 10**6), "replace", 2),
    ],
)
def test_the_budgets_of_the_steps_add_up_to_epsilon_exactly(learner, users, promise):
    training = train(ROWS, promise, users=users, learner=learner, source=FastStream(1))
    assert sum(each.epsilon for each in training.spendings) == promise.epsilon
    assert all(isinstance(each.epsilon, Fraction) and each.epsilon > 0 for each in training.spendings)
    if training.learner == "nb":
        assert training.delta == promise.delta
    elif training.learner == "tree" and training.spendings[0].delta == 0:
        assert training.delta == 0
    else:  # the tail of the noise of a linear model, or of a trial one
        assert 0 < training.delta < Fraction(1, 10**30)


def test_replacing_a_row_halves_epsilon_and_rows_per_person_divide_it():
    assert Promise(Fraction(1), adjacency="replace").row_epsilon == Fraction(1, 2)
    assert Promise(Fraction(1), adjacency="replace", rows_per_person=4).row_epsilon == Fraction(1, 8)


def test_the_delta_of_a_group_of_rows_is_paid_for():
    promise = Promise(Fraction(3), Fraction(1, 10**6), rows_per_person=3)
    # groups: delta times the sum of e^(i epsilon) over i below 3
    group = promise.row_delta * Fraction(sum(math.exp(i) for i in range(3)))
    assert promise.delta / 3 < group <= promise.delta
    assert Promise(Fraction(3), Fraction(1, 10**6)).row_delta <= Fraction(1, 10**6)


def test_a_missing_number_of_users_is_replaced_by_a_noisy_one(monkeypatch):
    scales: list[Fraction] = []

    def draw(scale: Fraction, source: object) -> int:
        scales.append(scale)
        return -77

    monkeypatch.setattr(learner_module, "draw_laplace", draw)
    training = train(ROWS, Promise(Fraction(1)), learner="tree")
    assert scales == [50]
    assert training.expected_rows == 200 - 77
    assert training.spendings[0].epsilon == Fraction(1, 50)
    assert train(make_rows((TWO,), 2, []), Promise(Fraction(1)), learner="tree").expected_rows == 1


@pytest.mark.parametrize(("k", "with_few"), [(2, "tree"), (3, "nb")])
def test_few_rows_choose_by_public_numbers_and_spend_nothing(k, with_few):
    many = (TWO, THREE, BINS, *WIDE)
    empty = make_rows(many, k, [])
    columns = 1 + 1 + 3 + 3 + len(WIDE)  # a constant, two values, three values, bins with a curve and missing
    needed = 40 * columns * (k - 1)
    for rows in (random_rows(many, k, 200), empty):

        def choose(users: int, epsilon: Fraction = Fraction(1), rows: CodedRows = rows) -> object:
            return choose_learner(rows, users, epsilon, FastStream(1))

        assert choose(needed) == ("linear", [])
        assert choose(needed - 1) == (with_few, [])
        assert choose(needed, Fraction(9, 10)) == (with_few, [])
        assert choose(15 * needed - 1) == ("linear", [])
        assert train(rows, Promise(Fraction(1)), users=needed).learner == "linear"


@dataclass
class Fixed:
    """A trial model that always predicts one label."""

    label: int

    def scores(self, codes: np.ndarray) -> np.ndarray:
        return np.eye(2)[np.full(len(codes), self.label)]


@dataclass
class Coins:
    """A source of the bytes that decide which rows are kept apart."""

    kept: Sequence[int]

    def take(self, count: int) -> bytes:
        assert count == len(self.kept)
        return bytes(31 if each else 32 for each in self.kept)


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace the trial models by fixed ones, and the choice by what it is given; record both."""
    seen: list[Any] = []

    def fit(learner: str, rows: CodedRows, users: int, epsilon: Fraction, source: object) -> object:
        seen.append((rows.codes[:, 0].tolist(), users, epsilon))
        return Fixed(int(learner == "tree")), [Spending("trial", epsilon)]

    def choose(hits: Sequence[Fraction], rate: Fraction, source: object) -> int:
        seen.append((list(hits), rate))
        return 0

    monkeypatch.setattr(learner_module, "_fit", fit)
    monkeypatch.setattr(learner_module, "permute_and_flip", choose)
    return seen


def test_rows_train_the_trial_models_or_are_kept_apart(trials):
    rows = make_rows(
        (THREE, *WIDE), 2, [(code, *ZEROS, label) for code, label in ((0, 0), (1, 1), (2, 1), (2, 0))]
    )
    chosen = choose_learner(rows, 80_000, Fraction(1), Coins([0, 1, 1, 0]))
    assert chosen == ("linear", [Spending("comparison of learners", Fraction(1, 5))])
    trial = ([0, 2], 70_000, Fraction(1, 10))
    assert trials == [trial, trial, ([0, 2], Fraction(1, 5))]


def test_one_row_more_changes_the_choice_by_at_most_its_epsilon(trials):
    """With fixed coins, for all rows of two labels up to three, and one row more at any position."""
    epsilon, ratios = Fraction(8), []

    def find_law(labels: Sequence[int], kept: Sequence[int]) -> float:
        trials.clear()
        rows = make_rows(WIDE, 2, [(*ZEROS, label) for label in labels])
        choose_learner(rows, 80_000, epsilon, Coins(kept))
        hits, rate = trials[-1]
        other = math.exp(-float(rate * abs(hits[0] - hits[1]))) / 2  # permute-and-flip with two candidates
        return other if hits[0] < hits[1] else 1 - other

    for count in range(3):
        for labels in product((0, 1), repeat=count):
            for kept in product((0, 1), repeat=count):
                for position, label in product(range(count + 1), (0, 1)):
                    more = [*labels[:position], label, *labels[position:]]
                    one = find_law(labels, kept)
                    other = find_law(more, [*kept[:position], 1, *kept[position:]])
                    ratios += [abs(math.log(one / other)), abs(math.log((1 - one) / (1 - other)))]
    spent = float(2 * TRIAL_SHARE * epsilon)
    assert 0.95 * spent < max(ratios) <= spent * (1 + 1e-12)


def test_a_tree_is_chosen_if_it_has_a_leaf_for_each_possible_row():
    rows = make_rows((TWO, THREE, BINS), 2, [])
    cells = 2 * 3 * BINS.size
    for users, learner in ((32 * 60, "tree"), (32 * 60 - 1, "linear")):
        assert 16 < cells <= 32
        assert choose_learner(rows, users, Fraction(1), FastStream(1)) == (learner, [])


@pytest.mark.slow
def test_a_comparison_finds_the_better_learner():
    """A linear model cannot learn which of two values are equal; a tree cannot learn a sum of many."""
    random = np.random.default_rng(1).integers
    coins = random(0, 2, (20_000, len(WIDE)))
    equal = CodedRows(WIDE, 2, coins, (coins[:, 0] == coins[:, 1]).astype(np.int64))
    many = CodedRows(WIDE, 2, coins, (coins.sum(axis=1) > 4).astype(np.int64))
    for rows, learner in ((equal, "tree"), (many, "linear")):
        training = train(rows, Promise(Fraction(1)), users=len(rows), source=FastStream(1))
        assert training.learner == learner
        assert training.spendings[0].step == "comparison of learners"


@pytest.mark.parametrize("learner", ["nb", "linear", "tree"])
def test_two_trainings_have_different_noise(learner):
    # six cells with noise of scale 140 or more: equal by chance with a probability below 1e-14
    models = [train(ROWS, Promise(Fraction(1, 100)), users=200, learner=learner).model for _ in range(4)]
    assert len(set(map(repr, models))) == 4


@pytest.mark.parametrize("learner", ["nb", "linear", "tree"])
def test_a_source_that_is_given_is_the_only_one(learner, monkeypatch):
    def no_entropy(count: int) -> bytes:
        raise AssertionError("another source was read")

    monkeypatch.setattr("os.urandom", no_entropy)
    first, second = (
        train(ROWS, Promise(Fraction(1)), users=200, learner=learner, source=FastStream(3)).model
        for _ in range(2)
    )
    assert repr(first) == repr(second)


def test_a_training_reads_the_systems_entropy_by_default(monkeypatch):
    taken: list[int] = []
    take = SystemEntropy.take

    def record(self: SystemEntropy, count: int) -> bytes:
        taken.append(count)
        return take(self, count)

    monkeypatch.setattr(SystemEntropy, "take", record)
    train(ROWS, Promise(Fraction(1)), users=200, learner="nb")
    assert sum(taken) > 100


def test_no_module_of_the_curator_imports_another_generator():
    folder = Path(ldp_central.__file__).parent
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & {"random", "secrets", "scipy"}
            is_seeded = isinstance(node, ast.Attribute) and node.attr in ("random", "FastStream")
            assert not is_seeded, path


def assert_finite(training: Training, epsilon: Fraction, codes: np.ndarray) -> None:
    """Check that a training spent epsilon and that its model has finite probabilities or scores."""
    assert sum(each.epsilon for each in training.spendings) == epsilon
    if training.learner == "nb":
        assert np.isfinite(training.model.prior).all()
        assert np.isfinite(training.model.conditionals[0]).all()
    else:
        assert np.isfinite(training.model.scores(codes)).all()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(0.1), Fraction(1000)])
def test_extreme_epsilons_are_trained(learner, epsilon):
    rows = random_rows((TWO, NUMBER), 2, 100)
    training = train(rows, Promise(epsilon), users=100, learner=learner, source=FastStream(2))
    assert_finite(training, epsilon, rows.codes)


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": Fraction(0)},
        {"epsilon": Fraction(1, 10**7)},
        {"epsilon": Fraction(1, 10**6), "adjacency": "replace"},
        {"epsilon": Fraction(1001)},
        {"epsilon": Fraction(-1)},
        {"delta": Fraction(1)},
        {"delta": Fraction(-1, 10)},
        {"adjacency": "swap"},
        {"rows_per_person": 0},
    ],
)
def test_a_promise_that_is_not_one_is_refused(arguments):
    with pytest.raises(CentralError):
        Promise(**{"epsilon": Fraction(1), **arguments})


def test_unknown_learners_and_no_users_are_refused():
    with pytest.raises(CentralError):
        train(ROWS, Promise(Fraction(1)), learner="forest")
    with pytest.raises(CentralError):
        train(ROWS, Promise(Fraction(1)), users=0)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("coded", [[], [(1, 0)] * 3], ids=["no rows", "one class"])
@pytest.mark.parametrize("k", [2, 3])
def test_rows_without_information_are_trained_like_all_others(learner, coded, k):
    training = train(make_rows((TWO,), k, coded), Promise(Fraction(1)), users=50, learner=learner)
    assert_finite(training, Fraction(1), np.array([[0], [1]]))


@pytest.mark.parametrize("learner", ["nb", "linear", "tree"])
def test_predictions_follow_the_labels_where_the_signal_is_strong(learner):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 20_000)
    flipped = np.where(rng.random((20_000, 3)) < 0.15, 1 - labels[:, None], labels[:, None])
    rows = CodedRows((TWO, TWO, TWO), 2, flipped, labels)
    model = train(rows, Promise(Fraction(1)), users=20_000, learner=learner, source=FastStream(1)).model
    if learner == "nb":
        scores = np.log(model.prior) + sum(
            np.log(table)[rows.codes[:, place]] for place, table in enumerate(model.conditionals)
        )
    else:
        scores = model.scores(rows.codes)
    assert (scores.argmax(axis=1) == labels).mean() > 0.92


def test_numbers_without_bins_are_learnt_by_all_learners():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 20_000)
    codes = np.clip(rng.normal(0.35 + 0.3 * labels, 0.1), 0, 1)
    steps = np.rint(codes * (NUMBER.size - 1)).astype(np.int64)
    rows = CodedRows((NUMBER,), 2, steps[:, None], labels)
    for learner in ("linear", "tree"):
        model = train(rows, Promise(Fraction(1)), users=20_000, learner=learner, source=FastStream(1)).model
        assert (model.scores(rows.codes).argmax(axis=1) == labels).mean() > 0.9
