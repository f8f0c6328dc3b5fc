"""ldp-train on surveys of silos without a label, alone and with one of people: every text."""

import re
from pathlib import Path

import numpy as np
import pytest

from encoders.randomness import FastStream
from ldp_aggregator import load_model
from ldp_aggregator.simulated_population import simulate_reports
from ldp_design.comparison.trust_experiment import simulate_silos
from tests.support.commands import command
from tests.support.silo_surveys import HABITS, read_silo_survey
from tests.support.surveys import make_plan

EMPTY_NAMES = re.compile(r"<bdi[^>]*></bdi>|\(\)|''|: ,|, ,| by ,|\| \)|,\s*\)|at most +:")
FEATURES = {
    "smoker": ["yes", "no"],
    "drinks": {"choices": ["beer", "wine", "other"], "missing": "category"},
    "weight": {"range": [30, 130]},
    "pulse": {"range": [40, 160], "missing": "category"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Snapshots of three silos, and of people who answered the same questions."""
    folder = tmp_path_factory.mktemp("habits")
    plan = read_silo_survey(HABITS).compile()
    people = make_plan(id="people", label=None, features=FEATURES)
    rng, labels = np.random.default_rng(1), np.zeros(6000, dtype=np.int64)
    codes = np.column_stack([rng.integers(0, each.size, 6000) for each in plan.features])
    (folder / "silos.json").write_bytes(simulate_silos(plan, codes, labels, 3, FastStream(1)).to_json())
    (folder / "people.json").write_bytes(simulate_reports(people, codes, labels, FastStream(2)).to_json())
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("sources", [["silos.json"], ["people.json", "silos.json"]], ids=["silos", "pooled"])
def test_shares_are_estimated_and_no_text_mentions_a_label(folder, sources):
    model, page, table = folder / "model.json", folder / "page.html", folder / "table.csv"
    shown = command("ldp-train", *(folder / name for name in sources), "-o", model, "--csv", table).output
    command("ldp-results", model, "-o", page)
    assert "drinks: share of people who ticked each choice" in shown
    assert "could move P(value), or a mean as a share of its range, by at most" in " ".join(shown.split())
    loaded = load_model(model)
    for text in (shown, str(loaded), repr(loaded), *(each.read_text() for each in (model, page, table))):
        plain = re.sub(r"aria-label\w*|<style.*?</style>", "", text, flags=re.DOTALL)
        assert "label" not in plain
        assert not EMPTY_NAMES.search(plain)


def test_surveys_with_other_choices_are_not_pooled(folder):
    choices = {"choices": ["beer", "wine"], "missing": "category"}
    plan = make_plan(id="others", label=None, features=FEATURES | {"drinks": choices})
    codes = np.zeros((10, len(plan.features)), dtype=np.int64)
    snapshot = simulate_reports(plan, codes, codes[:, 0], FastStream(3))
    (folder / "others.json").write_bytes(snapshot.to_json())
    paths = [folder / name for name in ("others.json", "silos.json")]
    result = command("ldp-train", *paths, "-o", folder / "none.json", check=False)
    assert result.exit_code == 1
    assert "others and habits cannot be pooled: the feature drinks differs: values is" in result.stderr
    assert not (folder / "none.json").exists()
