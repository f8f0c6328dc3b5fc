"""All kinds of values of a row, at every edge where ports could differ, with reports that show the code.

The random bytes are chosen so that the report shows the code: that of a category or a bin directly, that of a
number by the two 64-bit draws between which its sign changes. So a code that is off by one gives another
report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from encoders.errors import RowError
from encoders.survey import Plan, read_survey
from tools.vectors import limits
from tools.vectors.common import case, first_draws, question_limits, random_bytes, spelled, spelled_row, words

LONG = "\N{SLIGHTLY SMILING FACE}" * 200  # 200 characters, in UTF-16 twice as many
SURVEY = f"""
[survey]
id = "values"
family = "ports"
epsilon = 8
[label]
name = "mood"
values = ["good", "1", "true"]
weight = 1
[features.text]
values = ["caf\\u00e9", "A", "a", "no", "no ", "stra\\u00dfe", "strasse", "{LONG}", '"\\/']
missing = "category"
weight = 3
[features.word]
values = [
  "true", "false", "True", "1", "0", "-0", "-1", "1.5", "1e+21", "1000000000000000000000",
  "99999999999999991611392", "9007199254740992", "9007199254740993", "18446744073709551615",
]
missing = "category"
weight = 7
[features.bin]
edges = [-1, 0, 0.1, 0.3, 2.5, 9007199254740994, 9007199254740996, 1e18]
missing = "category"
weight = 11
[features.strict]
edges = [0, 1, 2]
[features.kind]
values = ["x", "y", "1{"0" * 100}"]
[features.grid]
range = [0, 2097152]
missing = "category"
weight = 13
[features.share]
range = [0.1, 0.8]
[features.first]
edges = [-1, 0.30000000000000004, 0.8, 1]
weights = [0.1, 0.7]
[features.second]
range = [0, 0.0005]
weights = [0.000249, 0]
[projection.inputs.left]
range = [-1, 1]
[projection.inputs.right]
range = [-1, 1]
[mechanism]
frequency = "DE"
numeric = "sign"
"""
ROW: dict[str, Any] = {
    "text": "a",
    "word": "true",
    "bin": 0.2,
    "strict": 0.5,
    "kind": "x",
    "grid": 1000000.25,
    "share": 0.4,
    "left": 0.5,
    "right": -0.5,
}
INF = math.inf
LABELS = ["good", 1, 1.0, True, "1", "true"]
VALUES: dict[str, list[Any]] = {
    "text": [
        "caf\u00e9",
        "A",
        "a",
        "no",
        "no ",
        "stra\u00dfe",
        "strasse",
        LONG,
        '"\\/',
        None,
        "",
        math.nan,
    ],
    "word": [
        *(True, False, "True", "true", 1, 1.0, 0, -0.0, "-0", -1, -1.0, "1.5", "1e+21", 1e21, 1e23),
        *(9007199254740992.0, 9007199254740992, 9007199254740993, 18446744073709551615, None, "", math.nan),
    ],
    "bin": [
        *(-1e300, -1, -5e-324, -0.0, 0, 5e-324, 0.09999999999999999, 0.1, 0.3, 0.30000000000000004),
        *(0.29999999999999993, 2.4999999999999996, 2.5, 2, 1e300, 10**400, -(10**400), None, "", math.nan),
        # as doubles, ties to even: 2^53 + 1 is 2^53, and 2^53 + 3 is 2^53 + 4
        *(9007199254740992.0, 9007199254740993, 9007199254740994.0, 9007199254740995, 9007199254740996.0),
    ],
    "strict": [-1, 0.9999999999999999, 1, 2, 3],
    "kind": ["x", "y", "1" + "0" * 100],
    # halves go up; the double just below a half goes up too, since adding .5 to it gives 1
    "grid": [
        *(0, -0.0, 0.49999999999999994, 0.5, 1.5, 2.5, 2.4999999999999996, 1048575.5, 1048576, 1048576.5),
        *(2097151.4999999998, 2097151.5, 2097152, -1, 1e300, 10**400, -(10**400), 9007199254740993),
        *(None, "", math.nan),
    ],
    # the first is 18 by division and 17 by the reciprocal; the second 0, and 1 if moved to [-1, 1] first
    "share": [0.100005841255188, 0.10000016689300537, 0.1, 0.8, 0.45, 0, 1, 0.79999983310699463],
}
INPUTS: list[tuple[Any, Any]] = [
    (1, 1),  # .1 + .7 is .8 in exact arithmetic, and below it in doubles
    (1, -1),
    (1, 2 / 7),
    (-1, 1),
    (0, -0.0),
    (1e300, 10**400),
    (0.0000004, -0.0000005),
    (0.9999995, 0.3333333333333333),
]
BAD_TEXT = ["B", "No", " a", "a ", "cafe", "STRASSE", "null", 7, False, ["a"], 1.5, INF]
BAD: dict[str, list[Any]] = {
    "text": BAD_TEXT,
    "word": ["TRUE", "1.0", "+1", "01", 2, 1.5, 1e22, 9007199254740994.0, 9007199254740995, INF, -INF, "NaN"],
    "bin": ["0.2", "nan", " ", True, False, [0.2], INF, -INF],
    "strict": [None, "", math.nan, INF, -INF, "1", True, "x"],
    # 10^100 is spelled like the category, but whole numbers are categories below 10^100 only
    "kind": [None, "", math.nan, "X", "x ", "z", 10**100, 10**400],
    "grid": ["1000000", True, "x", [1], INF, -INF],
    "share": [None, "", math.nan, INF, "0.4", False],
    "left": [None, "", math.nan, -INF, "0.5", True],
    "right": [None, "", math.nan, "x"],
}
BAD_LABELS: list[Any] = [None, "", math.nan, "bad", "Good", "good ", 2, False, ["good"], INF]


def plan() -> Plan:
    return read_survey(SURVEY).compile()


def good_cases(of: Plan) -> Iterator[dict[str, Any]]:
    yield from label_cases(of)
    for field, values in VALUES.items():
        for value in values:
            yield from shown(of, ROW | {field: value}, "good", field, f"{field} {brief(value)}")
    for left, right in INPUTS:
        for component in ("first", "second"):
            row = ROW | {"left": left, "right": right}
            yield from shown(of, row, "true", component, f"{component} of {brief(left)} and {brief(right)}")
    # what has a component's name, or no entry in the plan, is not read
    more = ROW | {"first": "ignored", "second": None, "more": [1], "mood": "bad"}
    yield from shown(of, more, "good", "first", "entries that are not read")
    for draw in question_limits(of):
        question = next(each for each in of.questions[::-1] if draw >= _start(of, each.index))
        random = words(draw) + random_bytes("limit", 16 + question.mechanism.random_bytes)
        yield case(of, ROW, "good", random, f"the draw of the question is {draw}")


def label_cases(of: Plan) -> Iterator[dict[str, Any]]:
    for label in LABELS:
        yield from shown(of, ROW, label, None, f"label {brief(label)}")


def shown(
    of: Plan, row: dict[str, Any], label: Any, field: str | None, name: str
) -> Iterator[dict[str, Any]]:
    """Yield what is reported of one feature (or of the label), with noise that shows the value."""
    codes, label_code = of.encode(row, label)
    for question, draw in zip(of.questions, first_draws(of), strict=True):
        if (question.feature.name if question.feature else None) != field:
            continue
        noises = list(limits.noises(question, question.value(codes, label_code)))
        # of an oracle, only the first noise keeps the truth
        for noise in noises if question.moment else noises[:1]:
            head = words(draw) + random_bytes(f"{name}/{question.index}", 16)
            yield case(of, row, label, head + noise, name)


def _start(of: Plan, index: int) -> int:
    weights = [question.weight for question in of.questions]
    return (sum(weights[:index]) << 64) // sum(weights)


def good() -> dict[str, Any]:
    of = plan()
    return {"cases": list(good_cases(of)), "digest": of.digest, "plan": of.json.decode()}


def bad_rows() -> dict[str, Any]:
    return refused(plan(), ROW, "good", BAD, BAD_LABELS)


def refused(
    of: Plan, honest: dict[str, Any], right: str | None, bad: dict[str, list[Any]], labels: list[Any]
) -> dict[str, Any]:
    """Return rows that are refused, one mistake each, whichever question is drawn."""
    cases: list[dict[str, Any]] = []

    def wrong(name: str, field: str, row: dict[str, Any], label: Any = right) -> None:
        # one of two is asked: a port that reads only what is asked would take most of these rows
        question = of.questions[len(cases) % 2]
        random = words(first_draws(of)[question.index])
        random += random_bytes(name, 16 + question.mechanism.random_bytes)
        assert _refused(of, row, label) == field, name
        cases.append(
            {
                "field": field,
                "label": spelled(label),
                "name": name,
                "random": random.hex(),
                "row": spelled_row(row),
            }
        )

    for field, values in bad.items():
        wrong(f"{field} is absent", field, {name: honest[name] for name in honest if name != field})
        renamed = {name.upper() if name == field else name: value for name, value in honest.items()}
        wrong(f"{field} is absent, {field.upper()} is there", field, renamed)
        for value in values:
            wrong(f"{field} {brief(value)}", field, honest | {field: value})
    for label in labels:
        wrong(f"label {brief(label)}", of.row_label.name or "label", honest, label)
    return {"cases": cases, "digest": of.digest, "plan": of.json.decode()}


def _refused(of: Plan, row: dict[str, Any], label: Any) -> str:
    try:
        of.encode(row, label)
    except RowError as error:
        return error.field
    return ""


def brief(value: object) -> str:
    """Return the name of a value for the checker's summary."""
    text = f"10^{len(str(abs(value))) - 1}" if type(value) is int and abs(value) >= 10**100 else ascii(value)
    text = f"-{text}" if type(value) is int and value <= -(10**100) else text
    return text if len(text) < 40 else f"{text[:20]}... ({len(str(value))} characters)"
