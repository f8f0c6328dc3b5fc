"""The smallest number of people that is enough."""

import math

import pytest

from ldp_design.sizing.sample_size import SizeError, find_min_users, round_up


def test_the_smallest_number_of_people_is_found_to_three_digits_or_an_error_names_the_limit():
    for least, rounded in ((1, 1), (7, 7), (12_345, 12_400), (10**11 + 1, 101 * 10**9)):
        assert find_min_users(lambda users, least=least: (least / users) ** 0.5) == rounded
        assert find_min_users(lambda users, least=least: (least / users) ** 0.8) in (
            rounded,
            round_up(rounded + 1, 3),
        )
    assert find_min_users(lambda users: 0.5 if users >= 300 else math.inf) == 300
    with pytest.raises(SizeError, match="not even 1,000,000,000,000 people"):
        find_min_users(lambda _: math.inf)
    assert [round_up(users, 2) for users in (7, 123, 1201)] == [7, 130, 1300]
