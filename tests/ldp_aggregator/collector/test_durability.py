"""A collector whose store becomes less durable acknowledges nothing, and /readyz returns 503."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, ask
from tests.support.servers import LocalRedis, collector, wait_for

pytestmark = pytest.mark.slow

SHORT_CACHE = "from ldp_aggregator.collector import service; service.RESULT_TTL_SECONDS = 0.2"


def status_of(address: str, body: bytes | None = None) -> int:
    """Return the status of a response; a device must send a report again after 503."""
    status, response = ask(address, body)
    assert status != 503 or b'"retryable":true' in response
    return status


def test_weak_settings_of_a_running_redis_stop_acknowledgements(survey, server, plan):
    with (
        collector([survey], server.url, prelude=SHORT_CACHE) as (base, _),
        redis.Redis.from_url(server.url) as client,
    ):
        page = f"{base}{REPORTS}"
        assert (status_of(f"{base}/readyz"), status_of(page, make_report(plan, ROW, "yes"))) == (200, 200)
        counted = 1
        for name, weak in {
            "appendonly": "no",
            "appendfsync": "no",
            "maxmemory-policy": "allkeys-lru",
        }.items():
            strong = client.config_get(name)[name]
            client.config_set(name, weak)
            reports = [make_report(plan, ROW, "yes") for _ in range(5)]
            assert {status_of(page, report) for report in reports} == {503}
            wait_for(lambda: status_of(f"{base}/readyz") == 503)
            client.config_set(name, strong)
            wait_for(lambda reports=reports: {status_of(page, report) for report in reports} == {200})
            wait_for(lambda: status_of(f"{base}/readyz") == 200)
            counted += len(reports)
        assert sum(client.hlen(key) for key in client.keys("ldp:{sleep:*:ids")) == counted


def test_a_redis_that_restarts_with_weak_settings_acknowledges_nothing(survey, server, tmp_path, plan):
    weaker = LocalRedis(tmp_path, "--appendfsync", "everysec")
    report = make_report(plan, ROW, "yes")
    with collector([survey], server.url, prelude=SHORT_CACHE) as (base, _):
        page = f"{base}{REPORTS}"
        assert status_of(page, report) == 200
        server.stop()
        try:
            weaker.start()
            assert status_of(page, make_report(plan, ROW, "yes")) == 503
            assert status_of(page, report) == 503  # not even as a duplicate
            wait_for(lambda: status_of(f"{base}/readyz") == 503)
        finally:
            weaker.stop()
        server.start()
        wait_for(lambda: status_of(page, report) == 200)
        wait_for(lambda: status_of(f"{base}/readyz") == 200)


def test_unchecked_settings_do_not_stop_acknowledgements(survey, server, plan):
    options = ["--durability", "unchecked"]
    with (
        collector([survey], server.url, options=options) as (base, _),
        redis.Redis.from_url(server.url) as client,
    ):
        client.config_set("appendonly", "no")
        page = f"{base}{REPORTS}"
        assert status_of(page, make_report(plan, ROW, "yes")) == 200
        assert status_of(f"{base}/readyz") == 200


def test_a_clean_stop_leaves_no_log_beside_a_sqlite_file(survey, tmp_path, plan):
    folder = tmp_path / "store"
    folder.mkdir()
    with collector([survey], f"sqlite:///{folder}/store.db") as (base, _):
        for _ in range(20):
            assert status_of(f"{base}{REPORTS}", make_report(plan, ROW, "yes")) == 200
        assert {path.name for path in folder.iterdir()} == {"store.db", "store.db-wal", "store.db-shm"}
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert [path.name for path in folder.iterdir()] == ["store.db"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of one MiB; skip if the user may not mount."""
    folder, mount = tmp_path / "small", shutil.which("mount")
    folder.mkdir()
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_the_collector_is_ready_again_when_a_full_disk_has_space(survey, small_disk, plan):
    with collector([survey], f"sqlite:///{small_disk}/store.db") as (base, _):
        page = f"{base}{REPORTS}"
        reports = [make_report(plan, ROW, "yes") for _ in range(10)]
        assert (status_of(page, reports[0]), status_of(f"{base}/readyz")) == (200, 200)
        with suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(512))
        assert {status_of(page, report) for report in reports[1:]} == {503}
        wait_for(lambda: status_of(f"{base}/readyz") == 503)
        assert {status_of(page, report) for report in reports[1:]} == {503}
        (small_disk / "filler").unlink()
        wait_for(lambda: status_of(f"{base}/readyz") == 200)
        assert {status_of(page, report) for report in reports} == {200}
