"""Whether the person has consented: to the survey, and to one plan of it."""

from __future__ import annotations

from encoders.survey.plan import Plan
from ldp_client.errors import ConsentError, PlanError
from ldp_client.journal.table import JournalEntry
from ldp_client.receipt import State


def require_consent(entry: JournalEntry | None) -> JournalEntry:
    """Return the entry of a survey; raise ConsentError unless the person has agreed to the survey."""
    if entry is None or entry.state is State.NO_CONSENT:
        raise ConsentError("the person has not agreed to this survey: grant() notes their consent")
    return entry


def require_pinned_plan(entry: JournalEntry | None, plan: Plan) -> None:
    """Raise PlanError if this device is bound to another plan of the survey."""
    if entry and entry.digest != plan.digest:
        raise PlanError(
            f"the plan has digest {plan.digest}, but this device is bound to {entry.digest}, which it saw "
            "first: a survey has one plan for good, and nothing is sent for another"
        )
