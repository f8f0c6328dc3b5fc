"""Reloading the files of a running collector, and stopping it."""

import json
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from subprocess import Popen
from urllib.parse import urlsplit

import pytest

from encoders.report import MEDIA_TYPE, unpack
from encoders.survey import read_survey
from ldp_aggregator.stores import Total, open_store
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import REPORTS, ROW, SURVEY, ask, some_reports
from tests.support.access import access, write_tokens
from tests.support.servers import collector, free_port, wait_for, workers_of

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sleep.toml").write_text(SURVEY)
    configure(tmp_path, "sleep.toml")
    return tmp_path


def configure(folder: Path, *surveys: str, **settings: object) -> Path:
    path = folder / "collector.toml"
    given = {"surveys": list(surveys), "workers": 2, "store": store(folder), **settings}
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items()))
    return path


def serving(folder: Path) -> AbstractContextManager[tuple[str, Popen[str]]]:
    options = ["--config", folder / "collector.toml"]
    return collector([], None, workers=None, token=None, options=options, log=folder / "log")


def store(folder: Path) -> str:
    return f"sqlite:///{folder}/ldp.db"


def totals(folder: Path) -> dict[str, Total]:
    opened = open_store(store(folder))
    found = opened.totals("sleep")
    opened.close()
    return found


def counted(folder: Path) -> int:
    return sum(total.n for total in totals(folder).values())


def logged(folder: Path, event: str) -> list[dict[str, object]]:
    lines = map(json.loads, (folder / "log").read_text().splitlines())
    return [line for line in lines if line["event"] == event]


def reload(folder: Path, process: Popen[str], event: str = "reloaded") -> dict[str, object]:
    before = len(logged(folder, event))
    process.send_signal(signal.SIGHUP)
    wait_for(lambda: len(logged(folder, event)) > before)
    return logged(folder, event)[-1]


def post(base: str, body: bytes, token: str = "") -> int:
    return ask(f"{base}{REPORTS}", body, token)[0]


def get(base: str, path: str, token: str = "") -> int:
    return ask(f"{base}{path}", token=token)[0]


def test_every_post_gets_a_response_during_reloads_under_load(folder, plan):
    done = threading.Event()

    def keep_posting(base: str) -> list[int]:
        responses = []
        while not done.is_set() or len(responses) <= 12:
            responses.append(post(base, make_report(plan, ROW, "yes")))
        return responses

    with serving(folder) as (base, process), ThreadPoolExecutor(4) as pool:
        first = set(workers_of(process))
        posting = [pool.submit(keep_posting, base) for _ in range(4)]
        try:
            for _ in range(3):
                reload(folder, process)
        finally:
            done.set()
        responses = [response for each in posting for response in each.result()]
        assert set(responses) == {200}
        wait_for(lambda: not first & set(workers_of(process)))
    assert counted(folder) == len(responses) > 50


def test_a_reload_serves_the_current_files(folder):
    (folder / "diet.toml").write_text(SURVEY.replace('"sleep"', '"diet"'))
    first, second = "the-first-token-of-all", "the-second-token-of-all"
    (folder / "token").write_text(f"{first}\n")
    with serving(folder) as (base, process):
        first_workers = set(workers_of(process))
        assert (get(base, "/v1/surveys/diet"), get(base, "/metrics")) == (404, 403)
        configure(folder, "sleep.toml", "diet.toml", workers=3, operator_token_file="token")
        line = reload(folder, process)
        assert (line["surveys"], line["workers"]) == (["sleep", "diet"], 3)
        diet = read_survey((folder / "diet.toml").read_text()).compile()
        assert line["new"] == {"diet": diet.digest}
        wait_for(lambda: not first_workers & set(workers_of(process)) and len(workers_of(process)) == 3)
        assert (get(base, "/v1/surveys/diet"), get(base, "/metrics", first)) == (200, 200)
        (folder / "token").write_text(f"{second}\n")
        reload(folder, process)
        wait_for(lambda: (get(base, "/metrics", first), get(base, "/metrics", second)) == (401, 200))


DAMAGED = [
    ("sleep.toml", SURVEY.replace("1.0", "-1"), "sleep.toml: line 3: survey.epsilon"),
    ("sleep.toml", SURVEY.replace("1.0", "1.5"), "already has another plan"),
    ("collector.toml", "workers = 99", "collector.toml: workers: 99 is not in the range"),
    ("collector.toml", "workers = 3", "Missing argument 'SURVEYS"),
    ("collector.toml", "surveys = ['gone.toml']", "gone.toml"),
]


def test_a_damaged_file_is_logged_and_the_old_surveys_are_served(folder, plan):
    with serving(folder) as (base, process):
        wait_for(lambda: len(logged(folder, "worker-started")) == 2)
        workers = workers_of(process)
        for file, text, reason in DAMAGED:
            good = (folder / file).read_text()
            (folder / file).write_text(text)
            assert reason in str(reload(folder, process, "reload-failed")["reason"])
            assert workers_of(process) == workers
            assert post(base, make_report(plan, ROW, "yes")) == 200
            (folder / file).write_text(good)
        reload(folder, process)
        assert get(base, "/v1/surveys/sleep") == 200


def test_a_changed_store_or_address_is_logged_to_need_a_restart(folder, plan):
    with serving(folder) as (base, process):
        operator_address = f"127.0.0.1:{free_port()}"
        configure(folder, "sleep.toml", store=f"sqlite:///{folder}/other.db", operator_bind=operator_address)
        reload(folder, process)
        assert [line["setting"] for line in logged(folder, "restart-needed")] == ["store", "operator_bind"]
        assert get(base, "/") == 200  # still served here: there is no other address yet
        assert not takes_connections(f"http://{operator_address}")
        assert post(base, make_report(plan, ROW, "yes")) == 200
    assert counted(folder) == 1
    assert not (folder / "other.db").exists()


def test_a_report_in_transfer_during_a_stop_is_counted_and_acknowledged(folder, plan):
    question = plan.questions[1]  # its support counters are written some seconds later
    report = next(
        report
        for report in iter(lambda: make_report(plan, ROW, "yes"), None)
        if unpack(report).question == question.index
    )
    head = f"POST /v1/surveys/sleep/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\n"
    with serving(folder) as (base, process):
        wait_for(lambda: len(logged(folder, "worker-started")) == 2)
        assert post(base, b"junk") == 400
        where = urlsplit(base)
        with socket.create_connection((where.hostname, where.port), 60) as line:
            line.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(report) + report[:5])
            wait_for(lambda: get(base, "/livez") == 200)  # by now the body is being read
            process.send_signal(signal.SIGTERM)
            wait_for(lambda: not takes_connections(base))
            line.sendall(report[5:])
            assert line.recv(4096).startswith(b"HTTP/1.1 200")
        assert process.wait(60) == 0
    assert [line["event"] for line in logged(folder, "stopped")] == ["stopped"]
    assert totals(folder)[question.key].n == 1
    assert totals(folder)[question.support_key].cells.any()
    opened = open_store(store(folder))
    assert opened.rejections("sleep") == {"malformed": 1}
    opened.close()


def takes_connections(base: str) -> bool:
    where = urlsplit(base)
    with socket.socket() as line:
        return line.connect_ex((where.hostname, where.port)) == 0


def test_a_reload_keeps_the_operator_s_address_and_activates_a_gateway_s_token(folder, plan):
    port, token = free_port(), "the-token-of-the-gateways"
    operator_address, both = f"http://127.0.0.1:{port}", some_reports(plan, 2)
    limited = {"operator_bind": f"127.0.0.1:{port}", "rate": 100}
    configure(folder, "sleep.toml", **limited)
    with serving(folder) as (base, process):
        assert (get(base, "/"), get(operator_address, "/"), post(base, both)) == (404, 200, 403)
        write_tokens(folder / "tokens.toml", access("gateway", token))
        configure(folder, "sleep.toml", **limited, tokens="tokens.toml")
        first = set(workers_of(process))
        reload(folder, process)
        wait_for(lambda: not first & set(workers_of(process)) and len(workers_of(process)) == 2)
        assert (get(base, "/"), get(operator_address, "/"), post(base, both, token)) == (404, 200, 200)
        assert logged(folder, "restart-needed") == []


def test_a_closed_log_pipe_affects_only_the_log(folder, plan):
    log = folder / "log"
    os.mkfifo(log)
    read = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    with serving(folder) as (base, process):
        wait_for(lambda: len(workers_of(process)) == 2)
        os.close(read)
        first = workers_of(process)
        os.kill(first[0], signal.SIGKILL)
        wait_for(lambda: len(workers_of(process)) == 2 and not set(first) <= set(workers_of(process)))
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: not set(first) & set(workers_of(process)) and len(workers_of(process)) == 2)
        assert post(base, make_report(plan, ROW, "yes")) == 200
