"""A running collector whose Redis restarts with another file: emptied, another survey's, or an older copy."""

import json
import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
import redis

from encoders.survey import Plan, read_survey
from ldp_aggregator.snapshot import counter_names, take_snapshot
from ldp_aggregator.stores import open_store
from ldp_aggregator.stores.store import count_reports
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, SURVEY
from tests.ldp_aggregator.collector.test_lost_store import Running
from tests.support.commands import command
from tests.support.servers import LocalRedis, wait_for

pytestmark = pytest.mark.slow


class Trial:
    """A collector that has counted reports in a Redis whose file can be replaced."""

    def __init__(self, survey: Path, server: LocalRedis, folder: Path, plan: Plan) -> None:
        self.redis, self.folder, self.plan = server, folder, plan
        self.collector = Running(survey, self.redis.url)
        self.collector.start()

    @property
    def files(self) -> Path:
        return self.folder / "appendonlydir"

    def post(self, count: int) -> list[int]:
        return [self.collector.post(self.plan) for _ in range(count)]

    def copy_files(self, folder: Path) -> None:
        """Copy the files of Redis, which is paused meanwhile: it may be about to replace them."""
        self.redis.signal(signal.SIGSTOP)
        shutil.copytree(self.files, folder)
        self.redis.signal(signal.SIGCONT)

    def restart_redis(self, files: Path | None) -> None:
        """Kill Redis, and start it with copies of other files, or with none."""
        self.redis.kill()
        shutil.rmtree(self.files)
        if files:
            shutil.copytree(files, self.files)
        self.redis.start()

    def count(self) -> int:
        store = open_store(self.redis.url)
        try:
            return count_reports(store.totals(self.plan.id))
        finally:
            store.close()


@pytest.fixture
def trial(survey: Path, server: LocalRedis, tmp_path: Path, plan: Plan) -> Iterator[Trial]:
    made = Trial(survey, server, tmp_path, plan)
    try:
        yield made
    finally:
        made.collector.stop()


def files_of_another_redis(folder: Path, survey: str) -> Path:
    """Return the files of a Redis that holds another survey."""
    folder.mkdir()
    other = LocalRedis(folder)
    other.start()
    try:
        store, plan = open_store(other.url), read_survey(survey).compile()
        store.publish(plan.id, plan.json)
        store.close()
    finally:
        other.kill()
    return folder / "appendonlydir"


OTHERS = {
    "no file": None,
    "another survey": SURVEY.replace('id = "sleep"', 'id = "diet"'),
    "another plan of the same survey": SURVEY.replace("epsilon = 1.0", "epsilon = 2.0"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_collector_acknowledges_nothing_in_the_file_of_another_survey(trial, tmp_path, other):
    survey, copy = OTHERS[other], tmp_path / "copy"
    assert trial.post(3) == [200] * 3
    trial.copy_files(copy)
    trial.restart_redis(survey and files_of_another_redis(tmp_path / "other", survey))
    assert set(trial.post(10)) == {503}
    wait_for(lambda: trial.collector.ready()[0] == 503)
    missing = "the store cannot be used now: survey-missing, sleep"
    wait_for(lambda: trial.collector.ready()[1].get("detail") == missing)
    assert trial.count() == 0
    trial.restart_redis(copy)
    wait_for(lambda: trial.collector.ready()[0] == 200)
    assert trial.post(2) == [200] * 2
    assert trial.count() == 5


def test_an_older_copy_is_noticed_and_after_a_restart_no_report_is_counted_twice(trial, tmp_path):
    def send(report: bytes) -> str:
        _, body = trial.collector.request(REPORTS, report)
        answer = json.loads(body)
        return str(answer.get("reason", answer["status"]))

    first, second = (make_report(trial.plan, ROW, "yes") for _ in range(2))
    assert send(first) == "recorded"
    trial.copy_files(tmp_path / "copy")
    assert send(second) == "recorded"
    trial.restart_redis(tmp_path / "copy")
    lost = "the store cannot be used now: reports-lost, sleep"
    wait_for(lambda: trial.collector.ready()[1].get("detail") == lost)
    assert send(second) == "store-unavailable"
    assert [each["reason"] for each in trial.collector.events("store-unavailable")][-1] == "reports-lost"
    assert trial.count() == 1
    trial.collector.reload("reloaded")  # new workers know how many reports the former ones have seen
    wait_for(lambda: len(trial.collector.events("worker-stopped")) == 1)
    (worker,) = trial.collector.workers()
    wait_for(lambda: send(second) == "store-unavailable")
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: len(trial.collector.events("worker-stopped")) == 2)
    wait_for(lambda: trial.collector.ready()[1].get("detail") == lost)
    assert send(second) == "store-unavailable"
    trial.collector.stop()
    trial.collector.start()
    assert [send(report) for report in (first, second, second)] == ["duplicate", "recorded", "duplicate"]
    assert trial.count() == 2


def test_a_damaged_survey_does_not_stop_the_others(trial, survey, tmp_path):
    diet = survey.with_name("diet.toml")
    diet.write_text(SURVEY.replace('id = "sleep"', 'id = "diet"'))
    diet_plan = read_survey(diet.read_text()).compile()
    with closing(open_store(trial.redis.url)) as store:
        store.publish("diet", diet_plan.json, counter_names(diet_plan))
    running, ready = trial.collector, ["the store cannot be used now: reports-lost, sleep"]

    def check(words: Sequence[str]) -> None:
        wait_for(lambda: running.ready()[1].get("detail") in words)
        report = make_report(diet_plan, ROW, "yes")
        assert running.request("/v1/surveys/diet/reports", report)[0] == 200
        statuses = {}
        for _ in range(40):
            status, body = running.request(REPORTS, make_report(trial.plan, ROW, "yes"))
            statuses[status] = json.loads(body)
        assert statuses.keys() == {200, 503} if words == ready else {503}
        assert "-lost, sleep" in statuses[503]["detail"] or "-missing, sleep" in statuses[503]["detail"]

    running.stop()
    running.start()
    assert set(trial.post(40)) == {200}
    with redis.Redis.from_url(trial.redis.url) as client:
        largest = max(client.keys("ldp:{sleep:*:ids"), key=client.hlen)
        client.delete(largest)
        check(ready)
        running.reload("reloaded")
        check(ready)
        running.stop()
        running.start()
        wait_for(lambda: "import it into a new store" in running.printed())
        check(ready)
        words = ("backup", "-o", tmp_path / "backup.db", "--store", trial.redis.url)
        result = command("ldp-collector", *words, check=False)
        assert (result.exit_code, "1 survey in" in result.output) == (1, True)
        assert "sleep is not in it: the store has lost data of sleep" in result.output
        with closing(open_store(f"sqlite:///{tmp_path}/backup.db", read_only=True)) as copy:
            assert copy.plans().keys() == {"diet"}
        client.hdel("ldp:plans", "sleep")
        running.stop()
        survey.rename(survey.with_name("sleep.toml"))
        diet.rename(survey)
        running.start()  # without the file of the lost survey
        check(["the store cannot be used now: survey-missing, sleep"])
        status = command("ldp-collector", "status", "--store", trial.redis.url).output
        assert (
            "sleep: THE STORE HAS LOST the plan of sleep: start a collector with the survey's file" in status
        )


def test_a_question_whose_counts_are_evicted_stops_and_an_operator_goes_on_with_the_rest(
    trial, survey, tmp_path
):
    assert set(trial.post(40)) == {200}
    with redis.Redis.from_url(trial.redis.url) as client:
        key = max(client.keys("ldp:{sleep:*:ids"), key=client.hlen)
        lost = int(client.hlen(key))
        client.delete(key.replace(b":ids", b":sums"))  # as an eviction does
    wait_for(
        lambda: (
            trial.collector.ready()[1].get("detail") == "the store cannot be used now: reports-lost, sleep"
        )
    )
    answers = trial.post(40)
    assert set(answers) == {200, 503}  # the other questions go on
    assert trial.count() == 40 - lost + answers.count(200)
    trial.collector.stop()
    new = f"sqlite:///{tmp_path}/new.db"
    words = ("import", "sleep", "--from", trial.redis.url, "--store", new, "--accept-loss")
    assert f"{lost} acknowledged report" in command("ldp-collector", *words).output
    trial.collector = Running(survey, new)
    trial.collector.start()
    wait_for(lambda: trial.collector.ready()[0] == 200)
    assert set(trial.post(40)) == {200}
    store = open_store(new)
    snapshot = take_snapshot(store, "sleep")
    assert (snapshot.total(), snapshot.losses.reports) == (40 - lost + answers.count(200) + 40, lost)
    store.close()
