"""Measure a validation on synthetic people: where it gains accuracy, and where it loses.

    python -m benchmarks.validation        # a few minutes on one core

Every feature has two values. Each informative feature equals the label with a given probability, so all are
equally informative. In the last set they are identical, except for one that is more accurate and independent.
The other features are uninformative.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from encoders.explain.text import format_table
from encoders.survey import CategoricalFeature, Label, Survey
from ldp_design.simulation.accuracies import SimulationGrid, simulate

PEOPLE = 5_000


class World(NamedTuple):
    """Numbers of uninformative and informative features, and how often these, and one more, are right."""

    uninformative: int
    informative: int
    right: float
    alone: float | None = None


WORLDS = {
    "1 of 31 informative, .9": World(30, 1, 0.9),
    "3 of 23 informative, .8": World(20, 3, 0.8),
    "10 of 20 informative, .7": World(10, 10, 0.7),
    "20 of 20 informative, .65": World(0, 20, 0.65),
    "10 identical, .7, and 1 of .9": World(0, 10, 0.7, 0.9),
}
EPSILONS = (0.5, 1, 2, 4)


def make_people(world: World, seed: int) -> dict[str, list[str]]:
    """Draw people: columns of features and their label."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, PEOPLE)

    def draw_feature(right: float) -> NDArray[np.int64]:
        return np.where(rng.random(PEOPLE) < right, label, 1 - label)

    if world.alone:
        columns = [draw_feature(world.alone), *[draw_feature(world.right)] * world.informative]
    else:
        columns = [draw_feature(world.right) for _ in range(world.informative)]
    columns += [rng.integers(0, 2, PEOPLE) for _ in range(world.uninformative)]
    return {
        "class": list(np.array(["a", "b"])[label]),
        **{f"f{number}": list(np.array(["x", "y"])[column]) for number, column in enumerate(columns)},
    }


def rows(repeats: int, seed: int) -> Iterator[list[str]]:
    """Measure each kind of people at each epsilon."""
    for name, world in WORLDS.items():
        people = make_people(world, seed)
        features = tuple(CategoricalFeature(each, ("x", "y"), "error") for each in people if each != "class")
        weights = (None, *(1 for _ in features))
        survey = Survey(
            id="rounds",
            epsilon=Decimal(1),
            label=Label("class", ("a", "b")),
            features=features,
            weights=weights,
        )
        for epsilon in EPSILONS:
            grids = [SimulationGrid(epsilons=[epsilon], validate=validated) for validated in (False, True)]
            found = [simulate(survey, people, grid, repeats=repeats, seed=seed).rows[0] for grid in grids]
            accuracies = [f"{each.accuracy:.3f} ± {each.stderr:.3f}" for each in found]
            yield [name, f"{epsilon:g}", *accuracies, f"{found[0].non_private:.3f}"]


@click.command()
@click.option("--repeats", type=click.IntRange(min=2), default=100, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def main(repeats: int, seed: int) -> None:
    """Print the accuracy without and with a validation."""
    head = ["people", "epsilon", "plain", "validated", "non-private"]
    click.echo("\n".join(format_table([head, *rows(repeats, seed)], "<>>>>")))


if __name__ == "__main__":
    main()
