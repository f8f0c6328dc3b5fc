"""Which questions a survey with numbers asks, and how often."""

import dataclasses
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest

from encoders.errors import SurveyError
from encoders.survey import Plan, Survey
from encoders.survey.features import NumericFeature
from tests.support.numeric_plans import NAMES, SURVEY, survey


def asked(plan: Plan) -> list[tuple[str, int]]:
    return [(question.name, question.weight) for question in plan.questions]


def test_a_number_is_two_questions_and_all_others_count_double():
    assert asked(survey("sign", 3, 1, 2, 4).compile()) == [
        ("rested", 8),
        ("city", 6),
        ("hours (mean)", 1),
        ("hours (square)", 1),
        ("nap (mean)", 2),
        ("nap (square)", 2),
    ]


def test_without_numbers_weights_are_as_written():
    assert asked(survey("sign", 3, 0, 0, 4).compile()) == [("rested", 4), ("city", 3)]


def test_laplace_question_has_the_sum_of_the_weights_of_all_numbers():
    plan = survey("laplace", 3, 5, 2, 4).compile()
    assert asked(plan) == [
        ("rested", 8),
        ("city", 6),
        ("hours, nap (mean)", 7),
        ("hours, nap (square)", 7),
    ]
    assert plan.questions[2].feature_indices == (1, 2)
    assert plan.questions[2].numeric_domain.missing == (False, True)


def test_laplace_leaves_out_numbers_that_are_not_asked_for():
    plan = survey("laplace", 3, 0, 2).compile()
    assert asked(plan) == [("city", 6), ("nap (mean)", 2), ("nap (square)", 2)]
    assert plan.questions[1].feature_indices == (2,)
    assert Plan.from_json(plan.json) == plan


@pytest.mark.parametrize("numeric", NAMES)
def test_each_feature_is_asked_in_proportion_to_its_weight(numeric):
    plan, shares = survey(numeric, 3, 4, 2, 1).compile(), Counter[str]()
    for question in plan.questions:
        about = "numbers" if question.moment else question.name
        shares[about] += question.weight
    total = sum(shares.values())
    assert {name: Fraction(count, total) for name, count in shares.items()} == {
        "rested": Fraction(1, 10),
        "city": Fraction(3, 10),
        "numbers": Fraction(6, 10),
    }


@pytest.mark.parametrize(
    ("numeric", "weights", "default"),
    [
        # signs, piecewise reports, the squares of auto and any category estimate the class prior
        *(("auto", (0, 1, 1), 0), ("sign", (0, 1, 1), 0), ("piecewise", (0, 1, 1), 0)),
        *((name, (1, 1, 1), 0) for name in NAMES),
        *((name, (1, 0, 0), 0) for name in NAMES),
        # the others hide it entirely, so it is asked on its own
        *((name, (0, 1, 1), 2) for name in ("laplace", "onebit", "sampled-laplace", "sign-vector")),
        # as it is if nothing else is
        *((name, (0, 0, 0), 1) for name in NAMES),
    ],
)
def test_label_is_asked_alone_only_if_no_other_question_estimates_it(numeric, weights, default):
    found = [
        question.weight
        for question in survey(numeric, *weights).compile().questions
        if not question.asked_features
    ]
    assert found == [default] * (default > 0)


@pytest.mark.parametrize("numeric", ["laplace", "onebit", "sampled-laplace", "sign-vector"])
def test_label_that_no_question_estimates_is_a_mistake(numeric):
    with pytest.raises(SurveyError, match="0 leaves no question that estimates the label's prior") as caught:
        survey(numeric, 0, 1, 1, 0).compile()
    assert caught.value.field == "label.weight"
    survey(numeric, 1, 1, 1, 0).compile()
    survey("sign", 0, 1, 1, 0).compile()


def test_the_largest_weights_add_up():
    plan = survey("laplace", 10**6, 10**6, 10**6, 10**6).compile()
    assert [question.weight for question in plan.questions] == [2 * 10**6] * 4
    features = tuple(NumericFeature(f"x{i}", "0", "1") for i in range(5))
    many = dataclasses.replace(
        SURVEY, features=features, weights=(1, *[10**6] * 5), numeric="laplace", projection=None
    )
    assert [question.weight for question in many.compile().questions] == [2, 5 * 10**6, 5 * 10**6]


def test_laplace_asks_for_a_hundred_numbers_at_most():
    def of(count: int) -> Survey:
        features = tuple(NumericFeature(f"x{i}", "0", "1") for i in range(count))
        weights, epsilon = (None, *[1] * count), Decimal(8)
        return Survey(
            id="x", epsilon=epsilon, label=SURVEY.label, features=features, weights=weights, numeric="laplace"
        )

    plan = of(100).compile()
    assert Plan.from_json(plan.json) == plan
    with pytest.raises(SurveyError, match="1 to 100 numbers at once") as caught:
        of(101).compile()
    assert caught.value.field == "features.x0"


def test_a_report_about_too_many_numbers_names_the_first():
    label = dataclasses.replace(SURVEY.label, values=tuple(map(str, range(11))))
    features = tuple(NumericFeature(f"x{i}", "0", "1", "category") for i in range(92))
    plan = Survey(
        id="x",
        epsilon=Decimal(8),
        label=label,
        features=features[:91],
        weights=(None, *[1] * 91),
        numeric="laplace",
    ).compile()
    assert max(question.mechanism.payload_bytes for question in plan.questions) == 4004
    with pytest.raises(SurveyError, match="reports longer than 4096 bytes") as caught:
        Survey(
            id="x",
            epsilon=Decimal(8),
            label=label,
            features=features,
            weights=(None, *[1] * 92),
            numeric="laplace",
        ).compile()
    assert caught.value.field == "x0"
