"""Models of a curator: their files, and that they are scikit-learn classifiers."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.metrics import roc_auc_score

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.classifiers.export.sklearn import to_sklearn
from ldp_aggregator.classifiers.stored_model import CuratorClassifier, load_model
from ldp_aggregator.prediction.linear_model import LinearModel, find_class_scores
from ldp_aggregator.results_file import ModelError, read_trained
from ldp_aggregator.rows.table_input import read_typed_columns
from ldp_central.curator_training import CuratorRows, CuratorTraining, read_curator_rows
from ldp_central.promise import Promise
from tests.support.central_surveys import make_csv, survey_text
from tests.support.damaged_json import signed
from tests.support.surveys import survey_toml

LEARNERS = ("nb", "linear", "tree")
THREE = survey_toml(
    id="three",
    users=3000,
    label={"name": "y", "values": ["3", "1", "2"]},
    features={"a": ["x", "y", "z"], "b": ["0", "1"]},
)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text(make_csv())
    return path


@pytest.fixture(scope="module")
def data(rows: Path) -> CuratorRows:
    return read_curator_rows(read_survey(survey_text()), rows)


@pytest.fixture(scope="module")
def files(data: CuratorRows) -> dict[str, bytes]:
    return {
        learner: CuratorTraining(data, Promise(Fraction(5)), learner).run(FastStream(1))
        for learner in LEARNERS
    }


@pytest.fixture(params=LEARNERS)
def model_path(request: pytest.FixtureRequest, files: dict[str, bytes], tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    path.write_bytes(files[request.param])
    return path


@pytest.fixture
def model(model_path: Path) -> CuratorClassifier:
    loaded = load_model(model_path)
    assert isinstance(loaded, CuratorClassifier)
    return loaded


@pytest.mark.slow
def test_a_loaded_model_is_a_classifier(model, rows):
    columns = read_typed_columns(rows, model.plan_.entries)
    assert is_classifier(model)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == ["tea", "hours", "cups"]
    found = model.predict_proba(columns)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (model.classes_[found.argmax(axis=1)] == model.predict(columns)).all()
    truth = np.array(columns["tired"])
    assert roc_auc_score(truth == "yes", found[:, 1]) > 0.9
    assert model.score(columns, truth) == np.mean(model.predict(columns) == truth) > 0.9
    assert clone(model).survey is not None


def test_rows_are_read_as_by_local_models(model):
    import pandas as pd

    rows = [{"tea": "black", "hours": 3.5, "cups": 7}, {"cups": None, "tea": None, "hours": 11}]
    expected = model.predict_proba(rows)
    for same in (
        pd.DataFrame(rows),
        {name: [row[name] for row in rows] for name in rows[0]},
        [[row[name] for name in ("tea", "hours", "cups")] for row in rows],
    ):
        np.testing.assert_array_equal(model.predict_proba(same), expected)
    with pytest.raises(ValueError, match="single row"):
        model.predict(rows[0])


@pytest.mark.slow
def test_labels_are_sorted_and_typed(tmp_path):
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 3000)
    lines = [f"{'xyz'[y]},{int(y == 1)},{'312'[y]}" for y in labels]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    data = read_curator_rows(read_survey(THREE), tmp_path / "rows.csv")
    for learner in LEARNERS:
        path = tmp_path / f"{learner}.json"
        path.write_bytes(CuratorTraining(data, Promise(Fraction(20)), learner).run(FastStream(1)))
        model = load_model(path)
        assert model.classes_.tolist() == [1, 2, 3]
        teas = [{"a": "x", "b": 0}, {"a": "y", "b": 1}, {"a": "z", "b": 0}]
        assert model.predict(teas).tolist() == [3, 1, 2]


def test_a_fit_is_refused_because_no_ledger_would_record_it(model):
    with pytest.raises(ModelError, match="ledger"):
        model.fit([{"tea": "black", "hours": 1, "cups": 1}], ["yes"])


@pytest.mark.parametrize("k", [2, 3, 5])
def test_probabilities_of_a_linear_model_minimise_its_expected_loss(data, k):
    """At these probabilities the gradient of the expected loss is zero."""
    from ldp_central.solver import SoftHinge

    class Fixed(LinearModel):
        def scores(self, rows_codes: Any) -> Any:
            return find_class_scores(rows_codes, k)

    loss = SoftHinge(k)
    scores = np.random.default_rng(1).normal(0, 1.5, (50, k - 1))
    logs = Fixed(2, np.zeros((1, 1)), data.rows.features).compute_scores(scores)
    shares = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    gradient = sum(
        shares[:, [label]] * loss.residuals(scores, np.full(50, label, dtype=np.int64)) for label in range(k)
    )
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


def test_descriptions_name_trust_and_budgets(model):
    assert "trust='central', epsilon=5" in repr(model)
    card = model.card()
    for text in ("central: a curator had the rows", "(5, ", "add-remove", "twice this epsilon"):
        assert text in card
    for step in model.privacy_.curator.steps:
        assert f"| {step.step} |" in card
    assert "locally differentially private" not in card
    assert "a curator had the rows</td>" in model._repr_html_()


def test_a_reader_of_reports_refuses_a_model_of_a_curator(model_path):
    with pytest.raises(ModelError, match=r"model.json: was trained by ldp-central"):
        read_trained(model_path.read_bytes(), "model.json")


def test_scikit_learn_export_is_refused(model):
    with pytest.raises(ModelError, match="only models of ldp-train"):
        to_sklearn(model)


def test_a_damaged_file_is_refused(model_path):
    data = model_path.read_bytes()
    for damaged in (data[:-50], data.replace(b'"epsilon":"5"', b'"epsilon":"4"'), data[:100] + data[101:]):
        model_path.write_bytes(damaged)
        with pytest.raises(ModelError):
            load_model(model_path)


def drop_step(content: dict[str, Any]) -> None:
    content["privacy"]["curator"]["steps"].pop()


def negative_step(content: dict[str, Any]) -> None:
    content["privacy"]["curator"]["steps"] += [{"step": "a", "epsilon": e, "delta": "0"} for e in ("-1", "1")]


def exponent(content: dict[str, Any]) -> None:
    content["privacy"]["curator"]["epsilon"] = content["privacy"]["curator"]["steps"][0]["epsilon"] = (
        "1e99999999"
    )


def many_steps(content: dict[str, Any]) -> None:
    content["privacy"]["curator"]["steps"] += [{"step": "a", "epsilon": "0", "delta": "0"}] * 101


def no_steps(content: dict[str, Any]) -> None:
    content["privacy"]["curator"] |= {"steps": [], "epsilon": "0", "delta": "0"}


def large_epsilon(content: dict[str, Any]) -> None:
    content["privacy"]["curator"] |= {
        "steps": [{"step": "a", "epsilon": "1001", "delta": "0"}],
        "epsilon": "1001",
    }
    content["privacy"]["curator"]["delta"] = "0"


def no_trust(content: dict[str, Any]) -> None:
    content["privacy"]["curator"] = None


def other_learner(content: dict[str, Any]) -> None:
    found = content["classifier"]
    found["kind"] = {"nb": "tree", "tree": "linear", "linear": "nb"}[found["kind"]]


def unknown_learner(content: dict[str, Any]) -> None:
    content["classifier"]["kind"] = "forest"


def other_plan(content: dict[str, Any]) -> None:
    content["plan_digest"] = "0" * 64


def no_model(content: dict[str, Any]) -> None:
    del content["classifier"]


def one_number_less(content: dict[str, Any]) -> None:
    for name in ("weights", "leaves", "prior"):
        content["classifier"].get(name, [0]).pop()


@pytest.mark.parametrize(
    "change",
    [
        drop_step,
        negative_step,
        exponent,
        many_steps,
        no_steps,
        large_epsilon,
        no_trust,
        other_learner,
        unknown_learner,
        other_plan,
        no_model,
        one_number_less,
    ],
)
def test_inconsistent_content_with_a_valid_checksum_is_refused(model_path, change):
    content = json.loads(model_path.read_bytes())
    del content["checksum"]
    change(content)
    model_path.write_bytes(signed(content))
    with pytest.raises(ModelError, match="content is inconsistent"):
        load_model(model_path)


@pytest.mark.parametrize(
    "split",
    [
        *(
            {"feature": feature, "low": low, "high": high}
            for feature, low, high in [(0, 0, 9), (3, 0, 0), (-1, 0, 0), (0, 2, 1), (0, 0.5, 1), (True, 0, 0)]
        ),
        {"feature": 0, "low": 0},
        "ab",
    ],
)
def test_an_invalid_split_of_a_tree_is_refused(files, tmp_path, split):
    content = json.loads(files["tree"])
    del content["checksum"]
    content["classifier"]["splits"][0] = split
    (tmp_path / "model.json").write_bytes(signed(content))
    with pytest.raises(ModelError, match="content is inconsistent"):
        load_model(tmp_path / "model.json")
