"""ldp-train on surveys of silos, alone and with one of people: model files, pages, tables, predictions."""

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoders.errors import SurveyError
from ldp_aggregator import load_model
from ldp_aggregator.results_file import ModelError, read_trained
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import open_store
from tests.ldp_aggregator.views.samples import (
    PEOPLE,
    SILOS,
    draw_silo_rows,
    record_messages,
    simulate_people_of_silos,
)
from tests.support.commands import command
from tests.support.damaged_json import signed
from tests.support.silo_surveys import read_silo_survey

PLAN = read_silo_survey(SILOS).compile()
ROWS = [
    {"smoker": "yes", "age": 60, "weight": 60, "pulse": 90},
    {"smoker": "no", "age": 20, "weight": 95, "pulse": None},
]


def count_messages(url, **options):
    """Count the messages of silos in the store at a URL."""
    store = open_store(url)
    record_messages(store, **options)
    store.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A store with messages of three silos, and a snapshot of 2,000 people."""
    folder = tmp_path_factory.mktemp("silos")
    count_messages(f"sqlite:///{folder}/wards.db")
    (folder / "people.json").write_bytes(simulate_people_of_silos().to_json())
    return folder


run = partial(command, check=False)


def sources_of(folder: Path, kind: str) -> list[str]:
    return [f"sqlite:///{folder}/wards.db", *([str(folder / "people.json")] if kind == "pooled" else [])]


@pytest.fixture(scope="module", params=["silos", "pooled"])
def trained(request, folder) -> tuple[str, Path, str]:
    """The kind, the path of the model and the output of a training."""
    path = folder / f"{request.param}.json"
    result = run(
        "ldp-train", *sources_of(folder, request.param), "-o", path, "--csv", path.with_suffix(".csv")
    )
    assert result.exit_code == 0, result.output
    return request.param, path, result.output


def words_of(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
def test_the_model_file_states_what_a_message_guarantees(trained):
    kind, path, _ = trained
    model = load_model(path)
    [privacy] = model.privacy_.silos
    assert (privacy.plan_digest, privacy.epsilon, privacy.messages) == (PLAN.digest, "1", 3)
    assert (privacy.rows_per_person, privacy.rows_limit, privacy.rejected) == (1, 3000, {})
    silos = model.estimates_.silos
    assert (silos.messages, silos.people) == (3, 2000 if kind == "pooled" else None)
    assert all(0 < each <= 1 for each in silos.influence.conditionals)
    assert "trust='silo'" in repr(model)


@pytest.mark.slow
def test_the_model_predicts_in_python_on_the_command_line_and_as_onnx(trained):
    _, path, _ = trained
    model = load_model(path)
    probabilities = model.predict_proba(ROWS)
    assert probabilities.sum(axis=1) == pytest.approx([1, 1])
    codes, labels = draw_silo_rows(4000, 77)
    best = model.log_probabilities_.compute_scores(codes).argmax(axis=1)
    assert (model.classes_[best] == np.array(PLAN.label.values)[labels]).mean() > 0.75
    rows = path.with_suffix(".rows.csv")
    rows.write_text("smoker,age,weight,pulse\nyes,60,60,90\nno,20,95,\n")
    result = run("ldp-predict", path, rows)
    assert result.exit_code == 0, result.output
    found = [[float(cell) for cell in line.split(",")[1:]] for line in result.output.splitlines()[1:]]
    assert np.array(found) == pytest.approx(probabilities, abs=1e-6)
    runtime = pytest.importorskip("onnxruntime")
    from ldp_aggregator.classifiers.export.onnx import to_onnx

    exported = to_onnx(model)
    metadata = {each.key: each.value for each in exported.metadata_props}
    assert (metadata["epsilon"], metadata["trust"]) == ("1", "silo")
    assert runtime.InferenceSession(exported.SerializeToString()) is not None


def test_the_table_has_the_same_columns_and_counts_rows(trained):
    kind, path, _ = trained
    with path.with_suffix(".csv").open() as file:
        table = list(csv.DictReader(file))
    frame = load_model(path).to_frame()
    assert len(frame) == len(table)
    prior = [row for row in table if row["statistic"] == "P(class)"]
    assert sum(float(row["estimate"]) for row in prior) == pytest.approx(1)
    low, high = (4900, 5100) if kind == "pooled" else (2900, 3100)
    assert all(low < int(row["n"]) < high for row in prior)
    mechanisms = {row["mechanism"] for row in table if row["feature"] == "smoker"}
    assert mechanisms == ({"DE + count_table"} if kind == "pooled" else {"count_table"})
    smoker = [row for row in table if row["feature"] == "smoker" and row["statistic"] == "P(value | class)"]
    assert {row["distinguishable"] for row in smoker} == {"true"}


@pytest.mark.slow
def test_the_page_of_a_snapshot_is_that_of_its_model(folder, tmp_path):
    store = open_store(f"sqlite:///{folder}/wards.db")
    snapshot = tmp_path / "wards.json"
    snapshot.write_bytes(take_snapshot(store, PLAN.id).to_json())
    store.close()
    assert run("ldp-train", snapshot, "-o", tmp_path / "model.json").exit_code == 0
    pages = []
    for source in ("wards", "model"):
        page = tmp_path / f"{source}.html"
        assert run("ldp-results", tmp_path / f"{source}.json", "-o", page).exit_code == 0
        pages.append(page.read_text())
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_a_model_of_silos_starts_no_round_and_simulates_nothing(trained, folder):
    kind, path, _ = trained
    model = load_model(path)
    survey = folder / "people.toml"
    survey.write_text(PEOPLE.replace('id = "wards"', 'id = "people"'))
    result = run("ldp-survey", "size", survey, "--users", 1000, "--pilot", path)
    if kind == "silos":
        assert "wards is a survey of silos, and this needs a model of people's reports" in result.output
        with pytest.raises(SurveyError, match="not for answers of people"):
            model.fit(ROWS, ["yes", "no"])
        with pytest.raises(ModelError, match="survey of silos"):
            read_trained(path.read_bytes(), str(path))
    else:
        assert result.exit_code == 0, result.output


DAMAGES = {
    "no summary": lambda document: document["estimates"].pop("silos"),
    "no messages": lambda document: document["estimates"]["silos"].pop("messages"),
    "rows": lambda document: document["estimates"]["silos"].update(rows="many"),
    "influence": lambda document: document["estimates"]["silos"].update(influence=[1]),
    "privacy": lambda document: document["privacy"].pop("silos"),
    "trust": lambda document: document["privacy"].update(silos=[]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_of_silos_is_refused(name, folder, tmp_path):
    path = tmp_path / "model.json"
    assert run("ldp-train", *sources_of(folder, "silos"), "-o", path).exit_code == 0
    document: dict[str, Any] = json.loads(path.read_text())
    document.pop("checksum")
    DAMAGES[name](document)
    path.write_bytes(signed(document))
    with pytest.raises(ModelError, match="the content is inconsistent"):
        load_model(path)


# -- which sources are added up -------------------------------------------------------------------


@pytest.mark.slow
def test_collectors_of_one_plan_add_up_and_copies_are_refused(folder, tmp_path):
    urls = [f"sqlite:///{tmp_path}/one.db", f"sqlite:///{tmp_path}/other.db"]
    for url, seeds in zip(urls, ((1, 2), (3,)), strict=True):
        count_messages(url, seeds=seeds)
    assert run("ldp-train", *urls, "-o", tmp_path / "sum.json").exit_code == 0
    together = json.loads((tmp_path / "sum.json").read_text())["estimates"]
    assert together["silos"]["messages"] == 3
    store = open_store(urls[0])
    copy = tmp_path / "copy.json"
    copy.write_bytes(take_snapshot(store, PLAN.id).to_json())
    store.close()
    result = run("ldp-train", urls[0], copy, "-o", tmp_path / "copy-model.json")
    assert result.exit_code == 1
    assert "have the same counters" in result.output


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["silos", "pooled"])
def test_surveys_of_silos_with_another_epsilon_are_pooled(kind, folder, tmp_path):
    text = SILOS.replace("epsilon = 1.0", "epsilon = 2.0").replace("rows = 3000", "rows = 2000")
    other = f"sqlite:///{tmp_path}/clinics.db"
    count_messages(other, text=text.replace("wards", "clinics"), seeds=(4, 5))
    errors = {}
    for name, sources in {"own": [], "other": [other]}.items():
        path = tmp_path / f"{name}.json"
        result = run("ldp-train", *sources_of(folder, kind), *sources, "-o", path)
        assert result.exit_code == 0, result.output
        errors[name] = load_model(path).estimates_.raw_prior.stderr
    assert (errors["other"] < errors["own"]).all()
    model, output = load_model(path), words_of(result.output)
    assert model.plan_.id == ("people" if kind == "pooled" else "clinics")
    found = [(each.survey, each.epsilon, each.rows_limit, each.messages) for each in model.privacy_.silos]
    assert found == [("clinics", "2", 2000, 2), ("wards", "1", 3000, 3)]
    silos = model.estimates_.silos
    assert (silos.surveys, silos.messages, silos.rows_limit) == (2, 5, 3000)
    assert silos.rows == pytest.approx(5000, abs=6 * silos.rows_stderr)
    assert "The messages belong to 2 surveys" in output
    assert "with the epsilon of its survey: 2 (clinics), 1 (wards)" in output
    assert model.predict_proba(ROWS).sum(axis=1) == pytest.approx([1, 1])


def test_surveys_of_silos_with_other_features_are_not_pooled(folder, tmp_path):
    text = SILOS.replace("range = [30, 130]", "range = [30, 120]").replace("wards", "clinics")
    count_messages(f"sqlite:///{tmp_path}/other.db", text=text)
    result = run(
        "ldp-train", *sources_of(folder, "silos"), f"sqlite:///{tmp_path}/other.db", "-o", tmp_path / "m.json"
    )
    assert result.exit_code == 1
    assert "wards and clinics cannot be pooled: the feature weight differs" in words_of(result.output)


def test_a_survey_of_people_with_other_features_is_not_pooled(folder, tmp_path):
    text = PEOPLE.replace("range = [30, 130]", "range = [30, 120]")
    (tmp_path / "people.json").write_bytes(simulate_people_of_silos(text, 50).to_json())
    result = run(
        "ldp-train", *sources_of(folder, "silos"), tmp_path / "people.json", "-o", tmp_path / "m.json"
    )
    assert result.exit_code == 1
    expected = "people and wards cannot be pooled: the feature weight differs: high is 120 and 130"
    assert expected in words_of(result.output)


def test_an_empty_survey_of_silos_has_a_model_without_information(tmp_path):
    url = f"sqlite:///{tmp_path}/empty.db"
    count_messages(url, seeds=())
    path = tmp_path / "empty.json"
    result = run("ldp-train", url, "-o", path, "--allow-empty")
    assert result.exit_code == 0, result.output
    assert "There are no messages yet" in result.output
    assert load_model(path).predict_proba(ROWS) == pytest.approx(np.full((2, 2), 0.5))
    assert run("ldp-results", path, "-o", tmp_path / "empty.html").exit_code == 0
    assert "There are no messages yet" in (tmp_path / "empty.html").read_text()


@pytest.mark.slow
def test_silos_have_no_waves(folder, tmp_path):
    wards, model = f"sqlite:///{folder}/wards.db", tmp_path / "model.json"
    refused = command("ldp-train", wards, "--wave", "2027-03", "-o", model, check=False)
    assert "which has no waves: leave --wave out" in refused.stderr
    assert not model.exists()
    for wave in ("last", "all"):
        command("ldp-train", wards, "--wave", wave, "-o", model)
