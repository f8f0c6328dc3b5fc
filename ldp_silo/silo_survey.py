"""A survey as a silo is bound to it: the plan of silos that was agreed to, and the making of its message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from encoders.errors import SurveyError
from encoders.randomness import RandomSource
from encoders.report import Report, pack
from encoders.survey.any_survey import load_any_plan_file
from encoders.survey.invitation import read_invitation
from encoders.survey.report_id import draw_report_id
from encoders.survey.silo_plan import SiloPlan
from ldp_client.bound_survey import BoundSurvey
from ldp_client.errors import ConsentError
from ldp_client.opt_out import is_variable_set
from ldp_client.plan_reader import PlanReader
from ldp_silo.silo_journal import SiloJournal

OFF_VARIABLE = "LDP_CLIENT_OFF"


def load_silo_plan_file(path: Path) -> SiloPlan:
    """Load a plan of silos from an authored survey or a compiled plan."""
    plan = load_any_plan_file(path)
    if not isinstance(plan, SiloPlan):
        raise SurveyError('this survey is answered by people: a survey of silos has kind = "silo"', "kind")
    return plan


SILOS = PlanReader(SiloPlan, SiloPlan.from_json, load_silo_plan_file)
"""Reads the plans of silos."""


@dataclass
class SiloSurveyBinding(BoundSurvey[SiloPlan]):
    """The plan of silos that this journal is bound to."""

    journal: SiloJournal

    @property
    def reader(self) -> PlanReader[SiloPlan]:
        """Reads the plans of silos."""
        return SILOS

    def require_permission(self) -> None:
        """Raise ConsentError if ``LDP_CLIENT_OFF`` is set.

        ``DO_NOT_TRACK`` is the wish of a person at their device. A silo sends only when its operator starts
        it, so the variable does not stop it.
        """
        if is_variable_set(OFF_VARIABLE):
            raise ConsentError(
                f"the environment variable {OFF_VARIABLE} is set: nothing is drawn or sent", "client-off"
            )


def draw_message_id(plan: SiloPlan, token: str | None, rng: RandomSource) -> bytes:
    """Return the id of a message: the token's id, or a random one.

    Raises
    ------
    TokenError
        If the survey needs a token and this is not one of its tokens, or if it needs none.
    """
    invited = read_invitation(plan, token)
    return invited[1] if invited else draw_report_id(plan, plan.question, rng)


def make_message(plan: SiloPlan, counts: Sequence[int], message_id: bytes, rng: RandomSource) -> bytes:
    """Add noise to exact counts, and return the bytes of the message."""
    payload = plan.mechanism.perturb(counts, rng)  # the last line that reads exact counts
    return pack(Report(plan.digest_bytes, plan.question.index, message_id, payload))
