"""Simulates silos: divides rows among them, and adds up the messages that they would send."""

from __future__ import annotations

import numpy as np

from encoders.randomness import RandomSource
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.central.coded_rows import CodedRows
from ldp_aggregator.central.count_tables import exact_tables
from ldp_aggregator.central.noise import draw_laplace_array
from ldp_aggregator.snapshot import SiloSnapshot, Total


def simulate_silos(
    plan: SiloPlan, codes: IntArray, labels: IntArray, silos: int, source: RandomSource
) -> SiloSnapshot:
    """Return the counters of a survey after each silo has sent one message.

    The noise has the distribution of :meth:`CountTable.perturb`, drawn for many cells at once.

    Parameters
    ----------
    plan : SiloPlan
    codes : (m, F) array
        The coded rows of all silos. The first silo has the first of them, and so on, in equal parts.
    labels : (m,) array
    silos : int
    source : RandomSource
    """
    k, mechanism = len(plan.label.values), plan.mechanism
    cells = np.zeros(mechanism.cells, dtype=np.int64)
    for rows in np.array_split(np.arange(len(labels)), silos):
        tables = exact_tables(CodedRows(plan.features, k, codes[rows], labels[rows]))
        for table, (counts, _) in zip(mechanism.tables, tables, strict=True):
            noisy = counts.ravel() + draw_laplace_array(table.scale, counts.size, source)
            cells[table.start : table.end] += np.clip(noisy, *table.clamp)
    return SiloSnapshot(plan, {plan.question.key: Total(silos, cells)})
