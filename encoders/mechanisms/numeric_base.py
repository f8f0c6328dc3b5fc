"""What mechanisms for numbers have in common: the question they answer, and what is estimated from it.

The question: a number x in [-1, 1], or its square in [0, 1], together with the class. Every mechanism
here hides both. The answer is a vector with one slot per class, zero but for x in the own class's slot
(Yilmaz et al. 2019, section 3.2); a number that may be missing has k slots more, with a 1 in one of them
if it is missing. Numbers arrive as codes on a grid, see :mod:`encoders.survey.numeric_features`.
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

from encoders.arrays import FloatArray, IntArray, np
from encoders.errors import SurveyError
from encoders.mechanisms.base import Mechanism, Number
from encoders.mechanisms.parameters import MechanismParameters

GRID_BITS = 21
GRID = 1 << GRID_BITS - 1
"""Steps of the grid on either side of zero: the number x has the code (x + 1) GRID, a missing one the next
after the last, 2 GRID + 1."""
MAX_LABELS = 1 << 14
ROUNDING = 1 / 6
"""Variance that stochastic rounding adds for numbers spread evenly between grid points, in steps."""


@dataclass(frozen=True)
class NumericDomain:
    """What is asked: how many classes, how many numbers, and where those may lie.

    Attributes
    ----------
    labels : int
        Number of classes k.
    missing : tuple of bool
        For each number, whether it may be missing.
    low : int
        -1 for numbers, which lie in [-1, 1]; 0 for squares, which lie in [0, 1].
    """

    labels: int
    missing: tuple[bool, ...] = (False,)
    low: int = -1

    @property
    def slots(self) -> int:
        """Length of the vector that hides the class: k per number, twice if it may be missing."""
        return self.labels * (len(self.missing) + sum(self.missing))

    @property
    def slots_text(self) -> str:
        """The slots in words: how many, and what each stands for."""
        each = "each label" if len(self.missing) == 1 else "each number and label"
        absent = " and another in case the number is missing" * any(self.missing)
        return f"{self.slots} places (for {each} one{absent})"


class NumericMechanism(Mechanism):
    """A mechanism whose reports estimate, per class, the mean of a number or of its square.

    Attributes
    ----------
    domain : NumericDomain
    estimates_prior : bool
        Whether reports estimate the class prior too; otherwise class means need a prior from elsewhere.
    """

    estimates_prior: ClassVar[bool] = False
    domain: NumericDomain

    def __init__(self, domain: NumericDomain, parameters: MechanismParameters) -> None:
        if not 2 <= domain.labels <= MAX_LABELS:
            raise SurveyError(f"{self.name} needs 2 to {MAX_LABELS} classes")
        if len(domain.missing) != 1 and not self.multivariate:
            raise SurveyError(f"{self.name} asks for one number at a time")
        self.domain = domain
        self.parameters = dict(parameters)

    def __repr__(self) -> str:
        return f"{self.name}(labels={self.domain.labels}, numbers={len(self.domain.missing)})"

    @classmethod
    @abstractmethod
    def design(cls, domain: NumericDomain, epsilon: Decimal) -> Self:
        """Choose the tables that spend at most `epsilon`."""

    # -- the trainer -----------------------------------------------------------------------

    @abstractmethod
    def moments(self, totals: IntArray, n: int) -> FloatArray:
        """Estimate the moments of `n` > 0 reports without bias.

        Parameters
        ----------
        totals : int array, shape (cells,)
        n : int

        Returns
        -------
        float array, shape (numbers, 3, k)
            For each number and class: E[x 1(class)], P(missing, class), which is 0 if it cannot be
            missing, and P(class), which is NaN unless the mechanism estimates it.
        """

    @abstractmethod
    def covariance(
        self, share: FloatArray, first: FloatArray, second: FloatArray, missing: FloatArray
    ) -> FloatArray:
        """Return the covariance that one report has as an estimate of one number's `moments`.

        Parameters
        ----------
        share, first, second, missing : float arrays, shape (k,)
            The population: P(present, class), E[x 1(class)], E[x^2 1(class)] and P(missing, class),
            where x is what is asked: the number or the square.

        Returns
        -------
        float array, shape (3, 3, k)
            In closed form; sampling counts too.
        """

    @cached_property
    def reference_variance(self) -> float:
        """Variance of one report's E[x 1(class)] for numbers spread evenly over [-1, 1] in every class.

        Classes are equally likely; it is what "auto" compares.
        """
        share = 1 / self.domain.labels
        first, second = (0.0, 1 / 3) if self.domain.low else (1 / 3, 1 / 5)
        return self.slot_variance(share, first * share, second * share)

    @property
    def label_variance(self) -> float:
        """Variance of one report's P(class), classes equally likely; infinite if it does not estimate it."""
        return math.inf

    @abstractmethod
    def slot_variance(self, share: Number, first: Number, second: Number) -> Number:
        """Return the variance that one report has as an estimate of E[x 1(class)], in closed domain.

        Parameters
        ----------
        share, first, second : float or array
            P(present, class), E[x 1(class)] and E[x^2 1(class)], see `covariance`.
        """

    def counter_names(self, numbers: Sequence[str], labels: Sequence[str]) -> list[str]:
        """Name the counters, for people, given the names of the numbers and of the classes: the slots."""
        return [
            f"{number}{gone}, {label}"
            for number, absent in zip(numbers, self.domain.missing, strict=True)
            for gone in ["", " missing"][: 1 + absent]
            for label in labels
        ]

    # -- the auditor -----------------------------------------------------------------------

    @property
    def corners(self) -> Sequence[Any]:
        """The least and the greatest number, and a missing one, in every class."""
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
        """Return P[payload | value] for every one of the `corners`, exactly."""
        return [self.probability(payload, value) for value in self.corners]


def split_value(value: int, labels: int) -> tuple[int, int]:
    """Return where the vector is not zero, and the code of what stands there: 1 for a missing number."""
    code, label = divmod(int(value), labels)  # a numpy integer would overflow what follows
    absent = code > 2 * GRID
    return label + labels * absent, code - absent


def split_value_array(values: IntArray, labels: int) -> tuple[IntArray, IntArray]:
    """Do the same for an array of values."""
    code, label = values // labels, values % labels
    absent = (code > 2 * GRID).astype(values.dtype)
    return label + labels * absent, code - absent


def arrange_by_slot(
    domain: NumericDomain, estimates: FloatArray, label_share: FloatArray | None = None
) -> FloatArray:
    """Lay out estimates per slot, shape (slots,), as :meth:`NumericMechanism.moments` returns them."""
    k, place = domain.labels, 0
    laid = np.full((len(domain.missing), 3, k), np.nan)
    for number, absent in enumerate(domain.missing):
        laid[number, 0] = estimates[place : place + k]
        laid[number, 1] = estimates[place + k : place + 2 * k] if absent else 0.0
        place += k * (1 + absent)
    if label_share is not None:
        laid[0, 2] = label_share
    return laid


def independent_slot_covariance(
    number: FloatArray, absent: FloatArray, first: FloatArray, missing: FloatArray
) -> FloatArray:
    """Return the (3, 3, k) covariance of slots with independent noise, and no estimate of the prior.

    `number` and `absent` are the variances of one report's estimates of `first` and `missing`. At most
    one slot is not zero, so the truth itself correlates two by minus the product of their means.
    """
    laid = np.full((3, 3, len(first)), np.nan)
    laid[0, 0], laid[1, 1] = number, absent
    laid[0, 1] = laid[1, 0] = -first * missing
    return laid
