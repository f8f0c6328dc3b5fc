"""A model file is read back as it was written, or refused with a reason."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from encoders.build import Build, find_build
from ldp_aggregator import ModelError, load_model
from ldp_aggregator.estimation import Gaussian
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import dump_results, parse_results, save_results
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.views.results_page import render_page
from tests.support.damaged_json import DELETED, put, signed


def test_the_file_restores_the_trained_model(model_path, results):
    model, estimates, found = load_model(model_path), results.estimates, results.classifier
    assert model.plan_.digest == estimates.plan_digest
    assert model.estimates_.as_dict() == estimates.as_dict()
    row = {"tea": "green", "hours": 0}
    # classes_ are sorted: "no", "yes"
    joint = found.prior * found.conditionals[0][1] * found.conditionals[1][0]
    np.testing.assert_allclose(model.predict_proba([row])[0], joint[::-1] / joint.sum())


def test_the_file_contains_the_plan_and_the_reports_it_was_trained_on(model_path, snapshot):
    content = json.loads(model_path.read_bytes())
    assert (content["version"], content["classifier"]["kind"]) == (2, "nb")
    assert content["plan"] == json.loads(snapshot.plan.json)
    privacy = content["privacy"]["people"]
    assert (privacy["epsilon"], privacy["plan_digest"]) == ("8", snapshot.plan.digest)
    assert all(7.99 < float(each["epsilon"]) <= 8 for each in privacy["questions"])
    assert privacy["reports"] == sum(each["reports"] for each in privacy["questions"]) == 20_000
    assert (privacy["rejected"], content["privacy"]["audit"]) == ({}, None)
    (both,) = snapshot.plan.questions
    assert both.feature_indices == (0, 1)
    assert [each["n"] for each in content["estimates"]["features"]] == [snapshot.totals[both.key].n] * 2
    assert [each["asked_with"] for each in content["estimates"]["features"]] == [["hours"], ["tea"]]


def test_equal_models_are_equal_files(snapshot, results):
    again = Snapshot.from_json(snapshot.to_json())
    assert dump_results(results) == dump_results(make_results(again, poisoning=False))


def test_builds_of_two_commits_make_files_that_differ_in_the_build_alone(results):
    commits = ["c0ffee" * 6 + "c0de", "decade" * 6 + "1234"]
    files = [dump_results(replace(results, build=Build("1.2.3", each))) for each in commits]
    contents = [json.loads(each) for each in files]
    assert [each.pop("build")["commit"] for each in contents] == commits
    assert contents[0].pop("checksum") != contents[1].pop("checksum")
    assert contents[0] == contents[1]


def test_a_file_keeps_the_build_that_made_it(results):
    assert json.loads(dump_results(results))["build"] == vars(find_build())
    for build in (Build("1.2.3", "unknown"), None):  # earlier versions wrote none
        data = dump_results(replace(results, build=build))
        assert parse_results(data).build == build
        assert dump_results(parse_results(data)) == data
    assert b"Software:" not in render_page(replace(results, build=None))


@pytest.mark.parametrize("build", [{"version": "1.2.3"}, {"version": 1, "commit": "unknown"}, None, "1.2.3"])
def test_a_build_of_another_form_is_refused(build, results):
    content = json.loads(dump_results(results))
    del content["checksum"]
    with pytest.raises(ModelError, match=r"the content is inconsistent \(build: "):
        parse_results(signed(content | {"build": build}))


def test_saving_leaves_nothing_else_behind(tmp_path, results):
    save_results(tmp_path / "m.json", results)
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_added_white_space_is_accepted(model_path):
    pretty = json.dumps(json.loads(model_path.read_bytes()), indent=2)
    assert set(parse_results(pretty.encode()).plan.label.values) == {"no", "yes"}


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"absent\.json: cannot be read"):
        load_model(tmp_path / "absent.json")


@pytest.mark.parametrize("keep", [0, 1, 100, -2])
def test_a_truncated_file_is_refused(model_path, keep):
    with pytest.raises(ModelError, match="truncated or edited"):
        parse_results(model_path.read_bytes()[:keep])


@pytest.mark.parametrize("data", [b"[]", b"7", b'{"format": "else"}', b"{}"])
def test_other_json_is_refused(data):
    with pytest.raises(ModelError, match="not a model file"):
        parse_results(data)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[" * 100_000, b'{"a": 1, "a": 2}', b"\x80\x04K\x01."])
def test_invalid_json_is_refused(data):
    with pytest.raises(ModelError, match="not readable"):
        parse_results(data)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_must_be_finite(model_path, number):
    data = model_path.read_bytes().replace(b'"reports":20000', b'"reports":' + number.encode())
    with pytest.raises(ModelError, match="which is not finite"):
        parse_results(data)


def test_another_version_is_refused(model_path):
    data = model_path.read_bytes()
    assert b'"version":2' in data
    with pytest.raises(ModelError, match=r"version 4, and only version 2 .* use the release that wrote it"):
        parse_results(data.replace(b'"version":2', b'"version":4'))


def test_an_edit_by_hand_is_refused(model_path):
    with pytest.raises(ModelError, match="checksum does not match"):
        parse_results(model_path.read_bytes().replace(b'"reports":20000', b'"reports":20001'))


TREE = {
    "kind": "tree",
    "splits": [{"feature": 0, "low": 0, "high": 0}],
    "leaves": [[0.5, 0.5], [0.2, 0.8]],
}
CURATOR = {
    "adjacency": "replace",
    "rows_per_person": 1,
    "epsilon": "1",
    "delta": "0",
    "steps": [{"step": "tables", "epsilon": "1", "delta": "0"}],
    "expected_rows": 10,
    "are_rows_public": True,
}
TABLES = ("classifier", "conditionals")
MOMENTS = (*TABLES, 1)
HOURS = "classifier: conditionals: 1"


@pytest.mark.parametrize(
    ("entry", "value", "named"),
    [
        (("plan", "epsilon"), "9", "plan_digest is not the digest"),
        (("plan", "epsilon"), "-1", "epsilon"),  # invalid in every plan
        (("plan_digest",), "0" * 64, "plan_digest is not the digest"),
        (("classifier", "kind"), "x", "classifier: kind: is unknown"),
        (("privacy", "people"), None, "privacy: needs a statement"),
        (("estimates", "features", 0, "shares", "value"), ["0.5", "0.5"], "shares: value: needs numbers"),
        (("estimates", "features", 0, "shares", "value"), [True, False], "shares: value: needs numbers"),
        (("usefulness",), None, "usefulness: is there without a model of reports, or is missing"),
        (("usefulness", "majority"), None, "usefulness: majority and majority_share: need both"),
        (("usefulness", "majority"), "maybe", "usefulness: majority: is no class of the plan"),
        (("usefulness", "majority_share"), 1.5, "usefulness: majority_share: needs a number from 0 to 1"),
        (("usefulness", "alarms"), 2, "usefulness: alarms, tested and questions: do not fit"),
        (("classifier",), TREE, "privacy: needs a statement about a curator"),
        (("privacy", "curator"), CURATOR, "usefulness: is there without a model of reports"),
        (("privacy", "people", "reports"), -1, "privacy: people: reports: needs a whole number"),
        (("privacy", "simulated"), 1, "privacy: simulated: needs true or false"),
        (("estimates", "reports"), DELETED, "estimates: it has no entry 'reports'"),
        (("estimates", "classes"), ["yes"], "estimates: raw_prior: needs the shares of 1 classes"),
        (("classifier", "prior"), [0.4, 0.5], "classifier: .* of the classes are invalid"),
        (("classifier", "prior"), [-0.4, 1.4], "classifier: .* of the classes are invalid"),
        (("classifier", "prior"), [1.0], "classifier: prior: needs the shares of 2 classes"),
        (("estimates", "label"), "awake", "estimates: label: is not that of the plan"),
        (("estimates", "label"), DELETED, "estimates: it has no entry 'label'"),
        (("estimates", "features", 0), DELETED, "estimates: the number of features"),
        ((*TABLES, 0), [[1.0], [1.0]], "classifier: tea: needs a table with the shape"),
        (("estimates", "features", 0, "name"), "milk", "estimates: tea: is not that of the plan"),
        (
            ("estimates", "features", 0, "conditionals", "low"),
            [[None]],
            "0: conditionals: value, stderr",
        ),
        (("estimates", "features", 0, "n"), 0.5, "features: 0: n: needs a whole number"),
        (MOMENTS, [[0.5, 0.5], [0.5, 0.5]], "classifier: hours: needs a table"),
        ((*MOMENTS, "mean"), [0.1], f"{HOURS}: mean, variance and missing: need one shape"),
        ((*MOMENTS, "mean"), [0.1, None], f"{HOURS}: a mean is not a number"),
        ((*MOMENTS, "variance"), [0.1, 0.0], f"{HOURS}: a variance is less"),
        ((*MOMENTS, "variance"), [0.1, -0.1], f"{HOURS}: a variance is less"),
        ((*MOMENTS, "variance"), DELETED, f"{HOURS}: it has no entry 'variance'"),
        ((*MOMENTS, "missing"), None, "classifier: hours: lacks the shares of missing values"),
        ((*MOMENTS, "missing"), [1.0, 0.5], f"{HOURS}: the shares of missing values"),
        (("estimates", "features", 1, "width"), 7, "hours: width: is not that of the plan"),
        ((*TABLES, 2, "missing"), [0.1, 0.1], "classifier: age: has shares of missing"),
    ],
)
def test_a_wrong_entry_under_a_valid_checksum_is_refused_by_its_name(number_model_path, entry, value, named):
    content = json.loads(number_model_path.read_bytes())
    del content["checksum"]
    put(content, entry, value)
    with pytest.raises(ModelError, match=rf"^model: the content is inconsistent \(.*{named}"):
        parse_results(signed(content))


def test_numeric_features_are_restored(number_model_path, number_results):
    model, found = load_model(number_model_path), number_results.classifier
    assert model.estimates_.as_dict() == number_results.estimates.as_dict()
    tea, hours, age = found.conditionals
    rows = [{"tea": "green", "hours": 3, "age": 70}, {"tea": "green", "hours": None, "age": 70}]
    joint = found.prior * tea[1] * density(age, 0.4)
    joints = joint * np.stack([(1 - hours.missing) * density(hours, -0.5), hours.missing])
    expected = joints[:, ::-1] / joints.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=1e-5)


def density(smoothed: Gaussian, x: float) -> np.ndarray:
    return stats.norm.pdf(x, smoothed.mean, np.sqrt(smoothed.variance))
