"""Every mechanism for numbers: which payloads are accepted, and what each adds to the counters."""

import itertools

import numpy as np
import pytest

from encoders.errors import Reason, ReportError
from encoders.mechanisms import NumericDomain, NumericMechanism
from encoders.randomness import FastStream
from tests.support import reference
from tests.support.mechanism_checks import every_payload
from tests.support.numeric_mechanisms import (
    every_epsilon,
    every_moment,
    every_name,
    forms,
    made,
    perturb_all,
    perturbed,
    values_of,
)


@pytest.mark.slow
@every_name
@every_moment
def test_every_payload_of_a_device_passes_the_check(name, low):
    for form, epsilon in itertools.product(forms(name, low, (1, 2, 3, 8, 64, 65)), ("0.1", "8")):
        mechanism = made(name, form, epsilon)
        for payload in perturb_all(mechanism, values_of(form, 4, 6)[:40], FastStream(3)):
            mechanism.check(payload.tobytes())


@every_name
def test_a_payload_of_another_length_is_refused(name):
    for form in forms(name, -1, (1, 2, 8, 130)):
        mechanism = made(name, form)
        payload = perturbed(mechanism, values_of(form, 1, 1)[0], bytes(mechanism.random_bytes))
        for wrong in (b"", payload[:-1], payload + b"\0", payload * 2):
            with pytest.raises(ReportError) as caught:
                mechanism.check(wrong)
            assert caught.value.reason is Reason.BAD_PAYLOAD


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form", "epsilon", "count"),
    [
        ("onebit", NumericDomain(3), "1", 6),
        ("onebit", NumericDomain(65, (True,)), "1", 260),
        ("sign-vector", NumericDomain(3), "1", 8),
        ("sign-vector", NumericDomain(8), "1", 256),
        ("sign-vector", NumericDomain(5, (True,)), "1", 1024),
        ("sign", NumericDomain(2), "4", 4),
        ("sign", NumericDomain(3, (True,)), "0.5", 512),
    ],
)
def test_payload_passes_the_check_if_and_only_if_some_value_can_give_it(name, form, epsilon, count):
    assert sum(1 for _ in every_payload(made(name, form, epsilon))) == count


def test_a_piecewise_cell_beyond_the_last_line_is_refused():
    for form in (NumericDomain(2), NumericDomain(3, (True,), 0)):
        mechanism = made("piecewise", form)
        cells = form.slots * (129 + 2 * int(mechanism.parameters["reach"]))
        mechanism.check((cells - 1).to_bytes(2, "little"))
        for cell in (cells, 0xFFFF):
            with pytest.raises(ReportError, match="no piecewise device sends this"):
                mechanism.check(cell.to_bytes(2, "little"))


@pytest.mark.parametrize("name", ["laplace", "sampled-laplace"])
@every_epsilon
def test_a_slot_one_step_beyond_the_clamp_is_refused(name, epsilon):
    mechanism = made(name, NumericDomain(2, (True,)), epsilon)
    size = len(mechanism.parameters["weights"]) - 1 - int(mechanism.parameters["steps"])
    for slot, sign in itertools.product(range(4), (-1, 1)):
        vector = np.zeros(4, "<i2")
        vector[slot] = sign * size
        mechanism.check(vector.tobytes())
        vector[slot] = sign * (size + 1)
        with pytest.raises(ReportError, match="device sends this"):
            mechanism.check(vector.tobytes())


@every_name
@every_moment
def test_many_payloads_are_checked_like_each(name, low):
    rng = np.random.default_rng(1)
    for form in forms(name, low, (1, 2, 3, 10, 70)):
        mechanism = made(name, form)
        sent = perturb_all(mechanism, values_of(form, 4, 8)[:120], FastStream(5))
        changed = sent.copy()
        rows = np.arange(len(sent))
        changed[rows, rng.integers(0, sent.shape[1], len(sent))] = rng.integers(0, 256, len(sent))
        payloads = np.concatenate([sent, changed, rng.integers(0, 256, sent.shape).astype(np.uint8)])
        assert mechanism.are_valid(payloads).tolist() == [accepted(mechanism, each) for each in payloads]
        assert mechanism.are_valid(payloads[:0]).tolist() == []


def accepted(mechanism: NumericMechanism, payload: np.ndarray) -> bool:
    try:
        mechanism.check(payload.tobytes())
    except ReportError:
        return False
    return True


@every_name
@every_moment
def test_a_tally_is_the_sum_of_what_each_payload_adds(name, low):
    for form in forms(name, low, (1, 2, 3, 10, 70)):
        mechanism = made(name, form)
        payloads = perturb_all(mechanism, values_of(form, 4, 8)[:120], FastStream(5))
        slow = [
            reference.contribution_of_numbers(
                name, mechanism.parameters, form.labels, form.missing, payload.tobytes()
            )
            for payload in payloads
        ]
        tally = mechanism.tally(payloads)
        assert tally.dtype == np.int64
        assert tally.tolist() == np.sum(slow, axis=0).tolist()
        assert tally.tolist() == (mechanism.tally(payloads[:11]) + mechanism.tally(payloads[11:])).tolist()


@every_name
@every_moment
def test_a_contribution_is_the_tally_of_one_payload(name, low):
    for form in forms(name, low, (1, 2, 3, 10)):
        mechanism = made(name, form)
        for payload in perturb_all(mechanism, values_of(form, 3, 8), FastStream(4)):
            added = mechanism.contribution(payload.tobytes())
            assert added == mechanism.tally(payload[None]).tolist()
            assert {type(cell) for cell in added} == {int}
        names = mechanism.counter_names(
            [f"x{i}" for i in range(len(form.missing))], [*map(str, range(form.labels))]
        )
        assert len(names) == len(set(names)) == mechanism.cells
