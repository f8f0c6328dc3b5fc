"""Renders dossiers, and has the facts that those of people and of silos share; the words are in texts/.

A dossier is one HTML file without scripts, other files or requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup, escape

from encoders import __version__
from encoders.canonical import decimal_text
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.display_texts import display_texts
from encoders.survey.features import Choices
from ldp_aggregator.render.html import load_template
from ldp_aggregator.wording.statement import Basis, Statement, Texts
from ldp_design.dossier.source import BELIEFS, SURVEYS, PlanSource
from ldp_design.sizing.size_summary import Cell

Facts = dict[str, object]
"""The facts of all text files and templates of a dossier, by name."""

# -- facts about a plan of people or of silos -------------------------------------------------------


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


# -- the page ---------------------------------------------------------------------------------------


def render_page(template: str, facts: Facts, commands: Mapping[str, str]) -> bytes:
    """Return a page in UTF-8; its template chooses among the statements and arranges them.

    Parameters
    ----------
    template : str
        The file of the template.
    facts : dict
        The values of the statements, and the tables.
    commands : mapping
        The commands that repeat a computation, by their names.
    """
    page = load_template("ldp_design.dossier", template, "dossier.css")
    tools = {
        "find": partial(_find, facts),
        "listed": partial(TEXTS.section, facts=facts),
        "anchor_of": anchor_of,
        "common_mark": find_common_mark,
        "draft": write_draft,
        "bases": {each.name.lower(): each.value for each in Basis},
        "commands": commands,
        "numbers": {command: number for number, command in enumerate(commands.values(), 1)},
        "version": __version__,
    }
    return page.render(facts | tools).encode()


def _find(facts: Facts, identifier: str, /, **more: object) -> Statement:
    return TEXTS.find(identifier, **facts | more)


def write_draft(statement: Statement) -> Markup:
    """Return a part of the consent text, in which what the author must replace is marked."""

    def write_words(words: str) -> str:
        return escape(words).replace("[", Markup("<mark>[")).replace("]", Markup("]</mark>"))

    return Markup(statement.fill(escape, write_words))  # noqa: S704 - every value and text is escaped


@dataclass(frozen=True)
class CommonMark:
    """The mark that most statements of a list have; it is shown once, at the head of the list."""

    mark: Statement
    """A statement with this basis and command."""
    has_exceptions: bool
    """Whether other statements of the list have another mark."""

    def covers(self, statement: Statement) -> bool:
        """Return whether a statement has this mark."""
        return _mark_of(statement) == _mark_of(self.mark)


def find_common_mark(statements: Sequence[Statement]) -> CommonMark | None:
    """Return the mark of more than half of the statements; None if there is none, or one statement only."""
    if len(statements) < 2:
        return None
    [(mark, count)] = Counter(map(_mark_of, statements)).most_common(1)
    if 2 * count <= len(statements):
        return None
    example = next(each for each in statements if _mark_of(each) == mark)
    return CommonMark(example, has_exceptions=count < len(statements))


def _mark_of(statement: Statement) -> tuple[Basis, str]:
    return statement.basis, statement.command
