"""Principal components are those of numpy's singular value decomposition."""

import numpy as np
import pytest

from reduction.fit import principal_components


@pytest.mark.parametrize("shape", [(5, 2), (40, 7), (3, 6)])
def test_directions_and_shares_are_those_of_the_singular_values(shape):
    rows = np.random.default_rng(1).normal(size=shape) * np.arange(1, shape[1] + 1) + 3
    rank = min(shape[0] - 1, shape[1])
    directions, shares = principal_components(rows, rank)
    _, lengths, expected = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    signs = np.sign(np.sum(directions * expected[:rank], axis=1))
    np.testing.assert_allclose(directions, signs[:, None] * expected[:rank], atol=1e-9)
    np.testing.assert_allclose(shares, lengths[:rank] ** 2 / np.sum(lengths**2), rtol=1e-9)


def test_shares_of_all_components_add_up_to_one_and_never_rise():
    rows = np.random.default_rng(2).uniform(-1, 1, (50, 4))
    rows[:, 3] = rows[:, 0]  # one direction holds nothing
    _, shares = principal_components(rows, 4)
    assert shares.sum() == pytest.approx(1)
    assert (np.diff(shares) <= 0).all()
    assert 0 <= shares[-1] < 1e-15
