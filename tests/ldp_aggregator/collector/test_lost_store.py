"""A running collector whose store was moved or emptied: it acknowledges nothing, and makes no new store."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
import redis

from encoders.survey import Plan
from ldp_aggregator.stores import open_store
from ldp_aggregator.stores.store import count_reports
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, SHORT_RETRY, ask
from tests.support.servers import KillableCollector, inherited_environment, wait_for

pytestmark = pytest.mark.slow


class Running(KillableCollector):
    """A collector with one worker, its log and its responses."""

    def __init__(self, survey: Path, store: str) -> None:
        super().__init__(
            survey,
            store,
            survey.with_name("log"),
            workers=1,
            environment=inherited_environment(),
            prelude=SHORT_RETRY,
        )

    def events(self, event: str) -> list[dict[str, object]]:
        lines = [json.loads(line) for line in self.printed().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event]

    def post(self, plan: Plan) -> int:
        return self.request(REPORTS, make_report(plan, ROW, "yes"))[0]

    def ready(self) -> tuple[int, dict[str, object]]:
        status, body = self.request("/readyz")
        return status, json.loads(body)

    def reload(self, event: str) -> dict[str, object]:
        assert self.process is not None
        before = len(self.events(event))
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: len(self.events(event)) > before)
        return self.events(event)[-1]

    def request(self, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        return ask(self.base + path, body)


def test_a_missing_file_is_not_replaced_by_an_empty_store(survey, tmp_path, plan):
    path, away = tmp_path / "ldp.db", tmp_path / "away.db"
    running = Running(survey, f"sqlite:///{path}")
    running.start()
    try:
        wait_for(lambda: running.events("started"))
        assert "a new, empty store" in running.printed()
        assert running.events("started")[0]["new_store"] is True
        assert running.post(plan) == 200
        path.rename(away)
        assert running.post(plan) == 503
        wait_for(lambda: running.ready()[0] == 503)
        assert running.ready()[1]["detail"] == "the store cannot be used now: file-missing"
        assert running.reload("reload-failed")["reason"] == "file-missing"
        shutil.copy(away, path)
        assert running.post(plan) == 503
        assert "was replaced by another one" in str(running.reload("reload-failed")["reason"])
        path.unlink()
        (worker,) = running.workers()
        assert [(each["reason"], each["pid"]) for each in running.events("store-unavailable")] == [
            ("file-missing", worker),
            ("file-replaced", worker),
        ]
        os.kill(worker, signal.SIGKILL)  # its replacement creates no file either
        wait_for(lambda: len(running.events("store-unavailable")) > 2)
        assert running.events("store-unavailable")[2]["reason"] == "file-missing"
        assert not path.exists()
        away.rename(path)
        wait_for(lambda: len(running.events("worker-started")) == 2)
        assert running.post(plan) == 200
    finally:
        running.stop()
    running.start()
    try:
        wait_for(lambda: len(running.events("started")) == 2)
        assert "  sleep: 2 reports so far" in running.printed()
        assert running.events("started")[-1]["reports"] == {"sleep": 2}
        assert running.events("started")[-1]["new_store"] is False
    finally:
        running.stop()


def test_an_emptied_redis_gets_no_acknowledged_reports_until_a_restart(survey, server, plan):
    running = Running(survey, server.url)
    try:
        running.start()
        assert running.post(plan) == 200
        with redis.Redis(unix_socket_path=str(server.path)) as client:
            client.flushall()
        assert [running.post(plan) for _ in range(20)] == [503] * 20
        wait_for(lambda: running.ready()[0] == 503)
        missing = "the store cannot be used now: survey-missing, sleep"
        assert running.ready()[1]["detail"] == missing
        running.reload("reloaded")  # which does not publish it again
        wait_for(lambda: running.events("worker-stopped"))
        (worker,) = running.workers()
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: running.workers() != [worker] and running.workers())
        wait_for(lambda: running.ready()[1]["detail"] == missing)
        assert [running.post(plan) for _ in range(5)] == [503] * 5
        events = running.events("store-unavailable")
        assert {(each["reason"], *each["surveys"]) for each in events} == {("survey-missing", "sleep")}
        running.stop()
        running.start()  # the operator decides to begin again
        assert running.post(plan) == 200
        store = open_store(server.url)
        assert count_reports(store.totals("sleep")) == 1
        store.close()
    finally:
        running.stop()
