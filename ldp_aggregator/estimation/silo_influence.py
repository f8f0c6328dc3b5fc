"""The summary of silos in the estimates: their messages and rows, and the influence of one that lies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from encoders.mechanisms.counted_table import SOFT_UNIT
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.codec import HIDDEN, InfiniteNumber, require
from ldp_aggregator.estimation.pooling import find_contradictions
from ldp_aggregator.estimation.raw_estimates import RawEstimates
from ldp_aggregator.estimation.tables.noisy_tables import ClassCounts, NoisyTable, weigh_tables
from ldp_aggregator.estimation.tables.soft_moments import SiloTables
from ldp_aggregator.snapshot import SiloSnapshot


@dataclass(frozen=True, kw_only=True)
class SiloInfluence:
    """How far one further message of a lying silo can move the estimates, up or down, at most.

    R invented rows, the survey's limit, move a share p of N rows by at most max(p, 1 - p) R / (N + R). For
    P(value | c) N is the number of rows of the class c. A mean moves by at most this share of its range. A
    silo may also send cells that only extreme noise explains; the checks of a collector accept such a message
    as long as its tables agree.
    """

    prior: FloatArray
    conditionals: FloatArray
    """By invented rows: of P(c), and of P(value | c) of any feature. Shape (k,)."""
    prior_with_noise: FloatArray
    conditionals_with_noise: FloatArray
    """By any message that passes the checks. At most 1, since estimates are cut to their range. Shape
    (k,)."""

    @classmethod
    def from_tables(cls, silos: SiloTables, classes: ClassCounts) -> SiloInfluence:
        rows, shares = silos.plan.rows, np.clip(classes.counts / classes.rows, 0.0, 1.0)
        several = float(silos.k > 1)  # the share of a single class is known
        tables = [_move_conditionals(silos, index) for index in range(len(silos.tables))]
        return cls(
            prior=several * np.maximum(shares, 1 - shares) * rows / (classes.rows + rows),
            conditionals=np.max([_invent_rows(each, rows) for each in silos.tables], axis=0),
            prior_with_noise=several * _move_prior(silos, classes),
            conditionals_with_noise=np.max(tables, axis=0),
        )

    def largest(self, other: SiloInfluence) -> SiloInfluence:
        names = self.__dataclass_fields__
        return SiloInfluence(
            **{name: np.maximum(getattr(self, name), getattr(other, name)) for name in names}
        )

    def check_entries(self) -> None:
        for name, moves in vars(self).items():
            are_shares = moves.shape == self.prior.shape and bool(((moves >= 0) & (moves <= 1)).all())
            require(are_shares, f"{name}: needs numbers from 0 to 1, one for each class")


def _invent_rows(table: NoisyTable, rows: int) -> FloatArray:
    """Return the largest change of P(value | c) of one feature by invented rows, (k,)."""
    total = np.maximum(table.counts.sum(axis=0), 0.0)
    ratio = _divide(table.counts, total, 0.0)
    largest: FloatArray = np.maximum(ratio, 1 - ratio).max(axis=0) * rows / (total + rows)
    return largest


def _move_conditionals(silos: SiloTables, index: int) -> FloatArray:
    """Return the largest change of P(value | c) of one feature by a message that passes the checks, (k,).

    The total of a class in the message is a free number between its limits, and the ratio is monotone in it
    except where a cell reaches its limit.
    """
    table, unit = silos.plan.mechanism.tables[index], silos.tables[index].unit
    counts, (low, high) = silos.tables[index].counts, (each / unit for each in table.accepted)
    others, total = len(counts) - 1, counts.sum(axis=0)
    error = table.class_error / SOFT_UNIT
    limits = max(-error, low * len(counts)), min(silos.plan.rows + error, high * len(counts))
    ratio = _divide(counts, total, 1.0)
    moves = []
    for added in (*limits, *np.clip([high + others * low, low + others * high], *limits)):
        most = _divide(counts + min(high, added - others * low), total + added, 1.0)
        least = _divide(counts + max(low, added - others * high), total + added, 0.0)
        moves.append(np.maximum(most - ratio, ratio - least).max(axis=0))
    return np.asarray(np.max(moves, axis=0))


def _move_prior(silos: SiloTables, classes: ClassCounts) -> FloatArray:
    """Return the largest change of P(c) by a message that passes the checks, (k,)."""
    weights, tables, rows = weigh_tables(silos.tables), silos.plan.mechanism.tables, silos.plan.rows
    class_errors = np.array([table.class_error for table in tables]) / SOFT_UNIT
    errors = np.array([table.total_error for table in tables]) / SOFT_UNIT
    lows = np.array([table.values * table.accepted[0] / table.unit for table in tables])
    low, high = float(weights @ np.maximum(lows, -class_errors)), rows + float(weights @ class_errors)
    error, room = float(weights @ errors), -(silos.k - 1) * low
    counts = classes.counts
    # the rows of the message are a free number, and the ratio is monotone in it except at the class's limit
    totals = np.array([-error, rows + error, np.clip(high - room, -error, rows + error)])[:, None]
    most = _divide(counts + np.minimum(totals + room, high), classes.rows + totals, 1.0).max(axis=0)
    least = _divide(counts + low, classes.rows + totals, 0.0).min(axis=0)
    current = np.clip(counts / classes.rows, 0.0, 1.0)
    return np.asarray(np.maximum(most - current, current - least))


def _divide(top: FloatArray, bottom: FloatArray, otherwise: float) -> FloatArray:
    result = np.full(np.broadcast_shapes(top.shape, bottom.shape), otherwise)
    cut: FloatArray = np.clip(np.divide(top, bottom, out=result, where=bottom > 0), 0.0, 1.0)
    return cut


@dataclass(frozen=True, kw_only=True)
class SiloSummary:
    messages: int
    rows: float
    rows_stderr: InfiniteNumber
    """The number of rows, estimated from the noisy counts, and the standard error of the noise."""
    rows_limit: int
    """The largest number of rows of a silo, in any of the surveys."""
    influence: SiloInfluence | None
    """In the survey in which it is largest, without the others; None without messages."""
    surveys: int = 1
    people: int | None = None
    """Number of people's reports with which the estimates are pooled; None without a survey of people."""
    contradictions: tuple[str, ...] = ()
    """The label and features in which two surveys differ significantly."""
    snapshots: tuple[SiloSnapshot, ...] = field(default=(), compare=False, repr=False, metadata=HIDDEN)
    """The counters of the surveys of silos; empty if the summary was read from a file."""

    @property
    def pooled(self) -> bool:
        return self.surveys > 1 or self.people is not None

    @classmethod
    def from_estimates(cls, surveys: Sequence[RawEstimates]) -> SiloSummary | None:
        """Summarise the silos in surveys, of which the first may be of people; None without silos."""
        tables = [each for survey in surveys for each in survey.silos]
        if not tables:
            return None
        known = [(each, each.classes) for each in tables if each.classes]
        variance = sum(classes.total_variance for _, classes in known)
        influences = [SiloInfluence.from_tables(*each) for each in known]
        label, features = tables[0].plan.label.name, tables[0].plan.features
        differing = find_contradictions(surveys)
        return cls(
            messages=sum(each.messages for each in tables),
            rows=round(sum((float(classes.counts.sum()) for _, classes in known), start=0.0), 1),
            rows_stderr=round(math.sqrt(variance), 1) if known else math.inf,
            rows_limit=max(each.plan.rows for each in tables),
            influence=reduce(SiloInfluence.largest, influences) if influences else None,
            surveys=len(tables),
            people=None if surveys[0].silos else surveys[0].reports,
            contradictions=tuple(label if index is None else features[index].name for index in differing),
            snapshots=tuple(each.snapshot for each in tables),
        )
