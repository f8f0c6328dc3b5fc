"""Every example runs as its first lines say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

from encoders.survey.files import load_plan_file
from tests.servers import TOKEN, collector

EXAMPLES = Path(__file__).parent.parent / "examples"
SURVEY = EXAMPLES / "yrbss" / "survey.toml"


def run(script: str, *arguments: object, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_demo_counts_every_device() -> None:
    shown = run("demo.py", "--people", 500)
    assert "devices heard: 400 sent" in shown
    assert "400 reports" in shown
    assert re.search(r"this model, from randomised reports +\d", shown)


def test_the_smallest_embedding_and_training_from_a_snapshot(tmp_path: Path) -> None:
    plan = load_plan_file(SURVEY)
    with collector([SURVEY], f"sqlite:///{tmp_path}/ldp.db", workers=1) as (base, _):
        url = f"{base}/v1/surveys/{plan.id}"
        environment = {"LDP_SURVEY_URL": url, "LDP_JOURNAL": str(tmp_path / "journal.db")}
        first, second = run("embed.py", **environment), run("embed.py", **environment)
        request = urllib.request.Request(f"{url}/snapshot", headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request) as answer:
            (tmp_path / "snapshot.json").write_bytes(answer.read())
    assert "State.QUEUED" in first
    assert "State.SENT" in first
    assert "State.ALREADY_REPORTED" in second
    assert (
        sum(total["n"] for total in json.loads((tmp_path / "snapshot.json").read_bytes())["totals"].values())
        == 1
    )
    assert "NaiveBayes" in run("train.py", tmp_path / "snapshot.json", tmp_path / "model.json")
