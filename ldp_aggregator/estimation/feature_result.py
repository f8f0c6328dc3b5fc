"""The result of one discrete feature, or of several choices of one entry: raw estimates with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Self

import numpy as np

from encoders.survey import BinnedFeature, CategoricalFeature, Feature
from encoders.survey.features import TICKS, ChoiceFeature, Choices
from encoders.survey.parse_value import MISSING_TEXT
from encoders.survey.questions import count_values
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.codec import HIDDEN, require
from ldp_aggregator.estimation.class_differences import find_differing_values
from ldp_aggregator.estimation.discrete.frequencies import TableEstimate, project_columns, sum_classes
from ldp_aggregator.estimation.intervals import (
    IntervalEstimate,
    estimate_conditional_intervals,
    estimate_joint_intervals,
    estimate_share_intervals,
)
from ldp_aggregator.estimation.number_result import NumberResult
from ldp_aggregator.estimation.odds_ratios import Comparison, compare_two_classes, estimate_class_correlation
from ldp_aggregator.estimation.quantiles import OrderedResult
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
    correlation: FloatArray | None
    """Of the two estimates of P(value | label), if there are two classes and reports. Shape (values,)."""
    counts: tuple[int, ...] = field(default=(), metadata=HIDDEN)
    """Number of reports about each choice of an entry; empty if `n` reports are about all values."""
    ordered: OrderedResult | None = None
    """Cumulative shares and quantiles, if the values are ordered."""

    JSON_DERIVED = ("distinguishable", "comparisons")
    JSON_KINDS = (CategoricalFeature.kind, BinnedFeature.kind)

    @classmethod
    def from_estimates(
        cls,
        feature: CategoricalFeature | BinnedFeature,
        raw: TableEstimate | None,
        prior: FloatArray,
        shares: TableEstimate | None = None,
    ) -> Self:
        """Build the result of one feature.

        `raw` has the frequencies of values and classes, (A k,), or is None without a question. `prior` is
        P(label), (k,). `shares` has the frequencies of values, (A,), by default the sums of `raw`.
        """
        k, values = len(prior), feature.size
        shares = sum_classes(raw, k) if raw and not shares else shares
        choices, joined = 1, None
        if isinstance(feature, ChoiceFeature):  # simultaneous intervals hold for the whole entry
            choices, joined = len(feature.entry.values), len(feature.entry.texts)
        of_values = (
            estimate_share_intervals(shares, 1, joined) if shares else IntervalEstimate.unknown((values,))
        )
        frequencies = conditionals = IntervalEstimate.unknown((values, k))
        if raw and k == 1:
            frequencies = conditionals = of_values.reshape(values, 1)
        elif raw:
            count = joined and joined * k
            frequencies = estimate_joint_intervals(raw, k, count)
            conditionals = estimate_conditional_intervals(raw, k, count)
        is_ordered = feature.ordered and count_values(feature) > 1
        ordered = OrderedResult.from_estimates(feature, raw, shares, k) if is_ordered else None
        if ordered:
            of_values = ordered.include_shares(of_values.reshape(-1, 1)).reshape(-1)
            conditionals = ordered.include_shares(conditionals)
        asked = [each.name for each in shares.asked_features] if shares else []
        return cls(
            name=feature.name,
            kind=feature.kind,
            values=tuple(feature.texts),
            mechanism=shares.mechanism if shares else None,
            n=shares.n if shares else 0,
            asked_with=tuple(dict.fromkeys(name for name in asked if name != feature.name)),
            shares=of_values,
            frequencies=frequencies,
            conditionals=conditionals,
            distinguishable_entries=find_differing_values(raw, k, choices)
            if raw
            else np.zeros(values, dtype=bool),
            relevance=estimate_table_relevance(raw, prior),
            correlation=estimate_class_correlation(raw) if k == 2 else None,
            ordered=ordered,
        )

    @property
    def is_asked(self) -> bool:
        """Whether any question or table is about the feature."""
        return self.mechanism is not None

    @property
    def comparisons(self) -> Mapping[str, Comparison]:
        """Risk difference, risk ratio and odds ratio of each value; empty unless there are two classes."""
        if self.correlation is None:
            return {}
        consistent = self.make_consistent(self.conditionals)
        return compare_two_classes(self.conditionals, self.correlation, consistent)

    def make_consistent(self, shares: IntervalEstimate) -> FloatArray:
        """Return P(value), (values,), or P(value | label), (values, classes), as they are shown.

        Each column is a distribution. Those of ordered values add up to the shown cumulative shares. Shares
        of choices do not add up to 1 and are cut to their interval.
        """
        if self.kind == Choices.kind:
            return np.clip(shares.value, shares.low, shares.high)
        value = shares.value.reshape(len(self.values), -1)
        shown = self.ordered.divide_shares(value) if self.ordered else project_columns(value)
        return shown.reshape(shares.value.shape)

    @property
    def distinguishable(self) -> bool:
        """Whether P(value | label) of at least two classes differs significantly for any value."""
        return bool(self.distinguishable_entries.any())

    @property
    def omitted_entries(self) -> tuple[str, ...]:
        ordered = () if self.ordered else ("ordered",)
        return (*ordered, *_OF_CLASSES) if self.conditionals.value.shape[1] == 1 else ordered

    @staticmethod
    def complete_entries(values: dict[str, Any]) -> None:
        if isinstance(values.get("shares"), IntervalEstimate) and "conditionals" not in values:
            shares = values["shares"].reshape(-1, 1)
            apart = np.zeros(len(shares.value), dtype=bool)
            found = (shares, shares, apart, UNKNOWN, None)
            values.update(zip(_OF_CLASSES, found, strict=False))
        values.setdefault("ordered", None)

    def check_entries(self) -> None:
        values = len(self.values)
        k = self.conditionals.value.shape[-1]
        shapes = {each.value.shape for each in (self.conditionals, self.frequencies)}
        is_valid = self.shares.value.shape == (values,) and shapes == {(values, k)}
        is_valid &= self.distinguishable_entries.shape == (values,)
        is_valid &= self.correlation is None or self.correlation.shape == (values,)
        require(is_valid, f"needs estimates of {values} values")


_OF_CLASSES = (
    "frequencies",
    "conditionals",
    "distinguishable_entries",
    "relevance",
    "correlation",
    "distinguishable",
    "comparisons",
)
"""The entries that compare classes."""


# -- several choices of one entry -------------------------------------------------------------------


_TICKED = TICKS.index("yes")


def join_choices(
    features: Sequence[Feature], results: Sequence[FeatureResult | NumberResult]
) -> Iterator[tuple[Feature, FeatureResult | NumberResult]]:
    """Yield each entry of the row with its result; several choices of an entry are the values of one.

    If answers can be missing, the last value is the missing answer. The shares of choices do not add up to
    one. Their simultaneous intervals hold for all choices and the missing answer together.
    """
    pairs = zip(features, results, strict=True)
    for name, group in groupby(pairs, key=lambda pair: pair[0].row_name):
        listed = list(group)
        feature = listed[0][0]
        if not isinstance(feature, ChoiceFeature):
            yield from listed
            continue
        choices = [result for _, result in listed if isinstance(result, FeatureResult)]
        yield feature.entry, _join(name, feature.entry, choices)


def _join(name: str, entry: Choices, choices: Sequence[FeatureResult]) -> FeatureResult:
    cells = [(each, _TICKED) for each in choices]
    if len(entry.texts) > len(entry.values):
        # an answer is missing for all choices at once: the choice with the most reports estimates it
        most = max(choices, key=lambda each: each.n)
        cells.append((most, most.values.index(MISSING_TEXT)))
    correlations = [each.correlation[place] for each, place in cells if each.correlation is not None]
    asked = [each.mechanism for each in choices if each.mechanism]
    return FeatureResult(
        name=name,
        kind=entry.kind,
        values=entry.texts,
        mechanism=" + ".join(dict.fromkeys(asked)) or None,
        n=min(each.n for each in choices),
        asked_with=(),
        shares=_join_estimates([(each.shares, place) for each, place in cells]),
        frequencies=_join_estimates([(each.frequencies, place) for each, place in cells]),
        conditionals=_join_estimates([(each.conditionals, place) for each, place in cells]),
        distinguishable_entries=np.array([each.distinguishable_entries[place] for each, place in cells]),
        relevance=max((each.relevance for each in choices), key=_rank),
        correlation=np.array(correlations) if len(correlations) == len(cells) else None,
        counts=tuple(each.n for each, _ in cells),
    )


def _rank(relevance: Relevance) -> float:
    value = float(relevance.estimate.value)
    return -math.inf if math.isnan(value) else value


def _join_estimates(cells: Sequence[tuple[IntervalEstimate, int]]) -> IntervalEstimate:
    names = vars(cells[0][0])
    return IntervalEstimate(*(np.stack([vars(each)[name][place] for each, place in cells]) for name in names))
