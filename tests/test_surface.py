"""The public surface is the recorded one, and the changelog names what changed since the last release."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support.commands import command
from tests.support.surveys import survey_toml
from tools import surface
from tools.surface import LOST, NEW, list_unnamed, mark_changes, name_item, read_record

CHANGED = (
    "the public surface changed: run `python -m tools.surface`, and name each line with a mark in "
    "tests/surface/ in CHANGELOG.md under Unreleased"
)


@pytest.fixture
def patient_clients() -> None:
    """Leave the defaults of clients as they are, which other tests replace."""


@pytest.mark.slow
@pytest.mark.parametrize("part", surface.PARTS)
def test_the_surface_is_the_recorded_one(part):
    try:
        found = surface.PARTS[part]()
        marked = mark_changes(read_record(part), found)
    except surface.MissingProgramError as missing:
        pytest.skip(f"needs {missing}")
    changes = set(marked) ^ set(read_record(part))
    assert not changes, f"{CHANGED}: {sorted(changes)[:10]}"


@pytest.mark.parametrize("part", surface.PARTS)
def test_the_changelog_names_what_changed_since_the_last_release(part):
    unnamed = list_unnamed(read_record(part), surface.read_unreleased())
    assert not unnamed, f"CHANGELOG.md does not name under Unreleased: {', '.join(unnamed)}"


def test_marks_stay_until_a_release():
    released = ["a", "b(c)"]
    marked = mark_changes(released, ["a", "b(c, d)"])
    assert marked == ["a", LOST + "b(c)", NEW + "b(c, d)"]
    assert mark_changes(marked, ["a", "b(c, d)"]) == marked
    assert mark_changes(marked, released) == released
    assert list_unnamed(marked, "- `b` takes d.") == []
    assert list_unnamed(marked, "- `bee` takes d.") == ["b"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("ldp_client.Client.report(row, label=None)", "report"),
        ("ldp_client.State.SENT = 'sent'", "SENT"),
        ("ldp-bayes/testing Recorder.respond(behaviour)", "respond"),
        ("ldpbayes.client.Client static ldpbayes.client.Receipt find(int)", "find"),
        ("ldp-train -o --output", "--output"),
        ("GET /v1/surveys/{survey}/texts = 200 304", "/v1/surveys/{survey}/texts"),
        ("ldp-survey check --json survey.relay.ask", "ask"),
        ("ldp-survey check --json problems[].line", "line"),
        ("vectors good-the-0.25.json = 170b92c676b1b825", "good-the-0.25.json"),
    ],
)
def test_a_changelog_names_the_last_name_of_a_line(line, name):
    assert name_item(line) == name


# -- JSON output -----------------------------------------------------------------------------------

ROOT = Path(__file__).parent
SURVEY = survey_toml(label=["a", "b"], features={"tea": ["black", "green"], "hours": {"range": [0, 12]}})
SURVEY = (
    SURVEY.replace("[survey]\n", "[survey]\nusers = 300\n") + '[tables.both]\nfeatures = ["tea", "cups"]\n'
)
SURVEY = SURVEY.replace("[features.hours]", '[features.cups]\nvalues = ["big", "small"]\n[features.hours]')


def list_keys(document):
    """Yield all keys of a JSON document, at every depth."""
    for each in document if isinstance(document, list) else document.values():
        if isinstance(each, dict | list):
            yield from list_keys(each)
    yield from document if isinstance(document, dict) else ()


@pytest.fixture
def outputs(tmp_path):
    """What commands print about a small survey, and about the store of an earlier build, by their names."""
    (tmp_path / "survey.toml").write_text(SURVEY)
    (tmp_path / "row.json").write_text('{"tea": "black", "cups": "big", "hours": 3}')
    shutil.unpack_archive(min((ROOT / "earlier_builds").glob("*.zip")), tmp_path)
    survey, store = tmp_path / "survey.toml", ("--store", f"sqlite:///{tmp_path}/sqlite/ldp.db")
    commands = {
        "ldp-survey size --json": (survey,),
        "ldp-survey size --questions --json": (survey,),
        "ldp-survey preview --json": (survey, "--row", tmp_path / "row.json", "--label", "a"),
        "ldp-collector status --json": store,
        "ldp-collector log --json": store,
        "ldp-train --json": (tmp_path / "snapshot.json", "-o", tmp_path / "model.json"),
    }
    return {name: json.loads(command(*name.split(), *more).stdout) for name, more in commands.items()}


@pytest.mark.slow
def test_commands_print_the_keys_that_the_page_promises(outputs):
    rows = dict(
        re.findall(r"^\| `([^`]+)` \| (.*) \|$", surface.read_section("JSON output of other commands"), re.M)
    )
    for name, output in outputs.items():
        always = re.split(r"; `answers`|; deleted|\(`waiting`|`relay`|, `series`", rows[name])[0]
        promised = set(re.findall(r"`(\w+)`", always)) - {"answers", "survey_users", "pilot"}
        if "size --json" in name:
            promised -= {"name", "reports"}  # of a pilot
        assert promised <= set(list_keys(output)), (name, promised - set(list_keys(output)))
