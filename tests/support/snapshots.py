"""Snapshots of simulated surveys, and trained models."""

from pathlib import Path

import numpy as np

from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import save_results
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_survey
from ldp_aggregator.snapshot import Snapshot


def make_snapshot(plan: Plan, people: int = 2000, seed: int = 1, ratio: float = 3.0) -> Snapshot:
    """Simulate a survey; each value of a feature is `ratio` times as frequent with one of the labels."""
    population = SyntheticPopulation.from_strength(plan, ratio, mean_shift=1.0)
    return simulate_survey(plan, population, people, np.random.default_rng(seed), FastStream(seed))


def train_model(path: Path, snapshot: Snapshot) -> Path:
    """Train on a snapshot; write the model to a file and return its path."""
    save_results(path, make_results(snapshot, poisoning=False))
    return path
