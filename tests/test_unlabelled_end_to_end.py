"""Training with rows without labels over real sockets: devices, collector, training, prediction, ONNX."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from ldp_aggregator import load_model
from ldp_client import load_plan, make_report
from tests.support.commands import command, post_reports, run_program
from tests.support.overlapping import SURVEY, draw_people, to_columns, to_csv
from tests.support.servers import TOKEN, collector

pytestmark = pytest.mark.slow
PEOPLE = 6000


DOCS = Path(__file__).resolve().parents[1] / "docs"
NAMES = np.array(["yes", "no"])
BATCH = 1000


def let_people_report(url: str, count: int, seed: int) -> None:
    """Let new people send one report each, as their devices make it."""
    plan = load_plan(url)
    codes, labels = draw_people(count, seed)
    columns = to_columns(codes)
    people = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    reports = [make_report(plan, row, NAMES[label]) for row, label in zip(people, labels, strict=True)]
    for start in range(0, count, BATCH):
        assert post_reports(url, b"".join(reports[start : start + BATCH]))["recorded"] == BATCH


def run_examples(page: Path) -> None:
    """Run the Python examples of a page, one after the other, in the current folder."""
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        exec(example, names)


def test_rows_to_predict_improve_the_model_that_devices_reported(tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY)
    rows, truth = draw_people(2000, 2)
    (tmp_path / "rows.csv").write_text(to_csv(rows))
    with collector([tmp_path / "survey.toml"], f"sqlite:///{tmp_path}/ldp.db", workers=2) as (base, _):
        url = f"{base}/v1/surveys/overlapping"
        let_people_report(url, PEOPLE, 1)
        command("ldp-train", url, "-o", tmp_path / "plain.json", LDP_OPERATOR_TOKEN=TOKEN)
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
        ).stdout
    assert "Epsilon does NOT cover the unlabelled rows" in " ".join(printed.split())

    correct = {}
    for name in ("plain.json", "model.json"):
        lines = command("ldp-predict", tmp_path / name, tmp_path / "rows.csv").stdout.splitlines()
        predicted = list(csv.DictReader(lines))
        correct[name] = np.mean([row["tired"] for row in predicted] == NAMES[truth])
    assert correct["model.json"] > correct["plain.json"] + 0.03

    plain, fitted = (json.loads((tmp_path / name).read_bytes()) for name in ("plain.json", "model.json"))
    assert fitted["estimates"] == plain["estimates"]
    command("ldp-results", tmp_path / "model.json", "-o", tmp_path / "page.html")
    assert "Epsilon does NOT cover" in (tmp_path / "page.html").read_text()

    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    feeds = {name: np.array(column) for name, column in to_columns(rows).items()}
    _, probabilities = session.run(None, feeds)
    expected = load_model(tmp_path / "model.json").predict_proba(to_columns(rows))
    np.testing.assert_allclose(probabilities, expected, rtol=1e-12)


def test_devices_validate_both_classifiers_and_their_answers_choose(tmp_path, monkeypatch):
    survey, store = tmp_path / "survey.toml", f"sqlite:///{tmp_path}/ldp.db"
    survey.write_text(SURVEY)
    (tmp_path / "rows.csv").write_text(to_csv(draw_people(500, 2)[0]))
    with_rows = ["--unlabelled", tmp_path / "rows.csv"]
    token = {"LDP_OPERATOR_TOKEN": TOKEN}
    with collector([survey], store) as (base, _):
        url = f"{base}/v1/surveys/overlapping"
        let_people_report(url, PEOPLE, 1)
        for name, options in (("plain", []), ("fitted", with_rows)):
            command("ldp-train", url, "-o", tmp_path / f"{name}.json", *options, **token)
            model = ["--model", tmp_path / f"{name}.json"]
            (tmp_path / f"{name}.toml").write_text(command("ldp-survey", "validate", *model, survey).stdout)
    with collector([survey, tmp_path / "plain.toml", tmp_path / "fitted.toml"], store) as (base, _):
        urls = [f"{base}/v1/surveys/overlapping{end}" for end in ("", "-validation", "-validation-fitted")]
        for seed, url in enumerate(urls[1:], 3):
            let_people_report(url, 2000, seed)
        printed = command("ldp-train", *urls, *with_rows, "-o", tmp_path / "model.json", **token).stdout
    assert "Two validation rounds measured an accuracy of" in " ".join(printed.split())

    content = json.loads((tmp_path / "model.json").read_bytes())
    description = content["unlabelled"]
    fitted, plain = (description["compared"][kind] for kind in ("logistic regression", "naive bayes"))
    assert (fitted["survey"], fitted["reports"]) == ("overlapping-validation-fitted", 2000)
    assert (plain["survey"], plain["reports"]) == ("overlapping-validation", 2000)
    truth, labels = draw_people(20_000, 9)
    right = load_model(tmp_path / "fitted.json").predict(to_columns(truth)) == NAMES[labels]
    assert abs(fitted["accuracy"] - right.mean()) < 6 * fitted["stderr"] + 0.03
    significant = abs(fitted["accuracy"] - plain["accuracy"]) > 1.2816 * np.hypot(
        fitted["stderr"], plain["stderr"]
    )
    assert description["chosen_by"] == ("answers" if significant else "reports")
    keeps_naive_bayes = significant and plain["accuracy"] > fitted["accuracy"]
    assert description["classifier"] == ("naive bayes" if keeps_naive_bayes else "logistic regression")
    kept, other = (content["privacy"][name]["plan_digest"] for name in ("validation", "compared_validation"))
    assert kept != other
    assert {content["privacy"][name]["reports"] for name in ("validation", "compared_validation")} == {2000}

    pytest.importorskip("pandas")
    for end, name in (
        ("", "snapshot"),
        ("-validation", "plain-round"),
        ("-validation-fitted", "fitted-round"),
    ):
        output = tmp_path / f"{name}.json"
        command("ldp-collector", "export", f"overlapping{end}", "--store", store, "-o", output)
    monkeypatch.chdir(tmp_path)
    for page in ("unlabelled-rows.md", "unlabelled-rounds.md"):
        run_examples(DOCS / page)
    assert json.loads((tmp_path / "model.json").read_bytes())["unlabelled"] == description
