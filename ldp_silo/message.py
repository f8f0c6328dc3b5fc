"""Makes the message of a silo: adds noise to exact counts, under an id that is drawn or invited."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.randomness import RandomSource
from encoders.report import Report, pack
from encoders.survey.compiled_plan import draw_report_id
from encoders.survey.invitation import read_invitation
from encoders.survey.silo_plan import SiloPlan


def draw_message_id(plan: SiloPlan, token: str | None, rng: RandomSource) -> bytes:
    """Return the id of a message: the token's id, or a random one; raise TokenError for a wrong token."""
    invited = read_invitation(plan, token)
    return invited[1] if invited else draw_report_id(plan, plan.question, rng)


def make_message(plan: SiloPlan, counts: Sequence[int], message_id: bytes, rng: RandomSource) -> bytes:
    payload = plan.mechanism.perturb(counts, rng)  # the last line that reads exact counts
    return pack(Report(plan.digest_bytes, plan.question.index, message_id, payload))
