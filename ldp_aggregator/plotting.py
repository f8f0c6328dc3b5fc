"""Pictures of simulations. Needs matplotlib, the extra [plot]."""

from __future__ import annotations

from pathlib import Path

from encoders.errors import LdpError
from ldp_aggregator.simulation import Simulation, SimulationRow

_Z95 = 1.96


class PlotError(LdpError):
    """A picture that cannot be drawn."""


def plot_simulation(result: Simulation, path: Path, title: str = "") -> None:
    """Draw accuracy against epsilon, one line per way to ask with its 95% interval.

    Parameters
    ----------
    result : Simulation
    path : Path
        Its suffix chooses the format.
    title : str

    Raises
    ------
    PlotError
        If matplotlib is not installed, or cannot write such a file.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlotError('--plot needs matplotlib: pip install "ldp-bayes[plot]"') from error
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    for name, rows in lines_of(result).items():
        axes.errorbar(
            [row.epsilon for row in rows],
            [row.accuracy for row in rows],
            [_Z95 * row.stderr for row in rows],
            marker="o",
            capsize=2,
            label=name,
        )
    for place, value in enumerate(dict.fromkeys(row.non_private for row in result.rows)):
        axes.axhline(value, color="black", linestyle=":", label=None if place else "non-private")
    axes.axhline(result.majority, color="grey", linestyle="--", label="majority class")
    axes.set(xlabel="epsilon", ylabel="accuracy", title=title)
    axes.legend()
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise PlotError(f"{path}: the picture cannot be written: {error}") from error


def lines_of(result: Simulation) -> dict[str, list[SimulationRow]]:
    """Return the rows of each line of the picture, by epsilon; its name tells what differs."""
    ways = ("mechanism", "numeric", "projection")
    varied = [way for way in ways if len({getattr(row, way) for row in result.rows}) > 1] or ["mechanism"]
    lines: dict[str, list[SimulationRow]] = {}
    for row in sorted(result.rows, key=lambda row: row.epsilon):
        lines.setdefault(", ".join(getattr(row, way) for way in varied), []).append(row)
    return lines
