"""A survey of which each person answers all questions: how it is compiled, divided, proved and refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import prod
from statistics import fmean

import pytest

from encoders.canonical import dump_canonical_json
from encoders.epsilon_proof import exp_bounds, realised_epsilon
from encoders.errors import LdpError, PrivacyError, SurveyError
from encoders.mechanisms import DE
from encoders.randomness import FastStream
from encoders.survey import Plan, Survey, read_survey
from encoders.survey import relay as relay_module
from encoders.survey.plan_checks import check_envelope
from encoders.survey.questions import BOTH, MEAN, SQUARE
from encoders.survey.relay_promise import (
    equal_part,
    keeps_promise,
    largest_epsilon,
    redesign,
    redesign_equally,
    rough_budget,
    rough_cost,
    smallest_batch,
    typical_error,
)
from tests.support.mistakes import refuse
from tests.support.surveys import RELAY_KEYS, RELAYED

LABEL = '[label]\nname = "ill"\nvalues = ["yes", "no"]\n'
NUMBER = "range = [0, 10]"


def text_of(
    sizes: Sequence[int], epsilon: float | str, *, numbers: int = 0, relay: str = "", more: str = ""
) -> str:
    features = "".join(
        f"[features.q{place}]\nvalues = {json.dumps([f'v{each}' for each in range(size)])}\n"
        for place, size in enumerate(sizes)
    )
    features += "".join(f"[features.n{place}]\n{NUMBER}\n" for place in range(numbers))
    head = RELAYED[: RELAYED.index("[features")].replace("epsilon = 2\n", f"epsilon = {epsilon}\n")
    return f'{head}ask = "all"\n{relay}{RELAY_KEYS}{more}{features}'


def survey_of(sizes: Sequence[int], epsilon: float | str, **more: object) -> Survey:
    return read_survey(text_of(sizes, epsilon, **more))  # type: ignore[arg-type]


def parts_of(plan: Plan) -> list[Decimal]:
    return [round(realised_epsilon(each.mechanism.ratio), 6) for each in plan.questions]


# -- how it is compiled ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "epsilon", "moments", "part"),
    [([2], 4, [None, 3], 2), ([2], 3, [None, 1, 2], 1), ([], 4, [1, 2], 2)],
    ids=["more precise", "less precise", "the only question"],
)
def test_a_number_is_one_question_where_its_larger_part_estimates_both_moments_better(
    sizes, epsilon, moments, part
):
    plan = survey_of(sizes, epsilon, numbers=1).compile()
    assert [each.moment for each in plan.questions] == moments
    assert parts_of(plan) == [part] * len(moments)


@pytest.mark.slow
def test_a_number_stays_two_questions_where_one_would_break_the_promise():
    survey = survey_of([2], 4, numbers=1)
    most = largest_epsilon(survey.relay, [each.mechanism for each in survey.compile().questions])
    fitted = replace(survey, epsilon=Decimal(8)).fit_promise()
    assert most <= fitted.epsilon
    assert fitted.compile().epsilon == fitted.epsilon


def test_every_question_is_asked_alone_and_randomised_by_direct_encoding():
    plan = survey_of([2, 3, 32], 4).compile()
    assert [each.mechanism.name for each in plan.questions] == ["DE"] * 3
    assert [each.weight for each in plan.questions] == [1, 1, 1]
    assert [plan.question_probability(each) for each in plan.questions] == [1, 1, 1]
    assert (
        read_survey(text_of([32], 1).replace('ask = "all"', "")).compile().questions[0].mechanism.name != "DE"
    )
    with pytest.raises(LdpError, match="answers all questions"):
        plan.draw(FastStream(1))


@pytest.mark.slow
def test_features_never_share_a_question_and_no_feature_has_levels():
    many = ", ".join(f'"v{each}"' for each in range(16))
    ordered = f"[features.income]\nvalues = [{many}]\nordered = true\n"
    text = text_of([2] * 6, 11, more=ordered)
    assert [len(each.feature_indices) for each in read_survey(text).compile().questions] == [1] * 7
    assert {each.width for each in read_survey(text).compile().questions} == {1}
    other = read_survey(text.replace('ask = "all"', "").replace("epsilon = 11", "epsilon = 2.5")).compile()
    assert max(each.width for each in other.questions) > 1 or len(other.questions) < 7


def test_the_author_chooses_the_mechanism():
    more = '[mechanism]\nfrequency = "OUE"\nnumeric = "sign"\n'
    plan = survey_of([2, 3], 4, numbers=1, more=more).compile()
    assert [each.mechanism.name for each in plan.questions] == ["OUE", "OUE", "sign", "sign"]


@pytest.mark.slow
@pytest.mark.parametrize(("users", "epsilon"), [("users = 1000", 2), ("users = 20", 2)])
def test_the_label_is_asked_alone_only_if_no_other_question_estimates_its_shares(users, epsilon):
    text = text_of([2, 3], epsilon, more=LABEL).replace("users = 1000", users)
    assert [each.kind for each in read_survey(text).compile().questions] == ["coupled"] * 2
    more = f'{LABEL}[mechanism]\nnumeric = "onebit"\n'
    kinds = [each.kind for each in survey_of([], epsilon, numbers=1, more=more).compile().questions]
    assert kinds == ["label", "mean", "square"]
    asked = LABEL.replace("values", "weight = 1\nvalues")
    kinds = [each.kind for each in survey_of([2], epsilon, more=asked).compile().questions]
    assert kinds == ["label", "coupled"]


@pytest.mark.slow
def test_parts_are_equal_and_rounded_down():
    plan = survey_of([2, 3, 4], 4).compile()
    assert equal_part(Decimal(4), 3) == Decimal("1.333333")
    assert parts_of(plan) == [Decimal("1.333333")] * 3
    assert plan.epsilon == 4


@pytest.mark.slow
def test_the_plan_says_all_and_nothing_else_about_it():
    text = text_of([2, 3], 4, relay='divide = "margins"\n')
    plan = read_survey(text).compile()
    assert json.loads(plan.json)["relay"]["ask"] == "all"
    assert "divide" not in json.loads(plan.json)["relay"]
    assert Plan.from_json(plan.json).json == plan.json
    one = read_survey(text_of([2, 3], 2).replace('ask = "all"', "")).compile()
    named = read_survey(text_of([2, 3], 2).replace('"all"', '"one"')).compile()
    assert "ask" not in json.loads(one.json)["relay"]
    assert named.digest == one.digest


def test_plans_with_a_relay_keep_their_digest():
    plan = read_survey(RELAYED.replace("[relay]", f"[relay]\n{RELAY_KEYS}")).compile()
    assert plan.digest.startswith(DIGEST)


DIGEST = "9ffa40cf01d2b12a"


# -- the proof ---------------------------------------------------------------------------------


def forge(plan: Plan, **changes: object) -> bytes:
    document = json.loads(plan.json)
    for name, value in changes.items():
        document[name] = value
    return dump_canonical_json(document)


def test_the_product_of_the_exact_ratios_is_at_most_e_to_epsilon():
    plan = survey_of([2, 3, 4], 4).compile()
    ratio = prod((each.mechanism.ratio for each in plan.questions), start=Fraction(1))
    assert exp_bounds(Decimal("3.99999"))[1] < ratio <= exp_bounds(Decimal(4))[0]
    with pytest.raises(PrivacyError, match=r"above epsilon 3\.9"):
        Plan.from_json(forge(plan, epsilon="3.9"))  # each question alone would spend less


@pytest.mark.slow
def test_every_reader_checks_the_promise_of_all_messages_together():
    plan = survey_of([4] * 10, "13.61").compile()
    for name, value in (("epsilon", "0.95"), ("batch", 580), ("honest", "0.7")):
        relay = json.loads(plan.json)["relay"] | {name: value}
        with pytest.raises(PrivacyError, match="does not hold"):
            Plan.from_json(forge(plan, relay=relay))


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (text_of([2, 2], 4).replace('"all"', '"two"'), 'must be "one" (the default) or "all"'),
        (text_of([2, 2], 4, relay='divide = "best"\n'), 'relay.divide: must be "equal" (the default) or'),
        (
            text_of([2, 2], 4, relay='divide = "margins"\n').replace('"all"', '"one"'),
            'relay.divide: is for ask = "all": delete it',
        ),
        (
            text_of([2, 2], 4).replace('id = "night-work"\n', 'id = "night-work"\nenrolment = "token"\n'),
            "relay: a token names its holder",
        ),
        (text_of([2, 2], 4).replace("[survey]", '[survey]\nkind = "silo"'), "only a survey of people"),
        (text_of([2, 2], 4).replace("[survey]", '[survey]\nkind = "central"'), "a curator holds the rows"),
        (text_of([2, 2], "64.1"), "survey.epsilon: needs a number from 0.001 to 64"),
        (text_of([2, 2], 40).replace('ask = "all"', ""), "survey.epsilon: needs a number from 0.001 to 32"),
    ],
)
def test_the_file_is_refused_with_the_entry(text: str, why: str):
    assert why in str(refuse(text))


@pytest.mark.parametrize(
    ("text", "field", "why"),
    [
        (text_of([2], 1), "relay.ask", "is for 2 to 256 questions, and this survey has 1: delete it"),
        (text_of([2] * 257, 4), "relay.ask", "this survey has 257: ask fewer, or delete it"),
        (
            text_of([2, 2], 4).replace("[features.q0]", "[features.q0]\nweight = 2"),
            "relay.ask",
            "everybody answers every question, so delete the weights",
        ),
        (
            text_of([2, 2], "8.1"),
            "survey.epsilon",
            "gives 4.05 to each of 2 answers, and one may have 0.001 to 4: choose from 0.002 to 8",
        ),
        (text_of([2] * 200, "0.1"), "survey.epsilon", "gives 0.0005 to each of 200 answers"),
    ],
)
def test_the_survey_is_refused_with_what_to_do(text: str, field: str, why: str):
    with pytest.raises(SurveyError, match=re.escape(why)) as caught:
        read_survey(text).compile()
    assert caught.value.field == field


@pytest.mark.slow
def test_epsilon_may_be_up_to_64_and_4_for_each_answer():
    big = text_of([2] * 16, 64).replace("batch = 600", "batch = 1000000")
    plan = read_survey(big).compile()
    assert plan.epsilon == 64
    assert parts_of(plan) == [Decimal(4)] * 16
    with pytest.raises(SurveyError, match="epsilon must be between"):
        Plan.from_json(forge(plan, epsilon="64.001"))


def test_an_envelope_has_at_most_60_000_bytes_with_a_code():
    check_envelope([4096] * 14 + [1826])
    with pytest.raises(SurveyError, match="all answers of a person make 60,001 bytes"):
        check_envelope([4096] * 14 + [1827])


# -- what is largest and smallest --------------------------------------------------------------

SURVEYS = {
    "equal": text_of([4] * 10, 10),
    "yes/no": text_of([2] * 5, 5),
    "mixed": text_of([2, 3, 8, 32], 4),
    "numbers": text_of([2, 5], 4, numbers=1),
    "labels": text_of([2, 3], 3, numbers=1, more=LABEL),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SURVEYS)
def test_the_largest_sum_and_the_smallest_batch_just_keep_the_promise(name, monkeypatch):
    plan = read_survey(SURVEYS[name]).compile()
    relay, mechanisms = plan.relay, [each.mechanism for each in plan.questions]
    assert relay
    counted: list[int] = []
    exact = cache(relay_module.composed_delta)

    def count(messages, people, epsilon):
        counted.append(people)
        return exact(messages, people, epsilon)

    monkeypatch.setattr(relay_module, "_composed_delta", count)
    largest, batch = largest_epsilon(relay, mechanisms), smallest_batch(relay, mechanisms)
    assert len(counted) <= 10, counted
    assert keeps_promise(relay, redesign_equally(mechanisms, largest))
    assert not keeps_promise(relay, redesign_equally(mechanisms, largest + Decimal("0.01")))
    assert batch is not None
    assert keeps_promise(replace(relay, batch=batch), mechanisms)
    assert not keeps_promise(replace(relay, batch=batch - 1), mechanisms)
    survey = read_survey(SURVEYS[name])
    assert replace(survey, epsilon=largest).compile().epsilon == largest
    assert replace(survey, epsilon=Decimal(64)).fit_promise().epsilon == largest
    with pytest.raises(PrivacyError, match=rf"lower survey\.epsilon to {largest}, or raise batch to"):
        replace(survey, epsilon=largest + Decimal("0.05")).compile()


@pytest.mark.slow
def test_searches_end_at_the_limits():
    plan = survey_of([2, 2], 4).compile()
    mechanisms = [each.mechanism for each in plan.questions]
    assert plan.relay
    huge = replace(plan.relay, batch=10**6)
    assert largest_epsilon(huge, mechanisms) == 8
    assert largest_epsilon(huge, mechanisms * 16) == 64
    strict = replace(plan.relay, epsilon=Decimal("0.001"), delta=Decimal("1e-9"), batch=4)
    assert largest_epsilon(strict, mechanisms * 50) == 0
    assert smallest_batch(strict, [DE.design(2, Decimal(4))] * 100) is None


@pytest.mark.slow
def test_the_rough_bound_is_close_to_the_exact_one():
    plan = survey_of([4] * 10, 10).compile()
    assert plan.relay
    assert rough_budget(plan.relay) == pytest.approx(0.056 * 438, rel=0.02)
    for size in (2, 4, 16):
        mechanisms = [DE.design(size, Decimal(1))] * 10
        each = largest_epsilon(plan.relay, mechanisms) / 10
        cost = 10 * rough_cost(mechanisms[0].message, math.exp(each))
        assert cost == pytest.approx(rough_budget(plan.relay), rel=0.05)


# -- parts for small margins -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "gain"),
    [
        (text_of([4] * 6, 8), 0.0),
        (text_of([2, 2, 3, 4, 5, 6, 8, 12, 20, 32], 14), 0.05),
        (text_of([2, 3, 4, 8, 16], 8, numbers=1), 0.05),
        (text_of([2, 3, 8], 5, numbers=1, more=LABEL), 0.03),
    ],
)
def test_unequal_parts_make_the_mean_margin_smaller(text, gain):
    survey = read_survey(text)
    equal, divided = survey.compile(), replace(survey, divide="margins").compile()
    assert sum(parts_of(divided)) <= survey.epsilon
    assert max(parts_of(divided)) <= 4
    assert [each.mechanism.name for each in divided.questions] == [
        each.mechanism.name for each in equal.questions
    ]
    errors = [fmean(map(typical_error, plan.questions)) for plan in (equal, divided)]
    assert 1 - errors[1] / errors[0] >= gain - 0.001


@pytest.mark.slow
def test_no_other_division_of_the_same_sum_is_better():
    """With p = e^part, 2 sinh(part/2)^2 is proportional to the root of the size less one: the best sum."""
    plan = survey_of([2, 32], "2.4", relay='divide = "margins"\n').compile()
    first, second = (math.sinh(float(each) / 2) ** 2 for each in parts_of(plan))
    assert second / first == pytest.approx(math.sqrt(31), rel=0.01)


@pytest.mark.slow
def test_unequal_parts_are_no_more_private_than_equal_ones_need():
    """At the largest sum, the part of an answer that is cheap to hide grows only as the promise allows."""
    survey = read_survey(SURVEYS["labels"].replace("epsilon = 3\n", "epsilon = 64\n")).fit_promise()
    divided = replace(survey, divide="margins").compile()
    assert divided.relay
    assert keeps_promise(divided.relay, [each.mechanism for each in divided.questions])
    assert len(set(parts_of(divided))) > 1


def test_a_mechanism_is_redesigned_as_the_author_chose_it():
    more = '[mechanism]\nfrequency = "THE(0.3)"\n'
    plan = survey_of([3, 9], 2, relay='divide = "margins"\n', more=more).compile()
    assert [each.mechanism.parameters["theta"] for each in plan.questions] == ["0.3", "0.3"]
    assert redesign(plan.questions[0].mechanism, Decimal(2)).parameters["theta"] == "0.3"


@pytest.mark.slow
def test_numbers_stay_two_questions_where_one_each_would_break_the_promise():
    joined, apart = (survey_of([2], epsilon, numbers=2).compile() for epsilon in ("4", "6"))
    assert [each.moment for each in joined.questions] == [None, BOTH, BOTH]
    assert [each.moment for each in apart.questions] == [None, MEAN, SQUARE, MEAN, SQUARE]
