"""How often a model will be right: many surveys of one population, run in memory through the real code."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from encoders.randomness import FastStream, RandomSource
from encoders.survey import Plan
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.estimation import estimate_parameters
from ldp_aggregator.models.scoring import LogProbabilities
from ldp_aggregator.simulated_population import draw_questions, simulate_total
from ldp_aggregator.simulation.synthetic_people import SyntheticPopulation
from ldp_aggregator.sizing.sample_size import SizeError, round_up
from ldp_aggregator.snapshot import Snapshot

REPEATS = 20
MAX_SIMULATED_USERS = 1_000_000
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
        How many reported; at most MAX_SIMULATED_USERS.
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
        people: SyntheticPopulation,
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
        self._codes = people.draw_rows(self._labels, rng)
        self.majority = float(np.mean(self._labels == people.prior.argmax()))
        self.most = self._accuracy(LogProbabilities.from_probabilities(people.prior, people.conditionals))

    def forecast(self, users: int) -> Forecast:
        """Return the accuracy to expect if so many people answer."""
        users = min(users, MAX_SIMULATED_USERS)
        found = [self._repeat(users, repeat) for repeat in range(self.repeats)]
        low, high = np.quantile(found, [0.1, 0.9]).tolist()
        mean = math.fsum(found) / len(found)
        return Forecast(users, mean, low, high, self.majority, self.most, self.repeats)

    def _repeat(self, users: int, repeat: int) -> float:
        seeds = np.random.SeedSequence(self.seed, spawn_key=(1, repeat)).spawn(2)
        heard = simulated(
            self.plan, self.people, users, np.random.default_rng(seeds[0]), FastStream(seeds[1])
        )
        told = estimate_parameters(heard)
        self._progress(1)
        return self._accuracy(LogProbabilities.from_probabilities(told.prior, told.conditionals))

    def _accuracy(self, model: LogProbabilities) -> float:
        guesses: IntArray = model.scores(self._codes).argmax(axis=1)
        return float(np.mean(guesses == self._labels))

    def find_users(self, accuracy: float, trying: Progress | None = None) -> Forecast:
        """Return the forecast of the fewest people whose mean accuracy is that high, within a tenth.

        Parameters
        ----------
        accuracy : float
        trying : callable, optional
            Is told each number of people before it is simulated.

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

        def tried(users: int) -> Forecast:
            if trying:
                trying(users)
            return self.forecast(users)

        low = high = tried(_FEWEST)
        while high.mean < accuracy:
            if high.users == MAX_SIMULATED_USERS:
                raise SizeError(
                    f"{MAX_SIMULATED_USERS:,} people, the most that are simulated, reach an accuracy of "
                    f"{high.mean:.1%}; with ever more it would come near {self.most:.1%}, which is the most"
                )
            low, high = high, tried(min(4 * high.users, MAX_SIMULATED_USERS))
        while high.users > _CLOSE * low.users:
            middle = tried(round_up(round(math.sqrt(low.users * high.users)), 2))
            if middle.users in (low.users, high.users):
                break
            low, high = (low, middle) if middle.mean >= accuracy else (middle, high)
        return high


def simulated(
    plan: Plan, people: SyntheticPopulation, users: int, rng: np.random.Generator, devices: RandomSource
) -> Snapshot:
    """Return the totals of one survey; of nobody more is drawn than what she is asked about."""
    drawn = np.bincount(draw_questions(plan, users, devices), minlength=len(plan.questions))
    totals = {}
    for question, count in zip(plan.questions, drawn.tolist(), strict=True):
        sizes = [min(_CHUNK, count - start) for start in range(0, count, _CHUNK)] or [0]
        parts = []
        for size in sizes:
            codes, labels = people.draw_people(size, rng, question.feature_indices)
            parts.append(simulate_total(question, question.values(codes, labels, np.arange(size)), devices))
        totals[question.key] = reduce(add, parts)
    return Snapshot(plan, totals)
