"""The facts and tables on whether a survey can reach its aim: grades, and the output of `ldp-survey size`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

from encoders.survey import Label
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Count, GivenShare, NumberMargin, Share, quote
from ldp_design.dossier.dossier_page import TEXTS, title_label
from ldp_design.dossier.source import DossierSource
from ldp_design.sizing import size_facts, size_summary
from ldp_design.sizing.assumed_people import make_rare_shares
from ldp_design.sizing.margins import Grade
from ldp_design.sizing.survey_size import ExpectedMargins, Size


def describe_accuracy(source: DossierSource, size: SimpleNamespace) -> SimpleNamespace:
    commands, sizes = source.commands, source.scenarios[0]
    repeated = (commands.size, commands.rare_size)
    first, *others = [_describe(*each, size) for each in zip(source.scenarios, repeated, strict=False)]
    usable = [_count_usable(each[0]) for each in source.scenarios]
    means = [each.mean for each in sizes[0].forecasts.values()]
    majorities = [each.majority for each in sizes[0].forecasts.values()]
    return SimpleNamespace(
        first=first,
        # with a rare label; None if the shares of the labels were given
        rare=others[0] if others else None,
        never_usable=not max(usable),
        always_usable=min(usable) == size.features,
        command=commands.rare_size or commands.size,
        example=_choose_example(sizes[0]),
        weak_accuracy=Share(min(means)) if means else None,
        strong_accuracy=Share(max(means)) if means else None,
        majority=Share(majorities[0]) if means else None,
        # the rows of the table of margins; the head too, if several numbers of people are compared
        margins=size_summary.build_comparison(sizes) if size.is_comparison else list(_list_margins(sizes[0])),
        accuracies=size_summary.build_accuracy_table(sizes[0]) if sizes[0].forecasts else [],
        # the notes of `ldp-survey size` under both tables
        notes=[
            *size_facts.TEXTS.section("margins", size),
            *(size_facts.TEXTS.section("accuracy", size) if sizes[0].forecasts else []),
        ],
    )


def _describe(scenario: Sequence[Size], command: str, facts: SimpleNamespace) -> SimpleNamespace:
    size, label = scenario[0], title_label(scenario[0].plan)
    shares = _describe_shares(size, label)
    return SimpleNamespace(
        # the assumption, as the words that follow "if"
        shares=shares,
        # number of features and tables that are not noise, or "none"
        usable=_count_usable(size) or TEXTS.write("answers.no-question"),
        grades=_list_grades(size, label),
        caption=TEXTS.find("tables.grades", label=label, size=facts, shares=shares, command=command),
        rows=list(_list_counts(scenario) if facts.is_comparison else _list_estimates(scenario)),
    )


def _describe_shares(size: Size, label: Label) -> Statement:
    shares = size.label_shares or ()
    given = zip(label.values, map(GivenShare, shares), strict=False)
    return TEXTS.find(
        "answers.shares",
        label=label,
        is_equal=not shares,
        is_rare=shares == make_rare_shares(len(label.values)),
        two_labels=len(label.values) == 2,
        rare=GivenShare(shares[0] if shares else 0),
        rare_label=label.values[0],
        given=", ".join(TEXTS.write("words.share", name=name, share=share) for name, share in given),
    )


def names_of_grade(size: ExpectedMargins, grade: Grade) -> list[str]:
    return [quote(margin.name) for margin in size.features if margin.grade is grade]


def _count_usable(size: Size) -> int:
    return len(size.features) - len(size.noise)


def _list_grades(size: Size, label: Label) -> str:
    itself = str(TEXTS.find("answers.main-itself", label=label))
    parts = []
    for grade in Grade:
        names = [itself] if size.label_margin and size.label_margin.grade is grade else []
        if names := names + names_of_grade(size, grade):
            parts.append(str(TEXTS.find(f"answers.{grade}", names=", ".join(names))))
    return "; ".join(parts)


def _list_estimates(scenario: Sequence[Size]) -> Iterator[Sequence[size_summary.Cell]]:
    [size] = scenario
    everybody = TEXTS.find("words.everybody")
    for each in size_summary.list_margins(size):
        margin = each.margin
        asked = everybody if margin.kind == "label" else Share(margin.question_probability)
        yield quote(margin.name), asked, describe_estimate(each), each.grade


def describe_estimate(cells: size_summary.MarginCells) -> Statement:
    """Return a typical estimate for a board: of a number, only the average."""
    margin = cells.margin
    if margin.values:
        return cells.estimate
    is_known = math.isfinite(margin.margin)
    return TEXTS.find("answers.average", is_known=is_known, margin=NumberMargin(margin.margin))


def _list_counts(scenario: Sequence[Size]) -> Iterator[Sequence[size_summary.Cell]]:
    none = TEXTS.find("answers.none")
    for size in scenario:
        names = [", ".join(names_of_grade(size, grade)) or none for grade in Grade]
        label = [size_summary.write_grade(size.label_margin.grade)] if size.label_margin else []
        yield Count(size.users), *label, *names


def _list_margins(size: Size) -> Iterator[Sequence[size_summary.Cell]]:
    for cells in size_summary.list_margins(size):
        estimates = cells.columns(bool(size.label_margin))
        yield quote(cells.margin.name), cells.asked, cells.reports, *estimates
        if cells.missing:
            name = TEXTS.find("tables.missing", name=quote(cells.margin.name))
            yield name, "", "", *("" for _ in estimates[1:]), cells.missing


def _choose_example(size: Size) -> SimpleNamespace | None:
    """Return the least precise share that is not noise, as an example of how to read a margin."""
    shares = [each for each in size.features if each.values and not each.is_noise and each.kind != "table"]
    if not shares:
        return None
    margin = max(shares, key=lambda each: each.margin)
    return SimpleNamespace(
        name=quote(margin.name),
        share=Share(margin.typical),
        margin=Share(margin.margin),
        low=Share(max(margin.typical - margin.margin, 0.0)),
        high=Share(min(margin.typical + margin.margin, 1.0)),
    )
