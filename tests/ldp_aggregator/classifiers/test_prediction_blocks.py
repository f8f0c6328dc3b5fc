"""Rows that are predicted in blocks get the labels of the scores."""

import numpy as np
import pandas as pd
import pytest

from encoders.errors import RowError
from ldp_aggregator.classifiers import row_reader
from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
from tests.ldp_aggregator.prediction.random_models import (
    DISCRETE,
    NUMERIC,
    random_integers,
    random_model,
    random_numbers,
)


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch):
    monkeypatch.setattr(row_reader, "_BLOCK_ROWS", 1000)


def predict_by_scores(model: NaiveBayes, X: list[dict[str, float]] | np.ndarray) -> np.ndarray:
    return model.classes_[model.predict_joint_log_proba(X).argmax(axis=1)]


@pytest.mark.parametrize("labels", [2, 3, 9])
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.int32, object])
def test_whole_numbers_get_the_labels_of_the_scores(labels, dtype):
    model, X = random_model(DISCRETE, labels), random_integers().astype(dtype)
    np.testing.assert_array_equal(model.predict(X), predict_by_scores(model, X))
    np.testing.assert_array_equal(model.predict(np.asfortranarray(X)), predict_by_scores(model, X))
    vetoes = random_model(DISCRETE, labels, vetoed=0)
    np.testing.assert_array_equal(vetoes.predict(X), predict_by_scores(vetoes, X))


@pytest.mark.parametrize("labels", [2, 3, 9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_numbers_get_the_labels_of_the_scores(labels, dtype):
    model, X = random_model(NUMERIC, labels), random_numbers().astype(dtype)
    np.testing.assert_array_equal(model.predict(X), predict_by_scores(model, X))


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


@pytest.mark.parametrize("wrong", [4, 99, -(2**63), 2**63 - 1])
def test_a_number_that_is_no_value_is_refused_by_its_row(wrong):
    model, X = random_model(DISCRETE), random_integers()
    X[1234, 0] = wrong
    with pytest.raises(RowError, match=r"^grade: row 1235: is not one of the survey's values"):
        model.predict(X)


def test_columns_of_unequal_length_are_refused():
    model, X = random_model(DISCRETE), random_integers(50)
    columns = dict(zip(model.feature_names_in_, X.T, strict=True))
    columns["sort"] = columns["sort"][:-1]
    with pytest.raises(RowError, match=r"^sort: has 49 rows, but the first column has 50"):
        model.predict(columns)
