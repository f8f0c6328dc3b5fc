"""ldp-train on the command line."""

import json
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.report import Report, pack
from encoders.survey import Plan, read_survey
from ldp_aggregator import load_model
from ldp_aggregator.classifiers.export.onnx import to_onnx
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot, Total
from ldp_aggregator.views.estimate_rows import build_table, dump_table
from tests.support.commands import command
from tests.support.surveys import RELAYED, survey_toml


def survey_text(weight: int) -> str:
    """Return a survey that asks about the tea, and about the label with this weight."""
    hours = {"range": [0, 12], "bins": 2, "missing": "category", "weight": 0}
    return survey_toml(features={"tea": ["black", "green"], "hours": hours}, label={"weight": weight})


@pytest.fixture
def run(tmp_path):
    return partial(command, "ldp-train", "-o", tmp_path / "model.json", check=False)


@pytest.fixture
def survey(tmp_path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(survey_text(1))
    return path


def write_reports(path: Path, plan: Plan, count: int) -> Path:
    rng, stream = np.random.default_rng(1), FastStream(1)
    packed = []
    for user in range(count):
        question = plan.draw(stream)
        payload = question.mechanism.perturb(question.value((user % 2, 0), user % 2), stream)
        packed.append(pack(Report(bytes.fromhex(plan.digest), question.index, rng.bytes(16), payload)))
    path.write_bytes(b"".join([*packed, packed[0]]))
    return path


def test_raw_reports_become_a_model_and_a_summary(run, survey, tmp_path):
    plan = read_survey(survey.read_text()).compile()
    reports = write_reports(tmp_path / "reports", plan, 2000)
    result = run(reports, "--plan", survey)
    assert result.exit_code == 0, result.stderr
    assert "2,000 people answered one question each." in result.stdout
    prior = load_model(tmp_path / "model.json").estimates_.raw_prior
    ends = [prior.low[0], prior.high[0], prior.simultaneous_low[0], prior.simultaneous_high[0]]
    assert "{:.1%} to {:.1%}  {:.1%} to {:.1%}\n".format(*ends) in result.stdout
    assert ends[2] < ends[0] < ends[1] < ends[3]
    assert "hours: the survey does not ask about it" in result.stdout
    assert list(load_model(tmp_path / "model.json").predict([{"tea": "black", "hours": 1}])) == ["yes"]


def test_the_model_contains_the_spent_epsilon_and_the_audit(run, survey, tmp_path):
    plan = read_survey(survey.read_text()).compile()
    reports = write_reports(tmp_path / "reports", plan, 20)
    found = {"passed": True, "faults": [], "trials": 5000, "alpha": 1e-6, "plan_digest": plan.digest}
    found["black_box"] = [{"leak": {"epsilon_lower_bound": 0.9}}]
    (tmp_path / "audit.json").write_text(json.dumps(found))
    result = run(reports, "--plan", survey, "--audit", tmp_path / "audit.json")
    assert "(ldp-audit) passed: it compared 5,000 messages" in result.stdout
    assert "shuffler" not in result.stdout  # 20 reports are too few for a smaller epsilon
    assert json.loads((tmp_path / "model.json").read_bytes())["privacy"]["audit"]["bound"] == 0.9
    (tmp_path / "audit.json").write_text(json.dumps(found | {"plan_digest": "0" * 64}))
    refused = run(reports, "--plan", survey, "--audit", tmp_path / "audit.json")
    assert refused.exit_code == 1
    assert "audit of another plan" in refused.stderr


@pytest.mark.slow
def test_the_model_is_written_as_onnx_too(run, survey, tmp_path, monkeypatch):
    plan = read_survey(survey.read_text()).compile()
    reports = write_reports(tmp_path / "reports", plan, 200)
    result = run(reports, "--plan", survey, "--onnx", tmp_path / "model.onnx")
    assert result.stdout.endswith(f"wrote {tmp_path / 'model.json'} and {tmp_path / 'model.onnx'}\n")
    assert (tmp_path / "model.onnx").read_bytes() == to_onnx(
        load_model(tmp_path / "model.json")
    ).SerializeToString()
    monkeypatch.setitem(sys.modules, "onnx", None)
    (tmp_path / "model.json").unlink()
    refused = run("http://127.0.0.1:1/v1/surveys/not-asked", "--onnx", tmp_path / "other.onnx")
    assert refused.exit_code == 1
    assert "pip install 'ldp-bayes[onnx]'" in refused.stderr
    assert not (tmp_path / "other.onnx").exists()
    assert not (tmp_path / "model.json").exists()


def test_all_estimates_are_written_as_a_table_too(run, survey, tmp_path):
    plan = read_survey(survey.read_text()).compile()
    reports = write_reports(tmp_path / "reports", plan, 2000)
    result = run(reports, "--plan", survey, "--csv", tmp_path / "table.csv")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.endswith(f"wrote {tmp_path / 'model.json'} and {tmp_path / 'table.csv'}\n")
    rows = build_table(load_model(tmp_path / "model.json").estimates_)
    assert (tmp_path / "table.csv").read_text() == dump_table(rows)
    assert (tmp_path / "table.csv").stat().st_mode & 0o777 == 0o600
    black, black_of_class = [row for row in rows if row.value == "black"][:2]
    assert re.search(rf"^ +black +{100 * black.estimate:.1f}% +", result.stdout, re.MULTILINE)
    shown = f"{100 * black_of_class.estimate:.1f}%"
    assert re.search(rf"^ +black +\*? +{shown} ± ", result.stdout, re.MULTILINE)


def test_no_share_below_zero_or_above_one_is_printed(run, survey, tmp_path):
    plan = read_survey(survey.read_text()).compile()
    (question,) = [each for each in plan.questions if each.kind == "coupled"]
    cells = np.array([300, 40, 0, 200], dtype=np.int64)
    snapshot = Snapshot(plan, {question.key: Total(540, cells)})
    estimates = estimate_snapshot(snapshot)
    assert estimates.features[0].conditionals.value.min() < 0
    (tmp_path / "snapshot.json").write_bytes(snapshot.to_json())
    printed = run(tmp_path / "snapshot.json").stdout.partition("in each class")[2].partition("\n\n")[0]
    numbers = [float(each) for each in re.findall(r"(-?[\d.]+)% ±", printed)]
    assert len(numbers) >= 2
    assert all(0 <= each <= 100 for each in numbers)


def test_output_files_that_cannot_be_written_are_reported_before_training(run, survey, tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "model.json")
    if not Path("/proc").is_dir():
        pytest.skip("needs a folder in which nobody can make files")
    for more, why in [
        (["--onnx", tmp_path / "model.json"], "--output and --onnx are the same file"),
        (["--csv", tmp_path / "model.json"], "--output and --csv are the same file"),
        (["--csv", tmp_path / "a", "--onnx", tmp_path / "a"], "--onnx and --csv are the same file"),
        (["--onnx", tmp_path / "link.json"], "--onnx: %s is a symbolic link" % (tmp_path / "link.json")),
        (["--onnx", tmp_path / "gone" / "model.onnx"], f"--onnx: there is no folder {tmp_path / 'gone'}"),
        (["--onnx", "/proc/model.onnx"], "--onnx: no file can be written to /proc"),
    ]:
        result = run("http://127.0.0.1:1/v1/surveys/not-asked", *more)
        assert result.exit_code == 2
        assert why in result.stderr
    nowhere = command("ldp-train", "not-read", "-o", tmp_path / "gone" / "model.json", check=False)
    assert "--output: there is no folder" in nowhere.stderr
    assert not (tmp_path / "model.json").exists()


@pytest.mark.slow
def test_the_epsilon_of_shuffled_reports_is_not_in_the_summary(run, survey, tmp_path):
    plan = read_survey(survey.read_text()).compile()
    result = run(write_reports(tmp_path / "reports", plan, 8000), "--plan", survey)
    assert load_model(tmp_path / "model.json").privacy_.only_if_shuffled.epsilon < 1
    assert "central epsilon" not in " ".join(result.stdout.split())


def test_raw_reports_are_read_with_a_compiled_plan_too(run, survey, tmp_path):
    plan = read_survey(survey.read_text()).compile()
    (tmp_path / "plan.json").write_bytes(plan.json)
    reports = write_reports(tmp_path / "reports", plan, 20)
    result = run(reports, "--plan", tmp_path / "plan.json", "--estimator", "paper")
    assert result.exit_code == 0, result.stderr
    assert load_model(tmp_path / "model.json").estimates_.estimator == "paper"
    assert "tea: noise" in result.stdout


def test_a_snapshot_needs_no_plan(run, survey, tmp_path):
    plan = read_survey(survey.read_text()).compile()
    totals = {
        question.key: Total(0, np.zeros(question.domain, dtype=np.int64)) for question in plan.questions
    }
    (tmp_path / "snapshot.json").write_bytes(Snapshot(plan, totals, {"malformed": 2}).to_json())
    refused = run(tmp_path / "snapshot.json")
    assert (refused.exit_code, (tmp_path / "model.json").exists()) == (1, False)
    assert "no report was counted, 2 refused (2 malformed); no model is written" in refused.stderr
    result = run(tmp_path / "snapshot.json", "--allow-empty")
    assert result.exit_code == 0, result.stderr
    assert "Rejected reports and messages: 2 (2 malformed)." in result.stdout
    assert "There are no reports yet" in result.stdout
    assert re.search(r"^  yes +unknown +unknown +unknown$", result.stdout, re.MULTILINE)
    probabilities = load_model(tmp_path / "model.json").predict_proba([{"tea": "black", "hours": 1}])
    np.testing.assert_allclose(probabilities, 0.5)


def test_a_number_of_400_digits_in_a_snapshot_is_named_by_file_and_field(run, survey, tmp_path):
    plan = read_survey(survey.read_text()).compile()
    [first, *_] = plan.questions
    total = Total(7, np.ones(first.cells, dtype=np.int64))
    text = Snapshot(plan, {first.key: total}).to_json().replace(b'"n":7', b'"n":' + b"7" * 400)
    (tmp_path / "snapshot.json").write_bytes(text)
    result = run(tmp_path / "snapshot.json")
    assert result.exit_code == 1
    assert f"{tmp_path / 'snapshot.json'}: totals.{first.key}.n: needs a whole number" in result.stderr


def test_reports_of_another_plan_alone_train_no_model(run, survey, tmp_path):
    plan = read_survey(survey.read_text()).compile()
    reports = write_reports(tmp_path / "reports", plan, 20)
    survey.write_text(survey_text(2))
    asked = read_survey(survey.read_text()).compile()
    result = run(reports, "--plan", survey)
    assert (result.exit_code, result.stdout, (tmp_path / "model.json").exists()) == (1, "", False)
    assert "no report was counted, 21 refused (21 wrong-plan)" in result.stderr
    assert f"these reports do not answer tea with digest {asked.digest}" in result.stderr
    assert run(reports, "--plan", survey, "--allow-empty").exit_code == 0
    assert (tmp_path / "model.json").exists()


def test_the_summary_is_printed_even_if_the_model_cannot_be_written(run, survey, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("ldp_aggregator.cli.train.save_results", full)
    plan = read_survey(survey.read_text()).compile()
    result = run(write_reports(tmp_path / "reports", plan, 20), "--plan", survey)
    assert "20 people answered one question each." in result.stdout
    assert "wrote" not in result.stdout
    assert (result.exit_code, result.stderr) == (1, "Error: No space left on device\n")


@pytest.mark.slow
def test_archives_spread_over_processes_make_the_same_model(run, survey, tmp_path, monkeypatch):
    plan = read_survey(survey.read_text()).compile()
    reports = write_reports(tmp_path / "reports", plan, 500).read_bytes()
    (tmp_path / "more").write_bytes(reports[900:] + reports[:-3])
    archives = [tmp_path / "reports", tmp_path / "more"]
    alone = run(*archives, "--plan", survey)
    model = (tmp_path / "model.json").read_bytes()
    monkeypatch.setattr("ldp_aggregator.reports.archives.reader.SECTION_BYTES", 9000)
    monkeypatch.setattr("ldp_aggregator.reports.archives.parts._PART_BYTES", 9000)
    spread = run(*archives, "--plan", survey)
    assert spread.exit_code == 0, spread.stderr
    assert "500 people answered one question each." in spread.stdout
    assert spread.stdout == alone.stdout
    assert (tmp_path / "model.json").read_bytes() == model
    assert "warning: " in alone.stderr
    assert "more: ends inside a report" in alone.stderr


def test_mistakes_are_explained(run, survey, tmp_path):
    (tmp_path / "bad.toml").write_text(survey_text(-1))
    (tmp_path / "unasked.toml").write_text(survey_text(0))
    plan = read_survey((tmp_path / "unasked.toml").read_text()).compile()
    reports = write_reports(tmp_path / "reports", plan, 5)
    for arguments, why in [
        ([], "Missing argument"),
        ([reports], "is an archive of raw reports; add the survey or plan"),
        ([reports, "--plan", tmp_path / "bad.toml"], "line 7: label.weight"),
        ([reports, "--plan", tmp_path / "absent.toml"], "absent.toml"),
        ([reports, "--plan", tmp_path / "unasked.toml", "--estimator", "paper"], "label question"),
        (["http://localhost:1/v1/surveys/tea"], "LDP_OPERATOR_TOKEN"),
    ]:
        result = run(*arguments)
        assert result.exit_code != 0
        assert why in result.stderr
        assert not (tmp_path / "model.json").exists()


NUMBERS = survey_toml(
    id="sleep",
    epsilon=2.0,
    features={"hours": {"range": [0, 12]}, "tea": ["black", "green"]},
    mechanism={"numeric": "sign"},
)


def test_the_summary_counts_both_questions_of_a_number(run, tmp_path):
    plan = read_survey(NUMBERS).compile()
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 5000)
    hours = encode_numbers(plan.features[0], rng.normal(np.where(labels, 8.0, 5.0), 1.5))
    snapshot = simulate_reports(plan, np.column_stack([hours, labels]), labels, FastStream(2))
    (tmp_path / "snapshot.json").write_bytes(snapshot.to_json())
    result = run(tmp_path / "snapshot.json")
    assert result.exit_code == 0, result.stderr
    mean, square, _ = (snapshot.totals[question.key].n for question in plan.questions)
    assert re.search(rf"^  hours +{mean:,} \+ {square:,} reports +sign +0\.", result.stdout, re.MULTILINE)
    assert list(load_model(tmp_path / "model.json").predict([{"tea": "green", "hours": 9}])) == ["no"]


def test_a_survey_whose_relay_has_no_keys_yet_trains_no_model_that_nobody_can_read(run, tmp_path):
    (tmp_path / "survey.toml").write_text(RELAYED)
    (tmp_path / "reports.bin").write_bytes(b"")
    result = run(tmp_path / "reports.bin", "--plan", tmp_path / "survey.toml")
    assert "relay: needs both public keys" in result.stderr
    assert not (tmp_path / "model.json").exists()
