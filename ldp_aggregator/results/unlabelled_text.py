"""States for people what rows without labels did to a model, and that epsilon does not cover them.

The model card, the results page and the summary of ldp-train share these sentences. They are plain text; the
callers escape the names in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FITTED = "logistic regression"
NAIVE_BAYES = "naive bayes"
OTHER_MODEL = "another model"
"""A validated model that is neither of the two classifiers that the reports and rows train."""
REPORTS, ANSWERS = "reports", "answers"
"""What chose the classifier: the noise of the reports, or the answers of two validation rounds."""

NOT_COVERED = (
    "Epsilon does NOT cover the rows without labels: this model depends on them, they were not declared "
    "public, and it may reveal something about the people in them."
)
DECLARED_PUBLIC = (
    "The rows without labels were declared public. Epsilon covers the reports, and not these rows."
)
NO_INTERVALS = (
    "The weights of the classifier have no interval. All estimates and intervals are those of the reports "
    "alone."
)
CALIBRATION_UNKNOWN = (
    "The calibration of its probabilities is unknown, because the rows have no labels. ldp-simulate measures "
    "it on public rows with labels."
)

_SECOND_ROUND = "A second validation round, of the other classifier, would let the answers choose."
_ONE_ROUND = {
    NAIVE_BAYES: "The validation round validated a Naive Bayes model, and not this classifier. Its answers "
    f"do not compare the two, so the reports alone chose. {_SECOND_ROUND}",
    FITTED: "The validation round validated this classifier, but no Naive Bayes model, so the reports alone "
    f"chose between the two. {_SECOND_ROUND}",
    OTHER_MODEL: "The validation round validated another model than the two that these reports and rows "
    "train, so the reports alone chose between the two.",
}
"""By the classifier that the only validation round validated."""


def is_fitted(unlabelled: Mapping[str, Any] | None) -> bool:
    """Return whether a model's classifier was fitted to rows without labels."""
    return bool(unlabelled) and unlabelled is not None and unlabelled["classifier"] == FITTED


def state_privacy(unlabelled: Mapping[str, Any]) -> str:
    """Return what the privacy of the reports does not include."""
    return DECLARED_PUBLIC if unlabelled["declared_public"] else NOT_COVERED


def describe_choice(unlabelled: Mapping[str, Any]) -> str:
    """Return which classifier was kept, and why, in one sentence."""
    # late: commands load the method only if it was used
    from ldp_aggregator.estimation.discriminative.classifier import MIN_ASSOCIATION

    rows, found = f"about {unlabelled['rows']:,} rows without labels", unlabelled["association"]
    if unlabelled["chosen_by"] == ANSWERS:
        kind = (
            f"a logistic regression, fitted to the reports and {rows}"
            if is_fitted(unlabelled)
            else f"Naive Bayes, although it got {rows}"
        )
        return (
            f"The classifier is {kind}, because the answers of two validation rounds choose it: its measured "
            "accuracy is significantly higher."
        )
    if is_fitted(unlabelled):
        return (
            f"The classifier is a logistic regression, fitted to the reports and {rows}, because the reports "
            f"are informative: all features together differ between the classes by {found:.1f} standard "
            f"deviations of the noise of reports and rows, and at least {MIN_ASSOCIATION:g} are needed."
        )
    return (
        f"The classifier is Naive Bayes, although it got {rows}, because the reports are mostly noise: all "
        f"features together differ between the classes by {found:.1f} standard deviations of the noise of "
        f"reports and rows, and a fit needs at least {MIN_ASSOCIATION:g}."
    )


def describe_unlabelled(unlabelled: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentences on a model's classifier, without those on privacy.

    Parameters
    ----------
    unlabelled : mapping
        The entry `unlabelled` of a model file.
    """
    yield describe_choice(unlabelled)
    if unlabelled["compared"]:
        yield _describe_comparison(unlabelled)
    if unlabelled["contradicting"]:
        yield (
            f"The rows contradict the reports in {_join(unlabelled['contradicting'])}: their values are "
            "significantly more or less frequent. The rows were weighted to agree with the reports."
        )
    if unlabelled["absent"]:
        yield (
            f"The rows have no column {_join(unlabelled['absent'])}. The scores there are those of Naive "
            "Bayes."
        )
    if not is_fitted(unlabelled):
        return
    yield NO_INTERVALS
    if not unlabelled["compared"] and unlabelled["validated"]:
        yield _ONE_ROUND[unlabelled["validated"]]
    if unlabelled["validated"] == FITTED:
        yield (
            "On the rows, weighted to agree with the reports, the mean probability of its predictions is "
            f"{unlabelled['confidence']:.3f}; if its probabilities are right, that is the accuracy that "
            "devices measured."
        )
    else:
        yield CALIBRATION_UNKNOWN


def _describe_comparison(unlabelled: Mapping[str, Any]) -> str:
    """Return the accuracies that two validation rounds measured, and what follows if they did not choose."""
    measured = [
        f"{_format_accuracy(unlabelled['compared'][kind])} of {name}"
        for kind, name in ((FITTED, "logistic regression"), (NAIVE_BAYES, "Naive Bayes"))
    ]
    sentence = f"Two validation rounds measured an accuracy of {measured[0]} and of {measured[1]}"
    sentence += ", each with the features that its round selects (+- one standard error)."
    if unlabelled["chosen_by"] == ANSWERS:
        return sentence
    return f"{sentence} The difference is within its noise, so the reports alone chose."


def _format_accuracy(measured: Mapping[str, Any]) -> str:
    devices = f"{measured['reports']:,} devices"
    if measured["accuracy"] is None:
        return f"unknown ({devices})"
    value = min(max(measured["accuracy"], 0.0), 1.0)
    return f"{value:.3f} +- {measured['stderr']:.3f} ({devices})"


def _join(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
