"""Numbers stand between the centres of bins; all else stands on its code."""

import numpy as np
import pytest

from encoders.errors import RowError
from encoders.survey import read_survey
from encoders.survey.columns import encode_table
from ldp_aggregator import NaiveBayes
from ldp_aggregator.models.places import doubles, place_table
from ldp_aggregator.models.scoring import Tables

PLAN = read_survey(
    """
    [survey]
    id = "places"
    epsilon = 1
    [label]
    name = "tired"
    values = ["yes", "no"]
    [features.tea]
    values = ["black", "green"]
    [features.hours]
    edges = [0, 2, 6, 8]
    missing = "category"
    [features.height]
    range = [0, 2]
    [projection.inputs.left]
    range = [-1, 1]
    [projection.inputs.right]
    range = [-1, 1]
    [features.sum]
    weights = [0.5, 0.5]
    range = [-1, 1]
    bins = 2
    """
).compile()
HOURS = [-5, 0, 1, 2.5, 4, 5.5, 7, 9, None, float("inf")]
COLUMNS = {
    "tea": ["black", "green"] * 5,
    "hours": HOURS,
    "height": np.linspace(0, 2, 10),
    "left": [-1.0, -0.5, 0, 0, 0.25, 0.5, 1, 0, 0, 0],
    "right": [-1.0, -0.5, 0, 0, 0.25, 0.5, 1, 0, 0, 0],
}


def test_places_are_lines_between_the_centres_of_bins():
    places = place_table(PLAN, COLUMNS)
    np.testing.assert_allclose(places[:, 1], [0, 0, 0, 0.5, 1, 1.5, 2, 2, 3, 3])
    np.testing.assert_allclose(places[:7, 3], [0, 0, 0.5, 0.5, 0.75, 1, 1])
    codes = encode_table(PLAN, COLUMNS)
    np.testing.assert_array_equal(places[:, [0, 2]], codes[:, [0, 2]])
    assert np.abs(places - codes).max() <= 1


def test_a_place_between_two_codes_scores_between_them():
    table = np.array([[0.2, 0.5], [0.8, 0.25], [0.0, 0.25]])
    scores = Tables.of(np.array([0.5, 0.5]), [table]).scores(np.array([[0.0], [0.25], [1.0], [1.5], [2.0]]))
    logs = np.log(0.5 * table[:2])
    np.testing.assert_allclose(scores[:3], [logs[0], 0.75 * logs[0] + 0.25 * logs[1], logs[1]])
    assert (scores[3:, 0] == -np.inf).all()
    assert np.isfinite(scores[:, 1]).all()


def test_the_papers_estimator_knows_bins_only():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (4000, 1))
    y = np.where(x[:, 0] + 0.3 * rng.standard_normal(4000) > 0, "b", "a")
    ours, paper = (
        NaiveBayes(epsilon=8, bins=2, estimator=name, random_state=0).fit(x, y)
        for name in ("default", "paper")
    )
    rows = np.array([[-0.2], [-0.1], [0.1], [0.2]])
    assert len(np.unique(ours.predict_proba(rows)[:, 0])) == 4
    assert len(np.unique(paper.predict_proba(rows)[:, 0])) == 2


def test_a_cell_that_is_no_number_is_named_by_row():
    with pytest.raises(RowError, match="hours: row 2: must be a number"):
        doubles([1, "two"], "hours")


@pytest.mark.parametrize("kind", [float, np.float32, int, object])
def test_arrays_of_numbers_are_read_as_their_cells_are(kind):
    cells = [1, 2, 3] if kind is int else [1.5, float("nan"), float("inf"), -float("inf")]
    array = np.array(cells, dtype=kind)
    np.testing.assert_array_equal(doubles(array, "hours"), doubles(list(array), "hours"))
