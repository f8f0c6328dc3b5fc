"""Bad plans of a validation round with a mistake in the model or in what is validated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from encoders.survey import read_survey
from tools.vectors.plan_mistakes.honest import SURVEY, Document, edited, question, text_of

VALIDATION = """
[validation]
order = ["sleep", "age", "hours"]
tops = [1, 2]
prior = [0, -5]
[validation.scores]
age = [[0, -1], [-2, 0], [0, 0]]
hours = [[-3, 0], [0, -4]]
sleep = [{sleep}]
"""


PROJECTED: Document = {
    "components": [{"name": "top 1", "offset": "0", "weights": ["1"]}],
    "inputs": [{"high": "1", "kind": "numeric", "low": "0", "missing": "error", "name": "pulse"}],
}
VALIDATIONS: dict[str, dict[str, Any]] = {
    "a label of another name": {"label/name": "all 4"},
    "a label named by its number alone": {"label/name": "3"},
    "a label whose right comes first": {"label/values": ["right", "wrong"]},
    "a label of other words": {"label/values": ["no", "yes"]},
    "a feature of another name": {"features/1/name": "top 3"},
    "a feature whose right comes first": {"features/0/values": ["right", "wrong"]},
    "a feature that may be missing": {
        "features/0/missing": "category",
        "features/0/values": ["wrong"],
    },
    "features in another order": {"features/0/name": "top 2", "features/1/name": "top 1"},
    "a top less than features": {"validation/tops": [1]},
    "other tops than features": {"validation/tops": [2, 1]},
    "tops that fall": {"validation/tops": [2, 1], "features/0/name": "top 2", "features/1/name": "top 1"},
    "tops that are equal": {"validation/tops": [1, 1], "features/1/name": "top 1"},
    "a top as large as the order": {"validation/tops": [1, 3], "features/1/name": "top 3"},
    "a top beyond the order": {"validation/tops": [1, 4], "features/1/name": "top 4"},
    "a top of 0": {"validation/tops": [0, 2], "features/0/name": "top 0"},
    "a top below 0": {"validation/tops": [-1, 2], "features/0/name": "top -1"},
    "a top that is true": {"validation/tops": [True, 2]},
    "a top as text": {"validation/tops": ["1", 2]},
    "a top that is null": {"validation/tops": [None, 2]},
    "tops that are one number": {"validation/tops": 1},
    "tops that are text": {"validation/tops": "12"},
    "tops left out": {"validation/tops": ...},
    "an order that names a feature twice": {"validation/order": [2, 0, 2]},
    "an order beyond the features": {"validation/order": [2, 0, 3]},
    "an order before the features": {"validation/order": [2, 0, -1]},
    "an order with true": {"validation/order": [2, 0, True]},
    "an order with false": {"validation/order": [2, False, 1]},
    "an order with text": {"validation/order": [2, 0, "1"]},
    "an order of names": {"validation/order": ["sleep", "age", "hours"]},
    "an order with a list": {"validation/order": [2, 0, [1]]},
    "an order that is empty": {"validation/order": []},
    "an order left out": {"validation/order": ...},
    "an order of fewer than the label says": {"validation/order": [2, 0]},
    "a prior of one score less": {"validation/prior": [0]},
    "a prior of one score more": {"validation/prior": [0, -5, 0]},
    "a prior above 0": {"validation/prior": [0, 1]},
    "a prior below -1000000": {"validation/prior": [0, -1000001]},
    "a prior of text": {"validation/prior": ["0", "-5"]},
    "a prior with false": {"validation/prior": [False, -5]},
    "a prior left out": {"validation/prior": ...},
    "a feature without scores": {"validation/scores/2": ...},
    "scores by name": {"validation/scores": {"age": [], "hours": [], "sleep": []}},
    "a category without scores": {"validation/scores/0": [[0, -1], [-2, 0]]},
    "a bin more than there are": {"validation/scores/1": [[-3, 0], [0, -4], [0, 0]]},
    "63 parts of a number": {"validation/scores/2/0": ...},
    "a number that may be missing without scores for that": {"validation/features/2/missing": "category"},
    "a category that may not be missing with scores for that": {"validation/features/0/missing": "error"},
    "a label less": {"validation/scores/0/1": [-2]},
    "a label more": {"validation/scores/0/1": [-2, 0, 0]},
    "a score above 0": {"validation/scores/0/1/0": 1},
    "a score below -1000000": {"validation/scores/2/63/1": -1000001},
    "a score beyond all words": {"validation/scores/2/63/1": -(10**40)},
    "a score as text": {"validation/scores/1/0/0": "-3"},
    "a score that is false": {"validation/scores/0/0/0": False},
    "a score that is null": {"validation/scores/0/0/0": None},
    "a score in a list": {"validation/scores/0/0/0": [0]},
    "a row of scores that is a text": {"validation/scores/0/0": "00"},
    "a row of scores that is a number": {"validation/scores/0/0": 0},
    "a model's label of one value": {"validation/label/values": ["yes"]},
    "a model's label with a value more": {"validation/label/values": ["yes", "no", "maybe"]},
    "a model's label with a value twice": {"validation/label/values": ["yes", "yes"]},
    "a model's label named as a feature": {"validation/label/name": "age"},
    "a model without a label": {"validation/label": ...},
    "a model's features of one name": {"validation/features/1/name": "age"},
    "a model's edges that fall": {"validation/features/1/edges": ["0", "12", "4.5"]},
    "a model's range that is empty": {"validation/features/2/low": "12"},
    "a model's category with a line feed": {"validation/features/0/values/0": "y\noung"},
    "a model's feature of no kind": {"validation/features/0/kind": "ordinal"},
    "a model without features": {"validation/features": ...},
    "a model's projection of none of its features": {"validation/projection": {}},
    "a model's projection that is null": {"validation/projection": None},
    "an unknown entry": {"validation/more": 1},
    "null": {"validation": None},
    "true": {"validation": True},
    "empty": {"validation": {}},
    "a list": {"validation": []},
}


def validations() -> Iterator[tuple[str, str]]:
    """Yield plans of a model to validate, with sleep, age and hours, sleep and age, and sleep alone."""
    parts = ", ".join(f"[0, {-part}]" for part in range(64))
    text = SURVEY.format(frequency="DE", numeric="sign", epsilon="1", projection="")
    base = read_survey(text + VALIDATION.format(sleep=parts)).compile().json.decode()
    for name, changes in VALIDATIONS.items():
        changed = base
        for path, value in changes.items():
            changed = edited(path, value, changed)
        yield f"validation: {name}", changed
    yield "validation: a score with a point", base.replace('"prior":[0,', '"prior":[0.0,')
    yield "validation: a score with an exponent", base.replace('"prior":[0,', '"prior":[0e0,')
    yield "validation: a score of minus zero", base.replace('"prior":[0,', '"prior":[-0,')
    yield (
        "validation: the model of a plan that is no validation round",
        edited("validation", json.loads(base)["validation"]),
    )
    yield "validation: with a projection of its features", edited("projection", PROJECTED, base)
    yield "validation: in a validation", edited("validation/validation", json.loads(base)["validation"], base)
    label_alone = (
        [question(0)],
        {question(0)["tables"]: json.loads(text_of())["tables"][question(0)["tables"]]},
    )
    without = edited("questions", label_alone[0], edited("tables", label_alone[1], base))
    asked = json.loads(base)["questions"]
    yield "validation: a top that no question asks about", edited("questions", asked[:-1], base)
    yield "validation: no tops", edited("validation/tops", [], edited("features", [], without))
