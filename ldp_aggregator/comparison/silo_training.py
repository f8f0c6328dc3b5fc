"""Trains Naive Bayes on the noisy tables of simulated silos."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from encoders.randomness import RandomSource
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.central.coded_rows import CodedRows
from ldp_aggregator.central.count_tables import measure_tables
from ldp_aggregator.central.naive_bayes import CentralNaiveBayes, smooth
from ldp_aggregator.estimation.tables.noisy_tables import NoisyTable


def train_silos(
    rows: CodedRows, silos: int, epsilon: Fraction, source: RandomSource, rng: np.random.Generator
) -> CentralNaiveBayes:
    """Divide rows at random among silos, and train on the sum of their messages.

    Each silo sends the tables of its rows once, with discrete Laplace noise of its own in each cell.

    Parameters
    ----------
    rows : CodedRows
    silos : int
    epsilon : Fraction
        For one row that is added to a silo or removed from it.
    source : RandomSource
        Draws the noise.
    rng : numpy Generator
        Divides the rows.
    """
    parts = np.array_split(rng.permutation(len(rows)), silos)
    messages = [measure_tables(_take(rows, part), epsilon, source) for part in parts]
    tables = [_add(of_feature) for of_feature in zip(*messages, strict=True)]
    return smooth(rows, dict(enumerate(tables)))


def _take(rows: CodedRows, places: IntArray) -> CodedRows:
    return CodedRows(rows.features, rows.k, rows.codes[places], rows.labels[places])


def _add(tables: Sequence[NoisyTable]) -> NoisyTable:
    cells: IntArray = np.sum([table.cells for table in tables], axis=0)
    variance = sum(table.cell_variance for table in tables)
    return NoisyTable(cells, tables[0].unit, variance, terms=len(tables))
