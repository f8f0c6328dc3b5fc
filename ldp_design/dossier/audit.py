"""Builds the sections on the audit of the survey: its result for the board, and details for the annex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ldp_aggregator.results.statements import describe_audit
from ldp_design.dossier.audit_file import AuditSummary
from ldp_design.dossier.sections import section
from ldp_design.dossier.source import DossierSource
from ldp_design.dossier.statement import Statement, assumed, computed

_PURPOSE = (
    "An audit runs the installed program for made-up people, and compares what it would send with what this "
    "document states. It can find a fault; it cannot show that there is none."
)
_BLIND_SPOTS = (
    "A small excess: a program that reveals slightly more than the privacy limit allows.",
    "Rare answers, and rare combinations of answers, which the audit does not compare.",
    "An answer that is hidden in the report on purpose, or encrypted.",
    "Random numbers that somebody else can predict.",
    (
        "Internet addresses, encryption, the moment of sending, files, logs, and other connections of the "
        "application."
    ),
    "A program that recognises the audit, and an application that sends the answers elsewhere.",
    "People who send nothing because they cannot answer.",
)
_TECHNICAL_BLIND_SPOTS = (
    "With 20,000 messages an epsilon that is overspent by 10% is not detected.",
    "Noise from a generator that was seeded where the audit cannot look is not detected.",
    "If an answer is hidden in the report's id, this is detected only if one byte alone depends on it.",
)


def build_audit(source: DossierSource) -> dict[str, Any]:
    """Return the result of the audit for the board, and what no audit detects."""
    result = describe_result(source, source.audit) if source.audit else describe_missing(source)
    return {
        "statements": [result, assumed(_PURPOSE), *_list_faults(source)],
        "blind_spots": [assumed(text) for text in _BLIND_SPOTS],
    }


def build_audit_detail(source: DossierSource) -> dict[str, Any]:
    """Return the lower bound, the size and the date of the audit, and its technical limits."""
    if source.audit:
        statements = list(_describe_detail(source, source.audit))
    else:
        text = f"No audit was given. This command makes one: {source.audit_command}"
        statements = [computed(text, source.dossier_command)]
    return {"statements": [*statements, *(assumed(text) for text in _TECHNICAL_BLIND_SPOTS)]}


def describe_missing(source: DossierSource) -> Statement:
    """Return that no audit was given, with the number of the command that makes one."""
    return computed(
        "No audit was given. The author can make one with command "
        f"{source.command_number(source.audit_command)} of {section('commands')}.",
        source.dossier_command,
    )


def describe_result(source: DossierSource, audit: AuditSummary) -> Statement:
    """Return whether the audit passed."""
    passed = "passed" if audit.passed else "FAILED"
    return computed(f"An audit of this survey {passed} ({section('audit')}).", source.audit_command)


def _list_faults(source: DossierSource) -> Iterator[Statement]:
    if source.audit:
        yield from (computed(f"Fault: {each}", source.audit_command) for each in source.audit.faults)


def _describe_detail(source: DossierSource, audit: AuditSummary) -> Iterator[Statement]:
    command = source.audit_command
    yield computed(
        f"{describe_audit(audit.passed)} Its lower bound on epsilon is {audit.bound:.4f}; the survey states "
        f"{source.epsilon}.",
        command,
    )
    yield computed(
        "The bound is a lower bound: the messages show that epsilon is at least this large. It does not show "
        f"that epsilon is no larger. The proof in {section('proof')} gives the upper bound for the tables; "
        "the audit shows whether the installed client behaves like them.",
        command,
    )
    yield computed(
        f"The audit compared {audit.trials:,} messages of each made-up person. It is of exactly this plan: "
        f"the digests are equal ({source.plan.digest}).",
        command,
    )
    yield from (computed(f"Note: {each}", command) for each in audit.notes)
    if audit.dated:
        facts = "; ".join(f"{key}: {value}" for key, value in audit.dated)
        yield computed(f"Date and version as the file {audit.name} states them: {facts}.", command)
    else:
        yield assumed(
            f"The file {audit.name} contains neither its date nor the version of the client. File both "
            "beside it. Another version of the client needs an audit of its own."
        )
