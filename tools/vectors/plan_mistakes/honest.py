"""The honest plan, with which a row fits; the bad plans are made of it."""

from __future__ import annotations

import json
from typing import Any

from encoders import canonical
from encoders.survey import read_survey
from encoders.survey.any_survey import read_any_survey

SURVEY = """
[survey]
id = "plans"
epsilon = {epsilon}
[label]
name = "rested"
values = ["yes", "no"]
weight = 1
[features.age]
values = ["young", "old"]
missing = "category"
[features.hours]
edges = [0, 4.5, 12]
[features.sleep]
range = [0, 12]
{projection}
[mechanism]
frequency = "{frequency}"
numeric = "{numeric}"
"""
ROW = {"age": "old", "hours": 3, "sleep": 7, "pulse": 70, "weight": 60}
LABEL = "no"
Document = dict[str, Any]


def text_of(frequency: str = "DE", numeric: str = "sign", epsilon: str = "1", projection: str = "") -> str:
    filled = SURVEY.format(frequency=frequency, numeric=numeric, epsilon=epsilon, projection=projection)
    return read_survey(filled).compile().json.decode()


def silo_text() -> str:
    """Return a plan for organisations, which no client of people may take."""
    head = '[survey]\nid = "plans"\nkind = "silo"\nepsilon = 1\nrows = 1000\n'
    body = '[label]\nname = "rested"\nvalues = ["yes", "no"]\n[features.age]\nvalues = ["young", "old"]\n'
    return read_any_survey(head + body).compile().json.decode()


def edited(path: str, value: Any, base: str = "") -> str:
    """Return a plan's text with one entry replaced, added, or left out (...)."""
    document = json.loads(base or text_of())
    *inner, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    node = document
    for key in inner:
        node = node[key]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return canonical.dump_canonical_json(document).decode()


def question(index: int) -> Document:
    entry: Document = json.loads(text_of())["questions"][index]
    return entry
