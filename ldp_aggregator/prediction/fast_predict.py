"""Predicts the labels of many rows of plain numbers, in blocks that stay in the processor's cache.

Only gaps between each label's score and the first label's are computed: by a table of whole numbers, or by a
quadratic function of a number. Rows whose gap is within the error bound, or with a cell that is not a value
of the survey, are left to `LogProbabilities.compute_scores`, so labels are always those of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from encoders.survey import NumericFeature, Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.prediction.block_scores import DiscreteGroup, NumericGroup, find_max_magnitude, fits_table
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.rows.table_input import Columns

UNDECIDED = -1
"""Stands for the label of an undecided row."""

_CELLS_PER_BLOCK = 1 << 16
"""Small enough for the cache, results included; large enough to make numpy's cost per call small."""


@dataclass(frozen=True, kw_only=True)
class FastPredictor:
    names: tuple[str, ...]
    groups: tuple[tuple[list[int], DiscreteGroup | NumericGroup], ...]
    """The indices of features that are scored in one step, and their group."""
    prior_gaps: FloatArray
    """Shape (k - 1,)."""
    error_bound: float
    """Upper bound on the rounding error of a difference of gaps, compared with
    `LogProbabilities.compute_scores`."""

    @classmethod
    def from_model(cls, plan: Plan | SiloPlan, model: LogProbabilities) -> Self | None:
        """Prepare a model; None for a projection, several answers, missing codes, or too long a table."""
        discrete = [j for j, each in enumerate(plan.features) if not isinstance(each, NumericFeature)]
        numeric = [j for j, each in enumerate(plan.features) if isinstance(each, NumericFeature)]
        is_coded = any(each.missing_codes for each in plan.entries)
        has_tables = all(fits_table(plan.features[j]) for j in discrete)
        if plan.entries != plan.features or is_coded or not has_tables:
            return None
        with np.errstate(all="ignore"):  # rows whose gaps overflow or are infinite stay undecided
            groups = tuple(
                (indices, kind.from_likelihoods([(plan.features[j], model.likelihoods[j]) for j in indices]))
                for kind, indices in ((DiscreteGroup, discrete), (NumericGroup, numeric))
                if indices
            )
            magnitude = find_max_magnitude(model.prior) + sum(group.max_magnitude for _, group in groups)
            rounding = 32 * (len(plan.features) + 2) * np.finfo(float).eps * magnitude
            return cls(
                names=tuple(each.name for each in plan.features),
                groups=groups,
                prior_gaps=model.prior[1:] - model.prior[0],
                error_bound=rounding + sum(group.grid_error for _, group in groups),
            )

    def supports(self, rows: NDArray[Any] | Columns) -> bool:
        """Return whether rows are numbers of the types that the features take, none of them infinite."""
        if isinstance(rows, np.ndarray):
            if not all(group.supports_dtype(rows.dtype) for _, group in self.groups):
                return False
            # scikit-learn has refused infinity, unless it was configured not to check
            return not get_config()["assume_finite"] or not np.isinf(rows).any()
        columns = [rows[name] for name in self.names]
        return (
            all(type(column) is np.ndarray and column.ndim == 1 for column in columns)
            and len({len(column) for column in columns}) == 1
            and all(group.supports_dtype(columns[j].dtype) for indices, group in self.groups for j in indices)
            and not any(np.isinf(column).any() for column in columns)
        )

    def predict(self, rows: NDArray[Any] | Columns) -> IntArray:
        block = max(_CELLS_PER_BLOCK // len(self.names), 1)
        count = len(rows) if isinstance(rows, np.ndarray) else len(rows[self.names[0]])
        scorers = [(indices, group.prepare(min(block, count))) for indices, group in self.groups]
        labels = np.empty(count, dtype=np.int64)
        with np.errstate(all="ignore"):
            for start in range(0, count, block):
                part = slice(start, start + block)
                gaps = self.prior_gaps[:, None]
                for indices, score in scorers:
                    gaps = gaps + score(self._take_cells(rows, indices, part))
                labels[part] = _decide_labels(gaps, self.error_bound)
        return labels

    def _take_cells(self, rows: NDArray[Any] | Columns, indices: list[int], part: slice) -> NDArray[Any]:
        if not isinstance(rows, np.ndarray):
            return np.stack([rows[self.names[j]][part] for j in indices], axis=1)
        return rows[part] if len(indices) == len(self.names) else rows[part, indices]


def _decide_labels(gaps: FloatArray, error_bound: float) -> IntArray:
    """Return the best label of each row from gaps (k - 1, rows); UNDECIDED where two labels are close."""
    best: IntArray = (gaps[0] > 0).astype(np.int64)
    decided = np.abs(gaps[0]) > error_bound  # never of NaN
    best_gap = np.maximum(gaps[0], 0)
    for label, gap in enumerate(gaps[1:], 2):
        lead = gap - best_gap
        decided &= np.abs(lead) > error_bound
        best[lead > 0] = label
        np.maximum(best_gap, gap, out=best_gap)
    best[~decided] = UNDECIDED
    return best
