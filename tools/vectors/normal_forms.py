"""Texts in several Unicode normal forms: a plan is in NFC, and the texts of rows are compared in NFC; emoji.

A text that looks like a value but is in another normal form has the value's code. Values that
only NFKC equates stay different. A plan is refused if one of its texts is not in NFC.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from typing import Any

from encoders.canonical import dump_canonical_json
from encoders.survey import Plan, read_survey
from tools.vectors.common import spelled_row
from tools.vectors.values import shown

# the last two begin with a combining mark, which combines neither with a quote of JSON nor with an escape
VALUES = ("caf\u00e9", "vi\u1ec7c", "\ud55c", "\u03a9", "\u00c5", "\ufb01", "fi", '"\u0301', "\u0301")
SURVEY = f"""
[survey]
id = "normal-forms"
epsilon = 8
[label]
name = "dormi\u00f0 \u00e9t\u00e9"
values = ["jam\u00e1s", "s\u00ed"]
weight = 1
[features."sant\u00e9"]
values = {json.dumps(VALUES, ensure_ascii=False)}
missing = "category"
[features."\u00e2ge"]
range = [0, 100]
[mechanism]
frequency = "DE"
numeric = "sign"
"""
FEATURE, NUMBER, LABEL = "sant\u00e9", "\u00e2ge", "s\u00ed"
SINGLETONS = {"\u03a9": "\u2126", "\u00c5": "\u212b"}
"""The signs of ohm and angstrom, which no text in NFC contains."""
EMOJI = "\u2764\ufe0f"
CLASSES = ("\u263a\ufe0f", "\u2639\ufe0f")
EMOJI_VALUES = (
    *CLASSES,
    "\U0001f44d\U0001f3fd",
    "1\ufe0f\u20e3",
    "1",
    "\u845b\U000e0101",
    "\u1820\u180b",
    "\u2813",
)
EMOJI_SURVEY = f"""
[survey]
id = "emoji"
epsilon = 8
[label]
name = "\u2600\ufe0f"
values = {json.dumps(CLASSES, ensure_ascii=False)}
[features."{EMOJI}"]
values = {json.dumps(EMOJI_VALUES, ensure_ascii=False)}
missing = "category"
[mechanism]
frequency = "DE"
"""


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def normal_forms() -> dict[str, Any]:
    plan = read_survey(SURVEY).compile()
    return {
        "cases": [*taken(plan), *refused(plan)],
        "digest": plan.digest,
        "plan": plan.json.decode(),
    }


def emoji() -> dict[str, Any]:
    """Return vectors with emoji and letters that need variation selectors."""
    plan = read_survey(EMOJI_SURVEY).compile()
    values = (*EMOJI_VALUES, None)
    cases = [
        each
        for place, value in enumerate(values)
        for each in shown(plan, {EMOJI: value}, CLASSES[place % 2], EMOJI, ascii(value))
    ]
    return {"cases": cases, "digest": plan.digest, "plan": plan.json.decode()}


def taken(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield each value and label in each of its forms, with noise that shows the code."""
    for value in VALUES:
        for form in dict.fromkeys((value, nfd(value), SINGLETONS.get(value, value))):
            yield from spelled(plan, value, form, LABEL, LABEL, FEATURE)
    yield from spelled(plan, VALUES[0], nfd(VALUES[0]), LABEL, nfd(LABEL), None)


def spelled(
    plan: Plan, value: str, form: str, label: str, label_form: str, asked: str | None
) -> Iterator[dict[str, Any]]:
    """Yield what is reported for a value and a label in NFC, with the row and label in other forms."""
    name = f"{form!a} and {label_form!a}"
    row = {FEATURE: value, NUMBER: 40}
    for case in shown(plan, row, label, asked, name):
        yield case | {"row": spelled_row(row | {FEATURE: form}), "label": label_form}


def refused(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield plans in which one text is not in NFC, each with a row that has this text."""
    document = plan.json.decode()
    for name, path in {
        "a feature's name": ("features", 0, "name"),
        "a number's name": ("features", 1, "name"),
        "a value of a feature": ("features", 0, "values", 0),
        "a value with two marks": ("features", 0, "values", 1),
        "a syllable in parts": ("features", 0, "values", 2),
        "the sign of ohm": ("features", 0, "values", 3),
        "the label's name": ("label", "name"),
        "a value of the label": ("label", "values", 1),
    }.items():
        changed = json.loads(document)
        *inner, last = path
        node = changed
        for key in inner:
            node = node[key]
        node[last] = SINGLETONS.get(node[last]) or nfd(node[last])
        features = changed["features"]
        yield {
            "error": "plan",
            "label": changed["label"]["values"][1],
            "name": f"{name} is not in NFC",
            "plan": dump_canonical_json(changed).decode(),
            "random": "00" * 64,
            "row": {features[0]["name"]: features[0]["values"][0], features[1]["name"]: 40},
        }
