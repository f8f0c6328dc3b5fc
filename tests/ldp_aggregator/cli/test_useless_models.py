"""A model that supports no prediction but the most frequent class is stated wherever it is used."""

import numpy as np
import pytest

from encoders.randomness import FastStream
from ldp_aggregator import load_model
from ldp_aggregator.results import Useless, make_results
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_reports
from tests.support.commands import command
from tests.support.surveys import make_plan

FEATURES = {
    "insured": ["yes", "no"],
    "region": ["a", "b", "c", "d"],
    "units": {"range": [0, 60]},
}
RARE = np.array([0.12, 0.8, 0.08])


def collect(people, prior, ratio, epsilon=1.0):
    """Return the reports of people whose features are related to the label by this ratio."""
    plan = make_plan(epsilon=epsilon, label=["yes", "no", "rather not"], features=FEATURES)
    population = SyntheticPopulation(
        prior, SyntheticPopulation.from_strength(plan, ratio, ratio - 1).conditionals
    )
    codes, labels = population.draw_people(people, np.random.default_rng(1))
    return simulate_reports(plan, np.asfortranarray(codes), labels, FastStream(1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "prior", "ratio", "epsilon", "useless"),
    [
        (3_000, RARE, 1.0, 1.0, {Useless.NOTHING, Useless.UNSUPPORTED}),
        (300_000, RARE, 1.2, 4.0, {Useless.WEAK}),
        (100_000, np.full(3, 1 / 3), 4.0, 4.0, {None}),
        (0, RARE, 1.0, 1.0, {None}),
        (1, RARE, 1.0, 1.0, set(Useless) | {None}),  # no error
    ],
)
def test_a_model_is_useless_if_its_features_change_no_prediction(people, prior, ratio, epsilon, useless):
    results = make_results(collect(people, prior, ratio, epsilon), poisoning=False)
    assert results.usefulness.useless in useless


@pytest.mark.slow
def test_train_results_predict_and_print_state_that_a_model_is_useless(tmp_path):
    model, page, rows = tmp_path / "model.json", tmp_path / "page.html", tmp_path / "rows.csv"
    (tmp_path / "snapshot.json").write_bytes(collect(3_000, RARE, 1.0).to_json())
    rows.write_text("insured,region,units\nyes,a,3\n")
    useless = "Useless model: no feature distinguishes the classes beyond noise."
    summary = command("ldp-train", tmp_path / "snapshot.json", "-o", model).stdout
    command("ldp-results", model, "-o", page)
    for text in (summary, page.read_text("utf-8"), load_model(model).card()):
        assert useless in " ".join(text.split())
    assert "predicts nothing but the most frequent class" in str(load_model(model))
    predicted = command("ldp-predict", model, rows)
    assert predicted.stderr.startswith(f"warning: {useless}")
    assert predicted.stdout.splitlines()[0] == "tired,P(no),P(rather not),P(yes)"
