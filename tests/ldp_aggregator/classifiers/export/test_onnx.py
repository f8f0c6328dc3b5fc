"""An ONNX file predicts the labels and probabilities of the model."""

import sys
from fractions import Fraction

import numpy as np
import onnx
import onnxruntime
import pytest

from encoders.errors import RowError
from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator import ModelError, NaiveBayes, load_model, save_onnx
from ldp_aggregator.classifiers.export.onnx import to_onnx
from ldp_central.curator_training import CuratorTraining, read_curator_rows
from ldp_central.promise import Promise
from tests.ldp_aggregator.prediction.random_models import (
    DISCRETE,
    NUMERIC,
    give_probabilities,
    random_integers,
    random_model,
    random_numbers,
)
from tests.support.central_surveys import make_csv, survey_text

PROJECTED = """
[projection.inputs.hours]
range = [0, 12]
missing = "category"
[projection.inputs.age]
range = [0, 100]
[features.grade]
values = ["a", "ä"]
[features.first]
weights = [0.5, 0.25]
range = [-0.7, 0.7]
missing = "category"
[features.second]
weights = [-1, 0]
offset = 0.125
range = [-0.7, 0.7]
bins = 5
missing = "category"
"""


def run(model: NaiveBayes, columns: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return label and probabilities from ONNX Runtime."""
    made = to_onnx(model)
    onnx.checker.check_model(made, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors state what is refused
    session = onnxruntime.InferenceSession(made.SerializeToString(), options)
    assert [each.name for each in session.get_inputs()] == list(columns)
    assert [each.shape for each in session.get_inputs()] == [["rows"]] * len(columns)
    feed = {
        name: column if column.dtype == object else column.astype(float) for name, column in columns.items()
    }
    return session.run(["label", "probabilities"], feed)


def agree(model: NaiveBayes, columns: dict[str, np.ndarray]) -> None:
    labels, probabilities = run(model, columns)
    np.testing.assert_array_equal(labels, model.predict(columns))
    np.testing.assert_allclose(probabilities, model.predict_proba(columns), rtol=1e-6, atol=1e-12)


def columns_of(model: NaiveBayes) -> dict[str, np.ndarray]:
    """Return rows of all kinds: outside the bounds, on edges, missing where they may be."""
    grade, hours, sort = random_integers().T
    age, debt = random_numbers().T
    grade = grade.astype(str).astype(object)
    grade[::5], grade[1::5] = "", "none"
    debt[::7], debt[1::9] = np.nan, np.nan
    known = {
        "grade": grade,
        "hours": hours,
        "sort": sort.astype(str).astype(object),
        "age": age,
        "debt": debt,
    }
    return {name: known[name] for name in model.feature_names_in_}


@pytest.mark.parametrize("labels", [2, 5])
@pytest.mark.parametrize("features", [DISCRETE, NUMERIC, NUMERIC + DISCRETE])
def test_labels_and_probabilities_are_those_of_the_model(features, labels):
    model = random_model(features, labels)
    agree(model, columns_of(model))
    vetoes = random_model(features, labels, vetoed=0)
    agree(vetoes, columns_of(vetoes))


def test_a_row_without_a_possible_label_is_uniform():
    model = random_model('[features.tea]\nvalues = ["a", "b", "c"]', 2)
    table = np.array([[0, 0], [0.5, 1], [0.5, 0]])
    model = give_probabilities(model, np.array([0.2, 0.8]), [table])
    agree(model, {"tea": np.array(["a", "b", "c"], dtype=object)})
    assert run(model, {"tea": np.array(["a"], dtype=object)})[1].tolist() == [[0.5, 0.5]]


def test_a_model_with_a_projection_is_exported():
    rng = np.random.default_rng(3)
    hours, age = rng.uniform(-1, 13, 2000), rng.uniform(-5, 120, 2000)
    hours[::6] = np.nan
    grade = rng.choice(["a", "ä"], 2000).astype(object)
    agree(random_model(PROJECTED), {"hours": hours, "age": age, "grade": grade})


def test_a_number_that_is_always_the_same_is_one_bin():
    rows = [{"same": 7.0, "tea": tea} for tea in ("black", "green", "black")] * 9
    model = NaiveBayes(epsilon=8, random_state=1).fit(rows, np.arange(27) % 2)
    assert model.plan_.features[0].size == 1
    agree(model, {"same": np.array([7.0, 8.0]), "tea": np.array(["black", "green"], dtype=object)})


@pytest.mark.slow
def test_trained_models_are_written_as_files(tmp_path, model_path, number_model_path):
    for path in (model_path, number_model_path):
        model = load_model(path)
        save_onnx(tmp_path / "model.onnx", model)
        made = onnx.load(tmp_path / "model.onnx")
        properties = {each.key: each.value for each in made.metadata_props}
        assert properties == {"survey": model.plan_.id, "plan_digest": model.plan_.digest, "epsilon": "8"}
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
        row = {"tea": "green", "hours": 3.0, "age": 70.0}
        feed = {
            each.name: np.array([row[each.name]], dtype=object if each.name == "tea" else float)
            for each in session.get_inputs()
        }
        label, shares = session.run(None, feed)
        assert label == model.predict([row])
        np.testing.assert_allclose(shares, model.predict_proba([row]), rtol=1e-6)
    assert sorted(each.name for each in tmp_path.iterdir() if "onnx" in each.name) == ["model.onnx"]


@pytest.mark.parametrize(
    ("features", "wrong"),
    [
        ("values = ['1', '2']", "3"),
        ("values = ['1', '2']", ""),
        ("range = [0, 1]", np.nan),
        ("range = [0, 1]", np.inf),
        ("range = [0, 1]\nbins = 3", np.nan),
        ("range = [0, 1]\nbins = 3", -np.inf),
        ('range = [0, 1]\nmissing = "category"', -np.inf),
        ('range = [0, 1]\nbins = 3\nmissing = "category"', np.inf),
    ],
)
def test_rows_that_the_model_refuses_are_refused(features, wrong):
    model = random_model(f"[features.x]\n{features}")
    columns = {"x": np.array([wrong], dtype=object if isinstance(wrong, str) else float)}
    with pytest.raises(RowError):
        model.predict(columns)
    with pytest.raises(
        onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument, match="out of data bounds"
    ):
        run(model, columns)


def test_a_missing_input_of_a_projection_is_refused_unless_it_can_be_missing():
    columns = {"hours": np.array([3.0]), "age": np.array([np.nan]), "grade": np.array(["a"], dtype=object)}
    with pytest.raises(
        onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument, match="out of data bounds"
    ):
        run(random_model(PROJECTED), columns)


def test_features_may_have_the_names_of_outputs():
    model = random_model("[features.label]\nrange = [0, 1]\n[features.'step 1']\nrange = [0, 1]")
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    assert [each.name for each in session.get_outputs()] == ["label_", "probabilities"]


@pytest.mark.parametrize("labels", [[7, 3], [True, False]])
def test_labels_keep_their_type(labels):
    X = np.random.default_rng(1).normal(size=(400, 2))
    model = NaiveBayes(epsilon=8, random_state=1).fit(X, np.array(labels)[(X[:, 0] > 0).astype(int)])
    found, _ = run(model, {"0": X[:, 0], "1": X[:, 1]})
    np.testing.assert_array_equal(found, model.predict(X))
    assert found.dtype.kind == model.classes_.dtype.kind


def test_without_onnx_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModelError, match=r"ldp-bayes\[onnx\]"):
        to_onnx(random_model(DISCRETE))


@pytest.mark.slow
def test_naive_bayes_of_a_curator_is_exported_and_other_learners_are_refused(tmp_path):
    (tmp_path / "rows.csv").write_text(make_csv())
    data = read_curator_rows(read_survey(survey_text()), tmp_path / "rows.csv")
    models = {}
    for learner in ("nb", "linear", "tree"):
        path = tmp_path / f"{learner}.json"
        path.write_bytes(CuratorTraining(data, Promise(Fraction(1)), learner).run(FastStream(1)))
        models[learner] = load_model(path)
    columns = {
        "tea": np.array(["black", "", "none", "green"], dtype=object),
        "hours": np.array([3.5, 0, 12, 7]),
        "cups": np.array([np.nan, 3, 8, 0]),
    }
    label, probabilities = run(models["nb"], columns)
    rows = {**columns, "tea": ["black", None, "none", "green"]}
    np.testing.assert_allclose(probabilities, models["nb"].predict_proba(rows), rtol=1e-12)
    assert (label == models["nb"].predict(rows)).all()
    properties = {each.key: each.value for each in to_onnx(models["nb"]).metadata_props}
    assert (properties["trust"], properties["adjacency"]) == ("central", "add-remove")
    for learner in ("linear", "tree"):
        with pytest.raises(ModelError, match="only Naive Bayes can be exported"):
            save_onnx(tmp_path / "model.onnx", models[learner])
    assert not (tmp_path / "model.onnx").exists()
