"""Plots of simulations. Needs matplotlib, the extra [plot]."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from itertools import cycle
from pathlib import Path

from encoders.errors import LdpError
from encoders.late_imports import LateImport
from ldp_aggregator.atomic_file import write_atomically
from ldp_design.simulation.accuracies import UNCOVERED_WARNING, Simulation, SimulationRow

_Z95 = 1.96
_DASHES = (":", "-.", (0, (1, 4)), (0, (6, 2)), (0, (4, 1, 1, 1, 1, 1)))


class PlotError(LdpError):
    """A plot that cannot be drawn or written."""


_FIGURE = LateImport("matplotlib.figure:Figure", "plot", "--plot", PlotError)


def require_plot(path: Path) -> None:
    """Raise PlotError, before a long simulation, if matplotlib cannot write files with this ending."""
    formats = _FIGURE.load()().canvas.get_supported_filetypes()
    if _format(path) not in formats:
        endings = ", ".join(f".{each}" for each in sorted(formats))
        raise PlotError(f"{path}: the plot cannot be written: its name must end in one of {endings}")


def _format(path: Path) -> str:
    return path.suffix.removeprefix(".").lower()


def plot_simulation(result: Simulation, path: Path, title: str = "") -> None:
    """Plot accuracy against epsilon, one line per variant, with single 95% confidence intervals.

    The suffix of `path` chooses the format. Only the owner can read a new file.
    Raises PlotError if matplotlib is not installed, or cannot write such a file.
    """
    require_plot(path)
    figure = _FIGURE.load()(figsize=(8.4, 4.4), layout="constrained")
    axes = figure.subplots()
    for name, rows in group_rows(result).items():
        axes.errorbar(
            [row.epsilon for row in rows],
            [row.accuracy for row in rows],
            [_Z95 * row.stderr for row in rows],
            marker="o",
            capsize=2,
            label=name,
        )
    for dashes, (name, value) in zip(cycle(_DASHES), non_private_accuracies(result).items(), strict=False):
        axes.axhline(value, color="black", linestyle=dashes, label=name)
    axes.axhline(result.majority, color="grey", linestyle="--", label="majority class")
    caveat = f"\n{UNCOVERED_WARNING}" if result.uncovered else ""
    axes.set(xlabel=f"epsilon{caveat}", ylabel="accuracy", title=title)
    figure.legend(loc="outside right upper")
    picture = BytesIO()
    try:
        figure.savefig(picture, format=_format(path))
        write_atomically(path, picture.getvalue())
    except (OSError, ValueError) as error:
        raise PlotError(f"{path}: the plot cannot be written: {error}") from error


def group_rows(result: Simulation) -> dict[str, list[SimulationRow]]:
    """Return the rows of each line of the plot by its name, which states what differs between lines."""
    fields = _varied_fields(result, ("mechanism", "numeric", "projection")) or ["mechanism"]
    lines: dict[str, list[SimulationRow]] = {}
    for row in sorted(result.rows, key=lambda row: row.epsilon):
        lines.setdefault(", ".join(_describe(row, fields)), []).append(row)
    return lines


def non_private_accuracies(result: Simulation) -> dict[str, float]:
    """Return the accuracies without privacy, by name: numeric mechanism and projection if they differ."""
    fields = _varied_fields(result, ("numeric", "projection"))
    return {", ".join(["non-private", *_describe(row, fields)]): row.non_private for row in result.rows}


def _varied_fields(result: Simulation, fields: Sequence[str]) -> list[str]:
    return [field for field in fields if len({getattr(row, field) for row in result.rows}) > 1]


def _describe(row: SimulationRow, fields: Sequence[str]) -> list[str]:
    return [getattr(row, field) for field in fields]
