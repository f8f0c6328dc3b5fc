"""Trials of the studio: a real collector that counts, and that ends with the studio in every case."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

import ldp_client
from encoders.errors import SurveyError
from ldp_design.studio import imports
from ldp_design.studio.commands import CommandError, run_command
from ldp_design.studio.edits import apply_operations
from ldp_design.studio.pilot import Pilot
from tests.support.servers import wait_for
from tests.support.studio import processes_of

pytestmark = pytest.mark.slow

EXAMPLE = imports.read_example()
WAITS = (
    "import sys; from ldp_design.studio.pilot import Pilot; pilot = Pilot(open(sys.argv[1]).read()); "
    "print('ready', flush=True); sys.stdin.read()"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_trial_counts_reports_and_leaves_nothing_behind(folder):
    text = apply_operations(EXAMPLE, [{"op": "relay", "value": "all"}, {"op": "fit"}])
    pilot = Pilot(text)
    try:
        content = pilot.make_people(3)
        for each in content["people"]:
            with ldp_client.Client(content["attributes"]["src"], journal=":memory:") as client:
                client.grant()
                client.report(each["row"], each["label"])
                assert client.flush().state is ldp_client.State.SENT
        assert pilot.count() == 3
        assert b"3 people" in pilot.render_results()
    finally:
        pilot.end()
    assert list(folder.iterdir()) == []
    assert processes_of(str(folder)) == []


def test_results_without_reports_are_refused_in_the_words_of_the_command(folder):
    pilot = Pilot(EXAMPLE)
    try:
        with pytest.raises(CommandError, match="no report was counted"):
            pilot.render_results()
    finally:
        pilot.end()


def test_a_survey_with_mistakes_has_no_trial(folder):
    with pytest.raises(SurveyError):
        Pilot(EXAMPLE.replace("epsilon = 1.0", "epsilon = 100"))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_collector_ends_with_a_studio_that_dies(folder, number):
    survey = folder / "survey.toml"
    survey.write_text(EXAMPLE)
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(survey)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(folder)},
    )
    assert process.stdout
    assert process.stdin
    assert process.stdout.readline() == "ready\n"
    [trial] = folder.glob("ldp-survey-trial-*")
    assert processes_of(str(trial))
    process.send_signal(number)
    process.wait()
    wait_for(lambda: not processes_of(str(trial)) and not trial.exists())
    process.stdin.close()
    process.stdout.close()


def test_a_command_that_fails_says_why(tmp_path):
    (tmp_path / "survey.toml").write_text("x")
    with pytest.raises(CommandError, match=r"survey\.toml.*not valid TOML"):
        run_command("ldp-survey", "compile", "survey.toml", folder=tmp_path)
