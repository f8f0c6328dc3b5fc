"""Figure 2 of Yilmaz et al. (2019): accuracy against epsilon on four data sets, five mechanisms, and ours.

    LDP_DATA=DIRECTORY python examples/figure2.py [--repeats 100] [--plots DIRECTORY]

DIRECTORY holds car.csv, chess.csv, mushroom.csv and connect-4.csv (UCI), the label in the column `class`.
Prints one Markdown table per data set: the paper's protocol with each of its mechanisms, and "ours", the
default: the best mechanism per question, no label question, smoothed estimates. Categories are read off
the rows, which is fine for public data and nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from encoders.survey import Survey
from ldp_aggregator.csv_rows import read_table
from ldp_aggregator.models.inference import infer_survey
from ldp_aggregator.plotting import plot_simulation
from ldp_aggregator.simulation import Simulation, simulate

DATA_SETS = ("car", "chess", "mushroom", "connect-4")
EPSILONS = ("0.1", "0.5", "1", "2", "3", "4", "5")
MECHANISMS = ("DE", "SUE", "OUE", "SHE", "THE")


def main() -> None:
    parser = argparse.ArgumentParser(description="Reproduce Figure 2 of Yilmaz et al. (2019).")
    parser.add_argument("data_sets", nargs="*", default=DATA_SETS)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--plots", type=Path)
    chosen = parser.parse_args()
    data = os.environ.get("LDP_DATA")
    if not data:
        sys.exit("set LDP_DATA to the directory of the data sets, see the first lines of this file")
    for name in chosen.data_sets:
        result = compare(read_table(Path(data) / f"{name}.csv"), chosen.repeats)
        print(f"### {name}\n\n{markdown(result)}\n", flush=True)
        if chosen.plots:
            plot_simulation(result, chosen.plots / f"{name}.png", title=name)


def compare(rows: dict[str, list[str]], repeats: int) -> Simulation:
    """Simulate the paper's protocol and ours on the same splits."""
    survey = survey_of(rows)
    paper = simulate(
        survey, rows, epsilons=EPSILONS, mechanisms=MECHANISMS, estimator="paper", repeats=repeats
    )
    ours = simulate(survey, rows, epsilons=EPSILONS, repeats=repeats)
    return replace(paper, rows=(*paper.rows, *(replace(row, mechanism="ours") for row in ours.rows)))


def survey_of(rows: dict[str, list[str]]) -> Survey:
    """Ask every column that has two values or more."""
    features = {name: column for name, column in rows.items() if name != "class" and len(set(column)) > 1}
    return infer_survey(features, sorted(set(rows["class"])))


def markdown(result: Simulation) -> str:
    head = " | ".join(f"eps {epsilon}" for epsilon in EPSILONS)
    lines = [f"| mechanism | {head} |", "|---|" + "---|" * len(EPSILONS)]
    for mechanism in (*MECHANISMS, "ours"):
        cells = [row for row in result.rows if row.mechanism == mechanism]
        shown = " | ".join(f"{row.accuracy:.3f} ± {row.stderr:.3f}" for row in cells)
        lines.append(f"| {mechanism} | {shown} |")
    lines.append(f"\nNon-private Naive Bayes {result.non_private:.3f}, majority class {result.majority:.3f}.")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
