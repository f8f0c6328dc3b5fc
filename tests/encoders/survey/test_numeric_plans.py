"""Plans with numbers: questions and weights, canonical form, and quick refusal of hostile plans."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import PrivacyError, RowError, SurveyError
from encoders.mechanisms import NUMERIC_MECHANISMS, load_numeric
from encoders.probability_tables import WORD
from encoders.survey import Plan, Survey, canonical, read_survey
from encoders.survey.decimals import decimal_text
from encoders.survey.numeric_features import GRID, NumericFeature
from tests.support.json_walk import Path, inner, leaves_of, objects_of
from tests.support.reference import e_to_the
from tests.support.surveys import PROJECTED

SURVEY = read_survey(PROJECTED)
NAMES = ("auto", *NUMERIC_MECHANISMS)
every_name = pytest.mark.parametrize("numeric", NAMES)

Document = dict[str, Any]


def compiled(**changes: Any) -> Plan:
    return dataclasses.replace(SURVEY, **changes).compile()


def document(plan: Plan) -> Document:
    read: Document = json.loads(plan.json)
    return read


# -- canonical JSON ----------------------------------------------------------------------------


@every_name
def test_plan_equals_itself_after_json(numeric: str) -> None:
    plan = compiled(numeric=numeric)
    again = Plan.from_json(plan.json)
    assert again == plan
    assert again.digest == plan.digest == hashlib.sha256(plan.json).hexdigest()
    assert (again.features, again.projection, again.entries) == (plan.features, plan.projection, plan.entries)
    for ours, theirs in zip(plan.questions, again.questions, strict=True):
        assert (ours.key, ours.weight, ours.feature_indices, ours.moment, ours.name) == (
            theirs.key,
            theirs.weight,
            theirs.feature_indices,
            theirs.moment,
            theirs.name,
        )
        assert ours.mechanism.parameters == theirs.mechanism.parameters
        assert ours.mechanism.ratio == theirs.mechanism.ratio


@every_name
def test_a_plan_is_canonical_json_without_floats(numeric: str) -> None:
    plan = compiled(numeric=numeric)
    assert plan.json == canonical.dump_canonical_json(document(plan))
    leaves = [leaf for _, leaf in leaves_of(document(plan))]
    assert {type(leaf) for leaf in leaves} <= {str, int, type(None)}
    assert all(abs(leaf) <= 1 << 53 for leaf in leaves if isinstance(leaf, int))


@every_name
def test_a_question_about_numbers_names_its_moment_and_no_domain(numeric: str) -> None:
    for entry, question in zip(
        document(compiled(numeric=numeric))["questions"], compiled(numeric=numeric).questions, strict=True
    ):
        assert ("moment" in entry) != ("domain" in entry)
        assert entry.get("moment") == question.moment
        assert isinstance(entry["feature"], list) == (question.mechanism.name == "laplace")


def test_what_must_be_in_a_row_is_the_inputs_and_what_is_not_projected() -> None:
    assert [entry.name for entry in compiled().entries] == ["age", "income", "city", "hours"]
    assert [entry.name for entry in SURVEY.entries] == ["age", "income", "city", "hours"]


def test_questions_without_numbers_do_not_contain_the_projection() -> None:
    plan = compiled(features=SURVEY.features[:1], weights=(None, 1), projection=None)
    assert set(document(plan)) == {"epsilon", "features", "format", "id", "label", "questions", "tables"}
    assert "moment" not in document(plan)["questions"][0]


# -- who is asked what ---------------------------------------------------------------------------


def asked(plan: Plan) -> list[tuple[str, int]]:
    return [(question.name, question.weight) for question in plan.questions]


def survey(numeric: str, city: int, hours: int, nap: int, label: int | None = None) -> Survey:
    features = (SURVEY.features[0], SURVEY.features[1], NumericFeature("nap", "0", "3", "category"))
    return dataclasses.replace(
        SURVEY, features=features, weights=(label, city, hours, nap), numeric=numeric, projection=None
    )


def test_a_number_is_two_questions_and_all_others_count_double() -> None:
    assert asked(survey("sign", 3, 1, 2, 4).compile()) == [
        ("rested", 8),
        ("city", 6),
        ("hours (mean)", 1),
        ("hours (square)", 1),
        ("nap (mean)", 2),
        ("nap (square)", 2),
    ]


def test_without_numbers_weights_are_as_written() -> None:
    assert asked(survey("sign", 3, 0, 0, 4).compile()) == [("rested", 4), ("city", 3)]


def test_laplace_question_has_the_sum_of_the_weights_of_all_numbers() -> None:
    plan = survey("laplace", 3, 5, 2, 4).compile()
    assert asked(plan) == [
        ("rested", 8),
        ("city", 6),
        ("hours, nap (mean)", 7),
        ("hours, nap (square)", 7),
    ]
    assert plan.questions[2].feature_indices == (1, 2)
    assert plan.questions[2].numeric_domain.missing == (False, True)


def test_laplace_leaves_out_numbers_that_are_not_asked_for() -> None:
    plan = survey("laplace", 3, 0, 2).compile()
    assert asked(plan) == [("city", 6), ("nap (mean)", 2), ("nap (square)", 2)]
    assert plan.questions[1].feature_indices == (2,)
    assert Plan.from_json(plan.json) == plan


@pytest.mark.parametrize("numeric", NAMES)
def test_each_feature_is_asked_in_proportion_to_its_weight(numeric: str) -> None:
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
def test_label_is_asked_alone_only_if_no_other_question_estimates_it(
    numeric: str, weights: tuple[int, int, int], default: int
) -> None:
    found = [
        question.weight
        for question in survey(numeric, *weights).compile().questions
        if not question.asked_features
    ]
    assert found == [default] * (default > 0)


@pytest.mark.parametrize("numeric", ["laplace", "onebit", "sampled-laplace", "sign-vector"])
def test_label_that_no_question_estimates_is_a_mistake(numeric: str) -> None:
    with pytest.raises(SurveyError, match="0 leaves no question that estimates the label's prior") as caught:
        survey(numeric, 0, 1, 1, 0).compile()
    assert caught.value.field == "label.weight"
    survey(numeric, 1, 1, 1, 0).compile()
    survey("sign", 0, 1, 1, 0).compile()


def test_the_largest_weights_add_up() -> None:
    plan = survey("laplace", 10**6, 10**6, 10**6, 10**6).compile()
    assert [question.weight for question in plan.questions] == [2 * 10**6] * 4
    features = tuple(NumericFeature(f"x{i}", "0", "1") for i in range(5))
    many = dataclasses.replace(
        SURVEY, features=features, weights=(1, *[10**6] * 5), numeric="laplace", projection=None
    )
    assert [question.weight for question in many.compile().questions] == [2, 5 * 10**6, 5 * 10**6]


def test_laplace_asks_for_a_hundred_numbers_at_most() -> None:
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


def test_a_report_about_too_many_numbers_names_the_first() -> None:
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


# -- values and keys -----------------------------------------------------------------------------


def test_value_combines_code_and_label_and_has_the_right_meaning() -> None:
    plan = survey("laplace", 1, 1, 1).compile()
    _, mean, square = plan.questions
    codes = (1, GRID + GRID // 2, 2 * GRID + 1)
    assert mean.value(codes, 1) == (2 * codes[1] + 1, 2 * codes[2] + 1)
    assert square.value(codes, 0) == (2 * (GRID + GRID // 4), 2 * codes[2])
    assert mean.meaning(mean.value(codes, 1)) == {"hours": "9", "nap": "(missing)", "rested": "no"}
    assert square.meaning(square.value(codes, 0)) == {
        "hours": "0.2500 (normalised and squared)",
        "nap": "(missing)",
        "rested": "yes",
    }
    single = survey("onebit", 1, 1, 1).compile().questions[1]
    assert single.value(codes, 1) == 2 * codes[1] + 1
    assert single.meaning(single.value(codes, 1)) == {"hours": "9", "rested": "no"}


def keys(plan: Plan) -> dict[str, str]:
    return {question.name: question.key for question in plan.questions}


def with_component(place: int, **changes: Any) -> Plan:
    assert SURVEY.projection
    changed = list(SURVEY.projection.components)
    changed[place] = dataclasses.replace(changed[place], **changes)
    return compiled(projection=dataclasses.replace(SURVEY.projection, components=tuple(changed)))


def with_input(**changes: Any) -> Plan:
    assert SURVEY.projection
    age, income = SURVEY.projection.inputs
    inputs = (age, dataclasses.replace(income, **changes))
    return compiled(projection=dataclasses.replace(SURVEY.projection, inputs=inputs))


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        (lambda: with_component(0, weights=("0.25", "-0.7")), {"first"}),
        (lambda: with_component(0, offset="0.000001"), {"first"}),
        (lambda: with_component(1, weights=("-3", "0")), {"second"}),
        (lambda: with_input(high="200001"), {"first", "second"}),
        (lambda: with_input(name="pay"), {"first", "second"}),
        (lambda: with_input(missing="category"), {"first", "second"}),
        (lambda: compiled(id="another-round"), set()),
        (lambda: compiled(weights=(1, 1, 2, 3, 4)), set()),
    ],
)
def test_a_key_moves_with_the_projection_that_its_number_comes_from(
    change: Callable[[], Plan], moved: set[str]
) -> None:
    before, after = keys(compiled()), keys(change())
    assert {name.split()[0] for name in before if before[name] != after[name]} == moved
    assert len(set(before.values())) == len(before)


def test_mean_and_square_and_each_mechanism_have_keys_of_their_own() -> None:
    found = [
        question.key
        for numeric in NUMERIC_MECHANISMS
        for question in compiled(numeric=numeric).questions
        if question.moment
    ]
    assert len(set(found)) == len(found)


# -- rows ----------------------------------------------------------------------------------------

ROW = {"city": "north", "hours": 1, "age": 33, "income": 21_000}


@pytest.mark.parametrize(
    ("changes", "clipped"),
    [
        ({}, ()),
        ({"hours": 13}, ("hours",)),
        ({"hours": -(10**400)}, ("hours",)),
        ({"age": 101}, ("age", "second")),
        ({"income": 200_000.5}, ("income",)),
        ({"age": 0}, ("second",)),
        ({"age": -1, "income": 1e9}, ("age", "income", "second")),
        ({"age": None}, ()),
        ({"age": math.nan, "income": 1e9}, ("income",)),
        ({"city": "south"}, ()),
    ],
)
def test_clipped_names_lists_entries_outside_their_bounds(
    changes: dict[str, Any], clipped: tuple[str, ...]
) -> None:
    assert compiled().clipped_names(ROW | changes) == clipped


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"city": "north", "hours": 1, "age": 33}, "income"),
        ({"city": "north", "age": 33, "income": 1}, "hours"),
        (ROW | {"income": None}, "income"),
        (ROW | {"hours": math.nan}, "hours"),
        (ROW | {"age": math.inf}, "age"),
        (ROW | {"hours": "1"}, "hours"),
        (ROW | {"age": True}, "age"),
        ({"city": "north", "hours": 1, "first": 0, "second": 0}, "age"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_by_field(row: Any, field: str) -> None:
    with pytest.raises(RowError) as caught:
        compiled().encode(row, "yes")
    assert caught.value.field == field


def test_a_missing_input_makes_its_components_missing() -> None:
    assert compiled().encode(ROW | {"age": None}, "yes")[0][2:] == (4, 2 * GRID + 1)


# -- hostile plans -------------------------------------------------------------------------------

PLANS = {numeric: compiled(numeric=numeric) for numeric in NAMES}


def question_of(changed: Document, moment: int | None, feature: Any = None) -> Document:
    return next(
        entry
        for entry in changed["questions"]
        if entry.get("moment") == moment and (feature is None or entry["feature"] == feature)
    )


def feature_of(changed: Document, name: str) -> Document:
    found: Document = next(entry for entry in changed["features"] if entry["name"] == name)
    return found


def drop(changed: Document, moment: int, feature: Any = None) -> None:
    changed["questions"].remove(question_of(changed, moment, feature))


def swap(changed: Document, one: int, other: int) -> None:
    entries = changed["questions"]
    entries[one], entries[other] = entries[other], entries[one]


def tables_of(changed: Document, moment: int = 1) -> Document:
    found: Document = changed["tables"][question_of(changed, moment)["tables"]]
    return found


def of(entry: Document, **changes: Any) -> None:
    entry.update(changes)


HOSTILE: dict[str, tuple[str, Callable[[Document], object]]] = {
    "a number asked of a category": ("sign", lambda d: of(question_of(d, 1), feature=0)),
    "a number asked of a binned feature": ("sign", lambda d: of(question_of(d, 1), feature=2)),
    "a category asked of a number": ("sign", lambda d: of(question_of(d, None, 0), feature=1)),
    "a number asked of the label": ("sign", lambda d: of(question_of(d, 1), feature=None)),
    "a number asked of nothing": ("laplace", lambda d: of(question_of(d, 1), feature=[])),
    "a domain beside the moment": ("sign", lambda d: of(question_of(d, 1), domain=4)),
    "moment 3": ("sign", lambda d: of(question_of(d, 2, 1), moment=3)),
    "moment 0": ("sign", lambda d: of(question_of(d, 1), moment=0)),
    "moment true": ("sign", lambda d: of(question_of(d, 1), moment=True)),
    "moment as text": ("sign", lambda d: of(question_of(d, 1), moment="1")),
    "moment in a list": ("sign", lambda d: of(question_of(d, 1), moment=[1])),
    "moment null": ("sign", lambda d: of(question_of(d, 1), moment=None)),
    "moment of a category": ("sign", lambda d: of(question_of(d, None, 0), moment=1)),
    "moment 2 twice": ("sign", lambda d: of(question_of(d, 1), moment=2)),
    "a mean without a square": ("sign", lambda d: drop(d, 2)),
    "a square without a mean": ("sign", lambda d: drop(d, 1)),
    "a mean without a square, all at once": ("laplace", lambda d: drop(d, 2)),
    "a mean of one and a square of another": (
        "sign",
        lambda d: (drop(d, 2, 1), drop(d, 1, 3)),
    ),
    "a square before its mean": ("sign", lambda d: swap(d, 1, 2)),
    "numbers before the others": ("laplace", lambda d: swap(d, 0, 3)),
    "a question twice": ("sign", lambda d: d["questions"].insert(1, copy.deepcopy(d["questions"][1]))),
    "features out of order": (
        "laplace",
        lambda d: [of(q, feature=[3, 1]) for q in d["questions"] if "moment" in q],
    ),
    "a feature twice": (
        "laplace",
        lambda d: [of(q, feature=[1, 1]) for q in d["questions"] if "moment" in q],
    ),
    "a feature of the list beyond the last": ("laplace", lambda d: of(question_of(d, 1), feature=[1, 4])),
    "a negative feature": ("laplace", lambda d: of(question_of(d, 1), feature=[-1, 3])),
    "a true feature": ("laplace", lambda d: of(question_of(d, 1), feature=[True, 3])),
    "a list in the list": ("laplace", lambda d: of(question_of(d, 1), feature=[[1], 3])),
    "lists that differ": ("laplace", lambda d: of(question_of(d, 2), feature=[1])),
    "laplace with a plain feature": (
        "laplace",
        lambda d: [of(q, feature=1) for q in d["questions"] if "moment" in q],
    ),
    "a list for one number": ("sign", lambda d: of(question_of(d, 1), feature=[1])),
    "several numbers for one": ("sign", lambda d: of(question_of(d, 1), feature=[1, 3])),
    "a category in the list": ("laplace", lambda d: of(question_of(d, 1), feature=[0, 1, 3])),
    "another form, a class more": ("laplace", lambda d: d["label"]["values"].append("perhaps")),
    "the tables of numbers for squares": (
        "piecewise",
        lambda d: of(question_of(d, 2), tables=question_of(d, 1)["tables"]),
    ),
    "an oracle for a number": ("sign", lambda d: of(question_of(d, 1), mechanism="DE")),
    "a mechanism of numbers for a category": (
        "sign",
        lambda d: of(question_of(d, None, 0), mechanism="sign"),
    ),
    "a mechanism in a list": ("sign", lambda d: of(question_of(d, 1), mechanism=["sign"])),
    "an unknown mechanism": ("sign", lambda d: of(question_of(d, 1), mechanism="auto")),
    "no tables": ("onebit", lambda d: d["tables"].pop(question_of(d, 1)["tables"])),
    "tables with another entry": ("onebit", lambda d: of(tables_of(d), more="1")),
    "tables unused": ("onebit", lambda d: of(d["tables"], more={"q": "1"})),
    "q out of range": ("onebit", lambda d: of(tables_of(d), q=str(WORD // 2))),
    "q of nothing": ("sign-vector", lambda d: of(tables_of(d), q="0")),
    "q a number": ("sign-vector", lambda d: of(tables_of(d), q=1)),
    "near one": ("piecewise", lambda d: of(tables_of(d), near=str(WORD))),
    "reach too far": ("piecewise", lambda d: of(tables_of(d), reach="257")),
    "steps huge": ("laplace", lambda d: of(tables_of(d), steps="9" * 5000)),
    "steps three": ("laplace", lambda d: of(tables_of(d), steps="3")),
    "weights short": ("laplace", lambda d: tables_of(d)["weights"].pop()),
    "an empty projection": ("sign", lambda d: of(d["projection"], inputs=[], components=[])),
    "no inputs": ("sign", lambda d: of(d["projection"], inputs=[])),
    "no components": ("sign", lambda d: of(d["projection"], components=[])),
    "a projection that is null": ("sign", lambda d: of(d, projection=None)),
    "a projection with more": ("sign", lambda d: of(d["projection"], more=[])),
    "a component with more": ("sign", lambda d: of(d["projection"]["components"][0], more="1")),
    "a projected feature that is not there": (
        "sign",
        lambda d: of(d["projection"]["components"][0], name="ghost"),
    ),
    "a component of a category": ("sign", lambda d: of(d["projection"]["components"][0], name="city")),
    "a component of the label": ("sign", lambda d: of(d["projection"]["components"][0], name="rested")),
    "a component of another's name": ("sign", lambda d: of(d["projection"]["components"][0], name="second")),
    "a component without name": ("sign", lambda d: of(d["projection"]["components"][0], name=None)),
    "a component that may not be missing": ("sign", lambda d: of(feature_of(d, "first"), missing="error")),
    "an input of a feature's name": ("sign", lambda d: of(d["projection"]["inputs"][1], name="hours")),
    "an input of the label's name": ("sign", lambda d: of(d["projection"]["inputs"][1], name="rested")),
    "an input in bins": ("sign", lambda d: of(d["projection"]["inputs"][1], kind="binned")),
    "an input of unknown missing": ("sign", lambda d: of(d["projection"]["inputs"][1], missing="maybe")),
    "an input reversed": ("sign", lambda d: of(d["projection"]["inputs"][1], low="9", high="1")),
    "weights as one text": ("sign", lambda d: of(d["projection"]["components"][0], weights="12")),
    "a weight too few": ("sign", lambda d: d["projection"]["components"][0]["weights"].pop()),
    "a weight nan": ("sign", lambda d: of(d["projection"]["components"][0], weights=["1", "NaN"])),
    "a weight infinite": ("sign", lambda d: of(d["projection"]["components"][0], weights=["1", "Infinity"])),
    "a weight huge": ("sign", lambda d: of(d["projection"]["components"][0], weights=["1", "9" * 100_000])),
    "a weight with an exponent": (
        "sign",
        lambda d: of(d["projection"]["components"][0], weights=["1", "1e3"]),
    ),
    "a weight too fine": ("sign", lambda d: of(d["projection"]["components"][0], weights=["1", "0.0000001"])),
    "an offset not canonical": ("sign", lambda d: of(d["projection"]["components"][0], offset="0.0")),
    "an offset a number": ("sign", lambda d: of(d["projection"]["components"][0], offset=0)),
    "bounds equal": ("sign", lambda d: of(feature_of(d, "hours"), low="12")),
    "bounds reversed": ("sign", lambda d: of(feature_of(d, "hours"), low="13")),
    "bounds equal as doubles": ("sign", lambda d: of(feature_of(d, "hours"), low="11.99999999999999999999")),
    "bounds nan": ("sign", lambda d: of(feature_of(d, "hours"), low="NaN")),
    "bounds signalling": ("sign", lambda d: of(feature_of(d, "hours"), low="sNaN")),
    "bounds infinite": ("sign", lambda d: of(feature_of(d, "hours"), high="Infinity")),
    "bounds beyond doubles": ("sign", lambda d: of(feature_of(d, "hours"), high="9" * 400)),
    "bounds huge": ("sign", lambda d: of(feature_of(d, "hours"), high="9" * 500_000)),
    "bounds of an exponent": ("sign", lambda d: of(feature_of(d, "hours"), high="1E+999999999999")),
    "range larger than doubles": (
        "sign",
        lambda d: of(feature_of(d, "hours"), low=f"-17{'0' * 307}", high=f"17{'0' * 307}"),
    ),
    "bounds not canonical": ("sign", lambda d: of(feature_of(d, "hours"), high="12.0")),
    "bounds numbers": ("sign", lambda d: of(feature_of(d, "hours"), high=12)),
    "bounds null": ("sign", lambda d: of(feature_of(d, "hours"), high=None)),
    "bounds lists": ("sign", lambda d: of(feature_of(d, "hours"), high=["12"])),
    "bounds missing": ("sign", lambda d: feature_of(d, "hours").pop("high")),
    "an unknown kind": ("sign", lambda d: of(feature_of(d, "hours"), kind="number")),
    "edges of a number": ("sign", lambda d: of(feature_of(d, "hours"), edges=["0", "12"])),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_plan_is_refused_at_once(name: str) -> None:
    numeric, change = HOSTILE[name]
    changed = document(PLANS[numeric])
    change(changed)
    data = canonical.dump_canonical_json(changed)
    assert data != PLANS[numeric].json
    start = time.process_time()
    with pytest.raises(SurveyError):
        Plan.from_json(data)
    assert time.process_time() - start < 1


def test_many_inputs_are_refused_at_once() -> None:
    changed = document(PLANS["sign"])
    age = changed["projection"]["inputs"][0]
    changed["projection"]["inputs"] += [{**age, "name": f"i{number}"} for number in range(9_000)]
    start = time.process_time()
    with pytest.raises(SurveyError, match="a weight for each of the 9002 inputs"):
        Plan.from_json(canonical.dump_canonical_json(changed))
    assert time.process_time() - start < 1


STRANGE: tuple[Any, ...] = (
    *(None, True, 0, 1, 2, -1, "", "x", "0", "1", "2", "01", "nan", "9" * 400, "sign"),
    *("category", "error", [], {}, ["1"]),
)


def altered(original: Document, path: Path, value: Any) -> Document:
    changed = copy.deepcopy(original)
    inner(changed, path[:-1])[path[-1]] = value
    return changed


def accepted(changed: Any) -> Plan | None:
    """Read a tampered document; a plan that is read must have the same bytes and keep its epsilon."""
    try:
        data = canonical.dump_canonical_json(changed)
        plan = Plan.from_json(data)
    except SurveyError:
        return None
    assert plan.json == data
    bound = e_to_the(Fraction(plan.epsilon))[0]
    assert all(question.mechanism.ratio <= bound for question in plan.questions)
    return plan


FREE = {
    ("id",),
    ("epsilon",),
    ("label", "name"),
    ("label", "values", "*"),
    ("features", "*", "name"),
    ("features", "*", "values", "*"),
    ("features", "*", "edges", "*"),
    ("features", "*", "low"),
    ("features", "*", "high"),
    ("projection", "inputs", "*", "name"),
    ("projection", "inputs", "*", "low"),
    ("projection", "inputs", "*", "high"),
    ("projection", "inputs", "*", "missing"),
    ("projection", "components", "*", "weights", "*"),
    ("projection", "components", "*", "offset"),
    ("questions", "*", "weight"),
}


@pytest.mark.parametrize("numeric", ["sign", "onebit"])
def test_no_entry_can_be_changed_unnoticed(numeric: str) -> None:
    # What an author is free to choose gives another plan, of another digest; the rest contradicts itself.
    plan, free = PLANS[numeric], set()
    for path, value in leaves_of(document(plan)):
        free |= changes_accepted(plan, path, value, STRANGE)
    # a coin's table suits any number of slots, an oracle's only its domain
    assert free == FREE | ({("features", "*", "missing")} if numeric == "onebit" else set())


def test_no_question_about_several_numbers_can_be_changed_unnoticed() -> None:
    plan, free = PLANS["laplace"], set()
    for path, value in leaves_of({"questions": document(plan)["questions"]}):
        free |= changes_accepted(plan, path, value, STRANGE[::3])
    assert free == {("questions", "*", "weight")}


def changes_accepted(plan: Plan, path: Path, value: Any, strange: tuple[Any, ...]) -> set[Path]:
    """Return the path, with a star for each number in it, if anything else is accepted there."""
    near = [value + 1, value - 1, str(value)] if isinstance(value, int) else [f"{value}x", f"{value}0"]
    for other in (*strange, *near):
        if other != value or type(other) is not type(value):
            read = accepted(altered(document(plan), path, other))
            if read is not None:
                assert read.digest != plan.digest
                return {tuple("*" if isinstance(key, int) else key for key in path)}
    return set()


def test_no_entry_can_be_added_or_left_out() -> None:
    plan = PLANS["sign"]
    for path, node in objects_of(document(plan)):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            changed = document(plan)
            del inner(changed, path)[key]
            read = accepted(changed)
            # to project less, or to ask for less, is the author's choice, and another plan
            less = (*path, key) == ("projection",) or path == ("projection", "components")
            chosen = less or path == ("questions",)
            assert read is None or (chosen and read.digest != plan.digest)
        changed = document(plan)
        inside = inner(changed, path)
        if isinstance(node, dict):
            inside["more"] = "1"
        else:
            inside.append(inside[0])
        assert accepted(changed) is None, path


def forged(plan: Plan, change: Callable[[Document], None]) -> bytes:
    """Change the tables of the first question about numbers and everything computed from them."""
    forgery = document(plan)
    mean = next(question for question in plan.questions if question.moment == 1)
    old = forgery["questions"][mean.index]["tables"]
    tables = copy.deepcopy(forgery["tables"][old])
    change(tables)
    key = hashlib.sha256(canonical.dump_canonical_json(tables)).hexdigest()[:16]
    forgery["tables"][key] = tables
    entry = forgery["questions"][mean.index]
    ratio = load_numeric(mean.mechanism.name, mean.numeric_domain, tables).ratio
    entry["ratio"] = [str(ratio.numerator), str(ratio.denominator)]
    entry |= {"tables": key, "epsilon": decimal_text(realised_epsilon(ratio))}
    if all(question["tables"] != old for question in forgery["questions"]):
        del forgery["tables"][old]
    return canonical.dump_canonical_json(forgery)


SPENDING: dict[str, Callable[[Document], None]] = {
    "onebit": lambda tables: tables.update(q=str(int(tables["q"]) - 1)),
    "sign-vector": lambda tables: tables.update(q=str(int(tables["q"]) // 2)),
    "piecewise": lambda tables: tables.update(near=str(int(tables["near"]) + 100)),
    "sign": lambda tables: tables.update(keep=str(int(tables["keep"]) + 1)),
    "laplace": lambda tables: tables.update(steps=str(2 * int(tables["steps"]))),
    "sampled-laplace": lambda tables: tables.update(steps=str(2 * int(tables["steps"]))),
}


@pytest.mark.parametrize("numeric", SPENDING)
def test_a_forgery_without_contradictions_is_refused_for_what_it_spends(numeric: str) -> None:
    with pytest.raises(PrivacyError, match="more than epsilon"):
        Plan.from_json(forged(PLANS[numeric], SPENDING[numeric]))
    assert Plan.from_json(forged(PLANS[numeric], lambda tables: None)) == PLANS[numeric]


# -- without numpy -------------------------------------------------------------------------------

WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
from encoders.randomness import SystemEntropy
from encoders.survey import Plan, read_survey
from ldp_client import make_report
text = sys.stdin.read()
for numeric in {names}:
    plan = read_survey(text + f'numeric = "{{numeric}}"\\n').compile()
    again = Plan.from_json(plan.json)
    for age in (33, None):
        row = {{"city": "north", "hours": 7.5, "age": age, "income": 21_000}}
        print(numeric, plan.digest, len(make_report(again, row, "yes")), again.clipped_names(row))
    for question in again.questions:
        value = question.value(*again.encode(row, "no"))
        payload = question.mechanism.perturb(value, SystemEntropy())
        question.mechanism.check(payload)
        question.meaning(value)
assert sys.modules["numpy"] is None
"""


def test_surveys_compile_load_and_report_where_numpy_is_not_installed() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMPY.format(names=NAMES)],
        input=PROJECTED,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = dict(line.split()[:2] for line in run.stdout.splitlines())
    assert found == {numeric: PLANS[numeric].digest for numeric in NAMES}
