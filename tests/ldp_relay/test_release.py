"""The rule of release: sizes, and uniform draws in a uniform order."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from ldp_relay.release import draw_batches


def names(count: int) -> list[bytes]:
    return [number.to_bytes(4, "big") for number in range(count)]


@pytest.mark.parametrize(
    ("waiting", "open_sizes", "closed_sizes"),
    [
        (0, [], []),
        (9, [], []),
        (10, [], [10]),
        (19, [], [19]),
        (20, [10], [20]),
        (29, [10], [29]),
        (30, [10, 10], [30]),
        (45, [10, 10, 10], [45]),
    ],
)
def test_no_batch_is_smaller_than_promised_and_one_stays_behind(waiting, open_sizes, closed_sizes):
    for is_closed, sizes in ((False, open_sizes), (True, closed_sizes)):
        batches = draw_batches(names(waiting), 10, is_closed=is_closed)
        assert [len(each) for each in batches] == sizes
        drawn = [name for each in batches for name in each]
        assert len(set(drawn)) == len(drawn)
        assert set(drawn) <= set(names(waiting))


def test_members_and_order_do_not_depend_on_the_arrival():
    """Chi-square tests of 20,000 draws; a false alarm has the probability 1e-7 each."""
    rounds, waiting, batch = 2_000, 20, 10
    members: Counter[bytes] = Counter()
    positions = np.zeros((waiting, batch))
    for _ in range(rounds):
        [drawn] = draw_batches(names(waiting), batch, is_closed=False)
        members.update(drawn)
        for position, name in enumerate(drawn):
            positions[int.from_bytes(name, "big"), position] += 1
    expected = rounds / waiting
    statistic = ((positions - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, waiting * batch - 1 - (batch - 1)) > 1e-7
    deviations = stats.norm.isf(1e-7 / waiting)
    assert min(members.values()) > rounds / 2 - deviations * (rounds / 4) ** 0.5
