"""How often to ask for the label alone, so that few people at a small epsilon still tell the prior."""

from __future__ import annotations

PRIOR_ERROR = 0.1
"""Which standard error of P(label) is small enough; so far off, features that tell something still decide."""
WORTH = 1.5
"""How much more than other questions one about the label alone must tell of it."""
MOST_WEIGHT = 8
"""What a question about the label alone weighs at most, in features: they are what it takes reports from."""


def label_weight(users: int, features: float, alone: float, information: float) -> float:
    """Return how often to ask for the label alone, as a multiple of how often each feature is asked about.

    Zero where the questions about features by themselves tell P(label) with a standard error of at most
    PRIOR_ERROR, or almost as much as asking for it alone; else as often as that takes, but at most
    MOST_WEIGHT. From public numbers only.

    Parameters
    ----------
    users : int
        How many people are expected to answer.
    features : float
        How many features' weights all questions about features have together.
    alone : float
        Variance of one report's P(label) if the label is asked for alone.
    information : float
        One over that variance, if a feature is asked about; their average.
    """
    needed = 1 / (PRIOR_ERROR**2 * users) - information
    gained = 1 / alone - information
    if needed <= 0 or 1 / alone < WORTH * information:
        return 0.0
    share = needed / gained
    return min(features * share / (1 - share), MOST_WEIGHT) if share < 1 else MOST_WEIGHT
