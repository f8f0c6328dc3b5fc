"""A survey whose numbers are projected, the projection fitted on public rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from encoders.errors import RowError
from encoders.survey import Label, read_survey
from encoders.survey.numbers import GRID, NumericFeature
from encoders.survey.values import is_missing
from ldp_aggregator.authoring.projected import Projected, ProjectError
from ldp_aggregator.authoring.toml_text import quote
from ldp_aggregator.variants import common_weight, inputs_of
from reduction.dca import DEFAULT_RIDGE
from reduction.fit import fit

_GAP = 2 * GRID + 1


def project(
    text: str,
    columns: Mapping[str, Sequence[str]],
    source: str,
    method: str = "dca",
    components: int = 1,
    bins: int | None = None,
    ridge: float = DEFAULT_RIDGE,
) -> str:
    """Return the survey with its numbers as inputs of a projection fitted on PUBLIC rows.

    Numbers of weight 0, which nobody is asked about, are left as they are, and so is all else but the
    survey's id, which gets a suffix such as -dca1. The components take the numbers' weight if all of these
    have the same, otherwise 1.

    Parameters
    ----------
    text : str
        An authored survey, each number in a table [features.NAME] of its own.
    columns : mapping from column name to cells
        Public rows, their cells as a CSV file spells them. DCA needs the label's column. Rows with a gap
        in an input (for DCA, in the label too) are left out.
    source : str
        What the rows are called in comments.
    method : str
        "dca" or "pca"; see :func:`reduction.fit.fit`.
    components : int
        1 to the number of inputs.
    bins : int, optional
        Bins of each component; without it they are numeric.
    ridge : float
        DCA's.

    Returns
    -------
    str
        TOML that :func:`encoders.survey.read_survey` accepts, and that says where it came from.

    Raises
    ------
    SurveyError, ProjectError, FitError, RowError
        Naming the entry or the column, never a value.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    survey = read_survey(text)
    if survey.projection:
        raise ProjectError("the survey has a projection already; project the survey that it was made from")
    inputs = inputs_of(survey)
    if not inputs:
        raise ProjectError("the survey asks for no number, a feature with range or edges: nothing to project")
    label = survey.label if method == "dca" else None
    sample = _sample(tuple(inputs), label, columns)
    found = fit(method, tuple(inputs), sample.rows, sample.labels, components, ridge)
    taken = {survey.label.name, *(feature.name for feature in survey.features)}
    for component in found.projection.components:
        if component.name in taken:
            raise ProjectError(f"{component.name}: the survey has a column of that name already; rename it")
    projected = Projected(
        found,
        method,
        source,
        used=len(sample.rows),
        total=sample.total,
        classes=0 if sample.labels is None else len(np.unique(sample.labels)),
        ridge=ridge,
        bins=bins,
        weight=common_weight(inputs.values()),
    ).survey(text)
    read_survey(projected)
    return projected


# -- the public rows ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sample:
    """Rows without gaps: normalised numbers (m, n), perhaps labels (m,), and how many rows there were."""

    rows: NDArray[np.float64]
    labels: NDArray[np.int64] | None
    total: int


def _sample(
    inputs: Sequence[NumericFeature], label: Label | None, columns: Mapping[str, Sequence[str]]
) -> _Sample:
    numbers = [_codes(columns, each.name, _code_of(each)) for each in inputs]
    codes = np.stack(numbers, axis=1)
    whole = (codes != _GAP).all(axis=1)
    if label is None:
        return _Sample((codes[whole] - GRID) / GRID, None, len(codes))
    labels = _codes(columns, label.name, lambda cell: _GAP if is_missing(cell) else label.code(cell))
    whole &= labels != _GAP
    return _Sample((codes[whole] - GRID) / GRID, labels[whole], len(codes))


def _code_of(feature: NumericFeature) -> Callable[[str], int]:
    """Return what codes a cell; a gap is allowed here also where devices refuse it."""
    tolerant = replace(feature, missing="category")
    return lambda cell: tolerant.code(tolerant.from_text(cell))


def _codes(columns: Mapping[str, Sequence[str]], name: str, code: Callable[[str], int]) -> NDArray[np.int64]:
    if name not in columns:
        raise ProjectError(f"the table has no column {quote(name)}; it has {', '.join(map(quote, columns))}")
    codes = []
    for row, cell in enumerate(columns[name], 1):
        try:
            codes.append(code(cell))
        except RowError as error:
            raise RowError(name, f"row {row}: {error.why}") from error
    return np.array(codes, dtype=np.int64)
