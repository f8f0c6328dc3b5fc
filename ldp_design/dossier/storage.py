"""Builds the section on what is stored, for how long, and what can be taken back."""

from __future__ import annotations

from dataclasses import replace

from ldp_design.dossier.asked import ABOUT, describe_entry
from ldp_design.dossier.kept import describe_keeping, describe_link, describe_mark, describe_record
from ldp_design.dossier.source import DossierSource
from ldp_design.dossier.statement import Statement, assumed


def list_storage(source: DossierSource) -> list[Statement]:
    """Return what is stored where, and for how long."""
    retention = describe_entry(source, "retention")
    return [
        replace(retention, text=f"{ABOUT['retention']}: {retention.text}"),
        assumed(
            "On the device: the consent, the survey's fingerprint, the collector's address, the privacy "
            "limit that was used up, and whether the report was delivered. The survey and the report are "
            "deleted once the report is delivered. The ldp-bayes program never writes the true answers."
        ),
        assumed(
            f"At the collector: the totals of all reports, and for each report {describe_record(source)}. "
            f"{describe_mark(source)} {describe_link(source)}"
        ),
        assumed(f"How long: {describe_keeping(source)} The author must state when the store is deleted."),
        *(
            [
                assumed(
                    "At the issuer of the invitations: whatever they keep about who got which invitation. "
                    "The ldp-bayes program keeps no such list. The collector keeps a code of each "
                    "invitation, also of unused ones; the code is a hash, from which nobody can read the "
                    "invitation."
                )
            ]
            if source.plan.by_invitation
            else []
        ),
    ]


def list_withdrawal(source: DossierSource) -> list[Statement]:
    """Return what can be taken back, until when, and why not later."""
    return [
        assumed("Before a person agrees, nothing is randomised and no report is sent."),
        assumed(
            "Until the report is sent, a person can withdraw: the waiting report is deleted, and none is "
            "made in its place. By default this is a matter of seconds: a device sends at a random moment "
            "within 2 seconds after the answer, or later if it has no network. The author must state "
            "whether the application waits longer."
        ),
        assumed(
            "A report that was sent cannot be taken back. If an attempt to send failed, the report may have "
            "arrived although the device still waits for the confirmation."
        ),
        _explain_no_return(source),
        assumed(
            "The operator can end the survey and delete the whole store. This removes all reports of all "
            "people together. Backups and published results remain until they are deleted too."
        ),
    ]


def _explain_no_return(source: DossierSource) -> Statement:
    if source.plan.by_invitation:
        return assumed(
            "Why: the collector adds each report to totals. The issuer could find the record of a report by "
            "its invitation, and where the mark shows the randomised answer, it could be subtracted. But "
            "ldp-bayes has no command for this."
        )
    return assumed(
        "Why: the collector adds each report to totals. Its record contains no name, address or time, and "
        "the device deletes the report after the confirmation. So neither the person nor the collector can "
        "find out which one it was."
    )
