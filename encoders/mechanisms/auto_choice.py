"""Designs a mechanism for a question and an epsilon, and how "auto" chooses between mechanisms.

Every mechanism that is returned here is proved to spend at most epsilon.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from operator import attrgetter, itemgetter

from encoders.epsilon_proof import check_epsilon
from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.mechanisms.numeric_base import NumericDomain, NumericMechanism
from encoders.mechanisms.registry import AUTO, MECHANISMS, NUMERIC_MECHANISMS, check_name, check_numeric_name
from encoders.mechanisms.subset import MAX_SUBSET_DOMAIN
from encoders.probability_tables import DESIGN_CONTEXT

_AUTO_CANDIDATES = (("DE",), ("SUE", "OUE"), ("SS",))
"""What "auto" compares, the simplest first: the oracles that are best for some domain and epsilon. SHE never
is, and THE's threshold on the noise is worse than choosing the bits' probabilities directly."""
_MIN_VARIANCE_GAIN = 0.01
"""Share of the variance by which an oracle must beat every simpler one. A smaller gain equals one more report
per hundred, and does not pay for another payload to port, to explain and to monitor."""


def design(name: str, domain: int, epsilon: Decimal) -> FrequencyOracle:
    """Build a frequency oracle that spends at most `epsilon` on a domain of `domain` values, and prove it.

    Parameters
    ----------
    name : str
        A key of MECHANISMS, "THE(theta)", or "auto": see `auto_choose_oracle`.
    domain : int
    epsilon : Decimal

    Raises
    ------
    SurveyError, PrivacyError
    """
    if check_name(name) == AUTO:
        return auto_choose_oracle(domain, epsilon)
    check_epsilon(epsilon)
    base, _, threshold = name.rstrip(")").partition("(")
    with localcontext(DESIGN_CONTEXT):  # whatever precision the application works with
        mechanism = MECHANISMS[base].design(domain, epsilon, Decimal(threshold) if threshold else None)
    mechanism.prove(epsilon)
    return mechanism


def auto_choose_oracle(domain: int, epsilon: Decimal) -> FrequencyOracle:
    """Choose the oracle whose estimate of a frequency of 1/d has the least variance in closed form.

    Of two whose variances differ by less than 1 %, the simpler one is chosen.
    """
    chosen, least_variance = [], math.inf
    for names in _AUTO_CANDIDATES if domain <= MAX_SUBSET_DOMAIN else _AUTO_CANDIDATES[:-1]:
        candidates = [design(name, domain, epsilon) for name in names]
        variance, best = min(((each.variance(1 / domain), each) for each in candidates), key=itemgetter(0))
        if variance < (1 - _MIN_VARIANCE_GAIN) * least_variance:
            chosen.append(best)
        least_variance = min(least_variance, variance)
    return chosen[-1]


def design_numeric(name: str, domain: NumericDomain, epsilon: Decimal) -> NumericMechanism:
    """Build a mechanism for numbers that spends at most `epsilon`, and prove it.

    Parameters
    ----------
    name : str
        A key of NUMERIC_MECHANISMS, or "auto": the first of `numeric_candidates`.
    domain : NumericDomain
    epsilon : Decimal

    Raises
    ------
    SurveyError, PrivacyError
    """
    check_epsilon(epsilon)
    if check_numeric_name(name) == AUTO:
        return numeric_candidates(domain, epsilon)[0]
    with localcontext(DESIGN_CONTEXT):  # whatever precision the application works with
        mechanism = NUMERIC_MECHANISMS[name].design(domain, epsilon)
    mechanism.prove(epsilon)
    return mechanism


def numeric_candidates(domain: NumericDomain, epsilon: Decimal) -> list[NumericMechanism]:
    """Return every mechanism that can ask for one number, the one of least variance in closed form first.

    For squares only mechanisms whose reports estimate the class prior: so the prior needs no question of its
    own. A mechanism that cannot ask for so many classes is left out.

    Raises
    ------
    SurveyError
        If none can.
    """
    candidates = []
    for name, kind in NUMERIC_MECHANISMS.items():
        if name != "laplace" and (domain.low or kind.estimates_prior):
            try:
                candidates.append(design_numeric(name, domain, epsilon))
            except PrivacyError:
                raise
            except SurveyError:
                continue
    if not candidates:
        raise SurveyError("no mechanism asks for a number with so many classes")
    return sorted(candidates, key=attrgetter("reference_variance"))
