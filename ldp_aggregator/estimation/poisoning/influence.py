"""The influence of fake reports on an estimate: how far any payloads in them can change it.

An estimate is a weighted sum of what one or more questions estimate, or a ratio of two such sums, and is
linear in the mean of what reports add to the counters. If m of n reports are fake, a sum w.t from all reports
differs from that without them by m/(n - m) (w.x - w.t). Here t is the mean over all n reports, and x the mean
over the fake ones. The change is largest if all fake reports have the payload with the greatest or the least
w.x, which every mechanism computes in closed form (`contribution_range`).

For sums this is exact. If fake reports replace honest ones, a ratio r = top/bottom moves by the change of top
- r bottom, divided by the new bottom. The influence divides by the least possible bottom, so no ratio moves
further. If fake reports can lower the bottom by a share b of it and raise it by a share a, the influence is
at most (1 + a)/(1 - b) times the true move; if b is 1 or more, the ratio can move to an end of its range. The
weights of pooled questions are taken as constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.survey import Question
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.codec import Infinite
from ldp_aggregator.estimation.discrete.frequencies import Frequencies, oracle_of
from ldp_aggregator.estimation.intervals import Bounds
from ldp_aggregator.estimation.numeric.moments import Moments, mechanism_of
from ldp_aggregator.estimation.quantiles import list_sums
from ldp_aggregator.snapshot import Total

FAKE_SHARE = 0.01
"""The influence is computed for this share of fake reports, and for a single report."""


@dataclass(frozen=True)
class Influence:
    """How far fake reports to one question, or fake envelopes, can move the entries of an estimate."""

    estimate: str
    """A name of docs/poisoning.md; of a question about several features, with " of " and the feature."""
    one: Infinite
    """How far one report can move each entry; infinite if it is the only one."""
    one_percent: Infinite
    """How far FAKE_SHARE of the reports can move each entry."""
    one_percent_in_stderrs: FloatArray
    """The same in standard errors of the entry; NaN where that is 0 or unknown."""

    @classmethod
    def from_moves(cls, estimate: str, moves: FloatArray, stderr: FloatArray) -> Influence:
        known = np.isfinite(stderr) & (stderr > 0)
        in_stderrs = np.where(known, moves[1] / np.where(known, stderr, 1.0), np.nan)
        return cls(estimate, np.where(np.isnan(moves[0]), np.inf, moves[0]), moves[1], in_stderrs)

    @property
    def largest(self) -> float | None:
        """The largest move by FAKE_SHARE, in standard errors; None if all are unknown."""
        known = self.one_percent_in_stderrs[np.isfinite(self.one_percent_in_stderrs)]
        return float(known.max()) if known.size else None


@dataclass(frozen=True)
class Reach:
    """How far reports to one question can move the entries of an estimate: m of n by m/(n - m) times this."""

    question: Question
    n: int
    steps: FloatArray
    """Down and up, (2, ...): of a sum, or of top - r bottom of a ratio r, divided by the bottom."""
    bottom: FloatArray
    """Down: of a ratio's bottom, divided by the bottom. Broadcast to the entries."""


def find_moves(reaches: Sequence[Reach], value: FloatArray, bounds: Bounds | None = None) -> FloatArray:
    """Return how far fake reports to all these questions move an estimate, (2, ...).

    The first moves are those by one report to each question, the others those by FAKE_SHARE of each. `bounds`
    are the possible range of a ratio; None for a sum.
    """
    moves = []
    for fake in (None, FAKE_SHARE):
        shares = [fake / (1 - fake) if fake else 1 / (each.n - 1 or np.nan) for each in reaches]
        parts = list(zip(shares, reaches, strict=True))
        move = np.asarray(sum(share * each.steps for share, each in parts)).max(axis=0)
        if bounds is not None:
            rest = 1 - np.asarray(sum(share * each.bottom for share, each in parts))
            inside = np.clip(value, *bounds)
            furthest = np.maximum(inside - bounds[0], bounds[1] - inside)
            move = np.where(rest > 0, np.minimum(move / np.where(rest > 0, rest, 1.0), furthest), furthest)
        moves.append(move)
    return np.stack(moves)


# -- frequencies ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """The frequencies of one question, as a part of those that are pooled from several."""

    frequencies: Frequencies
    weight: float
    """Among the questions that are averaged."""
    cells: FloatArray
    """What the question estimates of the pooled cells: (A, k), or (A,) of one class."""
    spread: FloatArray | None = None
    """Of a level of an ordered feature: how its (intervals,) cells add to the values, (A, intervals)."""

    def find_steps(self, weights: FloatArray, times: Sequence[int], now: FloatArray) -> FloatArray:
        """Return how far sums of F = (t - off)/(on - off) can move down and up, (2, ...).

        `weights`, (..., groups), are those of the cells of each group, `times` the numbers of cells in them,
        and `now`, (...), the sums at `cells`.
        """
        oracle = oracle_of(self.frequencies.question)
        counters = np.array(times) * (oracle.domain // self.cells.size)
        slope = oracle.on_mean - oracle.off_mean
        ends = np.stack(oracle.contribution_range(weights / slope, counters))
        steps: FloatArray = abs(ends - weights @ counters * (oracle.off_mean / slope) - now)
        return self.weight * steps

    def find_sum_steps(self, weights: FloatArray, label: int = 0) -> FloatArray:
        """Return how far weighted sums, with weights (m, A), of one class can move down and up, (2, m)."""
        size = len(self.cells)
        cells = self.cells.reshape(size, -1)[:, label]
        weights = weights if self.spread is None else weights @ self.spread
        others = self.cells.size - size
        return self.find_steps(np.pad(weights, ((0, 0), (0, 1))), [*[1] * size, others], weights @ cells)

    def reach(self, steps: FloatArray, bottom: FloatArray | None = None) -> Reach:
        share = np.zeros(1) if bottom is None else bottom[0]
        return Reach(self.frequencies.question, self.frequencies.n, steps, share)


def reach_cells(source: Source) -> Reach:
    if source.spread is not None:
        return source.reach(source.find_sum_steps(np.eye(len(source.spread))))
    cells = source.cells
    weights = np.broadcast_to([1.0, 0.0], (*cells.shape, 2))
    return source.reach(source.find_steps(weights, [1, cells.size - 1], cells))


def reach_columns(source: Source, pooled: FloatArray) -> tuple[Reach, Reach | None]:
    """Return the reach on P(row | column), and on the differences of two columns.

    R = F[a, c]/G[c] has the slopes (1(own cell) - R 1(own column))/G. Two ratios, whose bottoms can move
    differently, differ by no more than the largest of their moves and of the first-order difference.
    """
    (size, k), cells = pooled.shape, source.cells
    mass = np.where(pooled.sum(axis=0) > 0, pooled.sum(axis=0), np.nan)
    ratio = pooled / mass
    weights = np.stack([1 - ratio, -ratio, np.zeros_like(ratio)], axis=-1) / mass[:, None]
    now = (cells - ratio * cells.sum(axis=0)) / mass
    steps = source.find_steps(weights, [1, size - 1, (k - 1) * size], now)
    whole = np.stack([1 / mass, 0 * mass], axis=-1)
    bottom = source.find_steps(whole, [size, (k - 1) * size], cells.sum(axis=0) / mass)
    if k != 2:
        return source.reach(steps, bottom), None
    both = np.concatenate([weights[:, 0, :2], -weights[:, 1, :2]], axis=-1)
    apart = source.find_steps(both, [1, size - 1] * 2, now[:, 0] - now[:, 1])
    apart = np.maximum(apart, steps.max(axis=(0, 2)))
    return source.reach(steps, bottom), source.reach(apart, bottom.max(axis=1, keepdims=True))


def reach_cumulative(source: Source, shares: FloatArray, ratios: FloatArray) -> Reach:
    (size, k), steps, bottom = shares.shape, [], []
    sums, constant = list_sums(len(ratios) + 1, size, k)
    for label in range(k):
        whole = constant[-1] + sums[-1] @ shares[:, label]
        whole = whole if whole > 0 else np.nan
        contrasts = (sums[:-1] - np.outer(ratios[:, label], sums[-1])) / whole
        steps.append(source.find_sum_steps(contrasts, label))
        bottom.append(source.find_sum_steps(sums[-1:] / whole, label))
    return source.reach(np.stack(steps, axis=-1), np.concatenate(bottom, axis=-1))


# -- numbers ----------------------------------------------------------------------------------------


def find_moment_steps(moments: Moments, total: Total, slopes: FloatArray) -> FloatArray:
    """Return how far sums of moments with weights (m, 3 or 4, k) can move down and up, (2, m)."""
    weights = np.einsum("mik,ikb->mbk", slopes, _counter_slopes(moments)).reshape(len(slopes), -1)
    ends = np.stack(mechanism_of(moments.question).contribution_range(weights))
    steps: FloatArray = abs(ends - weights @ (total.cells / total.n))
    return steps


def _counter_slopes(moments: Moments) -> FloatArray:
    """Return d(raw estimates of a label)/d(the label's counter in each block of k counters), (m, k, blocks).

    Moments are affine in the counters, and those of a label depend only on the label's own counters.
    """
    mechanism = mechanism_of(moments.question)
    k, cells = mechanism.domain.labels, mechanism.cells
    zero = mechanism.moments(np.zeros(cells, dtype=np.int64), 1)
    columns = []
    for block in range(cells // k):
        ones = np.zeros(cells, dtype=np.int64)
        ones[block * k : block * k + k] = 1
        columns.append((mechanism.moments(ones, 1) - zero)[moments.place, : len(moments.raw)])
    slopes: FloatArray = np.nan_to_num(np.stack(columns, axis=-1))
    return slopes
