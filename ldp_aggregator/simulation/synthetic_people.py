"""A population that nobody has asked: imagined, or as a pilot's model describes it.

Given the label, features are independent of each other, as Naive Bayes takes them to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from encoders.survey import Feature, NumericFeature, Plan
from encoders.survey.numeric_features import GRID
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import ClassConditional, Gaussian

MISSING_SHARE = 0.1
"""How many of the imagined lack a number that may be missing; of other features that is one value more."""
SPREAD = 1 / 3
"""Standard deviation of a number among the imagined of one label: a sixth of its range."""


@dataclass(frozen=True)
class SyntheticPopulation:
    """A population.

    Attributes
    ----------
    prior : (k,) array
        P(label).
    conditionals : tuple of (A_i, k) arrays and Gaussians
        P(value | label) of each feature of a plan.
    """

    prior: FloatArray
    conditionals: tuple[ClassConditional, ...]

    @classmethod
    def from_strength(cls, plan: Plan, times: float, apart: float) -> Self:
        """Return people spread evenly over labels, of whom every feature tells the label as well as another.

        Parameters
        ----------
        plan : Plan
        times : float
            Each value belongs to one label, whose people have it so many times as often as others.
        apart : float
            By how many standard deviations the means of a number differ between one label and the next.
        """
        k = len(plan.label.values)
        parts = (_telling(feature, k, place, times, apart) for place, feature in enumerate(plan.features))
        return cls(np.full(k, 1 / k), tuple(parts))

    @classmethod
    def uniform(cls, plan: Plan) -> Self:
        """Return people spread evenly over labels and values, whose features tell nothing of the label."""
        return cls.from_strength(plan, 1.0, 0.0)

    def draw_people(
        self, count: int, rng: np.random.Generator, places: Sequence[int] | None = None
    ) -> tuple[IntArray, IntArray]:
        """Draw people: codes (m, n) of their rows, and labels (m,); see :meth:`draw_rows`."""
        labels = rng.choice(len(self.prior), size=count, p=self.prior)
        return self.draw_rows(labels, rng, places), labels

    def draw_rows(
        self, labels: IntArray, rng: np.random.Generator, places: Sequence[int] | None = None
    ) -> IntArray:
        """Draw the rows of people whose labels are known: codes (m, n), column by column in memory.

        With `places` only the features there; of the others every code is zero.
        """
        codes = np.zeros((len(labels), len(self.conditionals)), dtype=np.int64, order="F")
        for place in range(len(self.conditionals)) if places is None else places:
            codes[:, place] = _drawn(self.conditionals[place], labels, rng)
        return codes


def _telling(feature: Feature, k: int, place: int, times: float, apart: float) -> ClassConditional:
    if isinstance(feature, NumericFeature):
        order = (np.arange(k) + place) % k - (k - 1) / 2
        missing = np.full(k, MISSING_SHARE) if feature.missing == "category" else None
        return Gaussian(np.clip(apart * SPREAD * order, -1.0, 1.0), np.full(k, SPREAD**2), missing)
    own = (np.arange(feature.size)[:, None] + place) % k == np.arange(k)
    table = np.where(own, times, 1.0)
    shares: FloatArray = table / table.sum(axis=0)
    return shares


def _drawn(said: ClassConditional, labels: IntArray, rng: np.random.Generator) -> IntArray:
    if isinstance(said, Gaussian):
        x = rng.normal(said.mean[labels], np.sqrt(said.variance)[labels])
        codes = np.rint((np.clip(x, -1.0, 1.0) + 1) * GRID).astype(np.int64)
        if said.missing is not None:
            codes[rng.random(len(labels)) < said.missing[labels]] = 2 * GRID + 1
        return codes
    codes = np.empty(len(labels), dtype=np.int64)
    for label, shares in enumerate(said.T):
        own = np.flatnonzero(labels == label)
        codes[own] = rng.choice(len(shares), size=len(own), p=shares / shares.sum())
    return codes
