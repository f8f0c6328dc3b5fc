"""The sums of all messages of silos as noisy tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from encoders.mechanisms.counted_table import laplace_variance
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation.class_prior import PooledPrior, pool_prior
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance, TableEstimate
from ldp_aggregator.estimation.discrete.frequencies import CombinedFrequencies
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.tables.noisy_tables import COUNT_TABLE, ClassCounts, NoisyTable, estimate_table
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments
from ldp_aggregator.snapshot import SiloSnapshot


@dataclass(frozen=True)
class SiloTables:
    snapshot: SiloSnapshot
    """The sums of all messages."""
    tables: tuple[NoisyTable, ...]
    """One per feature. Each cell has the noise of all messages."""

    @classmethod
    def from_snapshot(cls, snapshot: SiloSnapshot) -> Self:
        messages, cells = snapshot.messages, snapshot.cells
        tables = [
            NoisyTable(
                cells=cells[table.start : table.end].reshape(table.values, table.labels),
                unit=table.unit,
                cell_variance=messages * laplace_variance(table.scale),
                terms=messages,
            )
            for table in snapshot.plan.mechanism.tables
        ]
        return cls(snapshot, tuple(tables))

    @property
    def plan(self) -> SiloPlan:
        return self.snapshot.plan

    @property
    def messages(self) -> int:
        return self.snapshot.messages

    @property
    def k(self) -> int:
        return len(self.plan.label.values)

    @cached_property
    def classes(self) -> ClassCounts | None:
        return ClassCounts.from_tables(self.tables) if self.messages else None

    @property
    def n(self) -> int:
        return round(self.classes.rows) if self.classes else 0

    @property
    def prior(self) -> PooledPrior:
        if self.classes:
            return self.classes.pooled_prior
        return pool_prior([], self.k)

    def estimate_features(self) -> list[TableEstimate | ClassMoments]:
        return [self._estimate_feature(index) for index in range(len(self.tables))]

    def _estimate_feature(self, index: int) -> TableEstimate | ClassMoments:
        table, is_number = self.tables[index], self.tables[index].unit > 1
        if self.classes:
            estimate = SoftMoments.from_table if is_number else estimate_table
            return estimate(table, self.classes)
        if is_number:
            can_be_missing = self.plan.features[index].missing == "category"
            return ClassMoments((), self.prior, can_be_missing)
        size = table.cells.size
        covariance = FrequencyCovariance.unknown(np.full(size, 1 / size))
        return CombinedFrequencies(0, np.full(size, math.nan), covariance, COUNT_TABLE, ())
