"""A classifier fitted to reports and to rows without labels, its file, and what it states about the rows."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from encoders.errors import RowError
from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator import ModelError, NaiveBayes, fit_unlabelled, load_model, save_model
from ldp_aggregator.estimation import Estimates, Gaussian, estimate_snapshot
from ldp_aggregator.estimation.discriminative import DiscriminativeError
from ldp_aggregator.estimation.discriminative import classifier as classifier_module
from ldp_aggregator.estimation.discriminative.classifier import MIN_ASSOCIATION
from ldp_aggregator.estimation.relevance import compute_relevance
from ldp_aggregator.models.model_file import dump_model, parse_model
from ldp_aggregator.models.scoring import LogProbabilities, normalise_log_scores
from ldp_aggregator.models.unlabelled_fit import fit_to_rows
from ldp_aggregator.models.unlabelled_rows import UnlabelledRowsError, read_unlabelled_rows
from ldp_aggregator.models.unlabelled_training import UnlabelledClassifier, round_to_one_digit
from ldp_aggregator.results.page.page import render_page
from ldp_aggregator.results.page.source import read_results
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from ldp_design.sizing.pilot import read_pilot
from ldp_design.validation_round import build_validation, write_validation_round
from tests.ldp_aggregator.models.test_damaged_json import read_all, signed
from tests.support.overlapping import COPIES, SURVEY, draw_people, simulate, to_columns

ROWS = 512
CLASSES = np.array(["yes", "no"], dtype=object)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return simulate(30_000)


@pytest.fixture(scope="module")
def estimates(snapshot: Snapshot) -> Estimates:
    return estimate_snapshot(snapshot)


@pytest.fixture(scope="module")
def classifier(snapshot: Snapshot, estimates: Estimates) -> UnlabelledClassifier:
    return fit_unlabelled(snapshot, estimates, to_columns(draw_people(ROWS, 2)[0]))


@pytest.fixture
def path(tmp_path: Path, snapshot: Snapshot, estimates: Estimates, classifier: UnlabelledClassifier) -> Path:
    save_model(tmp_path / "model.json", snapshot, estimates, classifier=classifier)
    return tmp_path / "model.json"


def plain_file(folder: Path, snapshot: Snapshot, estimates: Estimates) -> Path:
    save_model(folder / "plain.json", snapshot, estimates)
    return folder / "plain.json"


# -- reading rows ---------------------------------------------------------------------------------


def test_rows_are_read_from_every_kind_of_table(snapshot):
    codes, _ = draw_people(120, 1)
    columns = to_columns(codes)
    frame = pd.DataFrame(columns)
    for table in (columns, frame, frame.to_dict("records"), frame.to_numpy(dtype=object)):
        read = read_unlabelled_rows(snapshot.plan, table)
        np.testing.assert_array_equal(read.codes, codes)
        assert read.present == frozenset(range(COPIES + 1))


def test_other_columns_and_labels_are_ignored_and_missing_columns_are_not_present(
    snapshot,
):
    codes, labels = draw_people(120, 1)
    columns = to_columns(codes) | {"tired": CLASSES[labels].tolist(), "note": ["x"] * 120}
    del columns["copy1"]
    read = read_unlabelled_rows(snapshot.plan, columns)
    assert read.present == frozenset({0, 2, 3, 4, 5})
    assert not read.codes[:, 1].any()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda columns: {name: column[:99] for name, column in columns.items()},
            "99 unlabelled rows .* at least 100",
        ),
        (lambda columns: {"other": columns["hours"]}, "none of the columns .*: copy0, copy1"),
        (lambda columns: np.zeros((120, 2)), "array of 6 columns"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(snapshot, change, why):
    with pytest.raises(UnlabelledRowsError, match=why):
        read_unlabelled_rows(snapshot.plan, change(to_columns(draw_people(120, 1)[0])))  # type: ignore[operator]


def test_a_value_outside_the_survey_is_refused_with_its_row(snapshot):
    columns = to_columns(draw_people(120, 1)[0])
    columns["copy3"][41] = "middle"
    with pytest.raises(RowError, match="copy3: row 42: is not one of the survey's values"):
        read_unlabelled_rows(snapshot.plan, columns)


PROJECTED = """
[survey]
id = "projected"
epsilon = 4.0
[label]
name = "tired"
values = ["yes", "no"]
[projection.inputs.hours]
range = [0, 12]
[projection.inputs.age]
range = [0, 100]
[features.tea]
values = ["black", "green"]
[features.mixture]
weights = [1, 0.25]
range = [-1.25, 1.25]
bins = 4
"""


def test_components_are_computed_and_need_all_of_their_inputs():
    plan = read_survey(PROJECTED).compile()
    columns = {"tea": ["black", "green"] * 60, "hours": [1, 9] * 60, "age": [20, 80] * 60}
    places = {feature.name: place for place, feature in enumerate(plan.features)}
    read = read_unlabelled_rows(plan, columns)
    assert read.present == set(places.values())
    assert read.codes[:2, places["mixture"]].tolist() == [0, 3]
    del columns["age"]
    assert read_unlabelled_rows(plan, columns).present == {places["tea"]}


# -- the fit --------------------------------------------------------------------------------------


def test_features_that_repeat_each_other_are_no_longer_counted_many_times(snapshot, estimates, classifier):
    codes, labels = draw_people(20_000, 3)
    naive_bayes = LogProbabilities.from_probabilities(
        estimates.prior, [feature.smoothed for feature in estimates.features]
    )
    fitted = LogProbabilities.from_probabilities(classifier.prior, classifier.conditionals)
    accuracies = [
        np.mean(each.compute_scores(codes).argmax(axis=1) == labels) for each in (naive_bayes, fitted)
    ]
    assert accuracies[1] > accuracies[0] + 0.05
    assert classifier.kept
    assert classifier.summary.classifier == "logistic regression"
    assert classifier.summary.contradicting == ()


def test_from_few_reports_naive_bayes_is_kept_in_a_file_that_old_readers_read(tmp_path):
    few = simulate(12, epsilon="0.5")
    estimates = estimate_snapshot(few)
    classifier = fit_unlabelled(few, estimates, to_columns(draw_people(ROWS, 2)[0]))
    assert not classifier.kept
    assert classifier.summary.association < MIN_ASSOCIATION
    assert classifier.summary.classifier == "naive bayes"
    assert classifier.summary.fitted == ()
    save_model(tmp_path / "model.json", few, estimates, classifier=classifier)
    content = json.loads((tmp_path / "model.json").read_bytes())
    assert content["kind"] == "people"
    assert "classifier" not in content
    model = load_model(tmp_path / "model.json")
    plain = load_model(plain_file(tmp_path, few, estimates))
    frame = pd.DataFrame(to_columns(draw_people(200, 1)[0]))
    np.testing.assert_array_equal(model.predict_proba(frame), plain.predict_proba(frame))


def test_absent_features_keep_the_tables_of_naive_bayes(snapshot, estimates):
    columns = to_columns(draw_people(ROWS, 2)[0])
    del columns["copy0"], columns["hours"]
    fitted = fit_unlabelled(snapshot, estimates, columns)
    assert fitted.summary.absent == ("copy0", "hours")
    np.testing.assert_array_equal(fitted.conditionals[0], estimates.features[0].smoothed)
    np.testing.assert_array_equal(fitted.conditionals[5], estimates.features[5].smoothed)
    assert fitted.summary.fitted == ("copy1", "copy2", "copy3", "copy4")


def test_rows_of_another_population_are_named_and_raked(snapshot, estimates):
    rows, _ = draw_people(ROWS, 2, tired=0.85)
    fitted = fit_unlabelled(snapshot, estimates, to_columns(rows))
    assert "hours" in fitted.summary.contradicting
    codes, labels = draw_people(20_000, 3)
    scores = LogProbabilities.from_probabilities(fitted.prior, fitted.conditionals).compute_scores(codes)
    fair = fit_unlabelled(snapshot, estimates, to_columns(draw_people(ROWS, 2)[0]))
    fair_scores = LogProbabilities.from_probabilities(fair.prior, fair.conditionals).compute_scores(codes)
    gap = np.mean(fair_scores.argmax(axis=1) == labels) - np.mean(scores.argmax(axis=1) == labels)
    assert gap < 0.01


def test_the_confidence_over_a_sample_is_weighted_as_that_over_all_rows(snapshot, estimates, monkeypatch):
    rows = to_columns(draw_people(2000, 2, tired=0.85)[0])
    all_rows = fit_unlabelled(snapshot, estimates, rows)
    monkeypatch.setattr(classifier_module, "MAX_ROWS", 1999)
    sample = fit_unlabelled(snapshot, estimates, rows)
    assert sample.summary.confidence == pytest.approx(all_rows.summary.confidence, abs=0.003)


def test_rows_that_contradict_the_reports_too_much_are_refused(snapshot, estimates):
    rows, _ = draw_people(ROWS, 2)
    rows[: ROWS - 12, 5] = 0
    rows[:, 1:COPIES] = rows[:, :1]
    rows[: ROWS - 30, 0] = 0
    with pytest.raises(UnlabelledRowsError, match=r"contradict the reports too much \(.*copy0"):
        fit_unlabelled(snapshot, estimates, to_columns(rows))


def test_numbers_without_bins_alone_are_refused():
    text = SURVEY.replace("range = [0, 3]\nbins = 3", "range = [0, 3]")
    plan = read_survey(text).compile()
    codes, labels = draw_people(5000, 1)
    codes[:, -1] = plan.features[-1].code_array(codes[:, -1] + 0.5)
    snapshot = simulate_reports(plan, codes, labels, FastStream(1))
    estimates = estimate_snapshot(snapshot)
    hours = {"hours": to_columns(draw_people(ROWS, 2)[0])["hours"]}
    with pytest.raises(UnlabelledRowsError, match="numbers without bins alone cannot be fitted"):
        fit_unlabelled(snapshot, estimates, hours)


NUMBERS_ALONE = """
[survey]
id = "hours"
epsilon = 2.0
[label]
name = "sleeps"
values = ["well", "badly"]
[features.hours]
range = [0, 24]
"""


@pytest.mark.parametrize("people", [2000, 0])
def test_a_survey_of_numbers_without_bins_or_without_reports_is_refused(people):
    plan = read_survey(NUMBERS_ALONE if people else SURVEY).compile()
    codes = np.zeros((people, len(plan.features)), dtype=np.int64)
    snapshot = simulate_reports(plan, codes, np.zeros(people, dtype=np.int64), FastStream(1))
    rows = {"hours": [7.0] * ROWS} if people else to_columns(draw_people(ROWS, 2)[0])
    with pytest.raises(DiscriminativeError, match="numbers without bins alone cannot be fitted"):
        fit_unlabelled(snapshot, estimate_snapshot(snapshot), rows)


def test_the_papers_estimator_is_refused(snapshot):
    with_label = read_survey(SURVEY.replace('"no"]', '"no"]\nweight = 1', 1)).compile()
    codes, labels = draw_people(2000, 1)
    paper = simulate_reports(with_label, codes, labels, FastStream(1))
    with pytest.raises(UnlabelledRowsError, match="estimates with estimator="):
        fit_unlabelled(paper, estimate_snapshot(paper, "paper"), to_columns(codes))


def test_numbers_with_a_normal_distribution_are_fitted_and_read_back(tmp_path):
    text = SURVEY.replace("range = [0, 3]\nbins = 3", 'range = [0, 3]\nmissing = "category"')
    plan = read_survey(text).compile()
    rng = np.random.default_rng(1)
    codes, labels = draw_people(20_000, 1)
    hours = np.clip(rng.normal(np.where(labels, 1.0, 2.0), 0.5), 0, 3)
    codes[:, -1] = plan.features[-1].code_array(np.where(rng.random(20_000) < 0.1, np.nan, hours))
    snapshot = simulate_reports(plan, codes, labels, FastStream(1))
    estimates = estimate_snapshot(snapshot)
    rows = to_columns(draw_people(ROWS, 5)[0]) | {
        "hours": [*rng.uniform(0, 3, ROWS - 12).tolist(), *[None] * 12]
    }
    fitted = fit_unlabelled(snapshot, estimates, rows)
    assert isinstance(fitted.conditionals[-1], Gaussian)
    save_model(tmp_path / "model.json", snapshot, estimates, classifier=fitted)
    model = load_model(tmp_path / "model.json")
    tested = draw_people(300, 6)[0]
    table = to_columns(tested) | {"hours": [*rng.uniform(0, 3, 290).tolist(), *[None] * 10]}
    expected = LogProbabilities.from_probabilities(fitted.prior, fitted.conditionals)
    scores = expected.compute_scores(model.encode(table))
    np.testing.assert_allclose(model.predict_joint_log_proba(table), scores[:, ::-1])


@pytest.mark.parametrize("factor", [0.01, 40.0])
def test_a_number_with_any_factor_predicts_the_same_from_file_and_onnx(tmp_path, monkeypatch, factor):
    onnxruntime = pytest.importorskip("onnxruntime")
    from ldp_aggregator import save_onnx

    plan = read_survey(SURVEY.replace("range = [0, 3]\nbins = 3", "range = [0, 3]")).compile()
    rng = np.random.default_rng(1)
    codes, labels = draw_people(20_000, 1)
    codes[:, -1] = plan.features[-1].code_array(rng.uniform(0, 3, 20_000))
    snapshot = simulate_reports(plan, codes, labels, FastStream(1))
    estimates = estimate_snapshot(snapshot)
    fit_scores = classifier_module.fit_scores
    monkeypatch.setattr(
        classifier_module, "fit_scores", lambda *given: replace(fit_scores(*given), gains=np.array([factor]))
    )
    rows = to_columns(draw_people(ROWS, 5)[0]) | {"hours": rng.uniform(0, 3, ROWS)}
    fitted = fit_unlabelled(snapshot, estimates, rows)
    number = fitted.conditionals[-1]
    assert isinstance(number, Gaussian)
    assert (number.variance > 1).all() == (factor < 1)
    path = tmp_path / "model.json"
    save_model(path, snapshot, estimates, classifier=fitted)
    model = load_model(path)
    scores = LogProbabilities.from_probabilities(fitted.prior, fitted.conditionals).compute_scores(
        model.encode(rows)
    )
    expected = np.exp(normalise_log_scores(scores))[:, ::-1]  # columns as in `classes_`
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-9)
    save_onnx(tmp_path / "model.onnx", model)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    feeds = {name: np.array(column) for name, column in rows.items()}
    np.testing.assert_allclose(session.run(None, feeds)[1], expected, atol=1e-9)


def test_fit_of_a_simulation_takes_rows_without_labels():
    codes, labels = draw_people(8000, 1)
    rows, _ = draw_people(ROWS, 2)
    tested, truth = draw_people(8000, 3)
    X, test = pd.DataFrame(to_columns(codes)), pd.DataFrame(to_columns(tested))
    model = NaiveBayes(survey=read_survey(SURVEY), random_state=1)
    plain = model.fit(X, CLASSES[labels]).score(test, CLASSES[truth])
    assert model.unlabelled_ is None
    assert "classifier=" not in repr(model)
    fitted = model.fit(X, CLASSES[labels], unlabelled=pd.DataFrame(to_columns(rows)))
    assert fitted.score(test, CLASSES[truth]) > plain + 0.05
    assert fitted.unlabelled_ is not None
    assert "classifier='logistic regression'" in repr(model)
    assert (fitted.predict(test) == fitted.classes_[fitted.predict_proba(test).argmax(axis=1)]).all()


def test_cross_validation_passes_the_rows_to_every_fit():
    codes, labels = draw_people(4500, 1)
    rows = pd.DataFrame(to_columns(draw_people(ROWS, 2)[0]))
    X, y = pd.DataFrame(to_columns(codes)), CLASSES[labels]
    model = NaiveBayes(survey=read_survey(SURVEY), random_state=1)
    plain = cross_val_score(model, X, y, cv=3)
    assert cross_val_score(model, X, y, cv=3, params={"unlabelled": rows}).mean() > plain.mean() + 0.05


# -- the file -------------------------------------------------------------------------------------


def test_the_file_restores_the_classifier_and_keeps_the_estimates_of_the_reports(
    path, tmp_path, snapshot, estimates, classifier
):
    model, plain = load_model(path), load_model(plain_file(tmp_path, snapshot, estimates))
    assert model.estimates_.as_dict() == plain.estimates_.as_dict() == estimates.as_dict()
    codes, _ = draw_people(500, 4)
    frame = pd.DataFrame(to_columns(codes))
    scores = LogProbabilities.from_probabilities(classifier.prior, classifier.conditionals).compute_scores(
        codes
    )
    np.testing.assert_allclose(model.predict_joint_log_proba(frame), scores[:, ::-1])
    assert (model.predict(frame) == CLASSES[scores.argmax(axis=1)]).all()
    assert (model.predict(frame) != plain.predict(frame)).any()


def test_the_kind_unlabelled_without_a_fitted_classifier_is_refused(path):
    content = json.loads(path.read_bytes())
    assert content["kind"] == "unlabelled"
    del content["checksum"]
    for name in ("unlabelled", "classifier"):
        changed = {key: value for key, value in content.items() if key != name}
        with pytest.raises(ModelError, match="inconsistent"):
            parse_model(signed(changed))


@pytest.mark.slow
def test_damaged_entries_of_the_classifier_are_refused_or_read(path):
    content = json.loads(path.read_bytes())
    del content["checksum"]
    for below in (("unlabelled",), ("classifier",)):
        read_all(content, lambda data: render_page(_results(path, data)), 300, below, signed)


def _results(path: Path, data: bytes) -> object:
    path.write_bytes(data)
    load_model(path).card()
    return read_results(path)


def test_the_file_has_neither_the_number_of_the_rows_nor_a_digest(path, snapshot, estimates):
    content = json.loads(path.read_bytes())
    assert content["unlabelled"]["rows"] == 500
    del content["checksum"]

    def values(entry: object) -> list[object]:
        if isinstance(entry, dict):
            return [found for each in entry.values() for found in values(each)]
        if isinstance(entry, list):
            return [found for each in entry for found in values(each)]
        return [entry]

    without = json.loads(dump_model(snapshot, estimates))
    added = [value for value in values(content) if value not in values(without)]
    assert ROWS not in added
    assert not any(isinstance(value, str) and str(ROWS) in value for value in added)
    assert [value for value in added if isinstance(value, str) and len(value) == 64] == []


@pytest.mark.parametrize(
    ("count", "rounded"), [(100, 100), (149, 100), (512, 500), (951, 1000), (12_345, 10_000)]
)
def test_the_number_of_rows_is_rounded_to_one_digit(count, rounded):
    assert round_to_one_digit(count) == rounded


def test_card_and_page_state_that_epsilon_does_not_cover_the_rows(path, tmp_path, snapshot, estimates):
    statement = "Epsilon does NOT cover the unlabelled rows"
    model = load_model(path)
    for text in (model.card(), render_page(read_results(path)).decode()):
        assert statement in text
    assert "about 500, NOT covered by epsilon" in str(model)
    assert "Logistic regression of overlapping" in model._repr_html_()
    rows = to_columns(draw_people(ROWS, 2)[0])
    public = fit_unlabelled(snapshot, estimates, rows, public=True)
    save_model(tmp_path / "public.json", snapshot, estimates, classifier=public)
    card = load_model(tmp_path / "public.json").card()
    assert statement not in card
    assert "declared public" in card
    assert statement not in load_model(plain_file(tmp_path, snapshot, estimates)).card()


def test_names_of_features_in_the_card_are_escaped(path):
    model = load_model(path)
    model.unlabelled_ = replace(model.unlabelled_, absent=("<b>*a*",), contradicting=("x_y",))
    assert r"&lt;b&gt;\*a\*" in model.card()
    assert r"x\_y" in model.card()


# -- rounds, sizing and exports -------------------------------------------------------------------


def test_sizes_use_the_estimates_and_a_validation_uses_the_classifier(
    path, tmp_path, snapshot, estimates, classifier
):
    model = parse_model(path.read_bytes())
    plain = parse_model(plain_file(tmp_path, snapshot, estimates).read_bytes())
    np.testing.assert_array_equal(model.prior, plain.prior)
    for one, other in zip(model.conditionals, plain.conditionals, strict=True):
        np.testing.assert_array_equal(one, other)
    pilot = read_pilot(path)
    np.testing.assert_array_equal(pilot.prior, plain.prior)
    assert compute_relevance(pilot.conditionals[0], pilot.prior) > 0
    toml = write_validation_round(SURVEY, model, "model.json")
    validated = read_survey(toml).validation
    assert validated == build_validation(snapshot.plan, classifier.prior, classifier.conditionals)
    assert read_survey(toml).id == "overlapping-validation-fitted"
    assert "train with --unlabelled and the same rows" in " ".join(toml.replace("#", " ").split())
    assert "Epsilon does NOT cover" in " ".join(toml.replace("#", " ").split())
    assert "Epsilon does NOT cover" not in " ".join(
        write_validation_round(SURVEY, plain, "plain.json").replace("#", " ").split()
    )


@pytest.mark.parametrize("validates_rows", [False, True])
def test_the_description_names_the_classifier_that_devices_validated(
    snapshot, estimates, classifier, validates_rows
):
    naive_bayes = (estimates.prior, [feature.smoothed for feature in estimates.features])
    model = (classifier.prior, classifier.conditionals) if validates_rows else naive_bayes
    survey = read_survey(SURVEY).with_validation(build_validation(snapshot.plan, *model))
    codes, labels = draw_people(3000, 8)
    validation = simulate_reports(survey.compile(), codes, labels, FastStream(3))
    validated = estimate_snapshot(snapshot, validation=validation)
    fitted = fit_unlabelled(snapshot, validated, to_columns(draw_people(ROWS, 2)[0]))
    expected = "logistic regression" if validates_rows and fitted.kept else "naive bayes"
    assert fitted.summary.validated == expected


def test_features_that_a_validation_left_out_are_not_fitted(snapshot, estimates):
    rows = read_unlabelled_rows(snapshot.plan, to_columns(draw_people(ROWS, 2)[0]))
    conditionals = [feature.smoothed for feature in estimates.features]
    assert fit_to_rows(snapshot, estimates.prior, conditionals, rows, {0, 5}).fitted == (0, 5)


def test_exports_predict_the_same(path, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    from ldp_aggregator import save_onnx, to_sklearn

    model = load_model(path)
    codes, _ = draw_people(400, 4)
    columns = to_columns(codes)
    expected = model.predict_proba(columns)
    np.testing.assert_allclose(to_sklearn(model).predict_proba(codes), expected, atol=1e-9)
    save_onnx(tmp_path / "model.onnx", model)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    feeds = {name: np.array(column) for name, column in columns.items()}
    labels, probabilities = session.run(None, feeds)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-12)
    assert (labels == model.predict(columns)).all()
    properties = session.get_modelmeta().custom_metadata_map
    assert "Epsilon does NOT cover" in properties["unlabelled_rows"]
