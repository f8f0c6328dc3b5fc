"""What a dossier is made from: the survey, its plan, the expected accuracy, and an audit."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from encoders.survey import Plan, Survey, read_survey
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.decimals import decimal_text
from encoders.survey.plan_files import read_survey_text
from ldp_aggregator.findings.bounds import percent_at_most
from ldp_aggregator.results.statements import update_belief
from ldp_design.dossier.audit_file import AuditSummary, displayable_name, read_audit_summary
from ldp_design.sizing.assumptions import make_rare_shares
from ldp_design.sizing.label_shares import parse_label_shares
from ldp_design.sizing.size import COMPARED_USERS, LabelShares, Size, compare_sizes, size_for_users

BELIEFS = (0.01, 0.1, 0.5, 0.9)
"""Beliefs before a report, for which the dossier shows what a report changes at most."""
SURVEYS = (1, 2, 5)
"""Numbers of surveys of this epsilon for which the sum is shown."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What to expect under one assumption about the shares of the labels."""

    label_shares: LabelShares | None
    """In the order of the survey; None if all are equal."""
    sizes: Sequence[Size]
    """One for the expected number of people; if that is not known, one for each of several numbers."""


@dataclass(frozen=True, kw_only=True)
class PlanSource:
    """A plan of people or of silos, and what follows from its epsilon."""

    plan: AnyPlan
    file: str
    """The name of the survey's file, for the commands that repeat a computation."""

    @property
    def epsilon(self) -> str:
        """The plan's epsilon as text."""
        return decimal_text(self.plan.epsilon)

    @property
    def main(self) -> str:
        """The name of the label in quotation marks; part I calls it the main question."""
        return f"\u201c{self.plan.row_label.name}\u201d"

    def odds_factor(self, surveys: int = 1) -> float:
        """Return the factor by which reports of this many surveys of this epsilon change odds at most."""
        return math.exp(surveys * float(self.plan.epsilon))

    def belief_after(self, belief: float, surveys: int = 1) -> str:
        """Return what a belief becomes at most by the reports of this many surveys, as a percentage."""
        return percent_at_most(update_belief(belief, self.odds_factor(surveys)))

    def command(self, program: str, options: str = "") -> str:
        """Return a command on the survey's file."""
        return " ".join(filter(None, (program, shlex.quote(self.file), options)))

    @property
    def check_command(self) -> str:
        """The command that prints the plan's questions, epsilon, digest and warnings."""
        return self.command("ldp-survey check")

    @property
    def odds_command(self) -> str:
        """The command that computes what beliefs become, without this project."""
        beliefs, counts = (", ".join(map(str, each)) for each in (BELIEFS, SURVEYS))
        factor = f"exp(n * {self.epsilon})"
        code = f"print([[b * {factor} / (1 - b + b * {factor}) for b in ({beliefs})] for n in ({counts})])"
        return f"python3 -c {shlex.quote(f'from math import exp; {code}')}"

    @property
    def dossier_command(self) -> str:
        """The command that writes this document again."""
        return self.command("ldp-survey dossier", "-o dossier.html")

    def command_number(self, command: str) -> str:
        """Return how a sentence names a command, for example "C2"."""
        return f"C{list(self.commands).index(command) + 1}"

    @property
    def commands(self) -> dict[str, str]:
        """The commands that repeat a computation, and what each one prints."""
        beliefs, counts = _join_percent(BELIEFS), ", ".join(map(str, SURVEYS))
        return {
            self.check_command: "the questions, their exact epsilon, the plan's digest, and warnings",
            self.odds_command: f"what a belief of {beliefs} becomes at most, after {counts} surveys of this "
            "epsilon",
        }


@dataclass(frozen=True, kw_only=True)
class DossierSource(PlanSource):
    """What a dossier is made from."""

    survey: Survey
    plan: Plan
    scenarios: Sequence[Scenario]
    """What to expect: with the label shares that were given; otherwise with equal shares, and with a rare
    label. Empty for a validation round, to which `ldp-survey size` does not apply."""
    shares_text: str = ""
    """The label shares as they were given; empty if they were not."""
    audit: AuditSummary | None

    @property
    def reported(self) -> str:
        """What a report contains of the drawn question, for people."""
        if self.plan.validation:
            return f"the randomised result of a prediction of {self.main}: right or wrong"
        return f"the randomised answer to this question together with {self.main}"

    @property
    def sizes(self) -> Sequence[Size]:
        """What to expect in the first scenario; empty for a validation round."""
        return self.scenarios[0].sizes if self.scenarios else ()

    @property
    def grouped(self) -> tuple[str, ...]:
        """The names of the questions that ask for several features together."""
        return tuple(each.name for each in self.plan.questions if len(each.feature_indices) > 1)

    @property
    def size(self) -> Size | None:
        """What to expect for the expected number of people; None if it is not known."""
        return self.sizes[0] if len(self.sizes) == 1 else None

    @property
    def dossier_command(self) -> str:
        """The command that writes this document again, with the same made-up person."""
        users = f"--users {self.size.users}" if self.size and self.size.users != self.survey.users else ""
        audit = f"--audit {shlex.quote(self.audit.name)}" if self.audit else ""
        options = (users, self._shares_option(), audit, "-o dossier.html")
        return self.command("ldp-survey dossier", " ".join(filter(None, options)))

    def _shares_option(self) -> str:
        return f"--label-shares {shlex.quote(self.shares_text)}" if self.shares_text else ""

    @property
    def size_command(self) -> str:
        """The command that prints what to expect in the first scenario."""
        return self._write_size_command(self._shares_option())

    @property
    def rare_size_command(self) -> str:
        """The command that prints what to expect if a label is rare; the same as above without this case."""
        if len(self.scenarios) < 2:
            return self.size_command
        rare = self.scenarios[1].label_shares
        assert rare is not None
        pairs = zip(self.plan.label.values, rare, strict=True)
        return self._write_size_command(
            f"--label-shares {shlex.quote(','.join(f'{name}={share:.6g}' for name, share in pairs))}"
        )

    def _write_size_command(self, shares: str) -> str:
        users = f"--users {self.size.users}" if self.size else ""
        return self.command("ldp-survey size", " ".join(filter(None, (users, shares))))

    @property
    def audit_command(self) -> str:
        """The command that audits the survey and writes the file for `--audit`."""
        trials = f"--trials {self.audit.trials} " if self.audit else ""
        return self.command("ldp-audit", f"{trials}--json > audit.json")

    @property
    def commands(self) -> dict[str, str]:
        """The commands that repeat a computation, and what each one prints."""
        return super().commands | {
            self.dossier_command: "this document, with the same made-up person; ldp-survey preview shows "
            "another person with fresh noise",
            **({self.size_command: "the margins and the accuracy to expect"} if self.sizes else {}),
            **(
                {self.rare_size_command: "the margins to expect if one answer to the main question is rare"}
                if len(self.scenarios) > 1
                else {}
            ),
            self.audit_command: "an audit of the installed client with this survey, for --audit",
        }


def read_source(
    path: Path,
    users: int | None = None,
    audit: Path | None = None,
    on_simulation: Callable[[int], object] | None = None,
    label_shares: str | None = None,
) -> DossierSource:
    """Read a survey and an audit of it, and compute what to expect.

    Parameters
    ----------
    path : Path
        The survey, a TOML file.
    users : int, optional
        Number of people who will answer; by default the survey's own number.
    audit : Path, optional
        What `ldp-audit --json` printed.
    on_simulation : callable, optional
        Called with the number of people before surveys of them are simulated.
    label_shares : str, optional
        The expected shares of the labels, as in "yes=0.1,no=0.9".

    Raises
    ------
    SurveyError, AuditError, LabelSharesError
        If the survey cannot be compiled, the audit is of another plan, or the shares do not fit the labels.
    """
    survey = read_survey(read_survey_text(path))
    plan = survey.compile()
    summary = read_audit_summary(audit, plan) if audit else None  # before the simulations, which take time
    shares = parse_label_shares(label_shares, survey.label.values) if label_shares is not None else None
    return DossierSource(
        survey=survey,
        plan=plan,
        file=displayable_name(path),
        scenarios=_compute_scenarios(survey, users or survey.users, shares, on_simulation),
        shares_text=label_shares or "",
        audit=summary,
    )


def _join_percent(beliefs: Sequence[float]) -> str:
    return ", ".join(f"{belief:.0%}" for belief in beliefs)


def _compute_scenarios(
    survey: Survey,
    users: int | None,
    shares: LabelShares | None,
    on_simulation: Callable[[int], object] | None,
) -> Sequence[Scenario]:
    if survey.validation:
        return ()
    if users is None:
        first = compare_sizes(survey, label_shares=shares)
    else:
        if on_simulation:
            on_simulation(users)
        first = [size_for_users(survey, users, label_shares=shares)]
    scenarios = [Scenario(label_shares=shares, sizes=first)]
    if shares is None:
        rare = make_rare_shares(len(survey.label.values))
        counts = COMPARED_USERS if users is None else (users,)
        scenarios.append(
            Scenario(label_shares=rare, sizes=compare_sizes(survey, users=counts, label_shares=rare))
        )
    return scenarios
