"""Rounds that narrow, on made-up people: where leaving out pays, and where it costs.

    python -m benchmarks.rounds        # five minutes on one core

Every feature has two values. Of some of them each is the label's own with a given probability, so that they
all tell as much as each other; the others tell nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
import numpy as np

from encoders.survey import CategoricalFeature, Label, Survey
from encoders.survey.layout import table
from ldp_aggregator.population import read_epsilon
from ldp_aggregator.simulation import simulate

PEOPLE = 5_000
WORLDS = {
    "1 of 31 tells, .9": (30, 1, 0.9),
    "3 of 23 tell, .8": (20, 3, 0.8),
    "10 of 20 tell, .7": (10, 10, 0.7),
    "20 of 20 tell, .65": (0, 20, 0.65),
}
EPSILONS = (0.5, 1, 2)
ROUNDS = (1, 2, 3)


def make_people(silent: int, telling: int, right: float, seed: int) -> dict[str, list[str]]:
    """Draw people: columns of features and their label."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, PEOPLE)
    told = [np.where(rng.random(PEOPLE) < right, label, 1 - label) for _ in range(telling)]
    columns = [*told, *(rng.integers(0, 2, PEOPLE) for _ in range(silent))]
    return {
        "class": list(np.array(["a", "b"])[label]),
        **{f"f{number}": list(np.array(["x", "y"])[column]) for number, column in enumerate(columns)},
    }


def rows(repeats: int, seed: int) -> Iterator[list[str]]:
    """Measure world by world, epsilon by epsilon."""
    for name, (silent, telling, right) in WORLDS.items():
        features = tuple(
            CategoricalFeature(f"f{each}", ("x", "y"), "error") for each in range(silent + telling)
        )
        weights = (None, *(1 for _ in features))
        survey = Survey("rounds", read_epsilon(1), Label("class", ("a", "b")), features, weights)
        people = make_people(silent, telling, right, seed)
        for epsilon in EPSILONS:
            found = simulate(
                survey, people, epsilons=[epsilon], rounds=ROUNDS, repeats=repeats, seed=seed
            ).rows
            accuracies = [f"{each.accuracy:.3f} ± {each.stderr:.3f}" for each in found]
            yield [name, f"{epsilon:g}", *accuracies, f"{found[0].non_private:.3f}"]


@click.command()
@click.option("--repeats", type=click.IntRange(min=2), default=100, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def main(repeats: int, seed: int) -> None:
    """Print the accuracy of one, two and three rounds."""
    head = ["people", "epsilon", *(f"{each} round{'s' * (each > 1)}" for each in ROUNDS), "non-private"]
    click.echo("\n".join(table([head, *rows(repeats, seed)], "<>>>>>")))


if __name__ == "__main__":
    main()
