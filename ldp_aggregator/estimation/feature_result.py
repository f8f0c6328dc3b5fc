"""The result of one discrete feature: raw estimates for people, probabilities for the classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from encoders.survey import BinnedFeature, CategoricalFeature
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation.class_differences import find_differing_values
from ldp_aggregator.estimation.discrete.covariance import TableEstimate
from ldp_aggregator.estimation.intervals import (
    IntervalEstimate,
    estimate_conditional_intervals,
    estimate_joint_intervals,
    to_json_list,
)
from ldp_aggregator.estimation.relevance import Relevance, estimate_table_relevance
from ldp_aggregator.estimation.tables.noisy_tables import name_counted


@dataclass(frozen=True)
class FeatureResult:
    """The result of one discrete feature; arrays have shape (values, classes) unless noted."""

    name: str
    kind: str
    """One of "categorical" or "binned"."""
    values: tuple[str, ...]
    """Names of the feature's values, in the order of their codes."""
    mechanism: str | None
    """None if the survey does not ask about this feature."""
    n: int
    """Number of reports."""
    asked_with: tuple[str, ...]
    """Names of other features in the same reports."""
    frequencies: IntervalEstimate
    """P(value, label), raw."""
    conditionals: IntervalEstimate
    """P(value | label), raw, for people."""
    distinguishable_entries: BoolArray
    """For which values P(value | label) of any two classes differs significantly, see
    :mod:`class_differences`. Shape (values,)."""
    relevance: Relevance
    """Computed from the raw estimates."""
    smoothed: FloatArray
    """P(value | label), distributions, for the classifier."""

    @classmethod
    def from_estimates(
        cls,
        feature: CategoricalFeature | BinnedFeature,
        raw: TableEstimate | None,
        smoothed: FloatArray,
        prior: FloatArray,
    ) -> Self:
        """Build the result from the raw estimates of a coupled question and the table of an estimator."""
        k = smoothed.shape[1]
        unknown = IntervalEstimate.unknown(smoothed.shape)
        return cls(
            name=feature.name,
            kind=feature.kind,
            values=tuple(feature.texts),
            mechanism=raw.mechanism if raw else None,
            n=raw.n if raw else 0,
            asked_with=tuple(each.name for each in raw.asked_features if each is not feature) if raw else (),
            frequencies=estimate_joint_intervals(raw, k) if raw else unknown,
            conditionals=estimate_conditional_intervals(raw, k) if raw else unknown,
            distinguishable_entries=find_differing_values(raw, k)
            if raw
            else np.zeros(len(smoothed), dtype=bool),
            relevance=estimate_table_relevance(raw, prior),
            smoothed=smoothed,
        )

    @property
    def distinguishable(self) -> bool:
        """Whether P(value | label) of at least two classes differs significantly for any value."""
        return bool(self.distinguishable_entries.any())

    @property
    def noise(self) -> float:
        """Root mean square of the standard errors of the frequencies."""
        return float(np.sqrt(np.mean(self.frequencies.stderr**2)))

    @property
    def warning(self) -> str | None:
        """A warning for readers; None if there is nothing to warn of."""
        if self.mechanism is None:
            return "the survey does not ask about it, so it cannot inform a prediction"
        if self.n == 0:
            return "no reports"
        average = 1.0 / self.smoothed.size
        if self.noise <= average:
            return None
        return (
            f"mostly noise: with {self.n} {name_counted(self.mechanism)} the standard error of a frequency "
            f"is {self.noise:.2g}, and an average frequency is {average:.2g}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
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
            "distinguishable_entries": self.distinguishable_entries.tolist(),
            "smoothed": to_json_list(self.smoothed),
        }
