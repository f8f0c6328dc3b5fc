"""Computes components from noisy class means, which are estimated from randomised reports.

The weights depend on the differences of the class means only. Noise in estimated variances would make them
worse, and dividing by variances gains little if all inputs have similar variances within their bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from encoders.explain.text import Counted
from encoders.survey.numeric_features import NumericFeature
from reduction.errors import FitError
from reduction.publish import Fit, publish, scale_to_unit_variance

LEARNED_METHOD = "learned"

_ASSUMED_WITHIN_VARIANCE = 0.12
"""Assumed variance of an input within a class (at most 1): about a standard deviation of a sixth of its
range. It scales the components."""
_COMPONENT_BOUNDS = ("-2", "2")  # standard deviations
_MIN_STRENGTH = 1e-9

Floats = NDArray[np.float64]


def learn(inputs: Sequence[NumericFeature], means: Floats, prior: Floats, components: int = 1) -> Fit:
    """Return the directions along which the class means differ most.

    They are the right singular vectors of the rows sqrt(prior_c) (mean_c - mean); with two classes there
    is one, the difference of the two means. Each component is scaled to standard deviation 1, shifted to
    mean 0, and has bounds at two standard deviations, if the inputs are independent of each other.

    Parameters
    ----------
    inputs : sequence of NumericFeature
        The n numbers.
    means : float array, shape (k, n)
        Class means of the numbers, normalised by their bounds.
    prior : float array, shape (k,)
        P(label).
    components : int
        1 to the smaller of k - 1 and n.

    Returns
    -------
    Fit
        Its components are named learned1, learned2, ...

    Raises
    ------
    FitError
        If there are too many components, or the means differ in fewer directions.
    """
    most = min(len(means) - 1, len(inputs))
    if not 1 <= components <= most:
        raise FitError(
            f"{len(means)} classes and {len(inputs)} numbers allow at most "
            f"{Counted(most, 'component')}, not {components}"
        )
    middle = prior @ means
    scaled_differences = (means - middle) * np.sqrt(prior)[:, None]
    _, strengths, directions = np.linalg.svd(scaled_differences, full_matrices=False)
    rank = int((strengths > _MIN_STRENGTH).sum())
    if components > rank:
        raise FitError(_too_alike(rank))
    variances = _ASSUMED_WITHIN_VARIANCE + (scaled_differences**2).sum(axis=0)
    spreads = np.sqrt(directions[:components] ** 2 @ variances)
    weights = np.array([scale_to_unit_variance(*each) for each in zip(directions, spreads, strict=False)])
    powers = strengths[:components] ** 2 / (strengths**2).sum()
    projection = publish(inputs, LEARNED_METHOD, weights, middle)
    return Fit(projection, (_COMPONENT_BOUNDS,) * components, tuple(map(float, powers)))


def _too_alike(rank: int) -> str:
    if rank == 0:
        return "the estimated class means are equal in every number: nothing to learn"
    return f"the class means differ in only {Counted(rank, 'direction')}: choose at most {rank}"
