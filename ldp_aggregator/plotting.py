"""Pictures of simulations. Needs matplotlib, the extra [plot]."""

from __future__ import annotations

from pathlib import Path

from encoders.errors import LdpError
from ldp_aggregator.simulation import Simulation

_Z95 = 1.96


class PlotError(LdpError):
    """A picture that cannot be drawn."""


def plot_simulation(result: Simulation, path: Path, title: str = "") -> None:
    """Draw accuracy against epsilon, one line per mechanism with its 95% interval.

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
    for mechanism in dict.fromkeys(row.mechanism for row in result.rows):
        rows = sorted((row for row in result.rows if row.mechanism == mechanism), key=lambda row: row.epsilon)
        axes.errorbar(
            [row.epsilon for row in rows],
            [row.accuracy for row in rows],
            [_Z95 * row.stderr for row in rows],
            marker="o",
            capsize=2,
            label=mechanism,
        )
    axes.axhline(result.non_private, color="black", linestyle=":", label="non-private")
    axes.axhline(result.majority, color="grey", linestyle="--", label="majority class")
    axes.set(xlabel="epsilon", ylabel="accuracy", title=title)
    axes.legend()
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise PlotError(f"{path}: the picture cannot be written: {error}") from error
