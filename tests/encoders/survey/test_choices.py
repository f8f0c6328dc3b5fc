"""Features with several answers: one entry of the row, one yes/no feature per choice."""

import json
import tracemalloc

import pytest

from encoders import canonical
from encoders.errors import RowError, SurveyError
from encoders.explain.preview import preview
from encoders.randomness import SystemEntropy
from encoders.survey import Plan, read_survey
from encoders.survey.features import Choices
from tests.support.mistakes import assert_explained, refuse
from tests.support.surveys import make_plan, survey_toml

CUPS = Choices("cups", ("small", "large", "3"))
OPTIONAL = Choices("cups", ("small", "large", "3"), "category")


def make(choices: object = ("small", "large", "3"), **more: object) -> Plan:
    return make_plan(features={"tea": ["black", "green"], "cups": {"choices": list(choices), **more}})


@pytest.mark.parametrize(
    ("value", "codes"),
    [(["small"], [1, 0, 0]), ([], [0, 0, 0]), (("large", 3), [0, 1, 1]), ({"large"}, [0, 1, 0])],
)
def test_each_choice_is_coded_as_no_or_yes(value, codes):
    assert [each.code(value) for each in CUPS.features()] == codes


def test_a_missing_answer_is_a_third_value_of_every_choice():
    assert [each.code(None) for each in OPTIONAL.features()] == [2, 2, 2]
    assert [each.code([]) for each in OPTIONAL.features()] == [0, 0, 0]
    assert OPTIONAL.features()[0].texts == ("no", "yes", "(missing)")
    with pytest.raises(RowError, match="cups: is missing: give a value, or write missing"):
        CUPS.code(None)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("small", "must be a list of the ticked choices, not a str"),
        (3, "must be a list of the ticked choices, not a int"),
        ({"small": False}, "must be a list of the ticked choices, not a dict"),
        (iter(["small"]), "must be a list of the ticked choices, not a list_iterator"),  # it can be read once
        (["small", "tiny"], "contains something else than the survey's choices"),
        ([None], "contains something else than the survey's choices"),
        ([["small"]], "contains something else than the survey's choices"),
        (["tiny"], 'choices: "small", "large", "3"$'),
    ],
)
def test_a_value_that_does_not_fit_is_refused_without_quoting_it(value, why):
    with pytest.raises(RowError, match=why) as caught:
        CUPS.code(value)
    assert caught.value.field == "cups"
    assert "tiny" not in str(caught.value)


def test_a_plan_has_one_entry_and_one_question_per_choice():
    plan = make()
    assert [entry["name"] for entry in json.loads(plan.json)["features"]] == ["tea", "cups"]
    assert [each.name for each in plan.entries] == ["tea", "cups"]
    assert [each.name for each in plan.questions] == ["tea", "cups: small", "cups: large", "cups: 3"]
    assert Plan.from_json(plan.json) == plan
    assert plan.encode({"tea": "green", "cups": ["large"]}, "no") == ((1, 0, 1, 0), 1)


def test_a_weight_is_the_weight_of_each_choice():
    assert [each.weight for each in make(weight=3).questions] == [1, 3, 3, 3]


def test_a_large_epsilon_asks_for_several_choices_at_once():
    plan = make_plan(epsilon=6.0, label=None, features={"cups": {"choices": ["a", "b", "c"]}})
    assert [each.name for each in plan.questions] == ["cups: a, cups: b, cups: c"]
    assert plan.questions[0].meaning(5) == {"cups: a": "yes", "cups: b": "no", "cups: c": "yes"}


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        (["a"], "needs a list of at least 2 values"),
        (["a", "b "], "begin or end with a space"),
        (["a", " "], "begin or end with a space"),
        (["a", "a;b"], "contain ';'"),
        (["a", "(missing)"], "cannot be"),
        (["a", "x" * 198], "has 204 characters"),
        (["a", "a"], "has repeated values: a"),
        (["large", "large\ufe0f"], "repeated values: large"),
    ],
)
def test_wrong_choices_are_refused_with_their_line(choices, why):
    text = survey_toml(features={"tea": ["black", "green"], "cups": {"choices": choices}})
    assert_explained(text, "features.cups.choices", text[: text.index("choices")].count("\n") + 1, why)


def test_values_and_choices_exclude_each_other():
    with pytest.raises(SurveyError, match="needs exactly one of"):
        make(values=["a", "b"])


def test_the_name_of_a_choice_must_be_free():
    with pytest.raises(SurveyError, match=r"names must differ; repeated: cups: a$"):
        read_survey(
            survey_toml(features={"cups": {"choices": ["a", "b"]}})
            + '[features."cups: a"]\nvalues = ["x", "y"]\n'
        ).compile()


def test_a_cell_of_a_csv_file_lists_the_ticked_choices():
    assert CUPS.from_text("small; 3") == ["small", "3"]
    assert CUPS.from_text(";") == []
    assert CUPS.from_text(" ") is None


def test_a_preview_shows_the_texts_of_a_choice():
    text = survey_toml(features={"cups": {"choices": ["s", "l"]}}) + (
        '[texts.en.features.cups]\ntitle = "Which cups?"\nvalues = { s = "Small", l = "Large" }\n'
    )
    plan = read_survey(text).compile()
    shown = str(preview(plan, {"cups": ["l"]}, "no", SystemEntropy(), "cups: l"))
    assert '"Which cups?: Large" = yes' in shown


@pytest.mark.parametrize("value", [{"small": False}, (each for each in ["small"]), iter(["small"]), b"small"])
def test_a_mapping_or_an_iterator_is_not_a_list(value):
    with pytest.raises(RowError, match="must be a list of the ticked choices") as caught:
        make().encode({"tea": "green", "cups": value}, "no")
    assert caught.value.field == "cups"


def test_an_array_is_a_list():
    np = pytest.importorskip("numpy")
    assert CUPS.codes(np.array(["large", "3"])) == (0, 1, 1)
    for value in (np.array("large"), np.array([["large"]])):
        with pytest.raises(RowError, match="must be a list of the ticked choices, not a ndarray"):
            CUPS.codes(value)


def test_an_error_lists_the_first_choices():
    many = Choices("cups", tuple(f"c{index}" for index in range(13)))
    with pytest.raises(RowError, match=r'"c0", .*, "c11", \.\.\.$'):
        many.codes(["tiny"])


def test_the_list_is_read_once_for_all_choices():
    class Row(dict[str, object]):
        reads = 0

        def __getitem__(self, name: str) -> object:
            self.reads += name == "cups"
            return super().__getitem__(name)

    row = Row(tea="green", cups=["large"])
    assert make().encode(row, "no") == ((1, 0, 1, 0), 1)
    assert row.reads == 1


def test_a_plan_with_a_model_of_choices_is_read_again():
    text = survey_toml(features={"cups": {"choices": ["s", "l"]}, "tea": ["a", "b"]}) + (
        '[validation]\norder = ["cups: l", "tea"]\ntops = [1]\nprior = [0, -1]\n[validation.scores]\n'
        '"cups: s" = [[0, 0], [0, 0]]\n"cups: l" = [[-5, 0], [0, -5]]\ntea = [[0, -1], [-1, 0]]\n'
    )
    plan = read_survey(text).compile()
    assert Plan.from_json(plan.json) == plan
    assert [each.name for each in plan.entries] == ["cups", "tea"]


def test_a_long_name_is_refused_before_each_choice_repeats_it():
    document = json.loads(make().json)
    document["features"][0] |= {"name": "x" * 100_000, "values": [str(number) for number in range(2000)]}
    data = canonical.dump_canonical_json(document)
    tracemalloc.start()
    assert "names must be" in str(refuse(data, Plan.from_json))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50 * len(data)


def test_two_choices_of_a_plan_that_look_alike_are_refused():
    document = json.loads(make(("small", "large")).json)
    document["features"][0]["values"] = ["large", "large\ufe0f"]
    refuse(canonical.dump_canonical_json(document), Plan.from_json)
