"""A synthetic population draws the rows and the reports that it describes."""

from collections.abc import Sequence

import numpy as np
import pytest

from encoders.randomness import FastStream
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_reports, simulate_survey
from tests.ldp_design.sizing.surveys import PLAN
from tests.support.surveys import make_plan


@pytest.mark.slow
def test_a_simulated_survey_gives_the_estimates_of_one_whose_rows_are_drawn_completely():
    people, rng = SyntheticPopulation.from_strength(PLAN, 2.0, 1.0), np.random.default_rng(3)
    drawn = estimate_snapshot(simulate_survey(PLAN, people, 200_000, rng, FastStream(3)))
    whole = estimate_snapshot(simulate_reports(PLAN, *people.draw_people(200_000, rng), FastStream(4)))
    assert drawn.reports == whole.reports == 200_000
    for one, other in zip(drawn.features, whole.features, strict=True):
        number = one.kind == "numeric"
        left, right = (each.by_class.means if number else each.conditionals for each in (one, other))
        assert (abs(left.value - right.value) < 6 * np.hypot(left.stderr, right.stderr)).all()


def test_only_the_features_that_a_person_is_asked_about_are_drawn():
    plan = make_plan(features={f"f{each}": ["1", "2", "3"] for each in range(100)})
    people, widths = SyntheticPopulation.uniform(plan), []

    class Noted(SyntheticPopulation):
        def draw_people(
            self, count: int, rng: np.random.Generator, places: Sequence[int] | None = None
        ) -> tuple[np.ndarray, np.ndarray]:
            widths.append(len(places))
            return super().draw_people(count, rng, places)

    simulate_survey(
        plan, Noted(people.prior, people.conditionals), 10_000, np.random.default_rng(1), FastStream(1)
    )
    assert set(widths) == {1}  # for each person, only the feature that they are asked about
