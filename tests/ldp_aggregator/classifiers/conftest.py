"""Two trained models: categories and a binned number, and a category and numeric features."""

from pathlib import Path

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.results import Results, make_results
from ldp_aggregator.results_file import save_results
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from tests.support.surveys import survey_toml

SURVEY = survey_toml(
    id="model-tests",
    epsilon=8.0,
    label={"name": "asleep"},
    features={"tea": ["black", "green"], "hours": {"range": [0, 12], "bins": 3, "missing": "category"}},
)


@pytest.fixture(scope="session")
def snapshot() -> Snapshot:
    """Return 20,000 reports: green tea and few hours go with "no"."""
    rng = np.random.default_rng(5)
    labels = (rng.random(20_000) < 0.4).astype(np.int64)
    tea = (rng.random(20_000) < np.where(labels, 0.8, 0.3)).astype(np.int64)
    hours = np.where(labels, rng.choice(4, 20_000, p=[0.7, 0.1, 0.1, 0.1]), rng.integers(1, 4, 20_000))
    plan = read_survey(SURVEY).compile()
    return simulate_reports(plan, np.column_stack([tea, hours]), labels, FastStream(6))


@pytest.fixture(scope="session")
def results(snapshot: Snapshot) -> Results:
    return make_results(snapshot, poisoning=False)


@pytest.fixture
def model_path(tmp_path: Path, results: Results) -> Path:
    path = tmp_path / "model.json"
    save_results(path, results)
    return path


NUMBERS = survey_toml(
    id="number-model-tests",
    epsilon=8.0,
    label={"name": "asleep"},
    features={
        "tea": ["black", "green"],
        "hours": {"range": [0, 12], "missing": "category"},
        "age": {"range": [0, 100]},
    },
)


@pytest.fixture(scope="session")
def number_snapshot() -> Snapshot:
    """Return 40,000 reports: green tea, few hours and old age go with "no"."""
    rng = np.random.default_rng(7)
    labels = (rng.random(40_000) < 0.4).astype(np.int64)
    tea = (rng.random(40_000) < np.where(labels, 0.8, 0.3)).astype(np.int64)
    hours = rng.normal(np.where(labels, 4, 8), 1.5)
    hours[rng.random(40_000) < np.where(labels, 0.3, 0.1)] = np.nan
    age = rng.normal(np.where(labels, 60, 40), 10)
    plan = read_survey(NUMBERS).compile()
    codes = [tea, encode_numbers(plan.features[1], hours), encode_numbers(plan.features[2], age)]
    return simulate_reports(plan, np.column_stack(codes), labels, FastStream(8))


@pytest.fixture(scope="session")
def number_results(number_snapshot: Snapshot) -> Results:
    return make_results(number_snapshot, poisoning=False)


@pytest.fixture
def number_model_path(tmp_path: Path, number_results: Results) -> Path:
    path = tmp_path / "numbers.json"
    save_results(path, number_results)
    return path
