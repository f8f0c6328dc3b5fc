"""The class prior, pooled from every question that involves the label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldp_aggregator.estimation.consistency import FloatArray
from ldp_aggregator.estimation.figures import Figure, unknown
from ldp_aggregator.estimation.frequencies import Frequencies


def pool_prior(estimated: Sequence[Frequencies], k: int) -> Figure:
    """Return the (k,) raw prior: the class totals of all questions, weighted by inverse variance.

    A coupled question with a = d/k values estimates P(c) by g(c) = sum over its values of F, with
    variance about s = a mean(V) (1 - 1/k) d/(d - 1); its weight is 1/s. The label question is the
    case a = 1. Questions without reports weigh nothing. METHODS of the project, section 5.
    """
    heard = [each for each in estimated if each.n > 0]
    if not heard:
        return unknown((k,))
    weights = np.array([1.0 / _spread(each, k) for each in heard])
    weights /= weights.sum()
    totals = np.stack([each.raw.reshape(-1, k).sum(axis=0) for each in heard])
    variances = np.stack([each.noise.against_classes(k)[1] for each in heard])
    return Figure.around(weights @ totals, np.sqrt(weights**2 @ np.maximum(variances, 0.0)))


def _spread(estimated: Frequencies, k: int) -> float:
    d = estimated.question.domain
    return (d // k) * estimated.mean_variance * (1 - 1 / k) * d / (d - 1)


def label_prior(label: Frequencies) -> Figure:
    """Return the (k,) raw prior from the label question alone (001, section 3.1.1)."""
    if label.n == 0:
        return unknown(label.raw.shape)
    return Figure.around(label.raw, label.stderr)


def replace_negatives(counts: FloatArray) -> FloatArray:
    """Set negative estimated counts to 1, as 001 (end of section 3.1.2) does.

    An estimate of exactly zero, which the paper does not mention, would forbid a class forever; it is
    set to 1 too.
    """
    return np.where(counts > 0, counts, 1.0)
