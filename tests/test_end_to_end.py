"""One report's whole way, over real sockets: devices, collector, store, training, prediction."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ldp_aggregator import load_model
from ldp_client import Client, State, load_plan
from tests.support.servers import TOKEN, collector, inherited_environment, redis_server

SURVEY = """
[survey]
id = "missed-payments"
epsilon = 20.0   # so that the truth comes out as it went in

[label]
name = "missed"
values = ["yes", "no"]

[features.age]
values = ["young", "medium", "old"]
[features.income]
values = ["low", "medium", "high"]
[features.gender]
values = ["male", "female"]
"""
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
DEVICES = 600


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ldp.db"
    else:
        with redis_server(tmp_path) as url:
            yield url


def command(name: str, *arguments: object, **environment: str) -> str:
    """Run a command in this process's environment, with only these LDP_ variables; return what it prints."""
    program = str(Path(sys.executable).parent / name)
    result = subprocess.run(
        [program, *map(str, arguments)],
        env=inherited_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_what_devices_say_is_what_the_model_knows(store: str, tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY)
    with collector([tmp_path / "survey.toml"], store, workers=3) as (base, _):
        url = f"{base}/v1/surveys/missed-payments"
        plan = load_plan(url)

        def device(number: int) -> State:
            row, label = PEOPLE[number % len(PEOPLE)]
            journal = tmp_path / f"device-{number}.db" if number < 50 else ":memory:"
            with Client(plan, url, journal=journal, max_epsilon=20) as client:
                assert client.grant().state is State.READY
                assert client.report(row, label).state is State.QUEUED
                assert client.report(row, label).state is State.ALREADY_REPORTED
                return client.flush().state

        with ThreadPoolExecutor(4) as pool:
            # a duplicate is a retry of the same bytes whose first answer was lost: counted once all the same
            assert set(pool.map(device, range(DEVICES))) <= {State.SENT, State.DUPLICATE}
        command("ldp-train", url, "-o", tmp_path / "model.json", LDP_OPERATOR_TOKEN=TOKEN)

    command("ldp-train", store, "-o", tmp_path / "again.json")
    for trained in ("model.json", "again.json"):
        assert json.loads((tmp_path / trained).read_bytes())["estimates"]["reports"] == DEVICES
    model = load_model(tmp_path / "model.json")
    ask = {"age": "young", "income": "medium", "gender": "female"}
    # every tenth device is the same person, so shares are exact in expectation: .025 against .0056
    assert model.predict([ask]).tolist() == ["yes"]
    (tmp_path / "rows.csv").write_text("age,income,gender\nyoung,medium,female\nold,high,male\n")
    lines = command("ldp-predict", tmp_path / "model.json", tmp_path / "rows.csv").splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("yes,")
    assert lines[2].startswith("no,")
