"""The survey of good-texts.json: its plan contains the SHA-256 of its texts, which the file contains too.

conditions.json has the questions that conditions hide, and conditions that a reader refuses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from encoders.canonical import dump_canonical_json
from encoders.survey import Plan, read_survey
from encoders.survey.conditions import KEY
from encoders.survey.display_texts import display_texts
from tools.vectors.common import case, first_draws, random_bytes, words

SURVEY = """
[survey]
id = "vectors-texts"
epsilon = 1
[label]
name = "rested"
values = ["yes", "no"]
[features.age]
values = ["young", "middle", "old"]
missing = "category"
[features.hours]
range = [0, 12]
missing = "category"
ask_if = { feature = "rested", value = "no" }
[about]
title = "Sleep"
contact = "A. Researcher\\n1 Main Street"
[texts.en]
title = "Sleep and shift work"
[texts.en.label]
title = "Do you feel rested?"
values = { yes = "Yes", no = "No" }
[texts.en.features.age]
title = "How old are you?"
help = "In years."
values = { young = "Under 30", middle = "30 to 59", old = "60 or older", "(missing)" = "No answer" }
[texts.pt.label]
title = "Sente-se descansado?"
[texts.pt-BR.features.age]
title = "Qual \u00e9 a sua idade?"
"""
ROWS: list[tuple[dict[str, Any], str]] = [
    ({"age": "old", "hours": 7.5}, "yes"),
    ({"age": None, "hours": 0}, "no"),
]
CONDITIONS = """
[survey]
id = "vectors-conditions"
epsilon = 1
[label]
name = "smokes"
values = [true, false]
[features.a-several]
values = ["x", "y"]
missing = "category"
ask_if = { any = [{ feature = "often", value = 3 }, { not = { feature = "kinds", value = "caf\u00e9" } }] }
[features.often]
values = [1, 2, 3]
missing = "category"
ask_if = { feature = "smokes", value = true }
[features.kinds]
choices = ["pipe", "snus", "caf\u00e9"]
missing = "category"
[features.both]
range = [0, 9]
missing = "category"
ask_if = { all = [{ feature = "kinds", value = "pipe" }, { not = { feature = "often", value = 1 } }] }
[features.not-often]
values = ["x"]
missing = "category"
ask_if = { not = { feature = "often", value = 2 } }
[features.last]
values = ["x"]
missing = "category"
ask_if = { any = [{ feature = "a-several", value = "x" }, { not = { feature = "not-often", value = "x" } }] }
"""
ANSWERS: tuple[dict[str, Any], ...] = (
    {},
    {"smokes": True},
    {"smokes": "true", "often": 3, "kinds": ["pipe", "caf\u00e9"], "not-often": "x"},
    {"smokes": True, "often": "1", "kinds": ["pipe"], "a-several": "y", "not-often": "x"},
    {"smokes": True, "often": 1, "kinds": ["cafe\u0301"], "a-several": "x", "not-often": None},
    {"smokes": True, "often": 2, "kinds": None, "a-several": "x", "not-often": "x"},
    {"smokes": True, "often": None, "kinds": [], "a-several": None, "not-often": ""},
    {"smokes": False, "often": 3, "kinds": ["caf\u00e9"], "a-several": "x"},
    {"smokes": False, "often": 2, "kinds": ["pipe", "snus"], "a-several": "x", "not-often": "y"},
    {"smokes": None, "often": 1, "kinds": ["snus"], "both": 3, "other": 1},
)
_TERM = {"feature": "kinds", "value": "pipe"}
REFUSED: dict[str, Any] = {
    "an empty list": {"any": []},
    "too many terms": {"all": [_TERM] * 101},
    "no list": {"any": _TERM},
    "null": {"any": None},
    "any and all": {"any": [_TERM], "all": [_TERM]},
    "any and a term": {"any": [_TERM], **_TERM},
    "not and a term": {"not": _TERM, **_TERM},
    "an unknown key": {"none": [_TERM]},
    "a list in a list": {"any": [{"all": [_TERM]}]},
    "not around a list": {"not": {"any": [_TERM]}},
    "not around not": {"not": {"not": _TERM}},
    "not around nothing": {"not": False},
    "an empty term": {"all": [_TERM, {}]},
    "a missing answer": {"not": {"feature": "kinds", "value": "(missing)"}},
    "an answer that is no text": {"not": {"feature": "smokes", "value": True}},
    "an unknown question": {"any": [_TERM, {"feature": "drinks", "value": "x"}]},
    "an unknown answer": {"all": [{"not": {"feature": "often", "value": "4"}}]},
    "a number": {"any": [{"feature": "both", "value": "1"}]},
    "its own question": {"any": [_TERM, {"not": {"feature": "last", "value": "x"}}]},
    "a circle": {"all": [_TERM, {"feature": "a-several", "value": "x"}]},
}
"""Conditions of the question "last"; the circle is one of "often"."""
LANGUAGES = ("en", "pt", "pt-BR", "PT-br", "pt-BR-abl1943", "pt_PT", "de", "")


def plan_with_texts() -> Plan:
    """Return the plan of the survey, with its texts."""
    return read_survey(SURVEY).compile()


def cases(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield every question for each row: texts change no report."""
    for question, middle in zip(plan.questions, first_draws(plan), strict=True):
        for number, (row, label) in enumerate(ROWS):
            noise = random_bytes(f"{plan.id}/{question.index}/{number}", 16 + question.mechanism.random_bytes)
            yield case(plan, row, label, words(middle) + noise)


def displayed(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the texts that an application displays for each requested language."""
    for language in LANGUAGES:
        texts = display_texts(plan, language)
        yield {
            "requested": language,
            "language": texts.language,
            "title": texts.title,
            "label": asdict(texts.label) if texts.label else None,
            "features": {name: asdict(entry) for name, entry in texts.features.items()},
        }


def conditions() -> dict[str, Any]:
    """Return the content of conditions.json."""
    plan = read_survey(CONDITIONS).compile()
    assert plan.texts
    shown = display_texts(plan)
    return {
        "plan": plan.json.decode(),
        "texts": plan.texts.json.decode(),
        "hidden": [{"answers": each, "hidden": sorted(shown.hidden(each))} for each in ANSWERS],
        "refused": [{"case": case, "texts": _texts_with(plan, case)} for case in REFUSED],
    }


def _texts_with(plan: Plan, case: str) -> str:
    """Return the texts of a plan, in which a condition is replaced by one that a reader refuses."""
    assert plan.texts
    document = json.loads(plan.texts.json)
    document[KEY]["often" if case == "a circle" else "last"] = REFUSED[case]
    return dump_canonical_json(document).decode()
