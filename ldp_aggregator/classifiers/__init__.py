"""Models: the classifier, its file, and its exports to other tools.

The names load on first use: importing scikit-learn takes longer than training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoders.late_imports import late_names

if TYPE_CHECKING:
    from ldp_aggregator.classifiers.export.onnx import save_onnx
    from ldp_aggregator.classifiers.export.sklearn import to_sklearn
    from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
    from ldp_aggregator.classifiers.stored_model import load_model

__all__ = ["NaiveBayes", "load_model", "save_onnx", "to_sklearn"]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "NaiveBayes": "naive_bayes",
        "load_model": "stored_model",
        "save_onnx": "export.onnx",
        "to_sklearn": "export.sklearn",
    },
)
