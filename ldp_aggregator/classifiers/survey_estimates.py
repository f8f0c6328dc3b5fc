"""The model of a survey without a label: its estimates, and no classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ldp_aggregator.classifiers.described_model import DescribedModel
from ldp_aggregator.classifiers.model_document import no_classifier
from ldp_aggregator.statements.finding import Finding
from ldp_aggregator.views.data_frame import build_frame
from ldp_aggregator.views.estimate_rows import build_table
from ldp_aggregator.views.model_card import ModelDescription, describe_model
from ldp_aggregator.views.sections import find_notices
from ldp_aggregator.views.survey_results import SurveyResults

if TYPE_CHECKING:
    import pandas as pd


class SurveyEstimates(DescribedModel):
    """The estimates of a survey without a label, from a model file; all that needs a classifier refuses.

    The attributes `plan_`, `estimates_`, `privacy_` and `results_` are those of `NaiveBayes`.
    """

    def __init__(self, results: SurveyResults) -> None:
        self.plan_, self.estimates_, self.privacy_ = results.plan, results.estimates, results.privacy
        self.results_ = results

    def to_frame(self) -> pd.DataFrame:
        """Return all estimates as a DataFrame, see docs/analysing.md; needs the extra [pandas]."""
        return build_frame(build_table(self.estimates_, self.plan_))

    @property
    def notices(self) -> list[Finding]:
        """What a user of the estimates must not miss: fake reports."""
        return find_notices(self.results_)

    def predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NoReturn:
        """Raise ModelError: there is no classifier."""
        raise no_classifier(self.plan_, "use its estimates, which to_frame() returns and ldp-results shows")

    fit = score = predict_proba = predict_log_proba = predict_joint_log_proba = predict

    def _describe(self) -> ModelDescription:
        return describe_model(self.results_, [], "Estimates")
