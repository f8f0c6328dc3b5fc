"""The explanations of an audit's tables, which the terminal and the HTML page show with the results."""

from __future__ import annotations

from ldp_audit.result import AuditResult

TIME_SECTION = "docs/privacy.md, Time"
LIMITS_SECTION = "docs/privacy.md, What it cannot see"

EXACT = (
    "Exact: the probability of an output differs between two people by at most the factor e^(realised "
    "epsilon). It is computed from the tables of the plan with fractions."
)
EXACT_COLUMNS = {
    "realised epsilon": (
        "what the tables spend, rounded up; it must be at most epsilon. The test compares the unrounded "
        "fraction with e^epsilon; --json prints the fraction."
    ),
    "unused share": "the share of epsilon that the tables do not spend.",
    "payloads enumerated": (
        "number of payloads whose probabilities were added up and compared; 'by factors': there are too many "
        "payloads, and the ratio is computed from the independent parts of a payload, or from one set among "
        "many."
    ),
}

BLACK_BOX = (
    "Black box: a lower bound on epsilon, measured from the bytes of the messages alone, for the two people "
    "who are distinguished best."
)
BLACK_BOX_COLUMNS = {
    "epsilon at least": (
        "what the messages prove; it must not exceed epsilon. A low value is no success, because more "
        "messages may raise it."
    ),
    "detectable up to": "with this many messages the bound cannot exceed this, however large the leak is.",
    "event": "the property of a message that distinguishes the two people; bytes and bits count from 0.",
    "between": (
        "the two people: the position of their values in the survey (first, middle, last, beyond "
        "the range, missing), and their label. The event is likelier for the first."
    ),
    "pairs": "number of pairs of people that were compared.",
}

CHECKS = (
    "Checks: except for the randomised answer and the random id, messages must be the same for everybody, "
    "and noise must be fresh."
)


def explain_p_values(result: AuditResult) -> str:
    """Return why a check fails at very small p-values only."""
    return (
        "the smallest p-value of many tests, one for each person and possible value, so a small p is usual. "
        "The limit is so low because all tests of the audit together reject a sound client at most once in "
        f"{1 / result.alpha:,.0f} audits."
    )


def summarise_pass(result: AuditResult) -> str:
    """Return what a passed audit shows, and where its limits are described."""
    epsilon = result.plan.epsilon
    return (
        f"passed: every table keeps epsilon {epsilon} exactly; no measured bound exceeds it; no check found "
        f"a fault; not covered: {LIMITS_SECTION}"
    )
