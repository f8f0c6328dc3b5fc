"""The seed of a cell depends on its seed, repeat, epsilon and settings only, on every machine."""

from decimal import Decimal

from encoders.randomness import FastStream
from ldp_design.simulation.experiment import seed_cell

ONE = Decimal(1)


def test_seeds_are_the_same_in_every_process():
    assert FastStream(seed_cell(7, 2, ONE, "silo:10")).take(8).hex() == "b59d0efc68c9b042"


def test_equal_epsilons_give_equal_seeds():
    written = (Decimal(text) for text in ("10", "10.0", "1E+1"))
    assert len({seed_cell(0, 0, each, "local").entropy for each in written}) == 1


def test_every_part_changes_the_seed():
    cells = [
        seed_cell(1, 2, ONE, "auto", 3),
        seed_cell(2, 1, ONE, "auto", 3),
        seed_cell(1, 2, ONE / 2, "auto", 3),
        seed_cell(1, 2, ONE, "DE", 3),
        seed_cell(1, 2, ONE, "auto", 1),
        seed_cell(12, 0, ONE, "auto", 3),
        seed_cell(1, 20, ONE, "auto", 3),
    ]
    assert len({each.entropy for each in cells}) == len(cells)
