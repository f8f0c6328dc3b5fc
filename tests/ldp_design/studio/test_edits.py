"""Operations on the text of a survey: they change what they name, and keep comments and layout."""

import difflib
import json
import time
from pathlib import Path

import pytest

from encoders.survey import read_survey
from ldp_design.authoring.toml_edit import LayoutError
from ldp_design.authoring.toml_patch import parse_tables, patch
from ldp_design.studio import imports
from ldp_design.studio.edits import EditError, apply_operations

EXAMPLE = imports.read_example()
HOSTILE = "<img src=x onerror=alert(1)> \"quoted\" 'x' \\n # [features.x] = ]] ${a} ✓ ü \u202fend"


def changed_lines(text, *operations):
    after = apply_operations(text, operations)
    lines = difflib.ndiff(text.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "+-" and line[2:]]


def digest_of(text):
    return read_survey(text).compile().digest


def comments_of(text):
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith("#")]


@pytest.mark.parametrize(
    "text", [EXAMPLE, "", "# only a comment\n", EXAMPLE.rstrip("\n"), 'x = """\n[no.header]\n"""\n[a]\n']
)
def test_a_text_that_already_says_what_is_wanted_does_not_change(text):
    assert patch(text, parse_tables(text)) == (text + "\n" if text and not text.endswith("\n") else text)


def test_no_operation_changes_nothing():
    assert apply_operations(EXAMPLE, []) == EXAMPLE


def test_an_entry_changes_one_line_and_a_comment_beside_it_stays():
    operation = {"op": "set", "path": ["label", "values"], "value": ["yes", "no", "unknown"]}
    before, after = changed_lines(EXAMPLE, operation)
    assert after.removeprefix("+ ") == before.removeprefix("- ").replace('"no"]', '"no", "unknown"]')
    assert "# people without a label" in after


def test_comments_between_the_answers_of_a_list_stay():
    text = EXAMPLE.replace(
        'values = ["young", "medium", "old", "other"]',
        'values = [\n  "young",  # below 30\n  "old",  # others\n]',
    )
    change = {"op": "value", "path": ["features", "age", "values"], "value": {"old": "old", "new": "older"}}
    after = apply_operations(text, [change])
    assert '"young",  # below 30' in after
    assert parse_tables(after)["features"]["age"]["values"] == ["young", "older"]


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("2000", "2000"),
        ("0,5", "0.5"),
        ("1 000", "1000"),
        ("1e-6", "1e-6"),
        ("many", '"many"'),
        ("007", '"007"'),
        ("2026-13-45", '"2026-13-45"'),
    ],
)
def test_numbers_are_written_as_typed_and_other_texts_for_check_to_refuse(typed, written):
    after = apply_operations(
        EXAMPLE, [{"op": "set", "path": ["survey", "users"], "value": {"number": typed}}]
    )
    assert f"users = {written}\n" in after


def test_renaming_a_question_reaches_texts_tables_and_conditions():
    text = (
        EXAMPLE
        + """
[tables.both]
features = ["age", "income"]

[texts.en.features.age]
title = "How old are you?"

[texts.de]
features.age.title = "Wie alt sind Sie?"

[features.cars]
values = [true, false]
missing = "category"
ask_if = { all = [{ not = { feature = "age", value = "old" } }, { feature = "cards", value = "no" }] }
"""
    )
    after = parse_tables(
        apply_operations(text, [{"op": "rename", "path": ["features", "age"], "value": "years"}])
    )
    assert "age" not in json.dumps(after["features"]["cars"]["ask_if"])
    assert next(iter(after["features"])) == "years"
    assert after["tables"]["both"]["features"] == ["years", "income"]
    assert after["texts"]["en"]["features"]["years"]["title"] == "How old are you?"
    assert after["texts"]["de"]["features"] == {"years": {"title": "Wie alt sind Sie?"}}


def test_an_answer_is_renamed_in_texts_and_conditions():
    text = (
        EXAMPLE
        + """
[features.cars]
values = [true, false]
missing = "category"
ask_if = { feature = "age", value = "old" }

[texts.en.features.age]
values = { old = "60 or older" }
"""
    )
    change = {"op": "value", "path": ["features", "age", "values"], "value": {"old": "old", "new": "60+"}}
    after = parse_tables(apply_operations(text, [change]))
    assert after["features"]["cars"]["ask_if"]["value"] == "60+"
    assert after["texts"]["en"]["features"]["age"]["values"] == {"60+": "60 or older"}


def test_deleting_a_question_deletes_what_names_it_and_no_other_comment():
    text = EXAMPLE + '\n[tables.both]\nfeatures = ["age", "income"]\n'
    after = apply_operations(text, [{"op": "remove", "path": ["features", "income"]}])
    assert "tables" not in parse_tables(after)
    assert set(comments_of(text)) - set(comments_of(after)) == {
        "# A number in bins of equal width. Public bounds, chosen without looking at private rows; numbers",
        "# beyond them are clipped.",
    }


def test_a_question_moves_with_its_comments():
    after = apply_operations(EXAMPLE, [{"op": "move", "path": ["features", "cards"], "value": 0}])
    assert [*parse_tables(after)["features"]] == ["cards", "age", "income", "debt"]
    assert sorted(comments_of(after)) == sorted(comments_of(EXAMPLE))


def test_a_copy_follows_its_original():
    after = apply_operations(EXAMPLE, [{"op": "copy", "path": ["features", "age"], "value": "age-2"}])
    tables = parse_tables(after)
    assert [*tables["features"]][:2] == ["age", "age-2"]
    assert tables["features"]["age"] == tables["features"]["age-2"]


def test_the_label_and_a_question_change_places():
    there = apply_operations(EXAMPLE, [{"op": "label", "path": ["features", "age"]}])
    assert parse_tables(there)["label"] == {"name": "age", "values": ["young", "medium", "old", "other"]}
    back = apply_operations(there, [{"op": "label", "path": ["features", "missed_payment"]}])
    assert parse_tables(back)["label"]["name"] == "missed_payment"
    without = apply_operations(there, [{"op": "label", "path": ["label"]}])
    assert "label" not in parse_tables(without)
    assert "age" in parse_tables(without)["features"]


def test_a_survey_of_the_studio_and_one_by_hand_have_the_same_plan():
    by_hand = """\
[survey]
id = "sleep"
epsilon = 0.5
users = 4000

[label]
name = "ill"
values = ["yes", "no"]

[features.shift]
values = ["day", "night"]
missing = "category"

[features.hours]
range = [0, 24]
bins = 6

[tables.both]
features = ["shift", "hours"]
label = true

[about]
title = "Sleep"

[texts.en]
title = "Sleep"

[texts.en.label]
title = "Were you ill?"

[texts.en.features.shift]
title = "When do you work?"
values = { day = "By day", night = "At night" }
"""
    shift, hours = ["features", "question-1"], ["features", "hours"]
    text = apply_operations(
        imports.write_new("sleep", "Sleep", ["en"]),
        [
            {"op": "value", "path": [*shift, "values"], "value": {"old": "answer-1", "new": "day"}},
            {
                "op": "set",
                "path": ["texts", "en", "features", "question-1", "values", "day"],
                "value": "By day",
            },
            {"op": "value", "path": [*shift, "values"], "value": {"old": "answer-2", "new": "night"}},
            {
                "op": "set",
                "path": ["texts", "en", "features", "question-1", "values", "night"],
                "value": "At night",
            },
            {
                "op": "set",
                "path": ["texts", "en", "features", "question-1", "title"],
                "value": "When do you work?",
            },
            {"op": "rename", "path": shift, "value": "shift"},
            {
                "op": "add",
                "path": hours,
                "value": {"entries": {"range": [{"number": "0"}, {"number": "24"}], "bins": 6}},
            },
            {"op": "add", "path": ["features", "ill"], "value": {"entries": {"values": ["yes", "no"]}}},
            {"op": "set", "path": ["texts", "en", "features", "ill", "title"], "value": "Were you ill?"},
            {"op": "label", "path": ["features", "ill"]},
            {
                "op": "add",
                "path": ["tables", "both"],
                "value": {"entries": {"features": ["shift", "hours"], "label": True}},
            },
            {"op": "set", "path": ["survey", "epsilon"], "value": {"number": "0.5"}},
            {"op": "set", "path": ["survey", "users"], "value": {"number": "4000"}},
        ],
    )
    assert digest_of(text) == digest_of(by_hand)
    assert parse_tables(text) == parse_tables(by_hand)


@pytest.mark.slow
def test_a_relay_is_added_with_the_largest_epsilon_and_taken_away_again():
    text = apply_operations(EXAMPLE, [{"op": "set", "path": ["survey", "users"], "value": 20_000}])
    through = apply_operations(text, [{"op": "relay", "value": "one"}, {"op": "fit"}])
    survey = read_survey(through)
    assert survey.relay
    assert survey.relay.batch == 12_000
    assert survey.epsilon > survey.relay.epsilon == 1
    survey.compile()
    everything = read_survey(apply_operations(through, [{"op": "relay", "value": "all"}, {"op": "fit"}]))
    everything.compile()
    assert everything.asks_all
    assert apply_operations(through, [{"op": "relay", "value": ""}]) == text


def test_hostile_texts_are_kept_as_they_are():
    name = HOSTILE.replace("\u202f", " ")
    operations = [
        {"op": "set", "path": ["about", "purpose"], "value": HOSTILE},
        {"op": "rename", "path": ["features", "age"], "value": name},
        {"op": "value", "path": ["features", name, "values"], "value": {"old": "old", "new": HOSTILE}},
        {"op": "set", "path": ["texts", "en", "features", name, "values", HOSTILE], "value": HOSTILE},
        {"op": "add", "path": ["tables", name], "value": {"entries": {"features": [name, "income"]}}},
        {"op": "rename", "path": ["features", name], "value": "age"},
    ]
    tables = parse_tables(apply_operations(EXAMPLE, operations))
    assert tables["about"]["purpose"] == HOSTILE
    assert tables["features"]["age"]["values"][2] == HOSTILE
    assert tables["texts"]["en"]["features"]["age"]["values"] == {HOSTILE: HOSTILE}
    assert tables["tables"][name]["features"] == ["age", "income"]


def test_other_layouts_are_edited_or_refused_but_never_damaged():
    inline = """\
survey = { id = "x", epsilon = 1 }   # all in one line
[features]
a.values = ["b", "c"]
d = { values = ["e", "f"] }
"""
    after = apply_operations(
        inline, [{"op": "set", "path": ["survey", "epsilon"], "value": {"number": "0.5"}}]
    )
    assert "# all in one line" in after
    assert read_survey(after).epsilon < 1
    after = apply_operations(
        inline, [{"op": "set", "path": ["features", "d", "missing"], "value": "category"}]
    )
    assert parse_tables(after)["features"]["d"] == {"values": ["e", "f"], "missing": "category"}
    with pytest.raises(LayoutError):
        apply_operations(inline, [{"op": "move", "path": ["features", "d"], "value": 0}])
    after = apply_operations(inline, [{"op": "remove", "path": ["features", "a"]}])
    assert [*parse_tables(after)["features"]] == ["d"]


@pytest.mark.parametrize(
    "operation",
    [
        {},
        {"op": "unknown"},
        {"op": "set", "path": [], "value": 1},
        {"op": "set", "path": ["survey", "id"], "value": None},
        {"op": "add", "path": ["features", "age"], "value": {"entries": {}}},
        {"op": "rename", "path": ["features", "age"], "value": "income"},
        {"op": "value", "path": ["features", "age", "values"], "value": {"old": "nobody"}},
        {"op": "label", "path": ["features", "debt"]},
    ],
)
def test_operations_that_do_not_fit_are_refused(operation):
    with pytest.raises((EditError, LayoutError)):
        apply_operations(EXAMPLE, [operation])


@pytest.mark.slow
def test_a_survey_of_300_questions_is_edited_quickly():
    text = EXAMPLE + "".join(f'\n[features."q {i}"]\nvalues = ["a", "b", "c"]\n' for i in range(300))
    text += "".join(f'\n[texts.de.features."q {i}"]\ntitle = "Frage {i}?"\n' for i in range(300))
    start = time.process_time()
    after = apply_operations(
        text, [{"op": "set", "path": ["texts", "de", "features", "q 299", "title"], "value": "x"}]
    )
    assert time.process_time() - start < 2
    assert parse_tables(after)["texts"]["de"]["features"]["q 299"]["title"] == "x"


def test_the_example_surveys_of_the_project_survive_an_edit():
    for path in Path("examples").rglob("*.toml"):
        text = path.read_text("utf-8")
        if "[features" in text and "silo" not in text:
            after = apply_operations(text, [{"op": "set", "path": ["survey", "users"], "value": 777}])
            assert comments_of(after) == comments_of(text)
