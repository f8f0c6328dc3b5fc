"""A relay and a collector that run: every report is counted once, through kills and outages of both."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.http_servers import QuietHandler, serve

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.build import find_build
from encoders.survey.sealing import column_bytes, seal_envelope
from encoders.survey.unsealing import open_inner
from ldp_relay.held_messages import TOO_FEW
from tests.support.access import access, write_tokens
from tests.support.commands import run_program
from tests.support.relays import (
    COLLECTOR,
    RELAY_TOKEN,
    RelayedSite,
    later_after,
    relay,
    relayed_report,
    relayed_reports,
    send,
)
from tests.support.servers import TOKEN, front_proxy, wait_for
from tools.endurance.relay_trials import kills

pytestmark = pytest.mark.slow

HOUR = 0.5
SHORT_PAUSE = (
    "from ldp_relay import delivery\ndelivery.FIRST_PAUSE_SECONDS = delivery.LONGEST_PAUSE_SECONDS = 0.1"
)


@pytest.fixture
def site(tmp_path: Path) -> RelayedSite:
    return RelayedSite(tmp_path)


def test_batches_arrive_and_one_stays_behind(site, tmp_path):
    site.settings("http://127.0.0.1:9")
    log = tmp_path / "log"
    with site.collector() as (base, _), relay(site.settings(base), HOUR, log):
        messages = site.send(50)
        assert [send(site.url, each)[0] for each in messages[:5]] == [202] * 5  # sent again
        wait_for(lambda: site.counts().get("passed on, recorded") == 20)
        assert site.counts()["waiting"] == 30
        time.sleep(3 * HOUR)
        assert site.counts()["sizes"] == [20]
        status = run_program("ldp-relay", "status", tmp_path / "relay.toml").stdout
        assert "the collector takes messages with this token" in status
        assert "waiting: 30" in status
        assert "passed on, recorded: 20" in status
    assert site.counted() == 20
    text = log.read_text()
    assert '"event": "passed-on", "survey": "night-work", "messages": 20' in text
    started = json.loads(text.partition("\n")[0])
    del started["hour"]
    assert started == {"event": "started", "surveys": ["night-work"], **vars(find_build())}
    for line in text.splitlines():
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\dZ", json.loads(line).pop("hour"))
    assert not re.search(r"\d:\d", text)  # no finer time
    assert "127.0.0.1" not in text  # no address, and no message
    assert site.plan.digest not in text


def test_at_the_end_all_leave_or_too_few_are_deleted(tmp_path):
    for count, expected in ((27, 27), (19, 0)):
        folder = tmp_path / str(count)
        folder.mkdir()
        site = RelayedSite(folder, closes=int(time.time()) + 1800)
        site.settings("http://127.0.0.1:9")
        is_over = folder / "is-over"
        with site.collector() as (base, _), relay(site.settings(base), HOUR, prelude=later_after(is_over)):
            site.send(count)
            assert site.counts()["waiting"] == count
            is_over.touch()
            wait_for(lambda site=site: site.counts()["waiting"] == 0)
            late = seal_envelope(site.plan, [relayed_report(site.plan)])
            assert send(site.url, late)[0] == 410
            wait_for(lambda site=site: site.counts()["leaving"] == 0)
        assert site.counted() == expected
        assert site.counts().get(TOO_FEW, 0) == count - expected


def test_nothing_leaves_at_a_stop_or_a_start(site):
    site.settings("http://127.0.0.1:9")
    with site.collector() as (base, _):
        settings = site.settings(base)
        with relay(settings):
            site.send(45)
        with relay(settings):
            time.sleep(1)
        assert site.counts() == {"received": 45, "waiting": 45, "leaving": 0, "sizes": []}


def test_a_relay_that_moves_to_another_machine_passes_each_report_on_once(site, tmp_path):
    with relay(site.settings("http://127.0.0.1:9"), HOUR):
        messages = site.send(45)
        wait_for(lambda: site.counts()["leaving"] == 20)
    before = site.counts()
    site.folder = tmp_path / "new"
    site.folder.mkdir()
    for name in ("relay.db", "relay.db-wal"):
        if (former := tmp_path / name).exists():
            former.rename(site.folder / name)
    write_tokens(site.folder / "tokens.toml", access("relay", RELAY_TOKEN))
    site.settings("http://127.0.0.1:9")
    with site.collector() as (base, _), relay(site.settings(base), HOUR):
        assert site.counts().items() >= {"received": 45, "waiting": 25, "sizes": [20]}.items()
        assert before["received"] == 45
        wait_for(lambda: site.counts().get("passed on, recorded") == 20)
        assert {send(site.url, each)[0] for each in messages} == {202}  # a retry is not held again
        assert site.counts()["waiting"] == 25
    assert site.counted() == 20


def test_a_monitor_sees_that_a_relay_is_ready_and_delivers(site, tmp_path):
    site.settings("http://127.0.0.1:9")
    with site.collector() as (base, _):
        settings = site.settings(base)
        (tmp_path / "metrics.token").write_text(TOKEN)
        settings.write_text('metrics_token_file = "metrics.token"\n' + settings.read_text())

        def get(page: str, origin: str = f"http://127.0.0.1:{site.port}") -> str:
            request = urllib.request.Request(f"{origin}{page}")
            request.add_header("Authorization", f"Bearer {TOKEN}")
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.read().decode()

        with relay(settings, HOUR):
            site.send(40)
            wait_for(
                lambda: 'ldp_relay_deliveries_total{result="ok",survey="night-work"} 1.0' in get("/metrics")
            )
            assert "ldp_relay_ready 1.0" in get("/metrics")
            assert [get("/livez"), get("/readyz")] == ['{"status":"live"}\n', '{"status":"ready"}\n']
            with front_proxy(tmp_path, site.port, name="relay/nginx.conf") as front:
                assert "ldp_relay_ready 1.0" in get("/metrics", front)
                assert send(site.url.replace(f"http://127.0.0.1:{site.port}", front), b"x")[0] == 400
                messages = seal_envelope(site.plan, relayed_reports(site.plan))
                assert send(site.url.replace(f"http://127.0.0.1:{site.port}", front), messages)[0] == 202


@contextmanager
def spy(answer: Callable[[bytes], tuple[int, bytes]]) -> Iterator[tuple[str, list[tuple[object, bytes]]]]:
    """Serve a collector that keeps the headers and the body of each request; yield its URL and them."""
    seen: list[tuple[object, bytes]] = []

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = self.read_body()
            if body or self.command == "GET":  # else only a probe of the token
                seen.append((dict(self.headers), body))
            status, content = answer(body) if body else (400, b"{}")
            self.answer(status, content, **({"Location": "/elsewhere"} if status == 302 else {}))

        do_GET = do_POST

    with serve(Handler) as origin:
        yield origin, seen


def test_a_collector_sees_only_the_messages_and_the_same_array_until_it_answers(site):
    answers = [(503, b""), (302, b""), (200, b"a sign-in page"), (200, b'{"recorded": "x"}')]

    def answer(body: bytes) -> tuple[int, bytes]:
        size = len(body) // sum(column_bytes(site.plan))
        return answers.pop(0) if answers else (200, b'{"recorded": %d, "duplicate": 0, "rejected": 0}' % size)

    with spy(answer) as (base, seen), relay(site.settings(base), HOUR, prelude=SHORT_PAUSE):
        sent = site.send(40)
        wait_for(lambda: site.counts().get("passed on, recorded") == 20)
    assert len(seen) == 5
    assert {body for _, body in seen} == {seen[0][1]}
    headers = {name.lower() for name in seen[0][0]}
    assert {headers["Ldp-Batch"] for headers, _ in seen} == {"20 0"}
    assert headers == {
        "accept-encoding",
        "authorization",
        "connection",
        "ldp-batch",
        "content-length",
        "content-type",
        "host",
        "user-agent",
    }
    size = sum(column_bytes(site.plan))
    arrived = [seen[0][1][start : start + size] for start in range(0, len(seen[0][1]), size)]
    assert len(arrived) == 20
    for each in arrived:
        open_inner(site.plan, each, COLLECTOR)
    assert not any(each in message for each in arrived for message in sent)


def test_every_report_is_counted_once_through_kills_of_devices_relay_and_collector(tmp_path):
    """`make endurance` does it 200 times."""
    assert "each counted once" in kills(tmp_path, 4)
