"""Coverage: how often the intervals of a survey contain the true values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.shares.populations import (
    MADE_UP,
    STATISTICS,
    YRBSS,
    Estimate,
    Floats,
    Key,
    read_population,
)
from encoders.survey import Plan

DATA = (YRBSS, MADE_UP)
PEOPLE = (500, 2_000, 20_000)
EPSILONS = ("0.5", "1", "4")
SURVEYS = 400
LEVEL = 0.95
SINGLE_ERRORS, SIMULTANEOUS_ERRORS = 4, 3
"""Standard errors by which the coverage of a cell may be off."""


@dataclass(frozen=True)
class Setting:
    """Surveys of one population."""

    data: str
    people: int
    epsilon: str
    labelled: bool

    @property
    def seed(self) -> list[int]:
        """Seed of this setting's surveys."""
        return [17, DATA.index(self.data), self.people, round(10 * float(self.epsilon)), self.labelled]


SETTINGS = [Setting(*each) for each in product(DATA, PEOPLE, EPSILONS, (False, True))]


@dataclass(frozen=True)
class Coverage:
    """The coverage of one statistic in one setting; shares of intervals, or of surveys."""

    data: str
    people: int
    epsilon: str
    labelled: bool
    statistic: str
    held: float
    """Share of the intervals that contain the truth; unknown intervals do."""
    error: float
    """Standard error of `held` if the true coverage is 95%."""
    unknown: float
    """Share of the intervals that are the whole range."""
    informative: float | None
    """Share of the other intervals that contain the truth."""
    simultaneous: float
    """Share of surveys in which all simultaneous intervals of an entry contain the truth."""
    too_high: float
    """Share of the intervals that are above the truth."""
    surveys: int

    @property
    def setting(self) -> Setting:
        """The setting of the surveys."""
        return Setting(self.data, self.people, self.epsilon, self.labelled)

    @property
    def is_right(self) -> bool:
        """Whether the coverage is within 4 standard errors of 95%."""
        return abs(self.held - LEVEL) <= SINGLE_ERRORS * self.error

    @property
    def holds_together(self) -> bool:
        """Whether the simultaneous coverage is at least 95% less 3 standard errors."""
        error = np.sqrt(LEVEL * (1 - LEVEL) / self.surveys)
        return bool(self.simultaneous >= LEVEL - SIMULTANEOUS_ERRORS * error)


class Surveyed(Protocol):
    """A population whose true values are known."""

    @property
    def truths(self) -> Mapping[Key, Floats]: ...

    def width(self, statistic: str) -> float: ...

    def plan(self, epsilon: str, labelled: bool) -> Plan: ...

    def survey(self, plan: Plan, people: int, seed: Sequence[int]) -> Mapping[Key, Any]: ...


def measure_coverage(
    setting: Setting,
    surveys: int,
    directory: Path | None,
    read: Callable[[str, Path | None], Surveyed] = read_population,
    statistics: Sequence[str] = STATISTICS,
) -> list[dict[str, object]]:
    """Run the surveys of a setting; return the fields of a `Coverage` for each statistic."""
    population = read(setting.data, directory)
    plan = population.plan(setting.epsilon, setting.labelled)
    found = [population.survey(plan, setting.people, [*setting.seed, each]) for each in range(surveys)]
    known = {statistic for statistic, _ in found[0]}
    return [
        asdict(_summarise(setting, statistic, population, found))
        for statistic in statistics
        if statistic in known
    ]


def _summarise(
    setting: Setting, statistic: str, population: Surveyed, surveys: Sequence[Mapping[Key, Estimate]]
) -> Coverage:
    """Pool the entries' intervals of one statistic."""
    seen = [
        _Seen.of([each[key] for each in surveys], truth, population.width(statistic))
        for key, truth in population.truths.items()
        if key[0] == statistic and key in surveys[0]
    ]
    held, unknown, above = (
        np.concatenate([getattr(each, name) for each in seen], axis=1)
        for name in ("held", "unknown", "above")
    )
    # intervals of one survey depend on each other; if hardly any misses, they count as independent
    independent = LEVEL * (1 - LEVEL) / held.size
    error = np.sqrt(max(held.mean(axis=1).var(ddof=1) / len(held), independent))
    return Coverage(
        **asdict(setting),
        statistic=statistic,
        held=float(held.mean()),
        error=float(error),
        unknown=float(unknown.mean()),
        informative=None if unknown.all() else float(held[~unknown].mean()),
        simultaneous=float(np.mean([each.together.all(axis=1).mean() for each in seen])),
        too_high=float(above.mean()),
        surveys=len(surveys),
    )


@dataclass(frozen=True)
class _Seen:
    """What the intervals of one statistic do in many surveys, (surveys, intervals)."""

    held: NDArray[np.bool_]
    unknown: NDArray[np.bool_]
    above: NDArray[np.bool_]
    together: NDArray[np.bool_]
    """Whether the simultaneous interval contains the truth."""

    @classmethod
    def of(cls, estimates: Sequence[Estimate], truth: Floats, width: float) -> _Seen:
        low, high, all_low, all_high = (
            np.stack([getattr(each, name) for each in estimates])
            for name in ("low", "high", "simultaneous_low", "simultaneous_high")
        )
        tiny = 1e-9 * width if np.isfinite(width) else 0.0
        unknown = np.isnan(low) | (high - low >= width - tiny)
        above = ~unknown & (low > truth + tiny)
        held = ~above & (unknown | (high >= truth - tiny))
        together = np.isnan(all_low) | (all_low <= truth + tiny) & (all_high >= truth - tiny)
        return cls(held, unknown, above, together)
