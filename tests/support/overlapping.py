"""A survey whose features repeat each other, so that Naive Bayes counts the same information many times."""

import numpy as np
import numpy.typing as npt

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot

COPIES = 5
SURVEY = "\n".join(
    [
        '[survey]\nid = "overlapping"\nepsilon = 4.0\n[label]\nname = "tired"\nvalues = ["yes", "no"]',
        *(f'[features.copy{number}]\nvalues = ["low", "high"]' for number in range(COPIES)),
        "[features.hours]\nrange = [0, 3]\nbins = 3",
    ]
)
"""Five features that nearly agree, and one in bins."""
Codes = npt.NDArray[np.int64]


def draw_people(count: int, seed: int, tired: float = 0.5) -> tuple[Codes, Codes]:
    """Return the codes of the rows and of the labels; `tired` is the share of the first class."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(count) >= tired).astype(np.int64)
    hidden = (rng.random(count) < np.where(labels, 0.7, 0.3)).astype(np.int64)
    copies = [np.where(rng.random(count) < 0.95, hidden, 1 - hidden) for _ in range(COPIES)]
    hours = np.where(labels, rng.choice(3, count, p=[0.7, 0.2, 0.1]), rng.choice(3, count, p=[0.1, 0.2, 0.7]))
    return np.column_stack([*copies, hours]).astype(np.int64), labels


def simulate(count: int, seed: int = 1, epsilon: str = "4.0") -> Snapshot:
    """Return the counters of so many reports."""
    codes, labels = draw_people(count, seed)
    plan = read_survey(SURVEY.replace("epsilon = 4.0", f"epsilon = {epsilon}")).compile()
    return simulate_reports(plan, codes, labels, FastStream(seed))


def to_columns(codes: Codes) -> dict[str, list[object]]:
    """Return coded rows as columns of values."""
    columns: dict[str, list[object]] = {
        f"copy{number}": np.array(["low", "high"], dtype=object)[codes[:, number]].tolist()
        for number in range(COPIES)
    }
    return columns | {"hours": (codes[:, -1] + 0.5).tolist()}


def to_csv(codes: Codes, labels: Codes | None = None) -> str:
    """Return coded rows as CSV, with a column of labels if they are given."""
    columns = to_columns(codes)
    if labels is not None:
        columns["tired"] = np.array(["yes", "no"], dtype=object)[labels].tolist()
    cells = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in cells), ""])
