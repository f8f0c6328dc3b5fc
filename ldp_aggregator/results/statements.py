"""Sentences about privacy, limits and citation that the model card and the results page share.

They are plain text. The callers escape the names in them for Markdown or HTML.
"""

from __future__ import annotations

from collections.abc import Iterator

from ldp_aggregator.findings.bounds import factor_at_most, percent_at_most

BELIEFS = (0.01, 0.1, 0.5)
"""Beliefs of a reader before a report, for examples of what it changes at most."""

INDEPENDENCE = (
    "It assumes that features are independent given the class, so its probabilities can be too extreme."
)
MODEL_LIMITS = (
    "It is not for a decision about one person: a prediction is a probability from noisy estimates.",
    "It does not explain causes: a feature that predicts the label need not affect it.",
    "It describes {described}, and others only if they resemble them.",
    INDEPENDENCE,
    "It does not detect {undetected}.",
)
"""What a model is not for, and what it does not do; `list_limits` completes it."""
_PEOPLE = ("the people who answered", "people who lied, nor all fabricated reports (docs/poisoning.md)")
_SILOS = ("the people in the rows of the silos", "a silo that lied (docs/silos.md)")
_BOTH = (
    "the people who answered and those in the rows of the silos",
    "people and silos that lied, nor all fabricated reports (docs/poisoning.md, docs/silos.md)",
)

PRIVACY_LIMITS = "This does not hide who took part. A person sends one report per survey."

METHOD_AUTHORS = "E. Yilmaz, M. Al-Rubaie, J. M. Chang"
METHOD_TITLE = "Locally Differentially Private Naive Bayes Classification"
METHOD_SOURCE = "arXiv:1905.01039, 2019"

SIMULATED_ORIGIN = "a program randomised the rows of a table. Nobody was asked."


def list_limits(fitted: bool, has_people: bool = True, has_silos: bool = False) -> list[str]:
    """Return the limits of a model.

    Parameters
    ----------
    fitted : bool
        Whether it was fitted to rows without labels, without assuming independence.
    has_people, has_silos : bool
        Whether people reported, and whether silos did.
    """
    described, undetected = (_BOTH if has_people else _SILOS) if has_silos else _PEOPLE
    limits = (limit.format(described=described, undetected=undetected) for limit in MODEL_LIMITS)
    return [limit for limit in limits if not (fitted and limit == INDEPENDENCE)]


def update_belief(belief: float, odds_factor: float) -> float:
    """Return the largest probability that a belief can become if a report multiplies its odds by a factor."""
    odds = belief / (1 - belief) * odds_factor
    return odds / (1 + odds)


def describe_privacy(epsilon: str, odds_factor: float, simulated: bool = False) -> str:
    """Return what epsilon means for the person who sent a report; `simulated` as of ModelDescription."""
    origin = (
        "No device made it: a program read the rows of a table and randomised them. So what follows is true "
        "of a survey with this plan, but not of somebody who can read the table."
        if simulated
        else "The person's device randomised it, so neither the collector nor anybody else received an "
        "answer."
    )
    return (
        f"Each report is {epsilon}-locally differentially private. {origin} Anyone who sees a report can "
        "change their odds between any two answers of that person by a factor of at most "
        f"{factor_at_most(odds_factor)} (e^epsilon)."
    )


def describe_beliefs(odds_factor: float) -> Iterator[tuple[str, str]]:
    """Yield examples of a belief before a report, and the most that the report can make of it."""
    for belief in BELIEFS:
        yield f"{belief:.0%}", percent_at_most(update_belief(belief, odds_factor))


def describe_audit(passed: bool, command: str = "ldp-audit") -> str:
    """Return the result of the audit of a plan; `command` is the marked-up name of the command."""
    return f"An audit of the plan ({command}) {'passed' if passed else 'FAILED'}."


def cite_survey(survey: str, digest: str, epsilon: str, sent: str) -> str:
    """Return how to cite the results of a survey; `sent` is what was sent, as "1,000 reports"."""
    return f"ldp-bayes, survey {survey}, plan digest {digest}, epsilon {epsilon}, {sent}."
