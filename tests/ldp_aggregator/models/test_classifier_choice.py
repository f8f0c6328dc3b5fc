"""Validation rounds of Naive Bayes and of a fitted classifier, which choose between the two."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from ldp_aggregator import fit_unlabelled, load_model, save_model
from ldp_aggregator.estimation import Estimates, EstimationError, estimate_snapshot
from ldp_aggregator.estimation.validation_result import ValidationResult
from ldp_aggregator.models.classifier_choice import compare_classifiers, find_nearest
from ldp_aggregator.models.model_file import dump_model, parse_model
from ldp_aggregator.models.unlabelled_rows import UnlabelledRowsError
from ldp_aggregator.models.unlabelled_training import UnlabelledClassifier
from ldp_aggregator.results.page.page import render_page
from ldp_aggregator.results.page.source import read_results
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from ldp_design.validation_round import build_validation
from tests.ldp_aggregator.models.test_damaged_json import read_all, signed
from tests.support.overlapping import SURVEY, draw_people, simulate, to_columns

ROWS = 512
FITTED, NAIVE_BAYES = "logistic regression", "naive bayes"
Tables = tuple[Any, Any]


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return simulate(20_000)


@pytest.fixture(scope="module")
def estimates(snapshot: Snapshot) -> Estimates:
    return estimate_snapshot(snapshot)


@pytest.fixture(scope="module")
def rows() -> dict[str, list[object]]:
    return to_columns(draw_people(ROWS, 2)[0])


@pytest.fixture(scope="module")
def classifiers(snapshot: Snapshot, estimates: Estimates, rows: dict[str, list[object]]) -> dict[str, Tables]:
    fitted = fit_unlabelled(snapshot, estimates, rows)
    naive_bayes = (estimates.prior, [feature.smoothed for feature in estimates.features])
    return {FITTED: (fitted.prior, fitted.conditionals), NAIVE_BAYES: naive_bayes}


def validation_plan(classifier: Tables, name: str) -> Plan:
    survey = read_survey(SURVEY)
    survey = survey.with_validation(build_validation(survey.compile(), *classifier))
    return replace(survey, id=name, family="overlapping").compile()


def validate(classifier: Tables, people: int, *, guessing: bool = False, name: str = "round") -> Snapshot:
    """Return the answers of a validation round; with `guessing` no classifier can predict the labels."""
    codes, labels = draw_people(people, 8)
    if guessing:
        labels = np.random.default_rng(1).permutation(labels)
    return simulate_reports(validation_plan(classifier, name), codes, labels, FastStream(3))


def compare(snapshot: Snapshot, rows: object, first: Snapshot, second: Snapshot) -> UnlabelledClassifier:
    estimates = estimate_snapshot(snapshot, validation=first)
    return fit_unlabelled(snapshot, estimates, rows, second_validation=second)


# -- the choice -----------------------------------------------------------------------------------


@pytest.mark.parametrize("better", [FITTED, NAIVE_BAYES])
@pytest.mark.parametrize("first", [FITTED, NAIVE_BAYES])
def test_the_answers_choose_the_classifier_with_a_significantly_higher_accuracy(
    snapshot,
    rows,
    classifiers,
    better,
    first,
):
    rounds = {
        kind: validate(each, 4000, guessing=kind != better, name=kind.replace(" ", "-"))
        for kind, each in classifiers.items()
    }
    second = NAIVE_BAYES if first == FITTED else FITTED
    chosen = compare(snapshot, rows, rounds[first], rounds[second])
    summary = chosen.summary
    assert chosen.kept == (better == FITTED)
    assert (summary.classifier, summary.chosen_by) == (better, "answers")
    assert summary.validated == better
    for kind, measured in summary.compared.items():
        assert (measured.survey, measured.reports) == (kind.replace(" ", "-"), 4000)
        assert measured.accuracy == pytest.approx(0.83 if kind == better else 0.5, abs=0.09)
    assert chosen.estimates.validation is not None
    assert chosen.compared is not None
    kept, other = chosen.estimates.validation.survey, chosen.compared.survey
    assert (kept, other) == (
        better.replace(" ", "-"),
        next(kind for kind in rounds if kind != better).replace(" ", "-"),
    )


def test_a_difference_within_its_noise_leaves_the_choice_to_the_reports(snapshot, rows, classifiers):
    first, second = (validate(each, 60, name=f"round{len(kind)}") for kind, each in classifiers.items())
    chosen = compare(snapshot, rows, first, second)
    assert chosen.kept
    assert chosen.summary.chosen_by == "reports"
    assert set(chosen.summary.compared) == {FITTED, NAIVE_BAYES}


def test_rounds_without_answers_leave_the_choice_to_the_reports_and_have_no_accuracy(
    snapshot, rows, classifiers
):
    first, second = (validate(each, 0, name=f"round{len(kind)}") for kind, each in classifiers.items())
    chosen = compare(snapshot, rows, first, second)
    assert chosen.summary.chosen_by == "reports"
    assert all(each.accuracy is None for each in chosen.summary.compared.values())
    assert parse_model(dump_model(snapshot, chosen.estimates, classifier=chosen)).unlabelled == chosen.summary


def result_of(accuracy: float, stderr: float) -> ValidationResult:
    class Result:
        selected_accuracy = accuracy, stderr

    return Result()  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("fitted", "naive_bayes", "expected"),
    [
        ((0.80, 0.03), (0.85, 0.04), (FITTED, "reports")),
        ((0.80, 0.03), (0.87, 0.04), (NAIVE_BAYES, "answers")),
        ((0.87, 0.03), (0.80, 0.04), (FITTED, "answers")),
        ((0.80, 0.0), (0.80, 0.0), (FITTED, "reports")),
        ((np.nan, np.inf), (0.9, 0.01), (FITTED, "reports")),
        ((0.1, np.inf), (0.9, 0.01), (FITTED, "reports")),
    ],
)
def test_the_rule_is_a_one_sided_test_with_an_error_of_a_tenth(fitted, naive_bayes, expected):
    results = {FITTED: result_of(*fitted), NAIVE_BAYES: result_of(*naive_bayes)}
    assert compare_classifiers(results) == expected


def test_the_selected_accuracy_is_that_of_the_selected_features(snapshot, classifiers):
    result = ValidationResult.from_snapshot(validate(classifiers[NAIVE_BAYES], 40_000))
    assert result.selected is not None
    value, stderr = result.selected_accuracy
    codes, labels = draw_people(40_000, 8)
    prior, conditionals = classifiers[NAIVE_BAYES]
    selected = result.find_selected(snapshot.plan.features)
    scores = np.log(prior) + sum(np.log(conditionals[place])[codes[:, place]] for place in selected)
    assert value == pytest.approx(np.mean(scores.argmax(axis=1) == labels), abs=5 * stderr), (
        result.selected_features
    )
    assert stderr < 0.01


# -- which classifier a round validated -----------------------------------------------------------


def test_a_round_of_another_model_is_refused_by_name_if_two_rounds_are_compared(
    snapshot, estimates, rows, classifiers
):
    fitted, plain = (validate(each, 300, name=f"round{len(kind)}") for kind, each in classifiers.items())
    other_rows = to_columns(draw_people(ROWS, 9)[0][:, [5, 1, 2, 3, 4, 0]].clip(0, 1))
    with pytest.raises(UnlabelledRowsError, match=f"^round{len(FITTED)} validated a model that is neither"):
        compare(snapshot, other_rows, plain, fitted)
    with pytest.raises(UnlabelledRowsError, match="neither of the two classifiers"):
        compare(simulate(20_000, seed=5), rows, plain, fitted)
    again = validate(classifiers[NAIVE_BAYES], 400, name="again")
    with pytest.raises(UnlabelledRowsError, match="both validated the same kind of classifier, naive bayes"):
        compare(snapshot, rows, plain, again)
    with pytest.raises(UnlabelledRowsError, match="needs estimates with a first"):
        fit_unlabelled(snapshot, estimates, rows, second_validation=plain)


def test_a_second_round_of_another_survey_is_refused(snapshot, rows, classifiers):
    survey = read_survey(SURVEY.replace('"overlapping"', '"other"'))
    model = build_validation(survey.compile(), *classifiers[FITTED])
    plan = replace(survey.with_validation(model), id="other-round", family="other").compile()
    codes, labels = draw_people(300, 8)
    other = simulate_reports(plan, codes, labels, FastStream(3))
    with pytest.raises(EstimationError, match="but of another survey"):
        compare(snapshot, rows, validate(classifiers[NAIVE_BAYES], 300), other)


@pytest.mark.parametrize("kind", [FITTED, NAIVE_BAYES])
def test_a_round_is_recognised_if_a_few_reports_came_late(rows, classifiers, kind):
    codes, labels = draw_people(20_000, 1)
    plan = read_survey(SURVEY).compile()
    late = simulate(20_000) + simulate_reports(plan, codes[:20], labels[:20], FastStream(9))
    estimates = estimate_snapshot(late, validation=validate(classifiers[kind], 300))
    assert fit_unlabelled(late, estimates, rows).summary.validated == kind


def test_one_round_of_another_model_chooses_features_only_and_the_card_states_it(rows, classifiers, tmp_path):
    later = simulate(20_000, seed=5)
    estimates = estimate_snapshot(later, validation=validate(classifiers[NAIVE_BAYES], 3000))
    fitted = fit_unlabelled(later, estimates, rows)
    assert fitted.summary.validated == "another model"
    assert fitted.summary.compared is None
    save_model(tmp_path / "model.json", later, estimates, classifier=fitted)
    assert "validated another model than the two" in load_model(tmp_path / "model.json").card()


def test_a_model_that_an_earlier_round_narrowed_is_recognised(snapshot, rows, classifiers):
    earlier = estimate_snapshot(snapshot, validation=validate(classifiers[NAIVE_BAYES], 4000))
    assert len(earlier.used_features) == 2
    fitted = fit_unlabelled(snapshot, earlier, rows)
    narrowed = {
        NAIVE_BAYES: (earlier.prior, [feature.smoothed for feature in earlier.features]),
        FITTED: (fitted.prior, fitted.conditionals),
    }
    first, second = (validate(each, 300, name=f"again{len(kind)}") for kind, each in narrowed.items())
    assert compare(snapshot, rows, first, second).summary.compared.keys() == {FITTED, NAIVE_BAYES}


def test_a_column_that_the_round_did_not_select_may_contradict_the_reports(snapshot, classifiers):
    estimates = estimate_snapshot(snapshot, validation=validate(classifiers[FITTED], 4000))
    selected = estimates.used_features
    narrowed = replace(estimates.validation_snapshot.plan.validation, order=(5, 0), top_k=(1,))
    plan = replace(
        read_survey(SURVEY).with_validation(narrowed), id="narrowed", family="overlapping"
    ).compile()
    codes, labels = draw_people(3000, 8)
    estimates = estimate_snapshot(snapshot, validation=simulate_reports(plan, codes, labels, FastStream(3)))
    assert estimates.used_features < selected
    contradicting = draw_people(ROWS, 2)[0]
    contradicting[: ROWS - 12, 1] = 0
    contradicting[:, 2] = contradicting[:, 1]
    contradicting[: ROWS - 30, 3] = 1
    with pytest.raises(UnlabelledRowsError, match="contradict the reports too much"):
        fit_unlabelled(snapshot, estimate_snapshot(snapshot), to_columns(contradicting))
    fitted = fit_unlabelled(snapshot, estimates, to_columns(contradicting))
    assert fitted.summary.contradicting == ()


def test_scores_of_numbers_are_compared_too():
    text = SURVEY.replace("range = [0, 3]\nbins = 3", "range = [0, 3]")
    plan = read_survey(text).compile()
    codes, labels = draw_people(20_000, 1)
    codes[:, -1] = plan.features[-1].code_array(codes[:, -1] + 0.5)
    estimates = estimate_snapshot(simulate_reports(plan, codes, labels, FastStream(1)))
    tables = [feature.smoothed for feature in estimates.features]
    number = tables[-1]
    one, other = (
        (estimates.prior, tables),
        (estimates.prior, [*tables[:-1], replace(number, mean=-number.mean)]),
    )
    for kind, each in (("one", one), ("other", other)):
        assert find_nearest(build_validation(plan, *each), {"one": [one], "other": [other]}) == kind


# -- files, card and page -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def naive_bayes_chosen(
    snapshot: Snapshot, rows: dict[str, list[object]], classifiers: dict[str, Tables]
) -> UnlabelledClassifier:
    plain = validate(classifiers[NAIVE_BAYES], 4000, name="plain")
    return compare(snapshot, rows, validate(classifiers[FITTED], 3000, guessing=True, name="fitted"), plain)


def test_naive_bayes_that_the_answers_chose_predicts_like_a_model_of_its_round(
    snapshot,
    naive_bayes_chosen,
    classifiers,
    tmp_path,
):
    save_model(tmp_path / "model.json", snapshot, naive_bayes_chosen.estimates, classifier=naive_bayes_chosen)
    plain = validate(classifiers[NAIVE_BAYES], 4000, name="plain")
    save_model(tmp_path / "plain.json", snapshot, estimate_snapshot(snapshot, validation=plain))
    frame = pd.DataFrame(to_columns(draw_people(200, 1)[0]))
    model, expected = (load_model(tmp_path / name) for name in ("model.json", "plain.json"))
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(frame))
    assert model.estimates_.as_dict() == expected.estimates_.as_dict()
    assert json.loads((tmp_path / "model.json").read_bytes())["kind"] == "people"


def test_file_card_and_page_state_who_chose_and_both_accuracies(snapshot, naive_bayes_chosen, tmp_path):
    path = tmp_path / "model.json"
    save_model(path, snapshot, naive_bayes_chosen.estimates, classifier=naive_bayes_chosen)
    model = load_model(path)
    for text in (model.card(), render_page(read_results(path)).decode()):
        assert "because the answers of two validation rounds choose it" in text
        assert "3,000 devices" in text
        assert "4,000 devices" in text
    assert (model.privacy_.validation.reports, model.privacy_.compared_validation.reports) == (4000, 3000)


def test_estimates_of_the_other_round_are_not_saved_with_the_classifier(
    snapshot, estimates, naive_bayes_chosen
):
    with pytest.raises(ValueError, match="save its `estimates`"):
        dump_model(snapshot, estimates, classifier=naive_bayes_chosen)
    assert naive_bayes_chosen.compared_snapshot is not None
    other = estimate_snapshot(snapshot, validation=naive_bayes_chosen.compared_snapshot)
    with pytest.raises(ValueError, match="save its `estimates`"):
        dump_model(snapshot, other, classifier=naive_bayes_chosen)


@pytest.mark.slow
def test_damaged_entries_of_a_comparison_are_refused_or_read(snapshot, naive_bayes_chosen, tmp_path):
    data = dump_model(snapshot, naive_bayes_chosen.estimates, classifier=naive_bayes_chosen)
    content = json.loads(data)
    del content["checksum"]
    path = tmp_path / "model.json"

    def read(changed: bytes) -> bytes:
        path.write_bytes(changed)
        load_model(path).card()
        return render_page(read_results(path))

    read_all(content, read, 200, ("unlabelled",), signed)
    assert parse_model(data).unlabelled == naive_bayes_chosen.summary
