"""A training that is killed at any call to the system never understates what it spent."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ldp_central.curator_ledger import Ledger
from tests.support.central_surveys import make_csv, survey_text
from tests.support.commands import command
from tests.support.servers import inherited_environment

ROOT = Path(__file__).resolve().parents[3]


def read(folder: Path) -> Ledger | None:
    path = folder / "rows.csv.ledger"
    return Ledger.parse(path.read_bytes()) if path.exists() else None


def train(survey: Path, folder: Path) -> bytes:
    options = ["--epsilon", 1, "--learner", "nb", "--cap", 2, "-o", folder / "again.json"]
    command("ldp-central", "train", survey, folder / "rows.csv", *options)
    return (folder / "again.json").read_bytes()


@pytest.mark.slow
def test_a_training_killed_at_any_call_never_understates_what_was_spent(tmp_path):
    survey, rows, output = tmp_path / "survey.toml", tmp_path / "rows.csv", tmp_path / "model.json"
    survey.write_text(survey_text())
    rows.write_text(make_csv(300))
    words = [sys.executable, "-m", "tests.support.killed_trainings", str(survey), str(rows), str(output)]
    run = subprocess.run(
        words,
        cwd=ROOT,
        env={**inherited_environment(), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    children = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"killed"')]
    assert len(children) > 20
    states = set()
    for number, child in enumerate(children, 1):
        folder = tmp_path / str(number)
        ledger, released = read(folder), (folder / "model.json").exists()
        spent = 0 if ledger is None else ledger.spent
        finished = bool(ledger and ledger.entries[-1].model)
        assert spent >= child["drew"], "noise was drawn before its amount was committed"
        assert finished >= released, "a model was released before the ledger had it"
        states.add((spent == 1, child["drew"], finished, released))
        if released:
            assert (folder / "model.json").read_bytes() == ledger.find_model(ledger.entries[-1].request)
        again = train(survey, folder)
        after = read(folder)
        assert after.spent == spent + (not finished)
        assert after.find_model(after.entries[-1].request) == again
        if finished:
            assert again == ledger.find_model(ledger.entries[-1].request)
        assert train(survey, folder) == again
    # the points of failure cover every state that a process can leave
    assert states == {
        (False, False, False, False),
        (True, False, False, False),
        (True, True, False, False),
        (True, True, True, False),
        (True, True, True, True),
    }
    assert not children[-1]["killed"]
    assert children[-1]["drew"]
