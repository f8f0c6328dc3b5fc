"""The privacy statement of a model file: epsilon per question, the audit, and the shuffled epsilon."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import LdpError
from encoders.survey import Plan
from ldp_aggregator.estimation.raw_estimates import total_of
from ldp_aggregator.snapshot import Snapshot

_MAX_DELTA = 1e-6
_CONDITION = (
    "only if a shuffler that the reader trusts mixed all of these reports together, none of them made up, "
    "and removed from each who sent it, from where and when, before anybody else saw it; otherwise the "
    "epsilon above is all there is"
)
_NO_AUDIT = "is no audit; ldp-audit --json writes them"
_BOUND, _OLD_BOUND = "epsilon_lower_bound", "bound"
"""The key of a leak's bound, and its name in audits of version 0.1."""


class AuditError(LdpError):
    """A file that holds no audit of this survey."""


def build_privacy_statement(
    snapshot: Snapshot, audit: dict[str, Any] | None = None, validation: Snapshot | None = None
) -> dict[str, Any]:
    """Return a model file's section on privacy.

    Parameters
    ----------
    snapshot : Snapshot
    audit : dict, optional
        Of the survey's plan, see :func:`read_audit`.
    validation : Snapshot, optional
        Of the validation round, whose people answered at the same epsilon; it has an entry of its own.
    """
    training = _summarise_reports(snapshot)
    validated = {"validation": _summarise_reports(validation)} if validation else {}
    # reports name their plan, so each kind is shuffled among its own
    counts = [each["reports"] for each in (training, *validated.values())]
    delta = min(_MAX_DELTA, 1 / (10 * max(*counts, 1)))
    return {
        **training,
        **validated,
        "epsilon": format(snapshot.plan.epsilon.normalize(), "f"),
        "reports_per_person": 1,
        "audit": audit,
        "only_if_shuffled": {
            "condition": _CONDITION,
            "epsilon": compute_shuffled_epsilon(float(snapshot.plan.epsilon), min(counts), delta),
            "delta": delta,
        },
    }


def _summarise_reports(snapshot: Snapshot) -> dict[str, Any]:
    """Return how many reports answered which plan, and what each question realises of epsilon."""
    questions = [
        {
            "question": question.name,
            "mechanism": question.mechanism.name,
            "epsilon": format(realised_epsilon(question.mechanism.ratio), "f"),
            "reports": total_of(snapshot, question).n,
        }
        for question in snapshot.plan.questions
    ]
    return {
        "plan_digest": snapshot.plan.digest,
        "reports": snapshot.total(),
        "questions": questions,
        "rejected": dict(snapshot.rejections),
    }


def compute_shuffled_epsilon(local: float, reports: int, delta: float) -> float:
    """Return the central epsilon of shuffled reports, each `local`-differentially private.

    Feldman, McMillan and Talwar (2021, Theorem 3.1, as their published code tightens it); where that
    bound does not hold, for few reports or a large epsilon, the local epsilon itself.

    Parameters
    ----------
    local : float
    reports : int
        How many were shuffled together.
    delta : float
        Probability with which the bound may fail.
    """
    log_term = math.log(4 / delta)
    if reports == 0 or local > math.log(reports / (16 * log_term)):
        return local
    size = 8 * math.sqrt(math.exp(local) * log_term / reports) + 8 * math.exp(local) / reports
    difference = (1 - math.exp(-local)) / (1 + math.exp(-local) / (1 + size))
    return min(local, math.log1p(difference * size))


def read_audit(path: Path, plan: Plan) -> dict[str, Any]:
    """Return the result of an audit that ``ldp-audit --json`` wrote, if it is of this plan.

    An audit is passed here if it has no fault, and if its bound is at most epsilon.

    Raises
    ------
    AuditError
        If it is no such file, or of another plan.
    """
    try:
        audit = json.loads(path.read_bytes(), parse_constant=float)
        digest, faults, trials = audit["plan_digest"], audit["faults"], audit["trials"]
        leaks = [entry["leak"] for entry in audit["black_box"]]
        bound = max(float(leak[_BOUND if _BOUND in leak else _OLD_BOUND]) for leak in leaks)
    except OSError as error:
        raise AuditError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise AuditError(f"{path}: {_NO_AUDIT}") from error
    if not (isinstance(faults, list) and type(trials) is int and 0 <= bound < math.inf):
        raise AuditError(f"{path}: {_NO_AUDIT}")
    if digest != plan.digest:
        raise AuditError(f"{path}: is the audit of another plan than the one trained on")
    passed = not faults and bound <= plan.epsilon
    return {"passed": passed, "faults": len(faults), "trials": trials, "bound": bound}
