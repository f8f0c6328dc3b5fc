"""Designs a mechanism for a question and an epsilon; "auto" chooses the mechanism of least variance.

Every function here proves that the mechanism it returns spends at most epsilon.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, localcontext
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any

from encoders.epsilon_proof import check_epsilon
from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.mechanisms.histogram import THE
from encoders.mechanisms.numeric_base import NumericDomain, NumericMechanism
from encoders.mechanisms.piecewise_moments import PiecewiseMoments
from encoders.mechanisms.registry import MECHANISMS, NUMERIC_MECHANISMS
from encoders.mechanisms.subset import MAX_SUBSET_DOMAIN
from encoders.table_design import DESIGN_CONTEXT

AUTO = "auto"
_ORACLE_NAME = re.compile(r"([A-Z]+)(?:\(([01](?:\.[0-9]{1,6})?)\))?")
_AUTO_CANDIDATES = (("DE",), ("SUE", "OUE"), ("SS",))
"""The oracles that "auto" compares, the simplest first. Each is the best for some domain and epsilon. SHE
never is, and THE's threshold on the noise is worse than choosing the bits' probabilities directly."""
_MIN_VARIANCE_GAIN = 0.01
"""Share by which an oracle's variance must be below that of every simpler oracle. A smaller gain equals at
most one more report per hundred, which does not justify one more payload to port, explain and monitor."""


def check_name(name: str) -> str:
    """Return "auto", a key of MECHANISMS, or a name such as "THE(0.25)"; raise SurveyError for any other."""
    match = _ORACLE_NAME.fullmatch(name)
    if name != AUTO and not (match and match[1] in MECHANISMS and (match[2] is None or match[1] == THE.name)):
        raise SurveyError(f'choose one of "auto", {", ".join(MECHANISMS)}, or a threshold as in THE(0.25)')
    return name


def check_numeric_name(name: str) -> str:
    """Return "auto" or a key of NUMERIC_MECHANISMS; raise SurveyError for any other name."""
    if name != AUTO and name not in NUMERIC_MECHANISMS:
        raise SurveyError(f'choose one of "auto", {", ".join(NUMERIC_MECHANISMS)}')
    return name


def design(name: str, domain: int, epsilon: Decimal) -> FrequencyOracle:
    """Return a frequency oracle over `domain` values that is proved to spend at most `epsilon`.

    Parameters
    ----------
    name : str
        A key of MECHANISMS, "THE(theta)", or "auto": see `auto_choose_oracle`.

    Raises
    ------
    SurveyError, PrivacyError
    """
    if check_name(name) == AUTO:
        return auto_choose_oracle(domain, epsilon)
    check_epsilon(epsilon)
    base, _, threshold = name.rstrip(")").partition("(")
    option = Decimal(threshold) if threshold else None
    oracle: FrequencyOracle = _design(MECHANISMS[base], domain, epsilon, option)
    return oracle


def auto_choose_oracle(domain: int, epsilon: Decimal) -> FrequencyOracle:
    """Return the oracle of least variance for a frequency of 1/d, or a simpler one within 1 %."""
    chosen, least_variance = [], math.inf
    for names in _AUTO_CANDIDATES if domain <= MAX_SUBSET_DOMAIN else _AUTO_CANDIDATES[:-1]:
        candidates = [design(name, domain, epsilon) for name in names]
        variance, best = min(((each.variance(1 / domain), each) for each in candidates), key=itemgetter(0))
        if variance < (1 - _MIN_VARIANCE_GAIN) * least_variance:
            chosen.append(best)
        least_variance = min(least_variance, variance)
    return chosen[-1]


def design_numeric(name: str, domain: NumericDomain, epsilon: Decimal) -> NumericMechanism:
    """Return a mechanism for numbers that is proved to spend at most `epsilon`.

    "auto" is the first of `numeric_candidates`. For both moments of a number, it is always piecewise. Raises
    SurveyError or PrivacyError.
    """
    check_epsilon(epsilon)
    if check_numeric_name(name) == AUTO and not domain.both:
        return numeric_candidates(domain, epsilon)[0]
    kind = PiecewiseMoments if domain.both else NUMERIC_MECHANISMS[name]
    mechanism: NumericMechanism = _design(kind, domain, epsilon)
    return mechanism


def numeric_candidates(domain: NumericDomain, epsilon: Decimal) -> list[NumericMechanism]:
    """Return every mechanism that can ask for one number, in the order of their closed-form variances.

    For squares of several classes, only mechanisms whose reports estimate the class prior are returned, so
    that the prior needs no separate question. Raises SurveyError if there are too many classes for all.
    """
    candidates, needs_prior = [], domain.labels > 1 and not domain.low
    for name, kind in NUMERIC_MECHANISMS.items():
        if name != "laplace" and (kind.estimates_prior or not needs_prior):
            try:
                candidates.append(design_numeric(name, domain, epsilon))
            except PrivacyError:
                raise
            except SurveyError:
                continue
    if not candidates:
        raise SurveyError(
            "no mechanism can ask for a number with this many classes: merge classes of the label, or give "
            "the number bins"
        )
    return sorted(candidates, key=attrgetter("reference_variance"))


def estimates_both_better(
    one: NumericMechanism, mean: NumericMechanism, square: NumericMechanism, share: float
) -> bool:
    """Return whether one question estimates both moments better than two with a `share` of its people."""
    return (
        one.reference_variance < mean.reference_variance / share
        and one.second_reference_variance < square.reference_variance / share
    )


@lru_cache(maxsize=256, typed=True)
def _design(kind: Any, domain: Any, epsilon: Decimal, *option: Any) -> Any:
    """Design a mechanism and prove it; equal questions share one, because a mechanism never changes."""
    with localcontext(DESIGN_CONTEXT):  # the application may have set another precision
        mechanism = kind.design(domain, epsilon, *option)
    mechanism.prove(epsilon)
    return mechanism
