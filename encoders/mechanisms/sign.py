"""A number rounded stochastically to a sign, which a frequency oracle randomises with the class."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from encoders.errors import SurveyError
from encoders.lazy_numpy import BoolArray, ByteArray, FloatArray, IntArray, np
from encoders.mechanisms.base import BitsLaw, MechanismParameters, Number
from encoders.mechanisms.direct import DE
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.mechanisms.numeric_base import GRID, GRID_BITS, NumericDomain, NumericMechanism
from encoders.mechanisms.probability_text import percent
from encoders.mechanisms.unary import OUE, SUE
from encoders.randomness import GivenBytes, RandomSource

_ORACLES: dict[str, type[FrequencyOracle]] = {"DE": DE, "SUE": SUE, "OUE": OUE}


class Sign(NumericMechanism):
    """Reports a sign that is + with probability (x - low)/(1 - low), coupled with the class.

    E[sign] = x, so the mean is the difference of two frequencies, and their sum is the frequency of the
    class. For a square in [0, 1], the frequency of + is the mean. A missing number is a third value beside
    the two signs. The oracle's value is b k + c, with b = 0 for -, 1 for +, 2 for missing.

    One 64-bit draw r rounds the number: to + if the highest 21 bits of r are below the code (for a square:
    the highest 20 bits below code - GRID). The oracle's randomness follows, and the payload is the oracle's.
    Rounding only mixes the distributions of the two signs, so the ratio of the mechanism is the oracle's.
    """

    name: ClassVar[str] = "sign"
    estimates_prior: ClassVar[bool] = True

    def __init__(self, domain: NumericDomain, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        rest = dict(parameters)
        name = rest.pop("oracle", None)
        if not (isinstance(name, str) and name in _ORACLES):
            raise SurveyError(f"sign table 'oracle' must be one of {', '.join(_ORACLES)}")
        self.oracle = _ORACLES[name]((2 + domain.missing[0]) * domain.labels, rest)
        self.cells, self.ratio = self.oracle.cells, self.oracle.ratio
        self.payload_bytes = self.oracle.payload_bytes
        self.random_bytes = 8 + self.oracle.random_bytes
        self._lowest_code = GRID * (1 + domain.low)
        self._shift = 64 - GRID_BITS + (domain.low == 0)

    @classmethod
    def design(cls, domain: NumericDomain, epsilon: Decimal) -> Self:
        """Return the mechanism with the oracle of the least `reference_variance`."""
        answers = (2 + domain.missing[0]) * domain.labels
        oracles = [each.design(answers, epsilon) for each in _ORACLES.values()]
        candidates = [cls(domain, {"oracle": each.name, **each.parameters}) for each in oracles]
        return min(candidates, key=lambda each: each.reference_variance)

    def _oracle_value(self, code: int, label: int, draw: int) -> int:
        sign = (draw >> self._shift < code - self._lowest_code) + (code > 2 * GRID)
        return sign * self.domain.labels + label

    def perturb(self, value: int, rng: RandomSource) -> bytes:
        """Round one number to a sign, and randomise it together with the class."""
        code, label = divmod(int(value), self.domain.labels)
        draw = int.from_bytes(rng.take(8), "little")
        return self.oracle.perturb(self._oracle_value(code, label, draw), rng)

    def describe_output(self, value: int) -> str:
        code, label = divmod(value, self.domain.labels)
        if code > 2 * GRID:
            rounding = "a missing number stays missing"
        else:
            rounding = self._describe_rounding(self._plus_probability(code))
        sent = self.oracle.describe_output(label)  # the same text for each of its values
        with_label = " together with the label" * (self.domain.labels > 1)
        return f"{rounding}; for the result{with_label}, the device sends {sent}"

    def _describe_rounding(self, plus: Fraction) -> str:
        name = "squared distance" if self.domain.low == 0 else "number"
        if plus in (0, 1):
            return f"the {name} is already the {'highest' if plus else 'lowest'} and is not rounded"
        return (
            f"the {name} is rounded to the highest with probability {percent(plus)}, otherwise to the lowest"
        )

    def _plus_probability(self, code: int) -> Fraction:
        return Fraction(code - self._lowest_code, 2 * GRID - self._lowest_code)

    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        code, label = np.divmod(np.asarray(values, dtype=np.int64), self.domain.labels)
        draws = np.frombuffer(rng.take(self.random_bytes * len(code)), np.uint8).reshape(
            -1, self.random_bytes
        )
        rounding = np.ascontiguousarray(draws[:, :8]).view("<u8").ravel() >> np.uint64(self._shift)
        sign = (rounding.astype(np.int64) < code - self._lowest_code).astype(np.int64) + (code > 2 * GRID)
        rest = GivenBytes(np.ascontiguousarray(draws[:, 8:]).tobytes())
        return self.oracle.perturb_many(sign * self.domain.labels + label, rest)

    def _is_valid(self, payload: bytes) -> bool:
        return self.oracle._is_valid(payload)

    def are_valid(self, payloads: ByteArray) -> BoolArray:
        return self.oracle.are_valid(payloads)

    def tally(self, payloads: ByteArray) -> IntArray:
        return self.oracle.tally(payloads)

    def contribution(self, payload: bytes) -> list[int]:
        return self.oracle.contribution(payload)

    def _describe_bits(self) -> BitsLaw | None:
        return self.oracle._describe_bits()

    def contribution_range(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.oracle.contribution_range(weights)

    def counter_names(self, numbers: Sequence[str], labels: Sequence[str]) -> list[str]:
        signs = ["lowest", "highest", "missing"][: 2 + self.domain.missing[0]]
        return [
            ", ".join(filter(None, (f"{numbers[0]} {sign}", label))) for sign in signs for label in labels
        ]

    def moments(self, totals: IntArray, n: int) -> FloatArray:
        counts, _ = self.oracle.estimate(totals, n)
        frequencies = (counts / n).reshape(-1, self.domain.labels)
        found: FloatArray = (self._mixing_matrix() @ frequencies)[None]
        return found

    @property
    def label_variance(self) -> float:
        return self.oracle.uniform_variance(self.domain.labels)

    def slot_variance(self, share: Number, first: Number, second: Number) -> Number:
        """Return the variance of F(+) + low F(-); see :meth:`NumericMechanism.slot_variance`."""
        low = self.domain.low
        plus = (first - low * share) / (1 - low)
        minus = share - plus
        spread = self.oracle.variance(plus) + low**2 * self.oracle.variance(minus)
        return spread + 2 * low * self.oracle.covariance(plus, minus)

    def covariance(
        self, share: FloatArray, first: FloatArray, second: FloatArray, missing: FloatArray
    ) -> FloatArray:
        low = self.domain.low
        plus = (first - low * share) / (1 - low)
        cells = np.stack([share - plus, plus, missing][: 2 + self.domain.missing[0]])
        between = self.oracle.covariance(cells[:, None], cells[None, :])
        own = np.arange(len(cells))
        between[own, own] = self.oracle.variance(cells)
        found: FloatArray = np.einsum("ai,ijk,bj->abk", self._mixing_matrix(), between, self._mixing_matrix())
        found[2, 2] = np.maximum(found[2, 2], 0)  # with DE and one class, P(class) has no noise but rounding
        return found

    @cached_property
    def class_offsets(self) -> FloatArray:
        """Combine the cells' covariances: shared + slope (f + g) - f g = -(f - slope) (g - slope).

        Here shared = -slope^2 for each of the oracles.
        """
        _, slope = self.oracle.pair_covariances
        offsets: FloatArray = -slope * self._mixing_matrix().sum(axis=1)
        return offsets

    def _mixing_matrix(self) -> FloatArray:
        """Return the weights of -, + and missing in E[x 1(class)], P(missing, class) and P(class)."""
        mix = np.array([[self.domain.low, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=np.float64)
        return mix[:, : 2 + self.domain.missing[0]]

    def probability(self, payload: bytes, value: int) -> Fraction:
        k = self.domain.labels
        code, label = divmod(value, k)
        chances = self.oracle.likelihood(payload)
        if code > 2 * GRID:
            return chances[2 * k + label]
        plus = self._plus_probability(code)
        return plus * chances[k + label] + (1 - plus) * chances[label]
