"""How often a model will be right: many surveys of one population, run in memory through the real code."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator.authoring.margins import SizeError, rounded_up
from ldp_aggregator.estimation import estimate_probabilities
from ldp_aggregator.imagined import People
from ldp_aggregator.models.scoring import IntArray, Tables
from ldp_aggregator.population import collect
from ldp_aggregator.snapshot import Snapshot

REPEATS = 20
MOST_SIMULATED = 1_000_000
"""People of one simulated survey; more of them answer no worse."""
_TESTED = 20_000
_CHUNK = 1 << 16
_FEWEST = 100
_CLOSE = 1.1

Progress = Callable[[int], object]


@dataclass(frozen=True)
class Forecast:
    """Accuracy to expect of a model, on people who did not report.

    Attributes
    ----------
    users : int
        How many reported; at most MOST_SIMULATED.
    mean : float
        Over all repeats.
    low, high : float
        Between which eight of ten repeats are.
    majority : float
        Accuracy of always guessing the most frequent label.
    most : float
        Accuracy of who knows the population exactly: what no survey of these features gets beyond.
    repeats : int
    """

    users: int
    mean: float
    low: float
    high: float
    majority: float
    most: float
    repeats: int

    @property
    def gains(self) -> bool:
        """Whether nine of ten surveys beat guessing."""
        return self.low > self.majority

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self) | {"gains": self.gains}


class Forecaster:
    """Repeats surveys of one population; equal seeds give equal results."""

    def __init__(
        self,
        plan: Plan,
        people: People,
        repeats: int = REPEATS,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self.plan, self.people, self.repeats, self.seed = plan, people, repeats, seed
        self._progress = progress or (lambda _: None)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        # as many of each label as there should be, so that guessing is as good as it should be
        places = (np.arange(_TESTED) + 0.5) / _TESTED
        self._labels: IntArray = np.searchsorted(np.cumsum(people.prior)[:-1], places)
        self._codes = people.rows(self._labels, rng)
        self.majority = float(np.mean(self._labels == people.prior.argmax()))
        self.most = self._accuracy(Tables.of(people.prior, people.conditionals))

    def forecast(self, users: int) -> Forecast:
        """Return the accuracy to expect if so many people answer."""
        users = min(users, MOST_SIMULATED)
        found = [self._repeat(users, repeat) for repeat in range(self.repeats)]
        low, high = np.quantile(found, [0.1, 0.9]).tolist()
        mean = math.fsum(found) / len(found)
        return Forecast(users, mean, low, high, self.majority, self.most, self.repeats)

    def _repeat(self, users: int, repeat: int) -> float:
        seeds = np.random.SeedSequence(self.seed, spawn_key=(1, repeat)).spawn(2)
        people, devices = np.random.default_rng(seeds[0]), FastStream(seeds[1])
        sizes = [min(_CHUNK, users - start) for start in range(0, users, _CHUNK)]
        parts = (collect(self.plan, *self.people.draw(size, people), devices) for size in sizes)
        heard: Snapshot = reduce(add, parts)
        told = estimate_probabilities(heard)
        self._progress(1)
        return self._accuracy(Tables.of(told.prior, told.conditionals))

    def _accuracy(self, model: Tables) -> float:
        guesses: IntArray = model.scores(self._codes).argmax(axis=1)
        return float(np.mean(guesses == self._labels))

    def users_for(self, accuracy: float) -> Forecast:
        """Return the forecast of the fewest people whose mean accuracy is that high, within a tenth.

        Raises
        ------
        SizeError
            If guessing alone reaches it, or if nothing does; that says what the most is.
        """
        if accuracy <= self.majority:
            raise SizeError(
                f"always guessing {self.plan.label.values[self.people.prior.argmax()]!r} is right in "
                f"{self.majority:.1%} of cases, without any survey; ask for more than that"
            )
        if accuracy > self.most:
            raise SizeError(
                f"no survey reaches an accuracy of {accuracy:.1%} on these people: who knew them exactly "
                f"would reach {self.most:.1%}, which is the most"
            )
        low = high = self.forecast(_FEWEST)
        while high.mean < accuracy:
            if high.users == MOST_SIMULATED:
                raise SizeError(
                    f"{MOST_SIMULATED:,} people, the most that are simulated, reach an accuracy of "
                    f"{high.mean:.1%}; with ever more it would come near {self.most:.1%}, which is the most"
                )
            low, high = high, self.forecast(4 * high.users)
        while high.users > _CLOSE * low.users:
            middle = self.forecast(rounded_up(round(math.sqrt(low.users * high.users)), 2))
            if middle.users in (low.users, high.users):
                break
            low, high = (low, middle) if middle.mean >= accuracy else (middle, high)
        return high
