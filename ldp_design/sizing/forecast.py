"""Forecasts a model's accuracy by simulating many surveys of one synthetic population."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_survey
from ldp_aggregator.wording.values import round_up
from ldp_design.simulation.experiment import Progress, compute_accuracy, run_trials, train_model
from ldp_design.sizing.sample_size import SizeError

DEFAULT_REPEATS = 20
MAX_SIMULATED_USERS = 1_000_000
"""Maximum number of people of one simulated survey; with more people the accuracy is no lower."""
_TEST_ROWS = 20_000
_MIN_USERS = 100
_SEARCH_RATIO = 1.1
"""A search ends when a sufficient number of people is within this factor of an insufficient one."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The accuracy to expect of a model on people who did not report."""

    users: int
    """Number of people who reported; at most MAX_SIMULATED_USERS."""
    mean: float
    """Mean accuracy over all repeats."""
    low: float
    high: float
    """The 10% and 90% quantiles of the accuracy over the repeats."""
    majority: float
    """Accuracy of always predicting the most frequent class."""
    best_possible: float
    """Accuracy of the model with the population's true probabilities; no survey of these features exceeds
    it."""
    repeats: int

    @property
    def beats_majority(self) -> bool:
        """Whether models of nine in ten surveys are more accurate than predicting the majority class."""
        return self.low > self.majority

    JSON_DERIVED: ClassVar = ("beats_majority",)


class Forecaster:
    """Simulates repeated surveys of one population; equal seeds give equal results."""

    def __init__(
        self,
        plan: Plan,
        population: SyntheticPopulation,
        repeats: int = DEFAULT_REPEATS,
        seed: int = 0,
        progress: Progress = int,
    ) -> None:
        self.plan = plan
        self.population = population
        self.repeats = repeats
        self.seed = seed
        self._progress = progress
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        # test rows have exactly the population's share of each label, so that `majority` is exact
        quantiles = (np.arange(_TEST_ROWS) + 0.5) / _TEST_ROWS
        self._labels: IntArray = np.searchsorted(np.cumsum(population.prior)[:-1], quantiles)
        self._codes = population.draw_rows(self._labels, rng)
        self.majority = float(np.mean(self._labels == population.prior.argmax()))
        true_model = LogProbabilities.from_probabilities(population.prior, population.conditionals)
        self.best_possible = compute_accuracy(true_model, self._codes, self._labels)

    def forecast(self, users: int) -> Forecast:
        """Return the accuracy to expect if `users` people answer."""
        users = min(users, MAX_SIMULATED_USERS)

        def trial(_repeat: int, seeds: np.random.SeedSequence) -> float:
            people, devices = seeds.spawn(2)
            rng, source = np.random.default_rng(people), FastStream(devices)
            snapshot = simulate_survey(self.plan, self.population, users, rng, source)
            return compute_accuracy(train_model(snapshot), self._codes, self._labels)

        seeds = (np.random.SeedSequence(self.seed, spawn_key=(1, repeat)) for repeat in range(self.repeats))
        accuracies = run_trials(trial, range(self.repeats), seeds, self._progress)
        low, high = np.quantile(accuracies, [0.1, 0.9]).tolist()
        return Forecast(
            users=users,
            mean=math.fsum(accuracies) / len(accuracies),
            low=low,
            high=high,
            majority=self.majority,
            best_possible=self.best_possible,
            repeats=self.repeats,
        )

    def find_users(self, accuracy: float, on_attempt: Progress | None = None) -> Forecast:
        """Return the forecast of the smallest number of people with a mean accuracy, to within 10%.

        `on_attempt` is called with each number of people before it is simulated.
        Raises SizeError if the majority class reaches the accuracy, or if no number of people does; the
        message names the best possible accuracy.
        """
        if accuracy <= self.majority:
            raise SizeError(
                f"always guessing {self.plan.label.values[self.population.prior.argmax()]!r} is right in "
                f"{self.majority:.1%} of cases without any survey; give a higher accuracy"
            )
        if accuracy > self.best_possible:
            raise SizeError(
                f"no survey reaches an accuracy of {accuracy:.1%} in this population: the best possible "
                f"accuracy is {self.best_possible:.1%}; give a lower accuracy"
            )

        def attempt(users: int) -> Forecast:
            if on_attempt:
                on_attempt(users)
            return self.forecast(users)

        low = high = attempt(_MIN_USERS)
        while high.mean < accuracy:
            if high.users == MAX_SIMULATED_USERS:
                raise SizeError(
                    f"{MAX_SIMULATED_USERS:,} people, the maximum that is simulated, reach an accuracy of "
                    f"{high.mean:.1%}; the best possible is {self.best_possible:.1%}; give a lower accuracy"
                )
            low, high = high, attempt(min(4 * high.users, MAX_SIMULATED_USERS))
        while high.users > _SEARCH_RATIO * low.users:
            middle = attempt(round_up(round(math.sqrt(low.users * high.users)), 2))
            if middle.users in (low.users, high.users):
                break
            low, high = (low, middle) if middle.mean >= accuracy else (middle, high)
        return high
