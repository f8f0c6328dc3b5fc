"""The tables of a comparison, as texts for a terminal and a page."""

from __future__ import annotations

from ldp_design.comparison.curves import Mean
from ldp_design.comparison.result import TrustComparison
from ldp_design.comparison.trusts import NONE

NO_PROMISE = "none"


def explain_targets(comparison: TrustComparison) -> str:
    """Return the legend of the table of the weakest trust models."""
    trusts = "; ".join(f"{each.trust.text}, {each.trust.meaning}" for each in comparison.ranked)
    return (
        f"The trust models, the weakest first: {trusts}. Each cell names the weakest one that reaches the "
        "accuracy with its whole 95% interval; - means that none does. A question mark follows weaker ones "
        "whose interval contains the accuracy."
    )


def list_accuracies(comparison: TrustComparison, sign: str = "+-") -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows: trust model, learner, adjacency, and accuracies in % by epsilon."""
    head = ["trust model", "learner", "adjacency", *(f"eps {epsilon:g}" for epsilon in comparison.epsilons)]
    rows = []
    curve_of = {curve.trust: curve for curve in comparison.curves}
    for trust in comparison.trusts:
        if trust.kind == NONE:
            for learner, accuracies in comparison.ceilings.items():
                text = format_margin(comparison.average(accuracies), sign)
                rows.append([trust.text, learner, NO_PROMISE, *[text] * len(comparison.epsilons)])
            continue
        curve = curve_of[trust]
        texts = [format_margin(comparison.average(each), sign) for each in curve.accuracies]
        learners = ", ".join(dict.fromkeys(curve.learners))
        rows.append([trust.text, learners, trust.adjacency or NO_PROMISE, *texts])
    return head, rows


def format_margin(mean: Mean, sign: str) -> str:
    """Return an accuracy in % with half of its 95% interval: 91.0 +- 0.8."""
    return f"{100 * mean.value:.1f} {sign} {100 * (mean.high - mean.value):.1f}"
