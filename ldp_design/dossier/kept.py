"""Sentences on what the collector keeps of a report; every section of the dossier uses these."""

from __future__ import annotations

from ldp_design.dossier.source import DossierSource

_MARK_BYTES = 8


def describe_record(source: DossierSource) -> str:
    """Return what the collector keeps of a report."""
    identifier = "a code of its invitation" if source.plan.by_invitation else "its random number"
    return f"its question, {identifier}, and a short mark of its randomised answer"


def describe_mark(source: DossierSource) -> str:
    """Return whether the randomised answer can be read from the mark of a report."""
    lengths = [question.mechanism.payload_bytes for question in source.plan.questions]
    if max(lengths) <= _MARK_BYTES:
        readable = "From the mark anybody who reads the store can compute the randomised answer"
    elif min(lengths) > _MARK_BYTES:
        readable = "With the mark anybody who reads the store can confirm a guess of the randomised answer"
    else:
        readable = (
            "From the mark anybody who reads the store can compute the randomised answer to some questions, "
            "and confirm a guess of it for the others"
        )
    return f"{readable}, never the true one."


def describe_link(source: DossierSource) -> str:
    """Return who can find the record of a certain person in the collector's store."""
    if source.plan.by_invitation:
        return (
            "Somebody who knows which invitation a person got, and reads the store, finds that person's "
            "randomised answer."
        )
    return "The store contains no name, address or time, so nobody finds a certain person in it."


def describe_keeping(source: DossierSource) -> str:
    """Return how long what the collector keeps of a report stays."""
    return (
        "What the collector keeps of a report stays as long as its store of this survey; the program never "
        "deletes it by itself."
    )
