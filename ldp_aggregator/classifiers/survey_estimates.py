"""The model of a survey without a label: its estimates, and no classifier."""

from __future__ import annotations

from typing import Any, NoReturn

from ldp_aggregator.classifiers.described_model import DescribedModel
from ldp_aggregator.results import Results
from ldp_aggregator.results_file import no_classifier


class SurveyEstimates(DescribedModel):
    """The estimates of a survey without a label, from a model file; all that needs a classifier refuses."""

    def __init__(self, results: Results) -> None:
        self._set_results(results)

    def predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NoReturn:
        """Raise ModelError: there is no classifier."""
        raise no_classifier(self.plan_, "use its estimates, which to_frame() returns and ldp-results shows")

    fit = score = predict_proba = predict_log_proba = predict_joint_log_proba = predict
