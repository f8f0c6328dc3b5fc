"""Plans of silos: what the file says, the canonical form, and what a reader refuses."""

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from encoders import canonical
from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms.counted_table import SOFT_UNIT
from encoders.randomness import SystemEntropy
from encoders.report import MAX_MESSAGE_BYTES, MAX_REPORT_BYTES
from encoders.survey import Plan, read_survey
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.compiled_plan import SILO_REFUSAL
from encoders.survey.plan_files import PEOPLE_PLANS
from encoders.survey.randomise import read_report
from encoders.survey.silo_plan import SiloPlan
from tests.support.json_walk import leaves_of
from tests.support.mistakes import list_mistakes, refuse
from tests.support.silo_surveys import WARDS, count_rows, make_message, make_rows, read_silo_survey
from tests.support.surveys import GOOD
from tests.support.tampering import document

SURVEY = read_silo_survey()
PLAN = SURVEY.compile()


def with_change(path: tuple[Any, ...], value: Any) -> bytes:
    """Return the plan with another value in one place; `...` removes the entry."""
    changed = document(PLAN)
    inside: Any = changed
    for key in path[:-1]:
        inside = inside[key]
    if value is ...:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return canonical.dump_canonical_json(changed)


# -- the plan ----------------------------------------------------------------------------------


def test_a_plan_equals_itself_after_json():
    again = SiloPlan.from_json(PLAN.json)
    assert again == PLAN == ANY_PLANS.from_json(PLAN.json)
    assert hash(again) == hash(PLAN)
    assert again.digest == hashlib.sha256(PLAN.json).hexdigest()
    assert (again.rows, again.rows_per_person, again.scale) == (100_000, 1, Fraction(4))
    assert again.question.key == PLAN.question.key
    assert {type(leaf) for _, leaf in leaves_of(document(PLAN))} <= {str, int}


def test_the_digest_is_pinned():
    # Silos have this plan in their journals: its content and encoding must not change.
    assert PLAN.digest == "bf7ef8912e4a30a7dee5ab62dbe1bac499d27ae7bc7e5b24ec8d0c98bc82f9b3"


def test_a_plan_names_its_kind_its_limits_and_its_noise():
    entries = document(PLAN)
    assert entries["kind"] == "silo"
    assert (entries["format"], entries["rows"], entries["rows_per_person"]) == (1, 100_000, 1)
    assert entries["questions"] == [{"mechanism": "count_table", "scale": ["4", "1"]}]
    assert set(entries) == {
        "epsilon",
        "features",
        "format",
        "id",
        "kind",
        "label",
        "questions",
        "rows",
        "rows_per_person",
    }


def test_the_scale_is_features_times_rows_per_person_over_epsilon():
    for epsilon, most in itertools.product((Decimal("0.3"), Decimal(7)), (1, 5)):
        plan = replace(SURVEY, epsilon=epsilon, rows_per_person=most).compile()
        assert plan.scale * Fraction(epsilon) == len(plan.features) * most
        assert SiloPlan.from_json(plan.json).scale == plan.scale


def test_tables_follow_the_features_and_a_number_has_soft_cells():
    shapes = [(each.start, each.values, each.unit) for each in PLAN.mechanism.tables]
    assert shapes == [(0, 2, 1), (4, 5, 1), (14, 3, SOFT_UNIT), (20, 4, SOFT_UNIT)]
    assert PLAN.mechanism.cells == PLAN.question.cells == 28


def test_a_row_adds_one_unit_to_the_cells_of_its_label_in_each_table():
    for codes, label in make_rows(PLAN, 200):
        counts = count_rows(PLAN, [(codes, label)])
        for each in PLAN.mechanism.tables:
            cells = counts[each.start : each.end]
            assert sum(cells) == sum(cells[label::2]) == each.unit
        assert counts[codes[0] * 2 + label] == counts[4 + codes[1] * 2 + label] == 1


def test_a_scale_above_the_needed_one_is_read():
    plan = SiloPlan.from_json(with_change(("questions", 0, "scale"), ["9", "2"]))
    assert plan.scale == Fraction(9, 2)
    assert plan.question.key != PLAN.question.key


def test_keys_are_equal_if_and_only_if_counts_and_noise_are():
    assert replace(SURVEY, id="other", rows=5).compile().question.key == PLAN.question.key
    assert replace(SURVEY, epsilon=Decimal(2)).compile().question.key != PLAN.question.key
    assert replace(SURVEY, features=SURVEY.features[::-1]).compile().question.key != PLAN.question.key


def test_family_enrolment_and_texts_are_those_of_other_surveys():
    text = WARDS.replace('kind = "silo"', 'kind = "silo"\nfamily = "first"\nenrolment = "token"')
    plan = read_silo_survey(text + '\n[about]\ntitle = "Wards"\n').compile()
    again = SiloPlan.from_json(plan.json)
    assert (again.family, again.by_invitation) == ("first", True)
    assert plan.texts is not None
    assert again.with_texts(plan.texts.json).texts == plan.texts


# -- what a reader refuses ---------------------------------------------------------------------

WRONG: dict[str, list[tuple[tuple[Any, ...], Any]]] = {
    "format": [(("format",), 2), (("format",), ...), (("format",), "1")],
    "kind": [(("kind",), "people"), (("kind",), "Silo"), (("kind",), 1)],
    "id": [(("id",), ""), (("id",), "A"), (("id",), 3), (("id",), "x" * 65)],
    "family": [(("family",), "A"), (("family",), 3)],
    "enrolment": [(("enrolment",), "all"), (("enrolment",), True)],
    "texts": [(("texts",), "ab"), (("texts",), "A" * 64)],
    "epsilon": [(("epsilon",), "0.0001"), (("epsilon",), "33"), (("epsilon",), "NaN")],
    "label": [(("label", "values"), ["yes"])],
    "ill": [(("label", "values"), ["yes", "yes"])],
    "features": [(("features",), []), (("features", 0, "name"), "ill"), (("features", 0, "name"), "age")],
    "smoker": [(("features", 0, "values"), ["a", "a"]), (("features", 0, "missing"), "maybe")],
    "weight": [(("features", 2, "low"), "200"), (("features", 2, "high"), "x")],
    "rows": [(("rows",), each) for each in (0, -1, 10**9 + 1, "5", True, None)],
    "rows_per_person": [(("rows_per_person",), each) for each in (0, 100_001, "1", True)],
    "questions": [(("questions",), []), (("questions",), {}), (("questions",), "x")],
    "questions.0.mechanism": [(("questions", 0, "mechanism"), "DE")],
    "questions.0.scale": [
        (("questions", 0, "scale"), each)
        for each in (
            ["8", "2"],
            ["4"],
            ["4", "1", "1"],
            ["4", "0"],
            ["-4", "1"],
            ["4", "01"],
            [4, 1],
            "4",
            ["39", "10"],
            [str((1 << 128) + 1), "1"],
            ["1" * 5000, "1"],
        )
    ],
    "": [
        *((("questions", 0, key), ...) for key in ("mechanism", "scale")),
        *(((key,), ...) for key in ("id", "epsilon", "features", "questions", "rows")),
        (("rows_per_person",), ...),
        (("more",), 1),
        (("questions", 0, "more"), 1),
        (("features", 0, "more"), 1),
        (("epsilon",), "1.0"),
        (("epsilon",), 1),
        (("family",), "wards"),
        (("enrolment",), "open"),
        (("features",), None),
        (("projection",), {"inputs": [], "components": []}),
        (("tables",), {}),
    ],
}


@pytest.mark.parametrize(
    ("field", "path", "value"),
    [(field, path, value) for field, changes in WRONG.items() for path, value in changes],
    ids=str,
)
def test_a_wrong_entry_is_refused_by_its_field(field, path, value):
    assert refuse(with_change(path, value), SiloPlan.from_json).field == field


def test_a_changed_leaf_gives_another_plan_or_none():
    accepted = 0
    for path, leaf in leaves_of(document(PLAN)):
        for other in ("", "x", "4", 0, 1, 7, True, None, [], {}):
            if other == leaf and type(other) is type(leaf):
                continue
            try:
                plan = SiloPlan.from_json(with_change(path, other))
            except SurveyError:
                continue
            accepted += 1
            assert plan.digest != PLAN.digest
            assert plan.json == with_change(path, other)
            assert len(plan.features) * plan.rows_per_person <= plan.scale * Fraction(plan.epsilon)
    assert accepted  # names and values may be other texts


def test_noise_that_spends_more_than_epsilon_is_refused_to_the_last_digit():
    bottom = 10**30
    SiloPlan.from_json(with_change(("questions", 0, "scale"), [str(4 * bottom + 1), str(bottom)]))
    with pytest.raises(PrivacyError):
        SiloPlan.from_json(with_change(("questions", 0, "scale"), [str(4 * bottom - 1), str(bottom)]))
    with pytest.raises(PrivacyError):
        SiloPlan.from_json(with_change(("rows_per_person",), 2))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"{} ", PLAN.json + b"\n", PLAN.json.replace(b",", b", ", 1), b" " + PLAN.json]
)
def test_another_spelling_is_refused(data):
    refuse(data, SiloPlan.from_json)
    refuse(data, ANY_PLANS.from_json)


def test_a_plan_above_a_mebibyte_is_refused():
    refuse(b" " * ((1 << 20) + 1), SiloPlan.from_json)


def test_the_two_kinds_of_plans_refuse_each_other():
    people = read_survey(GOOD).compile()
    error = refuse(PLAN.json, Plan.from_json)
    assert (error.field, error.why) == ("kind", SILO_REFUSAL)
    error = refuse(people.json, SiloPlan.from_json)
    assert error.field == "kind"
    assert ANY_PLANS.from_json(people.json) == people
    assert not isinstance(PLAN, Plan)


# -- the report --------------------------------------------------------------------------------


def many_cells(cells: int) -> str:
    """Return a survey with this number of cells, which is even."""
    values = ", ".join(f'"{value}"' for value in range(cells // 2))
    return WARDS[: WARDS.index("[features.smoker]")] + f"[features.ward]\nvalues = [{values}]\n"


@pytest.mark.slow
def test_the_longest_message_has_at_most_64_kib_and_longer_ones_do_not_compile():
    plan = read_silo_survey(many_cells(8184)).compile()
    message = make_message(plan, [((0,), 0)], SystemEntropy())
    assert MAX_REPORT_BYTES < len(message) == plan.message_bytes <= MAX_MESSAGE_BYTES
    assert read_report(plan, message).id
    with pytest.raises(SurveyError, match="8,186 cells") as refusal:
        read_silo_survey(many_cells(8186)).compile()
    assert refusal.value.field == "features"


@pytest.mark.slow
def test_a_plan_of_people_takes_no_report_above_4_kib():
    plan, people = read_silo_survey(many_cells(8184)).compile(), read_survey(GOOD).compile()
    message = make_message(plan, [((0,), 0)], SystemEntropy())
    with pytest.raises(Exception, match="4096") as refusal:
        read_report(people, message)
    assert getattr(refusal.value, "reason", "") == "too-large"


# -- the survey file ---------------------------------------------------------------------------

HEAD = 'kind = "silo"'
MISTAKES = {
    "survey.rows": ["rows = 100000->rows = 0", "rows = 100000->rows = 1.5", "rows = 100000->"],
    "survey.rows_per_person": ["rows_per_person = 1->rows_per_person = 0", "person = 1->person = 200000"],
    "survey.users": [f"{HEAD}->{HEAD}\nusers = 100"],
    "survey.kind": [f'{HEAD}->kind = "silos"', f"{HEAD}->kind = true"],
    "mechanism": ['[label]->[mechanism]\nfrequency = "DE"\n[label]'],
    "validation": ["[label]->[validation]\norder = []\n[label]"],
    "projection": ["[label]->[projection.inputs.x]\nrange = [0, 1]\n[label]"],
    "label.weight": ["[label]->[label]\nweight = 2"],
    "features.smoker.weight": ["[features.smoker]->[features.smoker]\nweight = 2"],
    "features.weight.weights": ["[features.weight]->[features.weight]\nweights = [1]"],
    "features.weight.offset": ["[features.weight]->[features.weight]\noffset = 1"],
    "survey.epsilon": ["epsilon = 1.0->epsilon = 0"],
}


def changes() -> Iterator[tuple[str, str]]:
    for field, edits in MISTAKES.items():
        for edit in edits:
            old, new = edit.split("->")
            assert old in WARDS
            yield field, WARDS.replace(old, new, 1)


@pytest.mark.parametrize(("field", "text"), list(changes()))
def test_a_mistake_in_a_survey_of_silos_is_named_with_its_line(field, text):
    assert dict(list_mistakes(text))[field]


@pytest.mark.parametrize("key", ["rows = 10", "rows_per_person = 1"])
def test_a_survey_of_people_has_no_rows(key):
    assert 'only for kind = "silo"' in str(refuse(GOOD.replace("[survey]", f"[survey]\n{key}")))


def test_what_reads_surveys_of_people_refuses_those_of_silos(tmp_path):
    authored, compiled = tmp_path / "wards.toml", tmp_path / "wards.json"
    authored.write_text(WARDS)
    compiled.write_bytes(PLAN.json)
    assert ANY_PLANS.load(authored) == ANY_PLANS.load(compiled) == PLAN
    error = refuse(WARDS, read_survey)
    assert (error.field, error.line, error.why) == ("survey.kind", 4, SILO_REFUSAL)
    for path in (authored, compiled):
        assert "ldp-silo report" in str(refuse(path, PEOPLE_PLANS.load))
