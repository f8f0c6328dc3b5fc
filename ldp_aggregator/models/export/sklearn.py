"""A model as scikit-learn's own classifier, for tools that know no other."""

from __future__ import annotations

from typing import cast

import numpy as np
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.utils.validation import check_is_fitted

from encoders.survey import NumericFeature
from ldp_aggregator.models.model_file import ModelError
from ldp_aggregator.models.naive_bayes import NaiveBayes
from ldp_aggregator.models.scoring import DiscreteLikelihood, GaussianLikelihood


def to_sklearn(model: NaiveBayes) -> CategoricalNB | GaussianNB:
    """Return scikit-learn's classifier with the same probabilities.

    If all features are categories or bins, a CategoricalNB over ``model.encode(X)``: each value's place
    in the survey, a missing one last. If all are numbers, a GaussianNB over the numbers in their own
    units; it does not clip, so it agrees within the survey's bounds, and as far as the survey's grid of
    2^-20 lets it. A row that every label vetoes is NaN there, and uniform here.

    Raises
    ------
    ModelError
        If the model mixes both kinds, or if numbers can be missing or are projected: neither classifier
        can say that. :func:`~ldp_aggregator.models.export.onnx.save_onnx` can.
    """
    check_is_fitted(model)
    numeric = [isinstance(feature, NumericFeature) for feature in model.plan_.features]
    if not any(numeric):
        return _categorical(model)
    if not all(numeric):
        mixed = [each.name for each, number in zip(model.plan_.features, numeric, strict=True) if number]
        raise ModelError(
            f"scikit-learn has no classifier of numbers ({', '.join(mixed)}) and categories in one: give the "
            f"numbers bins in the survey and ask again, or export the model by save_onnx"
        )
    return _gaussian(model)


def _categorical(model: NaiveBayes) -> CategoricalNB:
    logs = [cast(DiscreteLikelihood, column).log_table.T for column in model.log_probabilities_.likelihoods]
    peer = CategoricalNB()
    _label(peer, model)
    peer.class_log_prior_ = model.log_probabilities_.prior
    peer.feature_log_prob_ = logs
    peer.category_count_ = [np.exp(each) * peer.class_count_[:, None] for each in logs]
    peer.n_categories_ = np.array([each.shape[1] for each in logs])
    return peer


def _gaussian(model: NaiveBayes) -> GaussianNB:
    features = cast(tuple[NumericFeature, ...], model.plan_.features)
    columns = cast(tuple[GaussianLikelihood, ...], model.log_probabilities_.likelihoods)
    lost = [feature.name for feature in features if feature.missing == "category"]
    if lost:
        raise ModelError(
            f"GaussianNB knows no missing numbers, and {', '.join(lost)} can be missing: export by save_onnx"
        )
    if model.plan_.projection:
        raise ModelError("GaussianNB knows no projection, and this survey has one: export by save_onnx")
    peer = GaussianNB(var_smoothing=0.0)
    _label(peer, model)
    peer.class_prior_ = np.exp(model.log_probabilities_.prior)
    pairs = list(zip(features, columns, strict=True))
    peer.theta_ = np.stack([feature.original(column.mean) for feature, column in pairs], axis=1)
    peer.var_ = np.stack([feature.width**2 / column.precision for feature, column in pairs], axis=1)
    peer.epsilon_ = 0.0
    return peer


def _label(peer: CategoricalNB | GaussianNB, model: NaiveBayes) -> None:
    peer.classes_ = model.classes_
    peer.n_features_in_ = len(model.plan_.features)
    peer.class_count_ = np.exp(model.log_probabilities_.prior) * model.estimates_["reports"]
