"""Helpers for the survey files of further rounds: the model's rounds, the new id and family."""

from __future__ import annotations

from encoders.errors import LdpError
from encoders.survey import Survey
from encoders.survey.plan_checks import TOKEN
from ldp_aggregator.classifiers.model_file import Model, ModelError
from ldp_aggregator.snapshot import SnapshotError, choose_covering_plan

_RELAY_NOTE = (
    "This round needs a batch of people of its own: the relay mixes only reports of one plan. Make new keys "
    "for it, and give the new plan to relay and collector."
)
_TOKENS_NOTE = (
    "Invite only people who were not invited to an earlier round: an invitation does not show whether its "
    "holder has answered an earlier round."
)


def require_label(survey: Survey) -> None:
    """Raise LdpError unless a survey has a label, which the models of further rounds predict."""
    if not survey.label.exists:
        raise LdpError("the survey has no label to predict: to ask more people, keep this survey open")


def list_notes(survey: Survey) -> list[str]:
    """Return what the author must know of a further round of a survey by invitation, or with a relay."""
    tokens = [_TOKENS_NOTE] if survey.enrolment == TOKEN else []
    return tokens + ([_RELAY_NOTE] if survey.relay else [])


def is_trained_on(model: Model, survey: Survey) -> bool:
    """Return whether a model was trained on a survey, alone or with other rounds."""
    try:
        return choose_covering_plan(model.people_plan, survey.compile()) == model.plan
    except (ModelError, SnapshotError):
        return False


def further_round_entry(survey: Survey, name: str) -> dict[str, str]:
    """Return the entries of [survey] that change in a further round: the id, and the family if it is new."""
    return {"id": name} if survey.family else {"id": name, "family": survey.id}
