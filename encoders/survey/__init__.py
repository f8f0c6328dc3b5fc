"""Surveys: the TOML file that an author writes, and the immutable plan that is compiled from it."""

from typing import TYPE_CHECKING

from encoders.late_imports import late_names
from encoders.survey.features import (
    BinnedFeature,
    CategoricalFeature,
    Choices,
    Feature,
    Label,
    NumericFeature,
)
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

# a device with a compiled plan does not load these
__getattr__, __dir__ = late_names(__name__, {"Survey": "survey", "read_survey": "toml_reader"})
