"""Reports through a network that fails in every way."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from ldp_client import Client, HttpTransport, Journal, Response, State
from tests.support.faulty_proxy import FAULTS, Proxy, faulty
from tools.endurance.client.surveys import (
    COUNTED,
    ROWS,
    counted,
    require_forgotten,
    require_one_report,
    running,
    url_of,
)


class _Failing:
    """HTTP whose requests fail in turn; records the bodies that it sends."""

    def __init__(self, proxy: Proxy, faults: Sequence[str]) -> None:
        self._proxy, self._faults = proxy, list(faults)
        self.sent: list[bytes | None] = []

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        if method != "POST":
            return HttpTransport().request(method, url, body, timeout)
        self.sent.append(body)
        with self._proxy.failing(self._faults.pop(0) if self._faults else ""):
            return HttpTransport().request(method, url, body, timeout)


@dataclass(frozen=True)
class Faults:
    """The counts of a trial of faults."""

    injected: Counter[str]
    states: Counter[State]
    attempts: int


def faults(folder: Path, count: int, attempt_seconds: float = 0.3) -> Faults:
    """Let devices report through a failing network, at least `count` faults in all."""
    devices = -(-count // len(FAULTS))
    with (
        running(folder, "sleep") as base,
        mock.patch("ldp_client.retry_after.MAX_BACKOFF_SECONDS", 0.02),
        mock.patch("ldp_client.sending.sender.ATTEMPT_SECONDS", attempt_seconds),
        ThreadPoolExecutor(6) as pool,
    ):
        seen = list(pool.map(lambda number: _device(folder / f"{number}.db", base), range(devices)))
        assert counted(base) == devices, "a report was lost, or counted twice"
    states = Counter(state for state, _ in seen)
    return Faults(Counter(FAULTS * devices), states, sum(attempts for _, attempts in seen))


def _device(journal: Path, base: str) -> tuple[State, int]:
    order = random.sample(FAULTS, len(FAULTS))
    with faulty(base) as proxy:
        transport = _Failing(proxy, order)
        with Client(url_of(proxy.port), journal=journal, transport=transport, spread=0) as client:
            assert client.grant().state is State.READY
            assert client.report(ROWS[0], "yes").state is State.QUEUED
            state = client.flush(60).state
        assert state in COUNTED, f"{state} after {order}"
        assert len(transport.sent) == len(order) + 1, "an attempt more or less than faults"
        require_one_report(proxy.take(), {body for body in transport.sent if body})
    require_forgotten(journal, {body for body in transport.sent if body})
    assert [(entry.state, entry.report) for entry in Journal(journal).entries()] == [(state, None)]
    return state, len(transport.sent)
