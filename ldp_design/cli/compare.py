"""ldp-compare: compares what protection by a local survey, by silos and by a curator costs in accuracy."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import click
from click.core import ParameterSource

from encoders.explain.text import format_table, wrap_text
from encoders.progress import show_progress
from encoders.survey import Survey
from encoders.survey.any_survey import read_any_survey, read_survey_file
from encoders.survey.compiled_plan import LOCAL
from encoders.survey.features import row_entries
from encoders.survey.silo_plan import SiloSurvey
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import INPUT_FILE, OutputFile, read_rows, require_no_input
from ldp_aggregator.cli.help import (
    Command,
    advanced_option,
    argument,
    multiline_option,
    option,
    version_option,
)
from ldp_aggregator.render.document import PlainTable
from ldp_aggregator.wording.statement import Statement
from ldp_design.cli.option_values import Share, list_parser, parse_epsilons
from ldp_design.comparison.comparison_page import render_comparison
from ldp_design.comparison.statements import TEXTS, state_comparison
from ldp_design.comparison.trust_comparison import NoiseLevels, TrustComparison, compute_noise_levels
from ldp_design.comparison.trust_experiment import MIN_SPLITS, Experiment, compare, prepare
from ldp_design.comparison.trusts import EXAMPLE, Trust, parse_trust


@click.command(cls=Command)
@argument("survey", type=INPUT_FILE, help="The survey, a TOML file.")
@argument("rows", type=INPUT_FILE, help="Labelled rows, a CSV file with a header.")
@option(
    "--epsilon",
    "epsilons",
    callback=parse_epsilons,
    default=".1,.5,1,2,5",
    metavar="NUMBER,...",
    help="The epsilon that each person spends, the same under every trust model. It protects the content of "
    "a row.",
)
@option(
    "--trust",
    "trusts",
    callback=list_parser(parse_trust),
    default=EXAMPLE,
    metavar="MODEL,...",
    help="The trust models. none: no protection. central: a curator, who uses the learner that is named, as "
    "in central:nb, central:linear and central:tree. labels: only the label is protected. silo:N: N "
    "organisations, each of which adds noise. relay:N: the local survey, whose reports another organisation "
    "passes on in random order, at least N at a time; relay:N:all: each person answers all questions in this "
    "way, with the largest epsilon that keeps the promise. local: the survey as it is written; it is left "
    "out by default if people do not answer the survey.",
)
@option(
    "--accuracy",
    "target",
    type=Share(),
    show_default="5 points less than without protection",
    help="The target accuracy, for example 0.9. The command prints the trust model that needs the least "
    "trust and reaches it.",
)
@option("-o", "--output", type=OutputFile(), help="Write the comparison as an HTML page with a plot.")
@option("--json", "as_json", is_flag=True, help="Print JSON instead of words and tables.")
@advanced_option(
    "--splits",
    type=click.IntRange(min=MIN_SPLITS),
    default=10,
    help="How often the rows are split into training and test rows.",
)
@advanced_option(
    "--seed", type=click.IntRange(min=0), default=0, help="The seed of the splits and the noise."
)
@multiline_option
@version_option
def main(
    survey: Path,
    rows: Path,
    epsilons: list[Decimal],
    trusts: list[Trust],
    target: float | None,
    splits: int,
    seed: int,
    as_json: bool,
    output: Path | None,
    multiline: bool,
) -> None:
    """Compare what protection by different trust models costs in accuracy.

    For each trust model and epsilon, models are trained on 80% of the rows and predict the rest, in several
    splits. The command recommends a trust model and an epsilon, and shows what it costs if people need not
    trust anyone. docs/central.md explains the trust models.

    Use public or made-up rows, or keep the output to yourself: no epsilon covers accuracies that are measured
    on rows.

    $ ldp-compare survey.toml rows.csv
    $ ldp-compare survey.toml rows.csv --epsilon 1,2 --accuracy 0.9 -o comparison.html
    $ ldp-compare survey.toml rows.csv --trust none,central,silo:10,local
    """
    require_no_input(output, [survey, rows])
    parsed = read_survey_file(survey, read_any_survey)
    if isinstance(parsed, Survey):
        parsed = parsed.of_one_wave()
    entries = row_entries(parsed.features) if isinstance(parsed, SiloSurvey) else parsed.entries
    columns = read_rows(rows, entries, multiline)
    is_default = click.get_current_context().get_parameter_source("trusts") is ParameterSource.DEFAULT
    if is_default and parsed.kind != LOCAL:
        trusts = [each for each in trusts if each.kind != LOCAL]
    experiment = prepare(parsed, columns, trusts, epsilons, splits=splits, seed=seed)
    with show_progress("comparing", len(experiment), "models") as progress:
        comparison = compare(experiment, progress.advance)
    levels = _find_levels(experiment, comparison)
    if as_json:
        click.echo(TEXTS.find("comparison.uncovered"), err=True)
        click.echo(json.dumps(comparison.as_dict()))
    else:
        click.echo("\n".join(format_comparison(comparison, levels, target)))
    if output:
        write_atomically(output, render_comparison(comparison, levels, target), public=True)
        click.echo(f"wrote {output}: the same with a picture", err=as_json)


def _find_levels(experiment: Experiment, comparison: TrustComparison) -> NoiseLevels | None:
    if not comparison.local:
        return None
    people = experiment.repeats[0].people
    return compute_noise_levels(experiment.survey, experiment.epsilons, people, comparison.training_rows)


def format_comparison(
    comparison: TrustComparison, levels: NoiseLevels | None, target: float | None
) -> Iterator[str]:
    """Yield the lines of a comparison for a terminal; arguments as of the page."""
    found = state_comparison(comparison, levels, target, "+-")
    yield str(found.uncovered)
    yield from _format_paragraph(f"{comparison.plan.id}: {found.setting}")
    yield from _format_paragraph(" ".join(map(str, found.recommendation)))
    if target:
        yield from _format_list(found.wanted)
    elif found.targets:
        yield from [
            "",
            "The trust model that needs the least trust (--accuracy 0.9 describes it in words):",
            "",
        ]
        yield from _format_table(found.targets, ">" + "<" * len(comparison.epsilons))
        yield from _format_paragraph(str(found.targets_legend))
    if found.cost:
        yield from _format_list(found.cost)
    yield from ["", found.accuracies.caption, ""]
    yield from _format_table(found.accuracies, "<<<" + ">" * len(comparison.epsilons))
    for note in found.notes:
        yield from _format_paragraph(str(note))


def _format_paragraph(text: str) -> Iterator[str]:
    yield ""
    yield from wrap_text(text)


def _format_table(table: PlainTable, alignment: str) -> list[str]:
    return format_table([table.head, *table.rows], alignment)


def _format_list(statements: Sequence[Statement]) -> Iterator[str]:
    heading, *others = statements
    yield from ["", f"{heading}:"]
    for each in others:
        yield from textwrap.wrap(
            str(each), 100, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False
        )
