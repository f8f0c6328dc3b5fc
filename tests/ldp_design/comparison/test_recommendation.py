"""The one sentence that recommends a trust model and an epsilon, on made-up curves."""

from __future__ import annotations

import pytest

from ldp_design.comparison.recommendation import recommend
from tests.support.comparisons import make_comparison

CENTRAL, SILO, LOCAL = "central", "silo:10", "local"
CURVES = {
    CENTRAL: [0.92, 0.95, 0.96, 0.97, 0.98],
    SILO: [0.80, 0.88, 0.93, 0.95, 0.97],
    LOCAL: [0.50, 0.60, 0.80, 0.91, 0.95],
}


def test_the_weakest_trust_model_is_recommended_at_the_smallest_epsilon_that_is_enough() -> None:
    comparison = make_comparison(CURVES)
    assert recommend(comparison, 0.9) == (
        "Recommended: local at epsilon 2, where nobody sees any row: its accuracy of 91.0% (91.0 to 91.0) "
        "reliably reaches 90%."
    )
    assert recommend(comparison, 0.925) == (
        "Recommended: silo:10 at epsilon 1, where each of 10 organisations sees its own rows: its accuracy "
        "of 93.0% (93.0 to 93.0) reliably reaches 92.5%; no compared trust model that needs less trust does "
        "so with an epsilon of at most 2."
    )


def test_weaker_trust_models_that_may_be_enough_are_named() -> None:
    comparison = make_comparison(CURVES, deviation={CENTRAL: 0.0, SILO: 0.03, LOCAL: 0.03})
    assert recommend(comparison, 0.93) == (
        "Recommended: central at epsilon 0.5, where one curator sees all rows: its accuracy of 95.0% (95.0 "
        "to 95.0) reliably reaches 93%; no compared trust model that needs less trust does so with an "
        "epsilon of at most 2, but silo:10 or local may."
    )


def test_without_a_wanted_accuracy_five_points_less_than_without_protection_are_enough() -> None:
    assert recommend(make_comparison(CURVES, ceiling=0.99), None) == (
        "Recommended: silo:10 at epsilon 2, where each of 10 organisations sees its own rows: its accuracy "
        "of 95.0% (95.0 to 95.0) reliably reaches 94%, 5 points less than without protection; no compared "
        "trust model that needs less trust does so with an epsilon of at most 2."
    )


def test_rows_do_not_decide_if_every_interval_contains_the_accuracy() -> None:
    comparison = make_comparison({LOCAL: CURVES[LOCAL]}, deviation=0.05)
    assert recommend(comparison, 0.9) == (
        "The rows do not decide: local at epsilon 2 may reach 90%, with 91.0% (83.9 to 98.1), but none "
        "does so reliably with an epsilon of at most 2; use more rows."
    )


@pytest.mark.parametrize("target", [0.61, None])
def test_rows_do_not_decide_if_guessing_is_as_good(target: float | None) -> None:
    text = recommend(make_comparison(CURVES, majority=0.62, ceiling=0.66), target)
    assert text.startswith(
        "The rows do not decide: always guessing the most frequent class has 62.0% (62.0 to 62.0); choose an "
        "--accuracy above it, instead of 61"
    )


def test_an_epsilon_that_clients_refuse_by_default_is_not_recommended() -> None:
    assert recommend(make_comparison({LOCAL: CURVES[LOCAL]}), 0.945) == (
        "Nothing is recommended: no compared trust model reaches 94.5% with an epsilon of at most 2, but "
        "local at 5 does; accept a lower accuracy, or ask more people."
    )
    assert recommend(make_comparison(CURVES), 0.985) == (
        "Nothing is recommended: no compared trust model reaches 98.5% with an epsilon of at most 2; accept "
        "a lower accuracy, or ask more people."
    )


def test_an_accuracy_above_the_one_without_protection_is_out_of_reach() -> None:
    assert recommend(make_comparison(CURVES, ceiling=0.985), 0.99) == (
        "Nothing is recommended: even without protection the accuracy is 98.5% (98.5 to 98.5), less than 99%."
    )


@pytest.mark.parametrize("curves", [{"labels": [0.99] * 5}, {}])
def test_labels_are_never_recommended(curves: dict[str, list[float]]) -> None:
    assert recommend(make_comparison(curves), 0.9) == (
        "Nothing is recommended: no compared trust model protects whole rows."
    )
