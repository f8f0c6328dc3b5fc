"""Builds the section on whether the survey can reach its aim: a grade for each question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ldp_design.dossier.grades import (
    GRADES_EXPLANATION,
    Grade,
    describe_shares,
    grade,
    group_by_grade,
)
from ldp_design.dossier.sections import section
from ldp_design.dossier.source import DossierSource, Scenario
from ldp_design.dossier.statement import Basis, DossierTable, Statement, assumed, computed, conditional
from ldp_design.sizing.margins import Margin
from ldp_design.sizing.size import Size
from ldp_design.sizing.summary import UNINFORMATIVE_MARGIN, build_margin_rows, format_people, typical_share

_VALIDATION = "This survey validates a model. Its result is how often the model is right, with an interval."


def build_precision(source: DossierSource) -> dict[str, list[Any]]:
    """Return whether the survey can reach its aim, tables with grades, and explanations."""
    if not source.sizes:
        return {"lead": [assumed(_VALIDATION)], "tables": [], "notes": []}
    build = _build_grades if source.size else _build_counts
    return {
        "lead": list(describe_aim(source)),
        "tables": [build(source, each) for each in source.scenarios],
        "notes": list(_explain(source)),
    }


def describe_aim(source: DossierSource) -> Iterator[Statement]:
    """Yield whether the survey can reach its aim with the expected number of people."""
    if not source.sizes:
        return
    if not source.size:
        yield computed(
            "Whether the survey can reach its aim is unknown: the author does not state how many people will "
            f"answer. {section('accuracy').capitalize()} compares several numbers.",
            source.dossier_command,
        )
        return
    if len(source.size.margins) < 2:
        return
    yield conditional(
        f"Can the survey reach its aim with {format_people(source.size.users)}? "
        f"{_answer(source.scenarios, source.main)} Nobody knows the true shares before the survey.",
        source.rare_size_command,
    )
    for each in source.scenarios:
        condition = describe_shares(each, source.main)
        yield conditional(
            f"{condition[:1].upper()}{condition[1:]}, estimates are expected to be "
            f"{_list_grades(each.sizes[0], source.main)}.",
            _command_of(source, each),
        )


def answer_aim(source: DossierSource) -> Statement:
    """Return whether the survey can reach its aim, without the list of questions."""
    if not source.sizes:
        return assumed(_VALIDATION)
    if not source.size:
        return computed(
            "This depends on how many people answer, which the author does not state "
            f"({section('accuracy')}).",
            source.dossier_command,
        )
    if len(source.size.margins) < 2:
        return assumed("The survey asks about nothing but the main question.")
    return conditional(
        f"{_answer(source.scenarios, source.main)} This is for {format_people(source.size.users)} "
        f"({section('accuracy')}).",
        source.rare_size_command,
    )


def _answer(scenarios: Sequence[Scenario], main: str) -> str:
    """Return whether the survey can show how its questions are connected with the label, in one sentence."""
    features = len(scenarios[0].sizes[0].margins) - 1
    usable = [features - len(group_by_grade(each.sizes[0]).get(Grade.USELESS, ())) for each in scenarios]
    if not max(usable):
        return f"No: it can show for none of the questions how the answers are connected with {main}."
    if min(usable) == features:
        return (
            f"Yes: it can show at least roughly how the answers to each question are connected with {main}."
        )
    cases = ", and ".join(
        f"for {count or 'none'} of {features} questions {describe_shares(each, main)}"
        for count, each in zip(usable, scenarios, strict=True)
    )
    return f"In part: it can show at least roughly how the answers are connected with {main} {cases}."


def _list_grades(size: Size, main: str) -> str:
    grades = {each: list(names) for each, names in group_by_grade(size).items()}
    grades.setdefault(grade(size, size.margins[0]), []).insert(0, f"{main} itself")
    return "; ".join(f"{each} for {', '.join(grades[each])}" for each in Grade if each in grades)


def _build_grades(source: DossierSource, scenario: Scenario) -> DossierTable:
    [size] = scenario.sizes
    estimates = [row[4] for row in build_margin_rows(size) if row[0]]
    return DossierTable(
        caption=f"Expected from {format_people(size.users)}, {describe_shares(scenario, source.main)}",
        head=("Question", "Share of the people asked", "Typical estimate", "Grade"),
        rows=[
            (
                margin.name,
                "everybody" if margin.kind == "label" else f"{margin.question_probability:.1%}",
                format_estimate(estimate),
                grade(size, margin),
            )
            for margin, estimate in zip(size.margins, estimates, strict=True)
        ],
        basis=Basis.CONDITIONAL,
        command=_command_of(source, scenario),
        numeric={1},
    )


def format_estimate(text: str) -> str:
    """Return an estimate of the terminal's table for a board: of a number, only the average."""
    return " ".join(text.partition(",")[0].replace("mean", "average").replace("+-", "\u00b1").split())


def _build_counts(source: DossierSource, scenario: Scenario) -> DossierTable:
    return DossierTable(
        caption=f"Expected from several numbers of people, {describe_shares(scenario, source.main)}",
        head=("People", source.main, *(f"Questions that are {each}" for each in Grade)),
        rows=[
            (
                f"{size.users:,}",
                grade(size, size.margins[0]),
                *(", ".join(group_by_grade(size).get(each, ())) or "none" for each in Grade),
            )
            for size in scenario.sizes
        ],
        basis=Basis.CONDITIONAL,
        command=_command_of(source, scenario),
    )


def _command_of(source: DossierSource, scenario: Scenario) -> str:
    return source.size_command if scenario is source.scenarios[0] else source.rare_size_command


def _explain(source: DossierSource) -> Iterator[Statement]:
    command = source.size_command
    yield conditional(GRADES_EXPLANATION, command)
    if source.size:
        yield from _explain_margin(source, source.size)
    yield assumed(
        "The number of people is the number of those who answer, not of those who are invited. It is also "
        "assumed that all answers to each of the other questions are equally frequent "
        f"({section('margins')})."
    )
    more = "More people, fewer questions, or fewer answers to choose from make the estimates more precise."
    if source.size and source.size.remedies:
        number = source.command_number(command)
        more += (
            f" Command {number} of {section('commands')} suggests changes and computes what each one gains."
        )
    yield assumed(more)
    if source.size and source.size.forecasts:
        means = [each.mean for each in source.size.forecasts.values()]
        majority = next(iter(source.size.forecasts.values())).majority
        yield conditional(
            f"A model that uses all reports together is expected to predict {source.main} correctly for "
            f"{min(means):.1%} of people if the questions are weakly connected with it, and for "
            f"{max(means):.1%} if they are strongly connected. To name always the most frequent answer, "
            f"without any survey, is correct for {majority:.1%}.",
            command,
        )


def _explain_margin(source: DossierSource, size: Size) -> Iterator[Statement]:
    """Yield an example of how to read a margin, with the least precise share."""
    shares: list[tuple[Margin, float]] = [
        (margin, share)
        for margin in size.margins[1:]
        if margin.margin < UNINFORMATIVE_MARGIN and (share := typical_share(size, margin))
    ]
    if not shares:
        return
    margin, share = max(shares, key=lambda each: each[0].margin)
    low, high = max(share - margin.margin, 0.0), min(share + margin.margin, 1.0)
    yield conditional(
        f"How to read an estimate: {share:.1%} \u00b1 {margin.margin:.1%} for {margin.name} means the "
        f"following. Suppose that {share:.1%} of the people with one answer to {source.main} have a certain "
        f"answer to {margin.name}. Then in 19 of 20 surveys the estimate is between {low:.1%} and "
        f"{high:.1%}.",
        source.size_command,
    )
