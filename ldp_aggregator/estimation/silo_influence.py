"""The summary of silos in the estimates: their messages and rows, and the influence of one that lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.mechanisms.soft_cells import SOFT_UNIT
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.intervals import to_json_list
from ldp_aggregator.estimation.pooling import CONTRADICTION_LEVEL, find_contradictions
from ldp_aggregator.estimation.raw_estimates import RawEstimates
from ldp_aggregator.estimation.tables.noisy_tables import ClassCounts, NoisyTable, weigh_tables
from ldp_aggregator.estimation.tables.silo_tables import SiloTables
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
        """Return the influence on estimates from silos alone; on pooled estimates it is smaller."""
        rows, shares = silos.plan.rows, np.clip(classes.counts / classes.rows, 0.0, 1.0)
        tables = [_move_conditionals(silos, place) for place in range(len(silos.tables))]
        return cls(
            prior=np.maximum(shares, 1 - shares) * rows / (classes.rows + rows),
            conditionals=np.max([_invent_rows(each, rows) for each in silos.tables], axis=0),
            prior_with_noise=_move_prior(silos, classes),
            conditionals_with_noise=np.max(tables, axis=0),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the influence for JSON."""
        return {name: to_json_list(getattr(self, name)) for name in self.__dataclass_fields__}


def _invent_rows(table: NoisyTable, rows: int) -> FloatArray:
    """Return how far invented rows move P(value | c) of one feature, (k,), at most."""
    total = np.maximum(table.counts.sum(axis=0), 0.0)
    ratio = _divide(table.counts, total, 0.0)
    largest: FloatArray = np.maximum(ratio, 1 - ratio).max(axis=0) * rows / (total + rows)
    return largest


def _move_conditionals(silos: SiloTables, place: int) -> FloatArray:
    """Return how far a message that passes the checks moves P(value | c) of one feature, (k,), at most.

    The total of a class in the message is a free number between its limits, and the ratio is monotone in it
    except where a cell reaches its limit.
    """
    table, unit = silos.plan.mechanism.tables[place], silos.tables[place].unit
    counts, (low, high) = silos.tables[place].counts, (each / unit for each in table.accepted)
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
    """Return how far a message that passes the checks moves P(c), (k,), at most."""
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
    """Return a ratio, cut to the range from 0 to 1; `otherwise` unless the bottom is above 0."""
    result = np.full(np.broadcast_shapes(top.shape, bottom.shape), otherwise)
    cut: FloatArray = np.clip(np.divide(top, bottom, out=result, where=bottom > 0), 0.0, 1.0)
    return cut


@dataclass(frozen=True, kw_only=True)
class SiloSummary:
    """What the estimates contain from silos."""

    snapshot: SiloSnapshot
    """The counters of the survey of silos."""
    rows: float
    rows_stderr: float
    """The number of rows, estimated from the noisy counts, and the standard error of the noise."""
    influence: SiloInfluence | None
    """None without messages."""
    people: int | None = None
    """Number of people's reports with which the estimates are pooled; None without a survey of people."""
    contradictions: tuple[str, ...] = ()
    """The label and features in which silos and people differ significantly."""

    @classmethod
    def from_estimates(cls, own: RawEstimates, pooled: RawEstimates) -> SiloSummary | None:
        """Summarise the tables of silos; None if the estimates contain none.

        Parameters
        ----------
        own : RawEstimates
            The estimates of the survey itself: of people, or those of silos.
        pooled : RawEstimates
            The same, unless they are pooled with those of silos.
        """
        silos, people = pooled.silos, None if pooled is own else own
        if silos is None:
            return None
        classes, differing = silos.classes, find_contradictions(people, silos, pooled) if people else []
        label, features = silos.plan.label.name, silos.plan.features
        return cls(
            snapshot=silos.snapshot,
            rows=float(classes.counts.sum()) if classes else 0.0,
            rows_stderr=math.sqrt(classes.total_variance) if classes else math.inf,
            influence=SiloInfluence.from_tables(silos, classes) if classes else None,
            people=people.reports if people else None,
            contradictions=tuple(label if place is None else features[place].name for place in differing),
        )

    @property
    def warning(self) -> str | None:
        """A warning for readers; None if there is nothing to warn of."""
        if not self.contradictions:
            return None
        return (
            f"the silos and the people contradict each other in {', '.join(self.contradictions)} (at level "
            f"{CONTRADICTION_LEVEL:g} for all comparisons), so pooled estimates describe neither of them: "
            "estimate the two surveys separately"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for JSON; unknown values become None."""
        return {
            "survey": self.snapshot.plan.id,
            "plan_digest": self.snapshot.plan.digest,
            "messages": self.snapshot.messages,
            "rows": round(self.rows, 1),
            "rows_stderr": round(self.rows_stderr, 1) if math.isfinite(self.rows_stderr) else None,
            "rows_limit": self.snapshot.plan.rows,
            "influence": self.influence.as_dict() if self.influence else None,
            "people": self.people,
            "contradictions": list(self.contradictions),
        }
