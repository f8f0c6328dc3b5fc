"""Models of a trusted curator, as scikit-learn classifiers."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from encoders.survey import Plan, Survey
from ldp_aggregator.classifiers.survey_classifier import SurveyClassifier
from ldp_aggregator.prediction.predictor import Predictor
from ldp_aggregator.results import Results
from ldp_aggregator.results_file import ModelError


class CuratorClassifier(SurveyClassifier):
    """Naive Bayes, a linear model or a decision tree that `ldp-central train` made from a curator's rows.

    :func:`ldp_aggregator.load_model` returns it, already fitted. The probabilities of a linear model are
    those for which its scores minimise the expected loss.

    Parameters
    ----------
    survey : Survey or Plan, optional
        The survey of the model.

    Attributes
    ----------
    classes_ : (k,) array
        The labels, sorted: booleans if the survey's are true and false, integers if all are, otherwise texts.
    learner_ : str
        One of "nb", "linear" or "tree".
    """

    def __init__(self, survey: Survey | Plan | None = None) -> None:
        self.survey = survey

    @classmethod
    def from_results(cls, results: Results) -> Self:
        """Return a fitted classifier from the results in a model file."""
        assert isinstance(results.plan, Plan)
        model = cls(survey=results.plan)
        model._set_stored(Predictor.from_parameters(results.plan, results.classifier))
        model._set_results(results)
        model.learner_ = results.classifier.kind
        return model

    def fit(self, X: Any, y: Any) -> NoReturn:
        """Raise ModelError: only ldp-central trains such a model, because it records what was spent."""
        raise ModelError("ldp-central train makes this model; a fit would not be recorded in a ledger")
