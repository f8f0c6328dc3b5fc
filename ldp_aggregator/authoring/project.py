"""A survey whose numbers are projected, the projection fitted on public rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.errors import RowError
from encoders.survey import Label
from encoders.survey.numeric_features import GRID, NumericFeature
from encoders.survey.parse_value import is_missing
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.authoring.projected import Projected, ProjectionError, read_unprojected
from ldp_aggregator.authoring.projection_inputs import projection_inputs
from ldp_aggregator.authoring.toml_edit import quote
from reduction.dca import DEFAULT_RIDGE
from reduction.fit import fit

_GAP = 2 * GRID + 1

_HEADER = (
    "Weights, offsets and ranges were fitted on rows that are stated to be PUBLIC, {source}, and are public "
    "from now on, as all of a survey is. Epsilon does not cover the fit: fitted on private rows, they would "
    "leak those rows, whatever epsilon is."
)
_TITLES = {
    "dca": "Discriminant component analysis (DCA), ridge {ridge:.4g} of the mean within-class variance,",
    "pca": "Principal component analysis (PCA)",
}
_POWERS = {
    "dca": "discriminant power {:.4g}: variance between the classes over variance within them",
    "pca": "holds {:.2%} of the variance of the normalised numbers",
}
_RANGE = (
    "the public rows' range, rounded outward; numbers beyond are clipped. The middle 98 % of the rows are "
    "within {:.3g} to {:.3g}: the narrower the range, the less noise."
)


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
    SurveyError, ProjectionError, FitError, RowError
        Naming the entry or the column, never a value.
    """
    text, survey = read_unprojected(text, method, components)
    inputs = tuple(projection_inputs(survey))
    label = survey.label if method == "dca" else None
    sample = _sample(inputs, label, columns)
    found = fit(method, inputs, sample.rows, sample.labels, components, ridge)
    title = _TITLES[method].format(ridge=ridge)
    return Projected(
        found,
        method,
        header=(_HEADER.format(source=quote(source)),),
        origin=(f"{title} of {quote(source)}: {sample.described}.", *_noise(sample, components)),
        powers=tuple(_POWERS[method].format(round(power, 9)) for power in found.powers),
        ranges=tuple(_RANGE.format(*middle) for middle in found.middle),
        bins=bins,
    ).survey(text, survey)


def _noise(sample: _Sample, components: int) -> Iterator[str]:
    """Warn of components that DCA finds no signal for."""
    classes = 0 if sample.labels is None else len(np.unique(sample.labels))
    if classes and components >= classes:
        signals = "component" if classes == 2 else f"{classes - 1} components"
        yield f"Only the first {signals} can tell {classes} classes apart; in the others, their means agree."


# -- the public rows ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sample:
    """Rows without gaps: normalised numbers (m, n), perhaps labels (m,), and how many rows there were."""

    rows: FloatArray
    labels: IntArray | None
    total: int

    @property
    def described(self) -> str:
        """How many of the rows are used, and why not the others."""
        lacking = "a number" if self.labels is None else "a number or the label"
        gaps = f"; the others lack {lacking}" if len(self.rows) < self.total else ""
        return f"{len(self.rows)} of its {self.total} rows{gaps}"


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


def _codes(columns: Mapping[str, Sequence[str]], name: str, code: Callable[[str], int]) -> IntArray:
    if name not in columns:
        raise ProjectionError(
            f"the table has no column {quote(name)}; it has {', '.join(map(quote, columns))}"
        )
    codes = []
    for row, cell in enumerate(columns[name], 1):
        try:
            codes.append(code(cell))
        except RowError as error:
            raise RowError(name, f"row {row}: {error.why}") from error
    return np.array(codes, dtype=np.int64)
