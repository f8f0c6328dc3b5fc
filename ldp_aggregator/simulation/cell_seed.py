"""Seeds the trials of a grid of cells: what a cell draws does not depend on the other cells."""

from __future__ import annotations

import hashlib
from decimal import Decimal

import numpy as np


def seed_cell(seed: int, repeat: int, epsilon: Decimal, *settings: object) -> np.random.SeedSequence:
    """Return the seed of a cell's reports and noise in one repeat.

    The cells of a repeat share its split and its people, which are seeded without the cell, so that their
    differences are not differences of rows.

    Parameters
    ----------
    seed : int
        The seed that the user gave.
    repeat : int
        The number of the split.
    epsilon : Decimal
        1 and 1.0 give the same seed.
    *settings : object
        What else distinguishes a cell, for example its trust model, or the mechanism and the estimator.
    """
    text = "\n".join(map(str, (seed, repeat, epsilon.normalize(), *settings)))
    return np.random.SeedSequence(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest()))
