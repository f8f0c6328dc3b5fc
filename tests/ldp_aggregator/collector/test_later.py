"""Work that waits: once for many who ask, and again for who asks later."""

from __future__ import annotations

import threading

import pytest

from ldp_aggregator.collector.later import Later
from tests.servers import wait_for


def test_many_who_ask_are_one_act_and_who_asks_later_is_another() -> None:
    acts: list[int] = []
    later = Later(lambda: acts.append(1))
    for _ in range(100):
        later.ask(0.05)
    wait_for(lambda: acts == [1])
    later.ask(0.01)
    wait_for(lambda: acts == [1, 1])


def test_who_asks_amid_the_act_is_acted_for_again() -> None:
    begun, go_on, acts = threading.Event(), threading.Event(), []

    def act() -> None:
        begun.set()
        go_on.wait(20)
        acts.append(1)

    later = Later(act)
    later.ask(0.01)
    assert begun.wait(20)
    later.ask(0.01)
    go_on.set()
    wait_for(lambda: acts == [1, 1])


def test_a_thread_that_cannot_be_had_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    acts: list[int] = []
    later = Later(lambda: acts.append(1))

    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", refuse)
        later.ask(0.01)
    later.ask(0.01)
    wait_for(lambda: acts == [1])
