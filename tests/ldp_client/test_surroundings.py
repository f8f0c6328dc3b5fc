"""The client with forks, event loops and jumping clocks, at a real collector."""

import asyncio
import itertools
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from encoders.report import MEDIA_TYPE
from ldp_client import AsyncClient, Client, Response, State, TransportError
from tests.ldp_client.conftest import RECORDED, ROW, FakeTransport
from tests.support.faulty_proxy import Proxy, faulty
from tests.support.servers import wait_for
from tools.endurance.client.surveys import COUNTED, ROWS, counted, require_one_report, running, url_of

NAMES = ("sleep", "diet", "sport")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("collector"), *NAMES, "lag-http", "lag-async") as base:
        yield base


@pytest.fixture
def proxy(base: str) -> Iterator[Proxy]:
    with faulty(base) as proxy:
        yield proxy


def _report(name: str, proxy: Proxy, journal: Path) -> Client:
    client = Client(url_of(proxy.port, name), journal=journal, spread=0)
    client.grant()
    assert client.report(ROWS[0], "yes").state is State.QUEUED
    return client


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_parent_and_child_of_a_fork_during_sending_both_report(base, proxy, tmp_path):
    journal = tmp_path / "journal.db"
    proxy.delay = 0.3
    before = _report("sleep", proxy, journal)
    while not proxy.bodies:  # the sender's thread now waits for the response
        time.sleep(0.001)
    ours, theirs = os.pipe()
    if (child := os.fork()) == 0:
        try:
            states = [before.flush(60).state, _report("diet", proxy, journal).flush(60).state]
            os.write(theirs, json.dumps(states).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    states = [before.flush(60).state, _report("sport", proxy, journal).flush(60).state]
    with os.fdopen(ours) as pipe:
        states += json.load(pipe)
    os.waitpid(child, 0)
    before.close()
    assert len(states) == 4
    assert set(states) <= set(COUNTED)
    assert [counted(base, name) for name in NAMES] == [1, 1, 1]


class _Streams:
    """HTTP over asyncio's streams, as an application's own library would do it."""

    async def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        head = f"{method} {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n"
        head += f"Content-Type: {MEDIA_TYPE}\r\nContent-Length: {len(body or b'')}\r\n\r\n"
        writer.write(head.encode() + (body or b""))
        status, _, rest = (await reader.read()).partition(b"\r\n")
        writer.close()
        await writer.wait_closed()
        return Response(int(status.split()[1]), rest.partition(b"\r\n\r\n")[2])


class _Ticks:
    """Counts how often an event loop runs."""

    count = 0

    async def run(self) -> None:
        """Count until the task is cancelled."""
        while True:
            self.count += 1
            await asyncio.sleep(0)

    def wait_for_more(self) -> None:
        """Wait, on a thread of the collector, until the loop has run on."""
        before = self.count
        wait_for(lambda: self.count > before + 10)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "transport"), [("lag-http", None), ("lag-async", _Streams())])
def test_an_event_loop_runs_on_while_the_collector_is_slow(base, proxy, tmp_path, name, transport):
    ticks = _Ticks()
    proxy.before_response = ticks.wait_for_more  # if a call blocks the loop, there is no response
    outcomes: list[State] = []

    async def main() -> None:
        ticking = asyncio.create_task(ticks.run())
        async with AsyncClient(
            url_of(proxy.port, name),
            journal=tmp_path / "journal.db",
            transport=transport,
            spread=0,
            on_outcome=lambda receipt: outcomes.append(receipt.state),
        ) as client:
            assert (await client.grant()).state is State.READY
            assert (await client.report(ROWS[0], "yes")).state is State.QUEUED
            assert (await client.flush(60)).state is State.SENT
            start = time.monotonic()
            await client.close(600)
            assert time.monotonic() - start < 60  # nothing is left to wait for
        ticking.cancel()

    asyncio.run(main())
    assert outcomes == [State.QUEUED, State.SENT]
    assert counted(base, name) == 1
    assert len(require_one_report(proxy.take(), set())) == 1


def test_report_of_an_event_loop_that_ends_during_sending_is_sent_by_the_next_run(
    plan, tmp_path, monkeypatch
):
    monkeypatch.setattr("ldp_client.sending.sender.ATTEMPT_SECONDS", 600.0)
    begun = threading.Event()

    class Never:
        async def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
            begun.set()
            await asyncio.sleep(600)
            raise AssertionError("not reached")

    url = "http://collector.test/v1/surveys/sleep"

    async def main() -> AsyncClient:
        client = AsyncClient(plan, url, journal=tmp_path / "journal.db", transport=Never(), spread=0)
        await client.grant()
        await client.report(ROW, "no")
        while not begun.is_set():
            await asyncio.sleep(0.001)
        return client

    start = time.monotonic()
    left = asyncio.run(main())
    assert time.monotonic() - start < 60
    assert left.client.status().state is State.QUEUED
    left.client.close(0.2)
    with Client(plan, url, journal=tmp_path / "journal.db", transport=FakeTransport(RECORDED)) as later:
        assert later.flush().state is State.SENT


@pytest.mark.slow
def test_abandoned_flush_does_not_delay_the_end_of_the_loop(proxy, plan, tmp_path):
    async def main() -> AsyncClient:
        client = AsyncClient(plan, url_of(proxy.port), journal=tmp_path / "journal.db", spread=0)
        await client.grant()
        await client.report(ROW, "no")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.flush(600), 0.1)
        return client

    start = time.monotonic()
    with proxy.failing("never responds"):
        left = asyncio.run(main())
        assert time.monotonic() - start < 60
        left.client.close(0)


YEARS = 20 * 365 * 86_400.0


@pytest.mark.slow
@pytest.mark.parametrize("jumps", [(YEARS,), (-YEARS,), (YEARS, -YEARS)])
def test_a_clock_that_jumps_changes_nothing(client, monkeypatch, jumps):
    offsets, now = itertools.cycle(jumps), time.time
    transport = FakeTransport(
        TransportError("refused"), Response(503, b"", 0.2), Response(500, b""), RECORDED
    )
    one = client(transport, spread=0.05)
    monkeypatch.setattr("time.time", lambda: now() + next(offsets))
    start = time.monotonic()
    assert one.report(ROW, "no").state is State.QUEUED
    assert one.flush().state is State.SENT  # it waits for ten seconds only
    assert time.monotonic() - start >= 0.2
    assert len(transport.bodies) == 4
    assert len(set(transport.bodies)) == 1
