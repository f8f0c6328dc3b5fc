"""The model of a survey without a label: its estimates, and no classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ldp_aggregator.findings.finding import Finding
from ldp_aggregator.models.model_document import no_classifier
from ldp_aggregator.results.card import ModelDescription, describe_model
from ldp_aggregator.results.data_frame import build_frame
from ldp_aggregator.results.sections import find_notices
from ldp_aggregator.results.survey_results import SurveyResults
from ldp_aggregator.results.table import build_table

if TYPE_CHECKING:
    import pandas as pd


class SurveyEstimates:
    """The estimates of a survey without a label, from a model file.

    Attributes
    ----------
    plan_ : Plan or SiloPlan
        The plan of the survey.
    estimates_ : Estimates
        All estimates with their errors; `estimates_.as_dict()` returns them for JSON.
    privacy_ : PrivacyStatement
        The privacy statement.
    results_ : SurveyResults
        What pages and cards show.
    """

    def __init__(self, results: SurveyResults) -> None:
        self.plan_, self.estimates_, self.privacy_ = results.plan, results.estimates, results.privacy
        self.results_ = results

    def to_frame(self) -> pd.DataFrame:
        """Return all estimates as a DataFrame, see docs/analysing.md; needs the extra [pandas]."""
        return build_frame(build_table(self.estimates_, self.plan_))

    def card(self) -> str:
        """Return the results in Markdown: estimates, data, privacy, limits, and how to cite them."""
        return self._describe().format_card()

    @property
    def notices(self) -> list[Finding]:
        """What a user of the estimates must not miss: fabricated reports."""
        return find_notices(self.results_)

    def predict(self, X: Any) -> NoReturn:
        """Raise ModelError: there is no classifier."""
        raise no_classifier(self.plan_, "use its estimates, which to_frame() returns and ldp-results shows")

    predict_proba = predict_log_proba = predict_joint_log_proba = predict

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> NoReturn:
        """Raise ModelError: there is no classifier."""
        self.predict(X)

    def _describe(self) -> ModelDescription:
        return describe_model(self.results_, [], "Estimates")

    def __repr__(self) -> str:
        return self._describe().format_line(type(self).__name__)

    def __str__(self) -> str:
        return self._describe().format_lines()

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return self._describe().format_html()
