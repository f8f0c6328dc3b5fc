"""What a comparison states: which variant of a sentence appears when, and its numbers, on made-up curves."""

import re
from dataclasses import replace

import numpy as np
import pytest

from encoders.survey.any_survey import read_any_survey
from ldp_design.cli.compare import format_comparison
from ldp_design.comparison.statements import (
    describe_cell,
    describe_cost,
    describe_target,
    recommend,
    state_comparison,
)
from ldp_design.comparison.trust_comparison import NoiseLevels, TrustComparison, choose_targets
from tests.support.central_surveys import survey_text
from tests.support.comparisons import CURVES, EPSILONS, make_comparison

WITHOUT_LABELS = {name: curve for name, curve in CURVES.items() if name != "labels"}
LOCAL = {"local": CURVES["local"]}
LEVELS = NoiseLevels(EPSILONS, np.array([1e4, 400.0, 100.0, 25.0, 4.0]), 8000)
"""Variances that fall with the square of epsilon."""

RECOMMENDED: dict[str, tuple[TrustComparison, float | None]] = {
    "the least trust at the smallest epsilon that is enough": (make_comparison(CURVES), 0.9),
    "the epsilon to write for silos is half of the compared one": (make_comparison(CURVES), 0.925),
    "trust models that need less trust and may be enough": (
        make_comparison(CURVES, deviation={"central": 0, "labels": 0, "silo:10": 0.03, "local": 0.03}),
        0.93,
    ),
    "no accuracy is wanted": (make_comparison(CURVES, ceiling=0.99), None),
    "every interval contains the accuracy": (make_comparison(LOCAL, deviation=0.05), 0.9),
    "guessing reaches the wanted accuracy": (make_comparison(CURVES, majority=0.62), 0.61),
    "guessing reaches the accuracy that is wanted by default": (
        make_comparison(CURVES, majority=0.62, ceiling=0.66),
        None,
    ),
    "guessing may reach the wanted accuracy": (
        replace(make_comparison(CURVES), majorities=np.resize([0.55, 0.65], 10)),
        0.61,
    ),
    "clients refuse the epsilon by default": (make_comparison(LOCAL), 0.945),
    "no trust model reaches the accuracy": (make_comparison(CURVES), 0.985),
    "not even without protection": (make_comparison(CURVES, ceiling=0.985), 0.99),
    "labels are never recommended": (make_comparison({"labels": [0.99] * 5}), 0.9),
    "only the ceiling was measured": (make_comparison({}), 0.9),
}


def test_each_recommendation(compare_with_golden):
    lines = [
        f"{name}:\n" + "".join(f"  [{each.id}, {each.basis}] {each}\n" for each in recommend(*arguments))
        for name, arguments in RECOMMENDED.items()
    ]
    compare_with_golden("recommendations", "\n".join(lines))


def test_the_terminal(compare_with_golden):
    comparison = make_comparison(CURVES, deviation=0.01, naive_bayes=0.965)
    compare_with_golden("terminal", "\n".join(format_comparison(comparison, LEVELS, None)) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("local", "Write epsilon = 0.1 into the survey."),
        ("relay:5000", "Write epsilon = 1.25 into the survey, and epsilon = 0.1 and batch = 5,000 into its"),
        ("relay:5000:all", 'Write epsilon = 3.26 into the survey, and ask = "all", epsilon = 0.1 and batch'),
        ("silo:2", "Write epsilon = 0.05 into the silo survey: there epsilon hides"),
        ("central", "Train with ldp-central train --epsilon 0.1 --adjacency replace."),
    ],
)
def test_the_recommendation_states_the_epsilon_to_write(name, written):
    [_, found] = recommend(make_comparison({name: [0.95] * 5}), 0.9)
    assert str(found).startswith(written)


def test_the_local_epsilons_of_a_relay_are_noted():
    comparison = make_comparison({"relay:300": [0.95] * 5, "local": [0.95] * 5})
    [note] = [each for each in state_comparison(comparison, None, 0.9).notes if each.id == "notes.relay"]
    assert "its promise has a delta of 0.000001, and holds if 73% of each batch" in str(note)
    assert re.search(r"it is 0\.\d+, 1\.\d+, 2\.\d+, 2\.\d+, 5 for relay:300\.", str(note))
    assert not [
        each for each in state_comparison(make_comparison(LOCAL), None, 0.9).notes if "relay" in each.id
    ]


@pytest.mark.slow
def test_all_answers_through_a_relay_must_be_allowed():
    comparison = make_comparison({"relay:300:all": [0.95] * 5})
    notes = {each.id: str(each) for each in state_comparison(comparison, None, 0.9).notes}
    assert "for relay:300:all." in notes["notes.relay"]
    assert "they learn most answers of a person" in notes["notes.relay-all"]
    assert "The limit of 5, which clients have by default, does not apply" in notes["notes.relay-all"]
    [_, found] = recommend(comparison, 0.9)
    assert "Applications must allow it: max_local_epsilon = " in str(found)


def test_a_curator_learns_the_option_for_several_rows_of_a_person():
    silos = survey_text().replace("users = 2000", 'kind = "silo"\nrows = 1000\nrows_per_person = 3')
    comparison = replace(make_comparison({"central": [0.95] * 5}), plan=read_any_survey(silos).compile())
    assert str(recommend(comparison, 0.9)[1]).endswith("--adjacency replace --rows-per-person 3.")


def test_a_trust_whose_interval_contains_the_accuracy_is_not_certain():
    comparison = make_comparison(WITHOUT_LABELS, deviation={"central": 0.0, "silo:10": 0.0, "local": 0.1})
    needed = comparison.find_needed_trusts(0.9)
    assert describe_cell(needed[2]) == "silo:10 (local?)"
    assert describe_cell(needed[1]) == "central"  # the interval of local ends at .74
    assert str(describe_target(comparison, 0.9)[3]).endswith(
        "93.0% (93.0 to 93.0); possible: local 80.0% (65.9 to 94.1)"
    )


def test_only_uncertain_trusts_are_named_as_such():
    comparison = make_comparison(LOCAL, deviation=0.05)
    _, *lines, _ = map(str, describe_target(comparison, 0.9))
    assert (
        lines[0] == "epsilon 0.1: no compared trust model; the most accurate is local, 50.0% (42.9 to 57.1)"
    )
    assert lines[3] == ("epsilon 2: no compared trust model reliably; possible: local 91.0% (83.9 to 98.1)")
    assert describe_cell(comparison.find_needed_trusts(0.9)[3]) == "- (local?)"


def test_more_silos_are_a_weaker_trust_model():
    curves = {"silo:2": [0.95] * 5, "silo:50": [0.95] * 5, "central": [0.95] * 5}
    reaches = make_comparison(curves).find_needed_trusts(0.9)[0].reaches
    assert reaches is not None
    assert reaches.trust.text == "silo:50"


def test_a_curve_that_crosses_again_is_marked():
    comparison = make_comparison({"local": [0.8, 0.95, 0.85, 0.95, 0.96]})
    assert str(describe_target(comparison, 0.9)[-1]).endswith("crossed more than once")


def test_the_cost_of_local_instead_of_a_curator_is_an_epsilon_or_a_number_of_people():
    curves = {"central": [0.80, 0.85, 0.91, 0.955, 0.96], **LOCAL}
    cost = [str(each) for each in describe_cost(make_comparison(curves), LEVELS)]
    assert cost[0] == "The cost of local instead of central (8,000 people)"
    # local has .8 at epsilon 1, where the variance is 1 / 100 of that at .1
    assert cost[1] == (
        "epsilon 0.1: local is 30.0 points less accurate (30.0 to 30.0) than central; to match it, local "
        "needs an epsilon of 1 (1 to 1), or about 800,000 (800,000 to 800,000) people"
    )
    # .91 at epsilon 2: a quarter of the variance at 1
    assert cost[3].endswith(
        "to match it, local needs an epsilon of 2 (2 to 2), or about 32,000 (32,000 to 32,000) people"
    )
    assert cost[4].endswith("to match it, local needs an epsilon of more than 5, or more than 50,000 people")


def test_the_gap_between_local_and_central_is_paired_by_split():
    # both curves rise and fall together, so their difference has no spread
    curves = {"central": [0.9] * 5, "local": [0.6, 0.7, 0.8, 0.95, 0.95]}
    paired = str(describe_cost(make_comparison(curves, deviation=0.03), None)[1])
    assert paired == (
        "epsilon 0.1: local is 30.0 points less accurate (30.0 to 30.0) than central; to match it, local "
        "needs an epsilon of 1.6 (1.6 to 1.6)"
    )
    noisy = str(describe_cost(make_comparison(curves, deviation={"central": 0.0, "local": 0.03}), None)[1])
    assert "30.0 points less accurate (25.8 to 34.2)" in noisy
    assert noisy.endswith("to match it, local needs an epsilon of 1.6 (1.3 to 1.9)")


def test_a_local_survey_that_is_not_clearly_less_accurate_needs_nothing_more():
    curves = {"central": [0.9] * 5, "local": [0.899, 0.901, 0.95, 0.95, 0.95]}
    cost = describe_cost(make_comparison(curves, deviation={"central": 0.0, "local": 0.01}), LEVELS)
    assert [str(each) for each in cost[1:4]] == [
        "epsilon 0.1: local and central do not clearly differ (-0.1 points, -1.5 to +1.3)",
        "epsilon 0.5: local and central do not clearly differ (+0.1 points, -1.3 to +1.5)",
        "epsilon 1: local is 5.0 points more accurate (3.6 to 6.4) than central",
    ]


@pytest.mark.parametrize("missing", ["central", "local"])
def test_there_is_no_cost_without_both_trusts(missing):
    curves = {name: curve for name, curve in CURVES.items() if name != missing}
    assert describe_cost(make_comparison(curves), LEVELS) == []


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
def test_round_accuracies_between_majority_and_ceiling_are_listed(majority, ceiling, targets):
    assert choose_targets(majority, ceiling) == pytest.approx(targets)
    found = state_comparison(make_comparison(CURVES, majority=majority, ceiling=ceiling), None, None)
    assert bool(found.targets) == bool(targets)


def test_numbers_of_people_beyond_the_tested_epsilons_are_bounds():
    assert LEVELS.count_people(1.0, np.inf) == pytest.approx(8000 * 25)
    assert LEVELS.count_people(1.0, 0.0) == pytest.approx(80)
    assert LEVELS.count_people(1.0, np.sqrt(2)) == pytest.approx(16_000)
