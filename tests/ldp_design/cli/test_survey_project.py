"""ldp-survey project on the command line: from a survey and public rows to a plan that devices take."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import ldp_client
from encoders.survey import Plan, read_survey
from tests.support.commands import command
from tests.support.surveys import survey_toml

run = partial(command, "ldp-survey", check=False)

SURVEY = survey_toml(
    features={
        "kind": ["black", "grün"],
        "hours": {"range": [0, 12], "bins": 3},
        "cups": {"range": [0, 20], "bins": 4, "missing": "category"},
    }
)


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    """Return a survey's path, and that of public rows."""
    rng = np.random.default_rng(1)
    tired = rng.integers(0, 2, 200)
    lines = [
        f"{['no', 'yes'][code]},{7 - 2 * code + rng.normal():.3f},{3 + code + rng.normal():.1f}"
        for code in tired
    ]
    survey, rows = tmp_path / "survey.toml", tmp_path / "rows.csv"
    survey.write_bytes(SURVEY.encode())
    rows.write_text("\n".join(["tired,hours,cups", *lines, "yes,,2"]))
    return survey, rows


@pytest.mark.parametrize("method", ["dca", "pca"])
@pytest.mark.parametrize("bins", [(), ("--bins", 4)])
def test_a_projected_survey_passes_check_and_devices_report_on_it(paths, tmp_path, method, bins):
    survey, rows = paths
    result = run("project", "--from", rows, "--method", method, "--components", 2, *bins, survey)
    assert result.exit_code == 0, result.output
    assert "200 of its 201 rows" in result.stdout_bytes.decode().replace("\n# ", " ")
    projected, compiled = tmp_path / "projected.toml", tmp_path / "plan.json"
    projected.write_bytes(result.stdout_bytes)
    assert run("check", projected).exit_code == 0
    assert run("compile", projected, "-o", compiled).exit_code == 0
    plan = Plan.from_json(compiled.read_bytes())
    assert plan == read_survey(result.stdout_bytes.decode()).compile()
    assert [feature.name for feature in plan.features] == ["kind", f"{method}1", f"{method}2"]
    for cups in (2, None):
        report = ldp_client.make_report(plan, {"kind": "grün", "hours": 7.5, "cups": cups}, "no")
        assert isinstance(report, bytes)


def test_one_discriminant_component_is_the_default(paths):
    survey, rows = paths
    assert 'id = "tea-dca1"' in run("project", survey, "--from", rows).stdout


def test_the_ridge_is_the_authors_and_dcas(paths):
    survey, rows = paths
    assert "ridge 0.5 of" in run("project", survey, "--from", rows, "--ridge", 0.5).stdout
    refused = run("project", survey, "--from", rows, "--method", "pca", "--ridge", 0.5)
    assert refused.exit_code == 2
    assert "--ridge is an option of --method dca only" in refused.stderr


def test_the_help_states_that_epsilon_does_not_cover_the_fit():
    help_text = " ".join(run("project", "--help").stdout.split())
    assert "Epsilon does NOT cover the fit: never fit to private rows." in help_text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--components", 3), "2 inputs make 1 to 2 components, not 3"),
        (("--components", 0), "not in the range"),
        (("--bins", 1), "not in the range"),
        (("--method", "lda"), "is not one of"),
    ],
)
def test_invalid_options_are_a_clear_error(paths, arguments, why):
    survey, rows = paths
    result = run("project", survey, "--from", rows, *arguments)
    assert result.exit_code in (1, 2)
    assert why in " ".join(result.stderr.split())


def test_public_rows_are_required(paths):
    assert "--from" in run("project", paths[0]).stderr


def test_files_that_are_no_survey_are_refused_by_name(paths, tmp_path):
    survey, rows = paths
    run("compile", survey, "-o", tmp_path / "plan.json")
    assert (
        "the file looks like a compiled plan" in run("project", tmp_path / "plan.json", "--from", rows).stderr
    )
    (tmp_path / "survey.json").write_text('{"survey": {"id": "tea"}}')
    refused = run("project", tmp_path / "survey.json", "--from", rows).stderr
    assert (
        "survey.json: is not a survey file: give the TOML survey; the file looks like a JSON file" in refused
    )
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    assert "odd.toml: is not a UTF-8 text" in run("project", tmp_path / "odd.toml", "--from", rows).stderr
    broken = tmp_path / "broken.toml"
    broken.write_text(SURVEY.replace("epsilon = 1.0", "epsilon = 0"))
    result = run("project", broken, "--from", rows)
    assert result.exit_code == 1
    assert "line 3: survey.epsilon" in result.stderr
