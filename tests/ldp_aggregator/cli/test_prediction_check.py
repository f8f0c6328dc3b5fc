"""A model that predicts only the most frequent class is reported."""


import numpy as np
import pytest
from click.testing import CliRunner
from ldp_aggregator.cli.prediction_check import find_useless_model

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.cli.train import main
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.synthetic_people import SyntheticPopulation

SURVEY = """
[survey]
id = "health"
epsilon = {epsilon}
[label]
name = "diagnosis"
values = ["yes", "no", "rather not"]
[features.insured]
values = ["yes", "no"]
[features.region]
values = ["a", "b", "c", "d"]
[features.units]
range = [0, 60]
"""
RARE = np.array([0.12, 0.8, 0.08])


def collect(people: int, prior: np.ndarray, ratio: float, epsilon: float = 1.0, seed: int = 1) -> Snapshot:
    """Return the reports of people whose features are related to the label by this ratio."""
    plan = read_survey(SURVEY.format(epsilon=epsilon)).compile()
    population = SyntheticPopulation(
        prior, SyntheticPopulation.from_strength(plan, ratio, ratio - 1).conditionals
    )
    codes, labels = population.draw_people(people, np.random.default_rng(seed))
    return simulate_reports(plan, np.asfortranarray(codes), labels, FastStream(seed))


def test_a_model_of_noise_is_called_useless():
    sentence = find_useless_model(estimate_snapshot(collect(3_000, RARE, 1.0)))
    assert sentence is not None
    assert sentence.startswith("no feature distinguishes the classes beyond noise: ")
    assert "'no'" in sentence
    assert "which is right for about " in sentence


def test_weak_features_that_never_change_a_prediction_are_called_so():
    sentence = find_useless_model(estimate_snapshot(collect(300_000, RARE, 1.2, epsilon=4)))
    assert sentence is not None
    assert sentence.startswith("the features that distinguish the classes are too weak to change")
    assert "predicts 'no' for nearly everybody, which is right for about 80% of the people" in sentence


def test_a_useful_model_is_not_called_useless():
    assert find_useless_model(estimate_snapshot(collect(100_000, np.full(3, 1 / 3), 4.0, epsilon=4))) is None


@pytest.mark.parametrize("people", [0, 1])
def test_hardly_any_reports_raise_no_error(people):
    find_useless_model(estimate_snapshot(collect(people, RARE, 1.0)))


def test_train_ends_with_the_sentence(tmp_path):
    (tmp_path / "snapshot.json").write_bytes(collect(3_000, RARE, 1.0).to_json())
    arguments = [str(tmp_path / "snapshot.json"), "-o", str(tmp_path / "model.json")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "useless model: no feature distinguishes the classes beyond noise" in result.stdout
