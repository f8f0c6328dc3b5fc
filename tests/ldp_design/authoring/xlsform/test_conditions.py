"""The columns relevant and constraint of an XLSForm: what a survey keeps, and the reason for the rest."""

import time

import pytest

from ldp_design.authoring.xlsform.form import Question, read_form
from ldp_design.authoring.xlsform.form_conditions import ExpressionError, Group, parse_expression
from ldp_design.authoring.xlsform.form_questions import decide
from tests.ldp_design.authoring.xlsform.workbooks import write_workbook

CHOICES = """
| choices |
| | list_name | name | label |
| | yn | yes | Yes |
| | yn | no | No |
| | n | 1 | One |
| | n | 2 | Two |
"""
ASKED = """
| survey |
| | type | name | label | relevant | constraint |
| | select_one yn | a | A | | |
| | select_one yn | b | B | | |
| | select_one n | n | N | | |
| | select_multiple n | m | M | | |
| | integer | age | Age | | . >= 0 and . <= 110 |
| | select_one yn | after_a | After A | ${a} = 'yes' | |
"""


def term(feature: str, value: str) -> str:
    return f'{{ feature = "{feature}", value = "{value}" }}'


A, B, N, M = term("a", "yes"), term("b", "yes"), term("n", "1"), term("m", "1")
NOT_A, NOT_B = f"{{ not = {A} }}", f"{{ not = {B} }}"


def read(rows: str, tmp_path) -> dict[str, Question]:
    form = read_form(write_workbook(ASKED + rows + CHOICES, tmp_path / "form.xlsx"))
    decide(form)
    return {each.name: each for each in form.questions}


def read_last(relevant: str, tmp_path, constraint: str = "", kind: str = "select_one yn") -> Question:
    return read(f"| | {kind} | last | Last | {relevant} | {constraint} |", tmp_path)["last"]


KEPT = {
    "${a} = 'yes'": A,
    "'yes' = ${a}": A,
    "( ( ${a}='yes' ) )": A,
    "${n} = 1": N,
    "selected( ${m} , '1' )": M,
    "${a} != 'yes'": NOT_A,
    "not(${a} = 'yes')": NOT_A,
    "not(not(${a} != 'yes'))": NOT_A,
    "${a} = 'yes' and ${b} = 'yes'": f"{{ all = [{A}, {B}] }}",
    "${a} = 'yes' or ${b} = 'yes'": f"{{ any = [{A}, {B}] }}",
    "${a} = 'yes' and (${b} = 'yes' and ${n} = '1')": f"{{ all = [{A}, {B}, {N}] }}",
    "not(${a} = 'yes' or ${b} = 'yes')": f"{{ all = [{NOT_A}, {NOT_B}] }}",
    "not(${a} = 'yes' and not(${b} = 'yes'))": f"{{ any = [{NOT_A}, {B}] }}",
    "${a} = 'yes' or (${a} = 'yes')": A,
    "${a} = 'yes' and true()": A,
    "${a} = 'yes' or false()": A,
    "${a} = 'yes' or not(false())": None,
    "true()": None,
    "${a} = 'yes' or ${a} != 'yes'": None,
    "${a} != 'yes' or ${a} != 'no'": None,
    "${b} = 'yes' and (${a} = 'yes' or not(${a} = 'yes'))": B,
    "selected(${m}, '1') and selected(${m}, '2')": f"{{ all = [{M}, {term('m', '2')}] }}",
    "selected('yes', ${a})": A,
    "TRUE": None,
    "${after_a} = 'yes'": term("after_a", "yes"),
    "${a} = 'yes' and ${after_a} != 'yes'": f"{{ all = [{A}, {{ not = {term('after_a', 'yes')} }}] }}",
}


@pytest.mark.slow
@pytest.mark.parametrize("relevant", KEPT)
def test_a_condition_becomes_ask_if(relevant, tmp_path):
    question = read_last(relevant, tmp_path)
    assert question.reason == ""
    assert (question.ask_if and str(question.ask_if)) == KEPT[relevant]


LEFT_OUT = {
    "${a} = 'yes' and (${b} = 'yes' or ${n} = '1')": '"or" within "and"',
    "${a} = 'yes' or ${b} = 'yes' and ${n} = '1'": '"and" within "or"',
    "${age} >= 15": "it depends on a number",
    "${age} = 15": "it depends on a number",
    "15 <= ${age}": "it depends on a number",
    "${a} != ''": "compares with an empty answer",
    "${a} = ${b}": "cannot be kept: compare answers with choices",
    "count-selected(${m}) > 1": "cannot be kept: compare answers with choices",
    "${a} = 'yes' and": "cannot be kept: compare answers with choices",
    "${a}": "cannot be kept: compare answers with choices",
    "../a = 'yes'": "cannot be kept: compare answers with choices",
    "${nothing} = 'yes'": "that does not exist",
    "${a} = 'maybe'": "not a choice",
    "${m} = '1'": "write selected",
    "${m} != '1'": "write selected",
    "${a} = 'yes' and false()": "never holds",
    "${a} = 'yes' and ${a} = 'no'": "never holds",
    "${a} = 'yes' and ${a} != 'yes'": "never holds",
    "selected(${m}, '1') and not(selected(${m}, '1'))": "never holds",
    "selected('1', ${m})": "write selected",
    "${after_a} != 'yes'": 'for people who are not asked "after_a"',
    "not(selected(${after_a}, 'yes')) and ${b} = 'yes'": 'for people who are not asked "after_a"',
    "${last} = 'yes'": "cycle",
    f"${{a}} = 'yes' and {'(' * 40}true(){')' * 40}": "cannot be kept: compare answers with choices",
    "true() and " * 500 + "true()": "its conditions are too long",
}


@pytest.mark.slow
@pytest.mark.parametrize("relevant", LEFT_OUT, ids=lambda text: text[:40])
def test_another_condition_is_a_reason_to_leave_the_question_out(relevant, tmp_path):
    question = read_last(relevant, tmp_path)
    assert LEFT_OUT[relevant] in question.reason
    assert question.ask_if is None


def test_the_conditions_of_groups_and_of_the_question_must_all_hold(tmp_path):
    questions = read(
        """
| | begin_group | g | G | ${a} = 'yes' | |
| | select_one yn | inner | Inner | | |
| | begin_group | h | H | ${b} = 'yes' | |
| | select_one yn | deep | Deep | ${n} = '1' | |
| | end_group | | | | |
| | select_one yn | either | Either | ${inner} = 'yes' or ${inner} = 'no' | |
| | end_group | | | | |""",
        tmp_path,
    )
    assert str(questions["inner"].ask_if) == A
    assert str(questions["deep"].ask_if) == f"{{ all = [{A}, {B}, {N}] }}"
    # the group's condition need not be repeated: "inner" is asked only if it holds
    either = f"{{ any = [{term('inner', 'yes')}, {term('inner', 'no')}] }}"
    assert str(questions["either"].ask_if) == either


def test_a_group_and_its_question_that_exclude_each_other_are_a_reason(tmp_path):
    questions = read(
        """
| | begin_group | g | G | ${a} = 'yes' | |
| | select_one yn | inner | Inner | ${a} = 'no' | |
| | end_group | | | | |""",
        tmp_path,
    )
    assert "never holds" in questions["inner"].reason


def test_a_condition_with_too_many_parts_is_a_reason(tmp_path):
    many = [f"v{number}" for number in range(101)]
    table = ASKED + "| | select_one v | v | V | | |\n| | select_one yn | last | Last | "
    table += " or ".join(f"${{v}}='{name}'" for name in many) + " | |"
    table += CHOICES + "".join(f"| | v | {name} | {name} |\n" for name in many)
    form = read_form(write_workbook(table, tmp_path / "form.xlsx"))
    decide(form)
    assert "its conditions are too long" in form.questions[-1].reason


def test_every_question_in_a_cycle_is_listed(tmp_path):
    questions = read(
        """
| | select_one yn | x | X | ${y} = 'yes' | |
| | select_one yn | y | Y | ${x} = 'yes' | |
| | select_one yn | z | Z | ${y} = 'yes' | |""",
        tmp_path,
    )
    assert 'in a cycle, or depends on one, of the questions "x", "y", "z": change' in questions["x"].reason
    assert ["cycle" in questions[name].reason for name in ("x", "y", "z", "a")] == [True, True, True, False]


LIMITS = {
    ". >= 0 and . <= 110": ([0, 110], []),
    "(. >= 0 and . <= 110) or . = 999": ([0, 110], [999]),
    ". = -1 or . >= 0 and . <= 110 or . = 999": ([0, 110], [-1, 999]),
    ". >= 0 and . <= 110 or . = 50": ([0, 110], []),
    "0 <= . and 110 >= .": ([0, 110], []),
    "not(. < 0 or . > 110)": ([0, 110], []),
    ".>0 and .< 110.5": ([1, 110], []),
    ". >= 0": ([], []),
    ". >= 0 and . >= 1 and . <= 3": ([], []),
    ". >= 9 and . <= 3": ([], []),
    ". >= 0 and . <= ${n}": ([], []),
    ". = 1 or . = 2": ([], []),
    "selected(., '1')": ([], []),
}


@pytest.mark.parametrize("constraint", LIMITS)
def test_a_constraint_gives_the_limits_and_codes_outside_them(constraint, tmp_path):
    question = read_last("", tmp_path, constraint, "integer")
    assert (list(question.bounds), list(question.codes)) == LIMITS[constraint]
    assert bool(question.reason) == (not question.bounds)


def test_the_time_to_parse_grows_with_the_length():
    def keep(*comparison: object) -> tuple[object, ...]:
        return comparison

    start = time.process_time()
    for text in ("${a} = 'x' and " * 333, "not(" * 1250, "(" * 5000, "'" * 5000, "${" * 2500, " " * 5000):
        with pytest.raises(ExpressionError):
            parse_expression(text, keep)
    formula = parse_expression(" or ".join(f"${{a}}='{number}'" for number in range(300)), keep)
    assert isinstance(formula, Group)
    assert len(formula.parts) == 300
    assert time.process_time() - start < 5
