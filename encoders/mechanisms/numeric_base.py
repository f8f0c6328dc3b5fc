"""The interface of the mechanisms that randomise a number x in [-1, 1], or its square, with the class.

The answer is a vector with one slot per class: x in the slot of the person's class, and 0 in all others
(Yilmaz et al. 2019, section 3.2). A number that may be missing has k more slots; if it is missing, one of
these is 1. Numbers are codes on a grid, see :mod:`encoders.survey.features`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from encoders.errors import SurveyError
from encoders.lazy_numpy import FloatArray, IntArray, np
from encoders.mechanisms.base import Mechanism, MechanismParameters, Number

GRID_BITS = 21
GRID = 1 << GRID_BITS - 1
"""Steps of the grid on either side of zero. The number x has the code (x + 1) GRID, a missing number the code
2 GRID + 1, after the last one."""
MAX_LABELS = 1 << 14
ROUNDING = 1 / 6
"""Variance of stochastic rounding, in squared steps, for numbers uniform between grid points."""


@dataclass(frozen=True)
class NumericDomain:
    """The input of a mechanism for numbers: the number of classes, the numbers and their range."""

    labels: int
    """Number of classes k; 1 in a survey without a label."""
    missing: tuple[bool, ...] = (False,)
    low: int = -1
    """-1 for numbers, which lie in [-1, 1]; 0 for squares, which lie in [0, 1]."""
    both: bool = False
    """Whether the reports are counted for the mean and the mean square of the same number."""

    @property
    def slots(self) -> int:
        """Length of the vector of numbers and classes: k per number, 2 k if it may be missing."""
        return self.labels * (len(self.missing) + sum(self.missing))

    @property
    def slots_text(self) -> str:
        several = ["number"] * (len(self.missing) > 1) + ["label"] * (self.labels > 1)
        each = f"each {' and '.join(several)}" if several else "the number"
        absent = ", and another in case the number is missing" * any(self.missing)
        return f"{self.slots} {'place' if self.slots == 1 else 'places'} (one for {each}{absent})"

    def split(self, value: int) -> tuple[int, int]:
        """Return the index of the slot that is not zero, and its code: the code of 1 for a missing number."""
        code, label = divmod(int(value), self.labels)  # a numpy integer would overflow what follows
        absent = code > 2 * GRID
        return label + self.labels * absent, code - absent

    def split_many(self, values: IntArray) -> tuple[IntArray, IntArray]:
        """Return the arrays of slots and codes of an array of values, see :meth:`split`."""
        code, label = np.divmod(np.asarray(values, dtype=np.int64), self.labels)
        absent = (code > 2 * GRID).astype(np.int64)
        return label + self.labels * absent, code - absent

    def arrange(self, estimates: FloatArray, label_share: FloatArray | None = None) -> FloatArray:
        """Arrange estimates per slot, shape (slots,), as :meth:`NumericMechanism.moments` returns them."""
        k, index = self.labels, 0
        laid = np.full((len(self.missing), 3, k), np.nan)
        for number, absent in enumerate(self.missing):
            laid[number, 0] = estimates[index : index + k]
            laid[number, 1] = estimates[index + k : index + 2 * k] if absent else 0.0
            index += k * (1 + absent)
        if label_share is not None:
            laid[0, 2] = label_share
        return laid


class NumericMechanism(Mechanism):
    """A mechanism whose reports estimate the mean of x in each class, where x is a number or a square."""

    estimates_prior: ClassVar[bool] = False
    """Whether reports estimate the class prior too. If not, other questions must estimate it, because
    class means are divided by it."""
    domain: NumericDomain

    def __init__(self, domain: NumericDomain, parameters: MechanismParameters) -> None:
        if not 1 <= domain.labels <= MAX_LABELS:
            raise SurveyError(f"{self.name} needs 1 to {MAX_LABELS} classes: merge classes of the label")
        if len(domain.missing) != 1 and not self.multivariate:
            raise SurveyError(
                f"{self.name} asks for one number at a time, and only laplace for several: compile the "
                "survey again"
            )
        self.domain = domain
        self.parameters = dict(parameters)

    def __repr__(self) -> str:
        return f"{self.name}(labels={self.domain.labels}, numbers={len(self.domain.missing)})"

    @classmethod
    @abstractmethod
    def design(cls, domain: NumericDomain, epsilon: Decimal) -> Self:
        """Return the mechanism with tables that spend at most `epsilon`."""

    # -- the trainer -----------------------------------------------------------------------

    @abstractmethod
    def moments(self, totals: IntArray, n: int) -> FloatArray:
        """Return unbiased estimates from the sums `totals`, (cells,), of `n` > 0 reports: (numbers, 3, k).

        For each number and class: E[x 1(class)]; P(missing, class), which is 0 if the number cannot be
        missing; and P(class), which is NaN unless the mechanism estimates it.
        """

    def covariance(
        self, share: FloatArray, first: FloatArray, second: FloatArray, missing: FloatArray
    ) -> FloatArray:
        """Return the covariance of one report's estimate of the `moments` of one number, (3, 3, k).

        The arguments, (k,), are P(present, class), E[x 1(class)], E[x^2 1(class)] and P(missing, class),
        where x is the number or the square that is asked for. The variance of sampling a person is included.
        Here the slots have independent noise, and at most one slot of the true answer is not zero, so the
        covariance of two is minus the product of their means. The prior is not estimated.
        """
        laid = np.full((3, 3, len(first)), np.nan)
        laid[0, 0] = self.slot_variance(share, first, second)
        laid[1, 1] = self.slot_variance(0 * share, missing, missing)  # a 1 in a slot, without rounding
        laid[0, 1] = laid[1, 0] = -first * missing
        return laid

    @cached_property
    def class_offsets(self) -> FloatArray:
        """Offsets t, shape (3,), in the covariance of one report's estimates for two different classes.

        Estimate a of class c and estimate b of class d covary as -(m[a, c] + t[a]) (m[b, d] + t[b]), with m
        the true values of the `moments`. The offsets are 0 if the noise of different slots is independent,
        and if a report is about one slot that is drawn independently of the answer.
        """
        return np.zeros(3)

    @cached_property
    def reference_variance(self) -> float:
        """Variance of one report's estimate of E[x 1(class)], for x uniform over [-1, 1] and equal classes.

        In a question about squares, the number that is squared is uniform. "auto" compares this variance.
        """
        share = 1 / self.domain.labels
        first, second = (0.0, 1 / 3) if self.domain.low else (1 / 3, 1 / 5)
        return self.slot_variance(share, first * share, second * share)

    @property
    def second_reference_variance(self) -> float:
        """The same of E[x^2 1(class)]; infinite unless one question estimates both."""
        return math.inf

    @property
    def label_variance(self) -> float:
        """Variance of one report's estimate of P(class), if classes are equally likely; infinite if none."""
        return math.inf

    @abstractmethod
    def slot_variance(self, share: Number, first: Number, second: Number) -> Number:
        """Return the variance of one report's estimate of E[x 1(class)]; arguments as of `covariance`."""

    def counter_names(self, numbers: Sequence[str], labels: Sequence[str]) -> list[str]:
        """Return a name of each counter, for people, made from the names of the numbers and classes."""
        return [
            ", ".join(filter(None, (f"{number}{gone}", label)))
            for number, absent in zip(numbers, self.domain.missing, strict=True)
            for gone in ["", " missing"][: 1 + absent]
            for label in labels
        ]

    # -- the auditor -----------------------------------------------------------------------

    @property
    def corners(self) -> Sequence[Any]:
        return [
            code * self.domain.labels + c for code in self._corner_codes() for c in range(self.domain.labels)
        ]

    def _corner_codes(self) -> list[int]:
        lowest = GRID * (1 + self.domain.low)
        return [lowest, 2 * GRID] + [2 * GRID + 1] * self.domain.missing[0]

    @abstractmethod
    def probability(self, payload: bytes, value: Any) -> Fraction:
        """Return P[payload | value], exactly."""

    def likelihood(self, payload: bytes) -> list[Fraction]:
        return [self.probability(payload, value) for value in self.corners]
