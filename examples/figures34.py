"""Reproduce Figures 3 and 4 of Yilmaz et al. (2019), numbers in bins and as Gaussians, and compare ours.

    LDP_DATA=DIRECTORY python examples/figures34.py [--repeats 100] [--public-share 0] [--plots DIRECTORY]

DIRECTORY contains australian.csv and pima.csv (UCI); all columns are numbers except the label in the column
`class`. Prints Markdown tables. "paper" follows the paper's protocol: a label question beside the others, the
paper's estimator, and projections fitted on the rows that report, which epsilon does not cover (with
--public-share .2 they are fitted on a fifth of the training rows, which then do not report). "ours" is the
default of a survey. Ranges are computed from the rows, which is allowed for public data only.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from encoders.survey import Survey
from ldp_aggregator.classifiers.naive_bayes import infer_survey
from ldp_aggregator.rows.table_input import read_text_columns
from ldp_design.simulation.accuracies import Simulation, SimulationGrid, SimulationRow, simulate
from ldp_design.simulation.plot import group_rows, plot_simulation

EPSILONS = ("0.1", "0.5", "1", "2", "3", "4", "5")
BINS = {"australian": 2, "pima": 4}
PCA_IN_BINS = {"australian": "pca:1", "pima": "pca:6"}
APPROACHES = ("laplace", "onebit", "sampled-laplace")


def main() -> None:
    parser = argparse.ArgumentParser(description="Reproduce Figures 3 and 4 of Yilmaz et al. (2019).")
    parser.add_argument("data_sets", nargs="*", default=tuple(BINS))
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--public-share", type=float, default=0)
    parser.add_argument("--plots", type=Path)
    chosen = parser.parse_args()
    data = os.environ.get("LDP_DATA")
    if not data:
        sys.exit("set LDP_DATA to the directory of the data sets, see the first lines of this file")
    for name in chosen.data_sets:
        rows = numbers(read_text_columns(Path(data) / f"{name}.csv"))
        common = {"repeats": chosen.repeats, "public_share": chosen.public_share}
        for figure, result in figures(name, rows, common):
            print(f"### {figure}\n\n{markdown(result)}\n", flush=True)
            if chosen.plots:
                file = figure.replace(",", "").replace(" ", "-") + ".png"
                plot_simulation(result, chosen.plots / file, title=figure)


def numbers(rows: dict[str, list[str]]) -> dict[str, list[object]]:
    return {name: cells if name == "class" else list(map(float, cells)) for name, cells in rows.items()}


def survey_of(rows: dict[str, list[object]]) -> Survey:
    features = {name: column for name, column in rows.items() if name != "class"}
    return infer_survey(features, sorted(set(map(str, rows["class"]))), bins=None)


def figures(name: str, rows: dict, common: dict) -> Iterator[tuple[str, Simulation]]:
    """Yield the simulations of one data set: two oracles in bins, three approaches as Gaussians."""
    survey = survey_of(rows)
    for oracle in ("DE", "OUE"):
        grid = SimulationGrid(
            epsilons=EPSILONS,
            numeric=(f"bins:{BINS[name]}",),
            projections=("none", PCA_IN_BINS[name], "dca:1"),
        )
        paper = simulate(survey, rows, replace(grid, mechanisms=(oracle,)), estimator="paper", **common)
        yield (
            f"{name} in {BINS[name]} bins, {oracle}",
            with_ours(paper, simulate(survey, rows, grid, **common)),
        )
    grid = SimulationGrid(epsilons=EPSILONS, numeric=("auto",), projections=("none", "pca:1", "dca:1"))
    ours = simulate(survey, rows, grid, **common)
    for approach in APPROACHES:
        paper = simulate(survey, rows, replace(grid, numeric=(approach,)), estimator="paper", **common)
        yield f"{name} Gaussian, {approach}", with_ours(paper, ours)


def with_ours(paper: Simulation, ours: Simulation) -> Simulation:
    rows = (*(way(row, "paper") for row in paper.rows), *(way(row, "ours") for row in ours.rows))
    return replace(paper, rows=rows)


def way(row: SimulationRow, whose: str) -> SimulationRow:
    return replace(row, mechanism=whose, numeric="")


def markdown(result: Simulation) -> str:
    head = " | ".join(f"eps {epsilon}" for epsilon in EPSILONS)
    lines = [f"| | {head} | non-private |", "|---|" + "---|" * (len(EPSILONS) + 1)]
    for name, rows in group_rows(result).items():
        shown = " | ".join(f"{row.accuracy:.3f} ± {row.stderr:.3f}" for row in rows)
        lines.append(f"| {name} | {shown} | {rows[0].non_private:.3f} |")
    lines.append(f"\nThe majority class has an accuracy of {result.majority:.3f}.")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
