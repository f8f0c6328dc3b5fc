"""Renders what the dashboard shows of a survey in progress: counts, warnings, estimates and margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, sqrt

from markupsafe import Markup

from encoders.errors import Reason
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation import NumberResult
from ldp_aggregator.estimation.intervals import IntervalEstimate, forecast_margins
from ldp_aggregator.render.document import Note, Part, PlainTable, Section
from ldp_aggregator.render.html import load_template
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.rules import is_known
from ldp_aggregator.views import sections
from ldp_aggregator.views.estimate_rows import build_table
from ldp_aggregator.views.feature_sections import make_section
from ldp_aggregator.views.results_page import list_estimate_sections
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Count, Counted, NumberMargin, quote, quote_questions, write_unknown

CountRow = tuple[*tuple[str, ...], int]
"""The names of a count, and the count."""


def render_progress(results: Results, *, all_looks: bool) -> bytes:
    """Return a survey's part of the dashboard, in HTML; with `all_looks`, intervals hold at all looks."""
    privacy = results.privacy
    broken = privacy.relay.broken_batches if privacy.relay else 0
    rejections: dict[str, int] = {**privacy.rejected, **({Reason.PROMISE_BROKEN: broken} if broken else {})}
    with quote_questions(results.plan):
        table = [] if results.is_validation else build_table(results.estimates, results.plan)
        # relevance always has intervals for one look
        estimates = [each for each in list_estimate_sections(results, table) if each.id != "relevance"]
        shown = [
            sections.build_warnings(results),
            *estimates,
            sections.build_validation(results),
            sections.build_fake_reports(results),
            sections.build_silos(results),
            build_margins(results),
            sections.build_reading(results, all_looks=all_looks),
        ]
        return (
            load_template("ldp_aggregator.views", "progress.html")
            .render(
                tiles=_list_tiles(results, sum(rejections.values())),
                reports=build_reports(results, rejections),
                looks=TEXTS.find("progress.all-looks") if all_looks else None,
                first_with_bars=estimates[0].id if estimates else None,
                bars=TEXTS.find("tables.bars", classes=results.estimates.has_label, all_looks=all_looks),
                sections=sections.drop_empty(shown),
            )
            .encode()
        )


def build_reports(results: Results, rejections: Mapping[str, int]) -> Section:
    parts: list[Part] = []
    if isinstance(results.plan, SiloPlan):
        parts.append(_describe_messages(results, results.plan))
    parts.append(_list_counts("Reports by question", ("Question", "Mechanism"), _count_questions(results)))
    if rejections:
        most_first = sorted(rejections.items(), key=lambda pair: -pair[1])
        reasons = [(_describe_reason(code), count) for code, count in most_first]
        parts.append(_list_counts("Rejections by reason", ("Reason",), reasons))
    else:
        parts.append(Note(TEXTS.find("progress.no-rejections")))
    return make_section("reports", parts)


def build_margins(results: Results) -> Section | None:
    if not results.has_people or results.is_validation:
        return None
    estimates, rows = results.estimates, list[tuple[str, ...]]()
    if estimates.has_label:
        rows.append((f"{quote(estimates.label)} (shares)", *_forecast(estimates.raw_prior)))
    for _, each in results.joined_features:
        if isinstance(each, NumberResult):
            rows.append((f"{quote(each.name)} (mean)", *_forecast(each.overall.means, 2 * each.width)))
        else:
            rows.append((quote(each.name), *_forecast(each.shares)))
    table = PlainTable(
        caption="Margins of a typical estimate",
        head=("Estimate of", "Now", "Twice the reports", "Ten times the reports"),
        rows=rows,
        numeric={1, 2, 3},
    )
    accuracy = [Note(TEXTS.find("progress.accuracy"))] if estimates.has_label else []
    return make_section("margins", [Note(TEXTS.find("progress.margins")), *accuracy, table])


def _forecast(estimate: IntervalEstimate, number_span: float | None = None) -> list[str]:
    margins = forecast_margins(estimate.reshape(-1, 1)).values()
    return [_format_margin(float(margin), number_span) for [margin] in margins]


def _format_margin(margin: float, number_span: float | None) -> str:
    if not is_known(0.0, 2 * margin, number_span or 1.0):
        return write_unknown()
    return f"±{NumberMargin(margin)}" if number_span else f"±{100 * margin:.2g} points"


def _list_tiles(results: Results, rejected: int) -> list[tuple[str, str]]:
    reports, lost = results.estimates.reports, results.privacy.losses.reports
    return [
        ("People so far" if results.plan.asks_all else "Reports so far", str(Count(reports))),
        ("Since last refresh", _mark_change("reports", reports)),
        *([("Lost after acknowledgement", str(Count(lost)))] if lost else []),
        ("Rejected", str(Count(rejected))),
        ("Rejected since last refresh", _mark_change("rejected", rejected)),
    ]


def _list_counts(caption: str, head: Sequence[str], counts: Sequence[CountRow]) -> PlainTable:
    return PlainTable(
        caption=caption,
        head=(*head, "Reports", "Change"),
        rows=[
            (*names, str(Count(count)), _mark_change(f"{caption}: {names[0]}", count))
            for *names, count in counts
        ],
        numeric={len(head), len(head) + 1},
    )


def _mark_change(name: str, count: int) -> Markup:
    """Return the element in which the page's script writes the change of a count since its last refresh."""
    return Markup('<span data-name="{}" data-count="{}">\u2013</span>').format(name, count)


def _count_questions(results: Results) -> Sequence[CountRow]:
    people = results.privacy.people
    if people:
        return [(each.question, each.mechanism, each.reports) for each in people.questions]
    [silos] = results.privacy.silos
    return [(each.name, each.mechanism.name, silos.messages) for each in results.plan.questions]


def _describe_reason(code: str) -> str:
    try:
        return str(TEXTS.find(f"rejections.{code}"))
    except KeyError:  # counted by another version
        return code.replace("-", " ")


def _describe_messages(results: Results, plan: SiloPlan) -> Statement:
    silos, mechanism = results.estimates.silos, plan.mechanism
    messages = silos.messages if silos else 0
    return TEXTS.find(
        "progress.messages",
        empty=not messages,
        cells=Counted(mechanism.cells, "noisy-count"),
        rows=Counted(plan.rows, "row"),
        counted=Counted(max(round(silos.rows), 0) if silos else 0, "row"),
        error=Counted(ceil(sqrt(messages * mechanism.noise_variance)), "row"),
    )
