"""Renders the dossier: one HTML file without scripts, other files or requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup, escape

from encoders import __version__
from ldp_aggregator.render.html import load_template
from ldp_aggregator.statements.finding import Basis, Finding
from ldp_design.dossier.facts import TEXTS, anchor_of
from ldp_design.dossier.people_dossier import describe_people
from ldp_design.dossier.source import DossierSource
from ldp_design.sizing.size_facts import Facts


def render_dossier(source: DossierSource) -> bytes:
    """Return the dossier in UTF-8; the same source gives the same bytes."""
    return render_page("dossier.html", describe_people(source), source.commands)


def render_page(template: str, facts: Facts, commands: Mapping[str, str]) -> bytes:
    """Return a page in UTF-8; its template chooses among the findings and arranges them.

    Parameters
    ----------
    template : str
        The file of the template.
    facts : dict
        The values of the findings, and the tables.
    commands : mapping
        The commands that repeat a computation, by their names.
    """
    page = load_template("ldp_design.dossier", template, "dossier.css")
    tools = {
        "find": partial(_find, facts),
        "listed": partial(TEXTS.section, values=facts),
        "anchor_of": anchor_of,
        "common_mark": find_common_mark,
        "draft": write_draft,
        "bases": {each.name.lower(): each.value for each in Basis},
        "commands": commands,
        "numbers": {command: number for number, command in enumerate(commands.values(), 1)},
        "version": __version__,
    }
    return page.render(facts | tools).encode()


def _find(facts: Facts, identifier: str, /, **more: object) -> Finding:
    return TEXTS.find(identifier, **facts | more)


def write_draft(finding: Finding) -> Markup:
    """Return a part of the consent text, in which what the author must replace is marked."""

    def write_words(words: str) -> str:
        return escape(words).replace("[", Markup("<mark>[")).replace("]", Markup("]</mark>"))

    return Markup(finding.fill(escape, write_words))  # noqa: S704 - every value and text is escaped


@dataclass(frozen=True)
class CommonMark:
    """The mark that most findings of a list have; it is shown once, at the head of the list."""

    mark: Finding
    """A finding with this basis and command."""
    has_exceptions: bool
    """Whether other findings of the list have another mark."""

    def covers(self, finding: Finding) -> bool:
        """Return whether a finding has this mark."""
        return _mark_of(finding) == _mark_of(self.mark)


def find_common_mark(findings: Sequence[Finding]) -> CommonMark | None:
    """Return the mark of more than half of the findings; None if there is none, or one finding only."""
    if len(findings) < 2:
        return None
    [(mark, count)] = Counter(map(_mark_of, findings)).most_common(1)
    if 2 * count <= len(findings):
        return None
    example = next(each for each in findings if _mark_of(each) == mark)
    return CommonMark(example, has_exceptions=count < len(findings))


def _mark_of(finding: Finding) -> tuple[Basis, str]:
    return finding.basis, finding.command
