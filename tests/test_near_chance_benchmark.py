"""`benchmarks.near_chance` compares ours with a mechanism that was chosen on other repeats."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy.grid import PAPER
from benchmarks.accuracy.ways import coded
from benchmarks.near_chance import (
    COLUMNS,
    compute_hindsight_gains,
    compute_split_gains,
    draw_share,
    halve_features,
    measure,
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a file of 200 rows in which half of the labels are yes; the feature determines the label."""
    path = tmp_path / "rows.csv"
    path.write_text("f,class\n" + "a,yes\nb,no\n" * 100)
    return path


def test_the_best_mechanism_is_chosen_in_the_other_half_of_the_repeats():
    accuracies = np.full((4, len(PAPER) + 1), 0.5)
    accuracies[0::2, 0] = 0.6  # the best in one half
    accuracies[1::2, 1] = 0.7  # and in the other
    np.testing.assert_allclose(compute_split_gains(accuracies), 0.0)


def test_a_difference_beyond_the_noise_is_found_by_both_comparisons():
    accuracies = np.random.default_rng(1).normal(0.5, 0.01, (400, len(PAPER) + 1))
    accuracies[:, len(PAPER)] += 0.1
    for gains in (compute_split_gains(accuracies), compute_hindsight_gains(accuracies)):
        assert gains.mean() == pytest.approx(0.1, abs=0.01)


def test_a_choice_in_hindsight_among_equal_mechanisms_is_a_loss_and_a_choice_elsewhere_is_none():
    accuracies = np.random.default_rng(2).normal(0.5, 0.1, (10_000, len(PAPER) + 1))
    # the expected maximum of five means of 100 repeats is 1.16 standard errors of .01
    assert compute_hindsight_gains(accuracies).mean() == pytest.approx(-0.0116, abs=0.008)
    assert compute_split_gains(accuracies).mean() == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("number", [0, 1])
def test_drawn_people_and_test_rows_have_the_share_of_each_class_in_turn(table, number):
    view = coded(table, 2, 0)[number]
    drawn = draw_share(view, 0.9, number)
    for rows, pool in ((drawn.split.train, view.split.train), (drawn.split.test, view.split.test)):
        assert set(rows) <= set(pool)
        assert len(rows) == len(pool)
        assert np.mean(view.table.labels[rows] == number) > 0.6


def test_each_repeat_has_an_accuracy_per_column(table):
    accuracies = measure(coded(table, 1, 0)[0], "4", 0)
    assert len(accuracies) == len(COLUMNS)
    assert min(accuracies) > 0.9


def test_halves_of_the_most_informative_features_are_kept(tmp_path):
    path = tmp_path / "rows.csv"
    rows = ("a,x,no\nb,x,no\nc,x,yes\nd,y,yes\n", "a,x,no\nb,y,no\nc,y,yes\nd,x,yes\n")
    path.write_text("f,g,class\n" + "".join(rows) * 50)
    views = coded(path, 2, 0)
    halved = halve_features(views, 1)
    for view, original in zip(halved, views, strict=True):
        assert [(feature.name, feature.size) for feature in view.plan.features] == [("f", 2)]
        assert len(set(zip(view.codes[:, 0].tolist(), view.table.labels.tolist(), strict=True))) == 2
        np.testing.assert_array_equal(view.split.train, original.split.train)
