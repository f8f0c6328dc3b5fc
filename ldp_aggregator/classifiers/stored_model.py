"""What a model file becomes in Python: a scikit-learn classifier, or estimates without a label."""

from __future__ import annotations

import os
from typing import Any, NoReturn, Self

from encoders.survey import Plan, Survey
from ldp_aggregator.classifiers.described_model import DescribedModel
from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
from ldp_aggregator.classifiers.row_reader import SurveyClassifier
from ldp_aggregator.prediction.predictor import Predictor
from ldp_aggregator.results import Results
from ldp_aggregator.results_file import ModelError, load_results, no_classifier


def load_model(path: str | os.PathLike[str]) -> NaiveBayes | CuratorClassifier | SurveyEstimates:
    """Read a model file of ldp-train or ldp-central into a fitted classifier.

    Returns
    -------
    NaiveBayes, CuratorClassifier or SurveyEstimates
        A survey without a label has only estimates.

    Raises
    ------
    ModelError
        If the file cannot be read, is not a model file, is truncated, was edited by hand, or has another
        version.

    Examples
    --------
    >>> load_model("absent.json")
    Traceback (most recent call last):
    ...
    ldp_aggregator.results_file.ModelError: absent.json: cannot be read: No such file or directory
    """
    results = load_results(path)
    if not results.has_label:
        return SurveyEstimates(results)
    return (CuratorClassifier if results.is_curator else NaiveBayes).from_results(results)


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
        assert isinstance(results.plan, Plan)
        model = cls(survey=results.plan)
        model._set_stored(Predictor.from_parameters(results.plan, results.classifier))
        model._set_results(results)
        model.learner_ = results.classifier.kind
        return model

    def fit(self, X: Any, y: Any) -> NoReturn:
        """Raise ModelError: only ldp-central trains such a model, because it records what was spent."""
        raise ModelError("ldp-central train makes this model; a fit would not be recorded in a ledger")


class SurveyEstimates(DescribedModel):
    """The estimates of a survey without a label, from a model file; all that needs a classifier refuses."""

    def __init__(self, results: Results) -> None:
        self._set_results(results)

    def predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NoReturn:
        raise no_classifier(self.plan_, "use its estimates, which to_frame() returns and ldp-results shows")

    fit = score = predict_proba = predict_log_proba = predict_joint_log_proba = predict
