"""The lower bound on epsilon is valid, and the event that distinguishes two people best is selected."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from ldp_audit.blackbox import (
    SELECTION_SHARE,
    Messages,
    _list_families,
    compare,
    epsilon_lower_bound,
    required_requests,
)


@pytest.mark.parametrize(("hits", "other_hits", "trials"), [(700, 200, 1000), (10, 0, 1000), (1000, 1, 1000)])
def test_the_bound_is_made_of_two_clopper_pearson_bounds(hits, other_hits, trials):
    bound = epsilon_lower_bound(hits, other_hits, trials, 0.02)
    # by definition: p so small that as many hits have a chance of 1%, q so large that as few have
    p = bisect(lambda p: binom.sf(hits - 1, trials, p) - 0.01)
    q = bisect(lambda q: 0.01 - binom.cdf(other_hits, trials, q))
    assert bound == pytest.approx(max(0.0, math.log(p / q)), abs=1e-6)


def bisect(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return low


@pytest.mark.parametrize(("hits", "other_hits"), [(0, 0), (0, 9), (5, 5), (3, 1000), (1000, 1000)])
def test_equal_or_few_hits_give_a_bound_of_zero(hits, other_hits):
    assert epsilon_lower_bound(hits, other_hits, 1000, 1e-6) == 0


@pytest.mark.slow
def test_the_bound_is_too_high_with_probability_alpha_at_most():
    rng = np.random.default_rng(1)
    hits, other_hits = rng.binomial(400, 0.5, 2000), rng.binomial(400, 0.25, 2000)
    bounds = [epsilon_lower_bound(int(a), int(b), 400, 0.1) for a, b in zip(hits, other_hits, strict=True)]
    wrong = sum(bound > math.log(2) for bound in bounds)
    assert wrong <= binom.ppf(1 - 1e-9, 2000, 0.1)


Columns = dict[int, np.ndarray]
MakeColumns = Callable[[np.ndarray, np.ndarray], Columns]


def messages(columns: Columns, count: int, width: int = 6) -> Messages:
    data = np.zeros((count, width), np.uint8)
    for place, column in columns.items():
        data[:, place] = column
    return Messages.from_bytes([row.tobytes() for row in data])


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (lambda u, v: {3: 2 * (u < 0.7)}, lambda u, v: {3: 2 * (u < 0.3)}, "byte"),
        # neither of the two bits distinguishes much by itself; the pair does
        (
            lambda u, v: {1: 16 * (u < 0.7) + v * 5 % 3, 4: 1 * (v % 10 < 3)},
            lambda u, v: {1: 16 * (u < 0.3) + v * 5 % 3, 4: 1 * (v % 10 < 7)},
            "bits",
        ),
        # a noisy number in two bytes, larger for the first person
        (lambda u, v: {2: v % 256, 3: (v // 256 + 3) % 256}, lambda u, v: {2: v % 256, 3: v // 256}, "word"),
    ],
)
def test_the_distinguishing_event_is_found(one, other, kind):
    rng, count = np.random.default_rng(7), 20_000
    pair = [messages(make(rng.random(count), rng.integers(0, 2560, count)), count) for make in (one, other)]
    leak = compare(("a", "b"), *pair, 1e-6)
    words = {"byte": "byte 3 is", "bits": "bits", "word": "or more"}
    assert words[kind] in leak.event
    assert leak.epsilon_lower_bound > 0.7


def test_a_distinguishing_length_is_found():
    rng = np.random.default_rng(1)
    one, other = (Messages.from_bytes([b"x" * (3 + (u < p)) for u in rng.random(5000)]) for p in (0.9, 0.1))
    leak = compare(("a", "b"), one, other, 1e-6)
    assert leak.event in ("4 bytes long", "byte 3 is 120")
    assert 1.8 < leak.epsilon_lower_bound < math.log(9)


def test_equal_distributions_leak_nothing():
    rng = np.random.default_rng(3)
    one, other = (messages({place: rng.integers(0, 256, 5000) for place in range(6)}, 5000) for _ in "ab")
    assert compare(("a", "b"), one, other, 1e-6).epsilon_lower_bound == 0


def test_messages_keep_their_bytes():
    sent = [b"", b"abc", b"a\0", b"abcd"]
    received = Messages.from_bytes(sent)
    assert received.first(9) == sent
    assert received.pad(7).first(9) == sent
    assert received.pad(7).data.shape == (4, 7)


@pytest.mark.slow
def test_events_hold_as_often_as_they_are_counted():
    rng = np.random.default_rng(4)
    pair = tuple(Messages.from_bytes([rng.bytes(length) for length in (3, 4) * 20]) for _ in "ab")
    families = list(_list_families(pair))
    assert [family(0).text.split()[0] for *_, family in families] == ["3", "byte", "bits", "bytes"]
    for *counts, event in families:
        for index in range(len(counts[0])):
            assert [event(index).holds(each).sum() for each in pair] == [each[index] for each in counts]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 3])
def test_the_required_requests_detect_an_answer_in_the_clear(epsilon):
    count = required_requests(epsilon)
    tested = count - round(SELECTION_SHARE * count)
    questions, people = 40, 15
    alpha = 1e-6 / (questions + 7) / math.comb(people, 2)
    assert epsilon < epsilon_lower_bound(tested, 0, tested, alpha) < epsilon + 1
