"""The result of a comparison: the accuracy of each split, and the weakest trust model for an accuracy.

A trust model is weaker than another if people must trust fewer others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.plan_checks import LOCAL
from ldp_aggregator.arrays import FloatArray
from ldp_design.comparison.curves import Crossing, Mean, average, find_crossing
from ldp_design.comparison.trusts import NONE, Trust


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The accuracies of one trust model."""

    trust: Trust
    learners: tuple[str, ...]
    """The learner at each epsilon; it follows from public numbers."""
    accuracies: FloatArray
    """Shape (epsilons, splits)."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A trust model with its accuracy at one epsilon."""

    trust: Trust
    epsilon: float
    accuracy: Mean


@dataclass(frozen=True, kw_only=True)
class NeededTrust:
    """The weakest trust model that reaches an accuracy at one epsilon."""

    epsilon: float
    reaches: Candidate | None
    """The weakest compared trust model whose whole 95% interval is at or above the accuracy."""
    may_reach: tuple[Candidate, ...]
    """Weaker trust models whose interval contains the accuracy."""
    best: Candidate
    """The compared trust model with the highest accuracy."""


@dataclass(frozen=True, kw_only=True)
class TrustComparison:
    """The result of :func:`~ldp_design.comparison.trust_experiment.compare`."""

    plan: AnyPlan
    """That of the survey as it is written."""
    epsilons: tuple[float, ...]
    """Ascending."""
    trusts: tuple[Trust, ...]
    """As they were asked for."""
    curves: tuple[Curve, ...]
    """Of the trust models with a promise, in this order."""
    ceilings: Mapping[str, FloatArray]
    """The accuracies without protection, by learner. Dict of str to (splits,) array."""
    majorities: FloatArray
    """The accuracies of always predicting the most frequent label. Shape (splits,)."""
    training_rows: int
    test_rows: int
    """Of each split."""

    @property
    def splits(self) -> int:
        """Number of splits."""
        return len(self.majorities)

    @property
    def test_share(self) -> float:
        """Test rows divided by training rows, from which the overlap of the splits follows."""
        return self.test_rows / self.training_rows

    def average(self, values: FloatArray) -> Mean:
        """Return the mean of one number per split, with an interval that allows for overlapping splits."""
        return average(values, self.test_share)

    def find_crossing(self, differences: FloatArray) -> Crossing:
        """Return from which epsilon on differences of accuracies, (epsilons, splits), are at least zero."""
        return find_crossing(self.epsilons, differences, self.test_share)

    @cached_property
    def best_learner(self) -> str:
        """The learner without protection that has the best mean accuracy."""
        return max(self.ceilings, key=lambda name: float(self.ceilings[name].mean()))

    @cached_property
    def ceiling(self) -> Mean:
        """The accuracy of this learner."""
        return self.average(self.ceilings[self.best_learner])

    @cached_property
    def majority(self) -> Mean:
        """The accuracy of always predicting the most frequent label."""
        return self.average(self.majorities)

    @cached_property
    def ranked(self) -> Sequence[Curve]:
        """The curves of trust models that protect whole rows, the weakest trust model first."""
        return sorted((each for each in self.curves if each.trust.is_ranked), key=lambda c: c.trust.rank)

    def find(self, kind: str) -> Curve | None:
        """Return the first curve of a kind of trust model."""
        return next((each for each in self.curves if each.trust.kind == kind), None)

    @property
    def local(self) -> Curve | None:
        """The curve of the local survey."""
        return self.find(LOCAL)

    def find_needed_trusts(self, target: float) -> list[NeededTrust]:
        """Return the weakest trust model that an accuracy needs, at each epsilon; empty if none is ranked."""
        found = []
        for index, epsilon in enumerate(self.epsilons if self.ranked else []):
            candidates = [
                Candidate(trust=curve.trust, epsilon=epsilon, accuracy=self.average(curve.accuracies[index]))
                for curve in self.ranked
            ]
            sure = [index for index, each in enumerate(candidates) if each.accuracy.low >= target]
            first = sure[0] if sure else len(candidates)
            found.append(
                NeededTrust(
                    epsilon=epsilon,
                    reaches=candidates[first] if sure else None,
                    may_reach=tuple(each for each in candidates[:first] if each.accuracy.high >= target),
                    best=max(candidates, key=lambda each: each.accuracy.value),
                )
            )
        return found

    def list_rows(self) -> Iterator[dict[str, Any]]:
        """Yield one object for each trust model and epsilon; without protection, one for each learner."""
        curve_of = {curve.trust: curve for curve in self.curves}
        for trust in self.trusts:
            if trust.kind == NONE:
                for learner, accuracies in self.ceilings.items():
                    yield self._describe(trust, learner, None, accuracies)
                continue
            curve = curve_of[trust]
            for epsilon, learner, accuracies in zip(
                self.epsilons, curve.learners, curve.accuracies, strict=True
            ):
                yield self._describe(trust, learner, epsilon, accuracies)

    def _describe(
        self, trust: Trust, learner: str, epsilon: float | None, accuracies: FloatArray
    ) -> dict[str, Any]:
        mean = self.average(accuracies)
        return {
            "trust": trust.text,
            "learner": learner,
            "adjacency": trust.adjacency,
            "epsilon": epsilon,
            "accuracy": mean.value,
            "stderr": mean.stderr,
            "splits": self.splits,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "rows": list(self.list_rows()),
            "majority": self.majority.value,
            "non_private": self.ceiling.value,
        }
