"""What a monitor reads of a relay: whether it is ready, and numbers that show no arrival and no person."""

from __future__ import annotations

import errno
import re
import shutil
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from flask import Flask
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from encoders.survey import read_survey
from ldp_relay import metrics, relay_database
from ldp_relay.delivery import pass_on
from ldp_relay.held_messages import HeldMessages
from ldp_relay.relay_app import create_app
from ldp_relay.relay_settings import RelaySettingsError, read_settings
from tests.support.relays import small_text, write_relay_files

PLAN = read_survey(small_text(8100)).compile()
TOKEN = "a-token-of-the-tests"
PAGE = Path(__file__).parents[2] / "docs" / "relay.md"
HOUR = 3600


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    path = write_relay_files(tmp_path, small_text(8100), "http://127.0.0.1:9")
    (tmp_path / "metrics.token").write_text(f"{TOKEN}\n")
    (tmp_path / "refusals").write_bytes(b"\n" * 7)
    more = 'metrics_token_file = "metrics.token"\nproxy_refusals = "refusals"\n'
    path.write_text(more + path.read_text())
    settings = read_settings(path)
    held = HeldMessages(settings.database)
    made = create_app(settings, held, {PLAN.digest: Counter()})
    made.extensions["held"] = held
    return made


@pytest.fixture
def held(app: Flask) -> HeldMessages:
    return app.extensions["held"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.5 * HOUR]
    monkeypatch.setattr(metrics, "time", lambda: now[0])
    return now


def get(app: Flask, page: str, token: str = "") -> tuple[int, str]:
    web: FlaskClient = app.test_client()
    response = web.get(page, headers={"Authorization": f"Bearer {token}"} if token else {})
    assert "Access-Control-Allow-Origin" not in response.headers
    assert response.headers["Cache-Control"] == "no-store"
    return response.status_code, response.text


def scrape(app: Flask) -> dict[tuple[str, ...], float]:
    """Return each metric, by its name and the values of its labels besides the survey."""
    status, text = get(app, "/metrics", TOKEN)
    assert status == 200
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert sample.labels.pop("survey", PLAN.id) == PLAN.id
            found[sample.name, *sample.labels.values()] = sample.value
    return found


def hold(held: HeldMessages, numbers: range) -> None:
    for number in numbers:
        held.hold(PLAN.digest, b"message %04d" % number, 1 << 40)


def test_metrics_count_messages_batches_and_deliveries(app, held, clock):
    hold(held, range(50))
    held.release(PLAN.digest, 20, is_closed=False, hour=99 * HOUR)
    [relayed] = app.extensions["relay"].settings.surveys.values()
    pass_on(relayed, held)  # nothing listens there
    held.mark_passed_on(held.next_passage(PLAN.digest, 20, [12]), {"recorded": 13, "rejected": 7}, [7])
    held.count_events(PLAN.digest, {"refused, network-full": 3})
    found = scrape(app)
    last = found.pop(("ldp_relay_last_delivery_timestamp_seconds",))
    assert last % HOUR == 0
    assert {name: value for name, value in found.items() if "ready" not in name[0]} == {
        ("ldp_relay_waiting",): 30,
        ("ldp_relay_leaving",): 0,
        ("ldp_relay_received_total",): 50,
        ("ldp_relay_refused_total", "network-full"): 3,
        ("ldp_relay_passed_on_total", "recorded"): 13,
        ("ldp_relay_passed_on_total", "rejected"): 7,
        ("ldp_relay_deliveries_total", "ok"): 1,
        ("ldp_relay_deliveries_total", "failed"): 1,
        ("ldp_relay_batches_total",): 1,
        ("ldp_relay_broken_batches_total",): 1,
        ("ldp_relay_proxy_refusals_total",): 7,
    }
    assert PLAN.digest not in get(app, "/metrics", TOKEN)[1]


def test_metrics_do_not_show_when_within_an_hour_a_message_came_or_was_refused(app, held, clock, tmp_path):
    hold(held, range(3))
    before = scrape(app)
    hold(held, range(3, 7))
    held.withdraw(PLAN.digest, b"message 0000", 1 << 40)
    held.count_events(PLAN.digest, {"refused, bad-seal": 1})
    (tmp_path / "refusals").write_bytes(b"\n" * 9)
    clock[0] += HOUR / 2 - 1
    assert scrape(app) == before
    clock[0] += 1
    after = scrape(app)
    assert after["ldp_relay_waiting",] == 6
    assert after["ldp_relay_received_total",] == 7
    assert after["ldp_relay_refused_total", "bad-seal"] == 1
    assert after["ldp_relay_proxy_refusals_total",] == 9
    (tmp_path / "refusals").unlink()
    clock[0] += HOUR
    assert ("ldp_relay_proxy_refusals_total",) not in scrape(app)


def test_metrics_need_their_token(app, tmp_path):
    for token in ("", "another-token-of-the-tests"):
        status, text = get(app, "/metrics", token)
        assert status == 401
        assert "send the token of metrics_token_file: Authorization: Bearer TOKEN" in text
    path = tmp_path / "relay.toml"
    path.write_text(path.read_text().replace('metrics_token_file = "metrics.token"\n', ""))
    settings = read_settings(path)
    closed = create_app(settings, HeldMessages(settings.database), {PLAN.digest: Counter()})
    status, text = get(closed, "/metrics", TOKEN)
    assert status == 403
    assert "metrics_token_file" in text


@pytest.mark.parametrize(
    ("content", "why"), [("short", "at least 16"), ("", "at least 16"), (None, "No such")]
)
def test_a_metrics_token_that_cannot_be_used_is_named(app, tmp_path, content, why):
    token = tmp_path / "metrics.token"
    token.unlink()
    if content is not None:
        token.write_text(content)
    with pytest.raises(RelaySettingsError, match=f"metrics_token_file: .*{why}"):
        read_settings(tmp_path / "relay.toml")


def why_not_ready(app: Flask) -> str:
    """Return the reason of /readyz, which the metrics must have too; "" if the relay is ready."""
    status, text = get(app, "/readyz")
    found = scrape(app)
    reasons = [name[1] for name, value in found.items() if name[0] == "ldp_relay_not_ready" and value]
    assert found["ldp_relay_ready",] == (status == 200) == (not reasons)
    assert all(f'"detail":"{reason}"' in text for reason in reasons)
    assert get(app, "/livez")[0] == 200
    return "".join(reasons)


@pytest.mark.slow
def test_a_relay_is_ready_only_if_it_can_write_to_the_file_that_it_has_opened(app, tmp_path, monkeypatch):
    database = tmp_path / "relay.db"
    assert why_not_ready(app) == ""
    database.rename(tmp_path / "moved.db")
    assert why_not_ready(app) == "file-missing"
    assert not database.exists()
    database.write_bytes(b"")
    assert why_not_ready(app) == "file-replaced"
    (tmp_path / "moved.db").replace(database)
    assert why_not_ready(app) == ""
    monkeypatch.setattr(relay_database, "_CHECK_SECONDS", 0.1)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert why_not_ready(app) == "locked"
    for code, reason in ((errno.ENOSPC, "disk-full"), (errno.EROFS, "read-only"), (errno.EIO, "disk-error")):
        with monkeypatch.context() as patch:
            patch.setattr(relay_database, "TemporaryFile", lambda code=code, **_: fail(code))
            assert why_not_ready(app) == reason
    assert why_not_ready(app) == ""


def fail(code: int) -> None:
    raise OSError(code, "a fault of the tests")


def test_a_check_leaves_nothing_in_the_files_that_would_date_the_messages_beside_it(app, held, tmp_path):
    hold(held, range(2))
    before = {path.name: path.read_bytes() for path in tmp_path.glob("relay.db*") if path.suffix != ".db-shm"}
    assert "relay.db-wal" in before
    for page in ("/readyz", "/livez"):
        get(app, page)
    scrape(app)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert {path.name for path in tmp_path.glob("relay.db*")} == {*before, "relay.db-shm"}


def test_the_page_for_operators_lists_each_metric_and_each_reason(app):
    names = set(re.findall(r"# TYPE (\w+)", get(app, "/metrics", TOKEN)[1]))
    documented = PAGE.read_text()
    assert set(re.findall(r"`(ldp_relay_\w+)`", documented)) == names
    for reason in relay_database.FAILURES:
        assert f"`{reason}`" in documented


def run_promtool(*arguments: object, text: str = "") -> None:
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool (Debian: apt-get install prometheus)")
    command = ["promtool", *map(str, arguments)]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stderr) == (0, ""), run.stdout


@pytest.mark.slow
def test_prometheus_accepts_the_metrics(app):
    run_promtool("check", "metrics", text=get(app, "/metrics", TOKEN)[1])


RULES = """
rule_files: [{alerts}]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - {{series: 'up{{job="ldp-relay"}}', values: '1x8 0x8 1x20'}}
      - {{series: ldp_relay_ready, values: '1x16 0x8 1x20'}}
      - {{series: 'ldp_relay_deliveries_total{{survey="one", result="failed"}}', values: '0x4 1x40'}}
      - {{series: 'ldp_relay_broken_batches_total{{survey="one"}}', values: '0x4 1x40'}}
      - {{series: 'ldp_relay_refused_total{{survey="one", reason="network-full"}}', values: '0x4 2x40'}}
      - {{series: ldp_relay_proxy_refusals_total, values: '0x4 9x40'}}
    promql_expr_test:
      - {{expr: 'count(ALERTS{{alertstate="firing"}})', eval_time: 60s}}
{expected}
"""
FIRES = """\
      - expr: 'count(ALERTS{{alertname="{name}", alertstate="firing"}})'
        eval_time: {second}s
        exp_samples: [{{labels: '{{}}', value: 1}}]
"""


@pytest.mark.slow
def test_each_alert_fires_within_a_minute(app, tmp_path):
    alerts = PAGE.parents[1] / "deploy" / "relay" / "alerts.yml"
    text = alerts.read_text()
    assert set(re.findall(r"ldp_relay_\w+", text)) <= set(re.findall(r"`(ldp_relay_\w+)`", PAGE.read_text()))
    names = re.findall(r"- alert: (\w+)", text)
    assert len(re.findall(r"severity: (?:critical|warning)}", text)) == len(names)
    begins = dict.fromkeys(names, 75) | {"RelayDown": 135, "RelayNotReady": 255}  # the seconds of the faults
    expected = [FIRES.format(name=name, second=begin + 60) for name, begin in begins.items()]
    rules = tmp_path / "rules.yml"
    rules.write_text(RULES.format(alerts=alerts, expected="".join(expected)))
    run_promtool("test", "rules", rules)
