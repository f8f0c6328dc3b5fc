"""The influence of fake reports on every estimate that is published; docs/poisoning.md lists their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.survey import Feature, NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.frequencies import CombinedFrequencies, Frequencies, combine_questions
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import PROBABILITY, Bounds, IntervalEstimate
from ldp_aggregator.estimation.number_result import NumberResult, NumberStatistics, find_bounds
from ldp_aggregator.estimation.numeric.moments import Quantity
from ldp_aggregator.estimation.numeric.number import AllClasses, ClassMoments
from ldp_aggregator.estimation.poisoning.influence import (
    Influence,
    Reach,
    Source,
    find_moment_steps,
    find_moves,
    reach_cells,
    reach_columns,
    reach_cumulative,
)
from ldp_aggregator.estimation.raw_estimates import RawEstimates, total_of
from ldp_aggregator.estimation.table_result import TableResult, select_tables
from ldp_aggregator.snapshot import Snapshot

Influences = Iterator[tuple[int, Influence]]
"""Influences, each with the index of the question whose reports are fake."""


@dataclass(frozen=True)
class PublishedEstimates:
    snapshot: Snapshot
    raw: RawEstimates
    features: Sequence[FeatureResult | NumberResult]
    tables: Sequence[TableResult]
    prior: IntervalEstimate
    """The raw prior that is shown to people: pooled, or of the label question."""

    def find_influences(self) -> Influences:
        """Yield the influence of each question, or of all that people answer together, on each estimate."""
        for place, result in enumerate(self.features):
            if isinstance(result, NumberResult):
                yield from self._find_number(place, result)
            else:
                yield from self._find_feature(place, result)
        for frequencies, table in zip(select_tables(self.raw.tables), self.tables, strict=True):
            if table.n:
                yield from self._find_table(frequencies, table)
        yield from self._find_prior()

    def _move(
        self, reaches: Sequence[Reach], value: FloatArray, bounds: Bounds | None = None
    ) -> list[FloatArray]:
        """Return the moves by fake reports to each of the questions or, if people answer all, to all."""
        if self.snapshot.plan.asks_all:
            return [find_moves(reaches, value, bounds)] * len(reaches)
        return [find_moves([each], value, bounds) for each in reaches]

    def _state(
        self,
        name: str,
        place: int | None,
        reaches: Sequence[Reach],
        shown: IntervalEstimate,
        bounds: Bounds | None = None,
        moves: Sequence[FloatArray] = (),
    ) -> Influences:
        """Yield the influences on an estimate of the feature with index `place`, or of none."""
        shape, stderr = shown.value.shape, shown.stderr
        if not moves and reaches:
            moves = self._move(reaches, shown.value.reshape(reaches[0].steps.shape[1:]), bounds)
        for reach, move in zip(reaches, moves, strict=True):
            about, full_name = reach.question.feature_indices, name
            if place is not None and len(about) > 1:
                full_name += f" of {self.features[place].name}"
            if place is None or place in about:
                yield reach.question.index, Influence.from_moves(full_name, move.reshape(2, *shape), stderr)

    # -- discrete features and tables -------------------------------------------------------

    def _find_feature(self, place: int, result: FeatureResult) -> Influences:
        k, feature, ordered = self.raw.k, self.snapshot.plan.features[place], result.ordered
        margins, same_people = self.raw.margins.get(place, ()), self.snapshot.plan.asks_all
        sources = find_sources(margins, feature, 1, same_people)
        yield from self._state("shares", place, list(map(reach_cells, sources)), result.shares)
        if ordered:
            yield from self._find_cumulative("", place, sources, result.shares, ordered.cumulative)
        if k == 1:
            return
        sources, cells = find_sources(margins, feature, k, same_people), result.frequencies
        yield from self._state("frequencies", place, list(map(reach_cells, sources)), cells)
        yield from self._find_columns(
            "conditionals", place, sources, cells.value, result.conditionals, result
        )
        if ordered:
            yield from self._find_cumulative("class_", place, sources, cells, ordered.by_class)

    def _find_cumulative(
        self,
        prefix: str,
        place: int,
        sources: Sequence[Source],
        shares: IntervalEstimate,
        shown: IntervalEstimate,
    ) -> Influences:
        values, ratios = (each.value.reshape(len(each.value), -1) for each in (shares, shown))
        reaches = [reach_cumulative(each, values, ratios) for each in sources]
        yield from self._state(f"{prefix}cumulative", place, reaches, shown, PROBABILITY)

    def _find_columns(
        self,
        name: str,
        place: int | None,
        sources: Sequence[Source],
        pooled: FloatArray,
        shown: IntervalEstimate,
        result: FeatureResult | TableResult,
    ) -> Influences:
        reaches = [reach_columns(each, pooled) for each in sources]
        yield from self._state(name, place, [ratio for ratio, _ in reaches], shown, PROBABILITY)
        if result.correlation is not None:
            (first, second), bounds = shown.stderr.T, (-1.0, 1.0)
            with np.errstate(invalid="ignore"):
                stderr = np.sqrt(first**2 + second**2 - 2 * result.correlation * first * second)
            difference = IntervalEstimate.from_stderr(np.subtract(*shown.value.T), stderr, bounds)
            yield from self._state(
                "risk_differences", place, [each for _, each in reaches if each], difference, bounds
            )

    def _find_table(self, frequencies: Frequencies, table: TableResult) -> Influences:
        cells = table.cells.value
        source = Source(frequencies, 1.0, cells)
        yield from self._state("cells", None, [reach_cells(source)], table.cells)
        rows = reach_columns(replace(source, cells=cells.T), cells.T)[0]
        rows = replace(rows, steps=rows.steps.swapaxes(1, 2), bottom=rows.bottom[:, None])
        yield from self._state("row_shares", None, [rows], table.row_shares, PROBABILITY)
        yield from self._find_columns("column_shares", None, [source], cells, table.column_shares, table)

    # -- the prior and numbers --------------------------------------------------------------

    def _find_prior(self) -> Influences:
        weights, label = self.raw.prior.weights, self.raw.label
        if self.prior is not self.raw.prior.estimate and label and label.n:
            weights = {label.question.index: 1.0}
        reaches = self._reach_prior(weights, np.eye(self.raw.k))
        yield from self._state("prior", None, reaches, self.prior)

    def _reach_prior(self, weights: Mapping[int, float], slopes: FloatArray) -> list[Reach]:
        """Return the reach of each question on sums, (m, k), of the prior pooled with these weights."""
        k, found = self.raw.k, []
        discrete = [self.raw.label, *(each for margins in self.raw.margins.values() for each in margins)]
        for each in {each.question.index: each for each in discrete if each}.values():
            if weight := weights.get(each.question.index, 0.0):
                source = Source(each, weight, each.raw.reshape(-1, k).sum(axis=0))
                found.append(source.reach(source.find_sum_steps(slopes)))
        numbers = [each for number in self.raw.numbers for each in number.questions]
        for moments in {each.question.index: each for each in numbers}.values():
            if weight := weights.get(moments.question.index, 0.0):
                parts = np.zeros((len(slopes), len(moments.raw), k))
                parts[:, 2] = weight * slopes
                total = total_of(self.snapshot, moments.question)
                steps = find_moment_steps(moments, total, parts)
                found.append(Reach(moments.question, moments.n, steps, np.zeros(1)))
        return found

    def _find_number(self, place: int, result: NumberResult) -> Influences:
        estimate = self.raw.feature_estimates[place]
        if not isinstance(estimate, ClassMoments) or not estimate.prior.known:
            return
        yield from self._find_statistics("", place, estimate, estimate, result.by_class)
        if estimate.k > 1:
            joined = AllClasses.from_classes(estimate)
            yield from self._find_statistics("overall_", place, estimate, joined, result.overall)

    def _find_statistics(
        self, prefix: str, place: int, own: ClassMoments, number: ClassMoments, shown: NumberStatistics
    ) -> Influences:
        feature = self.snapshot.plan.features[place]
        assert isinstance(feature, NumericFeature)
        width, middle, bounds = feature.width, sum(feature.bounds) / 2, find_bounds(feature)
        first, second, around, present = number.first, number.second, number.squared_deviation, number.present
        if number.missing is not None and shown.missing is not None:
            missing = self._reach_ratio(own, number.missing, number.class_share)
            yield from self._state(f"{prefix}missing", place, missing, shown.missing, PROBABILITY)
        if first is None:
            return
        means = self._reach_ratio(own, first.times(width), present)
        yield from self._state(f"{prefix}means", place, means, shown.means, feature.bounds)
        if second is None or around is None:
            return
        top = second.times(width**2) + first.times(2 * middle * width)
        squares = self._reach_ratio(own, top, present)
        yield from self._state(f"{prefix}squares", place, squares, shown.squares, bounds["squares"])
        spreads = self._reach_ratio(own, around.times(width**2), present)
        by_spread = self._move(spreads, shown.variances.value, (0.0, width**2))
        by_mean = self._move(means, shown.means.value, feature.bounds)
        # a variance is around the mean, which moves too; the deviation is its root
        moves = [each + mean**2 for each, mean in zip(by_spread, by_mean, strict=True)]
        yield from self._state(f"{prefix}variances", place, spreads, shown.variances, moves=moves)
        now = shown.deviations.value
        # down to 0 at most; a move by more than the variance goes further up
        moves = [
            np.maximum(now - np.sqrt(np.maximum(now**2 - each, 0.0)), np.sqrt(now**2 + each) - now)
            for each in moves
        ]
        yield from self._state(f"{prefix}deviations", place, spreads, shown.deviations, moves=moves)

    def _reach_ratio(self, own: ClassMoments, top: Quantity, bottom: Quantity) -> list[Reach]:
        """Return the reach on a ratio, also by questions of the same envelope, which move it by the prior."""
        shares = bottom.slopes / np.where(bottom.value > 0, bottom.value, np.nan)
        steps = self._reach_sums(own, top.over(bottom).slopes)
        moves = self._reach_sums(own, shares)
        return [replace(each, bottom=other.steps[0]) for each, other in zip(steps, moves, strict=True)]

    def _reach_sums(self, own: ClassMoments, slopes: FloatArray) -> list[Reach]:
        """Return the reach on sums of sources, (sources, k), or over all classes, (sources k, 1)."""
        k = own.k
        parts = np.einsum("ik,kl->kil", slopes, np.eye(k)) if len(slopes) == own.sources else slopes.T
        parts = parts.reshape(-1, own.sources, k)
        found = []
        for moments, place in own.blocks:
            total = total_of(self.snapshot, moments.question)
            steps = find_moment_steps(moments, total, parts[:, place])
            found.append(Reach(moments.question, moments.n, steps, np.zeros(1)))
        if not self.snapshot.plan.asks_all:
            return found
        asked = [each.question.index for each in found]
        weights = {index: each for index, each in own.prior.weights.items() if index not in asked}
        return found + self._reach_prior(weights, parts[:, -1])


def find_sources(margins: Sequence[Frequencies], feature: Feature, k: int, same_people: bool) -> list[Source]:
    """Return what each question with reports adds to a feature's frequencies; see `combine_questions`."""
    known = [each for each in margins if each.n and (k == 1 or len(each.question.label.values) == k)]
    pooled = combine_questions(known, feature, k, same_people) if known else None
    levels = pooled.levels if isinstance(pooled, CombinedFrequencies) else ()
    asked = [(each.question.width, each.question.shift) for each in known]
    spreads = {key: level.spread for key, level in zip(dict.fromkeys(asked), levels, strict=False)}
    found = []
    for each, key in zip(known, asked, strict=True):
        alike = [other for other, its in zip(known, asked, strict=True) if its == key]
        cells = each.raw.reshape(-1, len(each.question.label.values))
        cells = cells.sum(axis=1) if k == 1 else cells
        found.append(
            Source(each, _find_weight(each, alike, feature, k, same_people), cells, spreads.get(key))
        )
    return found if pooled else []


def _find_weight(
    own: Frequencies, alike: Sequence[Frequencies], feature: Feature, k: int, same_people: bool
) -> float:
    """Return the weight of one of the questions that are averaged: the mean if its estimates alone are 1."""
    if len(alike) == 1:
        return 1.0
    sums = [replace(each, raw=np.full_like(each.raw, (each is own) / len(each.raw))) for each in alike]
    pooled = combine_questions(sums, feature, k, same_people)
    return float(pooled.raw.sum()) if pooled else 0.0
