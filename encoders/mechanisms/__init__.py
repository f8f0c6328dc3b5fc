"""Mechanisms that randomise an answer: frequency oracles, and mechanisms for numbers."""

from typing import TYPE_CHECKING

from encoders.late_imports import late_names
from encoders.mechanisms.base import Mechanism
from encoders.mechanisms.direct import DE
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.mechanisms.histogram import SHE, THE
from encoders.mechanisms.laplace import Laplace, SampledLaplace
from encoders.mechanisms.numeric_base import NumericDomain, NumericMechanism
from encoders.mechanisms.onebit import OneBit, SignVector
from encoders.mechanisms.piecewise import Piecewise
from encoders.mechanisms.piecewise_moments import PiecewiseMoments
from encoders.mechanisms.registry import MECHANISMS, NUMERIC_MECHANISMS, load, load_numeric
from encoders.mechanisms.sign import Sign
from encoders.mechanisms.subset import SS
from encoders.mechanisms.unary import OUE, SUE

if TYPE_CHECKING:
    from encoders.mechanisms.auto_choice import (
        check_name,
        check_numeric_name,
        design,
        design_numeric,
        estimates_both_better,
        numeric_candidates,
    )

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
    "PiecewiseMoments",
    "SampledLaplace",
    "Sign",
    "SignVector",
    "check_name",
    "check_numeric_name",
    "design",
    "design_numeric",
    "estimates_both_better",
    "load",
    "load_numeric",
    "numeric_candidates",
]

# a device with a compiled plan does not load these
_FOR_AUTHORS = (
    *("check_name", "check_numeric_name", "design", "design_numeric"),
    *("estimates_both_better", "numeric_candidates"),
)
__getattr__, __dir__ = late_names(__name__, dict.fromkeys(_FOR_AUTHORS, "auto_choice"))
