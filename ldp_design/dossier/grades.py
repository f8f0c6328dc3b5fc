"""Grades the expected estimates of a survey: good, rough or useless."""

from __future__ import annotations

from enum import StrEnum

from ldp_design.dossier.source import Scenario
from ldp_design.sizing.assumptions import make_rare_shares
from ldp_design.sizing.margins import Margin
from ldp_design.sizing.size import ExpectedMargins
from ldp_design.sizing.summary import typical_share

_MAX_GOOD = 0.25
_MAX_ROUGH = 0.6


class Grade(StrEnum):
    """How precise an estimate is compared with its typical size."""

    GOOD = "good"
    ROUGH = "rough"
    USELESS = "useless"


GRADES_EXPLANATION = (
    f"Grades: good means that the margin (\u00b1) is at most {_MAX_GOOD:.0%} of the typical estimate, rough "
    f"at most {_MAX_ROUGH:.0%} of it, and useless more than that. A rough estimate shows large differences "
    "only. For a number, the margin of its average is compared with the usual distance of a person from the "
    "average."
)


def grade(size: ExpectedMargins, margin: Margin) -> Grade:
    """Return the grade of the estimates of the label, or of one feature."""
    typical = typical_share(size, margin)
    ratio = margin.margin / (margin.useful_margin if typical is None else typical)
    if ratio <= _MAX_GOOD:
        return Grade.GOOD
    return Grade.ROUGH if ratio <= _MAX_ROUGH else Grade.USELESS


def group_by_grade(size: ExpectedMargins) -> dict[Grade, list[str]]:
    """Return the names of the features by their grade; a grade without features is left out."""
    found = {
        each: [margin.name for margin in size.margins[1:] if grade(size, margin) is each] for each in Grade
    }
    return {each: names for each, names in found.items() if names}


def describe_shares(scenario: Scenario, main: str) -> str:
    """Return what a scenario assumes about the label, as a condition that begins with "if"."""
    size = scenario.sizes[0]
    labels = size.plan.label.values
    if scenario.label_shares is None:
        return f"if all answers to {main} are equally frequent"
    if scenario.label_shares == make_rare_shares(len(labels)):
        rest = "" if len(labels) == 2 else ", and the other answers are equally frequent"
        return (
            f"if {_percent(scenario.label_shares[0])} of the people answer \u201c{labels[0]}\u201d to "
            f"{main}{rest}"
        )
    shares = ", ".join(
        f"\u201c{name}\u201d {_percent(share)}"
        for name, share in zip(labels, scenario.label_shares, strict=True)
    )
    return f"if the answers to {main} have the shares that the author expects ({shares})"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
