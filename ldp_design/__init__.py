"""What a survey's author does before and between surveys: drafts, sizes, simulates and compares.

The names below load on first use, so that a command starts without scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoders.installation import require_own_encoders  # fails if another package 'encoders' hides ours
from encoders.late_imports import late_names

require_own_encoders()

from encoders import __version__  # noqa: E402 - another package has no version

if TYPE_CHECKING:
    from ldp_design.simulation.accuracies import Simulation, SimulationGrid, simulate

__all__ = ["Simulation", "SimulationGrid", "__version__", "simulate"]

__getattr__, __dir__ = late_names(
    __name__,
    dict.fromkeys(("Simulation", "SimulationGrid", "simulate"), "simulation.accuracies"),
    extra="author",
)
