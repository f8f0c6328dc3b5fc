"""ldp-train: from collected totals to a model file."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from encoders.errors import LdpError, Reason
from encoders.explain.text import wrap_text
from encoders.survey.plan_files import load_plan_file
from encoders.text_table import format_table
from ldp_aggregator.cli.output_file import OutputFile, require_no_input
from ldp_aggregator.estimation import (
    ESTIMATORS,
    Estimates,
    FeatureResult,
    IntervalEstimate,
    NumberResult,
    estimate_snapshot,
)
from ldp_aggregator.estimation.relevance import format_relevance
from ldp_aggregator.models.export.onnx import require_onnx, save_onnx
from ldp_aggregator.models.model_file import load_model, save_model
from ldp_aggregator.models.privacy_statement import build_privacy_statement, read_audit
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.training_sources import TOKEN_VARIABLE, read_sources

_PATH = click.Path(dir_okay=False, path_type=Path)
UNKNOWN = "unknown"
INTERVAL = len("[0.0000, 1.0000]")
_WHOLE = 2.0
"""How wide an interval of a gain is that says nothing."""


@click.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("-o", "--output", type=OutputFile(), required=True, help="The model file to write.")
@click.option("--onnx", "onnx_file", type=OutputFile(), help="Write the model as ONNX too (extra [onnx]).")
@click.option("--estimator", type=click.Choice(list(ESTIMATORS)), default="default", show_default=True)
@click.option("--plan", "plan_file", type=_PATH, help="Survey or compiled plan of raw reports.")
@click.option("--audit", "audit_file", type=_PATH, help="The survey's audit (ldp-audit --json), to be kept.")
@click.option("--allow-empty", is_flag=True, help="Write a model even if no report was counted.")
@click.option(
    "--survey",
    "surveys",
    multiple=True,
    help="Which survey to read from a store that holds several; name each of its rounds.",
)
@click.option(
    "--dask",
    "scheduler",
    metavar="ADDRESS|local",
    help="Spread archives over a Dask cluster, or over this machine's processors; the totals are the same.",
)
def main(
    sources: tuple[str, ...],
    output: Path,
    onnx_file: Path | None,
    estimator: str,
    plan_file: Path | None,
    audit_file: Path | None,
    allow_empty: bool,
    surveys: tuple[str, ...],
    scheduler: str | None,
) -> None:
    """Train a Naive Bayes model on the reports of one survey.

    A SOURCE is a collector's URL (http://host:8000/v1/surveys/ID, with the operator's token in
    LDP_OPERATOR_TOKEN), a store's URL (sqlite:///ldp.db, redis://...), a snapshot file, or an archive of
    raw reports (with --plan): concatenated, maybe compressed with gzip, of any size. Several sources of
    one plan, or of the rounds of one survey, are added up; a round that validates a model (ldp-survey
    validate) tells which features it keeps. A report counts once across all archives; name
    no reports by two sources of another kind.

    Archives beyond some tens of megabytes take temporary files (in TMPDIR), about as large as they are
    unpacked. With --dask, workers must see them under the same paths, and hold one archive each in memory.
    """
    if onnx_file and onnx_file.resolve() == output.resolve():
        raise click.UsageError(f"--output and --onnx are the same file, {output}: name two")
    for each in (output, onnx_file):
        require_no_input(each, [*sources, plan_file, audit_file])
    try:
        if onnx_file:
            require_onnx()
        plan = load_plan_file(plan_file) if plan_file else None
        token = os.environ.get(TOKEN_VARIABLE)
        snapshot, validation = read_sources(
            sources, plan=plan, surveys=surveys, token=token, warn=_warn, scheduler=scheduler
        )
        if not allow_empty:
            _require_reports(snapshot)
        audit = read_audit(audit_file, snapshot.plan) if audit_file else None
        estimates = estimate_snapshot(snapshot, estimator, validation, poisoning=True)
        try:
            save_model(output, snapshot, estimates, audit)
            if onnx_file:
                save_onnx(onnx_file, load_model(output))
        finally:  # the summary is printed even if a file cannot be written
            click.echo(summary(estimates, snapshot))
            statement = build_privacy_statement(snapshot, audit, estimates.validation_snapshot)
            click.echo("\n".join(["", *_privacy(statement)]))
    except (LdpError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"\nwrote {output}" + (f" and {onnx_file}" if onnx_file else ""))


def _require_reports(snapshot: Snapshot) -> None:
    """Refuse to train on no report, and name why reports were refused."""
    if any(total.n for total in snapshot.totals.values()):
        return
    refused = sum(snapshot.rejections.values())
    why = f"{refused:,} refused ({_counted(snapshot.rejections)})" if refused else "none refused"
    if Reason.WRONG_PLAN in snapshot.rejections:
        plan = snapshot.plan
        why += f"; {Reason.WRONG_PLAN}: they do not answer {plan.id} with digest {plan.digest}"
        why += ", so name the survey or plan that they answer"
    raise click.ClickException(
        f"no report was counted, {why}; no model is written (--allow-empty writes one from no reports)"
    )


def _warn(notice: str) -> None:
    click.echo(f"warning: {notice}", err=True)


def summary(estimates: Estimates, snapshot: Snapshot) -> str:
    """Return what an operator should see at once: reports per question, the prior, warnings."""
    lines = [f"{estimates.survey}: {estimates.reports} reports, epsilon {snapshot.plan.epsilon}", ""]
    alone = (
        []
        if estimates.label_n is None
        else [[f"  {estimates.label}", f"{estimates.label_n} reports", *[""] * 3]]
    )
    kept = estimates.used_features
    asked = (
        _asked(feature, estimates.label, place in kept) for place, feature in enumerate(estimates.features)
    )
    lines += format_table([*alone, *asked], "<><<<")
    lines += ["", f"P({estimates.label}), with 95% intervals", *_prior(estimates)]
    lines += _rejected(snapshot)
    lines += ["", *estimates.poisoning.lines] if estimates.poisoning else []
    if estimates.validation:
        lines += ["", *_validated(estimates.validation), *_rejected(estimates.validation_snapshot)]
        if estimates.validation.poisoning:
            first, *others = estimates.validation.poisoning.lines
            lines += ["", f"{estimates.validation.survey}: {first}", *others]
    lines += ["", *(f"warning: {each}" for each in estimates.warnings)] if estimates.warnings else []
    return "\n".join(lines)


def _privacy(said: dict[str, Any]) -> list[str]:
    """Say what a person gave away, and separately what would hold if reports were shuffled."""
    asked = said["questions"] + said.get("validation", {}).get("questions", [])
    spent = max((entry["epsilon"] for entry in asked), key=Decimal)
    audit, shuffled = said["audit"], said["only_if_shuffled"]
    lines = [f"privacy: one report per person, epsilon {said['epsilon']}, of which {spent} is spent at most"]
    if audit:
        verdict = "passed" if audit["passed"] else "FAILED"
        lines.append(f"  audit {verdict}, {audit['trials']:,} messages of each person compared")
    if shuffled["epsilon"] < float(said["epsilon"]):
        central = f"epsilon {shuffled['epsilon']:.3g} with delta {shuffled['delta']:.1g}"
        lines.append(f"  only if a trusted shuffler hid who sent what, and when: central {central}")
    return lines


def _asked(feature: FeatureResult | NumberResult, label: str, kept: bool) -> list[str]:
    """Return a row: how many reports, by which mechanism, tell of a feature, and what it explains."""
    if isinstance(feature, NumberResult):
        mean, square = feature.mean_question, feature.square_question
        counts, mechanisms = f"{mean.n} + {square.n}", [mean.mechanism, square.mechanism]
        others: tuple[str, ...] = ()
    else:
        counts, mechanisms, others = str(feature.n), [feature.mechanism], feature.asked_with
    names = " + ".join(name for name in mechanisms if name)
    if not names:
        return [f"  {feature.name}", "", "not asked", "", ""]
    shared = [f"the same as of {', '.join(others)}"] if others else []
    return [
        f"  {feature.name}",
        f"{counts} reports",
        names,
        _explains(feature.relevance.estimate, label),
        "; ".join([*shared, *([] if kept else ["not kept"])]),
    ]


def _explains(relevance: IntervalEstimate, label: str) -> str:
    figure = format_relevance(*map(float, (relevance.value, relevance.low, relevance.high)))
    return f"explains {figure} of {label}" if figure else ""


def _prior(estimates: Estimates) -> list[str]:
    figure = estimates.raw_prior
    each = [_interval(*ends) for ends in zip(figure.low, figure.high, strict=True)]
    together = [
        _interval(*ends) for ends in zip(figure.simultaneous_low, figure.simultaneous_high, strict=True)
    ]
    shown = [f"{value:.4f}" if math.isfinite(value) else UNKNOWN for value in figure.value]
    names = max(len(name) for name in estimates.classes)
    values = max(len(value) for value in shown)
    rows = [
        ("", "", "of each", "of all together"),
        *zip(estimates.classes, shown, each, together, strict=True),
    ]
    return [
        f"  {name:<{names}}  {value:>{values}}  {one:<{INTERVAL}}  {all_}".rstrip()
        for name, value, one, all_ in rows
    ]


def _rejected(snapshot: Snapshot | None) -> list[str]:
    if not (snapshot and snapshot.rejections):
        return []
    return ["", f"rejected: {_counted(snapshot.rejections)}"]


def _counted(rejections: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(rejections.items()))


def _validated(judged: Estimates) -> list[str]:
    """Say how often devices found a model right, what fewer features gain, and which of them it keeps."""
    verdicts = judged.validation_result
    assert verdicts is not None
    model, right, gains = verdicts.model, verdicts.accuracy, verdicts.gains
    used = [model.features[place].name for place in model.order]
    rows = [
        ["", "right", "95% interval", ""],
        [
            f"  all {len(used)}",
            _known(float(right.value), ".4f"),
            _interval(float(right.low), float(right.high)),
            "",
        ],
        ["", "gain over all", "95% intervals of all tops together", ""],
    ]
    for place, top in enumerate(model.top_k):
        low, high = float(gains.simultaneous_low[place]), float(gains.simultaneous_high[place])
        ends = f"[{low:+.4f}, {high:+.4f}]" if high - low < _WHOLE else UNKNOWN
        mark = "kept" if place == verdicts.selected else ""
        rows.append([f"  top {top}", _known(gains.value[place], "+.4f"), ends, mark])
    kept = f"all {len(used)} that were judged, since no top surely does better"
    if verdicts.selected is not None:
        names = ", ".join(used[: model.top_k[verdicts.selected]])
        kept = f"{names}: some top surely does better than all, and these few about as well as the best"
    said = (
        f"{judged.survey}: {judged.reports} devices judged an earlier model, by all features and by a top few"
    )
    return [said, *format_table(rows, "<>><"), *wrap_text(f"the model keeps {kept}", "  ")]


def _known(value: float, digits: str) -> str:
    return format(value, digits) if math.isfinite(value) else UNKNOWN


def _interval(low: float, high: float) -> str:
    """Show an interval of a share, unless it says nothing."""
    return UNKNOWN if low <= 0 and high >= 1 else f"[{low:.4f}, {high:.4f}]"
