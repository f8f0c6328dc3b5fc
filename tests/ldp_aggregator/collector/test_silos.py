"""Messages of silos at a collector: counted once, checked, kept apart from people's reports."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from encoders.randomness import SystemEntropy
from encoders.report import ID_BYTES, MAX_MESSAGE_BYTES, MEDIA_TYPE, Report, pack, unpack
from encoders.survey import read_survey
from encoders.survey.invitation import read_invitation
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.invitations import create_tokens
from ldp_aggregator.collector.settings import MAX_BODY_BYTES
from ldp_aggregator.migrate import migrate_survey
from ldp_aggregator.reports.archives import count_archives
from ldp_aggregator.snapshot import (
    SiloSnapshot,
    Snapshot,
    SnapshotError,
    read_snapshot,
    sum_snapshots,
    take_snapshot,
)
from ldp_aggregator.stores import MemoryStore, open_store
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import (
    OPERATOR,
    ROW,
    SURVEY,
    make_client,
    make_store,
    rejected,
)
from tests.support.commands import command
from tests.support.silo_surveys import WARDS, count_rows, make_message, make_rows, read_silo_survey

PLAN = read_silo_survey().compile()
PEOPLE = read_survey(SURVEY).compile()
PATH = "/v1/surveys/wards"


def messages_of(plan: SiloPlan = PLAN, count: int = 3) -> list[bytes]:
    """Return the messages of silos with 300 rows each."""
    return [make_message(plan, make_rows(plan, 300), SystemEntropy()) for _ in range(count)]


def cells_of(message: bytes, plan: SiloPlan = PLAN) -> np.ndarray:
    return np.array(plan.mechanism.contribution(unpack(message, plan.max_report_bytes).payload))


def with_cells(plan: SiloPlan, change: dict[int, int]) -> bytes:
    """Return a message without noise and rows, with other cells in some places."""
    cells = [change.get(cell, 0) for cell in range(plan.mechanism.cells)]
    payload = struct.pack(f"<{len(cells)}q", *cells)
    return pack(Report(plan.digest_bytes, 0, SystemEntropy().take(ID_BYTES), payload))


@pytest.fixture
def both() -> MemoryStore:
    """Return a store with a survey of silos and one of people."""
    return make_store(PLAN, PEOPLE)


@pytest.fixture
def site(both: MemoryStore) -> FlaskClient:
    return make_client(both, operator_token="the-token")


def post(site: FlaskClient, body: bytes, survey: str = "wards") -> tuple[int, dict[str, Any]]:
    response = site.post(f"/v1/surveys/{survey}/reports", data=body, content_type=MEDIA_TYPE)
    return response.status_code, response.json


# -- counting ----------------------------------------------------------------------------------


def test_each_message_is_counted_once_and_the_cells_add_up(site, both):
    one, two, three = messages_of()
    assert post(site, one) == (200, {"status": "recorded"})
    assert post(site, one) == (200, {"status": "duplicate"})
    assert post(site, one + two + three) == (200, {"recorded": 2, "duplicate": 1, "rejected": []})
    snapshot = take_snapshot(both, PLAN.id)
    assert isinstance(snapshot, SiloSnapshot)
    assert snapshot.messages == 3
    assert snapshot.cells.tolist() == (cells_of(one) + cells_of(two) + cells_of(three)).tolist()


@pytest.mark.parametrize("many", [False, True])
def test_contradictory_totals_are_refused_without_a_number_of_the_message(site, many):
    false = with_cells(PLAN, {0: 5000})  # one table counts 5,000 rows, the others none
    above = with_cells(PLAN, {each.start: 150_000 * each.unit for each in PLAN.mechanism.tables})
    if many:
        status, answer = post(site, messages_of(count=1)[0] + false + above)
        rejections = [{"index": place, "reason": "bad-payload"} for place in (1, 2)]
        assert (status, answer) == (200, {"recorded": 1, "duplicate": 0, "rejected": rejections})
    else:
        for message in (false, above):
            status, problem = post(site, message)
            assert (status, problem["reason"], problem["retryable"]) == (400, "bad-payload", False)
            assert "tables" in problem["detail"]
            assert not any(character.isdigit() for character in problem["detail"])
    assert rejected(site, "wards") == {"bad-payload": 2}


def test_reports_of_people_and_messages_of_silos_do_not_mix(site):
    report = make_report(PEOPLE, ROW, "yes")
    message = messages_of(count=1)[0]
    for survey, body in (("wards", report), (PEOPLE.id, message)):
        status, problem = post(site, body, survey)
        assert (status, problem["reason"]) == (409, "wrong-plan")
        assert "another plan" in problem["detail"]


@pytest.mark.slow
def test_a_long_message_to_a_survey_of_people_is_too_large(site):
    status, problem = post(site, messages_of(long_plan(), 1)[0], PEOPLE.id)
    assert (status, problem["reason"]) == (413, "too-large")
    assert "4096" in problem["detail"]


def test_damaged_messages_are_refused(site):
    message = messages_of(count=1)[0]
    sent = unpack(message, PLAN.max_report_bytes)
    cases = {
        message[:-1]: "malformed",
        message + b"\0": "malformed",
        pack(Report(sent.plan_digest, 1, sent.id, sent.payload)): "unknown-question",
        pack(Report(sent.plan_digest, 0, sent.id, sent.payload[:-8])): "bad-payload",
        pack(Report(sent.plan_digest, 0, sent.id, b"")): "bad-payload",
        pack(Report(bytes(32), 0, sent.id, sent.payload)): "wrong-plan",
    }
    for body, reason in cases.items():
        assert post(site, body)[1]["reason"] == reason


def long_plan() -> SiloPlan:
    """Return a plan whose messages have nearly 64 KiB."""
    values = ", ".join(f'"{value}"' for value in range(4092))
    text = WARDS[: WARDS.index("[features.smoker]")].replace('"wards"', '"long"')
    return read_silo_survey(f"{text}[features.ward]\nvalues = [{values}]\n").compile()


@pytest.mark.slow
def test_messages_of_64_kib_are_counted(both):
    plan = long_plan()
    both.publish(plan.id, plan.json)
    site = make_client(both)
    one, two = messages_of(plan, 2)
    assert len(one) == 65_530
    assert post(site, one, "long") == (200, {"status": "recorded"})
    assert post(site, one + two, "long") == (200, {"recorded": 1, "duplicate": 1, "rejected": []})


def test_the_longest_message_fits_into_a_request():
    assert MAX_MESSAGE_BYTES <= MAX_BODY_BYTES


@pytest.mark.slow
def test_a_flood_of_messages_does_not_wrap_around_the_totals(both):
    plan = read_silo_survey(WARDS.replace("rows = 100000", "rows = 1000000000")).compile()
    store = make_store(plan)
    table = plan.mechanism.tables[2]
    full = {each.start: 10**9 * each.unit for each in plan.mechanism.tables}
    intake = Intake(plan, store)
    body = b"".join(with_cells(plan, full) for _ in range(plan.mechanism.safe_messages))
    statuses = {outcome.status for outcome in intake.record_body(body)}
    assert statuses == {"recorded"}
    snapshot = take_snapshot(store, plan.id)
    assert isinstance(snapshot, SiloSnapshot)
    assert snapshot.cells[table.start] == 10**9 * table.unit * plan.mechanism.safe_messages


# -- tokens ------------------------------------------------------------------------------------


def test_a_token_admits_one_message():
    plan = read_silo_survey(WARDS.replace("[label]", 'enrolment = "token"\n[label]')).compile()
    store = make_store(plan)
    mine, yours = create_tokens(store, plan, 2, SystemEntropy())
    site = make_client(store, operator_token="the-token")

    def message(token: str | None) -> bytes:
        invited = read_invitation(plan, token) if token else None
        payload = plan.mechanism.perturb(count_rows(plan, make_rows(plan, 50)), SystemEntropy())
        report_id = invited[1] if invited else b"\0\0" + SystemEntropy().take(ID_BYTES - 2)
        return pack(Report(plan.digest_bytes, 0, report_id, payload))

    first = message(mine)
    assert post(site, first) == (200, {"status": "recorded"})
    assert post(site, first) == (200, {"status": "duplicate"})
    assert post(site, message(mine))[1]["reason"] == "id-reused"
    assert post(site, message(None))[1]["reason"] == "not-enrolled"
    assert post(site, message(yours)) == (200, {"status": "recorded"})
    assert 'ldp_tokens{survey="wards"} 2.0' in site.get("/metrics", headers=OPERATOR).text


# -- the operator's pages ----------------------------------------------------------------------


def test_the_plan_and_the_list_of_surveys_name_the_kind(site):
    listed = {each["id"]: each for each in site.get("/v1/surveys").json["surveys"]}
    assert listed["wards"] == {"id": "wards", "digest": PLAN.digest, "phase": "open", "kind": "silo"}
    assert "kind" not in listed[PEOPLE.id]
    response = site.get(PATH)
    assert response.data == PLAN.json
    assert response.headers["ETag"] == f'"{PLAN.digest}"'


@pytest.mark.slow
def test_progress_has_the_messages_and_the_noise(site):
    post(site, b"".join(messages_of(count=4)))
    document = site.get(f"{PATH}/progress", headers=OPERATOR).json
    assert (document["kind"], document["reports"]) == ("silo", 4)
    assert document["questions"] == [{"name": "counts", "mechanism": "count_table", "n": 4}]
    assert document["tokens"] == 0
    assert document["count_error"] == pytest.approx((4 * 2 * 4**2) ** 0.5, rel=0.01)
    estimates = site.get(f"{PATH}/estimates", headers=OPERATOR).json
    assert estimates["silos"]["messages"] == 4
    assert estimates["silos"]["rows"] == pytest.approx(1200, abs=200)
    table = site.get(f"{PATH}/estimates.csv", headers=OPERATOR).text
    assert {"smoker", "age", "weight", "pulse"} <= {line.partition(",")[0] for line in table.splitlines()}
    assert 'ldp_reports_total{survey="wards"} 4.0' in site.get("/metrics", headers=OPERATOR).text


# -- snapshots and stores ----------------------------------------------------------------------


def snapshot_of(messages: Sequence[bytes], plan: SiloPlan = PLAN) -> SiloSnapshot:
    store = make_store(plan)
    Intake(plan, store).record_body(b"".join(messages))
    snapshot = take_snapshot(store, plan.id)
    assert isinstance(snapshot, SiloSnapshot)
    return snapshot


def test_snapshots_of_silos_are_read_back_and_added():
    messages = messages_of(count=5)
    one, two = snapshot_of(messages[:2]), snapshot_of(messages[2:])
    again = read_snapshot(one.to_json())
    assert again.to_json() == one.to_json()
    assert isinstance(again, SiloSnapshot)
    both = sum_snapshots([one, two])
    assert both.messages == 5
    assert both.cells.tolist() == sum(map(cells_of, messages)).tolist()


def test_snapshots_of_other_plans_and_of_people_are_not_added():
    one = snapshot_of(messages_of(count=1))
    other_plan = read_silo_survey(WARDS.replace("rows = 100000", "rows = 5000")).compile()
    with pytest.raises(SnapshotError, match="different plans"):
        one + snapshot_of(messages_of(other_plan, 1), other_plan)
    people = Snapshot(PEOPLE, {})
    for pair in ([one, people], [people, one]):
        with pytest.raises(SnapshotError, match=r"wards is a survey of silos and .* one of people"):
            sum_snapshots(pair)
    with pytest.raises(SnapshotError, match="ldp-silo report"):
        Snapshot.from_json(one.to_json())


def test_an_empty_survey_of_silos_has_zero_cells(both):
    snapshot = take_snapshot(both, PLAN.id)
    assert isinstance(snapshot, SiloSnapshot)
    assert (snapshot.messages, set(snapshot.cells.tolist())) == (0, {0})


def test_a_survey_of_silos_moves_to_another_store_with_its_ids(tmp_path, both):
    messages = messages_of(count=3)
    Intake(PLAN, both).record_body(b"".join(messages))
    target = open_store(f"sqlite:///{tmp_path}/new.db")
    assert migrate_survey(both, target, PLAN.id) == 3
    assert take_snapshot(target, PLAN.id).to_json() == take_snapshot(both, PLAN.id).to_json()
    outcomes = Intake(PLAN, target).record_body(b"".join([*messages, *messages_of(count=1)]))
    assert [outcome.status for outcome in outcomes] == ["duplicate"] * 3 + ["recorded"]
    target.close()


@pytest.mark.slow
@pytest.mark.parametrize("plan", [PLAN, long_plan()], ids=["short", "long"])
def test_archives_of_messages_are_counted_as_by_a_collector(tmp_path, plan):
    messages = messages_of(plan, 4)
    false = with_cells(plan, {0: plan.rows * 3})
    body = b"".join([*messages[:2], false, messages[0], *messages[2:]])
    (tmp_path / "messages").write_bytes(body)
    warnings: list[str] = []
    counted = count_archives(plan, [str(tmp_path / "messages")], warnings.append)
    assert isinstance(counted, SiloSnapshot)
    assert not warnings
    assert (counted.messages, counted.rejections) == (4, {"bad-payload": 1})
    assert counted.cells.tolist() == sum(cells_of(each, plan) for each in messages).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 1000])
def test_damaged_archives_of_long_messages_lose_only_the_damaged_ones(tmp_path, lost):
    plan = long_plan()
    other = replace(plan, id="other")
    messages, foreign = messages_of(plan, 3), messages_of(other, 1)[0]
    (tmp_path / "messages").write_bytes(messages[0] + foreign + messages[1] + messages[2][lost:])
    counted = count_archives(plan, [str(tmp_path / "messages")], lambda _: None)
    expected = {"wrong-plan": 1} | ({"malformed": 1} if lost else {})
    assert (counted.total(), counted.rejections) == (3 - bool(lost), expected)


def test_archives_of_messages_are_counted_too(tmp_path):
    messages = messages_of(count=4)
    for name, part in (("one", messages[:3]), ("two", messages[2:])):
        (tmp_path / name).write_bytes(b"".join(part))
    counted = count_archives(PLAN, [str(tmp_path / "one"), str(tmp_path / "two")], print)
    assert counted.to_json() == snapshot_of(messages).to_json()


def test_commands_export_merge_and_list_surveys_of_silos(tmp_path):
    urls = []
    for name in ("one", "two"):
        url = f"sqlite:///{tmp_path}/{name}.db"
        store = open_store(url)
        store.publish(PLAN.id, PLAN.json)
        Intake(PLAN, store).record_body(b"".join(messages_of(count=2)))
        store.close()
        urls.append(url)
    files = [tmp_path / f"{name}.json" for name in ("one", "two")]
    for url, file in zip(urls, files, strict=True):
        exported = command("ldp-collector", "export", "wards", "--store", url, "-o", file)
        assert "2 reports of wards" in exported.output
    pooled = tmp_path / "pooled.json"
    assert "4 reports of wards" in command("ldp-collector", "merge", *files, "-o", pooled).output
    assert "wards" in command("ldp-collector", "status", "--store", urls[0]).output
    assert read_snapshot(pooled.read_bytes()).total() == 4
