"""What a dossier is made from: the survey, its plan, the expected accuracy, and an audit."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from encoders.canonical import decimal_text
from encoders.survey import Plan, Survey, read_survey
from encoders.survey.any_survey import read_survey_file
from encoders.survey.compiled_plan import AnyPlan
from ldp_aggregator.privacy_statement import read_audit_document
from ldp_aggregator.statements.privacy import update_belief
from ldp_aggregator.wording.values import ShareAtMost
from ldp_design.sizing.assumed_people import LabelShares, make_rare_shares, parse_label_shares
from ldp_design.sizing.survey_size import COMPARED_USERS, Size, compare_sizes, size_for_users

BELIEFS = (0.01, 0.1, 0.5, 0.9)
"""Beliefs before a report, for which the dossier shows what a report changes at most."""
SURVEYS = (1, 2, 5)
"""Numbers of surveys of this epsilon for which the sum is shown."""


@dataclass(frozen=True, kw_only=True)
class Commands:
    """The commands that repeat a computation, in the order of the dossier; empty if there is none."""

    check: str
    odds: str
    """Prints what beliefs become, without this project."""
    dossier: str
    size: str = ""
    rare_size: str = ""
    audit: str

    @property
    def listed(self) -> dict[str, str]:
        """The commands that exist, by their names in texts/commands.md or texts/silo_commands.md."""
        return {name: command for name, command in vars(self).items() if command}

    @property
    def size_number(self) -> int:
        return [*self.listed].index("size") + 1

    @property
    def audit_number(self) -> int:
        return len(self.listed)


@dataclass(frozen=True, kw_only=True)
class PlanSource:
    plan: AnyPlan
    file: str
    """The name of the survey's file, for the commands that repeat a computation."""

    @property
    def epsilon(self) -> str:
        return decimal_text(self.plan.epsilon)

    def odds_factor(self, surveys: int = 1) -> float:
        """Return the factor by which reports of this many surveys of this epsilon change odds at most."""
        return math.exp(surveys * float(self.plan.epsilon))

    def belief_after(self, belief: float, surveys: int = 1) -> ShareAtMost:
        """Return the largest belief after the reports of this many surveys."""
        return ShareAtMost(update_belief(belief, self.odds_factor(surveys)))

    def command(self, program: str, *options: str) -> str:
        return " ".join(filter(None, (program, shlex.quote(self.file), *options)))

    @property
    def common_commands(self) -> dict[str, str]:
        """The commands that print the plan, and what beliefs become, without this project."""
        beliefs, counts = (", ".join(map(str, each)) for each in (BELIEFS, SURVEYS))
        factor = f"exp(n * {self.epsilon})"
        code = f"print([[b * {factor} / (1 - b + b * {factor}) for b in ({beliefs})] for n in ({counts})])"
        return {
            "check": self.command("ldp-survey check"),
            "odds": f"python3 -c {shlex.quote(f'from math import exp; {code}')}",
        }


@dataclass(frozen=True, kw_only=True)
class DossierSource(PlanSource):
    survey: Survey
    plan: Plan
    scenarios: Sequence[Sequence[Size]]
    """What to expect: with the label shares that were given; otherwise with equal shares and, if there is a
    label, with a rare one. Of each, a size for the expected number of people or, if that is not known, for
    each of several numbers. Empty for a validation round, to which `ldp-survey size` does not apply."""
    shares_text: str = ""
    audit: SimpleNamespace | None

    @property
    def size(self) -> Size | None:
        """What to expect for the expected number of people; None if it is not known."""
        sizes = self.scenarios[0] if self.scenarios else ()
        return sizes[0] if len(sizes) == 1 else None

    @cached_property
    def commands(self) -> Commands:
        size, audit = self.size, self.audit
        waves = len(self.plan.waves.list) if self.plan.waves else 1
        users = f"--users {size.users * waves}" if size else ""
        shares = f"--label-shares {shlex.quote(self.shares_text)}" if self.shares_text else ""
        rare = ""
        for each in self.scenarios[1:]:
            pairs = zip(self.plan.label.values, each[0].label_shares or (), strict=True)
            text = ",".join(f"{name}={share:.6g}" for name, share in pairs)
            rare = f"--label-shares {shlex.quote(text)}"
        return Commands(
            **self.common_commands,
            dossier=self.command(
                "ldp-survey dossier",
                users if size and size.users != self.survey.of_one_wave().users else "",
                shares,
                f"--audit {shlex.quote(audit.name)}" if audit else "",
                "-o dossier.html",
            ),
            size=self.command("ldp-survey size", users, shares) if self.scenarios else "",
            rare_size=self.command("ldp-survey size", users, rare) if rare else "",
            audit=self.command(
                "ldp-audit", f"--trials {audit.trials}" if audit else "", "--json > audit.json"
            ),
        )


def read_source(
    path: Path,
    users: int | None = None,
    audit: Path | None = None,
    on_simulation: Callable[[int], object] | None = None,
    label_shares: str | None = None,
) -> DossierSource:
    """Read a survey and an audit of it, and compute what to expect.

    `users` is by default the survey's own. `audit` is what `ldp-audit --json` printed, and `label_shares` the
    expected shares, as in "yes=0.1,no=0.9". `on_simulation` gets the number of people before a simulation.
    Raises SurveyError, AuditError or LabelSharesError if the survey cannot be compiled, the audit is of
    another plan, or the shares do not fit the labels.
    """
    survey = read_survey_file(path, read_survey)
    plan = survey.compile()
    summary = read_audit_summary(audit, plan) if audit else None  # before the simulations, which take time
    shares = parse_label_shares(label_shares, survey.label.values) if label_shares is not None else None
    return DossierSource(
        survey=survey,
        plan=plan,
        file=displayable_name(path),
        scenarios=_compute_scenarios(
            replace(survey, users=users or survey.users).of_one_wave(), shares, on_simulation
        ),
        shares_text=label_shares or "",
        audit=summary,
    )


def _compute_scenarios(
    survey: Survey,
    shares: LabelShares | None,
    on_simulation: Callable[[int], object] | None,
) -> Sequence[Sequence[Size]]:
    users = survey.users
    if survey.validation:
        return ()
    if users is None:
        first = compare_sizes(survey, label_shares=shares)
    else:
        if on_simulation and survey.label.exists:
            on_simulation(users)
        first = [size_for_users(survey, users, label_shares=shares)]
    scenarios = [first]
    if shares is None and survey.label.exists:
        rare = make_rare_shares(len(survey.label.values))
        counts = COMPARED_USERS if users is None else (users,)
        scenarios.append(compare_sizes(survey, users=counts, label_shares=rare))
    return scenarios


# -- the audit --------------------------------------------------------------------------------------


_DATED = ("date", "audited_at", "client", "version")
"""Entries that an audit may have about its date and the version of the client."""


def read_audit_summary(path: Path, plan: Plan) -> SimpleNamespace:
    """Read what ``ldp-audit --json`` printed; raise AuditError if it is none, or of another plan."""
    checked, document = read_audit_document(path, plan)
    return SimpleNamespace(
        name=displayable_name(path),
        passed=checked.passed,
        # the largest lower bound on epsilon of all questions and pairs of people
        bound=f"{checked.bound:.4f}",
        trials=checked.trials,
        faults=_list_texts(document.get("faults")),
        notes=_list_texts(document.get("notes")),  # on what it could not detect with its number of messages
        dates="; ".join(f"{key}: {document[key]}" for key in _DATED if key in document),
    )


def displayable_name(path: Path) -> str:
    """Return the name of a file; bytes that are not UTF-8 become question marks."""
    return path.name.encode(errors="replace").decode()


def _list_texts(entry: Any) -> tuple[str, ...]:
    return tuple(map(str, entry)) if isinstance(entry, list) else ()
