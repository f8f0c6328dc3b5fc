"""Labels have the types of the survey's values, or of the labels that a classifier was trained on."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score

from encoders.errors import RowError
from encoders.randomness import FastStream
from encoders.survey import Label, Plan
from ldp_aggregator import NaiveBayes, load_model, to_sklearn
from ldp_aggregator.classifiers.export.onnx import to_onnx
from ldp_aggregator.prediction.predictor import encode_any_labels, spell_labels, to_typed_labels
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import save_results
from ldp_aggregator.simulated_population import simulate_reports
from tests.support.surveys import make_plan


def plan_of(values: list[Any]) -> Plan:
    features = {"smokes": [True, False], "tea": ["black", "green"]}
    return make_plan(epsilon=8.0, label={"name": "ill", "values": values}, features=features)


@pytest.mark.parametrize(
    ("values", "typed"),
    [
        (("true", "false"), [True, False]),
        (("1", "0"), [1, 0]),
        (("10", "-9", "9"), [10, -9, 9]),
        (("01", "2"), ["01", "2"]),
        (("-0", "1"), ["-0", "1"]),
        (("1", "1.5"), ["1", "1.5"]),
        (("\u0661", "2"), ["\u0661", "2"]),
        (("true", "false", "unknown"), ["true", "false", "unknown"]),
        (("9223372036854775807", "-9223372036854775808"), [2**63 - 1, -(2**63)]),
        (("9223372036854775808", "1"), ["9223372036854775808", "1"]),
        (("9" * 5000, "1"), ["9" * 5000, "1"]),
    ],
)
def test_labels_are_booleans_or_integers_if_all_values_are(values, typed):
    found = to_typed_labels(values).tolist()
    assert found == typed
    assert [type(each) for each in found] == [type(each) for each in typed]


@pytest.mark.parametrize(
    ("values", "y", "spelt"),
    [
        (("true", "false"), [False, True], [True, False]),
        (("true", "false"), ["FALSE", "True"], ["True", "FALSE"]),
        (("true", "false"), [1, 0], [1, 0]),
        (("true", "false"), ["true"], ["true", "false"]),
        (("2", "1"), [1.0, 2.0], [2.0, 1.0]),
        (("2", "1", "3"), ["3", "1"], ["2", "1", "3"]),
        (("1", "many"), [1, 1], ["1", "many"]),
    ],
)
def test_after_fit_labels_are_spelt_as_in_y(values, y, spelt):
    label = Label("ill", values)
    found = spell_labels(label, np.array(y), encode_any_labels(label, y)).tolist()
    assert found == spelt
    assert [type(each) for each in found] == [type(each) for each in spelt]


def test_labels_that_would_be_repeated_are_texts():
    label, y = Label("ill", ("1", "true", "false")), np.array([1, True, False], dtype=object)
    assert spell_labels(label, y, encode_any_labels(label, y)).tolist() == ["1", "true", "false"]


# -- classifiers --------------------------------------------------------------------------------

CASES = [([True, False], [True, False]), ([1, 0], [1, 0]), (["10", "9"], [10, 9])]


def people(labels: list[Any], count: int = 2000) -> tuple[pd.DataFrame, np.ndarray]:
    """Return people of whom 90% of the first label smoke, and 10% of the second."""
    rng = np.random.default_rng(4)
    codes = (rng.random(count) < 0.4).astype(int)
    smokes = np.where(rng.random(count) < 0.9, codes == 0, codes == 1)
    frame = pd.DataFrame({"smokes": smokes, "tea": rng.choice(["black", "green"], count)})
    return frame, np.array(labels)[codes]


def train(folder: Path, values: list[Any]) -> NaiveBayes:
    plan = plan_of(values)
    frame, labels = people([0, 1])
    codes = np.column_stack([np.where(frame["smokes"], 0, 1), frame["tea"] == "green"]).astype(np.int64)
    snapshot = simulate_reports(plan, codes, labels, FastStream(2))
    save_results(folder / "model.json", make_results(snapshot))
    return load_model(folder / "model.json")


@pytest.mark.slow
@pytest.mark.parametrize(("values", "labels"), CASES)
def test_a_loaded_model_returns_and_scores_the_survey_s_own_types(tmp_path, values, labels):
    model = train(tmp_path, values)
    frame, y = people(labels)
    assert model.classes_.tolist() == sorted(labels)
    assert model.classes_.dtype == y.dtype
    accuracy = float(accuracy_score(y, model.predict(frame)))
    assert accuracy > 0.85
    texts = np.array([str(each).lower() for each in y.tolist()])
    assert model.score(frame, y) == model.score(frame, texts) == model.score(frame, list(y)) == accuracy
    assert model.score(frame, y, sample_weight=model.predict(frame) == y) == 1
    exported = to_sklearn(model)
    assert exported.score(model.encode(frame), y) == pytest.approx(accuracy)
    assert exported.predict(model.encode(frame)).dtype == y.dtype


@pytest.mark.parametrize(("values", "labels"), CASES)
def test_onnx_files_return_the_survey_s_own_types(tmp_path, values, labels):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = train(tmp_path, values)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    cells = {"smokes": ["true", "false"], "tea": ["green", "black"]}
    feed = {name: np.array(column, dtype=object) for name, column in cells.items()}
    assert session.run(["label"], feed)[0].tolist() == model.predict(cells).tolist() == labels


@pytest.mark.slow
@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc", "balanced_accuracy"])
@pytest.mark.parametrize(("values", "labels"), [*CASES, ([True, False], ["TRUE", "FALSE"])])
def test_a_loaded_model_keeps_its_survey_in_clone_and_cross_validation(tmp_path, values, labels, scoring):
    model = train(tmp_path, values).set_params(random_state=1)
    frame, y = people(labels)
    assert cross_val_score(model, frame, y, cv=3, scoring=scoring).min() > 0.8
    copy = clone(model).fit(frame, y)
    assert copy.plan_ == model.plan_
    assert copy.classes_.tolist() == sorted(labels)


def test_a_label_that_the_survey_does_not_have_is_named_by_its_row(tmp_path):
    model = train(tmp_path, [1, 0])
    frame, y = people([1, 0], 10)
    y[3] = 7
    with pytest.raises(RowError, match=r"^ill: row 4: is not one of the survey's values: \"1\", \"0\""):
        model.score(frame, y)
    series = pd.Series(y, index=range(20, 30))
    for use in (model.score, clone(model).fit):
        with pytest.raises(RowError, match=r"^ill: index 23: is not one of the survey's values"):
            use(frame, series)


def test_an_error_names_the_classifiers_that_replace_texts_by_codes():
    plan = plan_of(["yes", "no"])
    frame, y = people(["yes", "no"])
    stacking = StackingClassifier([("bayes", NaiveBayes(survey=plan))], cv=2)
    with pytest.raises(RowError, match=r"^ill: row 1: is not one of .* the numbers 0 to 1: StackingClass"):
        stacking.fit(frame, y)
    for labels in ([0, 2], [0, 0], ["0", "1"], [0.5, 1.0]):
        with pytest.raises(RowError) as caught:
            encode_any_labels(plan.label, np.array(labels))
        assert "StackingClassifier" not in str(caught.value)


def test_a_class_that_only_the_test_rows_have_counts_as_wrong_without_a_survey():
    frame, y = people([1, 0])
    model = NaiveBayes(epsilon=8, random_state=1).fit(frame, y)
    assert 0 < model.score(frame, np.where(frame["tea"] == "green", y, 7)) < model.score(frame, y)


@pytest.mark.slow
def test_boolean_features_are_read_in_other_spellings(tmp_path):
    model = train(tmp_path, [1, 0]).set_params(random_state=1)
    frame, y = people([1, 0])
    expected = model.predict_proba(frame)
    refitted = clone(model).fit(frame, y).predict_proba(frame)
    for kind in (int, float, str, "boolean", object):
        other = frame.astype({"smokes": kind})
        np.testing.assert_array_equal(model.predict_proba(other), expected)
        np.testing.assert_array_equal(model.predict(other), model.predict(frame))
        np.testing.assert_array_equal(clone(model).fit(other, y).predict_proba(other), refitted)
    with pytest.raises(RowError, match=r"^smokes: index 1: is not one of"):
        model.predict(pd.DataFrame({"smokes": [1, 2], "tea": "black"}))
