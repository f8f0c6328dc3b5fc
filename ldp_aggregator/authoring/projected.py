"""The text of a projected survey: new tables where the numbers were, all else as its author wrote it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from encoders.errors import LdpError
from encoders.survey.numbers import NumericFeature
from encoders.survey.toml_lines import line_of
from ldp_aggregator.authoring.toml_tables import LayoutError, exchange
from ldp_aggregator.authoring.toml_text import array, key, plain, quote
from reduction.fit import Fit

_HEADER = """\
# The survey {old}, its numbers projected.
# Look at the tables [features.{method}...], then run  ldp-survey check  and  ldp-survey preview.
#
# Weights, offsets and ranges were fitted on rows that are stated to be PUBLIC,
# {source},
# and are public from now on, as all of a survey is. Epsilon does not cover the fit: fitted on private
# rows, they would leak those rows, whatever epsilon is.
#
# It is another survey than that, so it has another id: confirm it. Fitted anew, it needs a new one.
"""
_ORIGIN = """\
# {title}
# of {source}: {used} of its {total} rows{gaps}.
# Each device clips these numbers to their ranges, normalises them to [-1, 1] and takes the weighted sums
# below. It is asked about the sums only.
"""
_GAPS = {"dca": "; the others lack a number or the label", "pca": "; the others lack a number"}
_TITLES = {
    "dca": "Discriminant component analysis (DCA), ridge {ridge:.4g} of the mean within-class variance",
    "pca": "Principal component analysis (PCA)",
}
_POWERS = {
    "dca": "discriminant power {:.4g}: variance between the classes over variance within them",
    "pca": "holds {:.2%} of the variance of the normalised numbers",
}
_SIGNAL = "# Only the first {signals} can tell {classes} classes apart; in the others, their means agree.\n"
_RANGE = """\
# the public rows' range, rounded outward; numbers beyond are clipped. The middle 98 % of the rows are
# within {:.3g} to {:.3g}: the narrower the range, the less noise.
range = [{}, {}]"""


class ProjectError(LdpError):
    """A survey or a table that cannot be projected."""


@dataclass(frozen=True)
class Projected:
    """What the text says of a fit.

    Attributes
    ----------
    found : Fit
    method : str
    source : str
        What the public rows are called.
    used, total : int
        Rows fitted on, and rows there were.
    classes : int
        Classes among the rows fitted on; 0 if labels took no part.
    ridge : float
    bins : int or None
    weight : int
        Public weight of each component's question.
    """

    found: Fit
    method: str
    source: str
    used: int
    total: int
    classes: int
    ridge: float
    bins: int | None
    weight: int

    def survey(self, text: str) -> str:
        """Return the projected survey of the survey `text`.

        Raises
        ------
        ProjectError
            If the text is laid out in a way that its tables cannot be told apart.
        """
        document = tomllib.loads(text, parse_float=Decimal)
        old = document["survey"]["id"]
        new = _new_id(old, f"-{self.method}{len(self.found.powers)}")
        header = _HEADER.format(old=quote(old), source=quote(self.source), method=self.method)
        names = [each.name for each in self.found.projection.inputs]
        tables = self.tables()
        try:
            changed = exchange(_rename(text, old, new), [("features", name) for name in names], tables)
        except LayoutError as error:
            raise ProjectError(
                f"{error}: needs a table of its own, under a header [features.NAME]"
            ) from error
        _prove(changed, document, names, tables, new)
        return f"{header}\n{changed}"

    def tables(self) -> str:
        """Return the tables of the inputs and of the components."""
        inputs = self.found.projection.inputs
        origin = _ORIGIN.format(
            title=_TITLES[self.method].format(ridge=self.ridge),
            source=quote(self.source),
            used=self.used,
            total=self.total,
            gaps=_GAPS[self.method] * (self.used < self.total),
        )
        if self.classes and len(self.found.powers) >= self.classes:
            origin += _SIGNAL.format(classes=self.classes, signals=_count(self.classes - 1))
        places = range(len(self.found.powers))
        return "\n".join([origin, *map(_input, inputs), *map(self._component, places)])

    def _component(self, place: int) -> str:
        found = self.found
        component = found.projection.components[place]
        gaps = any(each.missing == "category" for each in found.projection.inputs)
        lines = [
            f"# {_POWERS[self.method].format(round(found.powers[place], 9))}",
            f"[features.{component.name}]",
            array("weights", component.weights),
            f"offset = {component.offset}",
            _RANGE.format(*found.middle[place], *found.bounds[place]),
            *([f"bins = {self.bins}"] if self.bins else []),
            *(["# missing where one of the numbers is", 'missing = "category"'] if gaps else []),
            *([f"weight = {self.weight}"] if self.weight != 1 else []),
        ]
        return "\n".join([*lines, ""])


def _input(feature: NumericFeature) -> str:
    lines = [
        f"[projection.inputs.{key(feature.name)}]",
        array("range", [plain(Decimal(feature.low)), plain(Decimal(feature.high))]),
        *(['missing = "category"'] if feature.missing == "category" else []),
    ]
    return "\n".join([*lines, ""])


def _count(components: int) -> str:
    return "component" if components == 1 else f"{components} components"


def _new_id(old: str, suffix: str) -> str:
    return old[: 64 - len(suffix)] + suffix


def _rename(text: str, old: str, new: str) -> str:
    """Exchange the id in its line; no id holds a quote or an escape."""
    lines = text.split("\n")
    place = (line_of(text, ("survey", "id")) or 1) - 1
    for mark in ('"', "'"):
        lines[place] = lines[place].replace(f"{mark}{old}{mark}", f"{mark}{new}{mark}", 1)
    return "\n".join(lines)


def _prove(
    changed: str, document: Mapping[str, Mapping[str, object]], names: Sequence[str], tables: str, new: str
) -> None:
    """Make sure that the text says what it did, but for the id and the tables exchanged."""
    added = tomllib.loads(tables, parse_float=Decimal)
    left = {name: entry for name, entry in document["features"].items() if name not in names}
    expected = {
        **document,
        "survey": {**document["survey"], "id": new},
        "features": {**left, **added["features"]},
        "projection": added["projection"],
    }
    try:
        same = tomllib.loads(changed, parse_float=Decimal) == expected
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise ProjectError(
            "the survey is laid out too freely: write its id and each table on lines of its own"
        )
