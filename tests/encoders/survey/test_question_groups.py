"""Features that share a question: the choice, the answers, and the checks of a plan."""

import json
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from encoders import canonical
from encoders.errors import SurveyError
from encoders.mechanisms import MECHANISMS, FrequencyOracle, design
from encoders.survey import Plan, Question, read_survey
from encoders.survey.auto_questions import MAX_GROUP_DOMAIN, MIN_GROUP_GAIN, group_features
from ldp_aggregator.simulated_population import true_answers
from tests.support.mistakes import refuse

HEAD = '[survey]\nid = "together"\nepsilon = {}\n[label]\nname = "win"\nvalues = ["yes", "no", "draw"]\n'
VALUES = "[features.{}]\nvalues = {}\nweight = {}\n"
EPSILONS = ("1", "2", "2.5", "3", "4", "5", "6", "8", "12")


def compiled(sizes: Sequence[int], epsilon: str = "5", weights: Sequence[int] = (), more: str = "") -> Plan:
    """Return the plan of features a, b, ... with these numbers of values."""
    weights = weights or [1] * len(sizes)
    names = (chr(ord("a") + place) for place in range(len(sizes)))
    features = (
        VALUES.format(name, [str(value) for value in range(size)], weight)
        for name, size, weight in zip(names, sizes, weights, strict=True)
    )
    return read_survey(HEAD.format(epsilon) + "".join(features) + more).compile()


def asked(plan: Plan) -> list[str]:
    return [question.name for question in plan.questions]


@cache
def oracle(domain: int, epsilon: str) -> FrequencyOracle:
    return design("auto", domain, Decimal(epsilon))


def groups(sizes: Sequence[int], labels: int, epsilon: str) -> list[tuple[int, ...]]:
    return group_features(
        sizes, labels, lambda domain, parts: oracle(domain, epsilon).uniform_variance(parts)
    )


# -- groups -------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.1", "1", "1.5"])
def test_at_a_small_epsilon_each_feature_is_a_question_of_its_own(epsilon):
    assert asked(compiled([2, 2, 3, 2], epsilon)) == ["a", "b", "c", "d"]


def test_at_a_large_epsilon_features_of_few_values_are_asked_about_together():
    assert asked(compiled([2, 2, 2, 2, 2, 2])) == ["a, b, c", "d, e, f"]
    assert asked(compiled([2, 2, 2], "32")) == ["a, b, c"]


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_that_the_author_names_asks_about_one_feature_at_a_time(name):
    plan = compiled([2, 2, 2], "8", more=f'[mechanism]\nfrequency = "{name}"\n')
    assert asked(plan) == ["a", "b", "c"]


def test_features_of_different_weights_are_not_asked_about_together():
    plan = compiled([2, 2, 2, 2], "8", [1, 3, 1, 3])
    assert [(question.name, question.weight) for question in plan.questions] == [("a, c", 1), ("b, d", 3)]


def test_group_has_the_weight_of_one_feature_doubled_if_there_are_numbers():
    number = "[features.n]\nrange = [0, 1]\nweight = 2\n"
    more = number + "[features.z]\nvalues = ['0', '1']\nweight = 2\n[mechanism]\nnumeric = 'sign'\n"
    plan = compiled([2, 2, 2], "8", [2, 2, 1], more)
    assert [(question.name, question.weight) for question in plan.questions] == [
        ("a, b, z", 4),
        ("c", 2),
        ("n (mean)", 2),
        ("n (square)", 2),
    ]


def test_features_that_are_not_asked_about_join_nothing():
    plan = compiled([2, 2, 2, 2], "8", [1, 0, 1, 0])
    assert [question.feature_indices for question in plan.questions] == [(0, 2)]


def test_no_question_about_several_features_has_more_answers_than_a_byte_names():
    plan = compiled([2] * 13, "32")  # two questions would have 384 and 192 answers
    assert sorted(question.domain for question in plan.questions) == [48, 48, 96]
    assert all(question.mechanism.payload_bytes == 1 for question in plan.questions)
    assert asked(compiled([90, 90], "32")) == ["a", "b"]  # 270 answers: as long as they are alone


@pytest.mark.slow
def test_features_of_too_many_values_are_refused_by_name():
    with pytest.raises(
        SurveyError, match=r"^features\.a: 22,000 values x 3 values of the label = 66,000 "
    ) as caught:
        compiled([22_000, 2, 22_000], "8")
    assert [each.field for each in caught.value.problems] == ["features.a", "features.c"]


def test_feature_with_weight_zero_leaves_the_other_groups_unchanged():
    whole, part = compiled([2] * 6), compiled([2] * 6, weights=[0, 0, 0, 1, 1, 1])
    assert [question.key for question in part.questions] == [question.key for question in whole.questions[1:]]


@cache
def by_hand(sizes: tuple[int, ...], labels: int, epsilon: str) -> float:
    """Return the sum of the variances of features that share a question, from the whole covariance."""
    whole, total = oracle(math.prod(sizes) * labels, epsilon), 0.0
    matrix = np.full((whole.domain, whole.domain), whole.covariance(1 / whole.domain, 1 / whole.domain))
    np.fill_diagonal(matrix, whole.variance(1 / whole.domain))
    for place in range(len(sizes)):
        part = np.zeros((*sizes, labels))
        part[(*[slice(None)] * place, 0)][..., 0] = 1
        total += part.ravel() @ matrix @ part.ravel()
    return total


def variance_of_all(sizes: Sequence[int], found: Sequence[Sequence[int]], labels: int, epsilon: str) -> float:
    """Return the sum of all features' variances if one person is asked, with the factor of larger groups."""
    each = [tuple(sizes[place] for place in group) for group in found]
    return len(each) * sum(MIN_GROUP_GAIN ** (len(e) - 1) * by_hand(e, labels, epsilon) for e in each)


def partitions(places: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield all partitions of some places."""
    if not places:
        yield []
        return
    for found in partitions(places[1:]):
        yield [[places[0]], *found]
        for number, group in enumerate(found):
            yield [*found[:number], [places[0], *group], *found[number + 1 :]]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_other_groups_have_less_variance(epsilon):
    for labels, sizes in product((1, 2, 3), ([2] * 6, [2, 2, 3, 3, 5], [4, 2, 2, 10, 3, 2], [8, 8, 2, 2])):
        least = min(
            variance_of_all(sizes, found, labels, epsilon)
            for found in partitions(range(len(sizes)))
            if all(math.prod(sizes[place] for place in each) * labels <= MAX_GROUP_DOMAIN for each in found)
        )
        found = groups(sizes, labels, epsilon)
        assert variance_of_all(sizes, found, labels, epsilon) == pytest.approx(least)


@pytest.mark.parametrize(
    ("epsilon", "labels", "members", "fewer_people"),
    [("3", 1, [2] * 5, 0.05), ("3", 2, [2] * 5, 0), ("4", 1, [3, 3, 4], 0.15), ("4", 2, [2, 2, 3, 3], 0.05)],
)
def test_ten_binary_features_share_questions_evenly(epsilon, labels, members, fewer_people):
    found = groups([2] * 10, labels, epsilon)
    assert sorted(map(len, found)) == members
    lonely = [range(3), range(3, 6), range(6, 9), [9]]  # what joining one by one leads to

    def people(each: Sequence[Sequence[int]]) -> float:
        return len(each) * sum(by_hand((2,) * len(group), labels, epsilon) for group in each)

    assert people(found) <= (1 - fewer_people) * people(lonely)


def test_groups_do_not_depend_on_the_order_of_features():
    sizes = [2, 5, 2, 3, 2, 4, 3, 2, 2, 6]
    found = groups(sizes, 2, "4")
    turned = groups(sizes[::-1], 2, "4")
    assert sorted(sorted(sizes[place] for place in each) for each in found) == sorted(
        sorted(sizes[-1 - place] for place in each) for each in turned
    )


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1", "4", "12"])
def test_many_features_are_grouped_in_parts(epsilon):
    for sizes in ([2] * 700, [2, 3, 4, 5, 6, 8, 12, 20] * 5, list(range(2, 42)), [30, *[2] * 39]):
        found = groups(sizes, 1, epsilon)
        assert sorted(place for each in found for place in each) == list(range(len(sizes)))
        alone = [[place] for place in range(len(sizes))]
        most = variance_of_all(sizes, alone, 1, epsilon)
        assert variance_of_all(sizes, found, 1, epsilon) <= most * (1 + 1e-9)


# -- questions ----------------------------------------------------------------------------------

MIXED = """
[features.n]
range = [0, 10]
[features.colour]
values = ["red", "green"]
missing = "category"
weight = 2
[features.age]
range = [0, 90]
bins = 3
weight = 2
[features.lone]
values = ["x", "y"]
weight = 5
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return compiled([2, 2], "4.5", more=MIXED + "[mechanism]\nnumeric = 'sign'\n")


def of_several(plan: Plan) -> Iterator[Question]:
    yield from (question for question in plan.questions if len(question.feature_indices) > 1)


def test_a_plan_is_the_same_after_its_json(plan):
    again = Plan.from_json(plan.json)
    assert again == plan
    assert asked(again) == asked(plan) == ["a, b", "n (mean)", "n (square)", "colour, age", "lone"]
    assert [question.key for question in again.questions] == [question.key for question in plan.questions]
    assert [entry["feature"] for entry in json.loads(plan.json)["questions"]] == [[0, 1], 2, 2, [3, 4], 5]


def test_questions_come_in_the_order_of_their_first_features():
    plan = compiled([3, 2, 2, 3], "5", [1, 2, 2, 1])
    assert [question.feature_indices for question in plan.questions] == [(0, 3), (1, 2)]
    assert [question.index for question in plan.questions] == [0, 1]


def test_the_label_alone_comes_first():
    head = HEAD.format("5") + "weight = 1\n"
    text = head + "".join(VALUES.format(name, ["x", "y"], 1) for name in "ab")
    assert [question.feature_indices for question in read_survey(text).compile().questions] == [(), (0, 1)]


def test_answer_is_a_combination_with_the_first_feature_slowest_and_the_label_fastest(plan):
    for question in of_several(plan):
        names = [feature.name for feature in question.asked_features] + ["win"]
        texts = [feature.texts for feature in question.asked_features] + [list(plan.label.values)]
        combinations = list(product(*(range(size) for size in question.shape)))
        rows = np.zeros((len(combinations), len(plan.features)), dtype=np.int64)
        rows[:, list(question.feature_indices)] = [codes[:-1] for codes in combinations]
        labels = np.array([codes[-1] for codes in combinations])
        one_by_one = [
            question.value(row.tolist(), int(label)) for row, label in zip(rows, labels, strict=True)
        ]
        assert one_by_one == list(range(question.domain))
        every = np.arange(len(rows))
        assert true_answers(question, rows, labels, every).tolist() == one_by_one
        assert true_answers(question, rows, labels, every[::-2]).tolist() == one_by_one[::-2]
        for number, codes in enumerate(combinations):
            words = [words[code] for words, code in zip(texts, codes, strict=True)]
            assert question.meaning(number) == dict(zip(names, words, strict=True))


def test_report_contains_the_values_of_all_features_of_its_question(plan):
    row = {"a": "1", "b": "0", "n": 5, "colour": None, "age": 89, "lone": "x"}
    codes, label = plan.encode(row, "draw")
    meanings: dict[str, str] = {}
    for question in of_several(plan):
        meanings |= question.meaning(question.value(codes, label))
    assert meanings == {"a": "1", "b": "0", "colour": "(missing)", "age": "60 and more", "win": "draw"}


def test_features_in_another_order_have_other_counters():
    one, same, other = (compiled(sizes, "8").questions[0] for sizes in ([2, 3], [2, 3], [3, 2]))
    assert one.key == same.key != other.key
    assert one.domain == other.domain


# -- tampered plans -----------------------------------------------------------------------------


def tampered(plan: Plan, **changes: dict[str, Any]) -> bytes:
    """Change entries of questions, by index."""
    document = json.loads(plan.json)
    for index, entries in changes.items():
        document["questions"][int(index.strip("q"))] |= entries
    return canonical.dump_canonical_json(document)


TAMPERED: dict[str, tuple[dict[str, dict[str, Any]], str]] = {
    "features of an earlier place": ({"q3": {"feature": [1, 3]}}, "in the order of their first features"),
    "a feature alone whose domain does not fit": ({"q4": {"feature": 4}}, "does not fit"),
    "another feature of as many values": ({"q3": {"feature": [3, 5]}, "q4": {"feature": 4}}, "does not fit"),
    "a list of one": ({"q4": {"feature": [5]}}, "contradicts itself"),
    "one feature more": ({"q0": {"feature": [0, 1, 3]}, "q3": {"feature": 4}}, "does not fit this question"),
    "a feature that is true": ({"q0": {"feature": [0, True]}}, "must be numbers of features"),
    "a mean of several numbers": ({"q1": {"feature": [2, 3]}}, "asks for one number at a time"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_question_about_several_features_is_refused(plan, name):
    changes, why = TAMPERED[name]
    assert why in str(refuse(tampered(plan, **changes), Plan.from_json))


def test_an_author_may_ask_about_features_together_that_auto_would_not(plan):
    """A plan may have any groups; a reader checks that the questions agree with their entries."""
    document = json.loads(compiled([2, 2], "1").json)
    _, other = document["questions"]
    strong = oracle(12, "1")
    ratio = strong.ratio
    single = json.loads(compiled([4], "1").json)  # 4 values and 3 labels: the same domain
    table = single["questions"][0]["tables"]
    document["questions"] = [single["questions"][0] | {"feature": [0, 1]}]
    document["tables"] = {table: single["tables"][table]}
    read = Plan.from_json(canonical.dump_canonical_json(document))
    assert asked(read) == ["a, b"]
    assert read.questions[0].mechanism.ratio == ratio
    assert other["domain"] == 6
