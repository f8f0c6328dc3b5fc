"""Checks that the person has consented to a survey, and to the plan to be used."""

from __future__ import annotations

from encoders.survey.compiled_plan import AnyPlan
from ldp_client.errors import ConsentError, PlanError
from ldp_client.journal.table import JournalEntry
from ldp_client.receipt import State


def require_consent(entry: JournalEntry | None, failed_grant: str = "") -> JournalEntry:
    """Return `entry`, the survey's journal entry, if the person has agreed; otherwise raise ConsentError."""
    if entry is None or entry.state is State.NO_CONSENT:
        raise ConsentError(
            f"the person has not agreed to this survey: call grant() when they agree{failed_grant}"
        )
    return entry


def require_pinned_plan(entry: JournalEntry | None, plan: AnyPlan) -> None:
    """Raise PlanError if `plan` is not the plan of the survey that this device is bound to."""
    if entry and entry.digest != plan.digest:
        raise PlanError(
            f"the plan has digest {plan.digest}, but this device is bound to {entry.digest}, which it saw "
            "first: give the changed survey a new id"
        )
