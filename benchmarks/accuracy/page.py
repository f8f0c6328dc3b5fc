"""Writes tables into a page between their marks, and draws figures beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.accuracy.gains import data_set, gains
from benchmarks.accuracy.grid import EPSILONS, NON_PRIVATE, OURS, PAPER, Cell
from benchmarks.accuracy.results import MissingError, Results
from benchmarks.accuracy.tables import calibration, mean_error, peers, scaling
from encoders.errors import LdpError
from ldp_aggregator.plotting import plot_simulation
from ldp_aggregator.simulation import Simulation, SimulationRow
from ldp_aggregator.variants import AS_WRITTEN, NO_PROJECTION

SUMMARIES: dict[str, Callable[[Results, Sequence[str]], str]] = {
    "gains": gains,
    "scaling": scaling,
    "peers": peers,
    "calibration": calibration,
}


class PageError(LdpError):
    """A page that has no place for a table."""


def write(results: Results, names: Sequence[str], page: Path) -> Iterator[str]:
    """Put every table whose cells were all measured in its place; yield what was done, and what was not."""
    wanted = [(data, partial(data_set, results, data)) for data in names]
    wanted += [(name, partial(table, results, names)) for name, table in SUMMARIES.items()]
    for name, table in wanted:
        try:
            fill(page, name, table())
            if name in names:
                draw(results, name, page.parent / "figures" / f"{name}.png")
        except MissingError as error:
            yield f"{name}: left as it was, not measured: {error}"
        else:
            yield f"{name}: written"


def fill(page: Path, name: str, table: str) -> None:
    """Replace what stands between a table's marks."""
    start, end = f"<!-- {name}: written by make accuracy -->", f"<!-- end of {name} -->"
    text = page.read_text("utf-8")
    before, found, rest = text.partition(start)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise PageError(f"{page} has no place for a table: add the lines {start} and {end}")
    page.write_text(f"{before}{start}\n{table}\n{end}{after}", "utf-8")


def draw(results: Results, data: str, path: Path) -> None:
    """Draw accuracy against epsilon, as in the paper's Figure 2."""
    whole = Cell(data, NON_PRIVATE)
    without, majority = (float(results.get(whole, name).mean()) for name in ("accuracy", "majority"))
    rows = [
        SimulationRow(
            epsilon=float(epsilon),
            mechanism=way,
            numeric=AS_WRITTEN,
            projection=NO_PROJECTION,
            estimator="default" if way == OURS else "paper",
            accuracy=accuracy,
            stderr=stderr,
            non_private=without,
            repeats=results.settings.repeats,
        )
        for epsilon, way in product(EPSILONS, (*PAPER, OURS))
        for accuracy, stderr in [mean_error(results.get(Cell(data, way, epsilon)))]
    ]
    path.parent.mkdir(exist_ok=True)
    plot_simulation(Simulation(tuple(rows), majority), path, title=data)
