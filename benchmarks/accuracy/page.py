"""Write tables into a page between their marks, and plots beside it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.accuracy.gains import data_set, gains
from benchmarks.accuracy.grid import EPSILONS, NON_PRIVATE, OURS, PAPER, VALIDATED, Cell
from benchmarks.accuracy.results import MissingError, Results
from benchmarks.accuracy.tables import calibration, mean_error, peers, scaling
from encoders.errors import LdpError
from ldp_design.simulation.accuracies import Simulation, SimulationRow
from ldp_design.simulation.plot import plot_simulation
from ldp_design.simulation.variants import AS_AUTHORED, NO_PROJECTION

SUMMARIES: dict[str, Callable[[Results, Sequence[str]], str]] = {
    "gains": gains,
    "scaling": scaling,
    "peers": peers,
    "calibration": calibration,
}


class PageError(LdpError):
    """A page that has no place for a table."""


def check(page: Path, names: Sequence[str]) -> None:
    """Check that a page has a place for every table.

    Raises
    ------
    PageError
        If it has not; the message names the missing lines.
    """
    try:
        text = page.read_text("utf-8")
    except FileNotFoundError:
        raise PageError(f"{page}: there is no such page to write the tables into: see --page") from None
    for name in (*names, *SUMMARIES):
        parted(page, text, name)


def write(results: Results, names: Sequence[str], page: Path) -> Iterator[str]:
    """Write every table whose cells are all measured; yield a line on each table."""
    wanted = [(data, partial(data_set, results, data)) for data in names]
    if others := [name for name in placed(page) if name not in (*names, *SUMMARIES)]:
        yield f"{', '.join(SUMMARIES)}: not changed, because they include {', '.join(others)} too"
    else:
        wanted += [(name, partial(table, results, names)) for name, table in SUMMARIES.items()]
    for name, table in wanted:
        try:
            fill(page, name, table())
            if name in names:
                draw(results, name, page.parent / "figures" / f"{name}.png")
        except MissingError as error:
            yield f"{name}: not changed, not measured: {error}"
        else:
            yield f"{name}: written"


def placed(page: Path) -> list[str]:
    """Return the names of all tables that a page has a place for."""
    return re.findall(r"<!-- (\S+): written by make accuracy -->", page.read_text("utf-8"))


def fill(page: Path, name: str, table: str) -> None:
    """Replace the text between a table's marks."""
    before, after = parted(page, page.read_text("utf-8"), name)
    page.write_text(f"{before}\n{table}\n{after}", "utf-8")


def parted(page: Path, text: str, name: str) -> tuple[str, str]:
    """Return the text before and after a table, with its marks."""
    start, end = f"<!-- {name}: written by make accuracy -->", f"<!-- end of {name} -->"
    before, found, rest = text.partition(start)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise PageError(f"{page} has no place for a table: add the lines {start} and {end}")
    return before + start, end + after


def draw(results: Results, data: str, path: Path) -> None:
    """Plot accuracy against epsilon, as in the paper's Figure 2."""
    whole = Cell(data, NON_PRIVATE)
    without, majority = (float(results.get(whole, name).mean()) for name in ("accuracy", "majority"))
    rows = [
        SimulationRow(
            epsilon=float(epsilon),
            mechanism=way,
            numeric=AS_AUTHORED,
            projection=NO_PROJECTION,
            estimator="paper" if way in PAPER else "default",
            accuracy=accuracy,
            stderr=stderr,
            non_private=without,
            repeats=results.settings.repeats,
            balanced_accuracy=math.nan,  # the plot has accuracies only
            log_loss=math.nan,
            calibration_error=math.nan,
            beats_majority=accuracy > majority + 2 * stderr,
        )
        for epsilon, way in product(EPSILONS, (*PAPER, OURS, VALIDATED))
        for accuracy, stderr in [mean_error(results.get(Cell(data, way, epsilon)))]
    ]
    path.parent.mkdir(exist_ok=True)
    plot_simulation(Simulation(tuple(rows), majority, "most frequent"), path, title=data)
