"""Bad plans of a survey without a label, with a feature that has several answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from encoders.survey import read_survey
from tools.vectors.plan_mistakes.honest import Document, edited
from tools.vectors.without_label import VALIDATION

SURVEY = """
[survey]
id = "plans"
epsilon = 1
[features.cups]
choices = ["small", "large"]
[features.tea]
values = ["black", "green"]
[features.hours]
range = [0, 12]
[mechanism]
frequency = "DE"
numeric = "sign"
"""
ROW = {"cups": ["large"], "tea": "green", "hours": 3}
ENTRIES: dict[str, tuple[str, Any]] = {
    "one choice": ("features/0/values", ["small"]),
    "no choices": ("features/0/values", []),
    "a choice twice": ("features/0/values", ["small", "small"]),
    "a choice with a semicolon": ("features/0/values", ["small", "la;rge"]),
    "a choice that is a semicolon": ("features/0/values", ["small", ";"]),
    "a choice that is empty": ("features/0/values", ["small", ""]),
    "a choice that is a number": ("features/0/values", ["small", 3]),
    "a choice with a line feed": ("features/0/values", ["small", "lar\nge"]),
    "a choice named as a missing answer": ("features/0/values", ["small", "(missing)"]),
    "a choice of 195 characters, with its name 201": ("features/0/values", ["small", "x" * 195]),
    "a choice that shows nothing": ("features/0/values", ["small", "\u2800"]),
    "two choices that differ in a selector": ("features/0/values", ["large", "large\ufe0f"]),
    "a feature named as a choice with a selector": ("features/1/name", "cups: large\ufe0f"),
    "a choice more than the questions say": ("features/0/values", ["small", "medium", "large"]),
    "choices as one text": ("features/0/values", "sl"),
    "choices as an object": ("features/0/values", {"large": 2, "small": 1}),
    "no values of choices": ("features/0/values", ...),
    "choices and edges": ("features/0/edges", ["0", "1"]),
    "choices that may be missing, against the domain": ("features/0/missing", "category"),
    "choices of neither category nor error": ("features/0/missing", "ignore"),
    "choices as categories": ("features/0/kind", "categorical"),
    "a kind that is one choice": ("features/0/kind", "choice"),
    "a choice written as a feature": ("features/0/choice", "small"),
    "an entry without a name": ("features/0/name", ""),
    "a feature named as an entry": ("features/1/name", "cups"),
    "a feature named as a choice": ("features/1/name", "cups: large"),
    "a label named as an entry": ("label", {"name": "cups", "values": ["no", "yes"]}),
    "a label of one value": ("label", {"name": "rested", "values": ["yes"]}),
    "a label without a name": ("label", {"name": "", "values": ["no", "yes"]}),
    "a label without name and value": ("label", {"name": "", "values": [""]}),
    "a label without values": ("label", {"name": "", "values": []}),
    "a label that is null": ("label", None),
    "a label that is an empty object": ("label", {}),
    "a label that the domains do not count": ("label", {"name": "rested", "values": ["no", "yes"]}),
    "an unknown entry in place of the label": ("labels", {"name": "rested", "values": ["no", "yes"]}),
    "a question about no feature": ("questions/0/feature", None),
    "a question about a list of no feature": ("questions/0/feature", []),
    "a question about a feature too many": ("questions/2/feature", 4),
    "a choice asked twice": ("questions/0/feature", 1),
    "a domain of one": ("questions/0/domain", 1),
    "a moment of a choice": ("questions/0/moment", 1),
    "a projection of a choice": ("projection", {
        "components": [{"name": "cups: small", "offset": "0", "weights": ["1"]}],
        "inputs": [{"high": "1", "kind": "numeric", "low": "0", "missing": "error", "name": "pulse"}],
    }),
    "a projection of choices": ("projection", {
        "components": [{"name": "cups", "offset": "0", "weights": ["1"]}],
        "inputs": [{"high": "1", "kind": "numeric", "low": "0", "missing": "error", "name": "pulse"}],
    }),
}  # fmt: skip
MODELS: dict[str, tuple[str, Any]] = {
    "a model without a label": ("validation/label", ...),
    "a model without name and value of its label": ("validation/label", {"name": "", "values": [""]}),
    "a model with a label of one value": ("validation/label/values", ["yes"]),
    "a validation without a label": ("label", ...),
    "an order beyond the choices": ("validation/order", [1, 2, 3]),
    "scores of one choice left out": ("validation/scores/0", ...),
    "scores of a missing answer left out": ("validation/scores/0/2", ...),
}


def honest() -> str:
    """Return the honest plan."""
    return read_survey(SURVEY).compile().json.decode()


def plans_without_label() -> Iterator[tuple[str, str]]:
    base = honest()
    for name, (path, value) in ENTRIES.items():
        yield name, edited(path, value, base)
    document: Document = json.loads(base)
    choices = document["features"][0]
    yield "an entry twice", edited("features", [choices, *document["features"]], base)
    empty = {"kind": "choices", "missing": "error", "name": "more", "values": []}
    yield "an entry more, without choices", edited("features", [*document["features"], empty], base)
    yield "one value or missing, with one class", edited("features/1/values", [], edited(
        "features/1/missing", "category", edited("questions/2/domain", 1, base)))  # fmt: skip
    model = read_survey(VALIDATION).compile().json.decode()
    for name, (path, value) in MODELS.items():
        yield name, edited(path, value, model)
    scores = [[[0] * len(row[:1]) for row in table] for table in json.loads(model)["validation"]["scores"]]
    of_one = edited("validation/scores", scores, edited("validation/prior", [0], model))
    yield "a model of one class, without a label", edited("validation/label", ..., of_one)
    yield (
        "a model of one class, with another entry in place of the label",
        edited("validation/more", 1, edited("validation/label", ..., of_one)),
    )
    yield (
        "a model of one class, whose label has an empty name and value",
        edited("validation/label", {"name": "", "values": [""]}, of_one),
    )
