"""Surveys: the TOML file that an author writes, and the immutable plan that is compiled from it."""

from encoders.survey.choices import Choices
from encoders.survey.features import CategoricalFeature, Feature, Label
from encoders.survey.numeric_features import BinnedFeature, NumericFeature
from encoders.survey.plan import Plan
from encoders.survey.projection import Projection
from encoders.survey.questions import Question
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
