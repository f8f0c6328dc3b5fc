"""Reads a model file into a scikit-learn classifier."""

from __future__ import annotations

import os

from ldp_aggregator.classifiers.curator_classifier import CuratorClassifier
from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
from ldp_aggregator.classifiers.survey_estimates import SurveyEstimates
from ldp_aggregator.results_file import load_results


def load_model(path: str | os.PathLike[str]) -> NaiveBayes | CuratorClassifier | SurveyEstimates:
    """Read a model file of ldp-train or ldp-central into a fitted classifier.

    Returns
    -------
    NaiveBayes, CuratorClassifier or SurveyEstimates
        A survey without a label has only estimates.

    Raises
    ------
    ModelError
        If the file cannot be read, is not a model file, is truncated, was edited by hand, or has another
        version.

    Examples
    --------
    >>> load_model("absent.json")
    Traceback (most recent call last):
    ...
    ldp_aggregator.results_file.ModelError: absent.json: cannot be read: No such file or directory
    """
    results = load_results(path)
    if not results.has_label:
        return SurveyEstimates(results)
    return (CuratorClassifier if results.is_curator else NaiveBayes).from_results(results)
