"""Measure tables, ordered values and quantiles, and write the tables of docs/results/tables.md.

    LDP_DATA=DIRECTORY python -m benchmarks.tables [--surveys 400] [--page COPY.md]

DIRECTORY contains yrbss.csv and adult.csv; without it, only made-up people are measured. A stopped run
continues after the last finished part. `--fresh` begins again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import click
import numpy as np

from benchmarks.parts import Job, Results, fill_page, make_table, measure, percent
from benchmarks.shares.coverage import SETTINGS, Coverage, measure_coverage
from benchmarks.shares.page import summarise_coverage
from benchmarks.shares.populations import MADE_UP
from benchmarks.tables import independence, quantile_errors, smooth_quantiles
from benchmarks.tables.independence import (
    EPSILONS,
    ERRORS,
    LEVEL,
    MARGINS,
    STRENGTHS,
    Detections,
    measure_test,
)
from benchmarks.tables.populations import STATISTICS, read_table_population
from benchmarks.tables.quantile_errors import QuantileErrors, measure_quantiles
from benchmarks.tables.smooth_quantiles import COLUMNS, LAWS, SmoothErrors, measure_smooth

TESTS = 2.5
"""Surveys of a test of independence, for each survey of another part."""
_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def list_jobs(surveys: int, directory: Path | None) -> Iterator[Job]:
    """Yield the table, the name and the work of each part."""
    for setting in SETTINGS:
        if directory or setting.data == MADE_UP:
            yield (
                "coverage",
                str(setting),
                partial(measure_coverage, setting, surveys, directory, read_table_population, STATISTICS),
            )
    for test in independence.SETTINGS:
        yield "tests", str(test), partial(measure_test, test, round(TESTS * surveys))
    for case in quantile_errors.SETTINGS:
        yield "quantiles", str(case), partial(measure_quantiles, *case, surveys)
    for each in smooth_quantiles.SETTINGS:
        if directory or each[0] in LAWS:
            yield "smooth", str(each), partial(measure_smooth, *each, surveys // 2, directory)


def write_page(page: Path, results: Results) -> Iterator[str]:
    """Write the tables into the page, and yield their lines."""
    detections = [Detections(**each) for each in results["tests"]]
    tables = {
        "coverage": summarise_coverage([Coverage(**each) for each in results["coverage"]], STATISTICS),
        "false alarms": _list_alarms(detections),
        "power": _list_powers(detections),
        "quantiles": _list_quantiles([QuantileErrors(**each) for each in results["quantiles"]]),
        "smooth": _list_smooth([SmoothErrors(**each) for each in results["smooth"]]),
    }
    return fill_page(page, "benchmarks.tables", tables)


def _list_alarms(detections: Sequence[Detections]) -> Iterator[str]:
    """Yield a line for each table, for each epsilon, and for all of them, and for each of the two tests."""
    alarms = [each for each in detections if not each.strength]
    rows = []
    for name in (*MARGINS, *EPSILONS, "all"):
        mine = [each for each in alarms if name in ("all", each.table, each.epsilon)]
        rows.append([f"epsilon {name}" if name in EPSILONS else name])
        for test in ("rejected", "different"):
            shares = [getattr(each, test) for each in mine]
            off = [(getattr(each, test) - LEVEL) / each.error for each in mine]
            few, many = (sum(sign * each > ERRORS for each in off) for sign in (-1, 1))
            rows[-1] += [percent(np.mean(shares)), percent(min(shares)), percent(max(shares)), few, many]
    columns = ["mean", "least", "most", "too few", "too many"]
    yield from make_table(["table", *columns, *(f"{each}, classes" for each in columns)], rows)


def _list_powers(detections: Sequence[Detections]) -> Iterator[str]:
    rows = []
    for name in MARGINS:
        for strength in STRENGTHS[1:]:
            mine = [each for each in detections if (each.table, each.strength) == (name, strength)]
            lost = [each.oracle - each.rejected for each in mine]
            shares = ([getattr(each, test) for each in mine] for test in ("rejected", "different", "oracle"))
            rows.append(
                [name, f"{strength:g}", *(f"{np.mean(each):.3f}" for each in shares), f"{max(lost):.3f}"]
            )
    head = ["table", "dependence", "power", "power, classes", "best possible", "largest loss"]
    yield from make_table(head, rows)


def _list_quantiles(errors: Sequence[QuantileErrors]) -> Iterator[str]:
    rows = [
        [
            each.shape,
            each.bins,
            each.epsilon,
            ", ".join(map(str, each.widths)),
            *(", ".join(f"{100 * part:.2f}" for part in parts) for parts in (each.flat, each.levels)),
            f"{each.ratio:.2f}",
        ]
        for each in errors
    ]
    head = ["distribution", "bins", "epsilon", "levels", "error, bins alone", "error, levels", "ratio"]
    yield from make_table(head, rows)


def _list_smooth(errors: Sequence[SmoothErrors]) -> Iterator[str]:
    """Yield a line for each distribution, and one for all of them."""
    rows = []
    for name in (*LAWS, *COLUMNS, "all"):
        mine = [each for each in errors if name in ("all", each.law)]
        levels, flat = ([each for each in mine if each.levels is has] for has in (True, False))
        if not mine:
            continue
        gains = [each.gain for each in levels]
        directions = [each.direction for each in levels]
        shares = ([each.share_gain for each in part] for part in (levels, flat))
        rows.append(
            [
                name,
                f"{np.exp(np.log(gains).mean()):.2f}",
                f"{min(gains):.2f} to {max(gains):.2f}",
                f"{directions.count(1)}, {directions.count(-1)} of {len(levels)}",
                *(f"{np.exp(np.log(part).mean()):.2f} (least {min(part):.2f})" for part in map(list, shares)),
            ]
        )
    head = ["distribution", "quartiles", "least and most", "better, worse", "shares", "shares, no levels"]
    yield from make_table(head, rows)


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.argument("directory", envvar="LDP_DATA", required=False, type=_FOLDER)
@click.option("--surveys", type=click.IntRange(min=2), default=400, show_default=True)
@click.option("--processes", type=click.IntRange(min=1), default=None, help="By default one for each core.")
@click.option("--results", type=_FILE, default=Path("build/tables.jsonl"), show_default=True)
@click.option("--page", type=_FILE, default=Path("docs/results/tables.md"), show_default=True)
@click.option("--fresh", is_flag=True, help="Delete the results in the file of results first.")
def main(
    directory: Path | None, surveys: int, processes: int | None, results: Path, page: Path, fresh: bool
) -> None:
    if fresh:
        results.unlink(missing_ok=True)
    found = measure(list_jobs(surveys, directory), surveys, results, processes)
    for line in write_page(page, found):
        click.echo(line)


if __name__ == "__main__":
    main()
