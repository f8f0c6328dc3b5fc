"""The whole protocol over real sockets: devices, collector, store, training, prediction."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

import pytest

from ldp_aggregator import load_model
from ldp_client import Client, State, load_plan, make_report
from tests.support.commands import command, post_reports, run_program
from tests.support.servers import TOKEN, collector, redis_server
from tests.support.surveys import survey_toml

pytestmark = pytest.mark.slow

SURVEY = survey_toml(
    id="missed-payments",
    epsilon=20.0,  # nearly every report is the true answer
    label={"name": "missed"},
    features={
        "age": ["young", "medium", "old"],
        "income": ["low", "medium", "high"],
        "gender": ["male", "female"],
    },
)
# Yilmaz et al. 2019, table 1: age, income, gender, missed payment
TABLE = """
young low male yes
young high female yes
medium high male no
old medium male no
old high male no
old low female yes
medium low female no
medium medium male yes
young low male no
old high female no
"""
PEOPLE = [
    (dict(zip(("age", "income", "gender"), cells[:3], strict=True)), cells[3])
    for cells in map(str.split, TABLE.strip().splitlines())
]
REPORTS = 600
DEVICES = 120


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ldp.db"
    else:
        with redis_server(tmp_path) as url:
            yield url


def test_a_model_learns_what_devices_report(store, tmp_path):
    run = run_program if store.startswith("sqlite") else command  # a process is slow: once is enough
    (tmp_path / "survey.toml").write_text(SURVEY)
    with collector([tmp_path / "survey.toml"], store, workers=3) as (base, _):
        url = f"{base}/v1/surveys/missed-payments"
        plan = load_plan(url)

        def device(number: int) -> State:
            row, label = PEOPLE[number % len(PEOPLE)]
            journal = tmp_path / f"device-{number}.db" if number % 2 else ":memory:"
            with Client(plan, url, journal=journal, max_epsilon=20) as client:
                assert client.grant().state is State.READY
                assert client.report(row, label).state is State.QUEUED
                assert client.report(row, label).state is State.ALREADY_REPORTED
                return client.flush().state

        with ThreadPoolExecutor(4) as pool:
            # a duplicate is a retry of the same bytes after a lost response: it is counted once
            assert set(pool.map(device, range(DEVICES))) <= {State.SENT, State.DUPLICATE}
        others = [make_report(plan, row, label) for row, label in islice(cycle(PEOPLE), REPORTS - DEVICES)]
        counts = post_reports(url, b"".join(others))
        assert counts == {"recorded": REPORTS - DEVICES, "duplicate": 0, "rejected": []}
        run("ldp-train", url, "-o", tmp_path / "model.json", LDP_OPERATOR_TOKEN=TOKEN)

    command("ldp-train", store, "-o", tmp_path / "again.json")
    for trained in ("model.json", "again.json"):
        assert json.loads((tmp_path / trained).read_bytes())["estimates"]["reports"] == REPORTS
    model = load_model(tmp_path / "model.json")
    person = {"age": "young", "income": "medium", "gender": "female"}
    # every tenth report is of the same person, so that shares are exact in expectation: .025 against .0056
    assert model.predict([person]).tolist() == ["yes"]
    (tmp_path / "rows.csv").write_text("age,income,gender\nyoung,medium,female\nold,high,male\n")
    lines = run("ldp-predict", tmp_path / "model.json", tmp_path / "rows.csv").stdout.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("yes,")
    assert lines[2].startswith("no,")
