"""The aggregator: collects reports, computes estimates from totals, trains models and predicts.

The names below load on first use, so that a collector runs without scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from encoders.installation import require_own_encoders
from encoders.missing_extra import needs_extra

require_own_encoders()

from encoders import __version__  # noqa: E402 - another package has no version

if TYPE_CHECKING:
    from ldp_aggregator.classifiers import NaiveBayes, load_model, save_onnx, to_sklearn
    from ldp_aggregator.estimation import Estimates, estimate_snapshot
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
    "to_sklearn",
]

_MODULE_OF_NAME = {
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
    "to_sklearn": "classifiers",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs_extra("train", f"{__name__}.{name}"):
        return getattr(import_module(f"{__name__}.{_MODULE_OF_NAME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
