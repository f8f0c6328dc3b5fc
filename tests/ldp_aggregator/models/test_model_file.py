"""A model file is read back as it was written, or refused with a reason."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldp_aggregator import ModelError, load_model
from ldp_aggregator.estimation import Estimates, Gaussian, estimate_snapshot
from ldp_aggregator.models.model_file import dump_model, parse_model, save_model
from ldp_aggregator.snapshot import Snapshot


def test_the_file_restores_the_trained_model(model_path: Path, estimates: Estimates) -> None:
    model = load_model(model_path)
    assert model.plan_.digest == estimates.plan_digest
    assert model.estimates_ == estimates.as_dict()
    row = {"tea": "green", "hours": 0}
    # classes_ are sorted: "no", "yes"
    joint = estimates.prior * estimates.features[0].smoothed[1] * estimates.features[1].smoothed[0]
    np.testing.assert_allclose(model.predict_proba([row])[0], joint[::-1] / joint.sum())


def test_the_file_contains_the_plan_and_the_reports_it_was_trained_on(
    model_path: Path, snapshot: Snapshot
) -> None:
    content = json.loads(model_path.read_bytes())
    assert (content["version"], content["kind"]) == (1, "people")
    assert content["plan"] == json.loads(snapshot.plan.json)
    privacy = content["privacy"]
    assert (privacy["epsilon"], privacy["plan_digest"]) == ("8", snapshot.plan.digest)
    assert all(7.99 < float(each["epsilon"]) <= 8 for each in privacy["questions"])
    assert privacy["reports"] == sum(each["reports"] for each in privacy["questions"]) == 20_000
    assert (privacy["rejected"], privacy["audit"]) == ({}, None)
    (both,) = snapshot.plan.questions
    assert both.feature_indices == (0, 1)
    assert [each["n"] for each in content["estimates"]["features"]] == [snapshot.totals[both.key].n] * 2
    assert [each["asked_with"] for each in content["estimates"]["features"]] == [["hours"], ["tea"]]


def test_equal_models_are_equal_files(snapshot: Snapshot, estimates: Estimates) -> None:
    again = Snapshot.from_json(snapshot.to_json())
    assert dump_model(snapshot, estimates) == dump_model(again, estimate_snapshot(again))


def test_saving_leaves_nothing_else_behind(tmp_path: Path, snapshot: Snapshot, estimates: Estimates) -> None:
    save_model(tmp_path / "m.json", snapshot, estimates)
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_added_white_space_is_accepted(model_path: Path) -> None:
    pretty = json.dumps(json.loads(model_path.read_bytes()), indent=2)
    assert set(parse_model(pretty.encode()).plan.label.values) == {"no", "yes"}


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.json: cannot be read"):
        load_model(tmp_path / "absent.json")


@pytest.mark.parametrize("keep", [0, 1, 100, -2])
def test_a_truncated_file_is_refused(model_path: Path, keep: int) -> None:
    with pytest.raises(ModelError, match="truncated or edited"):
        parse_model(model_path.read_bytes()[:keep])


@pytest.mark.parametrize("data", [b"[]", b"7", b'{"format": "else"}', b"{}"])
def test_other_json_is_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match="not a model file"):
        parse_model(data)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[" * 100_000, b'{"a": 1, "a": 2}', b"\x80\x04K\x01."])
def test_invalid_json_is_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match="not readable"):
        parse_model(data)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_must_be_finite(model_path: Path, number: str) -> None:
    data = model_path.read_bytes().replace(b'"reports":20000', b'"reports":' + number.encode())
    with pytest.raises(ModelError, match="which is not finite"):
        parse_model(data)


@pytest.mark.parametrize(("old", "new"), [('"version":1', '"version":4'), ('"kind":"people"', '"kind":"x"')])
def test_another_version_or_kind_is_refused(model_path: Path, old: str, new: str) -> None:
    data = model_path.read_bytes()
    assert old.encode() in data
    with pytest.raises(
        ModelError, match=r"only version 1 with kind people, .* use the release that wrote it"
    ):
        parse_model(data.replace(old.encode(), new.encode()))


def test_an_edit_by_hand_is_refused(model_path: Path) -> None:
    with pytest.raises(ModelError, match="checksum does not match"):
        parse_model(model_path.read_bytes().replace(b'"reports":20000', b'"reports":20001'))


def edit_plan(content: dict[str, Any]) -> None:
    content["plan"]["epsilon"] = "9"


def edit_digest(content: dict[str, Any]) -> None:
    content["plan_digest"] = "0" * 64


def lose_a_feature(content: dict[str, Any]) -> None:
    content["estimates"]["features"].pop()


def lose_the_label(content: dict[str, Any]) -> None:
    del content["estimates"]["label"]


def break_a_probability(content: dict[str, Any]) -> None:
    content["estimates"]["label"]["smoothed"] = [0.4, 0.5]


def negate_a_probability(content: dict[str, Any]) -> None:
    content["estimates"]["label"]["smoothed"] = [-0.4, 1.4]


def reshape_a_table(content: dict[str, Any]) -> None:
    content["estimates"]["features"][0]["smoothed"] = [[1.0], [1.0]]


def make_the_plan_invalid(content: dict[str, Any]) -> None:
    content["plan"]["epsilon"] = "-1"  # invalid in every plan


def lose_the_reports(content: dict[str, Any]) -> None:
    del content["estimates"]["reports"]


EDITS = [
    edit_plan,
    make_the_plan_invalid,
    lose_the_reports,
    edit_digest,
    lose_a_feature,
    lose_the_label,
    break_a_probability,
    negate_a_probability,
    reshape_a_table,
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_inconsistent_content_with_a_valid_checksum_is_refused(
    model_path: Path, edit: Callable[[dict[str, Any]], object]
) -> None:
    with pytest.raises(ModelError, match="the content is inconsistent"):
        parse_model(forge(model_path, edit))


def forge(path: Path, edit: Callable[[dict[str, Any]], object]) -> bytes:
    """Return the bytes of an edited model file, its checksum made to fit."""
    content = json.loads(path.read_bytes())
    del content["checksum"]
    edit(content)
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    content["checksum"] = hashlib.sha256(canonical).hexdigest()
    return json.dumps(content).encode()


# -- numbers ------------------------------------------------------------------------------------


def test_numeric_features_are_restored(number_model_path: Path, number_estimates: Estimates) -> None:
    model = load_model(number_model_path)
    assert model.estimates_ == number_estimates.as_dict()
    tea, hours, age = (feature.smoothed for feature in number_estimates.features)
    rows = [{"tea": "green", "hours": 3, "age": 70}, {"tea": "green", "hours": None, "age": 70}]
    joint = number_estimates.prior * tea[1] * density(age, 0.4)
    joints = joint * np.stack([(1 - hours.missing) * density(hours, -0.5), hours.missing])
    expected = joints[:, ::-1] / joints.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=1e-5)


def density(smoothed: Gaussian, x: float) -> np.ndarray:
    return stats.norm.pdf(x, smoothed.mean, np.sqrt(smoothed.variance))


def smoothed_hours(content: dict[str, Any]) -> dict[str, list[float]]:
    return content["estimates"]["features"][1]["smoothed"]


def forget_a_mean(content: dict[str, Any]) -> None:
    smoothed_hours(content)["mean"] = [0.1]


def unknown_mean(content: dict[str, Any]) -> None:
    smoothed_hours(content)["mean"] = [0.1, None]


def a_variance_of_zero(content: dict[str, Any]) -> None:
    smoothed_hours(content)["variance"] = [0.1, 0.0]


def a_negative_variance(content: dict[str, Any]) -> None:
    smoothed_hours(content)["variance"][0] *= -1


def lose_the_variance(content: dict[str, Any]) -> None:
    del smoothed_hours(content)["variance"]


def never_missing(content: dict[str, Any]) -> None:
    smoothed_hours(content)["missing"] = None


def always_missing(content: dict[str, Any]) -> None:
    smoothed_hours(content)["missing"] = [1.0, 0.5]


def missing_where_it_cannot_be(content: dict[str, Any]) -> None:
    content["estimates"]["features"][2]["smoothed"]["missing"] = [0.1, 0.1]


def a_table_for_a_number(content: dict[str, Any]) -> None:
    content["estimates"]["features"][1]["smoothed"] = [[0.5, 0.5], [0.5, 0.5]]


def a_number_for_a_table(content: dict[str, Any]) -> None:
    content["estimates"]["features"][0]["smoothed"] = smoothed_hours(content)


NUMBER_EDITS = [
    forget_a_mean,
    unknown_mean,
    a_variance_of_zero,
    a_negative_variance,
    lose_the_variance,
    never_missing,
    always_missing,
    missing_where_it_cannot_be,
    a_table_for_a_number,
    a_number_for_a_table,
]


@pytest.mark.parametrize("edit", NUMBER_EDITS, ids=lambda edit: edit.__name__)
def test_impossible_numbers_are_refused(
    number_model_path: Path, edit: Callable[[dict[str, Any]], object]
) -> None:
    with pytest.raises(ModelError, match="the content is inconsistent"):
        parse_model(forge(number_model_path, edit))
