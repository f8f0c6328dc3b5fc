"""alerts.yml: every fault is an alert within a minute, and a healthy collector causes none."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from tests.support.prometheus import ALERTS, DASHBOARD, prometheus, promtool
from tests.support.servers import SHIPPED_NGINX, TOKEN, collector, wait_for
from tests.test_documentation import anchors_of

ROOT = SHIPPED_NGINX.parents[1]
RULES = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
PANELS = json.loads(DASHBOARD.read_text())["panels"]
HEALTHY_SAMPLES, FAULTY_SAMPLES = 39, 20
"""A fault begins after ten minutes; Prometheus reads the metrics every 15 seconds."""
HEALTHY = {
    'up{job="ldp-collector"}': "1",
    'ldp_not_ready{reason="timeout"}': "0",
    'ldp_not_ready{reason="disk-full"}': "0",
    'ldp_not_ready{reason="reports-lost"}': "0",
    'ldp_survey_lost{survey="sleep"}': "0",
    'ldp_reports_total{survey="sleep"}': "0+150",
    'ldp_rejections_total{survey="sleep",reason="wrong-plan"}': "5",
    'ldp_survey_phase{survey="sleep",phase="open"}': "1",
    'ldp_survey_phase{survey="sleep",phase="closed"}': "0",
    'ldp_requests_total{route="reports",status="200"}': "0+150",
    'ldp_requests_total{route="reports",status="429"}': "0+1",
    'ldp_requests_total{route="reports",status="500"}': "0",
    'ldp_requests_total{route="reports",status="503"}': "0",
    'ldp_requests_total{route="readyz",status="503"}': "0+1",
    'ldp_request_seconds_bucket{class="reports",le="0.1"}': "0+150",
    'ldp_request_seconds_bucket{class="reports",le="5.0"}': "0+150",
    'ldp_request_seconds_bucket{class="reports",le="+Inf"}': "0+150",
    "ldp_proxy_refusals_total": "3",
    "ldp_worker_restarts_total": "2",
    "ldp_store_disk_free_bytes": "50",
    "ldp_store_disk_size_bytes": "100",
    "ldp_store_memory_used_bytes": "50",
    "ldp_store_memory_max_bytes": "100",
    "ldp_time_seconds": "0+15",
    "ldp_last_backup_timestamp_seconds": "0",
    'ldp_deletion_due_timestamp_seconds{survey="sleep"}': "9000000",
    'ldp_token_expiry_timestamp_seconds{token="phone"}': "9000000",
}
FAULTS = {
    "LdpScrapeMissing": {'up{job="ldp-collector"}': "0"},
    "LdpNotReady": {'ldp_not_ready{reason="timeout"}': "1"},
    "LdpReportsLost": {'ldp_survey_lost{survey="sleep"}': "1", 'ldp_not_ready{reason="reports-lost"}': "1"},
    "LdpStoreShrank": {'ldp_reports_total{survey="sleep"}': "100+150"},
    "LdpBug": {'ldp_requests_total{route="reports",status="500"}': "1"},
    "LdpErrors": {'ldp_requests_total{route="reports",status="503"}': "5+5"},
    "LdpSlow": {'ldp_request_seconds_bucket{class="reports",le="0.1"}': "5850"},
    "LdpRejections": {'ldp_rejections_total{survey="sleep",reason="wrong-plan"}': "25+20"},
    "LdpProxyLimit": {"ldp_proxy_refusals_total": "10+10"},
    "LdpRateLimit": {'ldp_requests_total{route="reports",status="429"}': "80+40"},
    "LdpDiskNearlyFull": {"ldp_store_disk_free_bytes": "9"},
    "LdpRedisMemoryNearlyFull": {"ldp_store_memory_used_bytes": "81"},
    "LdpWorkerRestarts": {"ldp_worker_restarts_total": "3"},
    "LdpClockWrong": {"ldp_time_seconds": "700+15"},
    "LdpBackupOld": {"ldp_last_backup_timestamp_seconds": "-604800"},
    "LdpRetentionDue": {'ldp_deletion_due_timestamp_seconds{survey="sleep"}': "1"},
    "LdpTokenExpires": {'ldp_token_expiry_timestamp_seconds{token="phone"}': "864000"},
}
"""For each alert, the values from the beginning of its fault on."""


def series(changes: dict[str, str]) -> list[dict[str, str]]:
    """Return samples of a collector in promtool's notation; some change after ten minutes."""
    faulty = f"x{FAULTY_SAMPLES}"
    return [
        {
            "series": name,
            "values": f"{healthy}x{HEALTHY_SAMPLES} {changes[name]}{faulty}"
            if name in changes
            else f"{healthy}x{HEALTHY_SAMPLES + FAULTY_SAMPLES}",
        }
        for name, healthy in HEALTHY.items()
    ]


def firing(eval_time: str, *alerts: str) -> dict[str, object]:
    expected = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in alerts]
    return {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": eval_time,
        "exp_samples": expected,
    }


def check_rules(folder: Path, *tests: dict[str, object]) -> None:
    each = [{"interval": "15s"} | test for test in tests]
    path = folder / "tests.yml"
    path.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "15s", "tests": each}))
    run = promtool("test", "rules", path)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
def test_promtool_accepts_the_rules():
    run = promtool("check", "rules", ALERTS)
    assert (run.returncode, f"{len(RULES)} rules found" in run.stdout) == (0, True), run.stdout + run.stderr


@pytest.mark.slow
def test_each_fault_is_an_alert_within_a_minute_and_no_other(tmp_path):
    names = {rule["alert"] for rule in RULES}
    assert names == FAULTS.keys() | {"LdpNoReports"}
    healthy = {"input_series": series({}), "promql_expr_test": [firing("10m"), firing("14m")]}
    faults = [
        {"input_series": series(changes), "promql_expr_test": [firing("9m45s"), firing("11m", alert)]}
        for alert, changes in FAULTS.items()
    ]
    check_rules(tmp_path, healthy, *faults)


@pytest.mark.slow
def test_a_target_that_vanishes_is_an_alert_within_a_minute(tmp_path):
    gone = [{"series": 'up{job="ldp-collector"}', "values": f"1x{HEALTHY_SAMPLES} stale"}]
    check_rules(tmp_path, {"input_series": gone, "promql_expr_test": [firing("11m", "LdpScrapeMissing")]})


@pytest.mark.slow
def test_an_open_survey_without_reports_is_an_alert_but_no_closed_or_new_one(tmp_path):
    def phase(survey: str, values: str) -> dict[str, str]:
        return {"series": f'ldp_survey_phase{{survey="{survey}",phase="open"}}', "values": values}

    silent = [
        {"series": f'ldp_reports_total{{survey="{survey}"}}', "values": "7x500"}
        for survey in ("open", "closed", "new")
    ]
    silent += [phase("open", "1x500"), phase("closed", "0x500"), phase("new", "0x300 1x200")]
    silent += [phase("seen first", "_x400 1x100")]
    silent += [{"series": 'ldp_reports_total{survey="seen first"}', "values": "_x400 7x100"}]
    silent += [phase("busy", "1x500"), {"series": 'ldp_reports_total{survey="busy"}', "values": "0+1x500"}]
    silent += [{"series": 'up{job="ldp-collector"}', "values": "1x500"}]
    check_rules(
        tmp_path,
        {"interval": "1m", "input_series": silent, "promql_expr_test": [firing("7h", "LdpNoReports")]},
    )


def test_every_alert_has_a_fix_and_a_section_of_the_documentation():
    for rule in RULES:
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert anchor in anchors_of(ROOT / page), rule["alert"]
        assert re.fullmatch(r"[A-Z{].*\. [A-Z].*\.", rule["annotations"]["summary"]), rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning")


@pytest.mark.slow
def test_a_real_prometheus_reads_the_collector_and_alerts(survey, tmp_path):
    store = tmp_path / "store.db"
    rules = re.sub("(interval|for): [0-9]+s", r"\1: 1s", ALERTS.read_text())
    with collector([survey], f"sqlite:///{store}", workers=2) as (base, _):
        target = {"static_configs": [{"targets": [urlsplit(base).netloc]}]}
        jobs = [
            target | {"job_name": "ldp-collector", "authorization": {"credentials": TOKEN}},
            target | {"job_name": "without-token"},
        ]
        with prometheus(tmp_path, jobs, rules) as running:
            wait_for(lambda: running.value("ldp_ready") == 1)
            assert running.value('ldp_reports_total{survey="sleep"}') == 0
            wait_for(lambda: running.value('up{job="without-token"}') == 0)
            errors = running.scrape_errors()
            assert (errors["ldp-collector"], "401" in errors["without-token"]) == ("", True)
            for expression in [rule["expr"] for rule in RULES] + dashboard_expressions():
                running.query(expression)  # raises an error if Prometheus does not accept it
            wait_for(lambda: running.firing() == {})  # until the first metrics were read, one alert fires
            store.rename(tmp_path / "moved.db")
            wait_for(lambda: "LdpNotReady" in running.firing())
            alert = running.firing()["LdpNotReady"]
            assert alert["labels"]["reason"] == "file-missing"
            assert "file-missing" in alert["annotations"]["summary"]
            (tmp_path / "moved.db").rename(store)
            wait_for(lambda: "LdpNotReady" not in running.firing())


def dashboard_expressions() -> list[str]:
    """Return the expressions of the dashboard's panels, with values for Grafana's variables."""
    found = [target["expr"] for panel in PANELS for target in panel["targets"]]
    return [each.replace("$__rate_interval", "1m").replace("$survey", ".*") for each in found]
