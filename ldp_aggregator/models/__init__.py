"""What predicts: the classifier, the file it lives in, and its forms for other tools."""

from ldp_aggregator.models.model_file import ModelError, load_model, save_model
from ldp_aggregator.models.naive_bayes import NaiveBayes
from ldp_aggregator.models.onnx_file import save_onnx
from ldp_aggregator.models.scikit import to_sklearn

__all__ = ["ModelError", "NaiveBayes", "load_model", "save_model", "save_onnx", "to_sklearn"]
