"""The weight of the question about the label alone: never more than few users need."""

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from encoders.errors import SurveyError
from encoders.mechanisms import MECHANISMS, design
from encoders.mechanisms.numeric_base import NumericDomain
from encoders.mechanisms.piecewise import Piecewise
from encoders.mechanisms.sign import Sign
from encoders.survey import CategoricalFeature, Label, Plan, Survey
from encoders.survey.compiler import MAX_LABEL_WEIGHT, MAX_PRIOR_ERROR, compute_label_weight
from encoders.table_design import DESIGN_CONTEXT
from tests.support.surveys import make_plan


def weight_of_label(
    users: object = None, weight: int | None = None, epsilon: float = 0.5, bins: int | None = 2
) -> tuple[int, Plan]:
    plan = make_plan(
        epsilon=epsilon,
        users=users,
        label={"values": ["a", "b", "c"], "weight": weight},
        features={
            "x": {"values": ["1", "2", "3", "4"], "weight": 5},
            "y": {"range": [0, 1], "bins": bins, "weight": 3},
        },
    )
    return sum(each.weight for each in plan.questions if each.kind == "label"), plan


def test_without_a_number_of_users_the_label_is_not_asked_for_alone():
    assert weight_of_label()[0] == 0


def test_few_users_are_asked_for_the_label_eight_times_as_often_as_about_a_feature():
    assert weight_of_label(100)[0] == MAX_LABEL_WEIGHT * (5 + 3) / 2


def test_many_users_need_no_question_about_the_label():
    assert weight_of_label(1_000_000)[0] == 0


def test_in_between_the_prior_becomes_as_exact_as_it_should_be():
    weight, plan = weight_of_label(1_300)
    assert 0 < weight < MAX_LABEL_WEIGHT * 4
    information = math.fsum(
        plan.question_probability(each) / each.mechanism.uniform_variance(3) for each in plan.questions
    )
    assert 1 / math.sqrt(information * 1_300) == pytest.approx(MAX_PRIOR_ERROR, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(10,), (30, 30, 30), (8, 8, 8, 8), (2, 3, 4)])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_wherever_the_label_can_be_asked_for_more_the_prior_is_exact_enough(sizes, epsilon):
    features = tuple(
        CategoricalFeature(f"f{place}", tuple(map(str, range(size))), "error")
        for place, size in enumerate(sizes)
    )
    survey = Survey(
        id="s",
        epsilon=Decimal(epsilon),
        label=Label("c", ("a", "b")),
        features=features,
        weights=(None, *(1 for _ in sizes)),
    )
    asked = 0
    for users in range(40, 8000, 40):
        plan = replace(survey, users=users).compile()
        weight = sum(each.weight for each in plan.questions if each.kind == "label")
        information = math.fsum(
            plan.question_probability(each) / each.mechanism.uniform_variance(2) for each in plan.questions
        )
        if 0 < weight < MAX_LABEL_WEIGHT:
            assert 1 / math.sqrt(information * users) <= MAX_PRIOR_ERROR
            asked += 1
        elif not weight and epsilon != "3":
            assert 1 / math.sqrt(information * users) <= MAX_PRIOR_ERROR
    assert asked or epsilon == "3"


def test_number_of_users_determines_the_label_weight_if_features_are_not_informative():
    numbers = {name: {"range": [0, 1], "weight": weight} for name, weight in (("x", 5), ("y", 3))}
    changes = {"features": numbers, "label": ["a", "b", "c"], "mechanism": {"numeric": "onebit"}}
    few, many = (make_plan(users=users, **changes).questions[0] for users in (100, 10**7))
    assert few.weight == 2 * MAX_LABEL_WEIGHT * 4
    assert many.weight == 2 * 1


def test_label_weight_of_the_author_is_used():
    assert weight_of_label(100, weight=0)[0] == 0
    assert weight_of_label(100, weight=2)[0] == 2


def test_numbers_count_by_their_information_about_the_label():
    few, many = (weight_of_label(users, bins=None)[0] for users in (100, 10**6))
    assert few == 2 * MAX_LABEL_WEIGHT * 4  # all weights count double beside numbers
    assert many == 0


@pytest.mark.parametrize("users", [0, -5, 2.5, "many", True])
def test_users_are_a_whole_number(users):
    with pytest.raises(SurveyError, match=r"survey\.users: needs the number of people"):
        weight_of_label(users)


def test_weights_never_fall_with_fewer_users():
    found = [compute_label_weight(users, 6, 10.0, 0.02) for users in range(100, 20_000, 100)]
    assert found == sorted(found, reverse=True)
    assert found[0] == MAX_LABEL_WEIGHT
    assert found[-1] == 0


def test_label_question_that_is_less_informative_than_others_is_not_asked():
    assert compute_label_weight(10, 6, 50.0, 0.1) == 0
    assert compute_label_weight(10, 6, 50.0, 0.015) == 0  # hardly more, and it would take most reports
    assert compute_label_weight(10, 6, 50.0, 0.01) == MAX_LABEL_WEIGHT


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_variance_of_a_labels_share_is_that_of_its_cells_sum(mechanism):
    size, k = 4, 3
    oracle = design(mechanism, size * k, DESIGN_CONTEXT.create_decimal("1.5"))
    cells = np.full((size, size), oracle.covariance(1 / 12, 1 / 12))
    np.fill_diagonal(cells, oracle.variance(1 / 12))
    assert oracle.uniform_variance(k) == pytest.approx(cells.sum())


@pytest.mark.parametrize("kind", [Sign, Piecewise])
@pytest.mark.parametrize("missing", [False, True])
def test_the_variance_of_a_labels_share_agrees_with_the_whole_covariance(kind, missing):
    form = NumericDomain(3, (missing,))
    mechanism = kind.design(form, DESIGN_CONTEXT.create_decimal("1.5"))
    # piecewise counts missing as places of its own; sign as values, all of them equally likely
    absent = np.full(3, 1 / 9 if missing and kind is Sign else 0.0)
    present = 1 / 3 - absent
    found = mechanism.covariance(present, 0 * present, present / 3, absent)[2, 2]
    np.testing.assert_allclose(found, mechanism.label_variance)
