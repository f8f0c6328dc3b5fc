"""Conditions on which a form asks a question: read from a survey file, kept with the texts, displayed."""

import json
import tomllib
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from encoders.errors import SurveyError
from encoders.survey import Plan, read_survey
from encoders.survey.conditions import Term, find_condition_problems
from encoders.survey.display_texts import display_texts
from encoders.survey.silo_plan import read_silo_tables
from encoders.survey.texts import EntryNames, SurveyTexts
from ldp_design.authoring.overview import exclude_each_other
from tests.support.mistakes import assert_explained, refuse

SURVEY = """
[survey]
id = "smoking"
epsilon = 1
[label]
name = "ill"
values = ["yes", "no"]
[features.smokes]
values = [true, false]
missing = "category"
ask_if = { feature = "ill", value = "yes" }
[features.cigarettes]
range = [0, 60]
missing = "category"
ask_if = { feature = "smokes", value = true }
[features.kinds]
choices = ["pipe", "snus"]
missing = "category"
[features.age]
edges = [0, 40, 120]
"""
CONDITION = 'ask_if = { feature = "smokes", value = true }'
VECTORS = json.loads((Path(__file__).parents[2] / "vectors/conditions.json").read_text(encoding="utf-8"))


def hidden_by(condition, **answers):
    texts = display_texts(read_survey(SURVEY.replace(CONDITION, f"ask_if = {condition}")).compile())
    return "cigarettes" in texts.hidden({"ill": "yes", **answers})


def test_a_question_is_hidden_unless_the_other_one_is_asked_and_has_the_answer():
    texts = display_texts(read_survey(SURVEY).compile())
    assert texts.hidden({"ill": "yes", "smokes": True}) == set()
    assert texts.hidden({"ill": "yes", "smokes": "false"}) == {"cigarettes"}
    assert texts.hidden({"ill": "no", "smokes": True}) == {"smokes", "cigarettes"}
    assert texts.hidden({}) == {"smokes", "cigarettes"}


@pytest.mark.parametrize(
    ("condition", "answers", "hidden"),
    [
        ('{ not = { feature = "smokes", value = true } }', {"smokes": False}, False),
        ('{ not = { feature = "smokes", value = true } }', {"smokes": None}, False),
        ('{ not = { feature = "smokes", value = true } }', {"ill": "no"}, True),
        ('{ feature = "kinds", value = "snus" }', {"kinds": ["pipe", "snus"]}, False),
        ('{ feature = "kinds", value = "snus" }', {"kinds": np.array(["pipe"])}, True),
        ('{ not = { feature = "kinds", value = "snus" } }', {"kinds": []}, False),
        ('{ any = [{ feature = "smokes", value = true }] }', {"smokes": np.bool_(True)}, False),
    ],
)
def test_a_term_depends_on_the_answer_as_a_row_contains_it(condition, answers, hidden):
    assert hidden_by(condition, **answers) == hidden


def test_one_term_of_any_must_hold_and_each_of_all():
    terms = '[{ feature = "smokes", value = false }, { not = { feature = "kinds", value = "pipe" } }]'
    for smokes in (True, False):
        for kinds in (["pipe"], ["snus"]):
            holds = [not smokes, kinds != ["pipe"]]
            assert hidden_by(f"{{ any = {terms} }}", smokes=smokes, kinds=kinds) != any(holds)
            assert hidden_by(f"{{ all = {terms} }}", smokes=smokes, kinds=kinds) != all(holds)


def test_conditions_change_the_digest_of_the_texts_and_nothing_else_of_the_plan():
    plan, without = (read_survey(text).compile() for text in (SURVEY, SURVEY.replace(CONDITION, "")))
    assert plan.texts_digest != without.texts_digest
    assert plan.json.replace(plan.texts_digest.encode(), without.texts_digest.encode()) == without.json


def test_a_side_file_keeps_the_conditions():
    plan = read_survey(SURVEY).compile()
    assert plan.texts is not None
    read = Plan.from_json(plan.json).with_texts(plan.texts.json)
    assert read.texts == plan.texts
    assert read.texts.conditions == plan.texts.conditions


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ('{ feature = "drinks", value = true }', "names 'drinks', which is no question"),
        ('{ feature = "smokes", value = "maybe" }', "no answer to smokes: use one of true"),
        ('{ feature = "smokes", value = "(missing)" }', "no answer to smokes: use one of true"),
        ('{ feature = "age", value = "40" }', "names age, which is a number without a list of answers"),
        ('{ feature = "cigarettes", value = "1" }', "names cigarettes, which is a number"),
        ('{ feature = "smokes" }', "needs the name of a question and one of its answers"),
        ('{ feature = 1, value = "yes" }', "needs the name of a question and one of its answers"),
        ('{ feature = "smokes", value = [1] }', "no answer to smokes"),
        ("{ and = [] }", "...] } or { all = [...] }"),
        ('"smokes"', "needs the name of a question and one of its answers"),
        (
            '{ not = { feature = "smokes", value = "(missing)" } }',
            "no answer to smokes: use one of true",
        ),
        ('{ all = [{ feature = "drinks", value = 1 }] }', "names 'drinks', which is no question"),
        ("{ any = [] }", "needs a list of 1 to 100 conditions"),
        ('{ any = { feature = "smokes", value = true } }', "needs a list of 1 to 100 conditions"),
        ("{ any = [{}] }", "needs the name of a question and one of its answers"),
        ('{ any = [{ all = [{ feature = "smokes", value = true }] }] }', "is nested: write"),
        ('{ not = { any = [{ feature = "smokes", value = true }] } }', "is nested: write"),
        ("{ any = [], all = [] }", "has several keys: write"),
        ('{ feature = "smokes", value = true, not = 1 }', "has several keys: write"),
    ],
)
def test_a_mistaken_condition_is_named_with_its_line(condition, why):
    assert_explained(
        SURVEY.replace(CONDITION, f"ask_if = {condition}"), "features.cigarettes.ask_if", 15, why
    )


def test_a_question_that_must_be_answered_cannot_be_hidden():
    assert_explained(f"{SURVEY}{CONDITION}", "features.age.ask_if", 21, 'add missing = "category"')


@pytest.mark.slow
def test_a_long_chain_of_conditions_is_followed_once():
    last = 20_000
    named = {number: number + 1 for number in range(last)} | {last: last - 1}
    entries = {f"q{one}": {"feature": f"q{other}", "value": "yes"} for one, other in named.items()}
    values = dict.fromkeys(entries, ("yes", "(missing)"))
    assert {name for name, _ in find_condition_problems(entries, values)} == {f"q{last - 1}", f"q{last}"}


def test_a_cycle_of_conditions_is_refused_at_each_of_its_questions():
    text = SURVEY.replace('feature = "ill", value = "yes"', 'feature = "kinds", value = "snus"')
    text = text.replace('choices = ["pipe", "snus"]', f'choices = ["pipe", "snus"]\n{CONDITION}')
    error = refuse(text)
    mistaken = [each.field for each in error.problems]
    assert mistaken == ["features.smokes.ask_if", "features.kinds.ask_if"]
    assert "depends on itself" in str(error)


def test_a_cycle_through_one_of_several_terms_is_refused():
    kinds = '{ feature = "kinds", value = "snus" }'
    text = SURVEY.replace(
        '{ feature = "ill", value = "yes" }', f'{{ any = [{{ feature = "ill", value = "no" }}, {kinds}] }}'
    )
    text = text.replace(
        'choices = ["pipe", "snus"]', f'choices = ["pipe", "snus"]\nask_if = {{ not = {CONDITION[9:]} }}'
    )
    assert "smokes.ask_if: depends on itself through other conditions" in str(refuse(text))


def test_a_condition_on_the_answer_itself_is_named_as_such():
    text = SURVEY.replace('feature = "ill", value = "yes"', 'feature = "smokes", value = true')
    assert_explained(text, "features.smokes.ask_if", 11, "depends on its own answer: name another question")


@pytest.mark.parametrize(
    ("terms", "several", "excluded"),
    [
        ([("a", "1", False), ("a", "2", False)], [], True),
        ([("a", "1", False), ("a", "2", False)], ["a"], False),
        ([("a", "1", False), ("a", "1", False)], [], False),
        ([("a", "1", False), ("a", "1", True)], ["a"], True),
        ([("a", "1", False), ("a", "2", True)], [], False),
        ([("a", "1", True), ("a", "2", True)], [], False),
        ([("a", "1", False), ("b", "2", False)], [], False),
    ],
)
def test_terms_that_exclude_each_other_are_found(terms, several, excluded):
    assert exclude_each_other([Term(*each) for each in terms], several) == excluded


def test_a_silo_has_no_conditions():
    _, mistakes = read_silo_tables(tomllib.loads(SURVEY.replace('id = "smoking"', 'kind = "silo"')))
    paths = [path for path, why, _ in mistakes if "is not an entry here" in why]
    assert ("features", "cigarettes", "ask_if") in paths


@pytest.mark.parametrize(
    "conditions",
    [
        b'{"cigarettes":{"feature":"drinks","value":"true"}}',
        b'{"cigarettes":1}',
        b'{"none":{}}',
        b"[]",
        b"{}",
    ],
)
def test_a_side_file_with_a_mistaken_condition_is_refused(conditions):
    plan = read_survey(SURVEY.replace(CONDITION, "")).compile()
    assert plan.texts is not None
    names = EntryNames.from_row(plan.row_label, plan.entries)
    whole = b'{"smokes":{"feature":"ill","value":"yes"}}'
    assert whole in plan.texts.json
    data = plan.texts.json.replace(whole, conditions)
    why = r"ask_if: is empty" if conditions == b"{}" else r"ask_if|texts"
    with pytest.raises(SurveyError, match=why):
        SurveyTexts.from_json(data, sha256(data).hexdigest(), names)


def test_a_condition_must_name_a_question_although_the_survey_has_no_label():
    text = SURVEY.replace('[label]\nname = "ill"\nvalues = ["yes", "no"]\n', "")
    text = text.replace('feature = "ill"', 'feature = ""')
    assert_explained(text, "features.smokes.ask_if", 8, "names '', which is no question")


def test_the_conditions_of_the_vectors_hide_the_same_questions_in_every_client():
    texts = display_texts(Plan.from_json(VECTORS["plan"].encode()).with_texts(VECTORS["texts"].encode()))
    for each in VECTORS["hidden"]:
        assert sorted(texts.hidden(each["answers"])) == each["hidden"], each["answers"]


@pytest.mark.parametrize("case", VECTORS["refused"], ids=lambda each: each["case"])
def test_mistaken_conditions_of_the_vectors_are_refused(case):
    plan, data = Plan.from_json(VECTORS["plan"].encode()), case["texts"].encode()
    names = EntryNames.from_row(plan.row_label, plan.entries)
    with pytest.raises(SurveyError, match=r"(last|often|texts)\.ask_if: "):
        SurveyTexts.from_json(data, sha256(data).hexdigest(), names)
