"""Texts for people, shared by the other examples: what taking part means, and a sentence for each state."""

from __future__ import annotations

from math import ceil, exp

from encoders.survey import Plan
from ldp_client import Receipt, State

SENTENCES = {
    State.NO_CONSENT: "You do not take part: nothing was sent.",
    State.READY: "You have agreed, but not answered yet: nothing was sent.",
    State.QUEUED: "You have answered: your disguised answer waits here until it can be delivered.",
    State.SENT: "You have answered: your disguised answer has arrived, and counts once. Thank you!",
    State.DUPLICATE: "You have answered: your disguised answer has arrived, and counts once. Thank you!",
    State.REJECTED: "This survey does not accept reports from this device; nothing more is sent.",
    State.EXPIRED: "The survey is over: nothing more is sent. An answer sent before may have been counted.",
    State.WITHDRAWN: "You have withdrawn: your answer is deleted from this device, and no other is made.",
    State.WAITING: "You have agreed, and are asked later: nothing was sent.",
    State.MISSED: "You were asked earlier, and the time is over: nothing was sent.",
    State.NOT_ASKED: "You are not asked, because your time was over when you agreed: nothing was sent.",
    State.ALREADY_REPORTED: "You have answered before, and everybody answers once: nothing new was sent.",
    State.INVALID: "An answer does not fit the survey: nothing was sent.",
    State.UNAVAILABLE: "That did not work: nothing was sent. Please try again later.",
}
EXPLAINED = (State.NO_CONSENT, State.REJECTED, State.INVALID, State.UNAVAILABLE)


def in_words(receipt: Receipt) -> str:
    """Return a sentence for the person about the state of their answer."""
    sentence = SENTENCES[receipt.state]
    why = "; ".join(": ".join(problem) for problem in receipt.problems) or receipt.why
    return f"{sentence} ({why})" if why and receipt.state in EXPLAINED else sentence


def in_short(receipt: Receipt) -> str:
    """Return the state and the reason, for an operator."""
    why = ": ".join(filter(None, [receipt.field, receipt.why or receipt.reason]))
    return f"{receipt.state} ({why})" if why else str(receipt.state)


def promise(plan: Plan) -> str:
    """Explain what taking part means, and what epsilon means, without technical terms.

    Even odds become odds of at most e^epsilon to 1 for anybody who sees the report.
    """
    percent = ceil(100 / (1 + exp(-float(plan.epsilon))))
    most = f"at most {percent}%" if percent < 100 else "almost completely"
    return (
        f"Your answers stay on this device. {_asked(plan)} by chance, and sends only that, once.\n\n"
        "What this can reveal is limited: if somebody thinks that something about you is as likely true as "
        f"false, they can be {most} sure of it after seeing what was sent (epsilon = "
        f"{float(plan.epsilon):g}).\n\n"
        f"Fingerprint of these rules, to compare with the published one: {plan.digest}"
    )


def _asked(plan: Plan) -> str:
    name = plan.row_label.name
    if not plan.row_label.exists:
        return "It draws ONE question at random, disguises your answer to it"
    if plan.validation:
        return f'It predicts "{name}" from the others, checks if that is right, disguises the result'
    return f'It draws ONE question at random, disguises your answer to it, together with "{name}",'
