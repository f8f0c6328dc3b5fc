"""Builds the summary for the board."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from encoders.explain.nonresponse import silence_warnings
from ldp_aggregator.authoring.overview import report_bytes
from ldp_aggregator.dossier.accuracy import describe_size
from ldp_aggregator.dossier.asked import missing_entries
from ldp_aggregator.dossier.audit import describe_missing, describe_result
from ldp_aggregator.dossier.privacy import warn_of_weak_epsilon
from ldp_aggregator.dossier.source import DossierSource
from ldp_aggregator.dossier.statement import Statement, assumed, computed, declared


def build_summary(source: DossierSource) -> dict[str, Any]:
    """Return the facts, and the statements that a board needs first."""
    return {"facts": list(_list_facts(source)), "statements": list(_list_statements(source))}


def _list_facts(source: DossierSource) -> Iterator[tuple[str, str]]:
    lengths = sorted({report_bytes(source.plan, question) for question in source.plan.questions})
    ends = dict.fromkeys((lengths[0], lengths[-1]))
    yield "Epsilon of one report", source.epsilon
    yield "A belief of 50% becomes at most", source.belief_after(0.5)
    yield "Reports of a person", "1"
    yield "Bytes of a report", " to ".join(map(str, ends))
    yield "People expected", f"{source.size.users:,}" if source.size else "not stated"
    yield "Audit", ("passed" if source.audit.passed else "FAILED") if source.audit else "none given"


def _list_statements(source: DossierSource) -> Iterator[Statement]:
    plan, command = source.plan, source.check_command
    count = len(plan.entries)
    questions = "1 question" if count == 1 else f"{count} questions"
    yield computed(f"The survey asks {questions} and the outcome {plan.row_label.name}.", command)
    answered = "one question, or one group of questions," if source.grouped else "one question"
    yield assumed(
        f"The device of each person answers {answered} together with the outcome. It randomises this answer "
        "and sends it as one report. The true answers stay on the device and are never written or sent."
    )
    yield computed(
        "Anyone who sees a report can change their odds between any two answers of its person by a factor "
        f"of at most {source.odds_factor():.3g}. A belief of 50% becomes at most "
        f"{source.belief_after(0.5)}, and one of 10% at most {source.belief_after(0.1)}.",
        source.odds_command,
    )
    yield from warn_of_weak_epsilon(source)
    invited = ", and to the issuer of the invitations which report is theirs" if plan.by_invitation else ""
    yield assumed(
        "Not hidden: that a person takes part, their network address, the time, and the question that was "
        f"drawn{invited} (section 6). A report that was sent cannot be taken back (section 10)."
    )
    if warnings := silence_warnings(plan):
        yield computed(
            f"Some people may be unable to answer, and their silence then reveals something: {len(warnings)} "
            f"{'warning' if len(warnings) == 1 else 'warnings'} in section 6.",
            command,
        )
    if source.size:
        yield describe_size(source, source.size)
    yield describe_result(source, source.audit) if source.audit else describe_missing(source)
    yield _describe_declarations(source)
    yield assumed(
        "Four conditions remain for the board to check: the application is honest and sets a limit on the "
        "total epsilon; it checks the plan's digest or the author's signature; the collector is reached "
        "by HTTPS; and no machine before it logs addresses."
    )


def _describe_declarations(source: DossierSource) -> Statement:
    if missing := missing_entries(source.plan):
        text = f"The author does not state: {', '.join(missing).lower()}."
        return computed(text, source.dossier_command)
    return declared("The author states purpose, contact, ethics approval and retention (section 2).")
