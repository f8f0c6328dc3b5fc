"""The privacy of a report that is shuffled with others: an upper bound, proved for every mechanism.

A batch contains n honest reports, all made from one plan. The ratio p is at least the largest likelihood
ratio of one report. For any two rows of one person, whatever the other people answered and whatever else is
in the batch, delta(epsilon) is at most

    D = sum_c P(C = c) max_t (P(U_c >= t) - e^epsilon P(V_c >= t)),  C ~ Binomial(n - 1, 2/(p + 1)).

U_c and V_c are the sum of c fair coins and one more coin. This coin shows 1 with probability p/(p + 1) for
U_c and 1/(p + 1) for V_c. The bound sharpens the privacy blanket of Balle, Bell, Gascon and Nissim (2019);
docs/shuffling.md has the proof. Devices compute it to check a promise, so it uses no numpy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from encoders.errors import SurveyError

MAX_REPORTS = 10**7
_NEGLIGIBLE = 2.0**-100
"""Probabilities below this part of the largest one are left out."""
_LEFT_OUT = 1e-14
"""More than the sum of all probabilities that are left out: 1e7 reports times 2^-100, many times over."""
_RELATIVE_ERROR = 1e-6
"""More than the relative error of D: each of at most 1e5 steps multiplies by a rounded number."""
_ULP = 2.0**-50


def shuffled_delta(ratio: float, reports: int, epsilon: float) -> float:
    """Return an upper bound on the delta of a shuffled report at an epsilon, between 0 and 1.

    `ratio`, above 1, is the largest likelihood ratio of one report, e^(local epsilon). `reports` is the
    number of honest reports in the batch, that of the person included; more than MAX_REPORTS never raise the
    bound. Raises SurveyError if `reports` is below 1.
    """
    if reports < 1:
        raise SurveyError("must be at least 1", "reports")
    reports = min(reports, MAX_REPORTS)
    growth = math.exp(epsilon)
    if growth >= ratio:
        return 0.0
    likely, unlikely = ratio / (ratio + 1), 1 / (ratio + 1)
    gain = likely - growth * unlikely
    slope = min(1.0, (growth * likely - unlikely) / ((likely - unlikely) * (1 + growth)))
    least, weights = binomial(reports - 1, 2 * unlikely)
    # with k = t - 1 for the best t, P(U_c >= t) - e^epsilon P(V_c >= t) is
    # gain P(Bin(c, 1/2) = k) - (e^epsilon - 1) P(Bin(c, 1/2) > k)
    k = math.ceil((least + 1) * slope) - 1
    start, coins = binomial(least, 0.5)
    point = coins[k - start] if start <= k < start + len(coins) else 0.0  # P(Bin(c, 1/2) = k)
    tail = first_tail = math.fsum(coins[max(k + 1 - start, 0) :])  # P(Bin(c, 1/2) > k)
    delta = 0.0
    for c, weight in enumerate(weights, least):
        delta += weight * max(0.0, gain * point - (growth - 1) * tail)
        tail += point / 2  # one more coin
        point *= (c + 1) / (2 * (c + 1 - k))
        if math.ceil((c + 2) * slope) - 1 > k:
            k += 1
            point *= (c + 2 - k) / k
            tail = max(0.0, tail - point)
    rounding = len(weights) * _ULP * first_tail * (growth - 1)
    return min(1.0, delta * (1 + _RELATIVE_ERROR) + rounding + _LEFT_OUT)


def binomial(count: int, probability: float) -> tuple[int, Sequence[float]]:
    """Return a binomial distribution without its negligible ends: the least value, and the probabilities."""
    odds = probability / (1 - probability)
    mode = min(count, int((count + 1) * probability))
    above, below = [1.0], []
    for value in range(mode, count):
        above.append(above[-1] * (count - value) / (value + 1) * odds)
        if above[-1] < _NEGLIGIBLE:
            break
    part = 1.0
    for value in range(mode, 0, -1):
        part *= value / ((count - value + 1) * odds)
        below.append(part)
        if part < _NEGLIGIBLE:
            break
    parts = [*reversed(below), *above]
    total = math.fsum(parts)
    return mode - len(below), [each / total for each in parts]
