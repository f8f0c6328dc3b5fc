"""Models with random probabilities, and rows for them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from encoders.survey import Feature, read_survey
from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
from ldp_aggregator.estimation import ClassConditional, Gaussian, NaiveBayesParameters
from ldp_aggregator.results import Results, make_results
from ldp_aggregator.snapshot import Snapshot
from tests.support.surveys import survey_toml

DISCRETE = """
[features.grade]
values = ["3", "-2", "7", "none", "12"]
missing = "category"
[features.hours]
range = [-4, 12]
bins = 5
[features.sort]
values = ["1", "2"]
"""
NUMERIC = """
[features.age]
range = [0, 100]
[features.debt]
range = [-1000.5, 250000]
missing = "category"
"""


def random_model(features: str, labels: int = 3, seed: int = 1, vetoed: int = -1) -> NaiveBayes:
    """Return a model with random probabilities; the first values of label `vetoed` are impossible."""
    rng = np.random.default_rng(seed)
    values = [f"label {place}" for place in range(labels)]
    head = survey_toml(id="quick", label={"name": "state", "values": values}, features={})
    plan = read_survey(head + features).compile()
    conditionals = [_random_conditional(feature, labels, rng, vetoed) for feature in plan.features]
    prior = rng.dirichlet(np.ones(labels))
    return _replace_classifier(make_results(Snapshot(plan, {})), prior, conditionals)


def give_probabilities(
    model: NaiveBayes, prior: np.ndarray, conditionals: Sequence[ClassConditional]
) -> NaiveBayes:
    """Return a model of the same survey with other probabilities."""
    return _replace_classifier(model.results_, prior, conditionals)


def _replace_classifier(
    results: Results, prior: np.ndarray, conditionals: Sequence[ClassConditional]
) -> NaiveBayes:
    classifier = NaiveBayesParameters(prior, tuple(conditionals))
    return NaiveBayes.from_results(replace(results, classifier=classifier))


def _random_conditional(
    feature: Feature, k: int, rng: np.random.Generator, vetoed: int
) -> Gaussian | np.ndarray:
    if feature.kind == "numeric":
        missing = rng.uniform(0.1, 0.2, k) if feature.missing == "category" else None
        return Gaussian(rng.uniform(-0.5, 0.5, k), rng.uniform(0.01, 0.2, k), missing)
    table = rng.dirichlet(np.ones(feature.size), k).T
    table[0, vetoed] = 0
    return table / table.sum(axis=0)


def random_integers(count: int = 3000, seed: int = 2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.choice([3, -2, 7, 12], count), rng.integers(-9, 15, count), rng.integers(1, 3, count)]
    )


def random_numbers(count: int = 3000, seed: int = 2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(-9, 120, count), rng.uniform(-2000, 300000, count)])
