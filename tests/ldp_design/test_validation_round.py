"""A model becomes integer scores; devices that predict by them predict as the model does."""

import numpy as np
import pytest

from encoders.survey import Plan
from encoders.survey.features import GRID
from ldp_aggregator.estimation import Gaussian
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.rows.encode_table import validate_table
from ldp_design.model_validation import ValidationError, build_validation, top_k_sizes
from tests.support.surveys import make_plan

HOURS = {"range": [0, 12], "missing": "category"}


def make_survey(features: int = 4, **more: object) -> Plan:
    every = {f"f{number}": ["a", "b", "c"] for number in range(features)} | more
    return make_plan(label=["yes", "no", "rather"], features=every)


def make_tables(count: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.dirichlet(np.ones(3), 3).T for _ in range(count)]


@pytest.mark.parametrize(
    ("features", "tops"),
    [
        (2, (1,)),
        (3, (1,)),
        (4, (1, 2)),
        (6, (1, 2, 3)),
        (21, (1, 2, 3, 5, 8)),
        (36, (1, 2, 3, 5, 8, 13)),
        (42, (1, 2, 3, 5, 8, 13, 21)),
    ],
)
def test_top_k_sizes_are_fibonacci_numbers_up_to_half_of_the_features(features, tops):
    assert top_k_sizes(features) == tops


def test_devices_predict_as_the_model_does():
    rng, plan = np.random.default_rng(1), make_survey()
    prior, tables = rng.dirichlet(np.ones(3)), make_tables(4, rng)
    found = build_validation(plan, prior, tables)
    found.check()
    codes = rng.integers(0, 3, (2000, 4))
    scores = LogProbabilities.from_probabilities(prior, tables).compute_scores(codes)
    best = np.sort(scores, axis=1)
    clear = best[:, -1] - best[:, -2] > 0.01  # closer ones are rounded
    _, right = validate_table(found, codes, scores.argmax(axis=1))
    assert clear.mean() > 0.9
    assert right[clear].all()


def test_features_are_ordered_by_relevance_and_uninformative_ones_are_not_used():
    little, much = np.array([[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]]), np.eye(3) * 0.9 + 0.1 / 3
    even = np.full((3, 3), 1 / 3)
    found = build_validation(make_survey(), np.full(3, 1 / 3), [little, even, much, even])
    assert (found.order, found.top_k) == ((2, 0), (1,))
    with pytest.raises(ValidationError, match="the model uses 1 of its features"):
        build_validation(make_survey(), np.full(3, 1 / 3), [even, even, much, even])


def test_a_share_of_zero_excludes_its_label_in_integer_scores_too():
    never = np.array([[0.0, 0.5, 0.5], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    found = build_validation(make_survey(), np.full(3, 1 / 3), [never] * 4)
    found.check()
    assert found.scores[0][0] == (-1_000_000, 0, 0)


def test_a_number_is_scored_by_its_density_in_the_middle_of_each_bin():
    plan = make_survey(1, hours=HOURS)
    number = Gaussian(np.array([-0.5, 0.0, 0.5]), np.array([0.02, 0.01, 0.02]), np.array([0.1, 0.3, 0.2]))
    found = build_validation(plan, np.full(3, 1 / 3), [*make_tables(1, np.random.default_rng(2)), number])
    assert [len(table) for table in found.scores] == [3, 65]
    guesses = [max(range(3), key=row.__getitem__) for row in found.scores[1]]
    assert guesses[:64] == sorted(guesses[:64])  # from the lowest label to the highest
    assert guesses[64] == 1
    codes = np.array([[0, int((x + 1) * GRID)] for x in (-0.9, -0.4, 0.02, 0.9)] + [[0, 2 * GRID + 1]])
    by_number = validate_table(found, codes, np.array([0, 0, 1, 2, 1]))
    assert found.order[0] == 1
    assert by_number[0][:, 0].all()
