"""The metrics page: readiness, surveys, requests, space; also while the store fails or hangs."""

import re
import signal
import threading
import time
from pathlib import Path

import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families

from encoders.survey import read_survey
from ldp_aggregator.collector.serving import metrics
from ldp_aggregator.deletion import delete_survey
from ldp_aggregator.stores import MemoryStore, StoreError, StoreFailure, Total, open_store
from ldp_aggregator.stores.operator_log import BACKED_UP, write_log
from ldp_client import make_report
from tests.deploy.test_alerts import PANELS, RULES, dashboard_expressions
from tests.ldp_aggregator.collector.conftest import OPERATOR, REPORTS, ROW, SURVEY, ask, make_client
from tests.support.servers import TOKEN, collector, wait_for

Labels = frozenset[tuple[str, str]]


def read_metrics(web) -> dict[tuple[str, Labels], float]:
    """Return the samples of the metrics page by name and labels."""
    response = web.get("/metrics", headers=OPERATOR)
    assert response.status_code == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def sample(name: str, **labels: str) -> tuple[str, Labels]:
    return name, frozenset(labels.items())


class FailingStore(MemoryStore):
    """A store that fails, or hangs, if it is asked."""

    check_error: StoreError | None = None
    total_error: StoreError | None = None
    hang: threading.Event | None = None
    checks = 0

    def check_ready(self, closed: object = ()) -> None:
        self.checks += 1
        if self.hang:
            self.hang.wait(120)
        if self.check_error:
            raise self.check_error

    def all_totals(self):
        if self.total_error:
            raise self.total_error
        return super().all_totals()


@pytest.fixture
def failing(plan, monkeypatch):
    monkeypatch.setattr(metrics, "STORE_SECONDS", 60.0)
    store = FailingStore()
    store.publish(plan.id, plan.json)
    return store


@pytest.mark.parametrize("reason", StoreFailure)
def test_readiness_has_the_reason_of_readyz(failing, reason):
    failing.check_error = StoreError("gone", reason)
    web = make_client(failing, operator_token="the-token")
    found = read_metrics(web)
    assert web.get("/readyz").json["detail"].endswith(f": {reason}")
    assert found[sample("ldp_ready")] == 0
    by_reason = {each: found[sample("ldp_not_ready", reason=each)] for each in StoreFailure}
    assert by_reason == {each: each is reason for each in StoreFailure}
    assert found[sample("ldp_reports_total", survey="sleep")] == 0  # counters that can be read are shown


def test_a_store_that_cannot_be_read_is_not_ready(failing):
    failing.total_error = StoreError("gone", StoreFailure.DAMAGED)
    found = read_metrics(make_client(failing, operator_token="the-token"))
    assert (found[sample("ldp_ready")], found[sample("ldp_not_ready", reason="damaged")]) == (0, 1)
    assert sample("ldp_reports_total", survey="sleep") not in found


@pytest.mark.slow
def test_while_the_store_hangs_metrics_are_quick_and_share_one_thread(failing):
    web = make_client(failing, operator_token="the-token")
    assert read_metrics(web)[sample("ldp_ready")] == 1
    service = web.application.extensions["ldp"]
    service.readiness._seconds, service.store_reader._readiness._seconds = 0, 0.3
    failing.hang = threading.Event()
    for _ in range(3):
        found = read_metrics(web)
        assert (found[sample("ldp_ready")], found[sample("ldp_not_ready", reason="timeout")]) == (0, 1)
        assert failing.checks == 2
    failing.hang.set()
    service.store_reader._readiness._seconds = 60.0
    wait_for(lambda: read_metrics(web)[sample("ldp_ready")] == 1)
    assert read_metrics(web)[sample("ldp_reports_total", survey="sleep")] == 0


def test_requests_are_counted_by_route_and_status(web, plan):
    report = make_report(plan, ROW, "yes")
    for body in (report, report, b"junk"):
        web.post(REPORTS, data=body, content_type="application/vnd.msgpack")
    for path in ("/v1/surveys/another", "/a/secret/path", "/metrics", "/livez"):
        web.get(path)
    found = read_metrics(web)
    expected = {("reports", "200"): 2, ("reports", "400"): 1, ("plan", "404"): 1, ("unknown", "404"): 1}
    expected |= {("metrics", "401"): 1, ("livez", "200"): 1}
    counts = {
        (labels["route"], labels["status"]): value
        for (name, pairs), value in found.items()
        if name == "ldp_requests_total" and (labels := dict(pairs)) and value
    }
    assert counts == expected
    assert found[sample("ldp_requests_total", route="reports", status="503")] == 0  # before the first one
    durations = {
        name: found[sample("ldp_request_seconds_bucket", **{"class": name, "le": "+Inf"})]
        for name in ("reports", "plans", "operator", "probes", "unknown")
    }
    assert durations == {"reports": 3, "plans": 1, "operator": 1, "probes": 1, "unknown": 1}


def test_metrics_say_nothing_of_single_reports(web, plan):
    """No metric has a question, an answer, a path or an address; none is exact enough to show one report."""
    web.post(REPORTS, data=make_report(plan, ROW, "yes"), content_type="application/vnd.msgpack")
    web.get("/a/secret/path", environ_overrides={"REMOTE_ADDR": "203.0.113.77"})
    response = web.get("/metrics", headers=OPERATOR).text
    found = read_metrics(web)
    labels = {name for _, pairs in found for name, _ in pairs}
    build = {"version", "commit"}
    assert labels - build == {"survey", "phase", "reason", "route", "status", "class", "le"}
    assert not {value for _, pairs in found for _, value in pairs} & {each.name for each in plan.questions}
    assert "secret" not in response
    assert "203.0.113.77" not in response
    assert not any(name.endswith(("_sum", "_created")) for name, _ in found)


def test_the_space_of_a_file_is_shown_in_whole_mebibytes(tmp_path):
    plan = read_survey(SURVEY).compile()
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    store.publish(plan.id, plan.json)
    try:
        found = read_metrics(make_client(store, operator_token="the-token"))
    finally:
        store.close()
    free, size = (found[sample(f"ldp_store_disk_{each}_bytes")] for each in ("free", "size"))
    assert 0 < free <= size
    assert (free % (1 << 20), size % (1 << 20)) == (0, 0)


def test_a_survey_that_is_deleted_meanwhile_is_left_out(failing, plan, monkeypatch):
    """Its counters are then incomplete, which looks like a loss of reports to Prometheus."""
    web, totals = make_client(failing, operator_token="the-token"), failing.all_totals

    def delete_and_read() -> dict[str, dict[str, Total]]:
        monkeypatch.undo()
        delete_survey(failing, plan.id, "anna", even_open=True)
        return totals()

    assert sample("ldp_reports_total", survey="sleep") in read_metrics(web)
    monkeypatch.setattr(failing, "all_totals", delete_and_read)
    found = read_metrics(web)
    assert not [name for name, labels in found if ("survey", "sleep") in labels]
    assert plan.id not in failing.plans()


@pytest.mark.slow
def test_the_memory_of_redis_is_shown_with_its_limit(server):
    store = open_store(server.url)
    store._redis.config_set("maxmemory", 64 << 20)
    try:
        assert store.space()["memory_max"] == 64 << 20
        store._redis.config_set("maxmemory", 0)  # no limit but the machine's memory
        assert store.space()["memory_max"] == store._redis.info("memory")["total_system_memory"]
        assert 0 < store.space()["memory_used"] < 64 << 20
        store._redis.execute_command("ACL SETUSER default -info")
        assert store.space() == {}
    finally:
        store.close()


@pytest.mark.slow
def test_a_redis_that_evicts_or_hangs_is_not_ready(survey, server):
    """Neither was visible: the counters could be read, while every report got 503."""
    with collector([survey], f"{server.url}?socket_timeout=300", workers=1) as (base, _):

        def readiness() -> set[str]:
            text = ask(f"{base}/metrics", token=TOKEN)[1].decode()  # fails after a minute
            return {line for line in text.splitlines() if re.match(r"ldp_(not_)?ready.* 1.0|ldp_ready", line)}

        assert readiness() == {"ldp_ready 1.0"}
        with redis.Redis(unix_socket_path=str(server.path)) as client:
            client.config_set("maxmemory-policy", "allkeys-lru")
            wait_for(lambda: readiness() == {"ldp_ready 0.0", 'ldp_not_ready{reason="weak-durability"} 1.0'})
            client.config_set("maxmemory-policy", "noeviction")
        wait_for(lambda: readiness() == {"ldp_ready 1.0"})
        server.signal(signal.SIGSTOP)
        wait_for(lambda: readiness() == {"ldp_ready 0.0", 'ldp_not_ready{reason="timeout"} 1.0'})
        server.signal(signal.SIGCONT)
        wait_for(lambda: readiness() == {"ldp_ready 1.0"})


def test_refusals_of_the_proxy_are_the_size_of_its_file(store, tmp_path):
    file = tmp_path / "refusals"
    web = make_client(store, operator_token="the-token", proxy_refusals=file)
    assert sample("ldp_proxy_refusals_total") not in read_metrics(web)  # the proxy has not started yet
    file.write_bytes(b"\n" * 7)
    assert read_metrics(web)[sample("ldp_proxy_refusals_total")] == 7


ROOT = Path(__file__).parents[4]
FROM_PROMETHEUS = {"up"}
OF_SOME_SURVEYS = {
    "ldp_survey_lost",
    "ldp_deletion_due_timestamp_seconds",
    "ldp_token_expiry_timestamp_seconds",
}
"""Metrics of surveys with a date of retention, and of tokens that expire."""


@pytest.mark.slow
def test_the_time_of_the_last_backup_is_shown_or_that_of_the_first_entry_of_the_log(failing):
    web, name = make_client(failing, operator_token="the-token"), sample("ldp_last_backup_timestamp_seconds")
    assert name not in read_metrics(web)
    write_log(failing, "anna", "published", "sleep")
    first = read_metrics(web)[name]
    assert abs(first - time.time()) < 60
    time.sleep(1.1)  # the log has whole seconds
    write_log(failing, "anna", "opened", "sleep")
    assert read_metrics(web)[name] == first
    write_log(failing, "anna", BACKED_UP)
    assert first < read_metrics(web)[name] < time.time()


@pytest.fixture
def exported(failing, tmp_path):
    """Return the labels of every metric that a collector can export, by name."""
    space = ("disk_free", "disk_size", "memory_used", "memory_max")
    failing.space = lambda: dict.fromkeys(space, 1 << 30)
    failing.add_rejections("sleep", "malformed")
    write_log(failing, "anna", BACKED_UP)
    (tmp_path / "refusals").touch()
    web = make_client(failing, operator_token="the-token", proxy_refusals=tmp_path / "refusals")
    return {name: {label for label, _ in pairs} for name, pairs in read_metrics(web)}


def test_the_documentation_lists_every_metric_with_its_labels(exported):
    rows = re.findall(r"^\| (`ldp_[^|]*) \|([^|]*)\|", (ROOT / "docs/monitoring.md").read_text(), re.M)
    documented = {
        name: set(re.findall("`(.*?)`", labels))
        for names, labels in rows
        for name in re.findall("`(.*?)`", names)
    }
    assert {name: documented.get(name) for name in exported} == exported
    assert documented.keys() - exported.keys() <= OF_SOME_SURVEYS


def test_alerts_and_dashboard_use_metrics_that_exist(exported):
    expressions = [rule["expr"] for rule in RULES] + dashboard_expressions()
    used = {name for each in expressions for name in re.findall(r"\b(?:ldp_\w+|up\b)", each)}
    assert used - exported.keys() <= OF_SOME_SURVEYS | FROM_PROMETHEUS
    unused = exported.keys() - used - {"ldp_build_info"}  # which tells apart the builds of other metrics
    assert not unused, "a metric that no alert and no panel shows"


def test_the_dashboard_has_panels_with_units_and_distinct_titles():
    titles = [panel["title"] for panel in PANELS]
    assert len(set(titles)) == len(titles)
    assert all(panel["fieldConfig"]["defaults"]["unit"] for panel in PANELS)
