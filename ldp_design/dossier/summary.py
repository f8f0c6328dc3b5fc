"""Builds the summary of a dossier, for the review board."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ldp_design.dossier.asked import missing_entries
from ldp_design.dossier.audit import describe_missing, describe_result
from ldp_design.dossier.conditions import list_conditions
from ldp_design.dossier.nonresponse import count_corrections, join, list_required
from ldp_design.dossier.precision import describe_aim
from ldp_design.dossier.privacy import describe_examples, describe_rating, warn_of_weak_epsilon
from ldp_design.dossier.sections import section
from ldp_design.dossier.source import DossierSource
from ldp_design.dossier.statement import Statement, assumed, computed, declared


def build_summary(source: DossierSource) -> dict[str, Any]:
    """Return the facts, and the statements that a board needs first."""
    return {"facts": list(_list_facts(source)), "statements": list(_list_statements(source))}


def _list_facts(source: DossierSource) -> Iterator[tuple[str, str]]:
    yield "Privacy limit (epsilon)", source.epsilon
    yield "A belief of 50% becomes at most", source.belief_after(0.5)
    yield "Reports per person", "1"
    yield "People expected", f"{source.size.users:,}" if source.size else "not stated"
    yield "Audit", ("passed" if source.audit.passed else "FAILED") if source.audit else "none given"


def _list_statements(source: DossierSource) -> Iterator[Statement]:
    plan = source.plan
    yield assumed(
        f"If the conditions in {section('not-covered')} hold, this survey protects the answers of each "
        "person: what leaves their device is so random that nobody who sees it, not even the people who run "
        "the survey, learns an answer for certain."
    )
    count = len(plan.entries)
    questions = "1 question" if count == 1 else f"{count} questions"
    yield computed(f"The survey asks {questions} and the main question {source.main}.", source.check_command)
    yield assumed(
        f"{_describe_report(source)} and sends only this, as one report. The ldp-bayes program neither sends "
        "nor stores the true answers."
    )
    yield describe_rating(source)
    yield describe_examples(source)
    yield from warn_of_weak_epsilon(source)
    yield from describe_aim(source)
    yield from _describe_visible(source)
    yield describe_result(source, source.audit) if source.audit else describe_missing(source)
    yield _describe_declarations(source)
    yield assumed(
        f"The protection rests on {len(list_conditions(source))} conditions that the board must check. "
        f"{section('not-covered').capitalize()} lists them, and what is not protected even then."
    )


def _describe_report(source: DossierSource) -> str:
    """Return what the device does with the answers before it sends a report."""
    if source.plan.validation:
        return (
            f"The device of each person predicts the answer to {source.main} by a public model, randomises "
            "whether the prediction is right,"
        )
    drawn = "one question, or one group of questions," if source.grouped else "one question"
    return (
        f"For each person, {drawn} is drawn at random. The device takes the answer to it together with the "
        f"answer to {source.main}, randomises both as one,"
    )


def _describe_visible(source: DossierSource) -> Iterator[Statement]:
    invited = (
        ", and to the issuer of the invitations which report is theirs" if source.plan.by_invitation else ""
    )
    yield assumed(
        "The following is not hidden: that a person takes part, their internet address, the time, and which "
        f"question was drawn{invited} ({section('visible')}). A report that was sent cannot be taken back "
        f"({section('withdrawal')})."
    )
    corrections = count_corrections(source)
    advice = " The author can correct a part of this, and should." if corrections else ""
    yield computed(
        f"People who leave {join(list_required(source))} empty send nothing, and this can be noticed "
        f"({section('visible')}).{advice}",
        source.check_command,
    )


def _describe_declarations(source: DossierSource) -> Statement:
    checklist = f"{section('checklist').capitalize()} lists what the author must state besides."
    if missing := missing_entries(source.plan):
        text = f"The author does not state: {', '.join(missing).lower()}. {checklist}"
        return computed(text, source.dossier_command)
    return declared(
        f"The author states purpose, contact, approval and how long data are kept ({section('purpose')}). "
        f"{checklist}"
    )
