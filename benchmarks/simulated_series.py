"""Simulates a survey with waves: people from a population for each wave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from encoders.randomness import RandomSource
from encoders.survey import Plan
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_survey
from ldp_aggregator.snapshot import Snapshot, Total


def simulate_series(
    plan: Plan,
    populations: Sequence[SyntheticPopulation],
    users: int,
    rng: np.random.Generator,
    devices: RandomSource,
) -> Snapshot:
    """Return the totals of all waves; each person is in one of them, at random."""
    counts = rng.multinomial(users, np.full(len(populations), 1 / len(populations)))
    totals: dict[str, Total] = {}
    for wave, (population, count) in enumerate(zip(populations, counts.tolist(), strict=True)):
        found = simulate_survey(plan, population, count, rng, devices).totals
        totals |= {plan.in_wave(each, wave).key: found[each.key] for each in plan.questions}
    return Snapshot(plan, totals)
