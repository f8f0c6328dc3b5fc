"""Compare a projection learned in a first round with plain questions; see docs/results/learned-projection.md.

    python -m benchmarks.learned_projection [--data DIRECTORY] [--repeats 20] [sets...]

DIRECTORY (or LDP_DATA) contains australian.csv and pima.csv. A user is a training row drawn with replacement
and sends one report in the first or the second round, by the code that devices and aggregator run.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from encoders.randomness import FastStream
from ldp_aggregator.classifiers.infer_survey import infer_survey
from ldp_aggregator.rows.csv_rows import read_text_columns
from ldp_design.simulation.rows import LabelledTable, RowSplit, read_labelled_table, split_rows
from ldp_design.simulation.trial import EncodedRows, encode_repeats, learn_from_pilot, run_rounds
from ldp_design.simulation.variants import Variant

REAL = ("australian", "pima")
SETS = (*REAL, "indep", "sparse", "corr", "imbal")
EPSILONS = (Decimal("0.5"), Decimal(1), Decimal(2))
USERS = (500, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CELLS = [(epsilon, users) for epsilon in EPSILONS for users in USERS]
EDGE = 1_000  # of m eps^2 / n

PLAIN = {"2 bins": "bins:2", "4 bins": "bins:4", "8 bins": "bins:8", "numbers": "auto"}
LEARNED = {"learned": "auto", "learned, 4 bins": "bins:4"}
PUBLIC = "public DCA"
WAYS = (*PLAIN, *LEARNED, PUBLIC)
BEST = "best of plain"  # chosen in hindsight, cell by cell

Floats = NDArray[np.float64]


def synthetic(name: str, rng: np.random.Generator) -> dict[str, list[object]]:
    """Draw 4000 rows of two normal classes; the bounds are four standard deviations from the middle."""
    labels = (rng.random(4_000) < (0.15 if name == "imbal" else 0.5)).astype(int)
    places = np.arange(16)
    some = {"sparse": 1.6 / np.sqrt(3) * (places < 3), "corr": 0.6 * (places % 2 == 0)}
    difference_of_means = some.get(name, np.full(len(places), 0.4))
    correlations = (0.6 if name == "corr" else 0.0) ** np.abs(np.subtract.outer(places, places))
    x = rng.normal(size=(len(labels), len(places))) @ np.linalg.cholesky(correlations).T
    x = np.clip(x + np.outer(labels - 0.5, difference_of_means), -4, 4)
    x[0], x[1] = -4, 4  # the bounds are inferred from the rows
    columns: dict[str, list[object]] = {f"x{place}": list(column) for place, column in enumerate(x.T)}
    return {**columns, "class": [str(label) for label in labels]}


def real(name: str, data: str) -> dict[str, list[object]]:
    """Read a real data set; its bounds are inferred from its rows."""
    columns = read_text_columns(os.path.join(data, f"{name}.csv"))
    return {key: list(cells if key == "class" else map(float, cells)) for key, cells in columns.items()}


def variant_of(name: str, epsilon: Decimal = EPSILONS[0]) -> Variant:
    """Return the variant that one of WAYS names."""
    numeric = {**PLAIN, **LEARNED, PUBLIC: "auto"}[name]
    projection = "learned:1" if name in LEARNED else "dca:1" if name == PUBLIC else "none"
    return Variant(epsilon=epsilon, numeric=numeric, projection=projection)


@dataclass(frozen=True)
class Draw:
    """One population: labelled rows, split into the rows that users are drawn from and test rows."""

    table: LabelledTable
    split: RowSplit
    seed: int

    @cached_property
    def encoded(self) -> dict[str, EncodedRows]:
        """The encoded rows of each variant, which do not depend on epsilon."""
        return {name: encode_repeats(self.table, [self.split], variant_of(name))[0] for name in WAYS}

    def accuracies(self, cell: int) -> list[float]:
        """Return each way's accuracy at one epsilon and number of users."""
        epsilon, users = CELLS[cell]
        rng = np.random.default_rng([self.seed, cell])
        split = replace(self.split, train=rng.choice(self.split.train, users))
        return [self._accuracy(name, epsilon, split, FastStream(int(rng.integers(2**31)))) for name in WAYS]

    def _accuracy(self, name: str, epsilon: Decimal, split: RowSplit, rng: FastStream) -> float:
        rows, variant = replace(self.encoded[name], split=split), variant_of(name, epsilon)
        if name in LEARNED:
            rows = learn_from_pilot(rows, variant, rng)
        return run_rounds(rows, variant.apply(self.table.survey, rows.fit), variant, rng).accuracy


def draw(name: str, data: str, seed: int) -> Draw:
    """Draw one population."""
    rng = np.random.default_rng([seed, SETS.index(name)])
    columns = real(name, data) if name in REAL else synthetic(name, rng)
    labels = sorted(set(map(str, columns["class"])))
    features = {key: column for key, column in columns.items() if key != "class"}
    survey = infer_survey(features, labels, bins=None)
    table = read_labelled_table(survey, {**features, survey.label.name: columns["class"]})
    return Draw(table, split_rows(len(table.labels), 1, seed, 0)[0], seed)


def measure(name: str, data: str, repeats: int) -> Floats:
    """Return accuracies in percentage points, shape (repeats, cells, ways)."""
    draws = (draw(name, data, seed) for seed in range(repeats))
    return 100 * np.array([[each.accuracies(cell) for cell in range(len(CELLS))] for each in draws])


def difference(accuracy: Floats, ours: str, theirs: str) -> tuple[Floats, Floats]:
    """Return the mean difference in each cell, and its standard error."""
    if theirs == BEST:
        chosen = accuracy[:, :, : len(PLAIN)].mean(axis=0).argmax(axis=1)
        rival = np.take_along_axis(accuracy, chosen[None, :, None], axis=2)[:, :, 0]
    else:
        rival = accuracy[:, :, WAYS.index(theirs)]
    gained = accuracy[:, :, WAYS.index(ours)] - rival
    return gained.mean(axis=0), gained.std(axis=0, ddof=1) / np.sqrt(len(gained))


def print_cells(name: str, numbers: int, accuracy: Floats) -> None:
    """Print every cell of one set."""
    print(f"\n### {name}\n\n| eps | m | m eps^2/n | {' | '.join(WAYS)} | learned - {BEST} |")
    print("|---" * (len(WAYS) + 4) + "|")
    gains, errors = difference(accuracy, "learned", BEST)
    means = accuracy.mean(axis=0)
    for cell, (epsilon, users) in enumerate(CELLS):
        shown = " | ".join(f"{mean:.1f}" for mean in means[cell])
        size = float(users * epsilon**2 / numbers)
        print(f"| {epsilon} | {users} | {size:.0f} | {shown} | {gains[cell]:+.1f} ± {errors[cell]:.1f} |")


def print_summary(found: dict[str, Floats], numbers: dict[str, int]) -> None:
    """Print mean differences, and cells won and lost by more than two standard errors."""
    print("\n### Mean difference in points, and cells won/lost by more than two standard errors\n")
    print(f"| | all | m eps^2/n < {EDGE} | from {EDGE} |\n|---|---|---|---|")
    sizes = np.concatenate([[float(m * e**2 / numbers[name]) for e, m in CELLS] for name in found])
    for ours in (*LEARNED, PUBLIC):
        for theirs in (BEST, *PLAIN):
            pairs = [difference(accuracy, ours, theirs) for accuracy in found.values()]
            gains, errors = (np.concatenate(part) for part in zip(*pairs, strict=True))
            chosen = (np.full(len(sizes), True), sizes < EDGE, sizes >= EDGE)
            cells = (
                f"{gains[which].mean():+.1f} ({(gains > 2 * errors)[which].sum()}/"
                f"{(gains < -2 * errors)[which].sum()} of {which.sum()})"
                for which in chosen
            )
            print(f"| {ours} - {theirs} | {' | '.join(cells)} |")


def main() -> None:
    """Measure the sets named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="*", choices=[*SETS, []], help=", ".join(SETS))
    parser.add_argument("--data", default=os.environ.get("LDP_DATA", "."))
    parser.add_argument("--repeats", type=int, default=20)
    chosen = parser.parse_args()
    found: dict[str, Floats] = {}
    numbers: dict[str, int] = {}
    for name in chosen.sets or SETS:
        found[name] = measure(name, chosen.data, chosen.repeats)
        numbers[name] = len(draw(name, chosen.data, 0).table.survey.features)
        print_cells(name, numbers[name], found[name])
    print_summary(found, numbers)


if __name__ == "__main__":
    main()
