"""Renders the results page: one HTML file without scripts, other files or requests."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.survey.display_texts import display_texts
from ldp_aggregator.render.document import Section
from ldp_aggregator.render.html import load_template
from ldp_aggregator.results import Results
from ldp_aggregator.results_file import ResultsError
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.model import find_notices
from ldp_aggregator.statements.rules import find_known_majority
from ldp_aggregator.views.comparison_sections import build_comparison
from ldp_aggregator.views.curator_sections import find_curator_lead, list_curator_sections
from ldp_aggregator.views.estimate_rows import EstimateRow, build_table
from ldp_aggregator.views.feature_sections import build_classes, build_features, build_relevance, build_shares
from ldp_aggregator.views.sections import (
    build_citation,
    build_fake_reports,
    build_limits,
    build_method,
    build_privacy,
    build_reading,
    build_silos,
    build_tables,
    build_validation,
    build_warnings,
    count_reports,
    drop_empty,
    find_lead,
    point_to_warnings,
    write_epsilon,
)
from ldp_aggregator.views.series_sections import build_series
from ldp_aggregator.views.survey_comparison import compare_surveys
from ldp_aggregator.wording.language import LANGUAGE
from ldp_aggregator.wording.values import Count

_NO_COMPARISON = "a model of a curator cannot be compared: give models of ldp-train"


def render_page(
    results: Results, other: Results | None = None, *, independent: bool = False, note: str = ""
) -> bytes:
    """Return the results page in UTF-8; the same arguments and language give the same bytes.

    `other` is another survey to compare the results with, and `independent` as in :func:`compare_surveys`.
    The page shows `note`, a sentence of the publisher, in its summary.
    Raises ComparisonError as :func:`compare_surveys`, and ResultsError if one of two is a model of a curator.
    """
    if other and (results.is_curator or other.is_curator):
        raise ResultsError(_NO_COMPARISON)
    if results.is_curator:
        sections, lead = list_curator_sections(results), find_curator_lead(results)
        return _render(results, sections, note, lead=lead, notices=(), pointers=(), tiles=())
    table = [] if results.is_validation else build_table(results.estimates, results.plan)
    sections = list_sections(results, table)
    if other:
        comparison = compare_surveys(results, other, independent=independent)
        sections.insert(0, build_comparison(comparison, results, other))
    return _render(
        results,
        sections,
        note,
        lead=find_lead(results, table),
        notices=find_notices(
            results.plan, results.usefulness, known=find_known_majority(results.estimates) is not None
        ),
        pointers=point_to_warnings(results),
        tiles=_list_tiles(results),
    )


def list_sections(results: Results, table: Sequence[EstimateRow]) -> list[Section]:
    sections = [
        *list_estimate_sections(results, table),
        build_series(results),
        build_validation(results),
        build_fake_reports(results),
        build_silos(results),
        build_privacy(results, shuffled=True),
        build_warnings(results),
        build_method(results),
        build_reading(results),
        build_limits(results),
        build_citation(results),
    ]
    return drop_empty(sections)


def list_estimate_sections(results: Results, table: Sequence[EstimateRow]) -> list[Section]:
    if results.is_validation:
        return []
    sections = [build_shares(results, table)]
    if results.estimates.has_label:
        sections += [build_classes(results, table), build_features(results, table), build_relevance(results)]
    return drop_empty([*sections, build_tables(results, table)])


def _render(results: Results, sections: Sequence[Section], note: str, **parts: object) -> bytes:
    plan = results.plan
    texts = display_texts(plan, LANGUAGE.get().tag)
    return (
        load_template("ldp_aggregator.views", "page.html")
        .render(
            survey=plan.id,
            title=texts.about.get("title"),
            digest=plan.digest,
            kind=TEXTS.find("labels.kind", curator=results.is_curator, validation=results.is_validation),
            **parts,
            about=TEXTS.section(
                "about",
                purpose=texts.about.get("purpose", ""),
                contact=texts.about.get("contact", ""),
                note=note,
            ),
            sections=sections,
            first_with_bars=next((each.id for each in sections if each.id in ("shares", "classes")), None),
            bars=TEXTS.find("tables.bars", classes=plan.label.exists, all_looks=False),
        )
        .encode()
    )


def _list_tiles(results: Results) -> list[tuple[str, str]]:
    features = [each for _, each in results.joined_features]
    questions, asked = len(results.plan.questions), len(results.plan.entries) + results.plan.row_label.exists
    stated = TEXTS.section(
        "tiles",
        **count_reports(results),
        questions=Count(questions),
        asked=Count(asked),
        regrouped=questions != asked and not results.is_validation,
        epsilon=write_epsilon(results),
        classes=results.estimates.has_label and not results.is_validation,
        differing=sum(each.distinguishable for each in features),
        features=len(features),
    )
    return [(each.title, str(each)) for each in stated]
