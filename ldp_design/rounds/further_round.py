"""Helpers for the survey files of further rounds: the model's rounds, the new id and family."""

from __future__ import annotations

from encoders.errors import LdpError
from encoders.survey import Survey
from ldp_aggregator.models.model_file import Model, ModelError
from ldp_aggregator.snapshot import SnapshotError, choose_covering_plan

TOKENS_NOTE = (
    "Invite only people who were not invited to an earlier round: an invitation does not show whether its "
    "holder has answered an earlier round."
)


def require_label(survey: Survey) -> None:
    """Raise LdpError unless a survey has a label, which the models of further rounds predict."""
    if not survey.label.exists:
        raise LdpError("the survey has no label to predict: to ask more people, keep this survey open")


def is_trained_on(model: Model, survey: Survey) -> bool:
    """Return whether a model was trained on a survey, alone or with other rounds."""
    try:
        return choose_covering_plan(model.people_plan, survey.compile()) == model.plan
    except (ModelError, SnapshotError):
        return False


def further_round_entry(survey: Survey, name: str) -> dict[str, str]:
    """Return the entries of [survey] that change in a further round: the id, and the family if it is new."""
    return {"id": name} if survey.family else {"id": name, "family": survey.id}
