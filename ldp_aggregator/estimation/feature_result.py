"""What is known about one discrete feature, for people and for the classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from encoders.survey import BinnedFeature, CategoricalFeature, Feature
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation.contrasts import detect_class_differences
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.intervals import (
    IntervalEstimate,
    conditional_figure,
    frequency_figure,
    jsonable,
    unknown,
)
from ldp_aggregator.estimation.relevance import Relevance, table_relevance


@dataclass(frozen=True)
class FeatureResult:
    """What is known about one discrete feature; arrays have shape (values, labels) unless told.

    Attributes
    ----------
    name : str
    kind : str
        "categorical" or "binned".
    values : tuple of str
        Names of the feature's values, in the order of their codes.
    mechanism : str or None
        None if the survey does not ask about this feature.
    n : int
        Number of reports.
    asked_with : tuple of str
        Names of other features that the same reports tell of.
    frequencies : IntervalEstimate
        P(value, label), raw.
    conditionals : IntervalEstimate
        P(value | label), raw, for people.
    relevance : Relevance
        How much of the label the feature explains, raw.
    smoothed : array
        P(value | label), consistent, for the classifier.
    """

    name: str
    kind: str
    values: tuple[str, ...]
    mechanism: str | None
    n: int
    asked_with: tuple[str, ...]
    frequencies: IntervalEstimate
    conditionals: IntervalEstimate
    relevance: Relevance
    smoothed: FloatArray

    @classmethod
    def from_estimates(
        cls,
        feature: CategoricalFeature | BinnedFeature,
        heard: Frequencies | None,
        smoothed: FloatArray,
        prior: FloatArray,
    ) -> Self:
        """Put together what a coupled question says and what a recipe made of it."""
        k = smoothed.shape[1]
        nothing = unknown(smoothed.shape)
        return cls(
            name=feature.name,
            kind=feature.kind,
            values=tuple(feature.texts),
            mechanism=heard.question.mechanism.name if heard else None,
            n=heard.n if heard else 0,
            asked_with=tuple(_others(feature, heard)) if heard else (),
            frequencies=frequency_figure(heard, k) if heard else nothing,
            conditionals=conditional_figure(heard, k) if heard else nothing,
            relevance=table_relevance(heard, prior),
            smoothed=smoothed,
        )

    @property
    def apart(self) -> BoolArray:
        """Of which values some two classes' P(value | label) are distinguishable, see :mod:`contrasts`."""
        return detect_class_differences(self.conditionals)

    @property
    def distinguishable(self) -> bool:
        """Whether some two classes differ by more than noise would make them."""
        return bool(self.apart.any())

    @property
    def noise(self) -> float:
        """Root mean square standard error of a frequency."""
        return float(np.sqrt(np.mean(self.frequencies.stderr**2)))

    @property
    def warning(self) -> str | None:
        """What a reader should know, if anything."""
        if self.mechanism is None:
            return "the survey does not ask about it, so it cannot inform a prediction"
        if self.n == 0:
            return "no reports"
        average = 1.0 / self.smoothed.size
        if self.noise <= average:
            return None
        return (
            f"mostly noise. With {self.n} reports a frequency is off by {self.noise:.2g}, and the average "
            f"one is {average:.2g}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "values": list(self.values),
            "mechanism": self.mechanism,
            "n": self.n,
            "asked_with": list(self.asked_with),
            "frequencies": self.frequencies.as_dict(),
            "conditionals": self.conditionals.as_dict(),
            "relevance": self.relevance.as_dict(),
            "distinguishable": self.distinguishable,
            "apart": self.apart.tolist(),
            "smoothed": jsonable(self.smoothed),
        }


def _others(feature: Feature, heard: Frequencies) -> list[str]:
    return [each.name for each in heard.question.asked_features if each is not feature]
