"""Reads the results of a survey from a model file or a snapshot."""

from __future__ import annotations

from pathlib import Path

from encoders.errors import LdpError
from encoders.file_kind import describe_other, find_kind
from ldp_aggregator.classifiers.curator_file import CentralModelFile, read_central_content
from ldp_aggregator.classifiers.model_document import ModelKind, parse_content
from ldp_aggregator.classifiers.model_file import parse_model
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.privacy_statement import state_privacy
from ldp_aggregator.snapshot import AnySnapshot, read_snapshot
from ldp_aggregator.views.survey_results import SurveyResults


class ResultsError(LdpError):
    """A file whose results cannot be shown; the message states why."""


def read_results(path: Path) -> SurveyResults | CentralModelFile:
    """Read a model file of ldp-train or ldp-central, or a snapshot, whose estimates are computed.

    Raises
    ------
    ResultsError
        If the file is neither.
    ModelError
        See :func:`parse_model`.
    SnapshotError
        See :func:`read_snapshot`.
    """
    data = path.read_bytes()
    kind, _ = find_kind(data)
    if kind == "model":
        content = parse_content(data, str(path))
        if content["kind"] == ModelKind.CENTRAL:
            return read_central_content(content, str(path))
        return parse_model(data, str(path)).results
    if kind == "snapshot":
        return estimate_results(read_snapshot(data, str(path)))
    raise ResultsError(
        f"{path}: is neither a model file, which ldp-train and ldp-central write, nor a snapshot of a "
        f"collector, or it is truncated{describe_other(data)}"
    )


def estimate_results(snapshot: AnySnapshot) -> SurveyResults:
    """Return the results of a snapshot, with the poisoning check."""
    estimates = estimate_snapshot(snapshot, poisoning=True)
    return SurveyResults(plan=snapshot.plan, estimates=estimates, privacy=state_privacy(snapshot))
