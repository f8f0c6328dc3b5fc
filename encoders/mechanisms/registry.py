"""The mechanisms by their names in the literature: builds them from plans."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.errors import SurveyError
from encoders.mechanisms.base import MechanismParameters
from encoders.mechanisms.direct import DE
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.mechanisms.histogram import SHE, THE
from encoders.mechanisms.laplace import Laplace, SampledLaplace
from encoders.mechanisms.numeric_base import NumericDomain, NumericMechanism
from encoders.mechanisms.onebit import OneBit, SignVector
from encoders.mechanisms.piecewise import Piecewise
from encoders.mechanisms.piecewise_moments import PiecewiseMoments
from encoders.mechanisms.sign import Sign
from encoders.mechanisms.subset import SS
from encoders.mechanisms.unary import OUE, SUE

MECHANISMS: dict[str, type[FrequencyOracle]] = {each.name: each for each in (DE, SUE, OUE, SHE, THE, SS)}

NUMERIC_MECHANISMS: dict[str, type[NumericMechanism]] = {
    each.name: each for each in (Laplace, OneBit, SampledLaplace, Sign, SignVector, Piecewise)
}

BOTH_MECHANISMS: dict[str, type[NumericMechanism]] = {PiecewiseMoments.name: PiecewiseMoments}
"""The mechanisms whose reports estimate the mean and the mean square of a number."""


def load(name: str, domain: int, parameters: MechanismParameters) -> FrequencyOracle:
    """Build a frequency oracle from a plan's parameters; the caller proves that it keeps epsilon."""
    _check_plan_entry(name, MECHANISMS, parameters)
    return MECHANISMS[name](domain, parameters)


def load_numeric(name: str, domain: NumericDomain, parameters: MechanismParameters) -> NumericMechanism:
    """Build a mechanism for numbers from a plan's parameters; the caller proves that it keeps epsilon."""
    known = BOTH_MECHANISMS if domain.both else NUMERIC_MECHANISMS
    _check_plan_entry(name, known, parameters)
    return known[name](domain, parameters)


def _check_plan_entry(name: object, known: Mapping[str, object], parameters: object) -> None:
    if not (isinstance(name, str) and name in known):
        raise SurveyError(f"mechanism {name!r} is not one of {', '.join(known)}")
    if not isinstance(parameters, Mapping):
        raise SurveyError(f"{name} tables must be an object")
