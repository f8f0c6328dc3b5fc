"""Models: the classifier, its file, and its exports to other tools."""

from ldp_aggregator.models.export.onnx import save_onnx
from ldp_aggregator.models.export.sklearn import to_sklearn
from ldp_aggregator.models.model_file import ModelError, load_model, save_model
from ldp_aggregator.models.naive_bayes import NaiveBayes

__all__ = ["ModelError", "NaiveBayes", "load_model", "save_model", "save_onnx", "to_sklearn"]
