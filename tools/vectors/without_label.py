"""Surveys without a label, and entries with several answers: good and bad rows, and texts.

The plan of good-unlabelled.json has every kind of feature, and another mechanism for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from encoders.mechanisms import Mechanism, design, design_numeric
from encoders.survey import Plan, Question, read_survey
from encoders.survey.questions import build_numeric_domain
from tools.vectors import limits, values
from tools.vectors.common import case, first_draws, random_bytes, words
from tools.vectors.plan_mistakes.honest import Document
from tools.vectors.texts import displayed

SURVEY = """
[survey]
id = "unlabelled"
epsilon = 1
{label}
[features.tea]
values = ["black", "green"]
[features.milk]
values = ["yes"]
missing = "category"
[features.sugar]
values = ["none", "some", "much"]
[features.age]
edges = [0, 18, 65, 100]
missing = "category"
[features.cups]
choices = ["small", "3", "true", "caf\u00e9"]
[features.snacks]
choices = ["nuts", "fruit"]
missing = "category"
weight = 2
{numbers}
"""
NUMBERS = """
[features.first]
range = [0, 12]
[features.second]
range = [-1, 1]
missing = "category"
[features.third]
range = [0, 12]
[features.fourth]
range = [-1, 1]
missing = "category"
[features.fifth]
range = [0, 12]
[features.sixth]
range = [0, 12]
[features.seventh]
range = [-1, 1]
missing = "category"
"""
LABEL = '[label]\nname = "rested"\nvalues = ["never", "sometimes", "often"]'
ORACLES = ("DE", "SUE", "SS", "SHE", "OUE", "THE(1)", "DE", "DE", "DE", "SUE")
"""The mechanism of each question about categories or bins, in the order of the features."""
NUMERIC = ("onebit", "sign", "sign-vector", "piecewise", "sampled-laplace", "laplace")
"""The mechanism of each number; laplace asks for the last two at once."""
NUMBER_NAMES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
ROWS: list[dict[str, Any]] = [
    {
        "tea": "green",
        "milk": None,
        "sugar": "much",
        "age": 17.5,
        "cups": ["caf\u00e9", 3],
        "snacks": ["fruit"],
    },
    {"tea": "black", "milk": "yes", "sugar": "none", "age": None, "cups": [], "snacks": None},
    {"tea": "green", "milk": "", "sugar": "some", "age": 65, "cups": [True, "small", "small"], "snacks": []},
]
AMOUNTS = [(7.5, 0.3, 0.1, -0.9, 3, 11.9, 0.25), (0, None, 12, None, 6, 0, None), (13, 1, 6, -1, 0, 6.1, -2)]
TICKS: list[list[Any]] = [
    [],
    ["small"],
    [3],
    [3.0, "3", True],
    ["cafe\u0301"],
    ["true", "small", "caf\u00e9", "3"],
    ["small", "small"],
]
BAD_TICKS: list[Any] = [
    *(None, "", math.nan, math.inf, "small", "small;3", 3, True),
    *(
        [None],
        [""],
        [math.nan],
        [["small"]],
        [[]],
        ["Small"],
        ["small", "tiny"],
        ["small;3"],
        [1.5],
        [10**100],
    ),
]
BAD: dict[str, list[Any]] = {
    "tea": [None, "blue", ["green"]],
    "milk": ["no"],
    "sugar": [[]],
    "age": ["17"],
    "cups": BAD_TICKS,
    "snacks": ["nuts", False, ["nuts", None], ["(missing)"]],
    "first": [None, [1]],
    **{name: ["0"] for name in NUMBER_NAMES[1:]},
}
BAD_LABELS: list[Any] = ["yes", "label", 0, False, [], [None], math.inf]
TOGETHER = """
[survey]
id = "choices-together"
epsilon = 6
[features.cups]
choices = ["small", "medium", "large", "none"]
[features.snacks]
choices = ["nuts", "fruit", "cake"]
missing = "category"
[features.hours]
range = [0, 12]
"""
TOGETHER_ROWS: list[dict[str, Any]] = [
    {"cups": ["small", "none"], "snacks": ["cake"], "hours": 3},
    {"cups": ["large", "medium"], "snacks": None, "hours": 12},
    {"cups": [], "snacks": ["fruit", "nuts"], "hours": 0.1},
]
VALIDATION = """
[survey]
id = "choices-validation"
epsilon = 1
[label]
name = "rested"
values = ["yes", "no"]
[features.cups]
choices = ["small", "large"]
missing = "category"
[features.tea]
values = ["black", "green"]
[validation]
order = ["cups: large", "tea", "cups: small"]
tops = [1, 2]
prior = [0, -1]
[validation.scores]
"cups: small" = [[0, -9], [-9, 0], [0, 0]]
"cups: large" = [[-2, 0], [0, -2], [-1, 0]]
tea = [[0, -3], [-4, 0]]
"""
TEXTS = """
[survey]
id = "unlabelled-texts"
epsilon = 1
[features.cups]
choices = ["small", "large"]
missing = "category"
[features.hours]
range = [0, 12]
[texts.en]
title = "Tea"
[texts.en.features.cups]
title = "Which cups do you use?"
help = "Tick all that apply."
values = { small = "Small ones", large = "Large ones", "(missing)" = "No answer" }
[texts.pt.features.cups]
title = "Que ch\u00e1venas usa?"
"""


def every_mechanism() -> Plan:
    """Return a plan without a label whose questions have every mechanism."""
    compiled = read_survey(SURVEY.format(label="", numbers=NUMBERS)).compile()
    oracles, questions = iter(ORACLES), []
    for question in compiled.questions:
        if question.moment is None:
            mechanism: Mechanism = design(next(oracles), question.domain, compiled.epsilon)
            questions.append(replace(question, mechanism=mechanism))
            continue
        place = NUMBER_NAMES.index(question.asked_features[0].name)
        if place < len(NUMERIC) - 1:
            mechanism = design_numeric(NUMERIC[place], question.numeric_domain, compiled.epsilon)
            questions.append(replace(question, mechanism=mechanism))
    questions += _laplace(compiled)
    return replace(
        compiled, questions=tuple(replace(each, index=index) for index, each in enumerate(questions))
    )


def _laplace(plan: Plan) -> Iterator[Question]:
    """Yield the two questions about the last two numbers."""
    places = tuple(len(plan.features) + place for place in (-2, -1))
    asked = tuple(plan.features[place] for place in places)
    for moment in (1, 2):
        domain = build_numeric_domain(plan.label, asked, moment)
        yield Question(
            index=0,
            label=plan.label,
            feature_indices=places,
            asked_features=asked,
            weight=2,
            mechanism=design_numeric("laplace", domain, plan.epsilon),
            moment=moment,
        )


def rows() -> list[dict[str, Any]]:
    """Return rows of the plan with every mechanism."""
    numbers = [dict(zip(NUMBER_NAMES, given, strict=True)) for given in AMOUNTS]
    return [row | given for row, given in zip(ROWS, numbers, strict=True)]


def cases(plan: Plan, listed: Sequence[Mapping[str, Any]], labels: Sequence[Any]) -> Iterator[Document]:
    """Yield every question with drawn noise for two rows, and with noise at the exact limits for one."""
    for question, middle in zip(plan.questions, first_draws(plan), strict=True):
        for number in (question.index % len(listed), (question.index + 1) % len(listed)):
            noise = random_bytes(f"{plan.id}/{question.index}/{number}", 16 + question.mechanism.random_bytes)
            yield case(plan, listed[number], labels[number], words(middle) + noise)
        value = question.value(*plan.encode(listed[number], labels[number]))
        for noise in islice(limits.noises(question, value), 3):
            head = words(middle) + random_bytes(f"{plan.id}/{question.index}/limits", 16)
            yield case(plan, listed[number], labels[number], head + noise)


def every_tick(plan: Plan) -> Iterator[Document]:
    """Yield every way to tick choices, asked about every choice, with noise that keeps the truth."""
    ticked: dict[str, list[Any]] = {
        "cups": TICKS,
        "snacks": [["nuts"], ["fruit", "nuts"], [], None, "", math.nan],
    }
    for question, middle in zip(plan.questions, first_draws(plan), strict=True):
        name = question.feature.row_name if question.feature else ""
        for number, value in enumerate(ticked.get(name, [])):
            row, label = ROWS[0] | {name: value}, ("never", "sometimes", "often")[number % 3]
            noise = next(limits.noises(question, question.value(*plan.encode(row, label))))
            head = words(middle) + random_bytes(f"{plan.id}/{question.index}/{number}", 16)
            yield case(plan, row, label, head + noise, f"{name} {values.brief(value)}")


def _file(plan: Plan, listed: Iterable[Document], **more: Any) -> Document:
    return {"cases": list(listed), "digest": plan.digest, "plan": plan.json.decode()} | more


def files() -> dict[str, Document]:
    """Return the content of each file by its name."""
    plan, together = every_mechanism(), read_survey(TOGETHER).compile()
    choices = read_survey(SURVEY.format(label=LABEL, numbers='[mechanism]\nfrequency = "DE"')).compile()
    model, texts = read_survey(VALIDATION).compile(), read_survey(TEXTS).compile()
    assert texts.texts
    answers = [{"cups": ticked, "tea": tea} for ticked in (["large"], [], None) for tea in ("black", "green")]
    shown: list[dict[str, Any]] = [{"cups": ["large"], "hours": 7.5}, {"cups": None, "hours": 0}]
    return {
        "good-unlabelled.json": _file(plan, cases(plan, rows(), (None, "", math.nan))),
        "good-choices.json": _file(choices, every_tick(choices)),
        "good-choices-together.json": _file(together, cases(together, TOGETHER_ROWS, (None,) * 3)),
        "good-choices-validation.json": _file(model, cases(model, answers, ("yes", "no") * 3)),
        "good-unlabelled-texts.json": _file(
            texts,
            cases(texts, shown, (None, None)),
            displayed=list(displayed(texts)),
            texts=texts.texts.json.decode(),
        ),
        "bad-rows-unlabelled.json": values.refused(plan, rows()[0], None, BAD, BAD_LABELS),
    }
