"""Unknown values are errors that name their row, or are left out of the score."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from encoders.errors import RowError
from ldp_aggregator import NaiveBayes, load_model
from ldp_aggregator.prediction.scoring import normalise_log_scores
from tests.ldp_aggregator.prediction.random_models import DISCRETE, random_integers, random_model


@pytest.fixture
def model(number_model_path: Path) -> NaiveBayes:
    """Return a model of tea, hours (which can be missing) and age."""
    return load_model(number_model_path).set_params(handle_unknown="ignore")


def score_without(model: NaiveBayes, row: dict[str, object], names: set[str]) -> np.ndarray:
    """Return the log-probabilities of one row from the likelihoods of the other features."""
    [codes] = model.encode([row])
    scores = model.log_probabilities_.prior[:, None].copy()
    for feature, code, likelihood in zip(
        model.plan_.features, codes, model.log_probabilities_.likelihoods, strict=True
    ):
        if feature.name not in names:
            likelihood.add_to(scores, np.array([code]))
    return normalise_log_scores(scores.T)


KNOWN = {"tea": "green", "hours": 5.0, "age": 50.0}


@pytest.mark.parametrize(
    "unknown",
    [
        {"tea": "oolong"},
        {"tea": 3},
        {"tea": None},
        {"tea": np.nan},
        {"age": None},
        {"age": float("nan"), "tea": ""},
    ],
)
def test_unknown_values_are_left_out_of_the_score(model, unknown):
    expected = score_without(model, KNOWN, set(unknown))
    rows = [KNOWN, KNOWN | unknown, KNOWN]
    found = model.predict_log_proba(rows)
    np.testing.assert_allclose(found[1], expected[0], rtol=1e-12)
    np.testing.assert_array_equal(found[[0, 2]], np.repeat(model.predict_log_proba([KNOWN]), 2, axis=0))
    assert model.predict(rows)[1] == model.classes_[expected.argmax()]
    with pytest.raises(RowError, match=r": row 2: "):
        model.set_params(handle_unknown="error").predict(rows)


def test_a_row_without_any_known_value_has_the_probabilities_of_the_classes():
    model = random_model(DISCRETE.replace('missing = "category"', "")).set_params(handle_unknown="ignore")
    names = [entry.name for entry in model.plan_.entries]
    found = model.predict_proba([dict.fromkeys(names)])
    np.testing.assert_allclose(found[0], np.exp(model.log_probabilities_.prior), rtol=1e-12)


def test_missing_values_that_the_survey_knows_are_not_left_out(model):
    row = KNOWN | {"hours": None}
    found = model.predict_log_proba([row])
    np.testing.assert_allclose(found, score_without(model, row, set()), rtol=1e-12)


def test_values_that_are_no_category_and_no_number_stay_errors(model):
    for hours in ("few", float("inf")):
        with pytest.raises(RowError, match=r"^hours: row 1: "):
            model.predict([KNOWN | {"hours": hours}])


@pytest.mark.parametrize("labels", [2, 4])
def test_predictions_and_scores_agree_about_unknown_numbers(labels):
    model = random_model(DISCRETE, labels).set_params(handle_unknown="ignore")
    X = random_integers().astype(float)
    X[::7, 0] = np.nan
    X[::5, 1] = 1e6
    X[::3, -1] = np.nan
    scores = model.predict_joint_log_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])


def test_known_rows_have_the_same_scores_in_both_ways():
    model, X = random_model(DISCRETE), random_integers()
    expected = model.predict_joint_log_proba(X)
    model.set_params(handle_unknown="ignore")
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), expected)


def test_a_clone_keeps_the_parameter(model):
    assert clone(model).handle_unknown == "ignore"


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.predict([KNOWN]),
        lambda model: model.predict_proba([KNOWN]),
        lambda model: model.fit([KNOWN], [1]),
    ],
)
def test_an_unknown_parameter_is_refused(model, use):
    with pytest.raises(ValueError, match="handle_unknown must be one of error, ignore, not 'drop'"):
        use(model.set_params(handle_unknown="drop"))


# -- errors -------------------------------------------------------------------------------------


def test_errors_name_a_row_by_the_integer_index_of_the_frame(number_model_path):
    model = load_model(number_model_path)
    frame = pd.DataFrame([KNOWN] * 4, index=[10, 20, 30, 40])
    frame.loc[30, "tea"], frame.loc[40, "age"] = "s3cret", None
    for use in (
        model.predict,
        model.predict_proba,
        model.encode,
        lambda rows: clone(model).fit(rows, ["yes", "no"] * 2),
    ):
        with pytest.raises(RowError) as caught:
            use(frame)
        assert [str(each).partition(":")[2].partition(": ")[0] for each in caught.value.problems] == [
            " index 30",
            " index 40",
        ]
        assert "s3cret" not in str(caught.value)
    with pytest.raises(RowError, match=r"^tea: row 3: "):
        model.predict(frame.to_dict("records"))


@pytest.mark.parametrize(
    ("index", "place"),
    [
        (["ann@example.org", "bob@example.org"], "row 2"),
        (pd.CategoricalIndex(["ann", "bob"]), "row 2"),
        (pd.MultiIndex.from_tuples([(1, "ann"), (2, "bob")]), "row 2"),
        (pd.Index([1, "bob"]), "row 2"),
        (pd.Index([1, 7], dtype="Int64"), "index 7"),
        (pd.date_range("2026-01-01", periods=2), "index 2026-01-02 00:00:00"),
        (pd.period_range("2026-01", periods=2, freq="M"), "index 2026-02"),
    ],
)
def test_errors_quote_only_an_index_of_integers_or_dates(number_model_path, index, place):
    frame = pd.DataFrame([KNOWN, KNOWN | {"tea": "s3cret"}], index=index)
    with pytest.raises(RowError) as caught:
        load_model(number_model_path).predict(frame)
    assert str(caught.value).startswith(f"tea: {place}: ")
    assert not re.search("bob|s3cret", str(caught.value))


def test_all_missing_columns_are_named_at_once(number_model_path):
    model = load_model(number_model_path)
    for use in (model.predict, model.predict_proba, model.encode):
        with pytest.raises(
            RowError,
            match=r"^hours: the table has no such column: add it\nage: the table has no such column: add it$",
        ):
            use(pd.DataFrame({"tea": ["green"]}))
    with pytest.raises(RowError, match=r"^age: row 2: is absent; give None for a missing value$"):
        model.predict([KNOWN, {"tea": "green", "hours": 1}])


def test_a_single_dict_is_refused_with_the_correction(number_model_path):
    model = load_model(number_model_path)
    for use in (model.predict, model.encode, lambda row: clone(model).fit(row, ["yes"])):
        with pytest.raises(
            ValueError, match=r"^X is a single row \(a dict of values\): give a list of rows, \[row\]$"
        ):
            use(KNOWN)
    columns = {name: [value] for name, value in KNOWN.items()}
    np.testing.assert_array_equal(model.predict(columns), model.predict([KNOWN]))
