"""What a survey's author does before and between surveys: drafts, sizes, simulates and compares.

The names below load on first use, so that a command starts without scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from encoders.installation import require_own_encoders
from encoders.missing_extra import needs_extra

require_own_encoders()

from encoders import __version__  # noqa: E402 - another package has no version

if TYPE_CHECKING:
    from ldp_design.simulation.accuracies import Simulation, SimulationGrid, simulate

__all__ = ["Simulation", "SimulationGrid", "__version__", "simulate"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs_extra("train", f"{__name__}.{name}"):
        return getattr(import_module(f"{__name__}.simulation.accuracies"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
