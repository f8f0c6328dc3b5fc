"""Seeds the trials of a grid of cells: what a cell draws does not depend on the other cells."""

from __future__ import annotations

import hashlib
from decimal import Decimal

import numpy as np


def seed_cell(seed: int, repeat: int, epsilon: Decimal, *settings: object) -> np.random.SeedSequence:
    """Return the seed of the reports and the noise of one cell in one repeat.

    `settings` are what else distinguishes the cell: a trust model, or the other settings of a variant. All
    cells of a repeat share its split and its people, so that their differences are not differences of rows.
    """
    text = "\n".join(map(str, (seed, repeat, epsilon.normalize(), *settings)))
    return np.random.SeedSequence(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest()))
