"""Exports a model as a classifier of scikit-learn, for tools that support no other classifiers."""

from __future__ import annotations

from typing import cast

import numpy as np
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.utils.validation import check_is_fitted

from encoders.survey import NumericFeature
from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
from ldp_aggregator.classifiers.row_reader import SurveyClassifier
from ldp_aggregator.classifiers.stored_model import SurveyEstimates
from ldp_aggregator.prediction.scoring import DiscreteLikelihood, GaussianLikelihood
from ldp_aggregator.results_file import ModelError, no_classifier


def to_sklearn(model: SurveyClassifier | SurveyEstimates) -> CategoricalNB | GaussianNB:
    """Return scikit-learn's classifier with the same probabilities.

    If all features are categories or bins, it is a CategoricalNB over ``model.encode(X)``: the index of each
    value in the survey, missing last. If all are numbers, it is a GaussianNB over the numbers in their own
    units. It does not clip numbers, so it agrees with the model only within the survey's bounds, and up to
    rounding to the survey's grid of 2^-20. If all labels have probability zero, it returns NaN, whereas
    `NaiveBayes` returns uniform probabilities.

    Raises
    ------
    ModelError
        If the model was trained by a curator or mixes both kinds, or if numbers can be missing or are
        projected: neither classifier supports that.
        :func:`~ldp_aggregator.classifiers.export.onnx.save_onnx` can.
    """
    if isinstance(model, SurveyEstimates):
        raise no_classifier(model.plan_, "there is nothing to export")
    check_is_fitted(model)
    if not isinstance(model, NaiveBayes):
        raise ModelError("only models of ldp-train can be exported to scikit-learn: use the model itself")
    is_numeric = [isinstance(feature, NumericFeature) for feature in model.plan_.features]
    if not any(is_numeric):
        return _build_categorical_nb(model)
    if not all(is_numeric):
        mixed = [each.name for each, number in zip(model.plan_.features, is_numeric, strict=True) if number]
        raise ModelError(
            f"scikit-learn has no classifier for both numbers ({', '.join(mixed)}) and categories: give the "
            f"numbers bins in a new survey, or export the model with save_onnx"
        )
    return _build_gaussian_nb(model)


def _build_categorical_nb(model: NaiveBayes) -> CategoricalNB:
    log_tables = [cast(DiscreteLikelihood, each).log_table.T for each in model.log_probabilities_.likelihoods]
    peer = CategoricalNB()
    _set_labels(peer, model)
    peer.class_log_prior_ = model.log_probabilities_.prior
    peer.feature_log_prob_ = log_tables
    peer.category_count_ = [np.exp(each) * peer.class_count_[:, None] for each in log_tables]
    peer.n_categories_ = np.array([each.shape[1] for each in log_tables])
    return peer


def _build_gaussian_nb(model: NaiveBayes) -> GaussianNB:
    features = cast(tuple[NumericFeature, ...], model.plan_.features)
    likelihoods = cast(tuple[GaussianLikelihood, ...], model.log_probabilities_.likelihoods)
    names = [feature.name for feature in features if feature.missing == "category"]
    if names:
        raise ModelError(
            f"GaussianNB needs numbers, and {', '.join(names)} can be missing: export it with save_onnx"
        )
    if model.plan_.projection:
        raise ModelError("GaussianNB does not support projections: export it with save_onnx")
    peer = GaussianNB(var_smoothing=0.0)
    _set_labels(peer, model)
    peer.class_prior_ = np.exp(model.log_probabilities_.prior)
    pairs = list(zip(features, likelihoods, strict=True))
    peer.theta_ = np.stack([feature.original(each.mean) for feature, each in pairs], axis=1)
    peer.var_ = np.stack([feature.width**2 / each.precision for feature, each in pairs], axis=1)
    peer.epsilon_ = 0.0
    return peer


def _set_labels(peer: CategoricalNB | GaussianNB, model: NaiveBayes) -> None:
    peer.classes_ = model.classes_
    peer.n_features_in_ = len(model.plan_.features)
    peer.class_count_ = np.exp(model.log_probabilities_.prior) * model.estimates_.reports
