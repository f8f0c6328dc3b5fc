"""Compares the estimates of two surveys: which of them differ by more than their noise.

A pair differs if the interval of the difference of its raw estimates does not contain 0. The margins of both
add up in squares (Zou and Donner 2008), which assumes that nobody's report is in both surveys; with m pairs
their level is LEVEL / m (Bonferroni). They reach at least to the ends of the estimate's own interval, which
is wide where nobody reported a value, although the standard error is not. A pair is not compared if one
simultaneous interval is the whole possible range.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from encoders.errors import LdpError
from encoders.survey import Feature, Label, NumericFeature
from encoders.survey.features import row_entries
from ldp_aggregator.estimation.figures import CLASS_PRIOR, Figures, find_margins, list_figures
from ldp_aggregator.estimation.intervals import SIMULTANEOUS_ERROR, Bounds, simultaneous_z
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_tables import name_statistic
from ldp_aggregator.wording.values import Names

# -- raw estimates ----------------------------------------------------------------------------------


class EstimateName(NamedTuple):
    """The name of an estimated quantity.

    `value` is empty except for shares of values, and `class_name` is empty for all people.
    """

    feature: str
    statistic: str
    value: str
    class_name: str


class Cell(NamedTuple):
    """A raw estimate with its simultaneous interval, informative unless it is the whole range, `bounds`."""

    value: float
    stderr: float
    low: float
    high: float
    z: float
    is_informative: bool
    bounds: Bounds

    def compute_margins(self, z: float) -> tuple[float, float]:
        below, above = find_margins(self.value, self.stderr, (self.low, self.high), self.z, z, self.bounds)
        return float(below), float(above)


def list_cells(results: Results) -> dict[EstimateName, Cell]:
    figures = list_figures(results.estimates, results.plan.features)
    return {name: cell for each in figures for name, cell in _list_cells(each)}


def _list_cells(figures: Figures) -> Iterator[tuple[EstimateName, Cell]]:
    estimate, bounds = figures.estimate, figures.bounds
    arrays = (estimate.value, estimate.stderr, estimate.simultaneous_low, estimate.simultaneous_high)
    parts = [each.tolist() for each in arrays]
    for row, value_name in enumerate(figures.values):
        for column, class_name in enumerate(figures.classes):
            value, stderr, low, high = (each[row][column] for each in parts)
            is_informative = low > bounds[0] or high < bounds[1]
            cell = Cell(value, stderr, low, high, figures.z, is_informative, bounds)
            yield EstimateName(figures.feature, figures.statistic, value_name, class_name), cell


# -- the comparison ---------------------------------------------------------------------------------


LEVEL = SIMULTANEOUS_ERROR
"""Probability, at most, that any pair is called different if none is."""


class ComparisonError(LdpError):
    """Two surveys that cannot be compared; the message states why."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    quantity: EstimateName
    first: float
    second: float
    """The raw estimates."""
    stderr: float
    """The standard error of the difference."""
    low: float
    high: float
    """The simultaneous interval of the difference, second minus first, cut to its possible range."""
    differs: bool

    @property
    def difference(self) -> float:
        return self.second - self.first


class NotCompared(NamedTuple):
    what: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Comparison:
    differences: tuple[Difference, ...]
    """One for each compared quantity, in the order of the first survey."""
    not_compared: tuple[NotCompared, ...]

    @property
    def differing(self) -> tuple[Difference, ...]:
        return tuple(each for each in self.differences if each.differs)


def compare_surveys(first: Results, second: Results, *, independent: bool = False) -> Comparison:
    """Compare all estimates of two surveys.

    `independent`: no report is known to be in both. Raises ComparisonError for validation rounds, and if both
    are of one family and not independent.
    """
    for each in (first, second):
        if each.plan.validation:
            raise ComparisonError(
                f"{each.plan.id} is a validation round, which does not have estimates to compare: give the "
                "survey's model"
            )
    if first.plan.family == second.plan.family and not independent:
        raise ComparisonError(
            f"{first.plan.id} and {second.plan.id} are results of one survey or of its rounds, so they may "
            "contain the same reports, and then the test is not valid; if no report is in both, use "
            "--independent"
        )
    cells = list_cells(first), list_cells(second)
    obstacles: dict[EstimateName, str] = {}
    unknown: dict[EstimateName, str] = {}
    pairs: dict[EstimateName, tuple[Cell, Cell]] = {}
    for quantity in dict.fromkeys((*cells[0], *cells[1])):
        one, other = (each.get(quantity) for each in cells)
        if obstacle := _find_obstacle(quantity, first, second):
            obstacles[quantity] = obstacle
        elif one is None or other is None:
            obstacles[quantity] = _explain("only-one", first=other is None)
        elif reason := _find_missing_information(one, other):
            unknown[quantity] = reason
        else:
            pairs[quantity] = one, other
    z = simultaneous_z(len(pairs))
    return Comparison(
        differences=tuple(_compare(quantity, *pair, z) for quantity, pair in pairs.items()),
        not_compared=(*_group_obstacles(obstacles), *_group_unknown(unknown)),
    )


def _compare(quantity: EstimateName, first: Cell, second: Cell, z: float) -> Difference:
    difference = second.value - first.value
    (first_below, first_above), (second_below, second_above) = (
        each.compute_margins(z) for each in (first, second)
    )
    low = difference - math.hypot(second_below, first_above)
    high = difference + math.hypot(second_above, first_below)
    span = first.bounds[1] - first.bounds[0]
    return Difference(
        quantity=quantity,
        first=first.value,
        second=second.value,
        stderr=math.hypot(first.stderr, second.stderr),
        low=min(max(low, -span), span),
        high=max(min(high, span), -span),
        differs=low > 0 or high < 0,
    )


# -- what can be compared -------------------------------------------------------------------------


def _find_obstacle(quantity: EstimateName, first: Results, second: Results) -> str | None:
    one, other = first.plan.label, second.plan.label
    if quantity.class_name and (why := _compare_labels(one, other)):
        return why
    if quantity.statistic == CLASS_PRIOR:
        return None if set(one.values) == set(other.values) else _explain("classes")
    features = [_find_feature(each, quantity.feature) for each in (first, second)]
    parts = zip((True, False), (one, other), features, strict=True)
    for is_first, label, feature in parts:
        if feature is None:
            return _explain("no-feature", first=is_first, name=quantity.feature)
        if quantity.class_name and quantity.class_name not in label.values:
            return _explain("no-class", first=is_first, name=quantity.class_name)
    are_numbers = [isinstance(each, NumericFeature) for each in features]
    if any(are_numbers) and not all(are_numbers):
        return _explain("kinds")
    for is_first, feature in zip((True, False), features, strict=True):
        assert feature is not None
        if not isinstance(feature, NumericFeature) and quantity.value not in feature.texts:
            return _explain("no-value", first=is_first, name=quantity.value)
    ranges = [each.bounds for each in features if isinstance(each, NumericFeature)]
    if len(set(ranges)) > 1:
        return _explain("ranges")
    return None


def _compare_labels(one: Label, other: Label) -> str | None:
    if one.exists != other.exists:
        return _explain("label", first=one.exists)
    return None if one.name == other.name else _explain("labels", one=one.name, other=other.name)


def _find_missing_information(first: Cell, second: Cell) -> str | None:
    for is_first, cell in ((True, first), (False, second)):
        if not (math.isfinite(cell.value) and math.isfinite(cell.stderr)):
            return _explain("no-estimate", first=is_first)
        if not cell.is_informative:
            return _explain("uninformative", first=is_first)
    return None


def _find_feature(results: Results, name: str) -> Feature | None:
    return next((each for each in row_entries(results.plan.features) if each.name == name), None)


def _group_obstacles(reasons: Mapping[EstimateName, str]) -> Iterator[NotCompared]:
    """Yield one entry for each feature, statistic and reason, which names the class or the value."""
    groups: dict[tuple[str, str, str], set[bool]] = defaultdict(set)
    for each, why in reasons.items():
        groups[each.feature, each.statistic, why].add(bool(each.class_name))
    for (feature, statistic, why), in_class in groups.items():
        of_classes = in_class == {True} and "class" not in statistic
        yield NotCompared(_name_group(feature, statistic, in_classes=of_classes), why)


def _group_unknown(reasons: Mapping[EstimateName, str]) -> Iterator[NotCompared]:
    """Yield one entry for each feature, statistic and reason, and for all classes with the same values."""
    values: dict[tuple[str, str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for quantity, reason in reasons.items():
        values[quantity.feature, quantity.statistic, reason][quantity.class_name].append(quantity.value)
    for (feature, statistic, reason), by_class in values.items():
        classes: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for class_name, names in by_class.items():
            classes[tuple(filter(None, names))].append(class_name)
        for listed_values, group in classes.items():
            listed = {"values": Names(listed_values), "classes": Names(filter(None, group))}
            yield NotCompared(_name_group(feature, statistic, **listed), reason)


def _explain(reason: str, /, **values: object) -> str:
    return TEXTS.write(f"obstacles.{reason}", **values)


def _name_group(feature: str, statistic: str, **stated: object) -> str:
    facts = {"in_classes": False, "values": (), "classes": ()} | stated
    return _explain("what", feature=feature, statistic=name_statistic(statistic), **facts)
