"""Models of a trusted curator, as scikit-learn classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from encoders.survey import Plan, Survey
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.classifiers.curator_estimates import build_central_table
from ldp_aggregator.classifiers.curator_file import CentralModelFile, Conditionals
from ldp_aggregator.classifiers.described_model import DescribedModel
from ldp_aggregator.classifiers.model_document import ModelError
from ldp_aggregator.classifiers.survey_classifier import SurveyClassifier
from ldp_aggregator.classifiers.survey_estimates import SurveyEstimates
from ldp_aggregator.prediction.decision_tree import DecisionTree
from ldp_aggregator.prediction.linear_model import SHARPNESS, LinearModel
from ldp_aggregator.prediction.scoring import LogProbabilities, normalise_log_scores, reorder_labels
from ldp_aggregator.rows.encode_table import encode_table
from ldp_aggregator.rows.table_input import Columns
from ldp_aggregator.views.curator_card import describe_central
from ldp_aggregator.views.data_frame import build_frame
from ldp_aggregator.views.model_card import ModelDescription

if TYPE_CHECKING:
    import pandas as pd


class CentralClassifier(SurveyClassifier):
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
    plan_ : Plan
        The plan of the survey.
    privacy_ : CentralPrivacy
        The privacy statement of the model file: trust, adjacency, epsilon, delta, and those of each step.
    """

    learner_: str
    """One of "nb", "linear" or "tree"."""
    model_: LogProbabilities | LinearModel | DecisionTree
    """The learner; its labels are in the order of `classes_` for LogProbabilities, else in the survey's."""
    selected_: tuple[int, ...] | None
    """Indices of the features that Naive Bayes uses; None for other learners."""
    _order: NDArray[np.intp]
    _content: CentralModelFile

    def __init__(self, survey: Survey | Plan | None = None) -> None:
        self.survey = survey

    @classmethod
    def from_file(cls, content: CentralModelFile) -> Self:
        """Return a fitted classifier from the content of a model file."""
        model = cls(survey=content.plan)
        model._set_plan(content.plan)
        model._order = model._set_typed_labels(content.plan)
        model.learner_ = content.learner
        if isinstance(content.model, Conditionals):
            tables = [reorder_labels(each, model._order) for each in content.model.tables]
            prior = content.model.prior[model._order]
            model.model_ = LogProbabilities.from_probabilities(prior, tables)
            model.selected_ = content.model.selected
        else:
            model.model_, model.selected_ = content.model, None
        model.privacy_ = content.privacy
        model._content = content
        return model

    def fit(self, X: Any, y: Any) -> NoReturn:
        """Raise ModelError: only ldp-central trains such a model, because it records what was spent."""
        raise ModelError("ldp-central train makes this model; a fit would not be recorded in a ledger")

    def _compute_scores(self, rows: Columns | NDArray[Any]) -> FloatArray:
        codes = encode_table(self.plan_, self._to_columns(rows))
        if isinstance(self.model_, LogProbabilities):
            return self.model_.compute_scores(codes)
        scores: FloatArray
        if isinstance(self.model_, LinearModel):
            scores = score_linear(self.model_, codes)
        else:
            scores = self.model_.scores(codes)
        return scores[:, self._order]

    def to_frame(self) -> pd.DataFrame:
        """Return the estimates of Naive Bayes as a DataFrame, see docs/central.md; needs the extra [pandas].

        They were released with the model and cost no more epsilon. Other learners raise ModelError.
        """
        check_is_fitted(self, "model_")
        return build_frame(build_central_table(self._content))

    def _describe(self) -> ModelDescription:
        content = self._content
        return describe_central(
            content.plan, content.learner, content.privacy, self.selected_, type(self).__name__
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class CentralEstimates(SurveyEstimates):
    """The estimates of a curator's survey without a label; all that needs a classifier refuses."""

    notices = DescribedModel.notices

    def __init__(self, content: CentralModelFile) -> None:
        self.plan_, self.privacy_, self._content = content.plan, content.privacy, content

    def to_frame(self) -> pd.DataFrame:
        """Return all estimates as a DataFrame, see docs/central.md; needs the extra [pandas]."""
        return build_frame(build_central_table(self._content))

    def _describe(self) -> ModelDescription:
        return describe_central(self._content.plan, self._content.learner, self.privacy_, None, "Estimates")


def score_linear(model: LinearModel, codes: IntArray) -> FloatArray:
    """Return log P(label | row) of a linear model, (m, k), up to a constant of the row.

    With a the softmax of tau times the scores, the scores minimise the expected loss where P(label) is
    proportional to a (e^tau - (e^tau - 1) a). This is a larger probability for a larger score.
    """
    log_shares = normalise_log_scores(SHARPNESS * model.scores(codes))
    edge = np.exp(SHARPNESS)
    scores: FloatArray = log_shares + np.log(edge - (edge - 1) * np.exp(log_shares))
    return scores
