"""What the findings say about the choice between two classifiers that two rounds compared."""

import pytest

from ldp_aggregator.estimation.unlabelled_summary import (
    ChosenBy,
    ClassifierKind,
    MeasuredAccuracy,
    UnlabelledSummary,
)
from ldp_aggregator.findings.unlabelled import find_unlabelled


@pytest.mark.parametrize(
    ("kept", "chosen_by", "fitted_accuracy", "is_within_noise"),
    [
        (ClassifierKind.FITTED, ChosenBy.REPORTS, 0.69, True),
        (ClassifierKind.FITTED, ChosenBy.ANSWERS, 0.9, False),
        (ClassifierKind.NAIVE_BAYES, ChosenBy.ANSWERS, 0.5, False),
        (ClassifierKind.NAIVE_BAYES, ChosenBy.REPORTS, 0.9, False),  # too noisy for a fit
    ],
)
def test_the_difference_is_called_noise_only_if_it_kept_the_fitted_classifier(
    kept, chosen_by, fitted_accuracy, is_within_noise
):
    compared = {
        kind: MeasuredAccuracy(survey="round", reports=4000, accuracy=accuracy, stderr=0.01)
        for kind, accuracy in ((ClassifierKind.FITTED, fitted_accuracy), (ClassifierKind.NAIVE_BAYES, 0.7))
    }
    summary = UnlabelledSummary(
        classifier=kept,
        chosen_by=chosen_by,
        association=12.5,
        confidence=0.8,
        rows=500,
        declared_public=False,
        fitted=(),
        absent=(),
        contradicting=(),
        validated=None,
        compared=compared,
    )
    keys = [each.id for each in find_unlabelled(summary)]
    assert any(key.endswith("compared") for key in keys)
    assert any(key.endswith("undecided") for key in keys) == is_within_noise
