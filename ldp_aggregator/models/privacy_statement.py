"""The privacy statement of a model file: epsilon per question, the audit, and the shuffled epsilon."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import LdpError
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.decimals import decimal_text
from encoders.survey.plan_checks import SILO
from ldp_aggregator.estimation.raw_estimates import total_of
from ldp_aggregator.results.silo_text import SILOS
from ldp_aggregator.snapshot import AnySnapshot, SiloSnapshot, Snapshot

_MAX_DELTA = 1e-6
_CONDITION = (
    "only if a shuffler that the reader trusts mixed all of these reports, none of them fabricated, and "
    "removed who sent each report, from where and when, before anybody else saw it; otherwise only the "
    "epsilon above is guaranteed"
)
VALIDATIONS = ("validation", "compared_validation")
"""The keys of validation rounds in a statement: of the model, and of a classifier that is not kept."""
_NO_AUDIT = "is not an audit; ldp-audit --json writes audits"


class AuditError(LdpError):
    """A file that does not contain an audit of this survey."""


def build_privacy_statement(
    snapshot: AnySnapshot,
    audit: dict[str, Any] | None = None,
    validation: Snapshot | None = None,
    compared: Snapshot | None = None,
    silos: SiloSnapshot | None = None,
) -> dict[str, Any]:
    """Return a model file's section on privacy.

    Parameters
    ----------
    snapshot : Snapshot or SiloSnapshot
    audit : dict, optional
        The audit of the survey's plan, see :func:`read_audit`.
    validation : Snapshot, optional
        The counters of the validation round, whose people answered with the same epsilon. The statement has
        a separate entry for it.
    compared : Snapshot, optional
        The counters of a second validation round, of the classifier that was not kept; as for `validation`.
    silos : SiloSnapshot, optional
        The counters of silos with which those of people are pooled. The statement has a separate entry.
    """
    if isinstance(snapshot, SiloSnapshot):
        return {**_summarise_silos(snapshot), "audit": audit}
    training = _summarise_reports(snapshot)
    rounds = {name: each for name, each in zip(VALIDATIONS, (validation, compared), strict=True) if each}
    validated = {name: _summarise_reports(each) for name, each in rounds.items()}
    # a report names its plan, so the reports of each plan are mixed with each other only
    counts = [each["reports"] for each in (training, *validated.values())]
    simulated = any(each.simulated for each in (snapshot, *rounds.values()))
    delta = min(_MAX_DELTA, 1 / (10 * max(*counts, 1)))
    return {
        **training,
        **validated,
        **({SILOS: _summarise_silos(silos)} if silos else {}),
        **({"simulated": True} if simulated else {}),
        "epsilon": decimal_text(snapshot.plan.epsilon),
        "reports_per_person": 1,
        "audit": audit,
        "only_if_shuffled": {
            "condition": _CONDITION,
            "epsilon": compute_shuffled_epsilon(float(snapshot.plan.epsilon), min(counts), delta),
            "delta": delta,
        },
    }


def _summarise_silos(snapshot: SiloSnapshot) -> dict[str, Any]:
    """Return what each message of a silo guarantees, and how many there are."""
    plan = snapshot.plan
    return {
        "trust": SILO,
        "adjacency": "add-remove",
        "plan_digest": plan.digest,
        "epsilon": decimal_text(plan.epsilon),
        "rows_per_person": plan.rows_per_person,
        "rows_limit": plan.rows,
        "messages": snapshot.messages,
        "rejected": dict(snapshot.rejections),
        **({"simulated": True} if snapshot.simulated else {}),
    }


def list_questions(statement: Mapping[str, Any]) -> list[Any]:
    """Return the entries of all questions in a privacy statement, also of validation rounds."""
    parts = [statement, *(statement.get(name, {}) for name in VALIDATIONS)]
    return [entry for part in parts for entry in part.get("questions", [])]


def _summarise_reports(snapshot: Snapshot) -> dict[str, Any]:
    """Return a plan's digest, its numbers of reports, and the realised epsilon of each question."""
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

    The bound is that of Feldman, McMillan and Talwar (2021, Theorem 3.1, as tightened in their published
    code). Where it does not apply, for few reports or a large epsilon, the local epsilon is returned.

    Parameters
    ----------
    local : float
    reports : int
        Number of reports that are shuffled with each other.
    delta : float
        Probability with which the bound may fail.
    """
    log_term = math.log(4 / delta)
    if reports == 0 or local > math.log(reports / (16 * log_term)):
        return local
    size = 8 * math.sqrt(math.exp(local) * log_term / reports) + 8 * math.exp(local) / reports
    difference = (1 - math.exp(-local)) / (1 + math.exp(-local) / (1 + size))
    return min(local, math.log1p(difference * size))


def read_audit(path: Path, plan: AnyPlan) -> dict[str, Any]:
    """Return the result of an audit, see :func:`read_audit_document`."""
    return read_audit_document(path, plan)[0]


def read_audit_document(path: Path, plan: AnyPlan) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the result of an audit that ``ldp-audit --json`` wrote for this plan, and the whole document.

    An audit is passed if it has no fault and its bound is at most epsilon.

    Raises
    ------
    AuditError
        If the file is not an audit, or is the audit of another plan.
    """
    try:
        audit = json.loads(path.read_bytes(), parse_constant=float)
        digest, faults, trials = audit["plan_digest"], audit["faults"], audit["trials"]
        leaks = [entry["leak"] for entry in audit["black_box"]]
        bound = max(float(leak["epsilon_lower_bound"]) for leak in leaks)
    except OSError as error:
        raise AuditError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise AuditError(f"{path}: {_NO_AUDIT}") from error
    if not (isinstance(faults, list) and type(trials) is int and 0 <= bound < math.inf):
        raise AuditError(f"{path}: {_NO_AUDIT}")
    if digest != plan.digest:
        raise AuditError(f"{path}: is the audit of another plan; audit this plan")
    passed = not faults and bound <= plan.epsilon
    return {"passed": passed, "faults": len(faults), "trials": trials, "bound": bound}, audit
