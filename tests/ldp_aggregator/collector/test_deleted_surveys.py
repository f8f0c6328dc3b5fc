"""A survey is deleted beside running collectors: their pages, their readiness, their log, and a restart."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ldp_aggregator.stores import StoreError, open_store
from ldp_aggregator.stores.store import TEXTS
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import (
    OPERATOR,
    REPORTS,
    ROW,
    SURVEY,
    ask,
    make_client,
    make_store,
    some_reports,
)
from tests.support.commands import command
from tests.support.servers import TOKEN, collector, wait_for

GONE = (410, "survey-closed", False)
PAGES = ["", *(f"/{name}" for name in ("texts", "signature", "snapshot", "estimates", "estimates.csv"))]
PAGES += ["/progress", "/progress.html"]


@pytest.fixture(params=["sqlite", "redis", "cluster"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ldp.db"
    elif request.param == "redis":
        yield request.getfixturevalue("server").url
    else:
        yield request.getfixturevalue("cluster_nodes")[0].url


@pytest.fixture
def surveys(tmp_path: Path) -> list[Path]:
    """Return the files of the survey and of another one."""
    files = [tmp_path / "sleep.toml", tmp_path / "diet.toml"]
    files[0].write_text(SURVEY)
    files[1].write_text(SURVEY.replace('"sleep"', '"diet"'))
    return files


def answer(base: str, path: str, body: bytes | None = None) -> tuple[int, str, bool] | int:
    """Return the status and, of an error, its reason and whether it is retryable."""
    status, content = ask(base + path, body, TOKEN)
    if status == 200:
        return status
    problem = json.loads(content)
    return status, problem["reason"], problem["retryable"]


@pytest.mark.slow
def test_collectors_answer_410_about_a_survey_that_is_deleted_during_intake(
    store_url, surveys, tmp_path, plan
):
    counted, last = [0] * 4, [b""] * 4
    log = tmp_path / "log"

    def send(base: str, number: int) -> None:
        while True:
            report = make_report(plan, ROW, "yes")
            found = answer(base, REPORTS, report)
            if found != 200:
                assert found == GONE
                return
            counted[number] += 1
            last[number] = report

    with collector(surveys, store_url, options=["--rate", "0"], log=log) as (base, process):
        senders = [threading.Thread(target=send, args=[base, number]) for number in range(4)]
        for each in senders:
            each.start()
        wait_for(lambda: min(counted) > 0)
        result = command("ldp-collector", "delete", "sleep", "--even-open", "--store", store_url)
        receipt = json.loads(result.stdout)
        for each in senders:
            each.join(120)
        assert receipt["reports"] == sum(counted)

        # a retry of a counted report, from a device that did not get the response
        assert [answer(base, REPORTS, report) for report in last] == [GONE] * 4
        time.sleep(2.5)
        for _ in range(6):  # any worker may respond
            assert {answer(base, f"/v1/surveys/sleep{page}") for page in PAGES} == {GONE}
            assert json.loads(ask(f"{base}/v1/surveys")[1])["surveys"][0]["id"] == "diet"
            assert answer(base, "/readyz") == 200
            metrics = ask(f"{base}/metrics", token=TOKEN)[1].decode()
            assert ('survey="diet"' in metrics, 'survey="sleep"' in metrics) == (True, False)
            assert answer(base, "/v1/surveys/diet") == 200
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: '"reloaded"' in log.read_text())
        assert [answer(base, "/v1/surveys/sleep") for _ in range(6)] == [GONE] * 6
    events = [json.loads(line)["event"] for line in log.read_text().splitlines() if line.startswith("{")]
    assert not {"store-unavailable", "reload-failed", "unexpected-error"} & set(events)
    with collector(surveys, store_url, log=log) as (base, _):  # the file is still in its list
        assert answer(base, "/v1/surveys/sleep") == GONE
        assert answer(base, REPORTS, last[0]) == GONE
        assert answer(base, "/readyz") == 200
    store = open_store(store_url)
    assert store.rejections("sleep") == {}
    assert store.totals("sleep") == {}
    store.close()
    status = command("ldp-collector", "status", "--store", store_url).stdout
    assert "sleep: deleted on 2" in status
    assert not [line for line in status.splitlines() if line.startswith("sleep ")]


@pytest.mark.slow
def test_a_collector_starts_with_the_file_of_a_deleted_survey_and_refuses_a_changed_one(surveys, tmp_path):
    url = f"sqlite:///{tmp_path}/ldp.db"
    with collector(surveys, url):
        pass
    command("ldp-collector", "delete", "sleep", "--even-open", "--store", url)
    with collector(surveys[::-1], url) as (_, process):
        assert process.stdout
        lines = iter(process.stdout.readline, "")
        sentence = "sleep was deleted on 2"
        assert next(line for line in lines if sentence in line).endswith(
            "remove its file from the surveys of this collector\n"
        )
    surveys[0].write_text(SURVEY.replace("epsilon = 1.0", "epsilon = 0.5"))
    refused = command("ldp-collector", "serve", surveys[0], "--store", url, check=False)
    assert refused.exit_code == 1
    assert "'sleep' was deleted from this store on 2" in refused.output
    assert "give a new survey another id" in refused.output


def test_a_deletion_that_a_worker_has_not_noticed_yet_is_no_outage(plan, caplog):
    store = make_store(plan)
    web = make_client(store, operator_token=OPERATOR["Authorization"].partition(" ")[2])
    assert web.get("/v1/surveys/sleep").status_code == 200  # caches that the survey is there
    store.set_note("deleted", plan.id, b'["", 0]')
    store.unpublish(plan.id)
    posted = web.post(REPORTS, data=some_reports(plan, 1), content_type="application/vnd.msgpack")
    snapshot = web.get("/v1/surveys/sleep/snapshot", headers=OPERATOR)
    for response in (posted, snapshot):
        assert (response.status_code, response.json["reason"]) == (410, "survey-closed")
        assert response.json["detail"] == "the survey was deleted: do not send its reports again"
    assert web.get("/readyz").status_code == 200
    assert not caplog.records


def test_a_lost_survey_is_still_an_outage(plan, caplog):
    store = make_store(plan)
    web = make_client(store)
    store.unpublish(plan.id)
    assert (
        web.post(REPORTS, data=some_reports(plan, 1), content_type="application/vnd.msgpack").status_code
        == 503
    )
    assert web.get("/readyz").status_code == 503
    assert [each.message for each in caplog.records] == ["store-unavailable"]


# -- the commands -----------------------------------------------------------------------------


@pytest.fixture
def filled(tmp_path: Path, plan) -> str:
    url = f"sqlite:///{tmp_path}/ldp.db"
    store = open_store(url)
    store.publish(plan.id, plan.json)
    store.set_note(
        TEXTS,
        plan.id,
        json.dumps({"about": {"retention": "Counts until 2999-02-31, or 2999-03-01."}}).encode(),
    )
    store.close()
    return url


def run(*arguments: object) -> tuple[int, str]:
    result = command("ldp-collector", *arguments, check=False)
    return result.exit_code, result.output


def test_the_receipt_lists_what_was_deleted_and_what_remains(filled, plan, tmp_path):
    code, output = run("delete", "sleep", "--store", filled)
    assert (code, "run `ldp-collector close sleep` first, or add --even-open" in output) == (1, True)
    run("export", "sleep", "--store", filled, "-o", tmp_path / "s.json")
    run("close", "sleep", "--store", filled)
    receipt = tmp_path / "receipt.json"
    assert run("delete", "sleep", "--store", filled, "-o", receipt) == (
        0,
        f"deleted sleep with 0 reports; the receipt is {receipt}\n",
    )
    found = json.loads(receipt.read_text())
    assert (found["digest"], found["store"], found["reports"]) == (plan.digest, "sqlite", 0)
    assert len(found["exports"]) == 1
    assert any("VACUUM" in each for each in found["remaining"])
    assert json.loads(run("delete", "sleep", "--store", filled)[1]) == found  # once more
    for words in (
        "open sleep",
        "close sleep",
        f"export sleep -o {tmp_path}/t.json",
        "tokens create sleep --count 1",
    ):
        code, output = run(*words.split(), "--store", filled)
        assert (code, "'sleep' was deleted from this store on 2" in output) == (1, True)
    assert "no survey 'diet'" in run("delete", "diet", "--store", filled)[1]
    [entry] = json.loads(run("status", "--json", "--store", filled)[1])
    assert (entry["survey"], entry["phase"], entry["complete"]) == ("sleep", "deleted", True)


def test_status_shows_when_a_survey_is_to_be_deleted(filled):
    assert "sleep: to be deleted by 2999-03-01, says about.retention\n" in run("status", "--store", filled)[1]
    assert json.loads(run("status", "--json", "--store", filled)[1])[0]["delete_by"] == "2999-03-01"
    store = open_store(filled)
    store.set_note(TEXTS, "sleep", b'{"about": {"retention": "until 2020-01-01"}}')
    store.close()
    assert "by 2020-01-01 (overdue), says" in run("status", "--store", filled)[1]


def test_an_interrupted_deletion_is_shown(filled):
    store = open_store(filled)
    store.set_note("deleted", "sleep", b'["", 1800000000]')
    store.close()
    output = run("status", "--store", filled)[1]
    assert (
        "sleep: deleted on 2027-01-15, but not completely: run ldp-collector delete sleep again\n" in output
    )


def test_the_log_lists_who_did_what(filled, tmp_path, monkeypatch):
    assert run("log", "--store", filled) == (0, "time  who  what  survey  detail\n")
    monkeypatch.setenv("SUDO_USER", "anna")
    run("open", "sleep", "--store", filled)
    run("close", "sleep", "--store", filled)
    run("export", "sleep", "--store", filled, "-o", tmp_path / "s.json")
    run("import", "sleep", "--from", filled, "--store", f"sqlite:///{tmp_path}/new.db")
    run("delete", "sleep", "--store", filled)
    entries = json.loads(run("log", "--json", "--store", filled)[1])
    assert [(each["who"], each["what"], each["survey"]) for each in entries] == [
        ("anna", what, "sleep") for what in ("opened", "closed", "exported", "deleted")
    ]
    assert entries[0].keys() == {"time", "who", "what", "survey", "detail"}
    assert "anna" in run("log", "--store", f"sqlite:///{tmp_path}/new.db")[1]


def test_an_export_from_a_store_that_cannot_be_written_is_made_and_not_logged(filled, tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise StoreError("read-only")

    monkeypatch.setattr("ldp_aggregator.cli.transfer.write_log", refuse)
    result = command("ldp-collector", "export", "sleep", "--store", filled, "-o", tmp_path / "s.json")
    assert result.stderr == "the export is not in the operator's log: read-only\n"
    assert (tmp_path / "s.json").exists()
