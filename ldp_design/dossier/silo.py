"""The dossier of a survey of silos: facts, tables and commands. Its statements are in templates/silo.html."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Template

from encoders.survey.silo_plan import SiloPlan
from encoders.survey.silo_survey import SiloSurvey
from ldp_aggregator.render.html import load_template
from ldp_design.authoring.silo_overview import describe_tables, find_silo_warnings
from ldp_design.dossier.asked import build_declarations, build_table, missing_entries
from ldp_design.dossier.audit_file import displayable_name
from ldp_design.dossier.data_flow import Station, draw_flow, list_places
from ldp_design.dossier.grades import GRADES_EXPLANATION, Grade, grade, group_by_grade
from ldp_design.dossier.page import build_frame
from ldp_design.dossier.precision import format_estimate
from ldp_design.dossier.privacy import build_sums
from ldp_design.dossier.source import BELIEFS, PlanSource
from ldp_design.dossier.statement import Basis, DossierTable, assumed, computed, conditional
from ldp_design.sizing.label_shares import parse_label_shares
from ldp_design.sizing.silo_summary import build_silo_comparison, build_silo_rows, explain_silo_size
from ldp_design.sizing.silos import SiloSize, compare_silo_sizes

_BOARD = {
    "summary": "Summary for the board",
    "purpose": "Purpose, contact, approval, retention",
    "asked": "What is counted",
    "flow": "What happens to the rows, and who sees what",
    "visible": "What stays visible",
    "epsilon": "How much a message can reveal",
    "accuracy": "Can the survey reach its aim?",
    "not-covered": "What must be checked, and what is not protected",
    "withdrawal": "What is stored, and what can be taken back",
    "audit": "The audit",
    "checklist": "What the author must still state",
}
_ANNEX = {
    "proof": "The message, epsilon and its proof",
    "commands": "Commands that repeat the computations",
}


@dataclass(frozen=True, kw_only=True)
class SiloSource(PlanSource):
    """What the dossier of a survey of silos is made from."""

    plan: SiloPlan
    sizes: Sequence[SiloSize]
    options: str
    """The options of `ldp-survey dossier` that determine the sizes."""

    @property
    def size(self) -> SiloSize | None:
        """What to expect if the numbers of rows and of silos are known."""
        return self.sizes[0] if len(self.sizes) == 1 else None

    @property
    def dossier_command(self) -> str:
        """The command that writes this document again."""
        return self.command("ldp-survey dossier", f"{self.options}-o dossier.html")

    @property
    def size_command(self) -> str:
        """The command that prints what to expect."""
        return self.command("ldp-survey size", self.options.strip())

    @property
    def audit_command(self) -> str:
        """The command that audits messages."""
        return self.command("ldp-audit silo", "--trials 20000")

    @property
    def commands(self) -> dict[str, str]:
        """The commands that repeat a computation, and what each one prints."""
        return super().commands | {
            self.check_command: "the tables of a message, their noise, the plan's digest, and warnings",
            self.dossier_command: "this document",
            self.size_command: "the margins to expect",
            self.audit_command: "an audit of the messages that the installed program makes for this survey",
        }


def read_silo_source(
    survey: SiloSurvey, path: Path, rows: int | None, silos: int | None, label_shares: str | None
) -> SiloSource:
    """Compile a survey of silos, and compute what to expect; see :func:`~.source.read_source`."""
    shares = None if label_shares is None else parse_label_shares(label_shares, survey.label.values)
    given = {"--rows": rows, "--silos": silos, "--label-shares": label_shares}
    return SiloSource(
        plan=survey.compile(),
        file=displayable_name(path),
        sizes=compare_silo_sizes(survey, rows, silos, shares),
        options="".join(f"{name} {shlex.quote(str(value))} " for name, value in given.items() if value),
    )


def render_silo_dossier(source: SiloSource) -> bytes:
    """Return the dossier in UTF-8; the same source gives the same bytes."""
    frame = build_frame(source, _BOARD, _ANNEX)
    numbers = {anchor: f"section {number}" for number, anchor in enumerate([*_BOARD, *_ANNEX], 1)}
    tools = {
        each.__name__: each for each in (assumed, computed, conditional, Station, draw_flow, list_places)
    }
    return _load_template().render(frame | tools | _build_view(source) | {"section": numbers.get}).encode()


def _build_view(source: SiloSource) -> dict[str, Any]:
    """Return the facts and tables that the template shows."""
    plan, size, first = source.plan, source.size, source.sizes[0]
    languages = list(plan.texts.languages) if plan.texts else []
    return {
        "programs": "the silos and the collector",
        "source": source,
        "plan": plan,
        "tokens": plan.by_invitation,
        "check": source.check_command,
        "odds": source.odds_command,
        "size": source.size_command,
        "declarations": build_declarations(source),
        "missing": missing_entries(plan),
        "asked": [
            replace(
                build_table(plan, language),
                caption=f"What a row has {language and f'({language})'}".strip(),
                head=("Question", "Column of the rows", "Possible values", "If the cell is empty"),
            )
            for language in languages or [""]
        ],
        "warnings": [
            computed(f"Warning: {each.message}.", source.check_command) for each in find_silo_warnings(plan)
        ],
        "beliefs": _build_beliefs(source),
        "sums": replace(
            build_sums(source),
            caption="What several messages about the same person add up to",
            head=("Messages", *build_sums(source).head[1:]),
            note="The beliefs are about whether the person is in the rows.",
        ),
        "precision": _build_precision(source),
        "useless": group_by_grade(size).get(Grade.USELESS, []) if size else [],
        "explanations": [
            assumed(text) if text.startswith("Assumed") else conditional(text, source.size_command)
            for text in (*([GRADES_EXPLANATION] if size else []), *map(_mark, explain_silo_size(first)))
        ],
        "count_error": f"{max(each['standard_error'] for each in describe_tables(plan)):,.1f}",
    }


def _build_beliefs(source: SiloSource) -> DossierTable:
    return DossierTable(
        caption="What one message can change at most",
        head=(
            "Somebody believes, before",
            "That the person is in the rows: after it, at most",
            "Something about a person who is known to be in them: after it, at most",
        ),
        rows=[(f"{each:.0%}", source.belief_after(each), source.belief_after(each, 2)) for each in BELIEFS],
        basis=Basis.CONDITIONAL,
        command=source.odds_command,
        numeric={1, 2},
        note="Assumption: no other message counts the person, or somebody whose data depend on theirs.",
    )


def _build_precision(source: SiloSource) -> DossierTable:
    size = source.size
    if size:
        head = ["Question", "Typical estimate", "Grade"]
        estimates = [format_estimate(row[2]) for row in build_silo_rows(size) if row[0]]
        pairs = zip(size.margins, estimates, strict=True)
        rows = [[each.name, text, str(grade(size, each))] for each, text in pairs]
    else:
        head, *rows = ([_mark(each) for each in row] for row in build_silo_comparison(source.sizes))
    return DossierTable(
        caption="What to expect from the noise",
        head=[each.capitalize() for each in head],
        rows=rows,
        basis=Basis.CONDITIONAL,
        command=source.size_command,
    )


def _mark(text: str) -> str:
    return text.replace("+-", "\u00b1")


@cache
def _load_template() -> Template:
    return load_template("ldp_design.dossier", "silo.html", "dossier.css")
