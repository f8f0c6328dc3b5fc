"""Whether a projection learned in a private pilot round beats plain bins; see docs/learned-projection.md.

    python -m benchmarks.learned_projection [--data DIRECTORY] [--repeats 50] [sets...]

DIRECTORY (or LDP_DATA) holds australian.csv and pima.csv. A user is a training row drawn with replacement
and sends one report, in the pilot or after it. What is asked does not depend on the row, so the totals of
a question have an exact law, and are drawn from it without drawing reports.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

import numpy as np
from numpy.typing import NDArray

from encoders.mechanisms import design
from ldp_aggregator.csv_rows import read_table
from ldp_aggregator.estimation import clip_and_normalise, project_simplex
from ldp_aggregator.estimation.frequencies import UNIFORM_SHARE
from ldp_aggregator.estimation.shrinkage import shrink
from reduction.dca import discriminant_components

FEATURES = {"australian": 14, "pima": 8, "indep": 16, "sparse": 16, "corr": 16, "imbal": 16}
EPSILONS = (Decimal("0.5"), Decimal(1), Decimal(2))
USERS = (500, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CELLS = [(epsilon, users) for epsilon in EPSILONS for users in USERS]
BINS = (2, 4, 8, 16)
PLAIN, LINES = [f"plain {bins}" for bins in BINS], [f"interpolated {bins}" for bins in BINS]
SCHEMES = [*PLAIN, *LINES, "first thought", "B", "public DCA"]
BEST = {"plain best": PLAIN, "interpolated best": LINES}  # chosen in hindsight, cell by cell
OURS = ("first thought", "B", "interpolated 4", "interpolated best", "public DCA")
EDGE = 1_000  # of m eps^2 / n

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Table = tuple[Floats, Ints]  # rows (m, n) in [-1, 1] by public bounds, and their labels 0 and 1
Direction = tuple[Floats, float, float]  # weights, centre, and how far off it the bounds lie
designed = cache(design)


def synthetic(name: str, rng: np.random.Generator) -> Table:
    """Draw two normal classes; the bounds are four standard deviations off the middle."""
    labels = (rng.random(2_000) < (0.15 if name == "imbal" else 0.5)).astype(np.int64)
    places = np.arange(FEATURES[name])
    some = {"sparse": 1.6 / np.sqrt(3) * (places < 3), "corr": 0.6 * (places % 2 == 0)}
    apart = some.get(name, np.full(len(places), 0.4))
    correlations = (0.6 if name == "corr" else 0.0) ** np.abs(np.subtract.outer(places, places))
    x = rng.normal(size=(len(labels), len(places))) @ np.linalg.cholesky(correlations).T
    return np.clip((x + np.outer(labels - 0.5, apart)) / 4, -1, 1), labels


def split(name: str, data: str, rng: np.random.Generator) -> tuple[Table, Table]:
    """Return rows that report and rows to test on: four fifths and one of real ones."""
    if name not in ("australian", "pima"):
        return synthetic(name, rng), synthetic(name, rng)
    table = read_table(f"{data}/{name}.csv")
    labels = np.unique(table.pop("class"), return_inverse=True)[1]
    x = np.array(list(table.values())).T.astype(np.float64)
    x = 2 * (x - x.min(axis=0)) / np.ptp(x, axis=0) - 1
    train, test = np.split(rng.permutation(len(x)), [round(0.8 * len(x))])
    return (x[train], labels[train]), (x[test], labels[test])


@dataclass(frozen=True)
class Heard:
    """What questions about pairs of value and label said."""

    raw: Floats  # frequencies, (questions, values, 2)
    variance: Floats
    covariance: Floats  # of the first value with the second, (questions, 2)

    def tables(self) -> Floats:
        """Return P(value | label), smoothed by one standard deviation as a survey's default recipe does."""
        joint = np.maximum(self.raw, 0) + np.sqrt(self.variance.mean(axis=(1, 2), keepdims=True))
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def prior_of(*rounds: Heard) -> Floats:
    """Return P(label), every question weighed by its inverse variance."""
    shares = np.concatenate([heard.raw.sum(axis=1) for heard in rounds])
    spreads = [heard.variance.sum(axis=(1, 2)) / (heard.raw[0].size - 1) for heard in rounds]
    pooled = np.average(shares, axis=0, weights=1 / np.concatenate(spreads))
    return np.clip(clip_and_normalise(pooled), 0.001, 0.999)


def binned(x: Floats, bins: int) -> Ints:
    return np.minimum((x + 1) * bins / 2, bins - 1).astype(np.int64)


def centres(bins: int) -> Floats:
    return (np.arange(bins) + 0.5) * 2 / bins - 1


def joints_of(x: Floats, labels: Ints, bins: int) -> Floats:
    """Return the joint distribution of bin and label of every column, (n, bins, 2)."""
    pairs = binned(x, bins) * 2 + labels[:, None]
    counts = np.array([np.bincount(column, minlength=2 * bins) for column in pairs.T])
    return counts.reshape(-1, bins, 2) / len(x)


def direction_of_halves(pilot: Heard) -> Direction:
    """Return the difference of the class means in 2-bin questions; reaches two standard deviations."""
    prior, means = prior_of(pilot), np.einsum("b,nbc->nc", centres(2), pilot.tables())
    apart = means[:, 1] - means[:, 0]
    variance = apart**2 @ (0.12 + prior.prod() * apart**2)  # halves do not tell the variance in a class
    return apart, apart @ means @ prior, 2 * np.sqrt(variance)


def direction_of_moments(pilot: Heard) -> Direction:
    """Return the diagonal discriminant of signs and squares; reaches three standard deviations."""
    prior = prior_of(pilot)
    gaps, gaps2 = np.split(pilot.raw[:, 1] - pilot.raw[:, 0], 2)  # P(label) times the mean of x, of 2 x^2 - 1
    noise, noise2 = np.split(pilot.variance.sum(axis=1) - 2 * pilot.covariance, 2)
    means, errors = gaps / prior, noise / prior**2
    apart, doubt = means[:, 1] - means[:, 0], errors.sum(axis=1)
    spread = (prior + gaps2) / 2 - prior * (means**2 - errors)
    unsure = noise2 / 4 + prior**2 * (4 * means**2 * errors + 2 * errors**2)
    within = shrink(spread.sum(axis=1)[None], unsure.sum(axis=1)[None], np.array([0.1]))[0][0]
    within = np.maximum(within, 0.01)
    weights = apart / (within + doubt)
    trust = 0.16 / (0.16 + noise.sum(axis=1))  # overall means are taken to be within .4 of zero or so
    centre = weights @ np.clip(trust * gaps.sum(axis=1), -1, 1)
    between = prior.prod() * np.maximum(apart**2 - doubt, 0)
    return weights, centre, 3 * np.sqrt(weights**2 @ (within + between + trust * noise.sum(axis=1)))


@dataclass(frozen=True)
class Trial:
    """Every scheme on one split at one epsilon: accuracies on the rows to test on."""

    train: Table
    test: Table
    epsilon: Decimal
    rng: np.random.Generator

    def ask(self, users: int, joints: Floats) -> Heard:
        """Have each user answer one of the questions, of which these are the laws; none goes unasked."""
        laws, d = joints.reshape(len(joints), -1), joints[0].size
        oracle = designed("auto", d, self.epsilon)
        p, q = oracle.on_mean, oracle.off_mean
        asked = np.maximum(self.rng.multinomial(users, np.full(len(laws), 1 / len(laws))), 1)[:, None]
        if oracle.constant_sum:
            totals = self.rng.multinomial(asked[:, 0], q + (p - q) * laws)
        else:
            held = self.rng.multinomial(asked[:, 0], laws)
            totals = self.rng.binomial(held, p) + self.rng.binomial(asked - held, q)
        raw = (totals / asked - q) / (p - q)
        likely = (1 - UNIFORM_SHARE) * project_simplex(raw) + UNIFORM_SHARE / d
        variance = np.asarray(oracle.variance(likely)) / asked
        covariance = np.asarray(oracle.covariance(likely[:, :2], likely[:, 2:4])) / asked
        return Heard(raw.reshape(joints.shape), variance.reshape(joints.shape), covariance)

    def hits(self, ratios: Floats, prior: Floats) -> float:
        return float(np.mean((ratios + np.log(prior[1] / prior[0]) > 0) == self.test[1]))

    def plain(self, users: int, bins: int) -> tuple[float, float]:
        """One round in bins, read as steps; and the same reports, read in lines between bin centres."""
        heard = self.ask(users, joints_of(*self.train, bins))
        ratios, prior = np.diff(np.log(heard.tables()))[:, :, 0], prior_of(heard)
        steps = ratios[np.arange(len(ratios)), binned(self.test[0], bins)]
        pairs = zip(self.test[0].T, ratios, strict=True)
        lines = np.array([np.interp(column, centres(bins), ratio) for column, ratio in pairs])
        return self.hits(steps.sum(axis=1), prior), self.hits(lines.sum(axis=0), prior)

    def first_thought(self, users: int) -> float:
        """Half the users answer with a random sign, of odds (1 + x)/2, or with a bit of odds x^2."""
        x, labels = self.train
        odds = np.concatenate([(1 + x) / 2, x**2], axis=1).T
        of_label = np.eye(2)[labels] / len(labels)
        count = self.rng.binomial(users, 0.5)
        pilot = self.ask(count, np.stack([(1 - odds) @ of_label, odds @ of_label], axis=1))
        return self.in_bins(users - count, direction_of_moments(pilot), pilot)

    def public(self, users: int) -> float:
        """DCA of the rows that report, as if they were public: every user answers the one question."""
        weights = discriminant_components(*self.train, 1)[0][0]
        scores = self.train[0] @ weights
        return self.in_bins(users, (weights, scores.mean(), 3 * scores.std()))

    def second(self, users: int, direction: Direction) -> tuple[Heard, Floats]:
        """Ask users for one number in 4 bins; return what they said, and the number of each test row."""
        weights, centre, reach = direction
        own, test = (np.clip((x @ weights - centre) / reach, -1, 1) for x, _ in (self.train, self.test))
        return self.ask(users, joints_of(own[:, None], self.train[1], 4)), test

    def in_bins(self, users: int, direction: Direction, *earlier: Heard) -> float:
        final, test = self.second(users, direction)
        ratios = np.diff(np.log(final.tables()[0]))[:, 0]
        return self.hits(ratios[binned(test, 4)], prior_of(*earlier, final))

    def repaired(self, users: int) -> float:
        """70 % answer plain 2-bin questions, the others calibrate a discriminant along their direction."""
        count = self.rng.binomial(users, 0.7)
        pilot = self.ask(count, joints_of(*self.train, 2))
        final, test = self.second(users - count, direction_of_halves(pilot))
        prior, x, joint = prior_of(pilot, final), centres(4), final.raw[0]
        means = x @ joint / prior
        apart, noise = means[1] - means[0], x @ x * final.variance.mean() * (1 / prior**2).sum()
        within = np.maximum(x**2 @ joint.sum(axis=1) - prior @ means**2, 0.03)
        slope = apart * np.maximum(0, 1 - noise / apart**2) / within
        return self.hits(slope * (test - means.mean()), prior)


def measure(name: str, data: str, seed: int) -> list[list[float]]:
    """Return the accuracies of one split, (cells, schemes)."""
    rng, found = np.random.default_rng([seed, list(FEATURES).index(name)]), []
    tables = split(name, data, rng)
    for epsilon, users in CELLS:
        trial = Trial(*tables, epsilon, rng)
        plain, lines = zip(*(trial.plain(users, bins) for bins in BINS), strict=True)
        found.append([*plain, *lines, trial.first_thought(users), trial.repaired(users), trial.public(users)])
    return found


def paired(accuracy: Floats, ours: str, theirs: str) -> Floats:
    """Return the mean difference in points and its standard error, (2, cells)."""
    chosen = []
    for name in (ours, theirs):
        some = accuracy[:, :, [SCHEMES.index(scheme) for scheme in BEST.get(name, [name])]]
        chosen.append(some[:, np.arange(len(CELLS)), some.mean(axis=0).argmax(axis=1)])
    points = 100 * (chosen[0] - chosen[1])
    return np.stack([points.mean(axis=0), points.std(axis=0, ddof=1) / len(points) ** 0.5])


def print_cells(name: str, accuracy: Floats) -> None:
    print(f"\n### {name}\n\n| points over plain best | eps | {' | '.join(f'{m:,}' for m in USERS)} |")
    print("|---|---|" + "---|" * len(USERS))
    for scheme in ("first thought", "B", "interpolated 4"):
        found = paired(accuracy, scheme, "plain best").reshape(2, len(EPSILONS), -1)
        for epsilon, means, errors in zip(EPSILONS, *found, strict=True):
            row = (f"{mean:+.1f} ± {error:.1f}" for mean, error in zip(means, errors, strict=True))
            print(f"| {scheme} | {epsilon} | {' | '.join(row)} |")


def print_summary(title: str, rival: str, found: dict[str, Floats]) -> None:
    """Print mean differences, and the cells won and lost by more than two standard errors."""
    evidence = np.array([m * float(eps) ** 2 / FEATURES[name] for name in found for eps, m in CELLS])
    ranges = (evidence > 0, evidence < EDGE, evidence >= EDGE)
    print(f"\n| points over {rival}, {title} | all | m eps^2/n < {EDGE} | from {EDGE} |\n|---|---|---|---|")
    for scheme in (each for each in OURS if each != rival):
        mean, error = np.hstack([paired(accuracy, scheme, rival) for accuracy in found.values()])
        won, lost = mean > 2 * error, mean < -2 * error
        parts = [f"{mean[r].mean():+.1f} ({won[r].sum()}/{lost[r].sum()} of {r.sum()})" for r in ranges]
        print(f"| {scheme} | {' | '.join(parts)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare learned projections with plain bins.")
    parser.add_argument("--data", default=os.environ.get("LDP_DATA", "."))
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("sets", nargs="*", choices=FEATURES)
    chosen, found = parser.parse_args(), {}
    for name in chosen.sets or FEATURES:
        found[name] = np.array([measure(name, chosen.data, seed) for seed in range(chosen.repeats)])
        print_cells(name, found[name])
        print_summary(name, "plain best", {name: found[name]})
    for rival in ("plain best", "plain 4", "interpolated best", "interpolated 4"):
        print_summary("all sets", rival, found)


if __name__ == "__main__":
    main()
