"""A survey as a silo is bound to it: the plan of silos that was agreed to."""

from __future__ import annotations

from dataclasses import dataclass

from encoders.survey.silo_plan import SiloPlan
from ldp_client.bound_survey import BoundSurvey
from ldp_client.errors import ConsentError
from ldp_client.opt_out import is_variable_set
from ldp_silo.silo_journal import SiloJournal

OFF_VARIABLE = "LDP_CLIENT_OFF"


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
