"""Lists the conditions of the protection that the board must check, and what is not protected."""

from __future__ import annotations

from ldp_design.dossier.sections import section
from ldp_design.dossier.source import DossierSource
from ldp_design.dossier.statement import Statement, assumed

_CONDITIONS = (
    (
        "The application is honest: it sends the answers nowhere else, uses ldp-bayes unchanged, and does "
        "not keep the answers. Ask for: a review of the application, and an audit."
    ),
    (
        "Every device gets the same survey: the application compares the survey's fingerprint or its "
        "author's signature. Otherwise a collector could ask one device other questions from the start. Ask "
        "for: the entry in the application, and the fingerprint at the end of this document."
    ),
    (
        "The application limits the total over all surveys that it asks, if there are others. Ask for: the "
        "limit, and the list of other surveys of the same people."
    ),
    "The connection to the collector is encrypted. Ask for: an address that begins with https.",
    (
        "No machine between device and collector keeps internet addresses and times. Ask for: the settings "
        "of these machines."
    ),
    (
        "The collector runs ldp-bayes unchanged, and keeps no copies of the reports. Its store and all "
        "backups are protected as if they contained the randomised answers. Two copies of the store from "
        "different times show which reports came in between. Ask for: who can read them."
    ),
    (
        "Nobody watches the network and reads the store at the same time. Together, times and the order of "
        "the reports would link a device to its randomised answer, never to the true one. Ask for: who "
        "operates what."
    ),
    (
        "Ranges, lists of answers and other settings in the survey file were not made from private data. "
        "Ask for: where they come from."
    ),
)
_INVITED = (
    "Nobody who can read the collector's store can also find out which person got which invitation. With "
    "both, they find the randomised answer of each person. Ask for: who has such a list, and when it is "
    "deleted."
)
_NOT_PROTECTED = (
    (
        "A device that somebody else controls, for example by malware: its true answers can be read, "
        "whatever is sent. The same holds if its random numbers are bad."
    ),
    "What people reveal about their own answers.",
    (
        "People whose answers depend on each other, such as couples and families: their reports together "
        f"reveal more about what they share ({section('epsilon')})."
    ),
    (
        "What is true of a whole group. If the results show that smokers are ill more often, this is known "
        "of every smoker, also of one who did not answer."
    ),
    "What other surveys reveal about the same person: it adds to this one.",
    f"That a person takes part, and that a person sends nothing ({section('visible')}).",
    (
        "The results, against fabricated reports: a dishonest device can send what it wants. This harms the "
        "results, not the privacy of other people."
    ),
)


def list_conditions(source: DossierSource) -> list[Statement]:
    """Return the conditions of the protection that the board must check."""
    more = (_INVITED,) if source.plan.by_invitation else ()
    return [assumed(text) for text in (*_CONDITIONS, *more)]


def list_not_protected() -> list[Statement]:
    """Return what is not protected even if all conditions hold."""
    return [assumed(text) for text in _NOT_PROTECTED]
