"""Fits a classifier to reports and to rows without labels: logistic regression around Naive Bayes.

The entry point is :func:`fit_classifier`. The reports estimate how often each value and class occur together
(:mod:`label_moments`). The rows are weighted so that their values are as frequent as in the reports
(:mod:`raking`). The scores are fitted to the equations of logistic regression (:mod:`moment_equations`,
:mod:`gauss_newton`), for several settings of a prior around Naive Bayes (:mod:`fit`). Of very many equations,
the most informative combinations are used (:mod:`informative_equations`).
"""

from ldp_aggregator.estimation.discriminative.classifier import DiscriminativeFit, fit_classifier
from ldp_aggregator.estimation.discriminative.label_moments import (
    DiscriminativeError,
    LabelMoments,
    estimate_label_moments,
)

__all__ = [
    "DiscriminativeError",
    "DiscriminativeFit",
    "LabelMoments",
    "estimate_label_moments",
    "fit_classifier",
]
