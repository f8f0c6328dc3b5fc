"""The sections of the page of a curator's model: its promise, and what the model learnt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from encoders.mechanisms.counted_table import STEPS
from encoders.survey import CategoricalFeature, Feature, NumericFeature
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.features import GRID
from encoders.survey.parse_value import MISSING_TEXT
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import Gaussian, NaiveBayesParameters
from ldp_aggregator.estimation.figures import MEAN
from ldp_aggregator.prediction.decision_tree import DecisionTree, Split
from ldp_aggregator.prediction.linear_model import LinearModel, find_class_scores
from ldp_aggregator.render.document import EstimateTable, Note, Part, PlainTable, Section
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_rows import DEVIATION, build_table
from ldp_aggregator.views.estimate_tables import (
    build_feature_tables,
    build_prior_table,
    build_share_tables,
    name_statistic,
    show_values,
)
from ldp_aggregator.views.feature_sections import make_section
from ldp_aggregator.views.model_card import build_facts, build_promise
from ldp_aggregator.views.sections import build_citation, build_limits, build_reading
from ldp_aggregator.wording.values import format_percent, format_plain, localise, quote

_MAX_NODES = 31
_SHOWN_NUMBERS = 4
"""Number of intervals of equal width between the numbers whose scores are shown."""


def list_curator_sections(results: Results) -> list[Section]:
    note = TEXTS.find(f"curator-model.{results.classifier.kind}")
    learnt: list[Part] = [note, *_build_tables(results), TEXTS.find("curator-model.not-validated")]
    return [
        build_facts(results),
        build_promise(results),
        *(_build_estimates(results) if results.has_estimates else ()),
        *(make_section("learnt", learnt, label=quote(name)) for name in results.plan.label.names),
        build_limits(results),
        build_citation(results),
    ]


def _build_estimates(results: Results) -> Iterator[Section]:
    plan, rows = results.plan, build_table(results.estimates, results.plan)
    shares = {name: [table] for name, table in build_share_tables(rows, plan).items()}
    note = TEXTS.find("tables.shares", people=False, silos=False, curator=True)
    yield make_section("shares", [Note(note), *_divide("shares", shares)])
    for label in plan.label.names:
        yield make_section("classes", [build_prior_table(rows, plan)], label=quote(label))
        yield make_section("features", _divide("feature", build_feature_tables(rows, plan)))
    yield build_reading(results)


def _divide(kind: str, tables: Mapping[str, list[EstimateTable]]) -> list[Section]:
    return [
        Section(id=f"{kind}-{index}", heading=quote(name), parts=parts)
        for index, (name, parts) in enumerate(tables.items(), 1)
    ]


def _build_tables(results: Results) -> Iterator[PlainTable]:
    plan, classifier = results.plan, results.classifier
    classes = show_values(plan, plan.label.name, plan.label.values)
    if isinstance(classifier, NaiveBayesParameters):
        yield from _list_probabilities(classifier, results, classes)
    elif isinstance(classifier, LinearModel):
        yield from _list_scores(classifier, plan, classes)
    else:
        yield _list_nodes(classifier, plan.features, classes)


def _build_table(name: str, classes: Sequence[str], rows: Any, **values: object) -> PlainTable:
    table, numeric = TEXTS.table(name, **values), set(range(1, len(classes) + 1))
    return PlainTable(
        caption=table["caption"], head=(*table["head"], *classes), rows=list(rows), numeric=numeric
    )


def _list_probabilities(
    model: NaiveBayesParameters, results: Results, classes: Sequence[str]
) -> Iterator[PlainTable]:
    plan = results.plan
    prior = [(TEXTS.write("labels.of-all-people"), *map(format_percent, model.prior))]
    yield _build_table("priors", classes, prior)
    for feature, table, estimate in zip(
        plan.features, model.conditionals, results.estimates.features, strict=True
    ):
        if not estimate.is_asked:
            continue
        if isinstance(feature, NumericFeature):
            assert isinstance(table, Gaussian)
            rows = list(_list_moments(feature, table))
        else:
            shares = np.asarray(table).tolist()
            texts = show_values(plan, feature.name, feature.texts)
            rows = [(text, *map(format_percent, each)) for text, each in zip(texts, shares, strict=True)]
        yield _build_table("learnt-feature", classes, rows, feature=quote(feature.name))


def _list_moments(feature: NumericFeature, table: Gaussian) -> Iterator[tuple[str, ...]]:
    yield (name_statistic(MEAN), *(_format_number(feature.original(each)) for each in table.mean.tolist()))
    deviations = np.sqrt(table.variance) * feature.width
    yield (name_statistic(DEVIATION), *map(_format_number, deviations.tolist()))
    if table.missing is not None:
        yield (TEXTS.write("labels.missing"), *map(format_percent, table.missing.tolist()))


def _list_scores(model: LinearModel, plan: AnyPlan, classes: Sequence[str]) -> Iterator[PlainTable]:
    design = model.design
    *parts, last = design.split(model.weights)
    constant = find_class_scores(design.constant * last, model.k)[0]
    start = (TEXTS.write("labels.of-every-row"), *_format_scores(constant))
    yield _build_table("start", classes, [start])
    for feature, block, part in zip(model.features, design.blocks, parts, strict=True):
        scores = find_class_scores(block @ part, model.k)
        if isinstance(feature, NumericFeature):
            low, high = feature.bounds
            steps = range(_SHOWN_NUMBERS + 1)
            texts = [format_plain(low + (high - low) * step / _SHOWN_NUMBERS) for step in steps]
            shown = [STEPS * step // _SHOWN_NUMBERS for step in steps]
            if feature.missing == "category":
                texts, shown = [*texts, TEXTS.write("labels.missing")], [*shown, -1]
            scores = scores[shown]
        else:
            texts = show_values(plan, feature.name, feature.texts)
        rows = [(text, *_format_scores(each)) for text, each in zip(texts, scores, strict=True)]
        yield _build_table("score", classes, rows, feature=quote(feature.name))


def _list_nodes(model: DecisionTree, features: Sequence[Feature], classes: Sequence[str]) -> PlainTable:
    shown, nodes = min(len(model.splits), _MAX_NODES), len(model.splits)

    def describe(node: int) -> str:
        if node < nodes:
            return TEXTS.write("labels.node", number=node + 1)
        shares = zip(classes, model.leaves[node - nodes].tolist(), strict=True)
        return ", ".join(f"{name} {format_percent(share)}" for name, share in shares)

    rows = [
        (str(index + 1), describe_split(split, features), describe(2 * index + 2), describe(2 * index + 1))
        for index, split in enumerate(model.splits[:shown])
    ]
    return PlainTable(**TEXTS.table("nodes", some=shown < nodes, shown=shown, nodes=nodes), rows=rows)


def describe_split(split: Split, features: Sequence[Feature]) -> str:
    feature = features[split.feature]
    if isinstance(feature, NumericFeature):
        position = (split.high + 1 - GRID) / GRID
        return _describe_edge(feature, None if position > 1 else _format_number(feature.original(position)))
    above = split.high + 1
    if isinstance(feature, CategoricalFeature):
        missing, shown = TEXTS.write("labels.no-answer"), feature.texts[split.low : above]
        names = (missing if each == MISSING_TEXT else each for each in shown)
        values = f" {TEXTS.write('labels.or')} ".join(names)
        return TEXTS.write("labels.is-one-of", feature=quote(feature.name), values=values)
    is_last = above >= len(feature.edges) - 1
    return _describe_edge(feature, None if is_last else localise(feature.edges[above]))


def _describe_edge(feature: Feature, edge: str | None) -> str:
    if edge is None:
        return TEXTS.write("labels.not-missing", feature=quote(feature.name))
    return TEXTS.write("labels.is-below", feature=quote(feature.name), edge=edge)


def _format_number(number: float) -> str:
    return localise(f"{number + 0.0:,.4g}")


def _format_scores(scores: FloatArray) -> list[str]:
    return [localise(f"{score:+.2f}") for score in scores.tolist()]
