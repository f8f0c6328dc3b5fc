"""How far off figures typically are, and how far off they would be with more reports.

Every standard error here falls with the square root of the number of reports, so what more of them would
bring is known without asking anybody: twice as many take margins to 71%, ten times as many to 32%.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.intervals import Z95, IntervalEstimate, jsonable

GROWTH = (2, 10)
"""How many times the reports."""


def compute_typical_margins(figure: IntervalEstimate) -> FloatArray:
    """Return half the width of a typical 95% interval, per class; infinite where one is not known.

    Parameters
    ----------
    figure : IntervalEstimate
        (k,) or (A, k): of a class's values, the root mean square.
    """
    rows = figure.stderr.reshape(-1, figure.stderr.shape[-1])
    margin: FloatArray = Z95 * np.sqrt(np.mean(rows**2, axis=0))
    return margin


def margins(figure: IntervalEstimate) -> dict[str, Any]:
    """Return for JSON the margins now and with 2 and 10 times the reports, per class; None if unknown."""
    now = compute_typical_margins(figure)
    later = {f"times_{growth}": jsonable(now / math.sqrt(growth)) for growth in GROWTH}
    return {"now": jsonable(now), **later}
