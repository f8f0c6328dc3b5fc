"""What a comparison states in words, on made-up curves."""

from __future__ import annotations

import numpy as np
import pytest

from ldp_design.comparison.needed_trust import (
    choose_targets,
    describe_cell,
    find_needed_trusts,
    tabulate_targets,
)
from ldp_design.comparison.people import NoiseLevels
from ldp_design.comparison.statements import describe_cost, describe_setting, describe_target
from tests.support.comparisons import EPSILONS, make_comparison

CURVES = {
    "central": [0.92, 0.95, 0.96, 0.97, 0.98],
    "silo:10": [0.80, 0.88, 0.93, 0.95, 0.97],
    "local": [0.50, 0.60, 0.80, 0.91, 0.95],
}
LEVELS = NoiseLevels(EPSILONS, np.array([1e4, 400.0, 100.0, 25.0, 4.0]), 8000)
"""Variances that fall with the square of epsilon."""


def test_the_weakest_trust_that_reaches_an_accuracy_is_named_at_each_epsilon() -> None:
    *lines, crossings = describe_target(make_comparison(CURVES), 0.9).sentences
    assert lines[0] == "epsilon 0.1: central, where one curator sees all rows: 92.0% (92.0 to 92.0)"
    assert lines[2].startswith("epsilon 1: silo:10, where each of 10 organisations sees its own rows: 93.0%")
    assert lines[4] == "epsilon 5: local, where nobody sees any row: 95.0% (95.0 to 95.0)"
    assert crossings == (
        "the epsilon from which on 90% is reached: local 1.9 (1.9 to 1.9); silo:10 0.66 (0.66 to 0.66); "
        "central 0.1 or less"
    )


def test_a_trust_whose_interval_contains_the_accuracy_is_not_certain() -> None:
    comparison = make_comparison(CURVES, deviation={"central": 0.0, "silo:10": 0.0, "local": 0.1})
    needed = find_needed_trusts(comparison, 0.9)
    assert describe_cell(needed[2]) == "silo:10 (local?)"
    assert describe_cell(needed[1]) == "central"  # the interval of local ends at .74
    line = describe_target(comparison, 0.9).sentences[2]
    assert line.endswith("93.0% (93.0 to 93.0); possible: local 80.0% (65.9 to 94.1)")


def test_only_uncertain_trusts_are_named_as_such() -> None:
    comparison = make_comparison({"local": CURVES["local"]}, deviation=0.05)
    *lines, _ = describe_target(comparison, 0.9).sentences
    assert (
        lines[0] == "epsilon 0.1: no compared trust model; the most accurate is local, 50.0% (42.9 to 57.1)"
    )
    assert lines[3].startswith("epsilon 2: no compared trust model reliably; possible: ")
    assert lines[3].endswith("possible: local 91.0% (83.9 to 98.1)")
    assert describe_cell(find_needed_trusts(comparison, 0.9)[3]) == "- (local?)"


def test_more_silos_are_a_weaker_trust_model() -> None:
    curves = {"silo:2": [0.95] * 5, "silo:50": [0.95] * 5, "central": [0.95] * 5}
    needed = find_needed_trusts(make_comparison(curves), 0.9)[0]
    assert needed.reaches is not None
    assert needed.reaches.trust.text == "silo:50"


def test_labels_are_never_the_weakest_trust_and_are_marked_as_another_promise() -> None:
    comparison = make_comparison({"labels": [0.99] * 5, "local": CURVES["local"]})
    sentences = describe_target(comparison, 0.9).sentences
    assert (
        sentences[0]
        == "epsilon 0.1: no compared trust model; the most accurate is local, 50.0% (50.0 to 50.0)"
    )
    assert "labels, another promise, 0.1 or less" in sentences[-1]
    alone = describe_target(make_comparison({"labels": [0.99] * 5}), 0.9).sentences
    assert alone[0] == "none of the compared ones protects whole rows"


def test_the_most_accurate_trust_is_named_where_none_reaches_the_accuracy() -> None:
    sentences = describe_target(make_comparison(CURVES), 0.985).sentences
    assert (
        sentences[4]
        == "epsilon 5: no compared trust model; the most accurate is central, 98.0% (98.0 to 98.0)"
    )


def test_a_curve_that_crosses_again_is_marked() -> None:
    comparison = make_comparison({"local": [0.8, 0.95, 0.85, 0.95, 0.96]})
    assert describe_target(comparison, 0.9).sentences[-1].endswith("crossed more than once")


def test_the_cost_of_trusting_nobody_is_an_epsilon_or_a_number_of_people() -> None:
    curves = {"central": [0.80, 0.85, 0.91, 0.955, 0.96], "local": [0.50, 0.60, 0.80, 0.91, 0.95]}
    cost = describe_cost(make_comparison(curves), LEVELS)
    assert cost is not None
    assert cost.heading == "What it costs to trust nobody: local instead of central (8,000 people)"
    # local has .8 at epsilon 1, where the variance is 1 / 100 of that at .1
    assert cost.sentences[0] == (
        "epsilon 0.1: local is 30.0 points less accurate (30.0 to 30.0) than central; it needs an epsilon "
        "of 1 (1 to 1), or about 800,000 (800,000 to 800,000) people"
    )
    # .91 at epsilon 2: a quarter of the variance at 1
    assert cost.sentences[2].endswith(
        "it needs an epsilon of 2 (2 to 2), or about 32,000 (32,000 to 32,000) people"
    )
    assert cost.sentences[3].endswith("it needs an epsilon of more than 5, or more than 50,000 people")


def test_the_gap_between_local_and_central_is_paired_by_split() -> None:
    # both curves rise and fall together, so their difference has no spread
    curves = {"central": [0.9] * 5, "local": [0.6, 0.7, 0.8, 0.95, 0.95]}
    paired = describe_cost(make_comparison(curves, deviation=0.03), None)
    assert paired is not None
    assert paired.sentences[0] == (
        "epsilon 0.1: local is 30.0 points less accurate (30.0 to 30.0) than central; it needs an epsilon "
        "of 1.6 (1.6 to 1.6)"
    )
    noisy = describe_cost(make_comparison(curves, deviation={"central": 0.0, "local": 0.03}), None)
    assert noisy is not None
    assert "30.0 points less accurate (25.8 to 34.2)" in noisy.sentences[0]
    assert noisy.sentences[0].endswith("it needs an epsilon of 1.6 (1.3 to 1.9)")


def test_a_local_survey_that_is_not_clearly_less_accurate_needs_nothing_more() -> None:
    curves = {"central": [0.9] * 5, "local": [0.899, 0.901, 0.95, 0.95, 0.95]}
    cost = describe_cost(make_comparison(curves, deviation={"central": 0.0, "local": 0.01}), LEVELS)
    assert cost is not None
    assert cost.sentences[:3] == (
        "epsilon 0.1: local and central do not clearly differ (-0.1 points, -1.5 to +1.3)",
        "epsilon 0.5: local and central do not clearly differ (+0.1 points, -1.3 to +1.5)",
        "epsilon 1: local is 5.0 points more accurate (3.6 to 6.4) than central",
    )


def test_an_accuracy_beyond_naive_bayes_needs_no_number_of_people() -> None:
    comparison = make_comparison(CURVES, naive_bayes=0.965)
    cost = describe_cost(comparison, LEVELS)
    assert cost is not None
    assert cost.sentences[2].endswith("or more than 200,000 people")  # 96% is possible
    assert cost.sentences[3] == (
        "epsilon 2: local is 6.0 points less accurate (6.0 to 6.0) than central; it needs an epsilon of "
        "more than 5, probably more than any"
    )
    assert cost.sentences[-1] == (
        "Naive Bayes, which local trains, has 96.5% (96.5 to 96.5) without protection: where central is "
        "better, probably no epsilon and no number of people is enough"
    )


@pytest.mark.parametrize("missing", ["central", "local"])
def test_there_is_no_cost_without_both_trusts(missing: str) -> None:
    curves = {name: curve for name, curve in CURVES.items() if name != missing}
    assert describe_cost(make_comparison(curves), LEVELS) is None


def test_the_setting_names_the_ceiling_and_the_majority_class() -> None:
    text = describe_setting(make_comparison(CURVES, ceiling=0.985, majority=0.6))
    assert "the best of 3 learners (logistic regression) has an accuracy of 98.5%" in text
    assert "the most frequent class has 60.0% (60.0 to 60.0)" in text


@pytest.mark.parametrize(
    ("majority", "ceiling", "targets"),
    [
        (0.518, 1.0, [0.6, 0.7, 0.8, 0.9]),
        (0.7, 0.95, [0.75, 0.8, 0.85, 0.9]),
        (0.663, 0.832, [0.7, 0.75, 0.8]),
        (0.66, 0.73, [0.68, 0.7, 0.72]),
        (0.5, 0.502, []),
    ],
)
def test_round_accuracies_between_majority_and_ceiling_are_listed(
    majority: float, ceiling: float, targets: list[float]
) -> None:
    assert choose_targets(majority, ceiling) == pytest.approx(targets)


def test_a_row_of_targets_has_a_cell_for_each_epsilon() -> None:
    assert tabulate_targets(make_comparison(CURVES), [0.9, 0.99]) == [
        ["90%", "central", "central", "silo:10", "local", "local"],
        ["99%", "-", "-", "-", "-", "-"],
    ]


def test_numbers_of_people_beyond_the_tested_epsilons_are_bounds() -> None:
    assert LEVELS.count_people(1.0, np.inf) == pytest.approx(8000 * 25)
    assert LEVELS.count_people(1.0, 0.0) == pytest.approx(80)
    assert LEVELS.count_people(1.0, np.sqrt(2)) == pytest.approx(16_000)
