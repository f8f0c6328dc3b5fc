"""The classifier behaves as scikit-learn requires, and trains on tables of all kinds."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from encoders.errors import RowError, SurveyError
from encoders.mechanisms import NUMERIC_MECHANISMS
from encoders.survey import read_survey
from ldp_aggregator import NaiveBayes, load_model
from tests.support.surveys import survey_toml

ROWS = [
    {"tea": "green", "hours": 2.5, "unknown": "ignored"},
    {"tea": "black", "hours": 11, "unknown": ""},
    {"tea": "black", "hours": None, "unknown": ""},
]


@pytest.fixture
def model(model_path: Path) -> NaiveBayes:
    return load_model(model_path)


@pytest.mark.slow
@parametrize_with_checks(
    [
        NaiveBayes(random_state=1),
        NaiveBayes(epsilon=16, random_state=1),
        NaiveBayes(bins=None, random_state=1),
        NaiveBayes(epsilon=16, bins=None, random_state=1),
    ]
)
def test_the_estimator_passes_scikit_learn_s_checks(estimator, check):
    check(estimator)


def test_dicts_frames_and_arrays_give_equal_predictions(model):
    frame = pd.DataFrame(ROWS)
    expected = model.predict_proba(ROWS)
    np.testing.assert_array_equal(model.predict_proba(frame), expected)
    np.testing.assert_array_equal(model.predict_proba(frame[["hours", "unknown", "tea"]]), expected)
    np.testing.assert_array_equal(model.predict_proba(frame[["tea", "hours"]].to_numpy()), expected)
    np.testing.assert_array_equal(
        model.predict_proba([["green", 2.5], ["black", 11], ["black", None]]), expected
    )


def test_probabilities_follow_the_classes(model):
    assert list(model.classes_) == ["no", "yes"]
    assert list(model.feature_names_in_) == ["tea", "hours"]
    assert model.n_features_in_ == 2
    probabilities = model.predict_proba(ROWS)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert list(model.predict(ROWS)) == ["no", "yes", "yes"]
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(ROWS))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(ROWS)), probabilities)


def test_rows_are_coded_as_on_a_device(model):
    with pytest.raises(
        RowError, match=r"^tea: row 2: is not one of the survey's values: \"black\", \"green\"$"
    ):
        model.predict([ROWS[0], {"tea": "oolong", "hours": 1}])
    with pytest.raises(RowError, match=r"^hours: row 1: must be a number"):
        model.predict([{"tea": "green", "hours": "few"}])
    with pytest.raises(RowError, match=r"^tea: row 1: is missing"):
        model.predict([{"tea": None, "hours": 1}])


def test_every_feature_that_is_absent_or_does_not_fit_is_named(model):
    for rows in ([{}], {}, [{"tea": "s3cret", "hours": "few"}]):
        with pytest.raises(RowError) as caught:
            model.predict(rows)
        assert sorted(each.field for each in caught.value.problems) == ["hours", "tea"]
        assert "s3cret" not in str(caught.value)


def test_an_infinite_number_is_refused_where_a_survey_is_inferred():
    with pytest.raises(RowError, match=r"^hours: is infinite"):
        NaiveBayes(epsilon=8, random_state=0).fit([{"hours": np.inf}, {"hours": 1.0}], ["a", "b"])


def test_frames_may_hold_numbers_in_any_way():
    plain = pd.DataFrame({"tea": ["a", "b", "a", "b"] * 9, "hours": [1.0, 2.0, np.nan, 4.0] * 9})
    labels = np.array(["yes", "no"] * 18)
    model = NaiveBayes(epsilon=8, bins=2, random_state=0).fit(plain.to_dict("records"), labels)
    expected = model.predict_proba(plain.to_dict("records"))
    for dtype in (float, object, "Float64", np.float32):
        np.testing.assert_array_equal(model.predict_proba(plain.astype({"hours": dtype})), expected)


def test_an_absent_feature_is_named(model):
    with pytest.raises(RowError, match=r"^hours: is absent; give None"):
        model.predict([{"tea": "green"}])
    with pytest.raises(RowError, match=r"^hours: the table has no such column"):
        model.predict(pd.DataFrame({"tea": ["green"]}))
    with pytest.raises(ValueError, match="X has 1 features, but the survey has 2"):
        model.predict(np.array([["green"]]))


def test_a_clone_of_a_loaded_model_is_unfitted(model):
    with pytest.raises(NotFittedError):
        clone(model).predict(ROWS)


def people(count: int = 3000, seed: int = 1) -> tuple[pd.DataFrame, np.ndarray]:
    """Return people whose tea and sleep depend on whether they are tired."""
    rng = np.random.default_rng(seed)
    tired = rng.random(count) < 0.5
    tea = np.where(rng.random(count) < np.where(tired, 0.9, 0.1), "black", "green")
    hours = np.where(tired, 5, 8) + rng.normal(size=count)
    return pd.DataFrame({"tea": tea, "hours": hours}), np.where(tired, "tired", "fresh")


@pytest.mark.slow
def test_fit_simulates_the_protocol_and_cross_validates():
    rows, labels = people()
    scores = cross_val_score(NaiveBayes(epsilon=4, random_state=1), rows, labels, cv=3)
    assert scores.min() > 0.9
    noisy = cross_val_score(NaiveBayes(epsilon=0.01, random_state=1), rows, labels, cv=3)
    assert noisy.mean() < scores.mean()


def test_fit_takes_dicts_and_labels_that_are_numbers():
    rows, labels = people()
    model = NaiveBayes(epsilon=8, random_state=1).fit(rows.to_dict("records"), labels == "tired")
    assert list(model.classes_) == [False, True]
    assert list(model.feature_names_in_) == ["tea", "hours"]
    assert model.score(rows.to_dict("records"), labels == "tired") > 0.9


def test_missing_values_become_a_category():
    rows, labels = people()
    rows.loc[::5, "hours"] = np.nan
    rows.loc[::7, "tea"] = None
    model = NaiveBayes(epsilon=8, random_state=1).fit(rows, labels)
    assert [feature.missing for feature in model.plan_.features] == ["category", "category"]
    assert model.score(rows, labels) > 0.8


SURVEY = survey_toml(
    id="tired",
    epsilon=8.0,
    label={"name": "state", "values": ["tired", "fresh", "dead"]},
    features={"hours": {"range": [0, 12], "bins": 6}, "tea": ["black", "green", "oolong"]},
)


def test_fit_uses_the_given_survey():
    rows, labels = people()
    model = NaiveBayes(survey=read_survey(SURVEY), random_state=1).fit(rows, labels)
    assert list(model.classes_) == ["dead", "fresh", "tired"]
    assert list(model.feature_names_in_) == ["hours", "tea"]
    assert model.score(rows, labels) > 0.9
    assert model.predict_proba(rows)[:, 0].max() < 0.1
    with pytest.raises(ValueError, match="X has 3 features, but the survey has 2"):
        model.fit(np.zeros((4, 3)), list(labels[:4]))
    with pytest.raises(RowError, match=r"^state: row 1: is not one of"):
        model.fit(rows, ["?"] * len(rows))


def test_a_survey_that_is_only_its_text_is_refused():
    rows, labels = people(20)
    with pytest.raises(TypeError, match="survey needs a Survey or a Plan, not str"):
        NaiveBayes(survey=SURVEY).fit(rows, labels)


def test_the_papers_estimator_asks_for_the_label():
    rows, labels = people()
    model = NaiveBayes(epsilon=8, estimator="paper", random_state=1).fit(rows, labels)
    assert [question.feature_indices for question in model.plan_.questions] == [(), (0, 1)]
    assert model.score(rows, labels) > 0.9


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), 1000])
def test_an_impossible_epsilon_is_refused(epsilon):
    rows, labels = people(50)
    with pytest.raises(SurveyError, match=r"^epsilon: needs a number above 0"):
        NaiveBayes(epsilon=epsilon).fit(rows, labels)


@pytest.mark.slow
def test_equal_seeds_give_equal_models():
    rows, labels = people()
    one, other = (NaiveBayes(random_state=3).fit(rows, labels).predict_proba(rows) for _ in range(2))
    np.testing.assert_array_equal(one, other)


# -- numeric features ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"bins": 0}, "bins must be None or a whole number above 0, not 0"),
        ({"bins": 2.5}, "not 2.5"),
        ({"bins": float("nan")}, "not nan"),
        ({"mechanism": "XYZ"}, "choose one of"),
        ({"bins": None, "numeric": "XYZ"}, "choose one of"),
    ],
)
def test_unknown_mechanisms_are_refused(wrong, why):
    rows, labels = people(30)
    with pytest.raises((ValueError, SurveyError), match=why):
        NaiveBayes(**wrong).fit(rows, labels)


@pytest.mark.slow
@pytest.mark.parametrize("numeric", ["auto", *NUMERIC_MECHANISMS])
def test_without_bins_numbers_stay_numbers(numeric):
    rows, labels = people(20_000)
    model = NaiveBayes(epsilon=4, bins=None, numeric=numeric, random_state=1).fit(rows, labels)
    assert [feature.kind for feature in model.plan_.features] == ["categorical", "numeric"]
    assert model.score(rows, labels) > 0.9
    asked = {question.mechanism.name for question in model.plan_.questions if question.moment}
    assert numeric == "auto" or asked == {numeric}


def test_numbers_with_missing_values_and_with_one_value():
    rows, labels = people()
    rows.loc[::5, "hours"] = np.nan
    rows["same"] = 7
    model = NaiveBayes(epsilon=8, bins=None, random_state=1).fit(rows, labels)
    assert [feature.kind for feature in model.plan_.features] == ["categorical", "numeric", "binned"]
    assert model.score(rows, labels) > 0.8


@pytest.mark.slow
def test_with_a_large_epsilon_the_model_equals_gaussian_naive_bayes():
    rng = np.random.default_rng(2)
    label = rng.integers(0, 3, 200_000)
    X = rng.normal(np.array([[0, 0], [1, 2], [2, -1]])[label], [0.8, 1.2])
    model = NaiveBayes(epsilon=16, bins=None, random_state=1).fit(X, label)
    peer = GaussianNB().fit(X, label)
    assert np.mean(model.predict(X[:5000]) == peer.predict(X[:5000])) > 0.98
    np.testing.assert_allclose(model.predict_proba(X[:5000]), peer.predict_proba(X[:5000]), atol=0.05)


@pytest.mark.slow
def test_the_papers_numbers_need_the_label_question():
    rows, labels = people(50_000)
    model = NaiveBayes(epsilon=8, bins=None, estimator="paper", random_state=1).fit(rows, labels)
    assert [question.kind for question in model.plan_.questions] == ["label", "coupled", "number"]
    assert model.score(rows, labels) > 0.9


PROJECTED = survey_toml(
    id="projected",
    epsilon=8.0,
    label={"name": "state", "values": ["tired", "fresh"]},
    features={
        "tea": ["black", "green"],
        "mixture": {"weights": [1, 0.25], "range": [-1.25, 1.25], "missing": "category"},
    },
    projection={"inputs": {"hours": {"range": [0, 12], "missing": "category"}, "age": {"range": [0, 100]}}},
)


@pytest.mark.slow
def test_with_a_projection_rows_hold_its_inputs():
    rows, labels = people(20_000)
    rows["age"] = 40.0
    rows.loc[::9, "hours"] = np.nan
    model = NaiveBayes(survey=read_survey(PROJECTED), random_state=1).fit(rows, labels)
    assert list(model.feature_names_in_) == ["hours", "age", "tea"]
    assert model.n_features_in_ == 3
    assert model.score(rows, labels) > 0.85
    with pytest.raises(RowError, match=r"^age: the table has no such column"):
        model.predict(rows[["hours", "tea"]])
