"""Surveys: authored TOML, and the immutable plan that it compiles to."""

from encoders.survey.authoring import Survey, read_survey
from encoders.survey.features import BinnedFeature, CategoricalFeature, Feature, Label
from encoders.survey.plan import Plan
from encoders.survey.questions import Question

__all__ = [
    "BinnedFeature",
    "CategoricalFeature",
    "Feature",
    "Label",
    "Plan",
    "Question",
    "Survey",
    "read_survey",
]
