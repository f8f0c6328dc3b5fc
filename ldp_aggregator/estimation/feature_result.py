"""The result of one discrete feature: raw estimates for people, probabilities for the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from encoders.survey import BinnedFeature, CategoricalFeature
from encoders.survey.choices import ChoiceFeature, Choices
from encoders.survey.levels import count_values
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation.class_comparison import (
    Comparison,
    compare_two_classes,
    estimate_class_correlation,
)
from ldp_aggregator.estimation.class_differences import find_differing_values
from ldp_aggregator.estimation.discrete.combined import sum_classes
from ldp_aggregator.estimation.discrete.covariance import TableEstimate
from ldp_aggregator.estimation.discrete.negative_estimates import project_columns, project_simplex
from ldp_aggregator.estimation.intervals import (
    IntervalEstimate,
    estimate_conditional_intervals,
    estimate_joint_intervals,
    estimate_share_intervals,
)
from ldp_aggregator.estimation.json_form import (
    read_array,
    read_flags,
    read_probabilities,
    read_text,
    read_texts,
    reading,
    require,
    to_json_list,
)
from ldp_aggregator.estimation.quantiles import OrderedResult
from ldp_aggregator.estimation.raw_estimates import QuestionSummary
from ldp_aggregator.estimation.relevance import UNKNOWN, Relevance, estimate_table_relevance


@dataclass(frozen=True)
class FeatureResult:
    """The result of one discrete feature; arrays have shape (values, classes) unless noted."""

    name: str
    kind: str
    """One of "categorical" or "binned"; "choices" for the joined choices of an entry."""
    values: tuple[str, ...]
    """Names of the feature's values, in the order of their codes."""
    mechanism: str | None
    """None if the survey does not ask about this feature."""
    n: int
    """Number of reports."""
    asked_with: tuple[str, ...]
    """Names of other features in the same reports."""
    shares: IntervalEstimate
    """P(value), raw. Shape (values,)."""
    frequencies: IntervalEstimate
    """P(value, label), raw."""
    conditionals: IntervalEstimate
    """P(value | label), raw, for people."""
    distinguishable_entries: BoolArray
    """For which values P(value | label) of any two classes differs significantly, see
    :mod:`class_differences`. The level holds for all choices of an entry together. Shape (values,)."""
    relevance: Relevance
    """Computed from the raw estimates."""
    smoothed: FloatArray
    """P(value | label), distributions, for the classifier."""
    correlation: FloatArray | None
    """Of the two estimates of P(value | label), if there are two classes and reports. Shape (values,)."""
    counts: tuple[int, ...] = ()
    """Number of reports about each choice of an entry; empty if `n` reports are about all values."""
    ordered: OrderedResult | None = None
    """Cumulative shares and quantiles, if the values are ordered."""

    @classmethod
    def from_estimates(
        cls,
        feature: CategoricalFeature | BinnedFeature,
        raw: TableEstimate | None,
        smoothed: FloatArray,
        prior: FloatArray,
        shares: TableEstimate | None = None,
    ) -> Self:
        """Build the result of one feature.

        Parameters
        ----------
        feature : CategoricalFeature or BinnedFeature
        raw : TableEstimate, optional
            Frequencies of values and classes, (A k,); None without a question.
        smoothed : (A, k) array
            The table of an estimator.
        prior : (k,) array
        shares : TableEstimate, optional
            Frequencies of values, (A,), by default the sums of `raw`.
        """
        k = smoothed.shape[1]
        shares = sum_classes(raw, k) if raw and not shares else shares
        choices = len(feature.entry.values) if isinstance(feature, ChoiceFeature) else 1
        unknown = IntervalEstimate.unknown(smoothed.shape)
        is_ordered = feature.ordered and count_values(feature) > 1
        return cls(
            name=feature.name,
            kind=feature.kind,
            values=tuple(feature.texts),
            mechanism=shares.mechanism if shares else None,
            n=shares.n if shares else 0,
            asked_with=_list_others(feature, shares) if shares else (),
            shares=estimate_share_intervals(shares, 1)
            if shares
            else IntervalEstimate.unknown(smoothed.shape[:1]),
            frequencies=estimate_joint_intervals(raw, k) if raw else unknown,
            conditionals=estimate_conditional_intervals(raw, k) if raw else unknown,
            distinguishable_entries=find_differing_values(raw, k, choices)
            if raw
            else np.zeros(len(smoothed), dtype=bool),
            relevance=estimate_table_relevance(raw, prior),
            smoothed=smoothed,
            correlation=estimate_class_correlation(raw) if k == 2 else None,
            ordered=OrderedResult.from_estimates(feature, raw, shares, k) if is_ordered else None,
        )

    @property
    def comparisons(self) -> Mapping[str, Comparison]:
        """Risk difference, risk ratio and odds ratio of each value; empty unless there are two classes."""
        if self.correlation is None:
            return {}
        consistent = self.make_consistent(self.conditionals)
        return compare_two_classes(self.conditionals, self.correlation, consistent)

    def make_consistent(self, shares: IntervalEstimate) -> FloatArray:
        """Return P(value) or P(value | label), (values, classes), as they are shown.

        Each column is a distribution; the shares of choices do not add up to 1 and are cut to their interval.
        """
        if self.kind == Choices.kind:
            return np.clip(shares.value, shares.low, shares.high)
        return project_columns(shares.value)

    @property
    def distinguishable(self) -> bool:
        """Whether P(value | label) of at least two classes differs significantly for any value."""
        return bool(self.distinguishable_entries.any())

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "values": list(self.values),
            "mechanism": self.mechanism,
            "n": self.n,
            "asked_with": list(self.asked_with),
            "shares": self.shares.as_dict(),
            **({"ordered": self.ordered.as_dict()} if self.ordered else {}),
            **(self._class_entries() if self.smoothed.shape[1] > 1 else {}),
        }

    def _class_entries(self) -> dict[str, Any]:
        """Return the entries of the JSON form that a survey without a label does not have."""
        return {
            "frequencies": self.frequencies.as_dict(),
            "conditionals": self.conditionals.as_dict(),
            "relevance": self.relevance.as_dict(),
            "distinguishable": self.distinguishable,
            "distinguishable_entries": self.distinguishable_entries.tolist(),
            "smoothed": to_json_list(self.smoothed),
            "correlation": None if self.correlation is None else to_json_list(self.correlation),
            "comparisons": {name: each.as_dict() for name, each in self.comparisons.items()},
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], k: int) -> Self:
        """Return the result for k classes that :meth:`as_dict` wrote."""
        name, kind, values = read_text(entry["name"]), entry["kind"], read_texts(entry["values"])
        require(kind in (CategoricalFeature.kind, BinnedFeature.kind), "kind: is unknown")
        question, shape = QuestionSummary.from_dict(entry), (len(values), k)
        with reading("shares"):
            shares = IntervalEstimate.from_dict(entry["shares"], shape[:1])
        return cls(
            name=name,
            kind=kind,
            values=values,
            mechanism=question.mechanism,
            n=question.n,
            asked_with=read_texts(entry["asked_with"]),
            shares=shares,
            ordered=OrderedResult.from_dict(entry["ordered"], k) if "ordered" in entry else None,
            **(_read_classes(entry, shape, name) if k > 1 else _describe_one_class(shares)),
        )


def _list_others(feature: CategoricalFeature | BinnedFeature, estimate: TableEstimate) -> tuple[str, ...]:
    names = (each.name for each in estimate.asked_features)
    return tuple(name for name in dict.fromkeys(names) if name != feature.name)


def _read_classes(entry: Mapping[str, Any], shape: tuple[int, int], name: str) -> dict[str, Any]:
    """Return the parts of a result that compare classes."""
    correlation = entry["correlation"]
    return {
        "frequencies": IntervalEstimate.from_dict(entry["frequencies"], shape),
        "conditionals": IntervalEstimate.from_dict(entry["conditionals"], shape),
        "distinguishable_entries": read_flags(entry["distinguishable_entries"], shape[:1]),
        "relevance": Relevance.from_dict(entry["relevance"]),
        "smoothed": read_probabilities(entry["smoothed"], shape, name),
        "correlation": None if correlation is None else read_array(correlation, shape[:1]),
    }


def _describe_one_class(shares: IntervalEstimate) -> dict[str, Any]:
    """Return these parts for a survey without a label, in which all people are one class."""
    values, in_one_class = len(shares.value), shares.reshape(-1, 1)
    known = bool(np.isfinite(shares.value).all())
    smoothed = project_simplex(shares.value) if known else np.full(values, 1 / values)
    return {
        "frequencies": in_one_class,
        "conditionals": in_one_class,
        "distinguishable_entries": np.zeros(values, dtype=bool),
        "relevance": UNKNOWN,
        "smoothed": smoothed[:, None],
        "correlation": None,
    }
