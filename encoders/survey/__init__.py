"""Surveys: the TOML file that an author writes, and the immutable plan that is compiled from it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from encoders.survey.choices import Choices
from encoders.survey.features import CategoricalFeature, Feature, Label
from encoders.survey.numeric_features import BinnedFeature, NumericFeature
from encoders.survey.plan import Plan
from encoders.survey.projection import Projection
from encoders.survey.questions import Question

if TYPE_CHECKING:
    from encoders.survey.survey import Survey
    from encoders.survey.toml_reader import read_survey

__all__ = [
    "BinnedFeature",
    "CategoricalFeature",
    "Choices",
    "Feature",
    "Label",
    "NumericFeature",
    "Plan",
    "Projection",
    "Question",
    "Survey",
    "read_survey",
]

_AUTHORING = {"Survey": "survey", "read_survey": "toml_reader"}
"""The names that a device with a compiled plan does not load, and their modules."""


def __getattr__(name: str) -> Any:
    if name in _AUTHORING:
        return getattr(import_module(f"encoders.survey.{_AUTHORING[name]}"), name)
    raise AttributeError(f"module 'encoders.survey' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_AUTHORING})
