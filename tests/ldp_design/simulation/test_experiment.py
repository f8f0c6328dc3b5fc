"""The seed of a cell depends on its seed, repeat, epsilon and settings only, on every machine."""

from decimal import Decimal

from encoders.randomness import FastStream
from ldp_design.simulation.experiment import seed_trials

ONE = Decimal(1)


def test_seeds_are_the_same_in_every_process():
    assert FastStream(seed_trials(7, 3, ONE, "silo:10")[2]).take(8).hex() == "b59d0efc68c9b042"


def test_equal_epsilons_give_equal_seeds():
    written = (Decimal(text) for text in ("10", "10.0", "1E+1"))
    assert len({seed_trials(0, 1, each, "local")[0].entropy for each in written}) == 1


def test_every_part_changes_the_seed():
    ways = [
        seed_trials(1, 3, ONE, "auto", 3),
        seed_trials(2, 3, ONE, "auto", 3),
        seed_trials(1, 3, ONE / 2, "auto", 3),
        seed_trials(1, 3, ONE, "DE", 3),
        seed_trials(1, 3, ONE, "auto", 1),
        seed_trials(12, 1, ONE, "auto", 3),
        seed_trials(1, 21, ONE, "auto", 3)[3:],
    ]
    seeds = [each.entropy for way in ways for each in way]
    assert len(set(seeds)) == len(seeds)
