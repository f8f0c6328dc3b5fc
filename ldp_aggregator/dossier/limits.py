"""Builds the sections on what stays visible, what is not covered, and what can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from encoders.explain.nonresponse import silence_warnings
from ldp_aggregator.dossier.asked import ABOUT, describe_entry
from ldp_aggregator.dossier.source import DossierSource
from ldp_aggregator.dossier.statement import Statement, assumed, computed

_NOT_COVERED = (
    (
        "The device and the application are honest. An application that sends the answers elsewhere, or "
        "somebody who controls the device, sees the true answers."
    ),
    (
        "No malware is on the device, and its random numbers are good. Epsilon does not protect from a "
        "program that reads the memory of the device."
    ),
    "The person does not reveal their own answers to others.",
    (
        "People answer independently of each other. If the answers of several people depend on each "
        "other, as in a family, their reports together reveal more about the common fact: for k people up "
        "to k times epsilon."
    ),
    (
        "The guarantee is for one person, not for a group. What is true of a whole group can be learned "
        "from the results, and so can what follows for a member who did not answer: if smokers are ill "
        "more often, this is known of every smoker."
    ),
    (
        "Nobody fabricates reports. A device randomises its report itself, so a dishonest device can send "
        "what it wants. This harms the estimates, not the privacy of other people."
    ),
    (
        "The network of the collector and all proxies before it log no addresses and times. The operator "
        "sets this up; the survey file cannot show it."
    ),
    (
        "Nobody copies the counters at two times. The difference between two copies shows which reports "
        "came in between. Epsilon still protects each of these reports."
    ),
    (
        "Nobody who watches the network also reads the store while reports arrive. Times and the order of "
        "the reports would link a device to its randomised report. Epsilon still protects the answer in "
        "it."
    ),
    (
        "No other survey, at this or another collector, asks the same person. What other surveys reveal "
        "adds to this one."
    ),
    (
        "Every device gets the same plan. A collector could serve one device another plan from the start, "
        "unless the application checks the plan's digest or the author's signature."
    ),
    "Nobody measures the computing time on the device itself. Python does not compute in constant time.",
)


def list_visible(source: DossierSource) -> list[Statement]:
    """Return what can be seen although the answer is randomised."""
    plan = source.plan
    return [
        assumed(
            "That a person takes part. The network, and the machine of the collector, can see that a device "
            "fetched the survey and sent a report."
        ),
        assumed(
            "The network address of the device and the time. The collector neither logs nor stores them; "
            "providers, proxies and balancers may."
        ),
        assumed(
            "Which reports come from one device: its network address is the same, unless it changes between "
            "them, and so are their times if a person answers two surveys within minutes."
        ),
        _describe_question(source),
        *_describe_identifier(source),
        *_list_silence(source),
        assumed(
            "That a report belongs to this survey: each report contains the digest of its plan, "
            f"{plan.digest}."
        ),
    ]


def _describe_question(source: DossierSource) -> Statement:
    if source.plan.by_invitation:
        return assumed("Which question was asked: its number is in the report, and in the invitation.")
    return assumed(
        "Which question was drawn: its number is in the report. It is drawn without looking at the answers, "
        "so it reveals nothing about them."
    )


def _describe_identifier(source: DossierSource) -> Iterator[Statement]:
    if source.plan.by_invitation:
        yield computed("The invitation: this survey is answered by token.", source.check_command)
        yield assumed(
            "The token is the id of the report. People who know that a person was given this token know that "
            "the report is theirs. They still see a randomised answer only."
        )
    else:
        yield computed("This survey needs no token: anybody with its plan can answer.", source.check_command)
        yield assumed("The id of a report is random, belongs to this report alone, and names nobody.")


def _list_silence(source: DossierSource) -> Iterator[Statement]:
    yield assumed(
        "Silence. A person whose answer does not fit the survey sends no report. Epsilon does not cover "
        "this: among people who are known to take part, it reveals that their answer is none of those "
        "listed."
    )
    warnings = silence_warnings(source.plan)
    for warning in warnings:
        yield computed(f"Silence in this survey: {warning}.", source.check_command)
    if not warnings:
        yield computed(
            "Silence in this survey: the check finds no list that leaves answers out, and every question "
            "takes a missing answer.",
            source.check_command,
        )


def list_not_covered(source: DossierSource) -> list[Statement]:
    """Return the assumptions of the guarantee, with what happens if they do not hold."""
    more = []
    if source.plan.by_invitation:
        more.append(
            "The issuer of the invitations keeps the list of who got which token secret, or deletes it. With "
            "the list, the issuer can learn from the collector who reported, and what was sent for them."
        )
    return [assumed(text) for text in (*_NOT_COVERED, *more)]


def list_withdrawal(source: DossierSource) -> list[Statement]:
    """Return how long data are kept, and what can be taken back."""
    retention = describe_entry(source, "retention")
    return [
        replace(retention, text=f"{ABOUT['retention']}: {retention.text}"),
        assumed("Before a person agrees, nothing is drawn and nothing is sent."),
        assumed(
            "Until the report is sent, a person can withdraw: the application, or the command ldp-client "
            "purge, deletes the waiting report. No report is made in its place."
        ),
        assumed(
            "A report that was sent cannot be taken back. If an attempt failed, the report may have arrived "
            "although the device still waits for the confirmation."
        ),
        _explain_no_return(source),
        assumed(
            "The operator can end the survey and delete the whole store. This removes all reports of all "
            "people together. Copies, backups and published results remain."
        ),
    ]


def _explain_no_return(source: DossierSource) -> Statement:
    if source.plan.by_invitation:
        return assumed(
            "Why: the collector adds a report to sums and does not keep it. The issuer could find the "
            "mark of a report by its invitation, but no command subtracts a single report from the sums."
        )
    return assumed(
        "Why: the collector adds a report to sums and does not keep it. What it keeps of a report "
        "contains no name, address or time, and the device deletes the report after the confirmation. So "
        "neither the person nor the collector can find out which one it was."
    )
