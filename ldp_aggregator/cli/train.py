"""ldp-train: trains a model on collected reports, and writes a model file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from encoders.errors import Reason, SurveyError
from encoders.progress import show_progress
from encoders.survey import Plan
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator import classifiers
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.classifiers.export import ONNX
from ldp_aggregator.cli.file_options import OutputFile, require_distinct
from ldp_aggregator.cli.help import Command, advanced_option, argument, json_option, option, version_option
from ldp_aggregator.codec import to_json
from ldp_aggregator.estimation import ESTIMATORS
from ldp_aggregator.privacy_statement import read_audit
from ldp_aggregator.render.document import Note, Section
from ldp_aggregator.render.terminal import write_document
from ldp_aggregator.reports.archives import ALL_PROCESSORS
from ldp_aggregator.results import Results, make_results
from ldp_aggregator.results_file import no_classifier, save_results
from ldp_aggregator.series.series import POOLED, TABLES
from ldp_aggregator.snapshot import LAST_WAVE, AnySnapshot, SiloSnapshot
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.rules import UNKNOWN_SHARE
from ldp_aggregator.statements.warnings import find_warnings
from ldp_aggregator.training_sources import TOKEN_VARIABLE, read_training_data
from ldp_aggregator.views import sections
from ldp_aggregator.views.estimate_rows import DEVIATION, EstimateRow, build_table, dump_table
from ldp_aggregator.views.feature_sections import build_classes, build_features, build_shares
from ldp_aggregator.views.series_sections import build_full_table, build_series
from ldp_aggregator.wording.values import RoundShare

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command(cls=Command)
@argument(
    "sources",
    metavar="SOURCE...",
    nargs=-1,
    required=True,
    help="The URL of a survey at a collector (with the operator's token in LDP_OPERATOR_TOKEN), the URL of a "
    "store, a snapshot file, or, with --plan, an archive of raw reports.",
)
@option("-o", "--output", type=OutputFile(), required=True, help="The model file to write.")
@json_option
@option("--csv", "csv_file", type=OutputFile(), help="Write all estimates to this CSV file, too.")
@option(
    "--audit",
    "audit_file",
    type=_PATH,
    help="Add this audit of the survey, from ldp-audit --json, to the model file.",
)
@option("--plan", "plan_file", type=_PATH, help="The survey or compiled plan of an archive of raw reports.")
@option(
    "--survey",
    "surveys",
    metavar="ID",
    multiple=True,
    help="The survey to read from a store with several. Repeat the option for each round of the survey.",
)
@option(
    "--wave",
    default=LAST_WAVE,
    metavar="NAME",
    help='The wave to estimate, in a survey with waves: its name, "last" (the last with reports) or "all".',
)
@option(
    "--tables",
    type=click.Choice(TABLES),
    default=POOLED,
    help="In a survey with waves: whether the model knows the features from all waves, or from its own.",
)
@option(
    "--discount",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="The weight of the tables of each wave further from the model's own, if features change.",
)
@advanced_option(
    "--estimator",
    type=click.Choice(list(ESTIMATORS)),
    default="default",
    help="How shares are estimated from reports.",
)
@advanced_option(
    "--onnx", "onnx_file", type=OutputFile(), help="Write the model as ONNX, too. Needs the extra [onnx]."
)
@advanced_option(
    "--dask",
    "scheduler",
    metavar="ADDRESS",
    help="Read archives on the Dask cluster at this address, instead of on the processors of this machine.",
)
@advanced_option("--allow-empty", is_flag=True, help="Write a model even if no report was counted.")
@version_option
def main(
    sources: tuple[str, ...],
    output: Path,
    onnx_file: Path | None,
    csv_file: Path | None,
    as_json: bool,
    estimator: str,
    plan_file: Path | None,
    audit_file: Path | None,
    allow_empty: bool,
    surveys: tuple[str, ...],
    scheduler: str | None,
    wave: str,
    tables: str,
    discount: float,
) -> None:
    """Train a Naive Bayes model on the reports of one survey; without a label, write its estimates alone.

    The reports of several sources are added up if the sources have one plan, or are rounds of one survey. A
    validation round (ldp-survey validate) selects the features that the model keeps. Each report
    counts once across all archives. Duplicates between other sources are not detected, so give each report
    in one source only.

    A survey of silos trains a model, too. If the sources contain several such surveys, for example with
    different epsilons, or also a survey of people, the estimates of all are pooled, weighted by their
    precision. The surveys must have the same label and features.

    An archive of raw reports is a file of concatenated reports, of any size, which may be compressed with
    gzip. Counting archives needs temporary files (in TMPDIR), smaller than the unpacked archives, and about
    300 MB of memory for each processor. With --dask, the workers must see the archives, and TMPDIR, under the
    same paths.

    $ ldp-train http://localhost:8000/v1/surveys/health-2027 -o model.json
    $ ldp-train sqlite:///ldp.db --survey health-2027 -o model.json --csv estimates.csv
    $ ldp-train snapshot.json --audit audit.json -o model.json
    $ ldp-train reports.bin --plan survey.toml -o model.json
    $ ldp-train http://localhost:8000/v1/surveys/mood-2027 --wave 2027-03 -o march.json
    """
    outputs = {"--output": output, "--onnx": onnx_file, "--csv": csv_file}
    require_distinct(outputs, [*sources, plan_file, audit_file])
    if onnx_file:
        ONNX.load()
    snapshot, validation, silos = read_training_data(
        sources,
        plan=_load_plan(plan_file) if plan_file else None,
        surveys=surveys,
        token=os.environ.get(TOKEN_VARIABLE),
        warn=lambda notice: click.echo(f"warning: {notice}", err=True),
        workers=scheduler or ALL_PROCESSORS,
        show=show_progress,
    )
    if onnx_file and not snapshot.plan.label.exists:
        raise no_classifier(snapshot.plan, "leave --onnx out")
    chosen = snapshot.select(wave)
    _require_reports(chosen, silos, allow_empty)
    audit = read_audit(audit_file, snapshot.plan) if audit_file else None
    make = partial(make_results, wave=wave, tables=tables, discount=discount)
    results = make(snapshot, estimator, validation=validation, silos=silos, audit=audit)
    try:
        save_results(output, results)
        _write_further(onnx_file, csv_file, results)
    finally:  # the summary is printed even if a file cannot be written
        click.echo(dump_summary(results) if as_json else f"{format_summary(results)}\n")
    *others, last = [str(path) for path in outputs.values() if path]
    click.echo(f"wrote {', '.join(others)}{' and ' if others else ''}{last}", err=as_json)


def _write_further(onnx_file: Path | None, csv_file: Path | None, results: Results) -> None:
    if onnx_file:
        classifiers.save_onnx(onnx_file, classifiers.NaiveBayes.from_results(results))
    if csv_file:
        write_atomically(csv_file, dump_table(build_full_table(results)).encode())


def _load_plan(path: Path) -> Plan | SiloPlan:
    plan = ANY_PLANS.load(path)
    if isinstance(plan, Plan) and plan.relay and not plan.relay.has_keys:
        raise SurveyError("needs both public keys: no device can answer this survey yet", "relay")
    return plan


def _require_reports(snapshot: AnySnapshot, silos: Sequence[SiloSnapshot], allow_empty: bool) -> None:
    if allow_empty or any(total.n for each in (snapshot, *silos) for total in each.totals.values()):
        return
    refused, reasons = sum(snapshot.rejections.values()), sorted(snapshot.rejections.items())
    listed = ", ".join(f"{count} {reason}" for reason, count in reasons)
    why = f"{refused:,} refused ({listed})" if refused else "none refused"
    if Reason.WRONG_PLAN in snapshot.rejections:
        plan = snapshot.plan
        why += f"; {Reason.WRONG_PLAN}: these reports do not answer {plan.id} with digest {plan.digest}"
        why += ", so give the survey or plan that they answer"
    sent = "message" if isinstance(snapshot, SiloSnapshot) else "report"
    raise click.ClickException(
        f"no {sent} was counted, {why}; no model is written (--allow-empty writes one without {sent}s)"
    )


# -- the summary ------------------------------------------------------------------------------------


_ALL_ROWS = "--csv FILE writes all of them, with raw estimates and intervals"


def format_summary(results: Results) -> str:
    table, unknown = build_table(results.estimates, results.plan), RoundShare(UNKNOWN_SHARE)
    shown = [
        _append(
            build_shares(results, table), Note(TEXTS.find("tables.terminal-shares", unknown_share=unknown))
        ),
        sections.build_tables(results, table),
        _append(sections.build_data(results), *_explain_features(results)),
        *(_build_class_sections(results, table, unknown) if results.estimates.has_label else []),
        build_series(results, summary=True),
        sections.build_validation(results),
        sections.build_fake_reports(results),
        sections.build_privacy(results),
        sections.build_model(results),
        sections.build_warnings(results),
    ]
    return write_document(sections.drop_empty(shown), _ALL_ROWS)


def dump_summary(results: Results) -> str:
    document = {
        "survey": results.plan.id,
        "plan_digest": results.plan.digest,
        "privacy": to_json(results.privacy),
        "estimates": results.estimates.as_dict(),
        "warnings": list(map(str, find_warnings(results.estimates))),
        **({"series": to_json(results.series)} if results.series else {}),
    }
    return json.dumps(document, allow_nan=False)


def _explain_features(results: Results) -> list[Note]:
    label = results.plan.label
    relevance = [Note(TEXTS.find("tables.terminal-relevance", label=label.name))] if label.exists else []
    return [*relevance, *sections.list_mechanisms(results)]


def _build_class_sections(
    results: Results, table: Sequence[EstimateRow], unknown: RoundShare
) -> list[Section]:
    legend = [TEXTS.find("tables.terminal", unknown_share=unknown)]
    if any(row.statistic == DEVIATION for row in table):
        legend.append(TEXTS.find("tables.terminal-deviation"))
    return [
        _append(build_classes(results, table), Note(TEXTS.find("tables.terminal-prior"))),
        _append(build_features(results, table), *map(Note, legend)),
    ]


def _append(section: Section, *notes: Note) -> Section:
    return replace(section, parts=[*section.parts, *notes])
