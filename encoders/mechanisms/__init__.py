"""Mechanisms that randomise an answer: frequency oracles, and mechanisms for numbers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from encoders.mechanisms.base import Mechanism
from encoders.mechanisms.direct import DE
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.mechanisms.histogram import SHE, THE
from encoders.mechanisms.laplace import Laplace, SampledLaplace
from encoders.mechanisms.numeric_base import NumericDomain, NumericMechanism
from encoders.mechanisms.onebit import OneBit, SignVector
from encoders.mechanisms.piecewise import Piecewise
from encoders.mechanisms.registry import (
    MECHANISMS,
    NUMERIC_MECHANISMS,
    check_name,
    check_numeric_name,
    load,
    load_numeric,
)
from encoders.mechanisms.sign import Sign
from encoders.mechanisms.subset import SS
from encoders.mechanisms.unary import OUE, SUE

if TYPE_CHECKING:
    from encoders.mechanisms.auto_choice import design, design_numeric, numeric_candidates

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

_DESIGN = ("design", "design_numeric", "numeric_candidates")
"""The names that a device with a compiled plan does not load."""


def __getattr__(name: str) -> Any:
    if name in _DESIGN:
        return getattr(import_module("encoders.mechanisms.auto_choice"), name)
    raise AttributeError(f"module 'encoders.mechanisms' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_DESIGN})
