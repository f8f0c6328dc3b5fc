"""Renders dossiers, and has the facts that those of people and of silos share; the words are in texts/.

A dossier is one HTML file without scripts, other files or requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

from markupsafe import Markup, escape

from encoders import __version__
from encoders.canonical import decimal_text
from encoders.survey import Label
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.display_texts import DisplayText, display_texts
from encoders.survey.features import Choices
from encoders.survey.texts import ABOUT_KEYS
from ldp_aggregator.render.html import load_template, write_text
from ldp_aggregator.statements.privacy import update_beliefs
from ldp_aggregator.stores.schedule import format_time
from ldp_aggregator.wording.language import LANGUAGE
from ldp_aggregator.wording.statement import Basis, Statement, Texts
from ldp_aggregator.wording.values import localise, quote, write_time
from ldp_design.dossier.source import BELIEFS, SURVEYS, Commands, PlanSource
from ldp_design.sizing.size_summary import Cell

TEXTS = Texts("ldp_design.dossier")
_MARK = Markup('<span class="basis {}">{}</span>')

# -- facts about a plan of people or of silos -------------------------------------------------------


_SECTIONS = (
    *("sample", "purpose", "asked", "visible", "epsilon", "accuracy", "not_covered", "withdrawal", "audit"),
    *("checklist", "proof", "margins", "commands"),
)
"""The sections whose numbers texts name."""


class DossierFacts(SimpleNamespace):
    """The facts that texts of dossiers of both kinds name, see :func:`describe_plan`."""

    @property
    def conditions(self) -> int:
        return len(TEXTS.section("silo_conditions" if self.is_silo else "conditions", self))

    @property
    def missing(self) -> str:
        stated = TEXTS.section("purpose", self)
        names = [each.title for each in stated if each.basis is Basis.COMPUTED]
        return ", ".join(names if LANGUAGE.get().words else map(str.lower, names))  # German nouns stay


def describe_plan(
    source: PlanSource, commands: Commands, size: SimpleNamespace | None, is_silo: bool
) -> DossierFacts:
    """Return the facts about a plan of either kind: its sections, commands, beliefs and declarations."""
    plan, texts = source.plan, display_texts(source.plan, LANGUAGE.get().tag)
    numbers = {anchor.replace("-", "_"): number for anchor, (number, _) in _list_headings(is_silo).items()}
    relay = None if getattr(plan, "waves", None) else getattr(plan, "relay", None)
    times = (relay.opens, relay.closes) if relay else ()
    beliefs, of_two, of_five = (update_beliefs(source.odds_factor(each)) for each in (1, 2, 5))
    return DossierFacts(
        is_silo=is_silo,
        plan=plan,
        epsilon=localise(source.epsilon),
        file=source.file,
        version=Markup(__version__),  # noqa: S704 - not a name
        marks=SimpleNamespace(**{name: _MARK.format(name, text) for name, text in find_bases().items()}),
        label=title_label(plan),
        # what the author states about the survey; empty where nothing is stated
        about=SimpleNamespace(
            **{
                **dict.fromkeys(ABOUT_KEYS, ""),
                **texts.about,
                "title": texts.title,
                "explanation": texts.help,
            }
        ),
        several_answers=join_names(quote(each.name) for each in plan.entries if isinstance(each, Choices)),
        # when a relay accepts reports
        times=" \u2013 ".join(write_time(format_time(each)) for each in times),
        size=size,
        commands=commands,
        # their numbers; 0 if the dossier does not have one
        sections=SimpleNamespace(**{name: numbers.get(name, 0) for name in _SECTIONS}),
        # after one, two and five reports
        beliefs=beliefs,
        beliefs_of_two=of_two,
        beliefs_of_five=of_five,
    )


def title_label(plan: AnyPlan) -> Label:
    """Return the label with its question and the texts of its values in place of names."""
    texts = display_texts(plan, LANGUAGE.get().tag).label
    return (
        replace(plan.row_label, name=texts.title, values=(*texts.values.values(),))
        if texts
        else plan.row_label
    )


def _list_headings(is_silo: bool) -> dict[str, tuple[int, str]]:
    found = [each for part in ("board", "annex") for each in TEXTS.section(part, is_silo=is_silo)]
    return {anchor_of(each.id): (number, each.title) for number, each in enumerate(found, 1)}


def find_bases() -> dict[str, str]:
    return {each.name.lower(): TEXTS.write(f"page.{each.name.lower()}") for each in Basis}


def join_names(names: Iterable[str], word: str = "and") -> str:
    """Return names with a word of words.md between any two."""
    return f" {TEXTS.write(f'words.{word}')} ".join(names)


def quote_program(text: str) -> str:
    """Return what programs say in English; on a page in another language it is marked as English."""
    return DisplayText(text, "en") if LANGUAGE.get().words else text


def anchor_of(identifier: str) -> str:
    """Return the name of an entry without that of its file."""
    return identifier.partition(".")[2]


def list_sums(source: PlanSource) -> list[Sequence[Cell]]:
    """Return the rows of the table of what several reports with this epsilon add up to."""
    return [
        [
            count,
            localise(decimal_text(count * source.plan.epsilon)),
            *(source.belief_after(belief, count) for belief in BELIEFS),
        ]
        for count in SURVEYS
    ]


# -- the page ---------------------------------------------------------------------------------------


def render_page(template: str, source: PlanSource, facts: DossierFacts, **tables: object) -> bytes:
    """Return a page in UTF-8 from statements; `tables` is what else its template shows."""
    page = load_template("ldp_design.dossier", template, "dossier.css")
    commands = facts.commands.listed
    return page.render(
        facts=facts,
        kind="silo_" if facts.is_silo else "",
        headings=_list_headings(facts.is_silo),
        sums=list_sums(source),
        find=lambda identifier: TEXTS.find(identifier, facts),
        text=lambda name: write_text(TEXTS.find(f"page.{name}", facts)),
        head=lambda name: TEXTS.find(f"page.head-{name}", facts).cells,
        write=TEXTS.write,
        listed=lambda name: TEXTS.section(name, facts),
        anchor_of=anchor_of,
        common_mark=find_common_mark,
        draft=write_draft,
        bases=find_bases(),
        commands=commands,
        numbers={command: number for number, command in enumerate(commands.values(), 1)},
        **tables,
    ).encode()


def write_draft(statement: Statement) -> Markup:
    """Return a part of the consent text, in which what the author must replace is marked."""

    def write_words(words: str) -> str:
        return escape(words).replace("[", Markup("<mark>[")).replace("]", Markup("]</mark>"))

    return Markup(statement.fill(escape, write_words))  # noqa: S704 - every value and text is escaped


@dataclass(frozen=True)
class CommonMark:
    """The mark that most statements of a list have; it is shown once, at the head of the list."""

    mark: Statement
    has_exceptions: bool
    """Whether other statements of the list have another mark."""

    def covers(self, statement: Statement) -> bool:
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
