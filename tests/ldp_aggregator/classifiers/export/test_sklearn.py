"""The exported scikit-learn classifiers predict what the model predicts."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from ldp_aggregator import ModelError, NaiveBayes, load_model, to_sklearn
from ldp_aggregator.classifiers.export.onnx import to_onnx
from tests.ldp_aggregator.prediction.random_models import (
    DISCRETE,
    NUMERIC,
    random_integers,
    random_model,
    random_numbers,
)

SURE = NUMERIC.replace('missing = "category"', "")


@pytest.mark.parametrize("labels", [2, 4])
def test_categories_and_bins_are_a_categorical_nb(labels):
    model = random_model(DISCRETE, labels)
    X = random_integers().astype(object)
    X[::3, 0] = None
    peer = to_sklearn(model)
    assert type(peer) is CategoricalNB
    codes = model.encode(X)
    np.testing.assert_array_equal(peer.predict(codes), model.predict(X))
    np.testing.assert_allclose(peer.predict_proba(codes), model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(peer.n_categories_, [6, 5, 2])


def test_a_trained_model_is_exported(model_path):
    model = load_model(model_path)
    rows = [{"tea": "green", "hours": 2.5}, {"tea": "black", "hours": None}]
    peer = to_sklearn(model)
    np.testing.assert_allclose(peer.predict_proba(model.encode(rows)), model.predict_proba(rows))
    assert sum(peer.class_count_) == pytest.approx(20_000)
    for counts, k in zip(peer.category_count_, peer.n_categories_, strict=True):
        assert counts.shape == (2, k)
        np.testing.assert_allclose(counts.sum(axis=1), peer.class_count_)
    assert peer.n_features_in_ == 2


@pytest.mark.parametrize("labels", [2, 4])
def test_numbers_are_a_gaussian_nb_in_their_own_units(labels):
    model, X = random_model(SURE, labels), random_numbers()
    X = np.clip(X, [0, -1000.5], [100, 250000])
    peer = to_sklearn(model)
    assert type(peer) is GaussianNB
    np.testing.assert_allclose(peer.predict_proba(X), model.predict_proba(X), atol=1e-5)
    whole = [0, -1000.5] + model.encode(X) / 2**21 * [100, 251000.5]  # rounded to the grid
    np.testing.assert_array_equal(peer.predict(whole), model.predict(X))
    np.testing.assert_allclose(peer.predict_proba(whole), model.predict_proba(X), atol=1e-9)


def test_models_that_neither_classifier_supports_are_refused(number_model_path):
    with pytest.raises(ModelError, match=r"numbers \(hours, age\) and categories: .*save_onnx"):
        to_sklearn(load_model(number_model_path))
    with pytest.raises(ModelError, match="needs numbers, and debt can be missing"):
        to_sklearn(random_model(NUMERIC))
    projected = (
        "[features.mixture]\nweights = [1]\nrange = [-1, 1]\n[projection.inputs.hours]\nrange = [0, 12]"
    )
    with pytest.raises(ModelError, match="does not support projections"):
        to_sklearn(random_model(projected))


def test_a_classifier_that_is_not_fitted_cannot_be_exported():
    for form in (to_sklearn, to_onnx):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            form(NaiveBayes())
