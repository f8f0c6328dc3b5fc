"""The summary of what unlabelled rows did to a model's classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from ldp_aggregator.estimation.json_form import read_object, require


class ClassifierKind(StrEnum):
    """The classifiers that reports and unlabelled rows train, and what a round may have validated."""

    FITTED = "logistic regression"
    NAIVE_BAYES = "naive bayes"
    OTHER = "another model"
    """A validated model that is neither of the two."""


class ChosenBy(StrEnum):
    """What chose between the two classifiers."""

    REPORTS = "reports"
    """The noise of the reports."""
    ANSWERS = "answers"
    """The answers of two validation rounds."""


@dataclass(frozen=True, kw_only=True)
class MeasuredAccuracy:
    """What a validation round measured of one classifier, with the features that it selects."""

    survey: str
    reports: int
    accuracy: float | None
    stderr: float | None
    """None without reports."""


@dataclass(frozen=True, kw_only=True)
class UnlabelledSummary:
    """What unlabelled rows did to the classifier. It has neither the exact number of rows nor a digest."""

    classifier: ClassifierKind
    chosen_by: ChosenBy
    association: float
    """How far all features together differ between the classes, in standard deviations of the noise."""
    confidence: float
    """The mean probability of the predicted class on the rows, weighted to agree with the reports."""
    rows: int
    """Number of rows, rounded to its first digit."""
    declared_public: bool
    fitted: tuple[str, ...]
    absent: tuple[str, ...]
    contradicting: tuple[str, ...]
    """Names of features: fitted, without a column, and whose values the reports contradict."""
    validated: ClassifierKind | None
    """What the only validation round validated; None without a round."""
    compared: Mapping[ClassifierKind, MeasuredAccuracy] | None
    """What two validation rounds measured; None unless there were two."""

    @property
    def is_fitted(self) -> bool:
        """Whether the model's classifier was fitted to the rows."""
        return self.classifier == ClassifierKind.FITTED

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for JSON."""
        lists = {name: list(getattr(self, name)) for name in ("fitted", "absent", "contradicting")}
        return asdict(self) | lists

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Self:
        """Return the summary that :meth:`as_dict` wrote; ValueError if an entry is wrong."""
        summary = read_object(cls, entry)
        kinds = {ClassifierKind.FITTED, ClassifierKind.NAIVE_BAYES}
        require(summary.classifier in kinds, "classifier: is unknown")
        compared = summary.compared
        require(compared is None or set(compared) == kinds, "compared: needs an entry for each classifier")
        for each in (compared or {}).values():
            is_consistent = (each.accuracy is None) == (each.stderr is None)
            require(is_consistent, "compared: needs two numbers, or null for both")
        return summary
