"""The public surface is the recorded one, and the changelog names what changed since the last release."""

import pytest

from tools import surface
from tools.surface import LOST, NEW, list_unnamed, mark_changes, name_item, read_record

CHANGED = (
    "the public surface changed: run `python -m tools.surface`, and name each line with a mark in "
    "tests/surface/ in CHANGELOG.md under Unreleased"
)


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
