"""Builds the section on the data flow: a drawing, and the same as a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from ldp_design.authoring.overview import report_bytes
from ldp_design.dossier.kept import describe_mark, describe_record
from ldp_design.dossier.sections import section
from ldp_design.dossier.source import DossierSource
from ldp_design.dossier.statement import Statement, assumed

_WIDTH, _TOP, _BOX, _GAP, _MARGIN = 380, 8, 56, 46, 8
_LINE = 17


@dataclass(frozen=True)
class Station:
    """One place of the data flow."""

    name: str
    role: str
    """One line of the drawing."""
    sees: str
    keeps: str
    passes: str = ""
    """What goes to the next place; empty for the last."""


def list_stations(source: DossierSource) -> tuple[Station, ...]:
    """Return the places from the device to the model."""
    return (
        _describe_device(source),
        _describe_network(source),
        _describe_collector(source),
        _AGGREGATOR,
        _RESULTS,
    )


_AGGREGATOR = Station(
    name="Evaluation",
    role="corrects the totals; single answers stay random",
    sees="The totals per question. They contain the randomness of all devices, which is corrected on "
    "average.",
    keeps="Estimates for groups of people, with margins.",
    passes="estimates",
)
_RESULTS = Station(
    name="Results",
    role="may be published",
    sees="Estimates for groups of people, and a model made from them. Nothing about a single person.",
    keeps="The estimates and the model.",
)


def _describe_device(source: DossierSource) -> Station:
    return Station(
        name="Device of the person",
        role="randomises one answer; the true ones stay here",
        sees="The true answers, which the application reads. No other place sees them.",
        keeps="The consent, and the report until it is delivered. The ldp-bayes program never writes the "
        f"true answers to the device's storage ({section('withdrawal')}).",
        passes="one randomised report",
    )


def _describe_network(source: DossierSource) -> Station:
    lengths = {report_bytes(source.plan, question) for question in source.plan.questions}
    length = " The length can show which question was drawn." if len(lengths) > 1 else ""
    return Station(
        name="Network",
        role="sees internet address, time and length",
        sees="The internet address of the device, the time and the length of the report. The content is "
        f"encrypted if the connection is.{length}",
        keeps="Whatever a provider or the operator of the network logs.",
        passes="the same report",
    )


def _describe_collector(source: DossierSource) -> Station:
    identifier = "the invitation" if source.plan.by_invitation else "its random number"
    return Station(
        name="Collector",
        role="counts each report once",
        sees=f"The randomised report with the number of the drawn question and {identifier}. The internet "
        "address and the time while the report arrives.",
        keeps=f"The totals of all reports, and for each report {describe_record(source)}. "
        f"{describe_mark(source)} No internet address, no time, no log of requests.",
        passes="totals of all reports",
    )


def list_places(stations: Sequence[Station]) -> list[tuple[str, Statement]]:
    """Return for each place what it sees, keeps and passes on: the drawing as text."""
    return [
        (
            each.name,
            assumed(f"Sees: {each.sees} Keeps: {each.keeps} Passes on: {each.passes or 'nothing'}."),
        )
        for each in stations
    ]


def describe_message(source: DossierSource) -> list[Statement]:
    """Return what leaves the device."""
    identifier = "the invitation" if source.plan.by_invitation else "a random number that names nobody"
    invited = (
        " The invitation is no mark of the device, but its issuer may know the person."
        if source.plan.by_invitation
        else ""
    )
    return [
        assumed(
            "For this survey the device sends one report, once. It contains the fingerprint of the survey "
            f"(the same for everybody), the number of the drawn question, {identifier}, and "
            f"{source.reported}."
        ),
        assumed(
            "The request around the report is the same for every device: no cookie, no account and no "
            f"identifier of the device.{invited}"
        ),
        assumed(
            "If the network fails, the device sends exactly the same report again. It never randomises a "
            "second time."
        ),
    ]


def draw_flow(stations: Sequence[Station]) -> Markup:
    """Return the drawing: one box per place, from top to bottom."""
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
