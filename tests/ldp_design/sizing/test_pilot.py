"""The population that a pilot describes, and the surveys that it does not fit."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.survey import read_survey
from ldp_design.sizing.assumed_people import PilotError, read_pilot
from ldp_design.sizing.size_summary import format_size
from ldp_design.sizing.survey_size import (
    size_for_users,
)
from tests.ldp_design.sizing.surveys import FEATURES, SURVEY, make_pilot, make_text
from tests.support.snapshots import make_snapshot, train_model
from tests.support.surveys import make_plan


def test_a_pilot_may_have_asked_about_more_features():
    features = {name: FEATURES[name] for name in ("kind", "hours")}
    people = make_pilot().build_population(make_plan(features=features))
    assert len(people.conditionals) == 2


def test_a_model_without_a_label_describes_the_same_people_as_its_snapshot(tmp_path):
    features = {"tea": ["black", "green"], "hours": {"range": [0, 80], "missing": "category"}}
    snapshot = make_snapshot(make_plan(label=None, features=features), 4000)
    (tmp_path / "snapshot.json").write_bytes(snapshot.to_json())
    train_model(tmp_path / "model.json", snapshot)
    of_model, of_snapshot = (read_pilot(tmp_path / f"{each}.json") for each in ("model", "snapshot"))
    (tea, hours), (same_tea, same_hours) = of_model.conditionals, of_snapshot.conditionals
    np.testing.assert_allclose(tea, same_tea)
    for name, array in vars(hours).items():
        np.testing.assert_allclose(array, vars(same_hours)[name])
    assert of_model.noise == of_snapshot.noise


@pytest.mark.slow
def test_the_pilots_reports_and_its_noisy_features_are_named():
    small, large = replace(make_pilot(), reports=1_000), replace(make_pilot(), reports=10**6)
    noisy, precise = (
        " ".join(format_size(size_for_users(SURVEY, 10**5, each, 1)).split()) for each in (small, large)
    )
    assert (
        "as the pilot of 1,000 reports describes them; a larger pilot may predict a higher accuracy" in noisy
    )
    assert f"The pilot's own estimates are mostly noise for {', '.join(small.noise)}" in noisy
    assert "hours" in small.noise
    assert "mostly noise" not in precise


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "tired"', 'name = "weary"', 'its label is "tired", the survey\'s is "weary"'),
        ('values = ["yes", "no"]', 'values = ["no", "yes"]', 'has the values "yes", "no", the survey'),
        ("[features.hours]", "[features.sleep]", 'it has no feature "sleep", which the survey has'),
        ("bins = 8", "bins = 4", 'its feature "hours" differs from the survey\'s in edges'),
        ('"mint", ', "", 'its feature "kind" differs from the survey\'s in values'),
        ("range = [0, 20]", "range = [0, 30]", 'its feature "cups" differs from the survey\'s in high'),
    ],
)
def test_a_pilot_that_does_not_fit_is_refused_with_the_difference(old, new, message):
    text = make_text()
    assert old in text
    other = read_survey(text.replace(old, new, 1))
    with pytest.raises(PilotError) as refused:
        size_for_users(other, 1_000, make_pilot())
    assert message in str(refused.value)
