"""A model that devices validate, in whole numbers, with equal results on a device and over a table."""

import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.errors import RowError, SurveyError
from encoders.explain.preview import explain_report, preview
from encoders.mechanisms.numeric_base import GRID
from encoders.randomness import GivenBytes
from encoders.survey import BinnedFeature, CategoricalFeature, Label, NumericFeature, Plan, read_survey
from encoders.survey.plan_document import parse_plan_fields
from encoders.survey.randomise import randomise, read_report
from encoders.survey.validation_round import BINS, LOWEST, OUTCOMES, Validation, cells_of
from ldp_aggregator.rows.encode_table import encode_labels, encode_table, validate_table
from tests.support.mistakes import refuse
from tests.support.surveys import PROJECTED, VALIDATED

ROOT = Path(__file__).resolve().parents[3]
LABEL = Label("mood", ("good", "fair", "bad"))
KIND = CategoricalFeature("kind", ("x", "y"), "category")
HOURS = BinnedFeature("hours", ("0", "4.5", "12"))
SIZE = NumericFeature("size", "0", "8")
DOSE = NumericFeature("dose", "-1", "1", "category")
FEATURES = (KIND, HOURS, SIZE, DOSE)
MODEL = Validation(
    label=LABEL,
    features=FEATURES,
    order=(3, 0, 2),
    top_k=(1, 2),
    prior=(-10, 0, -20),
    scores=(
        ((0, -5, -7), (-3, 0, -4), (0, 0, -1)),
        ((0, 0, 0), (0, 0, 0)),
        tuple((-part, part - BINS, -30) for part in range(BINS)),
        (*((part - BINS, -30, -part) for part in range(BINS)), (-9, -1, 0)),
    ),
)

FIRST = [-(-part * (2 * GRID + 1) // BINS) for part in range(BINS)]
"""The first code of every part."""


def codes_of(feature: Any) -> st.SearchStrategy[int]:
    """Draw any code of a feature; of a number, often one at the edge of a part."""
    if not isinstance(feature, NumericFeature):
        return st.integers(0, feature.size - 1)
    edges = [part * GRID * 2 // BINS + step for part in range(BINS + 1) for step in (-1, 0, 1)]
    edges = [code for code in (*edges, feature.size - 1) if 0 <= code < feature.size]
    return st.one_of(st.sampled_from(edges), st.integers(0, feature.size - 1))


@st.composite
def models(draw: st.DrawFn) -> Validation:
    """Draw a model of the features above, of few different scores, so that labels often tie."""
    count = draw(st.integers(2, 4))
    score = st.sampled_from((0, -1, -2, LOWEST))
    rows = st.tuples(*[score] * count)
    few = draw(st.lists(rows, min_size=5, max_size=5))
    places = draw(st.permutations(range(len(FEATURES))))
    order = tuple(places[: draw(st.integers(2, len(places)))])
    top_k = draw(st.sets(st.integers(1, len(order) - 1), min_size=1))
    scores = tuple(
        tuple(few[(7 * cell + place) % 5] for cell in range(cells_of(feature)))
        for place, feature in enumerate(FEATURES)
    )
    label = Label("mood", ("good", "fair", "bad", "awful")[:count])
    return Validation(
        label=label,
        features=FEATURES,
        order=order,
        top_k=tuple(sorted(top_k)),
        prior=draw(rows),
        scores=scores,
    )


Codes = tuple[int, ...]
table = st.lists(st.tuples(*map(codes_of, FEATURES)), min_size=1, max_size=8)

# -- outcomes -----------------------------------------------------------------------------------


def guess_of(model: Validation, codes: Any, top: int) -> int:
    """Return the guess as Naive Bayes makes it, in doubles: they hold these sums exactly."""
    sums = np.array(model.prior, dtype=np.float64)
    for place in model.order[:top]:
        code, feature = codes[place], model.features[place]
        if isinstance(feature, NumericFeature):
            missing = code == 2 * GRID + 1
            code = BINS if missing else int(np.searchsorted(FIRST, code, side="right")) - 1
        sums += np.array(model.scores[place][code], dtype=np.float64)
    return int(sums.argmax())


@pytest.mark.slow
@settings(deadline=None)
@given(models(), table)
def test_outcome_is_whether_the_first_label_of_the_highest_score_is_the_true_one(model, rows):
    model.check()
    for codes, label in product(rows, range(len(model.prior))):
        top_k, all_ = model.validate(codes, label)
        assert all_ == (guess_of(model, codes, len(model.order)) == label)
        assert top_k == tuple(guess_of(model, codes, top) == label for top in model.top_k)
        assert {type(each) for each in (*top_k, all_)} == {int}


@pytest.mark.slow
@settings(deadline=None)
@given(models(), table, st.data())
def test_outcomes_of_a_table_equal_those_of_its_rows(model, rows, data):
    known = st.integers(0, len(model.prior) - 1)
    labels = data.draw(st.lists(known, min_size=len(rows), max_size=len(rows)))
    top_k, all_ = validate_table(model, np.array(rows), np.array(labels))
    assert (top_k.shape, all_.shape) == ((len(rows), len(model.top_k)), (len(rows),))
    assert top_k.dtype == all_.dtype == np.int64
    one_by_one = [model.validate(codes, label) for codes, label in zip(rows, labels, strict=True)]
    assert [(tuple(each), one) for each, one in zip(top_k.tolist(), all_.tolist(), strict=True)] == one_by_one


def test_table_without_rows_has_no_outcomes():
    top_k, all_ = validate_table(MODEL, np.zeros((0, 4), dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert (top_k.shape, all_.shape) == ((0, 2), (0,))


def shows(place: int, cell: int) -> Validation:
    """Return a model that is right about the first label in one cell of one feature only."""
    nothing = tuple(((0, 0, 0),) * cells_of(feature) for feature in FEATURES)
    rows = tuple((0, -1, -1) if each == cell else (-1, 0, -1) for each in range(cells_of(FEATURES[place])))
    order = (place, (place + 1) % len(FEATURES))
    return replace(
        MODEL,
        order=order,
        top_k=(1,),
        prior=(0, 0, 0),
        scores=(*nothing[:place], rows, *nothing[place + 1 :]),
    )


@pytest.mark.parametrize("part", [0, 1, 31, 32, 62, 63])
def test_parts_of_a_number_s_range_are_equal_and_include_their_ends(part):
    model, last = shows(2, part), (2 * GRID if part == BINS - 1 else FIRST[part + 1] - 1)
    for code in {0, 2 * GRID, *range(FIRST[part] - 2, FIRST[part] + 3), *range(last - 2, last + 3)}:
        if 0 <= code <= 2 * GRID:
            assert model.validate((0, 0, code, 0), 0)[1] == (FIRST[part] <= code <= last)
    assert last + 1 - FIRST[part] in (2 * GRID // BINS, 2 * GRID // BINS + 1)


def test_the_last_row_of_scores_is_a_missing_number_s_and_no_other_s():
    model = shows(3, BINS)
    codes = [*FIRST, 2 * GRID, DOSE.code(None)]
    assert [model.validate((0, 0, 0, code), 0)[1] for code in codes] == [0] * (BINS + 1) + [1]


def test_feature_that_is_not_in_the_order_has_no_effect():
    outcomes = {MODEL.validate((0, hours, 7, 9), 0) for hours in range(HOURS.size)}
    assert len(outcomes) == 1


# -- invalid models -----------------------------------------------------------------------------


def scores_with(place: int, *table: Any) -> tuple[Any, ...]:
    return (*MODEL.scores[:place], table, *MODEL.scores[place + 1 :])


NO_MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "an order beyond the features": ("order", "at least two features", {"order": (0, 4)}),
    "an order below them": ("order", "at least two features", {"order": (0, -1)}),
    "an order with true": ("order", "each once", {"order": (0, True, 2)}),
    "an order with a list": ("order", "each once", {"order": (0, [2])}),
    "tops that are equal": ("tops", "that increase", {"top_k": (1, 1)}),
    "a top that is no whole number": ("tops", "whole numbers", {"top_k": (1.0, 2)}),
    "a prior that is false": ("prior", "a whole number", {"prior": (0, 0, False)}),
    "scores of three features": ("scores", "for each feature", {"scores": MODEL.scores[:3]}),
    "scores of five features": ("scores", "for each feature", {"scores": (*MODEL.scores, ())}),
    "a label less": ("scores.hours", "3 in all", {"scores": scores_with(1, (0, 0, 0), (0, 0))}),
    "a row that is a list": ("scores.hours", "a whole", {"scores": scores_with(1, (0, 0, 0), [0, 0, 0])}),
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_an_invalid_model_is_refused_by_field(name):
    field, words, changes = NO_MODELS[name]
    with pytest.raises(SurveyError) as caught:
        replace(MODEL, **changes).check()
    assert caught.value.field == f"validation.{field}"
    assert words in caught.value.why
    MODEL.check()


# -- plans --------------------------------------------------------------------------------------

SURVEY = read_survey(VALIDATED)
PLAN = SURVEY.compile()
MODEL_PLAN = read_survey(PROJECTED).compile()
ROW = {"age": 30, "income": 20_000, "city": "south", "hours": 2.5}
COLUMNS: dict[str, list[Any]] = {
    "age": [30, None, 0, 100, 1e9, 30],
    "income": [20_000, 0, -2000.5, 200_000, 1, -5e9],
    "city": ["south", "north", "north", "south", "south", "north"],
    "hours": [2.5, 0, 12, 0.1875, 99, -1],
}
LABELS = ["no", "yes", "yes", "no", "yes", "no"]


def test_plan_asks_for_outcomes_and_rows_are_coded_by_the_model_s_survey():
    assert PLAN.validation is not None
    assert (PLAN.label.name, PLAN.label.values) == ("all 3", OUTCOMES)
    assert [(each.name, each.values) for each in PLAN.features] == [("top 1", OUTCOMES), ("top 2", OUTCOMES)]
    assert [question.name for question in PLAN.questions] == ["top 1", "top 2"]
    assert [PLAN.question_probability(question) for question in PLAN.questions] == [0.5, 0.5]
    assert PLAN.projection is None
    assert (PLAN.row_schema.label, PLAN.row_schema.features) == (MODEL_PLAN.label, MODEL_PLAN.features)
    assert PLAN.row_schema.projection == MODEL_PLAN.projection
    assert PLAN.entries == MODEL_PLAN.entries
    assert PLAN.encode_row(ROW) == MODEL_PLAN.encode_row(ROW)


def test_client_without_validation_rounds_refuses_the_plan(monkeypatch):
    # such a client ignores the entry and finds that the plan is inconsistent
    def older(document: dict[str, Any]) -> dict[str, Any]:
        return parse_plan_fields({name: entry for name, entry in document.items() if name != "validation"})

    monkeypatch.setattr("encoders.survey.plan.parse_plan_fields", older)
    assert "contradicts itself" in str(refuse(PLAN.json, Plan.from_json))


def test_encode_validates_the_model_on_the_row():
    assert PLAN.validation is not None
    for label in MODEL_PLAN.label.values:
        codes, code = MODEL_PLAN.encode(ROW, label)
        assert PLAN.encode(ROW, label) == PLAN.validation.validate(codes, code)
    assert {PLAN.encode(ROW, label)[1] for label in MODEL_PLAN.label.values} == {0, 1}


def test_validate_table_equals_validate_on_each_row():
    assert PLAN.validation is not None
    top_k, all_ = validate_table(PLAN.validation, encode_table(PLAN, COLUMNS), encode_labels(PLAN, LABELS))
    for place, label in enumerate(LABELS):
        row = {name: cells[place] for name, cells in COLUMNS.items()}
        assert PLAN.encode(row, label) == (tuple(top_k[place].tolist()), all_[place])
    assert len(set(map(tuple, top_k.tolist()))) > 2


@pytest.mark.parametrize(
    ("changes", "label", "field"),
    [
        ({"city": "west"}, "no", "city"),
        ({"hours": None}, "no", "hours"),
        ({}, "right", "rested"),
    ],
)
def test_all_of_a_row_is_checked_before_anything_is_drawn(changes, label, field):
    with pytest.raises(RowError) as caught:
        randomise(PLAN, ROW | changes, label, GivenBytes(b""))
    assert caught.value.field == field
    absent = {name: value for name, value in ROW.items() if name != "city"}
    with pytest.raises(RowError, match=r"^city: the row has no such entry"):
        randomise(PLAN, absent, "no", GivenBytes(b""))


def test_entries_outside_the_bounds_of_the_model_are_named():
    assert PLAN.clipped_names(ROW) == ()
    assert PLAN.clipped_names(ROW | {"age": 101, "hours": -1, "top 1": 9}) == ("age", "hours", "second")


def test_answer_is_the_outcome_randomised_like_any_other():
    for label, question in product(MODEL_PLAN.label.values, PLAN.questions):
        codes, code = PLAN.encode(ROW, label)
        given = randomise(
            PLAN, ROW, label, GivenBytes(bytes(16 + question.mechanism.random_bytes)), question.name
        )
        assert given.truth == 2 * codes[question.index] + code
        assert given.payload == bytes([given.truth])  # DE keeps the truth with such noise
        assert read_report(PLAN, given.report).question == question.index


def test_preview_explains_the_validation_and_its_result():
    seen = preview(PLAN, ROW | {"hours": -1}, "yes", GivenBytes(bytes(40)), "top 2")
    assert seen.truth == {"top 2": "right", "all 3": "wrong"}
    assert seen.clipped == ("hours",)
    for text in (str(seen), explain_report(PLAN, seen.report)):
        words = " ".join(text.split())
        assert "This survey tests a model. The device predicts rested from the answers" in words
        assert "Decoded: top 2 = right, all 3 = wrong" in words
        assert "  top 2  50.0%  <- this one" in text
        assert "south" not in text
        assert max(map(len, text.splitlines())) <= 110
    words = " ".join(str(seen).split())
    assert "stays on the device: top 2 = right, all 3 = wrong (hours is outside its range, 0 to 12" in words


def test_answers_to_another_model_are_counted_separately():
    assert PLAN.validation is not None
    scores = PLAN.validation.scores
    others = {
        "prior": {"prior": (0, -21)},
        "order": {"order": (3, 1, 0)},
        "scores": {"scores": (((0, -701), *scores[0][1:]), *scores[1:])},
        "scores of a feature that is not used": {
            "scores": (*scores[:2], ((0, -1), *scores[2][1:]), scores[3])
        },
    }
    keys = {question.key for question in PLAN.questions}
    for what, changes in others.items():
        other = SURVEY.with_validation(replace(PLAN.validation, **changes)).compile()
        assert other.digest != PLAN.digest, what
        assert keys.isdisjoint(question.key for question in other.questions), what
    plain = replace(SURVEY, validation=None).compile()
    assert keys.isdisjoint(question.key for question in plain.questions)


def test_answers_to_one_model_are_added_up():
    other = replace(SURVEY, id="sleep-again", family="sleep-2026").compile()
    assert other.digest != PLAN.digest
    assert [question.key for question in other.questions] == [question.key for question in PLAN.questions]


def test_plan_with_outcomes_of_another_model_is_refused():
    assert PLAN.validation is not None
    for other in (replace(PLAN.validation, top_k=(1,)), replace(PLAN.validation, order=(1, 3, 0, 2))):
        other.check()
        with pytest.raises(SurveyError, match="must be its outcomes"):
            replace(PLAN, validation=other)


@pytest.mark.slow
def test_a_model_that_is_too_large_for_a_plan_is_refused():
    many = ", ".join(f'"{value:04}"' for value in range(5000))
    rows = ", ".join(["[-1000000, -1000000]"] * 5000)
    text = "".join(f"[features.f{place}]\nvalues = [{many}]\n" for place in range(8))
    head = '[survey]\nid = "large"\nepsilon = 1\n[label]\nname = "l"\nvalues = ["y", "n"]\n'
    model = '[validation]\norder = ["f0", "f1"]\ntops = [1]\nprior = [0, 0]\n[validation.scores]\n'
    scores = "".join(f"f{place} = [{rows}]\n" for place in range(8))
    with pytest.raises(SurveyError, match="larger than 1048576 bytes"):
        read_survey(head + text + model + scores).compile()


@pytest.mark.slow
def test_device_without_numpy_validates():
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
sys.modules["numpy"] = None  # importing it fails
from encoders.survey import Plan
print(Plan.from_json({PLAN.json!r}).encode({ROW!r}, "no"))
"""
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(PLAN.encode(ROW, "no"))
