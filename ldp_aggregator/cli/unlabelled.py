"""Fits the classifier of ldp-train to rows without labels from a CSV file, and describes the result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from encoders.survey.missing_codes import parse_missing_codes, set_missing_codes
from ldp_aggregator.cli.file_options import read_rows
from ldp_aggregator.estimation import Estimates, EstimationError
from ldp_aggregator.snapshot import AnySnapshot, Snapshot

if TYPE_CHECKING:
    from ldp_aggregator.models.unlabelled_training import UnlabelledClassifier


def check_unlabelled_options(path: Path | None, public: bool, codes: object, estimator: str) -> None:
    """Raise UsageError if the options on rows without labels do not fit each other."""
    if public and not path:
        raise click.UsageError("--unlabelled-public needs --unlabelled: it declares those rows public")
    if codes and not path:
        raise click.UsageError("--missing-codes needs --unlabelled: it is about the codes in those rows")
    if path and estimator != "default":
        raise click.UsageError("--unlabelled needs the default estimator: leave --estimator out")


def fit_to_file(
    path: Path | None,
    snapshot: AnySnapshot,
    estimates: Estimates,
    second_validation: Snapshot | None,
    public: bool,
    codes: tuple[str, ...],
    multiline: bool,
    warn: Callable[[str], None],
) -> UnlabelledClassifier | None:
    """Fit a classifier to the reports and to the rows of a CSV file, if there is one; pass on warnings."""
    if not path:
        return None
    # the method loads only if it is used
    from ldp_aggregator.models.unlabelled_training import fit_unlabelled

    if estimates.silos or not isinstance(snapshot, Snapshot):
        raise EstimationError(
            "--unlabelled needs reports of people, and these sources contain messages of silos: leave "
            "--unlabelled out"
        )
    plan = snapshot.plan
    entries = set_missing_codes(plan.entries, parse_missing_codes(codes))
    columns = read_rows(path, entries, multiline)
    if plan.label.name in columns:
        warn(f"{path}: the labels in its column {plan.label.name!r} are ignored")
    classifier = fit_unlabelled(
        snapshot, estimates, columns, public=public, second_validation=second_validation, entries=entries
    )
    if contradicting := classifier.summary.contradicting:
        warn(
            f"{path}: the rows contradict the reports in {', '.join(contradicting)}; they were weighted to "
            "agree with the reports"
        )
    return classifier
