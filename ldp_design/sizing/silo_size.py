"""Margins of a silo survey before its launch. They follow from the noise: rows are counted, not sampled.

The estimation code computes them from expected counts. It adds the error of a sample. This error vanishes if
each row is counted many times, with as many times as much noise.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import cached_property
from math import ceil
from typing import Any, cast

import numpy as np

from encoders.explain.text import Counted
from encoders.mechanisms.counted_table import laplace_variance
from encoders.survey.silo_plan import SiloSurvey
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_aggregator.estimation.estimates import describe_features
from ldp_aggregator.estimation.raw_estimates import estimate_silos
from ldp_aggregator.estimation.tables.noisy_tables import NoisyTable
from ldp_aggregator.estimation.tables.soft_moments import SiloTables
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_aggregator.snapshot import SiloSnapshot, Total
from ldp_design.sizing.assumed_people import LabelShares, to_prior
from ldp_design.sizing.changes import find_epsilon
from ldp_design.sizing.margins import Margin, build_feature_margins, build_label_margin, features_of
from ldp_design.sizing.sample_size import SizeError, find_min_users, find_smallest
from ldp_design.sizing.survey_size import COMPARED_USERS, ExpectedMargins

COMPARED_SILOS = (1, 10, 100)
_COPIES = 1e9
_OF_PEOPLE = ("reports", "question_probability")
"""Entries of a margin that are about people's reports only."""


@dataclass(frozen=True, kw_only=True)
class SiloRemedies:
    """The smallest change of each kind after which no feature is noise; None if none of a kind is enough."""

    rows: int
    silos: int | None
    epsilon: Decimal | None
    """At most the epsilon that clients accept by default."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"epsilon": None if self.epsilon is None else float(self.epsilon)}


@dataclass(frozen=True, kw_only=True)
class SiloSize(ExpectedMargins):
    """What to expect of a silo survey: `rows` in all, in `silos` messages."""

    survey: SiloSurvey
    rows: int
    silos: int

    @cached_property
    def remedies(self) -> SiloRemedies | None:
        """What to change, if at least one feature is noise."""
        return _find_remedies(self) if self.noise else None

    def as_dict(self) -> dict[str, Any]:
        return {
            "survey": self.survey.id,
            "epsilon": float(self.survey.epsilon),
            "rows": self.rows,
            "silos": self.silos,
            "rows_per_person": self.survey.rows_per_person,
            **({"label_shares": self.label_shares and list(self.label_shares)} if self.label_margin else {}),
            "margins": [
                {name: each for name, each in margin.as_dict().items() if name not in _OF_PEOPLE}
                for margin in self.margins
            ],
            "noise": list(self.noise),
            "remedies": self.remedies.as_dict() if self.remedies else None,
        }


def size_silos(
    survey: SiloSurvey, rows: int, silos: int, label_shares: LabelShares | None = None
) -> SiloSize:
    """Return the expected precision for equal shares; SizeError if the messages cannot count so many rows."""
    if rows > silos * survey.rows:
        raise SizeError(
            f"{rows:,} rows do not fit into {Counted(silos, 'message')}: each counts at most "
            f"{survey.rows:,} (rows in [survey]). Give fewer --rows or more --silos, or write a larger limit"
        )
    margins = _compute_margins(survey, rows, silos, to_prior(label_shares))
    return SiloSize(survey=survey, rows=rows, silos=silos, label_shares=label_shares, margins=margins)


def compare_silo_sizes(
    survey: SiloSurvey, rows: int | None, silos: int | None, label_shares: LabelShares | None = None
) -> list[SiloSize]:
    """Return one size if the numbers of rows and of silos are known, else a size for several numbers."""
    pairs = [(each, count) for each in COMPARED_USERS for count in COMPARED_SILOS]
    pairs = [(rows or each, silos or count) for each, count in pairs]
    fitting = [(each, count) for each, count in pairs if each <= count * survey.rows] or pairs[-1:]
    return [size_silos(survey, *each, label_shares) for each in dict.fromkeys(fitting)]


def find_rows_for_margin(
    survey: SiloSurvey, margin: float, silos: int, label_shares: LabelShares | None
) -> SiloSize:
    """Return the size with the fewest rows for a margin of at most `margin`; SizeError if too many rows."""
    prior = to_prior(label_shares)

    def excess(rows: int) -> float:
        return max(each.share for each in _compute_margins(survey, rows, silos, prior)) / margin

    if excess(silos * survey.rows) > 1:
        raise SizeError(
            f"a margin of {margin:g} needs more rows than fit into {Counted(silos, 'message')}: "
            f"each counts at most {survey.rows:,} (rows in [survey]). Give a larger --margin, or write a "
            "larger limit"
        )
    return size_silos(survey, find_min_users(excess), silos, label_shares)


def _find_remedies(size: SiloSize) -> SiloRemedies:
    survey, rows, silos = size.survey, size.rows, size.silos

    def excess(rows: int = rows, silos: int = silos, epsilon: Decimal = survey.epsilon) -> float:
        changed = replace(survey, epsilon=epsilon)
        margins = _compute_margins(changed, rows, silos, to_prior(size.label_shares))
        return max(margin.excess for margin in features_of(margins))

    fewest = ceil(rows / survey.rows)
    fewer = find_smallest(1, silos - fewest, lambda fewer: excess(silos=silos - fewer) <= 1)
    return SiloRemedies(
        rows=find_min_users(excess),
        silos=None if fewer is None else silos - fewer,
        epsilon=find_epsilon(survey.epsilon, lambda each: excess(epsilon=each) <= 1),
    )


def _compute_margins(
    survey: SiloSurvey, rows: int, silos: int, prior: FloatArray | None
) -> tuple[Margin, ...]:
    """Return the margins of the label, if there is one, and of each feature."""
    plan = survey.compile()
    population = SyntheticPopulation.uniform(plan, prior)
    pairs = zip(plan.mechanism.tables, population.conditionals, strict=True)
    units = population.prior * rows * _COPIES
    tables = [
        NoisyTable(
            cells=cast(IntArray, _expected_cells(conditional) * units * table.unit),
            unit=table.unit,
            cell_variance=silos * laplace_variance(table.scale) * _COPIES**2,
            terms=silos,
        )
        for table, conditional in pairs
    ]
    cells = np.zeros(plan.mechanism.cells, dtype=np.int64)
    snapshot = SiloSnapshot(plan, {plan.question.key: Total(silos, cells)})
    raw = estimate_silos(SiloTables(snapshot, tuple(tables)))
    results = describe_features(snapshot, raw, population.conditionals, population.prior)
    labels = (
        build_label_margin(name, raw.prior.estimate, population.prior, 1.0, rows) for name in plan.label.names
    )
    every = [1.0] * len(results)
    return *labels, *build_feature_margins(results, raw.feature_estimates, population, every)


def _expected_cells(conditional: ClassConditional) -> FloatArray:
    """Return the share of a class in each cell of a table: of values, or of soft cells of a number."""
    if not isinstance(conditional, Gaussian):
        return conditional
    first, second = conditional.mean, conditional.mean**2 + conditional.variance
    cells = np.stack([(1 + second) / 4 - first / 2, (1 - second) / 2, (1 + second) / 4 + first / 2])
    missing = conditional.missing
    return cells if missing is None else np.concatenate([cells * (1 - missing), missing[None]])
