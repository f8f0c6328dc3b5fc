"""Print tables of the papers' algorithms as printed, and of their corrected forms.

    LDP_DATA=DIRECTORY python -m benchmarks.papers [000|002|003|004] [--splits 3]

000 is Zafarani and Clifton 2020, 002 a thesis on feature selection, 003 Marchioro et al. 2022 and 004
Lopuhaa-Zwakenberg et al. 2021. Nothing here is for release.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import click

from benchmarks.papers import (
    classifier_comparison,
    feature_selection,
    federated,
    functional_mechanism,
    logistic_regression,
    smooth_sensitivity,
)
from benchmarks.papers.classifier_comparison import FETCHED
from benchmarks.papers.marks import error_section, marked_section
from benchmarks.papers.open_ml import read_or_fetch
from benchmarks.papers.paper_rows import PaperRows

PAPERS: dict[str, tuple[ModuleType, ...]] = {
    "000": (smooth_sensitivity,),
    "002": (feature_selection, logistic_regression, functional_mechanism),
    "003": (federated,),
    "004": (classifier_comparison,),
}
TITLES = {
    smooth_sensitivity: "Zafarani and Clifton 2020: smooth sensitivity",
    feature_selection: "A thesis on feature selection: Naive Bayes",
    logistic_regression: "A thesis on feature selection: logistic regression",
    functional_mechanism: "A thesis on feature selection: functional mechanism",
    federated: "Marchioro et al. 2022: federated Naive Bayes",
    classifier_comparison: "Lopuhaa-Zwakenberg et al. 2021: comparison of classifiers",
}


@click.command()
@click.argument("papers", nargs=-1, type=click.Choice(list(PAPERS)))
@click.option("--data", envvar="LDP_DATA", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--splits", type=click.IntRange(min=1), default=3, show_default=True)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Of splits and noise; ours draws noise from the operating system.",
)
def main(papers: tuple[str, ...], data: Path | None, splits: int, seed: int) -> None:
    """Print the tables of the named papers, or of all; without data only reasons and errors."""
    read: dict[str, PaperRows] = {}
    for paper in papers or PAPERS:
        for module in PAPERS[paper]:
            click.echo(f"## {TITLES[module]}\n")
            click.echo(marked_section(module.__name__))
            click.echo(error_section(module.errors()))
            if not data:
                continue
            for name in set(module.DATA_SETS) - set(read):
                read[name] = PaperRows.read(data / f"{name}.csv")
            for name in FETCHED.values() if module is classifier_comparison else ():
                if rows := read_or_fetch(data, name):
                    read[name] = rows
                else:
                    click.echo(f"{name}: OpenML cannot be reached, so chess stands in for it", err=True)
            for section in module.sections(read, splits, seed):
                click.echo(section)


if __name__ == "__main__":
    main()
