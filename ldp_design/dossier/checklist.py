"""Lists what the survey file cannot contain, and the author must state to the board."""

from __future__ import annotations

from collections.abc import Iterator

from ldp_design.dossier.source import DossierSource


def list_missing_facts(source: DossierSource) -> Iterator[str]:
    """Yield what the author must state, one line for each subject."""
    invited = source.plan.by_invitation
    issuer = "the invitations are issued, " if invited else ""
    yield (
        f"Names and countries of those by whom {issuer}the reports are collected and the results are "
        "evaluated, and whether these are the same people or organisations."
        + (
            " If they are the same, they can match people with reports: which report is whose, not the true "
            "answer."
            if invited
            else ""
        )
    )
    yield "The legal basis, and who is responsible for data protection."
    yield (
        "Who is asked: age group, whether minors are among them, how people are recruited, and whether they "
        "are paid."
    )
    yield "When the survey starts and ends."
    yield from _list_texts(source)
    yield "Where the number of people who will answer comes from, and how many people are invited."
    yield (
        "Where the expected shares of answers to the main question come from, and which precision the "
        "purpose needs."
    )
    yield (
        "Where the application keeps the true answers while a person fills in the survey, how long it waits "
        "before it sends a report, and whether the same people are asked by other surveys."
    )
    yield "Where the collector's store and its backups are, who can read them, and when they are deleted."
    yield (
        "Risks for participants, for example if somebody sees the survey on their device; support that is "
        "offered; whom to complain to; and what is done if the collector or the application is attacked."
    )
    yield "That a refusal has no disadvantage, also not with those who recruit."
    yield "How the results are published."
    yield "Who checks the conditions of this document, how, and when."


def _list_texts(source: DossierSource) -> Iterator[str]:
    texts = source.plan.texts
    languages = texts.languages if texts else {}
    named = set().union(*(each.get("features", {}) for each in languages.values())) if languages else set()
    missing = [each.name for each in source.plan.entries if each.name not in named]
    if missing:
        yield f"The wording of the questions that have none in the survey file: {', '.join(missing)}."
