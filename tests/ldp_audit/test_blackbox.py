"""The bound from the bytes is a bound, and finds what there is to find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from ldp_audit.blackbox import CHOOSING, Event, compare, epsilon_at_least, requests_for
from ldp_audit.messages import as_array


@pytest.mark.parametrize(("often", "seldom", "trials"), [(700, 200, 1000), (10, 0, 1000), (1000, 1, 1000)])
def test_the_bound_is_made_of_two_clopper_pearson_bounds(often: int, seldom: int, trials: int) -> None:
    bound = epsilon_at_least(often, seldom, trials, 0.02)
    # by definition: p so small that as many hits have a chance of 1%, q so large that as few have
    p = bisect(lambda p: binom.sf(often - 1, trials, p) - 0.01)
    q = bisect(lambda q: 0.01 - binom.cdf(seldom, trials, q))
    assert bound == pytest.approx(max(0.0, math.log(p / q)), abs=1e-6)


def bisect(rising) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return low


@pytest.mark.parametrize(("often", "seldom"), [(0, 0), (0, 9), (5, 5), (3, 1000), (1000, 1000)])
def test_what_proves_nothing_gives_zero(often: int, seldom: int) -> None:
    assert epsilon_at_least(often, seldom, 1000, 1e-6) == 0


def test_the_bound_is_too_high_no_oftener_than_it_says() -> None:
    rng = np.random.default_rng(1)
    often, seldom = rng.binomial(400, 0.5, 2000), rng.binomial(400, 0.25, 2000)
    bounds = [epsilon_at_least(int(a), int(b), 400, 0.1) for a, b in zip(often, seldom, strict=True)]
    wrong = sum(bound > math.log(2) for bound in bounds)
    assert wrong <= binom.ppf(1 - 1e-9, 2000, 0.1)


def messages(columns: dict[int, np.ndarray], count: int, width: int = 6):
    data = np.zeros((count, width), np.uint8)
    for place, column in columns.items():
        data[:, place] = column
    return as_array([row.tobytes() for row in data])


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (lambda u, v: {3: 2 * (u < 0.7)}, lambda u, v: {3: 2 * (u < 0.3)}, "byte"),
        # neither of the two bits tells much by itself, both together do
        (
            lambda u, v: {1: 16 * (u < 0.7) + v * 5 % 3, 4: 1 * (v % 10 < 3)},
            lambda u, v: {1: 16 * (u < 0.3) + v * 5 % 3, 4: 1 * (v % 10 < 7)},
            "bits",
        ),
        # a noisy number in two bytes, the other's a little larger
        (
            lambda u, v: {2: v % 256, 3: (v // 256 + 3) % 256},
            lambda u, v: {2: v % 256, 3: v // 256},
            "word",
        ),
    ],
)
def test_the_telling_event_is_found(one, other, kind: str) -> None:
    rng, count = np.random.default_rng(7), 20_000
    heard = [messages(make(rng.random(count), rng.integers(0, 2560, count)), count) for make in (one, other)]
    leak = compare(("a", "b"), *heard, 1e-6)
    words = {"byte": "byte 3 is", "bits": "bits", "word": "or more"}
    assert words[kind] in leak.event
    assert leak.bound > 0.7


def test_a_length_that_tells_is_found() -> None:
    rng = np.random.default_rng(1)
    one, other = (as_array([b"x" * (3 + (u < p)) for u in rng.random(5000)]) for p in (0.9, 0.1))
    leak = compare(("a", "b"), one, other, 1e-6)
    assert leak.event in ("4 bytes long", "byte 3 is 120")
    assert 1.8 < leak.bound < math.log(9)


def test_the_same_law_gives_nothing_away() -> None:
    rng = np.random.default_rng(3)
    one, other = (messages({place: rng.integers(0, 256, 5000) for place in range(6)}, 5000) for _ in "ab")
    assert compare(("a", "b"), one, other, 1e-6).bound == 0


def test_messages_keep_their_bytes() -> None:
    sent = [b"", b"abc", b"a\0", b"abcd"]
    heard = as_array(sent)
    assert heard.first(9) == sent
    assert heard.padded(7).first(9) == sent
    assert heard.padded(7).data.shape == (4, 7)
    assert list(Event("length", (), 3).holds(heard)) == [False, True, False, False]
    assert list(Event("byte", (0,), 97).holds(heard)) == [False, True, True, True]
    assert list(Event("bits", (1, 7), 3).holds(heard)) == [False, True, True, True]  # "a" is 0x61
    assert list(Event("word", (0,), 0x6261).holds(heard)) == [False, True, False, True]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 3])
def test_so_many_requests_show_an_answer_in_the_clear(epsilon: float) -> None:
    count = requests_for(epsilon)
    tested = count - round(CHOOSING * count)
    questions, people = 40, 15
    alpha = 1e-6 / (questions + 7) / math.comb(people, 2)
    assert epsilon < epsilon_at_least(tested, 0, tested, alpha) < epsilon + 1
