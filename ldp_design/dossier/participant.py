"""Answers questions that participants ask about a survey, each in a few sentences."""

from __future__ import annotations

from ldp_design.dossier.kept import describe_mark, describe_record
from ldp_design.dossier.nonresponse import join, list_required
from ldp_design.dossier.precision import answer_aim
from ldp_design.dossier.sections import section
from ldp_design.dossier.source import DossierSource
from ldp_design.dossier.statement import Statement, assumed, conditional


def list_answers(source: DossierSource) -> list[tuple[str, Statement]]:
    """Return questions of participants, each with its answer."""
    return [
        ("What exactly leaves my phone?", _answer_message(source)),
        ("What could my neighbour learn about me?", _answer_neighbour(source)),
        ("Who can see that I take part?", _answer_participation(source)),
        ("Who sees my address?", _answer_address()),
        ("What is not protected?", _answer_limits(source)),
        ("What happens at a second survey?", _answer_second_survey(source)),
        ("What if my partner takes part too?", _answer_partner(source)),
        ("What if I do not answer?", _answer_missing(source)),
        ("Can I take it back?", _answer_withdrawal(source)),
        ("What if the collector is hacked?", _answer_attack(source)),
        ("Can the survey reach its aim?", answer_aim(source)),
    ]


def _answer_message(source: DossierSource) -> Statement:
    identifier = "your invitation" if source.plan.by_invitation else "a random number"
    return assumed(
        "One small report, once: the fingerprint of the survey, the number of the drawn question, "
        f"{identifier}, and {source.reported}. Your true answers do not leave it."
    )


def _answer_neighbour(source: DossierSource) -> Statement:
    return conditional(
        "If your neighbour sees your report and knows that it is yours, a statement about you that they "
        f"believed with a probability of 50% becomes at most {source.belief_after(0.5)} likely, and one of "
        f"10% at most {source.belief_after(0.1)}. From published results they learn what is true of people "
        "like you, as they would without your report.",
        source.odds_command,
    )


def _answer_participation(source: DossierSource) -> Statement:
    invited = ", and so can those who gave you the invitation" if source.plan.by_invitation else ""
    return assumed(
        f"Your network provider and the machine of the collector can{invited}. Somebody who uses your phone "
        "can see that you agreed to this survey and whether you answered it, but ldp-bayes stores no true "
        "answer there."
    )


def _answer_address() -> Statement:
    return assumed(
        "Your network provider and the machine of the collector see your internet address and the time "
        "when your device sends, as with any website. The collector's program stores neither, but a "
        "provider or a machine in front of the collector may keep a log."
    )


def _answer_limits(source: DossierSource) -> Statement:
    return assumed(
        "That you take part, what is true of a whole group you belong to, and your answers themselves if "
        "somebody else controls your phone or if the application is dishonest. Other surveys, and reports of "
        f"people close to you, add to what can be learned ({section('not-covered')})."
    )


def _answer_second_survey(source: DossierSource) -> Statement:
    return conditional(
        "What can be learned adds up: after two surveys like this one, a belief of 50% can become at most "
        f"{source.belief_after(0.5, 2)}, and after five {source.belief_after(0.5, 5)}. A further round of "
        f"this survey series adds nothing, under the condition in {section('epsilon')}.",
        source.odds_command,
    )


def _answer_partner(source: DossierSource) -> Statement:
    return conditional(
        "If something is true of both of you or of neither, your two reports together reveal as much about "
        f"it as two surveys. A belief of 50% can become at most {source.belief_after(0.5, 2)}.",
        source.odds_command,
    )


def _answer_missing(source: DossierSource) -> Statement:
    return assumed(
        f"If you leave {join(list_required(source))} empty, your device sends nothing, whichever question "
        "was drawn, and people who know that you were asked may notice this. Where the survey takes an empty "
        "answer, it is randomised like any other."
    )


def _answer_withdrawal(source: DossierSource) -> Statement:
    why = (
        "The people with the invitations could find its record, but ldp-bayes has no command that "
        "subtracts it."
        if source.plan.by_invitation
        else "Nobody can find out which one was yours."
    )
    return assumed(
        "Until your device has sent the report, which is normally within seconds after your answer, you can "
        f"withdraw, and the report is deleted. After that it is part of totals. {why}"
    )


def _answer_attack(source: DossierSource) -> Statement:
    return assumed(
        f"The attacker finds totals, and for each report {describe_record(source)}. {describe_mark(source)} "
        f"For each of them the same limit holds: a belief of 50% becomes at most {source.belief_after(0.5)}. "
        "From then on they could record internet addresses, but your true answers were never there."
    )
