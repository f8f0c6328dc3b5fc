"""Models: the classifier, its file, and its exports to other tools.

The names load on first use: importing scikit-learn takes longer than training.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldp_aggregator.classifiers.export.onnx import save_onnx
    from ldp_aggregator.classifiers.export.sklearn import to_sklearn
    from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
    from ldp_aggregator.classifiers.stored_model import load_model

__all__ = [
    "NaiveBayes",
    "load_model",
    "save_onnx",
    "to_sklearn",
]

_MODULE_OF_NAME = {
    "NaiveBayes": "naive_bayes",
    "load_model": "stored_model",
    "save_onnx": "export.onnx",
    "to_sklearn": "export.sklearn",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF_NAME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
