"""The facts and tables on whether a survey can reach its aim: grades, and the output of `ldp-survey size`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Count, GivenShare, NumberMargin, Share
from ldp_design.dossier.dossier_page import TEXTS, Facts
from ldp_design.dossier.source import DossierSource, Scenario
from ldp_design.sizing import size_facts
from ldp_design.sizing.assumed_people import make_rare_shares
from ldp_design.sizing.margins import Grade
from ldp_design.sizing.size_facts import SizeFacts, describe_size
from ldp_design.sizing.size_summary import (
    Cell,
    MarginCells,
    build_accuracy_table,
    build_comparison,
    list_margins,
)
from ldp_design.sizing.survey_size import ExpectedMargins, Size

_TABLES = ("grade_tables", "size_notes", "margins", "comparison", "accuracies", "accuracy_notes")


def describe_accuracy(source: DossierSource) -> Facts:
    """Return the facts on whether a survey can reach its aim, and the tables of both parts."""
    scenarios = source.scenarios
    if not scenarios:
        conditions = ("has_users", "two_scenarios")
        return {"size": None} | dict.fromkeys(conditions, False) | {name: [] for name in _TABLES}
    first, last = scenarios[0].sizes[0], scenarios[-1].sizes[0]
    command = source.commands["size"]
    rare_command = source.commands.get("rare_size", command)
    is_comparison = len(scenarios[0].sizes) > 1
    main = source.plan.label.name
    usable, rare_usable = (_count_usable(each) for each in (first, last))
    shares, rare_shares = (describe_shares(scenarios[index], main) for index in (0, -1))
    size = describe_size(first, is_comparison, command)
    facts = {
        "size": size,
        "has_main": source.plan.label.exists,
        "has_users": not is_comparison,
        "two_scenarios": len(scenarios) > 1,
        "shares": shares,
        "rare_shares": rare_shares,
        "usable": usable or "none",
        "rare_usable": rare_usable or "none",
        "never_usable": not max(usable, rare_usable),
        "always_usable": min(usable, rare_usable) == len(first.features),
        "grades": _list_grades(first, main),
        "rare_grades": _list_grades(last, main),
        "rare_size_command": rare_command,
        **_choose_example(first),
        **_describe_model(first),
    }
    facts["answer"] = TEXTS.find("answers.answer", main=main, **facts)
    return facts | _build_tables(source, size, facts, (command, rare_command))


def _build_tables(source: DossierSource, size: SizeFacts, facts: Facts, commands: Sequence[str]) -> Facts:
    """Return the tables of both parts, and the notes of `ldp-survey size` under them."""
    sizes, main = source.scenarios[0].sizes, source.plan.label.name
    first, is_comparison = sizes[0], len(sizes) > 1
    build = _list_counts if is_comparison else _list_estimates
    grades = []
    for scenario, command in zip(source.scenarios, commands, strict=False):
        values = facts | {"shares": describe_shares(scenario, main), "command": command}
        grades.append((TEXTS.find("tables.grades", **values), list(build(scenario))))
    return {
        "grade_tables": grades,
        "size_notes": size_facts.TEXTS.section("margins", size),
        "margins": [] if is_comparison else list(_list_margins(first)),
        "comparison": build_comparison(sizes) if is_comparison else [],
        "accuracies": build_accuracy_table(first) if first.forecasts else [],
        "accuracy_notes": size_facts.TEXTS.section("accuracy", size) if first.forecasts else [],
    }


def describe_shares(scenario: Scenario, main: str) -> Statement:
    """Return the assumption of a scenario about the label, as the words that follow "if"."""
    labels, shares = scenario.sizes[0].plan.label.values, scenario.label_shares or ()
    given = zip(labels, map(GivenShare, shares), strict=False)
    return TEXTS.find(
        "answers.shares",
        main=main,
        is_equal=not shares,
        is_rare=shares == make_rare_shares(len(labels)),
        two_labels=len(labels) == 2,
        rare=GivenShare(shares[0] if shares else 0),
        rare_label=labels[0],
        given=", ".join(f"\u201c{name}\u201d {share}" for name, share in given),
    )


def names_of_grade(size: ExpectedMargins, grade: Grade) -> list[str]:
    """Return the names of the features and tables with a grade."""
    return [margin.name for margin in size.features if margin.grade is grade]


def _count_usable(size: Size) -> int:
    return len(size.features) - len(size.noise)


def _list_grades(size: Size, main: str) -> str:
    """Return the names of the label and the features by their grade."""
    itself = str(TEXTS.find("answers.main-itself", main=main))
    parts = []
    for grade in Grade:
        names = [itself] if size.label_margin and size.label_margin.grade is grade else []
        if names := names + names_of_grade(size, grade):
            parts.append(str(TEXTS.find(f"answers.{grade}", names=", ".join(names))))
    return "; ".join(parts)


def _list_estimates(scenario: Scenario) -> Iterator[Sequence[Cell]]:
    """Yield the label and each feature with its grade: the rows of a table."""
    [size] = scenario.sizes
    everybody = TEXTS.find("words.everybody")
    for each in list_margins(size):
        margin = each.margin
        asked = everybody if margin.kind == "label" else Share(margin.question_probability)
        yield margin.name, asked, describe_estimate(each), margin.grade


def describe_estimate(cells: MarginCells) -> Statement:
    """Return a typical estimate for a board: of a number, only the average."""
    margin = cells.margin
    if margin.values:
        return cells.estimate
    is_known = math.isfinite(margin.margin)
    return TEXTS.find("answers.average", is_known=is_known, margin=NumberMargin(margin.margin))


def _list_counts(scenario: Scenario) -> Iterator[Sequence[Cell]]:
    """Yield the grades with each number of people: the rows of a table."""
    none = TEXTS.find("answers.none")
    for size in scenario.sizes:
        names = [", ".join(names_of_grade(size, grade)) or none for grade in Grade]
        label = [size.label_margin.grade] if size.label_margin else []
        yield Count(size.users), *label, *names


def _list_margins(size: Size) -> Iterator[Sequence[Cell]]:
    """Yield the rows of the table of margins."""
    for cells in list_margins(size):
        estimates = cells.columns(bool(size.label_margin))
        yield cells.margin.name, cells.asked, cells.reports, *estimates
        if cells.missing:
            name = TEXTS.find("tables.missing", name=cells.margin.name)
            yield name, "", "", *("" for _ in estimates[1:]), cells.missing


def _choose_example(size: Size) -> Facts:
    """Return the least precise share that is not noise, as an example of how to read a margin."""
    shares = [each for each in size.features if each.values and not each.is_noise and each.kind != "table"]
    if not shares:
        return {"has_example": False}
    margin = max(shares, key=lambda each: each.margin)
    return {
        "has_example": True,
        "example": margin.name,
        "example_share": Share(margin.typical),
        "example_margin": Share(margin.margin),
        "example_low": Share(max(margin.typical - margin.margin, 0.0)),
        "example_high": Share(min(margin.typical + margin.margin, 1.0)),
    }


def _describe_model(size: Size) -> dict[str, Any]:
    if not size.forecasts:
        return {}
    means = [each.mean for each in size.forecasts.values()]
    majority = next(iter(size.forecasts.values())).majority
    return {
        "weak_accuracy": Share(min(means)),
        "strong_accuracy": Share(max(means)),
        "majority": Share(majority),
    }
