"""What a model says of the privacy of those it was trained on."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

from encoders.errors import LdpError
from encoders.survey import Plan
from encoders.tables import realised_epsilon
from ldp_aggregator.snapshot import Snapshot

DELTA = Decimal("1e-6")
"""The chance that the bound for shuffled reports allows itself."""

_CONDITION = (
    "only if a shuffler that the reader trusts removed from each report who sent it, from where and when, "
    "before anybody else saw it; otherwise the epsilon above is all there is"
)
_KEPT = ("passed", "faults", "trials", "alpha")


class AuditError(LdpError):
    """A file that holds no audit of this survey."""


def privacy_of(snapshot: Snapshot, audit: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a model file's section on privacy.

    Parameters
    ----------
    snapshot : Snapshot
    audit : dict, optional
        Of the survey's plan, see :func:`read_audit`.
    """
    plan = snapshot.plan
    questions = [
        {
            "question": question.name,
            "mechanism": question.mechanism.name,
            "epsilon": format(realised_epsilon(question.mechanism.ratio), "f"),
            "reports": snapshot.totals[question.key].n if question.key in snapshot.totals else 0,
        }
        for question in plan.questions
    ]
    reports = sum(entry["reports"] for entry in questions if isinstance(entry["reports"], int))
    return {
        "plan_digest": plan.digest,
        "epsilon": format(plan.epsilon.normalize(), "f"),
        "reports_per_person": 1,
        "reports": reports,
        "questions": questions,
        "rejected": dict(snapshot.rejections),
        "audit": audit,
        "only_if_shuffled": {
            "condition": _CONDITION,
            "epsilon": shuffled_epsilon(float(plan.epsilon), reports),
            "delta": format(DELTA, "f"),
        },
    }


def shuffled_epsilon(local: float, reports: int, delta: float = float(DELTA)) -> float:
    """Return the central epsilon of shuffled reports, each `local`-differentially private.

    Feldman, McMillan and Talwar (2021, Theorem 3.1, as their published code tightens it); where that
    bound does not hold, for few reports or a large epsilon, the local epsilon itself.

    Parameters
    ----------
    local : float
    reports : int
        How many were shuffled together.
    delta : float
    """
    doubt = math.log(4 / delta)
    if reports == 0 or local > math.log(reports / (16 * doubt)):
        return local
    size = 8 * math.sqrt(math.exp(local) * doubt / reports) + 8 * math.exp(local) / reports
    apart = (1 - math.exp(-local)) / (1 + math.exp(-local) / (1 + size))
    return min(local, math.log1p(apart * size))


def read_audit(path: Path, plan: Plan) -> dict[str, Any]:
    """Return the result of an audit that ``ldp-audit --json`` wrote, if it is of this plan.

    Raises
    ------
    AuditError
        If it is no such file, or of another plan.
    """
    try:
        found = json.loads(path.read_bytes())
        kept: dict[str, Any] = {key: found[key] for key in _KEPT}
        kept["bound"] = max(float(entry["leak"]["bound"]) for entry in found["black_box"])
        digest = found["plan_digest"]
    except OSError as error:
        raise AuditError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise AuditError(f"{path}: is no audit; ldp-audit --json writes them") from error
    if digest != plan.digest:
        raise AuditError(f"{path}: is the audit of another plan than the one trained on")
    return kept
