"""The aggregator: collects reports, computes estimates from totals, trains models and predicts.

The names below load on first use, so that a collector runs without scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoders.installation import require_own_encoders  # fails if another package 'encoders' hides ours
from encoders.late_imports import late_names

require_own_encoders()

from encoders import __version__  # noqa: E402 - another package has no version

if TYPE_CHECKING:
    from ldp_aggregator.classifiers import NaiveBayes, load_model, save_onnx, to_sklearn
    from ldp_aggregator.estimation import Estimates, estimate_snapshot, to_covariance
    from ldp_aggregator.results import Results, make_results
    from ldp_aggregator.results_file import ModelError, save_results
    from ldp_aggregator.snapshot import Snapshot

__all__ = [
    "Estimates",
    "ModelError",
    "NaiveBayes",
    "Results",
    "Snapshot",
    "__version__",
    "estimate_snapshot",
    "load_model",
    "make_results",
    "save_onnx",
    "save_results",
    "to_covariance",
    "to_sklearn",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "Estimates": "estimation",
        "ModelError": "results_file",
        "NaiveBayes": "classifiers",
        "Results": "results",
        "Snapshot": "snapshot",
        "estimate_snapshot": "estimation",
        "load_model": "classifiers",
        "make_results": "results",
        "save_onnx": "classifiers",
        "save_results": "results_file",
        "to_covariance": "estimation",
        "to_sklearn": "classifiers",
    },
    extra="analyst",
)
