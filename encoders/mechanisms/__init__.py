"""Every mechanism, by its name in the literature, and the choice between them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal, localcontext
from operator import itemgetter

from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms.base import FrequencyOracle, Mechanism, MechanismParameters
from encoders.mechanisms.direct import DE
from encoders.mechanisms.histogram import SHE, THE
from encoders.mechanisms.laplace import Laplace, SampledLaplace
from encoders.mechanisms.numeric_base import NumericDomain, NumericMechanism
from encoders.mechanisms.onebit import OneBit, SignVector
from encoders.mechanisms.piecewise import Piecewise
from encoders.mechanisms.sign import Sign
from encoders.mechanisms.subset import MAX_SUBSET_DOMAIN, SS
from encoders.mechanisms.unary import OUE, SUE
from encoders.probability_tables import DESIGN_CONTEXT, MAX_EPSILON, MIN_EPSILON

__all__ = [
    "DE",
    "MECHANISMS",
    "NUMERIC_MECHANISMS",
    "OUE",
    "SHE",
    "SS",
    "SUE",
    "THE",
    "FrequencyOracle",
    "Laplace",
    "Mechanism",
    "NumericDomain",
    "NumericMechanism",
    "OneBit",
    "Piecewise",
    "SampledLaplace",
    "Sign",
    "SignVector",
    "check_name",
    "check_numeric_name",
    "design",
    "design_numeric",
    "load",
    "load_numeric",
    "numeric_candidates",
]

MECHANISMS: dict[str, type[FrequencyOracle]] = {
    "DE": DE,
    "SUE": SUE,
    "OUE": OUE,
    "SHE": SHE,
    "THE": THE,
    "SS": SS,
}
"""The frequency oracles."""

NUMERIC_MECHANISMS: dict[str, type[NumericMechanism]] = {
    "laplace": Laplace,
    "onebit": OneBit,
    "sampled-laplace": SampledLaplace,
    "sign": Sign,
    "sign-vector": SignVector,
    "piecewise": Piecewise,
}

_NAME = re.compile(r"([A-Z]+)(?:\(([01](?:\.[0-9]{1,6})?)\))?")


def check_name(name: str) -> str:
    """Return `name` if `design` knows it: "auto", a key of MECHANISMS, or "THE(0.25)".

    Raises
    ------
    SurveyError
        Naming the choices.
    """
    match = _NAME.fullmatch(name)
    if name != "auto" and not (match and match[1] in MECHANISMS and (match[2] is None or match[1] == "THE")):
        raise SurveyError(f'choose one of "auto", {", ".join(MECHANISMS)}, or a threshold as in THE(0.25)')
    return name


def design(name: str, domain: int, epsilon: Decimal) -> FrequencyOracle:
    """Build a frequency oracle that spends at most `epsilon` on a domain of `domain` values, and prove it.

    Parameters
    ----------
    name : str
        A key of MECHANISMS, "THE(theta)", or "auto": the one whose estimate of a frequency of 1/d has
        the least variance in closed domain, and of near-equals the simpler.
    domain : int
    epsilon : Decimal

    Raises
    ------
    SurveyError, PrivacyError
    """
    if check_name(name) == "auto":
        return _choose(domain, epsilon)
    _check_epsilon(epsilon)
    base, _, option = name.rstrip(")").partition("(")
    with localcontext(DESIGN_CONTEXT):  # whatever precision the application works with
        mechanism = MECHANISMS[base].design(domain, epsilon, Decimal(option) if option else None)
    mechanism.prove(epsilon)
    return mechanism


def load(name: str, domain: int, tables: MechanismParameters) -> FrequencyOracle:
    """Rebuild a frequency oracle from a plan; the caller proves it against the plan's epsilon."""
    if not (isinstance(name, str) and name in MECHANISMS):
        raise SurveyError(f"mechanism {name!r} is not one of {', '.join(MECHANISMS)}")
    if not isinstance(tables, Mapping):
        raise SurveyError(f"{name} tables must be an object")
    return MECHANISMS[name](domain, tables)


_RIVALS = (("DE",), ("SUE", "OUE"), ("SS",))
"""What "auto" compares, the simplest first: the oracles that some domain and epsilon make best. SHE never
is, and THE's threshold on the noise loses to choosing the bits' probabilities directly."""
_WORTH = 0.01
"""By what share of the variance an oracle must beat every simpler one. Less is as good as one more report
per hundred: not worth another payload to port, to explain and to watch."""


def _choose(domain: int, epsilon: Decimal) -> FrequencyOracle:
    """Return the oracle of least variance among those worth it; the simplest always is."""
    worth, least = [], math.inf
    for names in _RIVALS if domain <= MAX_SUBSET_DOMAIN else _RIVALS[:-1]:
        rivals = [design(each, domain, epsilon) for each in names]
        variance, best = min(((each.variance(1 / domain), each) for each in rivals), key=itemgetter(0))
        if variance < (1 - _WORTH) * least:
            worth.append(best)
        least = min(least, variance)
    return worth[-1]


def _check_epsilon(epsilon: Decimal) -> None:
    if not (epsilon.is_finite() and MIN_EPSILON <= epsilon <= MAX_EPSILON):
        raise SurveyError(f"epsilon must be between {MIN_EPSILON} and {MAX_EPSILON}", "epsilon")


# -- numbers ------------------------------------------------------------------------------------


def check_numeric_name(name: str) -> str:
    """Return `name` if `design_numeric` knows it: "auto", or a key of NUMERIC_MECHANISMS.

    Raises
    ------
    SurveyError
        Naming the choices.
    """
    if name != "auto" and name not in NUMERIC_MECHANISMS:
        raise SurveyError(f'choose one of "auto", {", ".join(NUMERIC_MECHANISMS)}')
    return name


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
    _check_epsilon(epsilon)
    if check_numeric_name(name) == "auto":
        return numeric_candidates(domain, epsilon)[0]
    with localcontext(DESIGN_CONTEXT):  # whatever precision the application works with
        mechanism = NUMERIC_MECHANISMS[name].design(domain, epsilon)
    mechanism.prove(epsilon)
    return mechanism


def numeric_candidates(domain: NumericDomain, epsilon: Decimal) -> list[NumericMechanism]:
    """Return every mechanism that could ask for one number, the least closed-form variance first.

    For squares only those whose reports tell of the class: so the prior is always fed, and needs no
    question of its own. A mechanism that cannot ask for so many classes is left out.

    Raises
    ------
    SurveyError
        If none can.
    """
    found = []
    for name, kind in NUMERIC_MECHANISMS.items():
        if name != "laplace" and (domain.low or kind.estimates_prior):
            try:
                found.append(design_numeric(name, domain, epsilon))
            except PrivacyError:
                raise
            except SurveyError:
                continue
    if not found:
        raise SurveyError("no mechanism asks for a number with so many classes")
    return sorted(found, key=lambda mechanism: mechanism.reference_variance)


def load_numeric(name: str, domain: NumericDomain, tables: MechanismParameters) -> NumericMechanism:
    """Rebuild a mechanism for numbers from a plan; the caller proves it against the plan's epsilon."""
    if not (isinstance(name, str) and name in NUMERIC_MECHANISMS):
        raise SurveyError(f"mechanism {name!r} is not one of {', '.join(NUMERIC_MECHANISMS)}")
    if not isinstance(tables, Mapping):
        raise SurveyError(f"{name} tables must be an object")
    return NUMERIC_MECHANISMS[name](domain, tables)
