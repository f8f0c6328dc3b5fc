"""The self-test of a relay passes, and finds relays that mix badly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from ldp_relay import held_messages, selftest
from ldp_relay.held_messages import HeldMessages, Passage
from ldp_relay.release import require_independent
from ldp_relay.selftest import SelfTestError, run_selftest
from tests.support.commands import command

pytestmark = pytest.mark.slow


def test_the_command_passes():
    assert command("ldp-relay", "selftest").stdout.startswith("ok: 1,000 envelopes left once in each of 4")


Order = list[bytes]
ORDER = held_messages.order_columns


def sort_by_name(names: Sequence[bytes], secret: bytes, columns: int) -> list[Order]:
    return [sorted(names), *ORDER(names, secret, columns)[1:]]


def shift_an_order(names: Sequence[bytes], secret: bytes, columns: int) -> list[Order]:
    orders = ORDER(names, secret, columns)
    return [*orders[:-1], [*orders[0][30:], *orders[0][:30]]]


def lose_an_envelope(names: Sequence[bytes], secret: bytes, columns: int) -> list[Order]:
    orders = ORDER(names, secret, columns)
    return [[*orders[0][:-1], orders[0][0]], *orders[1:]]


def one_order_for_all(names: Sequence[bytes], secret: bytes, columns: int) -> list[Order]:
    orders = ORDER(names, secret, 1) * columns
    require_independent(orders)
    return orders


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (sort_by_name, "are not independent"),
        (shift_an_order, "are not independent"),
        (lose_an_envelope, "did not leave exactly once"),
    ],
)
def test_a_relay_that_mixes_badly_is_found(monkeypatch, order: Callable[..., list[Order]], expected: str):
    monkeypatch.setattr(selftest, "HeldMessages", Quick)
    monkeypatch.setattr(held_messages, "order_columns", order)
    with pytest.raises(SelfTestError, match=expected):
        run_selftest()


def test_orders_that_the_relay_itself_refuses_are_a_fault(monkeypatch):
    monkeypatch.setattr(selftest, "HeldMessages", Quick)
    monkeypatch.setattr(held_messages, "order_columns", one_order_for_all)
    with pytest.raises(SelfTestError, match="similar orders"):
        run_selftest()


def test_records_that_come_again_are_a_fault(monkeypatch):
    class Forgetful(Quick):
        def mark_passed_on(self, passage: Passage, *more: object) -> None:
            if next(self.marks, False):
                super().mark_passed_on(passage, *more)

        marks = iter([False] + [True] * 50)

    monkeypatch.setattr(selftest, "HeldMessages", Forgetful)
    with pytest.raises(SelfTestError, match="did not leave exactly once"):
        run_selftest()


class Quick(HeldMessages):
    """A database that does not wait for the disk."""

    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        self._database.execute("PRAGMA synchronous = OFF")
