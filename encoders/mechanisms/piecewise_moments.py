"""The piecewise mechanism as one question for both moments of a number: its mean and its mean square."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb
from operator import mul

from encoders.lazy_numpy import ByteArray, FloatArray, IntArray, np
from encoders.mechanisms.base import MechanismParameters
from encoders.mechanisms.numeric_base import ROUNDING, NumericDomain, NumericMechanism
from encoders.mechanisms.piecewise import POSITIONS, Piecewise

_POWERS = 5
"""The sums of y^0 to y^4 of the positions y are counted; y^2 for the mean square, y^3 and y^4 for errors."""
ROUNDING_FOURTH = 1 / 15
"""Fourth moment of the error of stochastic rounding, in steps, for numbers uniform between grid points."""
SECOND_BIAS = ROUNDING / POSITIONS**2
"""Largest bias of E[x^2], as a share of P(present, class).

Rounding adds f (1 - f) to the square of a position with the fraction f. Estimates subtract its average
`ROUNDING`, while f (1 - f) is between 0 and 1/4.
"""


class PiecewiseMoments(Piecewise):
    """Randomises like :class:`Piecewise`, of which it also counts powers of the reported positions.

    A position near the true answer is y = 64 x + e, with e the error of rounding and the distance in the
    window. The sums of (y / 64)^j on the line of a class therefore have the expectations, per report,

        near * sum over i of binom(j, i) E[(e / 64)^(j - i)] E[x^i 1(class)] + (1 - near) / slots E[u^j]

    with 64 u uniform on the line. Solved for j = 0 to 4, they give the class shares and four moments of x.
    The first two are estimates; the others determine the covariance of these two, whatever the law of x.
    """

    def __init__(self, domain: NumericDomain, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self.cells = _POWERS * domain.slots

    @property
    def _cost(self) -> float:
        """The product of both variances, in which the mean counts three times."""
        return self.reference_variance**3 * self.second_reference_variance

    # -- the collector and the trainer -----------------------------------------------------

    def tally(self, payloads: ByteArray) -> IntArray:
        """Return the number of reports on each line, and the sums of four powers of their positions."""
        counts = np.bincount(self._unpack(payloads), minlength=self.indices)
        lines = counts.astype(np.int64, copy=False).reshape(-1, self._line_points)
        return np.asarray((self._position_powers @ lines.T).ravel())

    def contribution(self, payload: bytes) -> list[int]:
        """Return the powers of the position for the reported line, else 0; without numpy."""
        line, cell = divmod(int.from_bytes(payload, "little"), self._line_points)
        sums = [0] * self.cells
        sums[line :: self.domain.slots] = [(cell - self._line_end) ** power for power in range(_POWERS)]
        return sums

    def contribution_range(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        by_power = weights.reshape(*weights.shape[:-1], _POWERS, self.domain.slots)
        added = np.einsum("...js,jp->...sp", by_power, self._position_powers)
        return added.min(axis=(-2, -1)), added.max(axis=(-2, -1))

    @cached_property
    def _position_powers(self) -> IntArray:
        """y^0 to y^4 of each position y of a line, (5, points)."""
        positions = np.arange(-self._line_end, self._line_end + 1, dtype=np.int64)
        return np.asarray(positions ** np.arange(_POWERS)[:, None])

    def counter_names(self, numbers: Sequence[str], labels: Sequence[str]) -> list[str]:
        lines = NumericMechanism.counter_names(self, numbers, labels)
        powers = [
            f"position{f'^{power}' * (power > 1)} of {line}" for power in (1, 2, 3, 4) for line in lines
        ]
        return lines + powers

    @cached_property
    def _mixing(self) -> list[list[float]]:
        """The factors of E[x^i 1(class)], i = 0 to 4, in the mean of (y / 64)^j; without numpy."""
        window, near = _uniform_powers(self._half_width), self._near_probability
        second, fourth = window[2] + ROUNDING, window[4] + 6 * window[2] * ROUNDING + ROUNDING_FOURTH
        error = _in_units([1.0, 0.0, second, 0.0, fourth])
        return [[near * comb(j, i) * error[max(j - i, 0)] for i in range(_POWERS)] for j in range(_POWERS)]

    @cached_property
    def _background(self) -> list[float]:
        """What reports of any cell add to the mean of (y / 64)^j on each line; without numpy."""
        share = (1 - self._near_probability) / self.domain.slots
        return [share * each for each in _in_units(_uniform_powers(self._line_end))]

    def moments(self, totals: IntArray, n: int) -> FloatArray:
        """Return six moments per class, (1, 6, k): the usual three, then those of x^2, x^3 and x^4."""
        sums = totals.reshape(_POWERS, -1) * np.array(_in_units([1 / n] * _POWERS))[:, None]
        found = np.linalg.solve(self._mixing, sums - np.array(self._background)[:, None])
        k, shares = self.domain.labels, found[0]
        numbers = np.concatenate([found[1, :k], shares[k:]])
        laid = self.domain.arrange(numbers, shares.reshape(-1, k).sum(axis=0))
        return np.concatenate([laid, found[None, 2:, :k]], axis=1)

    @cached_property
    def _estimator(self) -> FloatArray:
        """The factors of (y / 64)^j, j = 0 to 2, on a class's line, and of its missing line, (4, 4).

        The estimates are E[x 1(class)], P(missing, class), P(class) and E[x^2 1(class)].
        """
        solved, factors = np.linalg.inv(np.array(self._mixing)[:3, :3]), np.zeros((4, 4))
        factors[[2, 0, 3], :3] = solved
        factors[1:3, 3] = solved[0, 0] * self.domain.missing[0]
        return factors

    def covariance(
        self,
        share: FloatArray,
        first: FloatArray,
        second: FloatArray,
        missing: FloatArray,
        *higher: FloatArray,
    ) -> FloatArray:
        """Return (4, 4, k), also for E[x^2 1(class)]; `higher` are E[x^3 1(class)] and E[x^4 1(class)]."""
        sums = np.array(self._mixing) @ np.stack([share, first, second, *higher])
        sums += np.array(self._background)[:, None]
        reports = np.concatenate([sums[:3], self._line_probability(missing)[None]])
        products = np.zeros((4, 4, len(share)))
        products[:3, :3] = sums[np.add.outer(np.arange(3), np.arange(3))]
        products[3, 3] = reports[3]
        products -= reports[:, None] * reports
        found: FloatArray = np.einsum("ai,ijk,bj->abk", self._estimator, products, self._estimator)
        return found

    @cached_property
    def class_offsets(self) -> FloatArray:
        """Return the means that debiasing subtracts, (4,); see :attr:`NumericMechanism.class_offsets`."""
        offsets: FloatArray = self._estimator @ np.array([*self._background[:3], self._background[0]])
        return offsets

    @cached_property
    def second_reference_variance(self) -> float:
        """Variance of ((y / 64)^2 - shift) / unit for numbers that are symmetric around 0; without numpy."""
        share = 1 / self.domain.labels
        powers = [share, 0.0, share / 3, 0.0, share / 5]
        rows = zip(self._mixing, self._background, strict=True)
        zeroth, _, second, _, fourth = (sum(map(mul, row, powers)) + added for row, added in rows)
        shift, unit = self._mixing[2][0] / self._mixing[0][0], self._mixing[2][2]
        square = (fourth - 2 * shift * second + shift**2 * zeroth) / unit**2
        return float(square - ((second - shift * zeroth) / unit) ** 2)


def _in_units(powers: Sequence[float]) -> list[float]:
    return [each / POSITIONS**power for power, each in enumerate(powers)]


def _uniform_powers(end: int) -> list[float]:
    """Return E[u^j], j = 0 to 4, of a whole number u that is uniform from -end to end."""
    square = end * (end + 1) / 3
    return [1.0, 0.0, square, 0.0, square * (3 * end * (end + 1) - 1) / 5]
