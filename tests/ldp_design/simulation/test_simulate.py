"""A simulation runs the real protocol, is reproducible, and compares with baselines."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from encoders.errors import LdpError, RowError, SurveyError
from encoders.survey import CategoricalFeature, Label, Survey, read_survey
from encoders.survey.features import GRID
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_design import SimulationGrid, simulate
from ldp_design.authoring.project import projection_inputs, write_projection
from ldp_design.simulation.accuracies import SimulationError
from ldp_design.simulation.experiment import split_rows
from ldp_design.simulation.variants import Variant
from reduction.fit import FitError, fit
from tests.support.surveys import survey_toml

SURVEY = survey_toml(
    id="simulation-tests",
    features={
        "tea": ["black", "green"],
        "hours": {"range": [0, 12], "bins": 4},
        "noise": {"values": ["1", "2", "3"], "weight": 2},
    },
)


@pytest.fixture(scope="module")
def survey() -> Survey:
    return read_survey(SURVEY)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    tired = rng.random(4000) < 0.6
    tea = np.where(rng.random(4000) < np.where(tired, 0.85, 0.2), "black", "green")
    hours = np.where(tired, 4, 9) + 2 * rng.normal(size=4000)
    noise = rng.integers(1, 4, 4000)
    return pd.DataFrame(
        {
            "tea": tea,
            "hours": hours,
            "noise": noise,
            "tired": np.where(tired, "yes", "no"),
            "extra": "ignored",
        }
    )


@pytest.mark.slow
def test_accuracy_rises_with_epsilon_to_near_non_private(survey, people):
    result = simulate(
        survey, people, SimulationGrid(epsilons=[0.05, 1, 8], mechanisms=["DE"]), repeats=8, seed=1
    )
    low, middle, high = (row.accuracy for row in result.rows)
    assert low < middle < high
    assert high > result.non_private - 0.01
    assert result.non_private > result.majority + 0.2
    assert abs(result.majority - 0.6) < 0.03


def test_the_result_has_the_documented_shape(survey, people):
    result = simulate(
        survey, people, SimulationGrid(epsilons=["0.5", 2], mechanisms=["auto", "OUE"]), repeats=3
    )
    document = json.loads(json.dumps(result.as_dict()))
    assert list(document) == ["rows", "non_private", "majority", "majority_class", "public_share"]
    assert [(row["epsilon"], row["mechanism"]) for row in document["rows"]] == [
        (0.5, "auto"),
        (0.5, "OUE"),
        (2.0, "auto"),
        (2.0, "OUE"),
    ]
    ways = {"epsilon", "mechanism", "numeric", "projection", "validated", "estimator", "repeats"}
    assert set(document["rows"][0]) == ways | {
        "accuracy",
        "stderr",
        "non_private",
        "balanced_accuracy",
        "log_loss",
        "calibration_error",
        "beats_majority",
    }
    assert {(row["numeric"], row["projection"]) for row in document["rows"]} == {("survey", "none")}
    assert {(row["estimator"], row["repeats"]) for row in document["rows"]} == {("default", 3)}


def test_equal_seeds_give_equal_results_and_others_do_not(survey, people):
    one, same, other = (simulate(survey, people, repeats=3, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.slow
def test_a_row_does_not_depend_on_the_other_rows_or_their_order(survey, people):
    alone = simulate(survey, people, SimulationGrid(epsilons=["1.0"], mechanisms=["DE"]), repeats=3)
    grid = SimulationGrid(epsilons=[5, "0.5", 1, 2, 4], mechanisms=["OUE", "DE"])
    beside = simulate(survey, people, grid, repeats=3)
    assert [row for row in beside.rows if row in alone.rows] == list(alone.rows)


def test_one_repeat_has_a_binomial_error(survey, people):
    row = simulate(survey, people, repeats=1).rows[0]
    assert row.stderr == pytest.approx((row.accuracy * (1 - row.accuracy) / 800) ** 0.5)


def test_dicts_frames_and_columns_give_equal_results(survey, people):
    head = people.head(200)
    results = [
        simulate(survey, rows, repeats=2) for rows in (head, head.to_dict("records"), head.to_dict("list"))
    ]
    assert results[0] == results[1] == results[2]


def test_the_label_may_be_called_class(survey, people):
    renamed = people.rename(columns={"tired": "class"})
    assert simulate(survey, renamed, repeats=2) == simulate(survey, people, repeats=2)
    with pytest.raises(SimulationError, match="no column 'tired' to take the label from, nor a \"class\""):
        simulate(survey, people.drop(columns="tired"))


def test_a_missing_column_and_a_bad_row_are_named(survey, people):
    with pytest.raises(SimulationError, match="no column 'tea'"):
        simulate(survey, people.drop(columns="tea"))
    with pytest.raises(SimulationError, match=r"no column 'tea', 'hours', 'noise': add"):
        simulate(survey, people[["tired"]])
    people = people.head(20).copy()
    people.loc[3, "tea"] = "oolong"
    with pytest.raises(RowError, match=r"^tea: row 4"):
        simulate(survey, people)


def test_the_papers_estimator_asks_the_label_and_all_questions_equally_often(survey):
    paper = Variant(epsilon=Decimal(2), mechanism="THE", estimator="paper").apply(survey)
    assert paper.weights == (1, 1, 1, 1)
    assert paper.frequency == "THE(0.25)"
    ours = Variant(epsilon=Decimal(2), mechanism="THE").apply(survey)
    assert (ours.frequency, ours.weights) == ("THE", (None, 1, 1, 2))
    assert paper.compile().questions[0].kind == "label"


@pytest.mark.slow
def test_the_papers_estimator_works_with_every_mechanism(survey, people):
    mechanisms = ["DE", "SUE", "OUE", "SHE", "THE", "SS"]
    result = simulate(
        survey, people, SimulationGrid(epsilons=[6], mechanisms=mechanisms), estimator="paper", repeats=2
    )
    assert min(row.accuracy for row in result.rows) > result.majority + 0.1


@pytest.mark.parametrize("epsilon", [0, -1, "NaN", "x", 1000])
def test_an_impossible_epsilon_is_refused(survey, people, epsilon):
    with pytest.raises(SurveyError, match=r"^epsilon: needs a number above 0"):
        simulate(survey, people, SimulationGrid(epsilons=[epsilon]))


def test_too_little_to_split_is_refused(survey, people):
    for rows, repeats in ((people.head(1), 1), (people, 0)):
        with pytest.raises(SimulationError, match="at least two rows and one repeat"):
            simulate(survey, rows, repeats=repeats)
    assert simulate(survey, people.head(2), repeats=2).majority in (0.0, 0.5, 1.0)


def test_progress_is_reported_after_every_trial(survey, people):
    steps = []
    simulate(survey, people.head(50), SimulationGrid(epsilons=[1, 2]), repeats=3, progress=steps.append)
    assert steps == [1] * 6


# -- numbers, projected -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def line() -> pd.DataFrame:
    """Return rows with two numbers whose difference separates the classes; each alone hardly does."""
    rng = np.random.default_rng(5)
    kind, shared = rng.integers(0, 2, 900), rng.normal(0, 1, 900)
    left = shared + 0.2 * rng.standard_normal(900)
    right = shared + 0.6 * (kind - 0.5) + 0.2 * rng.standard_normal(900)
    return pd.DataFrame({"left": left, "right": right, "class": np.array(["a", "b"])[kind]})


NUMBERS = survey_toml(
    id="numbers",
    epsilon=1,
    label={"name": "class", "values": ["a", "b"]},
    features={"left": {"range": [-4, 4]}, "right": {"range": [-4, 4]}},
)


@pytest.mark.slow
def test_a_projection_finds_a_direction_that_no_single_number_shows(line):
    grid = SimulationGrid(epsilons=[8], numeric=["auto"], projections=["none", "pca:1", "dca:1"])
    raw, pca, dca = simulate(read_survey(NUMBERS), line, grid, repeats=4).rows
    assert [row.projection for row in (raw, pca, dca)] == ["none", "pca:1", "dca:1"]
    assert max(raw.non_private, pca.non_private) < 0.8 < min(dca.non_private, dca.accuracy)


@pytest.mark.slow
def test_every_mechanism_for_numbers_is_simulated(line):
    numeric = ["survey", "bins:4", "auto", "sign", "onebit", "sampled-laplace", "laplace", "piecewise"]
    survey = read_survey(NUMBERS)
    rows = simulate(
        survey, line, SimulationGrid(epsilons=[4], numeric=numeric), estimator="paper", repeats=2
    ).rows
    assert [row.numeric for row in rows] == numeric
    assert all(0 <= row.accuracy <= 1 and row.repeats == 2 for row in rows)


@pytest.mark.slow
def test_public_rows_fit_the_projection_and_do_not_report(line):
    survey = read_survey(NUMBERS)
    private, public = (
        simulate(
            survey, line, SimulationGrid(epsilons=[8], projections=["dca:1"]), public_share=share, repeats=3
        ).rows[0]
        for share in (0, 0.2)
    )
    assert private != public
    assert public.accuracy > 0.75
    with pytest.raises(SimulationError, match="public_share"):
        simulate(survey, line, SimulationGrid(projections=["dca:1"]), public_share=1)
    with pytest.raises(SimulationError, match="leaves no row that reports"):
        simulate(survey, line, SimulationGrid(projections=["dca:1"]), public_share=0.9999)
    with pytest.raises(FitError, match="at least 2 rows"):  # and not fitted on the rows that report
        simulate(survey, line, SimulationGrid(projections=["dca:1"]), public_share=0.0005)


def test_a_simulated_projection_equals_the_written_one(line):
    text = NUMBERS.replace("range = [-4, 4]", "range = [-4, 4]\nweight = 3")
    text += "[features.idle]\nrange = [0, 1]\nweight = 0\n[features.kind]\nvalues = ['x', 'y']\n"
    survey = read_survey(text)
    inputs = tuple(projection_inputs(survey))
    assert [each.name for each in inputs] == ["left", "right"]
    numbers = (
        np.stack([encode_numbers(each, line[each.name].to_numpy()) for each in inputs], axis=1) / GRID - 1
    )
    found = fit("dca", inputs, numbers, (line["class"] == "b").to_numpy(dtype=int))
    asked = Variant(epsilon=Decimal(1), projection="dca:1").apply(survey, found)
    cells = {name: [str(cell) for cell in line[name]] for name in ("left", "right", "class")}
    written = read_survey(write_projection(text, cells, "rows.csv"))
    weights = dict(zip((each.name for each in asked.features), asked.weights[1:], strict=True))
    assert weights == dict(zip((each.name for each in written.features), written.weights[1:], strict=True))
    assert weights == {"idle": 0, "kind": 1, "dca1": 3}
    assert asked.projection == written.projection


@pytest.mark.slow
def test_components_are_numbers_unless_bins_are_requested(line):
    binned = read_survey(NUMBERS.replace("range = [-4, 4]", "range = [-4, 4]\nbins = 6"))
    written, six, numbers = (
        simulate(binned, line, SimulationGrid(epsilons=[8], projections=["dca:1"], numeric=[how]), repeats=2)
        .rows[0]
        .non_private  # it has no noise, so equal codes of the rows give equal accuracies
        for how in ("survey", "bins:6", "auto")
    )
    assert written == numbers != six


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"numeric": ["bins:1"]}, "bins:N"),
        ({"numeric": ["guess"]}, 'choose one of "auto", laplace'),
        ({"projections": ["lda:1"]}, "choose none, or a method"),
        (
            {"projections": ["none", "dca:3"]},
            "dca:3: choose 1 to 2 components; the survey asks about 2 numbers",
        ),
        ({"projections": ["learned:1"]}, "choose none, or a method"),
        ({"epsilons": [1, "nan"]}, "epsilon"),
    ],
)
def test_a_variant_that_does_not_exist_is_named(line, options, words):
    with pytest.raises(LdpError, match=words):
        simulate(read_survey(NUMBERS), line, SimulationGrid(**options))


# -- validation ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def echoes() -> dict[str, list[str]]:
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 2, 20_000)
    related, echo = (np.where(rng.random(20_000) < often, labels, 1 - labels) for often in (0.9, 0.7))
    columns = {"class": labels, "related": related, **{f"echo{each}": echo for each in range(5)}}
    return {name: np.array(["a", "b"])[column].tolist() for name, column in columns.items()}


@pytest.mark.slow
def test_a_validated_model_is_more_accurate_without_redundant_features(echoes):
    features = [CategoricalFeature(name, ("a", "b"), "error") for name in echoes if name != "class"]
    survey = Survey(
        id="echoes",
        epsilon=Decimal(2),
        label=Label("class", ("a", "b")),
        features=tuple(features),
        weights=(None, *[1] * 6),
    )
    plain, validated = (
        simulate(survey, echoes, SimulationGrid(epsilons=[2], validate=each), repeats=4).rows[0]
        for each in (False, True)
    )
    assert (plain.validated, validated.validated) == (False, True)
    # echoes equal the label in 70% of rows, and outvote the feature that equals it in 90%; 4,000 test rows
    assert plain.accuracy < 0.75 < 0.88 < validated.accuracy


def test_a_model_of_one_feature_is_not_validated(echoes):
    features = (CategoricalFeature("related", ("a", "b"), "error"),)
    survey = Survey(
        id="echoes",
        epsilon=Decimal(2),
        label=Label("class", ("a", "b")),
        features=features,
        weights=(None, 1),
    )
    row = simulate(survey, echoes, SimulationGrid(epsilons=[2], validate=True), repeats=1).rows[0]
    assert row.accuracy > 0.85


def test_users_are_drawn_with_replacement_from_the_rows_that_report():
    (split,) = split_rows(100, 1, 5, 0.0, users=1000)
    people = split.draw_people()
    assert len(people) == 1000
    assert set(people.tolist()) == set(split.train.tolist())
    assert np.array_equal(people, split.draw_people())
    (plain,) = split_rows(100, 1, 5, 0.0)
    assert np.array_equal(plain.train, split.train)
    assert np.array_equal(plain.draw_people(), plain.train)


def test_parts_of_a_split_are_disjoint():
    for split in split_rows(200, 3, 2, 0.1):
        parts = (split.train, split.test, split.public)
        assert sorted(np.concatenate(parts).tolist()) == list(range(200))


@pytest.mark.slow
def test_more_users_make_the_model_more_accurate(survey, people):
    few, many = (
        simulate(survey, people.head(400), SimulationGrid(epsilons=[0.5]), repeats=4, users=users).rows[0]
        for users in (0, 200_000)
    )
    assert many.accuracy > few.accuracy
    assert many.log_loss < few.log_loss
    assert abs(many.accuracy - many.non_private) < 0.05
    with pytest.raises(SimulationError, match="users must be at least 1"):
        simulate(survey, people, users=-1)
