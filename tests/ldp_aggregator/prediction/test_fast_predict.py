"""Fast prediction gives the labels of the scores."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from encoders.errors import RowError
from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
from ldp_aggregator.estimation import Gaussian
from ldp_aggregator.prediction.fast_predict import UNDECIDED
from tests.ldp_aggregator.prediction.random_models import (
    DISCRETE,
    NUMERIC,
    give_probabilities,
    random_integers,
    random_model,
    random_numbers,
)


def predict_by_scores(model: NaiveBayes, X: list[dict[str, float]] | np.ndarray) -> np.ndarray:
    return model.classes_[model.predict_joint_log_proba(X).argmax(axis=1)]


def decided_share(model: NaiveBayes, X: np.ndarray) -> float:
    return np.mean(model._fast_predictor.predict(X) != UNDECIDED)


@pytest.mark.parametrize("labels", [2, 3, 9])
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.int32])
def test_whole_numbers_get_the_labels_of_the_scores(labels, dtype):
    model, X = random_model(DISCRETE, labels), random_integers().astype(dtype)
    np.testing.assert_array_equal(model.predict(X), predict_by_scores(model, X))
    np.testing.assert_array_equal(model.predict(np.asfortranarray(X)), predict_by_scores(model, X))
    assert decided_share(model, X) == 1
    vetoes = random_model(DISCRETE, labels, vetoed=0)
    np.testing.assert_array_equal(vetoes.predict(X), predict_by_scores(vetoes, X))


@pytest.mark.parametrize("labels", [2, 3, 9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_numbers_get_the_labels_of_the_scores(labels, dtype):
    model, X = random_model(NUMERIC, labels), random_numbers().astype(dtype)
    np.testing.assert_array_equal(model.predict(X), predict_by_scores(model, X))
    assert decided_share(model, X) > 0.99


@pytest.mark.parametrize("labels", [2, 4])
def test_mixed_rows_frames_and_columns_give_equal_predictions(labels):
    model = random_model(NUMERIC + DISCRETE, labels)
    X = np.column_stack([random_numbers().astype(np.int64), random_integers()])
    frame = pd.DataFrame(X, columns=model.feature_names_in_)
    frame["age"] += 0.5
    frame.loc[::7, "debt"] = np.nan
    expected = predict_by_scores(model, frame.to_dict("records"))
    np.testing.assert_array_equal(model.predict(frame), expected)
    np.testing.assert_array_equal(model.predict(frame[frame.columns[::-1]]), expected)
    columns = {name: frame[name].to_numpy() for name in frame}
    np.testing.assert_array_equal(model.predict(columns), expected)
    np.testing.assert_array_equal(model.predict(X), predict_by_scores(model, X))
    assert model._fast_predictor.supports(X)
    assert not model._fast_predictor.supports(frame.to_dict("series"))


def test_the_scores_decide_a_tie():
    model = random_model(DISCRETE, 2)
    even = [np.full((feature.size, 2), 1 / feature.size) for feature in model.plan_.features]
    tied = give_probabilities(model, np.full(2, 0.5), even)
    assert decided_share(tied, random_integers()) == 0
    assert set(tied.predict(random_integers())) == {"label 0"}


def test_the_grid_decides_numbers_beside_a_border():
    # within one grid step of the point where two labels are equally likely
    shares = (None, np.full(2, 0.5))
    sides = [Gaussian(np.array([-0.25, 0.25]), np.full(2, 0.01), missing) for missing in shares]
    model = give_probabilities(random_model(NUMERIC, 2), np.full(2, 0.5), sides)
    X = np.column_stack([50 + np.linspace(-1, 1, 4001) * 1e-3, np.full(4001, (250000 - 1000.5) / 2)])
    np.testing.assert_array_equal(model.predict(X), predict_by_scores(model, X))
    assert 0 < decided_share(model, X) < 1
    without_bound = dataclasses.replace(model._fast_predictor, error_bound=0.0).predict(X)
    assert (model.classes_[without_bound] != predict_by_scores(model, X)).any()


@pytest.mark.parametrize("wrong", [4, 99, -(2**63), 2**63 - 1])
def test_a_number_that_is_no_value_is_refused_by_its_row(wrong):
    model, X = random_model(DISCRETE), random_integers()
    X[1234, 0] = wrong
    with pytest.raises(RowError, match=r"^grade: row 1235: is not one of the survey's values"):
        model.predict(X)


def test_the_scores_decide_cells_that_are_not_plain_numbers():
    model, X = random_model(DISCRETE), random_integers(50)
    for table in (X.astype(object), X.astype(float), np.abs(X).astype(np.uint64)):
        assert not model._fast_predictor.supports(table)
    np.testing.assert_array_equal(model.predict(X.astype(object)), model.predict(X))
    np.testing.assert_array_equal(model.predict(X.astype(float)), model.predict(X))
    columns = dict(zip(model.feature_names_in_, X.T, strict=True))
    columns["sort"] = columns["sort"][:-1]
    with pytest.raises(RowError, match=r"^sort: has 49 rows, but the first column has 50"):
        model.predict(columns)


def test_the_scores_decide_numbers_too_close_for_doubles():
    model = random_model("[features.age]\nrange = [1000000000000, 1000000000001]")
    X = 1e12 + np.random.default_rng(1).random((200, 1))
    np.testing.assert_array_equal(model.predict(X), predict_by_scores(model, X))
    assert decided_share(model, X) == 0


def test_many_values_and_projections_have_no_fast_prediction():
    assert random_model('[features.a]\nvalues = ["1", "5000"]')._fast_predictor is None
    for far in ("range = [0, 1e18]\nbins = 3", "range = [0, 1e18]\nbins = 2", "edges = [0, 1e17, 1e18]"):
        model = random_model(f"[features.a]\n{far}")
        assert model._fast_predictor is None
        X = np.array([[0], [10**17], [10**18], [2**62]])
        np.testing.assert_array_equal(model.predict(X), predict_by_scores(model, X))
    projected = """
[projection.inputs.hours]
range = [0, 12]
[features.mixture]
weights = [1]
range = [-1, 1]
"""
    model = random_model(projected)
    assert model._fast_predictor is None
    X = np.linspace(0, 12, 50)[:, None]
    np.testing.assert_array_equal(model.predict(X), predict_by_scores(model, X))
