"""Quickly or not, labels are the same: those of the scores."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from encoders.errors import RowError
from ldp_aggregator.estimation import Gaussian
from ldp_aggregator.models.fast_predict import OPEN
from ldp_aggregator.models.naive_bayes import NaiveBayes
from tests.ldp_aggregator.models.chance import DISCRETE, NUMERIC, model_of, numbers, whole_rows


def slowly(model, X):
    return model.classes_[model.predict_joint_log_proba(X).argmax(axis=1)]


def decided(model, X):
    return np.mean(model._quick.best(X) != OPEN)


@pytest.mark.parametrize("labels", [2, 3, 9])
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.int32])
def test_whole_numbers_find_their_labels(labels, dtype):
    model, X = model_of(DISCRETE, labels), whole_rows().astype(dtype)
    np.testing.assert_array_equal(model.predict(X), slowly(model, X))
    np.testing.assert_array_equal(model.predict(np.asfortranarray(X)), slowly(model, X))
    assert decided(model, X) == 1
    vetoes = model_of(DISCRETE, labels, vetoed=0)
    np.testing.assert_array_equal(vetoes.predict(X), slowly(vetoes, X))


@pytest.mark.parametrize("labels", [2, 3, 9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_numbers_find_their_labels(labels, dtype):
    model, X = model_of(NUMERIC, labels), numbers().astype(dtype)
    np.testing.assert_array_equal(model.predict(X), slowly(model, X))
    assert decided(model, X) > 0.99


@pytest.mark.parametrize("labels", [2, 4])
def test_mixed_rows_and_frames_and_columns_give_one_answer(labels):
    model = model_of(NUMERIC + DISCRETE, labels)
    X = np.column_stack([numbers().astype(np.int64), whole_rows()])
    frame = pd.DataFrame(X, columns=model.feature_names_in_)
    frame["age"] += 0.5
    frame.loc[::7, "debt"] = np.nan
    expected = slowly(model, frame.to_dict("records"))
    np.testing.assert_array_equal(model.predict(frame), expected)
    np.testing.assert_array_equal(model.predict(frame[frame.columns[::-1]]), expected)
    columns = {name: frame[name].to_numpy() for name in frame}
    np.testing.assert_array_equal(model.predict(columns), expected)
    np.testing.assert_array_equal(model.predict(X), slowly(model, X))
    assert model._quick.reads(X)
    assert not model._quick.reads(frame.to_dict("series"))


def test_a_tie_is_told_by_the_scores():
    model = model_of(DISCRETE, 2)
    even = [np.full((feature.size, 2), 1 / feature.size) for feature in model.plan_.features]
    tied = NaiveBayes.from_probabilities(model.plan_, np.full(2, 0.5), even, {"estimator": "default"})
    assert decided(tied, whole_rows()) == 0
    assert set(tied.predict(whole_rows())) == {"label 0"}


def test_numbers_beside_a_border_are_told_by_their_place_on_the_grid():
    # within a step of the grid around where two labels are as likely
    plan = model_of(NUMERIC, 2).plan_
    shares = (None, np.full(2, 0.5))
    sides = [Gaussian(np.array([-0.25, 0.25]), np.full(2, 0.01), missing) for missing in shares]
    model = NaiveBayes.from_probabilities(plan, np.full(2, 0.5), sides, {"estimator": "default"})
    X = np.column_stack([50 + np.linspace(-1, 1, 4001) * 1e-3, np.full(4001, (250000 - 1000.5) / 2)])
    np.testing.assert_array_equal(model.predict(X), slowly(model, X))
    assert 0 < decided(model, X) < 1
    careless = dataclasses.replace(model._quick, doubt=0.0).best(X)
    assert (model.classes_[careless] != slowly(model, X)).any()


@pytest.mark.parametrize("wrong", [4, 99, -(2**63), 2**63 - 1])
def test_a_number_that_is_no_value_is_refused_by_its_row(wrong):
    model, X = model_of(DISCRETE), whole_rows()
    X[1234, 0] = wrong
    with pytest.raises(RowError, match=r"^grade: row 1235: is not one of the survey's values"):
        model.predict(X)


def test_what_is_no_plain_number_takes_the_general_way():
    model, X = model_of(DISCRETE), whole_rows(50)
    for table in (X.astype(object), X.astype(float), np.abs(X).astype(np.uint64)):
        assert not model._quick.reads(table)
    np.testing.assert_array_equal(model.predict(X.astype(object)), model.predict(X))
    np.testing.assert_array_equal(model.predict(X.astype(float)), model.predict(X))
    columns = dict(zip(model.feature_names_in_, X.T, strict=True))
    columns["sort"] = columns["sort"][:-1]
    with pytest.raises(RowError, match=r"^sort: has 49 rows, and the first column 50"):
        model.predict(columns)


def test_numbers_without_a_bound_that_a_double_can_tell_are_left_to_the_scores():
    model = model_of("[features.age]\nrange = [1000000000000, 1000000000001]")
    X = 1e12 + np.random.default_rng(1).random((200, 1))
    np.testing.assert_array_equal(model.predict(X), slowly(model, X))
    assert decided(model, X) == 0


def test_many_values_and_projections_need_the_general_way():
    assert model_of('[features.a]\nvalues = ["1", "5000"]')._quick is None
    for far in ("range = [0, 1e18]\nbins = 3", "range = [0, 1e18]\nbins = 2", "edges = [0, 1e17, 1e18]"):
        model = model_of(f"[features.a]\n{far}")
        assert model._quick is None
        X = np.array([[0], [10**17], [10**18], [2**62]])
        np.testing.assert_array_equal(model.predict(X), slowly(model, X))
    projected = """
[projection.inputs.hours]
range = [0, 12]
[features.mixture]
weights = [1]
range = [-1, 1]
"""
    model = model_of(projected)
    assert model._quick is None
    X = np.linspace(0, 12, 50)[:, None]
    np.testing.assert_array_equal(model.predict(X), slowly(model, X))
