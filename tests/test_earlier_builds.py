"""What earlier builds left behind is read by this one: nothing is lost, and nothing counts twice.

tools/earlier_builds.py has written each file of earlier_builds/ with the build that names it.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from ldp_aggregator import ModelError, load_model
from ldp_aggregator.collector.invitations import count_tokens
from ldp_aggregator.results_file import VERSION, read_results
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import open_store
from ldp_aggregator.stores.schedule import read_schedule
from ldp_client import Client, HttpTransport, Journal, Response, State, load_plan, make_report
from ldp_client.survey_identity import SurveyIdentity, origin_of_url
from ldp_relay.held_messages import HeldMessages
from ldp_relay.relay_settings import read_settings
from tests.support.access import access, write_tokens
from tests.support.commands import command, post_reports
from tests.support.java import run_java
from tests.support.relays import relay, send
from tests.support.servers import LocalRedis, collector, free_port, wait_for
from tools import earlier_builds

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
SETS = sorted((ROOT / "tests" / "earlier_builds").glob("*.zip"))
COLLECTOR, RELAY = "https://collector.example", "https://relay.example"
"""The servers of the devices; where a test runs them, its transport knows."""
CLOSES, GRACE = 7_226_582_400, 3 * 86_400
ROW, NIGHT_ROW = {"mode": "bus", "minutes": 8}, {"nights": "many", "rested": False}
HOUR = 0.5


class Redirected:
    """Sends what is for one server to another."""

    def __init__(self, origin: str, server: str) -> None:
        self._origin, self._server = origin, server

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        return HttpTransport().request(method, url.replace(self._origin, self._server), body, timeout)


def unpack(archive: Path, folder: Path) -> dict[str, Any]:
    """Unpack a set; return what it must contain."""
    shutil.unpack_archive(archive, folder)
    for key in (*folder.glob("*.key"), *folder.glob("*.db")):
        key.chmod(0o600)  # a zip file has no modes
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    return expected


def counted(store: str, survey: str) -> tuple[int, dict[str, int], int]:
    """Return the numbers of reports, of rejections by reason, and of invitations."""
    opened = open_store(store, create=False)
    try:
        found = take_snapshot(opened, survey)
        reports = sum(each.n for each in found.totals.values())
        return reports, found.rejections, count_tokens(opened, survey)
    finally:
        opened.close()


def check_counts_and_retries(folder: Path, name: str, store: str, expected: dict[str, Any]) -> None:
    """Check what is in a store, send everything again, and use an invitation that is left."""
    junk, used, tokens = {"malformed": 1}, expected["used_tokens"], expected["tokens"]
    assert counted(store, "commute") == (expected["reports"], junk, 0)
    assert counted(store, "clinic") == (used, junk, tokens)
    with collector([folder / "commute.json", folder / "clinic.json"], store) as (base, _):
        for survey, number in {"commute": expected["reports"], "clinic": used}.items():
            again = (folder / name / f"{survey}.reports").read_bytes()
            answer = post_reports(f"{base}/v1/surveys/{survey}", again)
            assert answer == {"recorded": 0, "duplicate": number, "rejected": []}
        plan = load_plan(folder / "clinic.json")
        unused = (folder / name / "tokens.txt").read_text().split()[used]
        report = make_report(plan, ROW, "no", token=unused)
        assert post_reports(f"{base}/v1/surveys/clinic", report)["status"] == "recorded"
    assert counted(store, "commute") == (expected["reports"], junk, 0)
    assert counted(store, "clinic") == (used + 1, junk, tokens)
    opened = open_store(store, create=False)
    schedule = read_schedule(opened, "clinic")
    opened.close()
    assert (schedule.opens, schedule.closes, schedule.grace) == (None, CLOSES, GRACE)


def check_sqlite(folder: Path, expected: dict[str, Any]) -> None:
    check_counts_and_retries(folder, "sqlite", f"sqlite:///{folder}/sqlite/ldp.db", expected)


def check_redis(folder: Path, expected: dict[str, Any]) -> None:
    with LocalRedis(folder / "redis") as server:
        check_counts_and_retries(folder, "redis", server.url, expected)


def check_plans_snapshot_and_model(folder: Path, expected: dict[str, Any]) -> None:
    for survey, digest in expected["surveys"].items():
        assert load_plan(folder / f"{survey}.json").digest == digest
    command("ldp-train", folder / "snapshot.json", "-o", folder / "again.json")
    assert read_results(folder / "again.json").estimates.reports == expected["reports"]
    version = json.loads((folder / "model.json").read_bytes())["version"]
    if version == VERSION:
        assert load_model(folder / "model.json").plan_.digest == expected["surveys"]["commute"]
    else:
        why = f"the file has version {version}, and only version {VERSION} is supported: train again"
        with pytest.raises(ModelError, match=why):
            load_model(folder / "model.json")


def check_journals(folder: Path, expected: dict[str, Any]) -> None:
    """A report that waits is sent once; a person who has answered does not answer again."""
    store, url = f"sqlite:///{folder}/new.db", f"{COLLECTOR}/v1/surveys/commute"
    with collector([folder / "commute.json"], store) as (base, _):
        for name in ("journal.db", "answered.db", "journal.db"):
            with Client(url, journal=folder / name, transport=Redirected(COLLECTOR, base)) as client:
                assert client.plan.digest == expected["surveys"]["commute"]
                assert client.report(ROW, "yes").state is State.ALREADY_REPORTED
                assert client.flush(60).state is State.SENT
    assert counted(store, "commute") == (1, {}, 0)


def check_java_journal(folder: Path, expected: dict[str, Any]) -> None:
    """As for the other journals; a set that was written without a JDK has none."""
    if not (folder / "java").exists():
        pytest.skip("this set has no journal of the Java client")
    store, url = f"sqlite:///{folder}/new.db", (folder / "java.url").read_text()
    with collector([folder / "commute.json"], store) as (base, _):
        words = [url, str(folder / "java"), json.dumps(ROW), "label=yes", f"server={base}"]
        printed = run_java("ldpbayes.client.Answer", *words, "calls=report,flush")
    states = [json.loads(line)["state"] for line in printed.splitlines()]
    assert states == ["already_reported", "sent"]
    assert counted(store, "commute") == (1, {}, 0)


@contextmanager
def running_relay(folder: Path, base: str, hour: float) -> Iterator[str]:
    """Run the relay of a set, which passes on to a collector; yield its address."""
    settings, port = folder / "relay.toml", free_port()
    text = (folder / "relay.toml").read_text()
    settings = folder / f"relay-{port}.toml"
    settings.write_text(text.replace("http://127.0.0.1:9", base).replace("127.0.0.1:0", f"127.0.0.1:{port}"))
    with relay(settings, hour):
        yield f"http://127.0.0.1:{port}"


def held(folder: Path, digest: str) -> dict[str, int]:
    """Return the counts of messages in a relay's database."""
    settings = read_settings(folder / "relay.toml")
    messages = HeldMessages(settings.database)
    try:
        return {name: n for name, n in messages.counts(digest).items() if not name.startswith("deliveries")}
    finally:
        messages.close()


def check_relay(folder: Path, expected: dict[str, Any]) -> None:
    """All that a relay held arrives once; devices send again, send what waits, and withdraw."""
    secret = (folder / "relay.token").read_text().strip()
    options = ["--tokens", write_tokens(folder / "tokens.toml", access("relay", secret))]
    plan = load_plan(folder / "night-work.json")
    url, store = f"{RELAY}/night-work", f"sqlite:///{folder}/new.db"
    identity = SurveyIdentity("night-work", origin_of_url(url), "")
    sent = Journal(folder / "held.db").find(identity).sealed
    with running_relay(folder, "http://127.0.0.1:9", 3600) as server:
        before = held(folder, plan.digest)
        assert before["waiting"] + before["leaving"] == expected["messages"]
        assert before["leaving"] >= plan.relay.batch
        assert send(f"{server}/night-work/{plan.digest}", sent)[0] == 202
        assert held(folder, plan.digest) == before
        transport = Redirected(RELAY, server)
        with Client(plan, url, relay=RELAY, journal=folder / "journal.db", transport=transport) as client:
            assert client.report(NIGHT_ROW).state is State.ALREADY_REPORTED
            assert client.flush(60).state is State.SENT
        assert held(folder, plan.digest)["waiting"] == before["waiting"] + 1
        with Client(plan, url, relay=RELAY, journal=folder / "journal.db", transport=transport) as client:
            assert client.withdraw().state is State.WITHDRAWN
        assert held(folder, plan.digest)["waiting"] == before["waiting"]
    with collector([folder / "night-work.json"], store, options=options) as (base, _):
        with running_relay(folder, base, HOUR):
            wait_for(lambda: held(folder, plan.digest)["leaving"] == 0)
        after = held(folder, plan.digest)
    assert after["waiting"] + after["passed on, recorded"] == expected["messages"]
    assert after["passed on, recorded"] >= before["leaving"]
    assert counted(store, "night-work")[0] == after["passed on, recorded"]


CHECKS = [
    *(check_sqlite, check_redis, check_plans_snapshot_and_model, check_journals, check_relay),
    check_java_journal,
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("archive", SETS, ids=lambda path: path.stem)
def test_this_build_reads_what_an_earlier_one_wrote(
    archive: Path, check: Callable[[Path, dict[str, Any]], None], tmp_path: Path
):
    expected = unpack(archive, tmp_path)
    check(tmp_path, expected)


def test_this_build_writes_what_it_reads_for_later_ones(tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("needs redis-server (Debian: apt-get install redis-server)")
    earlier_builds.main(ROOT, tmp_path / "set.zip")
    assert (tmp_path / "set.zip").stat().st_size < 100_000
    for check in CHECKS:
        folder = tmp_path / check.__name__
        check(folder, unpack(tmp_path / "set.zip", folder))
