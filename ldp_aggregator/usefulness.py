"""Checks whether a trained model predicts anything but the most frequent class, and whether reports are fake.

Both are computed when a model is trained, and stored with it: a prediction needs nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ldp_aggregator.codec import require
from ldp_aggregator.estimation import Estimates, NaiveBayesParameters
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.synthetic_people import SyntheticPopulation

_MAX_CELLS = 2_000_000
_MAX_PEOPLE = 20_000
"""Number of synthetic people, at most; fewer if there are many features."""
_NEARLY_EVERYONE = 0.99


class Useless(StrEnum):
    """Why a model supports no prediction but the most frequent class."""

    WEAK = "weak"
    """The features that distinguish the classes change hardly any prediction."""
    NOTHING = "nothing"
    """No feature distinguishes the classes, and the model predicts one class for nearly everyone."""
    UNSUPPORTED = "unsupported"
    """No feature distinguishes the classes, although the model predicts several."""


@dataclass(frozen=True, kw_only=True)
class Usefulness:
    """What the predictions of a model are worth."""

    useless: Useless | None = None
    """Why only the most frequent class can be predicted; None if others can, or if this is unknown."""
    majority: str | None = None
    """The most frequent class; None if the shares are unknown."""
    majority_share: float | None = None
    """Its estimated share."""
    questions: int = 0
    tested: int = 0
    alarms: int = 0
    """Numbers of questions: all, those that can be tested for fake reports, and those with an alarm."""

    def check_entries(self) -> None:
        """Raise ValueError unless the entries fit each other."""
        is_known = self.majority is not None and self.majority_share is not None
        is_unknown = self.majority is None and self.majority_share is None and self.useless is None
        require(is_known or is_unknown, "majority and majority_share: need both, or neither")
        require(0 <= (self.majority_share or 0.0) <= 1, "majority_share: needs a number from 0 to 1")
        require(self.alarms <= self.tested <= self.questions, "alarms, tested and questions: do not fit")


def find_usefulness(estimates: Estimates, classifier: NaiveBayesParameters) -> Usefulness:
    """Find what the predictions of a Naive Bayes classifier are worth."""
    majority, poisoning = estimates.majority, estimates.poisoning
    return Usefulness(
        useless=_find_useless(estimates, classifier),
        majority=majority.name if majority else None,
        majority_share=majority.share if majority else None,
        questions=len(poisoning.questions) if poisoning else 0,
        tested=len(poisoning.questions) - len(poisoning.untested) if poisoning else 0,
        alarms=len(poisoning.alarms) if poisoning else 0,
    )


def _find_useless(estimates: Estimates, classifier: NaiveBayesParameters) -> Useless | None:
    """Return the reason why only the most frequent class can be predicted; None if others can, or no class.

    This is so in two cases: no feature that the model uses distinguishes the classes, or the model predicts
    the most frequent class for nearly everyone. The second is counted for synthetic people, drawn from the
    estimates.
    """
    if not estimates.has_label or not estimates.reports or not np.isfinite(estimates.raw_prior.stderr).all():
        return None
    prior, conditionals = classifier.prior, classifier.conditionals
    people = max(100, min(_MAX_PEOPLE, _MAX_CELLS // len(conditionals)))
    codes, _ = SyntheticPopulation(prior, conditionals).draw_people(people, np.random.default_rng(0))
    scores = LogProbabilities.from_probabilities(prior, conditionals).compute_scores(codes)
    is_majority = scores.argmax(axis=1) == prior.argmax()
    distinguish = any(estimates.features[index].distinguishable for index in estimates.used_features)
    if is_majority.mean() >= _NEARLY_EVERYONE:
        return Useless.WEAK if distinguish else Useless.NOTHING
    return None if distinguish else Useless.UNSUPPORTED
