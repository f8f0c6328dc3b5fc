"""A survey as a silo is bound to it: the plan of silos that was agreed to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from encoders.errors import SurveyError
from encoders.survey.any_survey import OF_PEOPLE, load_any_plan_file
from encoders.survey.silo_plan import SiloPlan
from ldp_client.bound_survey import BoundSurvey
from ldp_client.errors import ConsentError
from ldp_client.opt_out import is_variable_set
from ldp_client.plan_source import PlanReader
from ldp_silo.silo_journal import SiloJournal

OFF_VARIABLE = "LDP_CLIENT_OFF"


def load_silo_plan_file(path: Path) -> SiloPlan:
    """Load a plan of silos from an authored survey or a compiled plan."""
    plan = load_any_plan_file(path, of_silos=True)
    if not isinstance(plan, SiloPlan):
        raise SurveyError(OF_PEOPLE, "kind")
    return plan


SILOS = PlanReader(SiloPlan, SiloPlan.from_json, load_silo_plan_file)
"""Reads the plans of silos."""


@dataclass
class SiloSurveyBinding(BoundSurvey[SiloPlan]):
    """The plan of silos that this journal is bound to."""

    journal: SiloJournal

    def require_permission(self) -> None:
        """Raise ConsentError if ``LDP_CLIENT_OFF`` is set.

        ``DO_NOT_TRACK`` is the wish of a person at their device. A silo sends only when its operator starts
        it, so the variable does not stop it.
        """
        if is_variable_set(OFF_VARIABLE):
            raise ConsentError(
                f"the environment variable {OFF_VARIABLE} is set, so nothing is sent: unset it", "client-off"
            )
