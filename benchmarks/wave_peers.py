"""Compare waves with answers that a device keeps: ``python -m benchmarks.wave_peers``, after ``make bench``.

The peer is L-GRR of multi-freq-ldpy: each device randomises each value once for good (eps_perm), and that
answer again in each wave (eps_1). The lifetime epsilon is the logarithm of the largest ratio of the
probabilities of all 12 reports, over all pairs of sequences of yes/no answers, by enumeration. In our rows
each person answers in one wave, with that epsilon. 2% of the people change their answer from one wave to the
next. Margins are 1.96 times the standard error over repeated series, in percentage points.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations

import numpy as np
from multi_freq_ldpy.long_freq_est.L_GRR import L_GRR_Aggregator_MI
from numpy.typing import NDArray

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.series.series import estimate_series
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_series

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PEOPLE, WAVES, REPEATS = 20_000, 12, 30
SHARE, RATE, Z = 0.3, 0.02, 1.96
LEVELS = ((1.0, 0.25), (1.0, 0.5), (2.0, 1.0))
"""eps_perm and eps_1; the peer claims an epsilon of eps_perm for each value."""
SURVEY = """
survey = {{id = "peers", epsilon = {epsilon}}}
features.answer.values = ["no", "yes"]
waves = {{first = 2027-01-01, every = "month", count = {waves}}}
"""


def find_chain(permanent: float, single: float) -> tuple[float, float]:
    """Return the probabilities that the kept answer is true, and that a report is the kept answer."""
    first, both = (np.exp(each) / (np.exp(each) + 1) for each in (permanent, single))
    return float(first), float((both + first - 1) / (2 * first - 1))


def find_lifetime(permanent: float, single: float) -> float:
    """Return the exact epsilon of all reports of a person, for yes/no answers.

    L(y|x) = prod_v sum_b P(b|v) prod_{t: x_t = v} Q(y_t|b) depends only on how often each (x, x', y) occurs.
    """
    first, second = find_chain(permanent, single)
    kept, sent = (np.array([[each, 1 - each], [1 - each, each]]) for each in (first, second))
    bars = np.array(list(combinations(range(WAVES + 7), 7)))
    ends = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), WAVES + 7)])
    counts = (np.diff(ends, axis=1) - 1).reshape(-1, 2, 2, 2)  # x, x', y
    scores = []
    for by_value in (counts.sum(axis=2), counts.sum(axis=1)):  # of x, and of x'
        chances = np.exp(np.einsum("nvy,by->nvb", by_value, np.log(sent)))
        scores.append(np.log(np.einsum("nvb,vb->nv", chances, kept)).sum(axis=1))
    return float((scores[0] - scores[1]).max())


def draw_answers(rng: np.random.Generator) -> Ints:
    """Return the answers of all people in each wave, (waves, people)."""
    answers = [rng.random(PEOPLE) < SHARE]
    for _ in range(WAVES - 1):
        # of those who draw anew, 2 SHARE (1 - SHARE) change
        anew = rng.random(PEOPLE) < RATE / (2 * SHARE * (1 - SHARE))
        answers.append(np.where(anew, rng.random(PEOPLE) < SHARE, answers[-1]))
    return np.array(answers, dtype=np.int64)


def run_peer(permanent: float, single: float) -> Floats:
    """Return the estimated shares of "yes" of the peer, (repeats, waves)."""
    first, second = find_chain(permanent, single)
    found = []
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        flips = rng.random((2, PEOPLE)) >= first
        levels = []
        for answers in draw_answers(rng):
            kept = answers ^ flips[answers, np.arange(PEOPLE)]
            reports = kept ^ (rng.random(PEOPLE) >= second)
            levels.append(L_GRR_Aggregator_MI(reports, 2, permanent, single)[1])
        found.append(levels)
    return np.array(found)


def run_ours(epsilon: float) -> Floats:
    """Return the estimated shares of "yes" if each person answers in one wave, (repeats, waves)."""
    plan = read_survey(SURVEY.format(epsilon=round(Decimal(epsilon), 2), waves=WAVES)).compile()
    population = SyntheticPopulation(np.ones(1), (np.array([[1 - SHARE], [SHARE]]),))
    found = []
    for seed in range(REPEATS):
        rng, devices = np.random.default_rng(seed), FastStream(seed)
        series = estimate_series(simulate_series(plan, [population] * WAVES, PEOPLE, rng, devices), "last")
        assert series
        found.append(series.courses[0].levels.value[:, 1, 0])
    return np.array(found)


def format_margins(levels: Floats) -> str:
    """Return the margins of levels and of changes from one wave to the next."""
    level, change = (100 * Z * np.sqrt(np.mean(each**2)) for each in (levels - SHARE, np.diff(levels)))
    return f"{level:.1f} | {change:.1f}"


def main() -> None:
    """Print the table."""
    print("| eps_perm, eps_1 | lifetime epsilon | peer: level | change | ours: level | change |")
    print("|---|---|---|---|---|---|")
    for permanent, single in LEVELS:
        lifetime = find_lifetime(permanent, single)
        peer, ours = format_margins(run_peer(permanent, single)), format_margins(run_ours(lifetime))
        print(f"| {permanent:g}, {single:g} | {lifetime:.2f} | {peer} | {ours} |", flush=True)


if __name__ == "__main__":
    main()
