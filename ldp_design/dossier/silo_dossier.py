"""The dossier of a silo survey: its facts, tables and commands; the words are in texts/silo_*.md."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from encoders.survey.silo_plan import SiloPlan, SiloSurvey
from ldp_aggregator.wording.values import Count, Counted, RoundShare, localise, quote, quote_questions
from ldp_design.authoring.organisation_overview import describe_tables, find_silo_warnings
from ldp_design.dossier.accuracy import describe_estimate
from ldp_design.dossier.asked import list_asked
from ldp_design.dossier.dossier_page import TEXTS, DossierFacts, describe_plan, quote_program, render_page
from ldp_design.dossier.source import BELIEFS, Commands, PlanSource, displayable_name
from ldp_design.sizing import size_facts
from ldp_design.sizing.assumed_people import parse_label_shares
from ldp_design.sizing.silo_size import SiloSize, compare_silo_sizes
from ldp_design.sizing.size_facts import describe_silo_size
from ldp_design.sizing.size_summary import Cell, build_silo_comparison, list_margins


@dataclass(frozen=True, kw_only=True)
class SiloSource(PlanSource):
    plan: SiloPlan
    sizes: Sequence[SiloSize]
    options: Mapping[str, str | int]

    @cached_property
    def commands(self) -> Commands:
        options = [f"{name} {shlex.quote(str(value))}" for name, value in self.options.items()]
        return Commands(
            **self.common_commands,
            dossier=self.command("ldp-survey dossier", *options, "-o dossier.html"),
            size=self.command("ldp-survey size", *options),
            audit=self.command("ldp-audit silo", "--trials 20000"),
        )


def read_silo_source(
    survey: SiloSurvey, path: Path, rows: int | None, silos: int | None, label_shares: str | None
) -> SiloSource:
    """Compile a silo survey, and compute what to expect; see :func:`~.source.read_source`."""
    shares = None if label_shares is None else parse_label_shares(label_shares, survey.label.values)
    given = {"--rows": rows, "--silos": silos, "--label-shares": label_shares}
    return SiloSource(
        plan=survey.compile(),
        file=displayable_name(path),
        sizes=compare_silo_sizes(survey, rows, silos, shares),
        options={name: value for name, value in given.items() if value},
    )


def render_silo_dossier(source: SiloSource) -> bytes:
    """Return the dossier in UTF-8; the same source and language give the same bytes."""
    with quote_questions(source.plan):
        plan, first, facts = source.plan, source.sizes[0], _describe_silos(source)
        grades = [] if facts.size.is_comparison else TEXTS.section("grades", facts)
        return render_page(
            "silo.html",
            source,
            facts,
            asked=list_asked(plan, "silo_tables.asked"),
            beliefs=[
                (RoundShare(each), source.belief_after(each), source.belief_after(each, 2))
                for each in BELIEFS
            ],
            precision=(
                build_silo_comparison(source.sizes) if facts.size.is_comparison else _grade_estimates(first)
            ),
            size_notes=grades + size_facts.TEXTS.section("silo_margins", facts.size),
            warnings=[
                TEXTS.find(
                    "warnings.warning",
                    message=quote_program(each.message),
                    is_silo=True,
                    commands=source.commands,
                )
                for each in find_silo_warnings(plan)
            ],
        )


def _describe_silos(source: SiloSource) -> DossierFacts:
    plan, first = source.plan, source.sizes[0]
    size = describe_silo_size(first, len(source.sizes) > 1, source.commands.size)
    errors = [each["standard_error"] for each in describe_tables(plan)]
    return DossierFacts(
        **vars(describe_plan(source, source.commands, size, is_silo=True)),
        # whether numbers of rows and of silos are stated
        rows_given="--rows" in source.options,
        silos_given="--silos" in source.options,
        messages=Counted(first.silos, "message"),
        questions=Counted(len(plan.features), "question"),
        cells=Count(plan.mechanism.cells),
        rows_per_person=Count(plan.rows_per_person),
        several_rows=plan.rows_per_person > 1,
        most_rows=Count(plan.rows),
        message_bytes=Count(plan.message_bytes),
        scale=localise(f"{float(plan.scale):,.6g}"),
        count_error=localise(f"{max(errors):,.1f}"),
    )


def _grade_estimates(size: SiloSize) -> list[Sequence[Cell]]:
    rows = [(quote(each.margin.name), describe_estimate(each), each.grade) for each in list_margins(size)]
    return [TEXTS.find("page.head-precision").cells, *rows]
