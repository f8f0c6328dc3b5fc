"""Training with rows without labels over real sockets: devices, collector, training, prediction, ONNX."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from ldp_aggregator import load_model
from ldp_client import load_plan, make_report
from tests.support.commands import post_reports, run_command, run_program
from tests.support.overlapping import SURVEY, draw_people, to_columns, to_csv
from tests.support.servers import TOKEN, collector

pytestmark = pytest.mark.slow
PEOPLE = 6000


def test_rows_to_predict_improve_the_model_that_devices_reported(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY)
    codes, labels = draw_people(PEOPLE, 1)
    rows, truth = draw_people(2000, 2)
    (tmp_path / "rows.csv").write_text(to_csv(rows))
    names = np.array(["yes", "no"])
    with collector([tmp_path / "survey.toml"], f"sqlite:///{tmp_path}/ldp.db", workers=2) as (base, _):
        url = f"{base}/v1/surveys/overlapping"
        plan = load_plan(url)
        columns = to_columns(codes)
        people = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
        reports = [make_report(plan, row, names[label]) for row, label in zip(people, labels, strict=True)]
        for start in range(0, PEOPLE, 1000):
            assert post_reports(url, b"".join(reports[start : start + 1000]))["recorded"] == 1000
        run_command("ldp-train", url, "-o", tmp_path / "plain.json", LDP_OPERATOR_TOKEN=TOKEN)
        printed = run_program(
            "ldp-train",
            url,
            "--unlabelled",
            tmp_path / "rows.csv",
            "-o",
            tmp_path / "model.json",
            "--onnx",
            tmp_path / "model.onnx",
            LDP_OPERATOR_TOKEN=TOKEN,
        )
    assert "Epsilon does NOT cover the rows without labels" in " ".join(printed.split())

    correct = {}
    for name in ("plain.json", "model.json"):
        lines = run_command("ldp-predict", tmp_path / name, tmp_path / "rows.csv").splitlines()
        predicted = list(csv.DictReader(lines))
        correct[name] = np.mean([row["tired"] for row in predicted] == names[truth])
    assert correct["model.json"] > correct["plain.json"] + 0.03

    plain, fitted = (json.loads((tmp_path / name).read_bytes()) for name in ("plain.json", "model.json"))
    assert fitted["estimates"] == plain["estimates"]
    run_command("ldp-results", tmp_path / "model.json", "-o", tmp_path / "page.html")
    assert "Epsilon does NOT cover" in (tmp_path / "page.html").read_text()

    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    feeds = {name: np.array(column) for name, column in to_columns(rows).items()}
    _, probabilities = session.run(None, feeds)
    expected = load_model(tmp_path / "model.json").predict_proba(to_columns(rows))
    np.testing.assert_allclose(probabilities, expected, rtol=1e-12)
