import math

import numpy as np
import pytest

from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.relevance import Relevance
from ldp_aggregator.findings.rules import is_known
from ldp_aggregator.results.feature_sections import format_relevance


@pytest.mark.parametrize(
    ("low", "high", "stderr", "known"),
    [
        (0.1, 0.8, 0.1, True),
        (0.1, 0.85, 0.1, False),
        (0.0, 0.5, 0.25, True),
        (0.0, 0.5, 0.26, False),
        (None, 0.5, 0.1, False),
        (0.1, math.nan, 0.1, False),
    ],
)
def test_an_estimate_is_known_if_its_interval_and_its_margin_are_narrow(low, high, stderr, known):
    assert is_known(low, high, stderr=stderr) == known
    if low is not None:
        assert is_known(2 * low - 1, 2 * high - 1, (-1.0, 1.0), 2 * stderr) == known


@pytest.mark.parametrize(
    ("value", "low", "high", "maximum", "text"),
    [
        (1412.7, 0.5, 1.0, 1.0, "1.00 [0.50, 1.00]"),
        (-0.2, 0.0, 0.3, 1.0, "0.00 [0.00, 0.30]"),
        (0.27, 0.1, 0.5, 1.0, "0.27 [0.10, 0.50]"),
        (0.4, 0.0, 1.0, 1.0, "unknown"),
        (0.4, 0.0, 0.5, 0.5, "unknown"),
        (0.4, 0.2, 0.96, 1.0, "unknown"),
        (math.nan, 0.0, 1.0, 1.0, "unknown"),
    ],
)
def test_a_relevance_is_inside_its_interval_or_unknown(value, low, high, maximum, text):
    ends = (np.asarray(low), np.asarray(high))
    estimate = IntervalEstimate(np.asarray(value), np.asarray(0.1), *ends, *ends)
    assert format_relevance(Relevance(estimate, 0.0, maximum)) == text
