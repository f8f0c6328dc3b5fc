"""Describes who cannot answer a survey: not reporting then reveals something about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from encoders.explain.nonresponse import find_nonresponse_causes
from ldp_design.dossier.source import DossierSource
from ldp_design.dossier.statement import Statement, assumed, computed

_NOTICED = "Somebody who knows that they were asked can notice this."


def list_required(source: DossierSource) -> list[str]:
    """Return the names of the questions without an answer to which nothing is sent, the main one last."""
    return [*find_nonresponse_causes(source.plan).required, source.main]


def describe_nonresponse(source: DossierSource) -> Iterator[Statement]:
    """Yield who sends no report, and what the author should correct."""
    causes, command = find_nonresponse_causes(source.plan), source.check_command
    yield assumed(
        "Silence. A person with an answer that the survey does not accept sends nothing. The privacy limit "
        "does not cover this: among people who are known to take part, silence shows that this person is "
        "one of those who could not answer."
    )
    if causes.required:
        yield computed(
            f"People who leave {join(causes.required)} empty send nothing, whichever question is drawn. "
            f"{_NOTICED} The author can correct this, and should, unless everybody has an answer.",
            command,
        )
    if causes.incomplete or causes.is_label_incomplete:
        names = [*causes.incomplete, *([source.main] if causes.is_label_incomplete else [])]
        yield computed(
            f"The answers offered for {join(names)} may not fit everybody. People whose answer is not "
            f"offered send nothing. {_NOTICED} The author can add an answer \u201cother\u201d, and should, "
            "unless the list covers everybody.",
            command,
        )
    addition = ""
    if causes.is_label_required:
        addition = (
            " The author can add an answer such as \u201cunknown\u201d, and should, unless everybody has one."
        )
    elif not causes.is_label_incomplete:
        addition = (
            " One of the answers is for people who do not know; the board should check that it also suits "
            "people who do not want to say."
        )
    yield computed(f"People who leave {source.main} empty send nothing. {_NOTICED}{addition}", command)


def count_corrections(source: DossierSource) -> int:
    """Return how many causes of nonresponse the author should correct."""
    causes = find_nonresponse_causes(source.plan)
    listed = bool(causes.incomplete) or causes.is_label_incomplete
    return sum((bool(causes.required), listed, causes.is_label_required))


def join(names: Sequence[str]) -> str:
    """Return names as an enumeration: "a, b or c"."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
