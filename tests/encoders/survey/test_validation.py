"""A model that devices judge, in whole numbers, alike on a device and over a table; then a plan like any."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from encoders.errors import SurveyError
from encoders.survey import BinnedFeature, CategoricalFeature, Label, NumericFeature
from encoders.survey.validation import BINS, LOWEST, Validation

LABEL = Label("mood", ("good", "fair", "bad"))
KIND = CategoricalFeature("kind", ("x", "y"), "category")
HOURS = BinnedFeature("hours", ("0", "4.5", "12"))
SIZE = NumericFeature("size", "0", "8")
DOSE = NumericFeature("dose", "-1", "1", "category")
FEATURES = (KIND, HOURS, SIZE, DOSE)
MODEL = Validation(
    LABEL,
    FEATURES,
    order=(3, 0, 2),
    tops=(1, 2),
    prior=(-10, 0, -20),
    scores=(
        ((0, -5, -7), (-3, 0, -4), (0, 0, -1)),
        ((0, 0, 0), (0, 0, 0)),
        tuple((-part, part - BINS, -30) for part in range(BINS)),
        (*((part - BINS, -30, -part) for part in range(BINS)), (-9, -1, 0)),
    ),
)

# -- what is no model ----------------------------------------------------------------------------


def scores_with(place: int, *table: Any) -> tuple[Any, ...]:
    return (*MODEL.scores[:place], table, *MODEL.scores[place + 1 :])


NO_MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "an order beyond the features": ("order", "at least two features", {"order": (0, 4)}),
    "an order below them": ("order", "at least two features", {"order": (0, -1)}),
    "an order with one twice": ("order", "each once", {"order": (0, 2, 0)}),
    "an order with true": ("order", "each once", {"order": (0, True, 2)}),
    "an order with text": ("order", "each once", {"order": (0, "2")}),
    "an order with a list": ("order", "each once", {"order": (0, [2])}),
    "an order of one": ("order", "at least two features", {"order": (0,), "tops": ()}),
    "an order of none": ("order", "at least two features", {"order": ()}),
    "no tops": ("tops", "less than the 3 of the order", {"tops": ()}),
    "tops that fall": ("tops", "that increase", {"tops": (2, 1)}),
    "tops that are equal": ("tops", "that increase", {"tops": (1, 1)}),
    "a top of all": ("tops", "less than the 3 of the order", {"tops": (1, 3)}),
    "a top of none": ("tops", "from 1", {"tops": (0, 2)}),
    "a top that is true": ("tops", "whole numbers", {"tops": (True, 2)}),
    "a top that is no whole number": ("tops", "whole numbers", {"tops": (1.0, 2)}),
    "a prior of two": ("prior", "for each label, 3 in all", {"prior": (0, 0)}),
    "a prior above zero": ("prior", f"from {LOWEST} to 0", {"prior": (0, 0, 1)}),
    "a prior below the least": ("prior", f"from {LOWEST} to 0", {"prior": (0, 0, LOWEST - 1)}),
    "a prior that is no whole number": ("prior", "a whole number", {"prior": (0, 0, -1.0)}),
    "a prior that is false": ("prior", "a whole number", {"prior": (0, 0, False)}),
    "scores of three features": ("scores", "for each feature", {"scores": MODEL.scores[:3]}),
    "scores of five features": ("scores", "for each feature", {"scores": (*MODEL.scores, ())}),
    "a row less": ("scores.kind", "needs 3 rows", {"scores": scores_with(0, *MODEL.scores[0][:2])}),
    "a part more": ("scores.size", "needs 64 rows", {"scores": scores_with(2, *MODEL.scores[3])}),
    "no row of a missing number": ("scores.dose", "needs 65", {"scores": scores_with(3, *MODEL.scores[2])}),
    "a label less": ("scores.hours", "3 in all", {"scores": scores_with(1, (0, 0, 0), (0, 0))}),
    "a score above zero": ("scores.hours", "to 0", {"scores": scores_with(1, (0, 0, 0), (0, 0, 1))}),
    "a row that is a list": ("scores.hours", "a whole", {"scores": scores_with(1, (0, 0, 0), [0, 0, 0])}),
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_what_is_no_model_is_refused_by_field(name: str) -> None:
    field, words, changes = NO_MODELS[name]
    with pytest.raises(SurveyError) as caught:
        replace(MODEL, **changes).check()
    assert caught.value.field == f"validation.{field}"
    assert words in caught.value.why
    MODEL.check()
