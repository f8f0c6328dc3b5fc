"""The facts that the dossiers of people and of silos state; the words are in texts/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from encoders.survey.choices import Choices
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.decimals import decimal_text
from encoders.survey.display_texts import display_texts
from ldp_aggregator.statements.finding import Basis
from ldp_aggregator.statements.texts import Texts
from ldp_design.dossier.source import BELIEFS, SURVEYS, PlanSource
from ldp_design.sizing.size_facts import Cell, Facts

TEXTS = Texts("ldp_design.dossier")
_ABOUT = ("purpose", "contact", "ethics", "retention")
"""The entries of [about] that a board reads."""


def describe_plan(source: PlanSource, commands: Mapping[str, str], is_silo: bool) -> Facts:
    """Return the facts about a plan of either kind: its sections, commands, beliefs and declarations."""
    plan = source.plan
    facts: Facts = {
        "is_silo": is_silo,
        "kind": "silo_" if is_silo else "",
        "title": display_texts(plan).title,
        "survey": plan.id,
        "file": source.file,
        "digest": plan.digest,
        "epsilon": source.epsilon,
        "has_main": plan.row_label.exists,
        "main": plan.row_label.name,
        "several_answers": " and ".join(each.name for each in plan.entries if isinstance(each, Choices)),
        "invited": plan.by_invitation,
        **_describe_commands(commands),
        "belief_10": source.belief_after(0.1),
        "belief_50": source.belief_after(0.5),
        "belief_90": source.belief_after(0.9),
        "belief_10_two": source.belief_after(0.1, 2),
        "belief_50_two": source.belief_after(0.5, 2),
        "belief_50_five": source.belief_after(0.5, 5),
        "sums": list_sums(source),
        **_describe_declarations(plan),
    }
    sections = [*TEXTS.section("board", facts), *TEXTS.section("annex", facts)]
    numbers = {anchor_of(each.id): number for number, each in enumerate(sections, 1)}
    facts |= {f"{anchor.replace('-', '_')}_section": number for anchor, number in numbers.items()}
    facts["headings"] = {anchor_of(each.id): (numbers[anchor_of(each.id)], each.title) for each in sections}
    stated = TEXTS.section("purpose", facts)
    missing = [each.title.lower() for each in stated if each.basis is Basis.COMPUTED]
    return facts | {"missing": ", ".join(missing)}


def anchor_of(identifier: str) -> str:
    """Return the name of an entry without that of its file."""
    return identifier.partition(".")[2]


def _describe_commands(commands: Mapping[str, str]) -> Facts:
    facts: Facts = {f"{name}_command": command for name, command in commands.items()}
    return facts | {f"{name}_number": number for number, name in enumerate(commands, 1)}


def _describe_declarations(plan: AnyPlan) -> Facts:
    texts = display_texts(plan)
    stated: Facts = {key: texts.about.get(key) for key in _ABOUT}
    return stated | {"explanation": texts.help}


def list_sums(source: PlanSource) -> list[Sequence[Cell]]:
    """Return the rows of the table of what several reports with this epsilon add up to."""
    return [
        [
            count,
            decimal_text(count * source.plan.epsilon),
            *(source.belief_after(belief, count) for belief in BELIEFS),
        ]
        for count in SURVEYS
    ]
