"""Builds the section on the data flow: a drawing, and the same as a list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup, escape

from ldp_aggregator.authoring.overview import report_bytes
from ldp_aggregator.dossier.source import DossierSource
from ldp_aggregator.dossier.statement import Statement, assumed

_WIDTH, _TOP, _BOX, _GAP, _MARGIN = 380, 8, 56, 46, 8
_LINE = 17


@dataclass(frozen=True)
class Station:
    """One place of the data flow.

    Attributes
    ----------
    name : str
    role : str
        One line of the drawing.
    sees, keeps : str
    passes : str
        What goes to the next place; empty for the last.
    """

    name: str
    role: str
    sees: str
    keeps: str
    passes: str = ""


def list_stations(source: DossierSource) -> tuple[Station, ...]:
    """Return the places from the device to the model."""
    return (
        _DEVICE,
        _describe_network(source),
        _describe_collector(source),
        _AGGREGATOR,
        _RESULTS,
    )


_DEVICE = Station(
    name="Device of the person",
    role="the true answers stay here; it randomises one",
    sees="The true answers, which the application reads. No other place sees them.",
    keeps="The consent, the survey's plan, the epsilon spent, and the report until it is delivered. The true "
    "answers are never written.",
    passes="one randomised report",
)
_AGGREGATOR = Station(
    name="Aggregator",
    role="subtracts the noise from the sums",
    sees="The sums per question, with the noise of all devices.",
    keeps="Estimates for groups of people, with intervals.",
    passes="estimates",
)
_RESULTS = Station(
    name="Model and results",
    role="may be published",
    sees="Estimates for groups of people. No report and no row of a person.",
    keeps="The estimates, the model and its privacy statement.",
)


def _describe_network(source: DossierSource) -> Station:
    lengths = {report_bytes(source.plan, question) for question in source.plan.questions}
    length = " The length can show which question was drawn." if len(lengths) > 1 else ""
    return Station(
        name="Network",
        role="sees address, time and length",
        sees="The network address of the device, the time and the length of the message. The content is "
        f"encrypted if the collector is reached by HTTPS.{length}",
        keeps="Whatever a provider or the operator of the network logs.",
        passes="the same report",
    )


def _describe_collector(source: DossierSource) -> Station:
    is_invited = source.plan.by_invitation
    identifier = "the invitation" if is_invited else "a random id"
    stored = "a hash of its invitation" if is_invited else "its random id"
    return Station(
        name="Collector",
        role="counts each report once",
        sees=f"The randomised report with the question and {identifier}; the network address and the time "
        "of the request while it lasts.",
        keeps=f"The sums of all reports, and for each report its question, {stored} and an 8-byte mark of "
        "the randomised answer. No address, no time, no access log.",
        passes="sums of all reports",
    )


def list_places(source: DossierSource) -> list[tuple[str, Statement]]:
    """Return for each place what it sees, keeps and passes on: the drawing as text."""
    return [
        (
            each.name,
            assumed(f"Sees: {each.sees} Keeps: {each.keeps} Passes on: {each.passes or 'nothing'}."),
        )
        for each in list_stations(source)
    ]


def draw_flow(source: DossierSource) -> Markup:
    """Return the drawing: one box per place, from top to bottom."""
    stations = list_stations(source)
    height = 2 * _TOP + len(stations) * _BOX + (len(stations) - 1) * _GAP
    title = f"Data flow: {', then '.join(each.name for each in stations)}."
    parts = [part for place, each in enumerate(stations) for part in _draw_station(place, each)]
    view = f'viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="flow-title" focusable="false"'
    head = f'<svg class="flow" {view}><title id="flow-title">{escape(title)}</title>'
    return Markup(f"{head}{''.join(parts)}</svg>")  # noqa: S704 - every text is escaped


def _draw_station(place: int, station: Station) -> Iterator[str]:
    top, middle = _TOP + place * (_BOX + _GAP), _WIDTH // 2
    kind = "private" if place == 0 else "public"
    box = f'x="{_MARGIN}" y="{top}" width="{_WIDTH - 2 * _MARGIN}" height="{_BOX}" rx="8"'
    yield f'<rect class="{kind}" {box}/>'
    yield f'<text class="name" x="{middle}" y="{top + 24}">{escape(station.name)}</text>'
    yield f'<text class="role" x="{middle}" y="{top + 24 + _LINE}">{escape(station.role)}</text>'
    if station.passes:
        start, end = top + _BOX, top + _BOX + _GAP
        yield f'<line class="arrow" x1="60" y1="{start}" x2="60" y2="{end - 7}"/>'
        yield f'<path class="head" d="M54 {end - 9} L66 {end - 9} L60 {end} Z"/>'
        yield f'<text class="passes" x="80" y="{start + _GAP // 2 + 5}">{escape(station.passes)}</text>'
