"""ldp-central with a survey without a label, and with several answers: tables, refusals, texts."""

import csv
import io
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from encoders.survey.toml_reader import read_curator_survey
from ldp_aggregator import load_model
from ldp_aggregator.classifiers import save_onnx
from ldp_aggregator.results_file import ModelError
from ldp_central.curator_ledger import Ledger
from ldp_central.curator_training import read_curator_rows
from tests.support.commands import command
from tests.support.surveys import survey_toml

FEATURES = {
    "smoker": ["yes", "no"],
    "drinks": {"choices": ["beer", "wine"], "missing": "category"},
    "age": {"range": [0, 100], "bins": 4},
    "weight": {"range": [30, 130]},
    "pulse": {"range": [40, 160], "missing": "category"},
}
SURVEY = survey_toml(id="habits", kind="central", epsilon=None, label=None, features=FEATURES)
EMPTY_NAMES = re.compile(r"\(\)|\'\'|(?<![=,\[])(?<!= )\"\"|: ,|, ,|<bdi[^>]*></bdi>")


def draw_row(draw: random.Random) -> dict[str, str]:
    ticks = [each for each, share in (("beer", 0.3), ("wine", 0.6)) if draw.random() < share]
    return {
        "": "a column without a name",
        "smoker": "yes" if draw.random() < 0.3 else "no",
        "drinks": "" if draw.random() < 0.1 else "; ".join(ticks) or ";",
        "age": str(draw.randrange(100)),
        "weight": f"{draw.gauss(80, 10):.1f}",
        "pulse": "" if draw.random() < 0.2 else str(draw.randrange(60, 100)),
    }


def write_rows(path: Path, count: int = 5000, label: str = "") -> None:
    draw = random.Random(1)
    rows = [draw_row(draw) for _ in range(count)]
    if label:  # beer drinkers are ill
        rows = [row | {label: "yes" if "beer" in row["drinks"] else "no"} for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "survey.toml").write_text(SURVEY)
    write_rows(tmp_path / "rows.csv")
    return tmp_path


def train(folder: Path, *words: object, output: str = "model.json"):
    files = (folder / "survey.toml", folder / "rows.csv")
    return command("ldp-central", "train", *files, *words, "-o", folder / output, check=False)


@pytest.mark.slow
def test_the_tables_of_all_features_are_released_with_the_whole_epsilon(folder):
    result = train(folder, "--epsilon", 1, "--csv", folder / "table.csv")
    assert result.exit_code == 0, result.output
    privacy = json.loads((folder / "model.json").read_bytes())["privacy"]["curator"]
    assert privacy["steps"] == [{"step": "tables", "epsilon": "1", "delta": "0"}]
    assert (privacy["are_rows_public"], privacy["delta"]) == (False, "0")
    assert abs(privacy["expected_rows"] - 5000) < 100
    assert Ledger.parse((folder / "rows.csv.ledger").read_bytes()).spent == 1
    with (folder / "table.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    found = {(row["feature"], row["statistic"], row["value"]): row for row in rows}
    truth = {
        ("smoker", "P(value)", "yes"): 0.3,
        ("drinks", "P(value)", "beer"): 0.27,
        ("drinks", "P(value)", "wine"): 0.54,
        ("drinks", "P(missing)", ""): 0.1,
        ("weight", "mean", ""): 80,
        ("weight", "standard deviation", ""): 10,
        ("pulse", "P(missing)", ""): 0.2,
    }
    for key, value in truth.items():
        row = found[key]
        assert abs(float(row["raw"]) - value) < 5.5 * float(row["stderr"])  # false alarms below 1e-6
    assert not {"class", "distinguishable"} & set(rows[0])
    assert {row["feature"] for row in rows} == set(FEATURES)


def test_the_check_of_the_survey_warns_of_nothing(folder):
    shown = command("ldp-survey", "check", folder / "survey.toml").output
    assert "ldp-central train SURVEY.toml ROWS.csv --epsilon 1 -o model.json" in shown
    assert "warning" not in shown


@pytest.mark.slow
def test_a_public_number_of_rows_stays_public(folder):
    (folder / "survey.toml").write_text(SURVEY.replace("[survey]\n", "[survey]\nusers = 4000\n"))
    assert train(folder, "--epsilon", 2, "--delta", "1e-6").exit_code == 0
    privacy = json.loads((folder / "model.json").read_bytes())["privacy"]["curator"]
    assert (privacy["expected_rows"], privacy["are_rows_public"]) == (4000, True)
    assert privacy["steps"] == [{"step": "tables", "epsilon": "2", "delta": "1/1000000"}]


@pytest.mark.parametrize("learner", ["linear", "tree"])
def test_a_learner_that_only_predicts_is_refused_before_anything_is_spent(folder, learner):
    result = train(folder, "--epsilon", 1, "--learner", learner)
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: the survey has no label, so the learner {learner} cannot predict one: use --learner nb, "
        "which releases the tables of all features\n"
    )
    assert not (folder / "rows.csv.ledger").exists()


@pytest.mark.slow
def test_the_same_training_by_another_name_is_a_repetition(folder):
    train(folder, "--epsilon", 1)
    again = train(folder, "--epsilon", 1, "--learner", "nb", output="again.json")
    assert "written again, and nothing more is spent" in " ".join(again.stderr.split())
    assert (folder / "again.json").read_bytes() == (folder / "model.json").read_bytes()


@pytest.mark.slow
def test_one_row_changes_each_table_by_one_unit(folder):
    from ldp_central.curator_naive_bayes import exact_tables

    rows = read_curator_rows(read_curator_survey(SURVEY), folder / "rows.csv").rows
    for one in range(50):
        fewer = rows.take(np.arange(len(rows)) != one)
        for (more, unit), (less, _) in zip(exact_tables(rows), exact_tables(fewer), strict=True):
            assert more.shape[1] == 1
            assert np.abs(more - less).sum() == unit


@pytest.mark.slow
def test_the_model_has_estimates_and_predicts_nothing(folder):
    train(folder, "--epsilon", 1)
    model = load_model(folder / "model.json")
    assert set(model.to_frame()["feature"]) == set(FEATURES)
    row = {"smoker": "no", "drinks": ["wine"], "age": 3, "weight": 80, "pulse": None}
    for method, words in (
        (model.predict, ([{}],)),
        (model.predict_proba, ([row],)),
        (model.score, ([row], ["x"])),
    ):
        with pytest.raises(ModelError, match="habits: this survey has no label, so there is no classifier"):
            method(*words)
    assert not model.notices
    assert not hasattr(model, "classes_")
    with pytest.raises(ModelError, match="so there is no classifier: there is nothing to export"):
        save_onnx(folder / "model.onnx", model)


@pytest.mark.slow
def test_no_text_mentions_a_label(folder):
    shown = [train(folder, "--epsilon", 1, "--csv", folder / "table.csv").output]
    shown.append(command("ldp-central", "status", folder / "rows.csv").output)
    shown.append(command("ldp-results", folder / "model.json", "-o", folder / "page.html").output)
    model = load_model(folder / "model.json")
    shown += [(folder / name).read_text() for name in ("page.html", "table.csv", "model.json")]
    shown += [str(model), repr(model), model.card(), model._repr_html_()]
    for text in shown:
        plain = re.sub(r"aria-label\w*|<style.*?</style>", "", text.replace(str(folder), ""), flags=re.DOTALL)
        assert "label" not in plain
        assert not EMPTY_NAMES.search(plain)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["nb", "linear", "tree"])
def test_each_learner_uses_several_answers_of_a_survey_with_a_label(folder, learner):
    label = {"name": "ill", "values": ["yes", "no"]}
    text = survey_toml(id="habits", kind="central", epsilon=None, label=label, features=FEATURES)
    (folder / "survey.toml").write_text(text)
    write_rows(folder / "rows.csv", label="ill")
    extra = ("--csv", folder / "table.csv") if learner == "nb" else ()
    assert train(folder, "--epsilon", 2, "--learner", learner, *extra).exit_code == 0
    model = load_model(folder / "model.json")
    row = {"smoker": "no", "drinks": ["wine"], "age": 3, "weight": 80, "pulse": None}
    assert model.predict([row, row | {"drinks": ["beer", "wine"]}]).tolist() == ["no", "yes"]
    command("ldp-results", folder / "model.json", "-o", folder / "page.html")
    if extra:
        with pytest.raises(ModelError, match="several answers cannot be exported as ONNX: use ldp-predict"):
            save_onnx(folder / "model.onnx", model)
        with (folder / "table.csv").open() as stream:
            rows = [row for row in csv.DictReader(stream) if row["feature"] == "drinks"]
        values = {row["value"] for row in rows if row["statistic"].startswith("P(")}
        assert values == {"", "beer", "wine"}
        compared = {row["value"] for row in rows if row["class"] == "yes vs no"}
        assert compared == {"beer", "wine", "(missing)"}
