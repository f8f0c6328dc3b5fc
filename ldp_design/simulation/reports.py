"""What rows send: the reports of each, by the protocol of a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from encoders.errors import RowError
from encoders.randomness import RandomSource
from encoders.survey import Plan, Survey
from encoders.survey.randomise import randomise_all, randomise_coded
from ldp_design.simulation.experiment import LabelledTable, read_labelled_table

RowCodes = tuple[tuple[int, ...], int]
"""The codes of a row's features and of its label."""


def make_row_reports(
    survey: Survey, rows: Any, rng: RandomSource, progress: Callable[[int], object] = int
) -> list[bytes]:
    """Return all packed reports of each row, under the survey as written, for an archive of ldp-train.

    A report of a private row spends the epsilon of its person: the rows must be made up or public. `rows` are
    as for :func:`~ldp_design.simulation.accuracies.simulate`. `rng` draws the questions, the report ids and
    the answers; the reports of a survey by invitation get random ids that could be invitations. `progress` is
    called with 1 after every row.
    Raises SurveyError, RowError or SimulationError if the survey cannot be compiled, or a row does not fit
    it; raised before anything is drawn.
    """
    plan = survey.compile()
    coded = _encode_rows(plan, read_labelled_table(survey, rows))
    reports = []
    for codes in coded:
        wave = plan.waves.draw(rng) if plan.waves else None
        if plan.by_invitation:  # without an invitation, the question is drawn here
            sent = [randomise_coded(plan, codes, rng, plan.draw(rng).name, wave=wave)]
        else:
            sent = randomise_all(plan, codes, rng, wave=wave)
        reports += [each.report for each in sent]
        progress(1)
    return reports


def _encode_rows(plan: Plan, table: LabelledTable) -> list[RowCodes]:
    """Code every row; raises RowError with the number of the first row that does not fit, counted from 1."""
    names = [feature.name for feature in plan.entries]
    cells = list(zip(*(table.columns[name] for name in names), strict=True))
    coded: list[RowCodes] = []
    for index, label in zip(table.kept.tolist(), table.labels, strict=True):
        try:
            value = plan.label.values[label] if plan.label.exists else None
            coded.append(plan.encode(dict(zip(names, cells[index], strict=True)), value))
        except RowError as error:
            first = error.problems[0]
            raise RowError(first.field, f"row {index + 1}: {first.why}") from error
    return coded
