"""What predicts: the classifier and the file it lives in."""

from ldp_aggregator.models.model_file import ModelError, load_model, save_model
from ldp_aggregator.models.naive_bayes import NaiveBayes

__all__ = ["ModelError", "NaiveBayes", "load_model", "save_model"]
