"""Builds the draft of a consent text, and the answers to questions of participants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from encoders.survey.display_texts import display_texts
from ldp_aggregator.dossier.asked import NOT_STATED, about, title_of
from ldp_aggregator.dossier.privacy import WEAK_EPSILON
from ldp_aggregator.dossier.source import DossierSource
from ldp_aggregator.dossier.statement import Statement, assumed, computed

_MAX_QUOTED = 300
"""Longer texts of the author are not repeated in the consent text, in characters."""
_MAX_TITLE = 100
"""A longer title of the main question is not repeated, in characters."""


def build_consent(source: DossierSource) -> dict[str, Any]:
    """Return the paragraphs of the draft, and its language."""
    languages = list(source.plan.texts.languages) if source.plan.texts else []
    others = [each for each in languages if each.partition("-")[0] != "en"]
    return {"paragraphs": list(_write_consent(source)), "other_languages": ", ".join(others)}


def _write_consent(source: DossierSource) -> Iterator[str]:
    plan = source.plan
    purpose = _quote(source, "purpose")
    yield f"You are invited to take part in the survey \u201c{title_of(plan)}\u201d. Its purpose: {purpose}"
    trust = (
        "What is sent can still show your answer almost as well as the answer itself."
        if plan.epsilon >= WEAK_EPSILON
        else "So nobody can be sure what you really answered."
    )
    yield (
        f"Your answers stay on your device. {_describe_choice(source)} {trust} Suppose somebody thinks "
        "that a fact about you is as likely true as false. After seeing what was sent, they can be at "
        f"most {source.belief_after(0.5)} sure."
    )
    invited = (
        " The people who gave you the invitation can know which message is yours."
        if plan.by_invitation
        else ""
    )
    yield (
        "Others may see that you took part, when, and from which internet address."
        + invited
        + " Other surveys "
        "about you add to what can be learned."
    )
    yield (
        "Taking part is your choice. You can stop until your message is sent. After that it cannot be taken "
        "back, because it is part of a total."
    )
    yield (
        f"How long data are kept: {_quote(source, 'retention')} Approval: {_quote(source, 'ethics')} "
        f"Questions: {_quote(source, 'contact')}"
    )


def _describe_choice(source: DossierSource) -> str:
    """Return what the device sends, in the words of the consent text."""
    plan = source.plan
    main = display_texts(plan).label.title
    named = f" (\u201c{main}\u201d)" if len(main) <= _MAX_TITLE else ""
    questions = "a few questions" if source.grouped else "one question"
    if len(plan.questions) == 1:
        chosen = "Your device takes your answers"
    elif plan.by_invitation:
        chosen = f"Your invitation picks {questions} by chance. Your device takes your answer"
    else:
        chosen = f"Your device picks {questions} by chance. It takes your answer"
    return (
        f"{chosen} together with the main question{named}, mixes chance into this, and sends only the mixed "
        "answer."
    )


def _quote(source: DossierSource, key: str) -> str:
    text = about(source.plan).get(key)
    if text is None:
        return f"[{key}: {NOT_STATED.lower()}]."
    text = " ".join(text.split())
    if len(text) > _MAX_QUOTED:
        return f"[{key}: see section 2]."
    return text if text.endswith((".", "!", "?")) else f"{text}."


def list_answers(source: DossierSource) -> list[tuple[str, Statement]]:
    """Return questions of participants, each with its answer in two sentences."""
    return [
        ("What could my neighbour learn about me?", _answer_neighbour(source)),
        ("Who sees my address?", _answer_address()),
        ("Can I take it back?", _answer_withdrawal(source)),
        ("What happens at a second survey?", _answer_second_survey(source)),
        ("What if I do not answer?", _answer_missing(source)),
        ("What if the collector is hacked?", _answer_attack(source)),
    ]


def _answer_neighbour(source: DossierSource) -> Statement:
    return computed(
        "If your neighbour sees your report, a statement about you that they believed with probability 50% "
        f"becomes at most {source.belief_after(0.5)} likely, and one of 10% at most "
        f"{source.belief_after(0.1)}. From the published results they learn what is true of people like you, "
        "as they would without your report, and they can see that you took part only if they watch your "
        "network.",
        source.odds_command,
    )


def _answer_address() -> Statement:
    return assumed(
        "Your network provider and the machine of the collector see your network address and the time "
        "when your device sends, as with any website. The collector's program stores neither, but a "
        "provider or a machine before the collector may keep a log."
    )


def _answer_withdrawal(source: DossierSource) -> Statement:
    why = (
        "your report is part of sums, from which no command subtracts it"
        if source.plan.by_invitation
        else "your report is part of sums, and nobody can find out which one was yours"
    )
    return assumed(
        "Until your device has sent the report, you can withdraw, and the report is deleted. After that it "
        f"cannot be taken back: {why}."
    )


def _answer_second_survey(source: DossierSource) -> Statement:
    return computed(
        "What can be learned adds up: after two surveys like this one, a belief of 50% can become at most "
        f"{source.belief_after(0.5, 2)}, and after five {source.belief_after(0.5, 5)}. A further round of "
        "this same survey adds nothing, because your device answers only one round.",
        source.odds_command,
    )


def _answer_missing(source: DossierSource) -> Statement:
    required = [each.name for each in source.plan.entries if each.missing == "error"]
    if required:
        names = ", ".join(required)
        return assumed(
            f"Without an answer to {names} your device sends no report, and people who know that you take "
            "part may notice this. Where the survey takes a missing answer, it is randomised like any "
            "other.",
        )
    return assumed(
        "A question that you skip counts as one more answer and is randomised like any other; only the "
        "outcome needs an answer. If you do not take part at all, nothing is sent, and people who know "
        "that you were asked may notice this.",
    )


def _answer_attack(source: DossierSource) -> Statement:
    found = (
        "hashes of invitations with randomised answers"
        if source.plan.by_invitation
        else "randomised answers without names or addresses"
    )
    return assumed(
        f"The attacker finds sums and {found}, and for each of them the same limit holds: a belief of 50% "
        f"becomes at most {source.belief_after(0.5)}. From then on they could record the addresses of "
        "devices that send, but your true answers are on your device only."
    )
