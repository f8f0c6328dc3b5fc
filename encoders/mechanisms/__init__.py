"""Every mechanism, by its name in the literature, and the choice between them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, localcontext

from encoders.errors import SurveyError
from encoders.mechanisms.base import Mechanism, Tables
from encoders.mechanisms.direct import DE
from encoders.mechanisms.histogram import SHE, THE
from encoders.mechanisms.unary import OUE, SUE
from encoders.tables import MAX_EPSILON, MIN_EPSILON, PRECISE

__all__ = ["DE", "MECHANISMS", "OUE", "SHE", "SUE", "THE", "Mechanism", "check_name", "design", "load"]

MECHANISMS: dict[str, type[Mechanism]] = {"DE": DE, "SUE": SUE, "OUE": OUE, "SHE": SHE, "THE": THE}

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


def design(name: str, domain: int, epsilon: Decimal) -> Mechanism:
    """Build a mechanism that spends at most `epsilon` on a domain of `domain` values, and prove it.

    Parameters
    ----------
    name : str
        A key of MECHANISMS, "THE(theta)", or "auto": the one whose estimate of a frequency of 1/d has
        the least variance in closed form (METHODS: auto is never THE or SHE unless they win).
    domain : int
    epsilon : Decimal

    Raises
    ------
    SurveyError, PrivacyError
    """
    if check_name(name) == "auto":
        candidates = [design(each, domain, epsilon) for each in _RIVALS]
        return min(candidates, key=lambda mechanism: mechanism.variance(1 / domain))
    if not (epsilon.is_finite() and MIN_EPSILON <= epsilon <= MAX_EPSILON):
        raise SurveyError(f"epsilon must be between {MIN_EPSILON} and {MAX_EPSILON}", "epsilon")
    base, _, option = name.rstrip(")").partition("(")
    with localcontext(PRECISE):  # whatever precision the application works with
        mechanism = MECHANISMS[base].design(domain, epsilon, Decimal(option) if option else None)
    mechanism.prove(epsilon)
    return mechanism


def load(name: str, domain: int, tables: Tables) -> Mechanism:
    """Rebuild a mechanism from the tables of a plan; the caller proves it against the plan's epsilon."""
    if not (isinstance(name, str) and name in MECHANISMS):
        raise SurveyError(f"mechanism {name!r} is not one of {', '.join(MECHANISMS)}")
    if not isinstance(tables, Mapping):
        raise SurveyError(f"{name} tables must be an object")
    return MECHANISMS[name](domain, tables)


_RIVALS = ("DE", "SUE", "OUE")
"""What "auto" compares: the oracles that some domain and epsilon make best. SHE never is, and THE's
threshold on the noise loses to choosing the bits' probabilities directly."""
