"""Builds the section on what can be seen although the answer is randomised."""

from __future__ import annotations

from collections.abc import Iterator

from ldp_design.authoring.overview import report_bytes
from ldp_design.dossier.nonresponse import describe_nonresponse
from ldp_design.dossier.source import DossierSource
from ldp_design.dossier.statement import Statement, assumed, computed


def list_visible(source: DossierSource) -> list[Statement]:
    """Return what can be seen although the answer is randomised."""
    return [
        assumed(
            "That a person takes part. The network, and the machine of the collector, can see that a device "
            "fetched the survey and sent a report."
        ),
        assumed(
            "On the device: somebody who uses the device can see that this survey was agreed to, whether it "
            "was answered, and at which address the collector is. Until the report is delivered they can "
            "also see the report. The ldp-bayes program never writes the true answers to the device's "
            "storage; whether the application does, the author must state."
        ),
        assumed(
            "The internet address of the device and the time. The collector neither logs nor stores them; "
            "the network provider, and machines in front of the collector, may."
        ),
        assumed(
            "If a person answers several surveys, their reports can be recognised as those of one device by "
            "its internet address, unless it changes; and by their times, if the person answers two surveys "
            "within minutes."
        ),
        *_describe_question(source),
        *_describe_identifier(source),
        *describe_nonresponse(source),
        assumed("Which survey a report belongs to: each report contains the fingerprint of its survey."),
    ]


def _describe_question(source: DossierSource) -> Iterator[Statement]:
    if len(source.plan.questions) < 2:
        return
    drawn = (
        "by the issuer of the invitations, who does not know the answers"
        if source.plan.by_invitation
        else "by the device, without looking at the answers"
    )
    lengths = {report_bytes(source.plan, question) for question in source.plan.questions}
    length = (
        " Somebody who sees only the length of a report can sometimes infer it." if len(lengths) > 1 else ""
    )
    yield assumed(
        f"Which question was drawn: its number is in the report. It is drawn at random {drawn}, so it "
        f"reveals nothing about them.{length}"
    )


def _describe_identifier(source: DossierSource) -> Iterator[Statement]:
    if source.plan.by_invitation:
        yield computed("The invitation: each person needs one to answer this survey.", source.check_command)
        yield assumed(
            "The invitation is part of the report. Somebody who knows which person got this invitation "
            "knows that the report is theirs, and which question was drawn for them. They see the "
            "randomised answer, never the true one."
        )
    else:
        yield computed("This survey is open: anybody who has it can answer.", source.check_command)
        yield assumed("The number of a report is random, belongs to this report alone, and names nobody.")
