"""What people are told: what a survey promises, and each outcome in words. The other examples share it."""

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
    State.REJECTED: "This survey and this device do not fit together; nothing more is sent.",
    State.EXPIRED: "The survey is over: nothing more is sent. An answer sent before may have been counted.",
    State.WITHDRAWN: "You have withdrawn: your answer is deleted from this device, and no other is made.",
    State.ALREADY_REPORTED: "You have answered before, and everybody answers once: nothing new was sent.",
    State.INVALID: "An answer does not fit the survey: nothing was sent.",
    State.UNAVAILABLE: "That did not work: nothing was sent. Please try again later.",
}
EXPLAINED = (State.NO_CONSENT, State.REJECTED, State.INVALID, State.UNAVAILABLE)


def in_words(receipt: Receipt) -> str:
    """Tell a person what became of her answer."""
    sentence = SENTENCES[receipt.state]
    why = "; ".join(": ".join(problem) for problem in receipt.problems) or receipt.why
    return f"{sentence} ({why})" if why and receipt.state in EXPLAINED else sentence


def in_short(receipt: Receipt) -> str:
    """Tell an operator: the state and why."""
    why = ": ".join(filter(None, [receipt.field, receipt.why or receipt.reason]))
    return f"{receipt.state} ({why})" if why else str(receipt.state)


def promise(plan: Plan) -> str:
    """Say what taking part means, and what epsilon means to somebody who never heard of it.

    Whatever had even odds has odds of at most e^epsilon to 1 for whoever sees the report.
    """
    most = ceil(100 / (1 + exp(-float(plan.epsilon))))
    return (
        f"Your answers stay on this device. {_asked(plan)} by chance, and sends nothing but that, once.\n\n"
        "How much that can give away is limited: whoever thinks that something about you is as likely true "
        f"as false can be at most {most}% sure of it after seeing what was sent (epsilon = "
        f"{float(plan.epsilon):g}).\n\n"
        f"Fingerprint of these rules, to compare with the published one: {plan.digest}"
    )


def _asked(plan: Plan) -> str:
    name = plan.row_label.name
    if plan.validation:
        return f'It guesses "{name}" from the others, looks whether that is right, disguises the outcome'
    return f'It draws ONE question by lot, disguises your answer to it, together with "{name}",'
