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
from ldp_aggregator.statements.privacy import find_promise
from ldp_aggregator.statements.rules import find_known_majority
from ldp_aggregator.views import sections
from ldp_aggregator.views.comparison_sections import build_comparison
from ldp_aggregator.views.curator_sections import list_curator_sections
from ldp_aggregator.views.estimate_rows import EstimateRow, build_table
from ldp_aggregator.views.feature_sections import build_classes, build_features, build_relevance, build_shares
from ldp_aggregator.views.model_card import privacy_of
from ldp_aggregator.views.series_sections import build_series
from ldp_aggregator.views.survey_comparison import compare_surveys
from ldp_aggregator.wording.language import LANGUAGE
from ldp_aggregator.wording.values import Count, quote_questions

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
    with quote_questions(results.plan):
        if results.is_curator:
            lead = find_promise(privacy_of(results))[:1]
            chosen = list_curator_sections(results)
            return _render(results, chosen, note, lead=lead, notices=(), pointers=(), tiles=())
        table = [] if results.is_validation else build_table(results.estimates, results.plan)
        chosen = list_sections(results, table)
        if other:
            comparison = compare_surveys(results, other, independent=independent)
            chosen.insert(0, build_comparison(comparison, results, other))
        return _render(
            results,
            chosen,
            note,
            lead=sections.find_lead(results, table),
            notices=find_notices(
                results.plan, results.usefulness, known=find_known_majority(results.estimates) is not None
            ),
            pointers=sections.point_to_warnings(results),
            tiles=_list_tiles(results),
        )


def list_sections(results: Results, table: Sequence[EstimateRow]) -> list[Section]:
    chosen = [
        *list_estimate_sections(results, table),
        build_series(results),
        sections.build_validation(results),
        sections.build_fake_reports(results),
        sections.build_silos(results),
        sections.build_privacy(results, shuffled=True),
        sections.build_warnings(results),
        sections.build_method(results),
        sections.build_reading(results),
        sections.build_limits(results),
        sections.build_citation(results),
    ]
    return sections.drop_empty(chosen)


def list_estimate_sections(results: Results, table: Sequence[EstimateRow]) -> list[Section]:
    if results.is_validation:
        return []
    chosen = [build_shares(results, table)]
    if results.estimates.has_label:
        chosen += [build_classes(results, table), build_features(results, table), build_relevance(results)]
    return sections.drop_empty([*chosen, sections.build_tables(results, table)])


def _render(results: Results, chosen: Sequence[Section], note: str, **parts: object) -> bytes:
    plan = results.plan
    texts = display_texts(plan, LANGUAGE.get().tag)
    return (
        load_template("ldp_aggregator.views", "page.html")
        .render(
            survey=plan.id,
            title=texts.title if texts.title != plan.id else "",
            digest=plan.digest,
            kind=TEXTS.find("labels.kind", curator=results.is_curator, validation=results.is_validation),
            **parts,
            about=TEXTS.section(
                "about",
                purpose=texts.about.get("purpose", ""),
                contact=texts.about.get("contact", ""),
                note=note,
            ),
            sections=chosen,
            first_with_bars=next((each.id for each in chosen if each.id in ("shares", "classes")), None),
            bars=TEXTS.find("tables.bars", classes=plan.label.exists, all_looks=False),
        )
        .encode()
    )


def _list_tiles(results: Results) -> list[tuple[str, str]]:
    features = [each for _, each in results.joined_features]
    questions, asked = len(results.plan.questions), len(results.plan.entries) + results.plan.row_label.exists
    stated = TEXTS.section(
        "tiles",
        **sections.count_reports(results),
        questions=Count(questions),
        asked=Count(asked),
        regrouped=questions != asked and not results.is_validation,
        epsilon=sections.write_epsilon(results),
        classes=results.estimates.has_label and not results.is_validation,
        differing=sum(each.distinguishable for each in features),
        features=len(features),
    )
    return [(each.title, str(each)) for each in stated]
