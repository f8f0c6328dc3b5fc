"""Every mistake in a projection is explained by field and line."""

import pytest

from encoders.survey.plan_files import PEOPLE_PLANS
from tests.support.mistakes import assert_explained, list_mistakes, refuse
from tests.support.surveys import PROJECTED

INPUTS = """[projection.inputs.age]
range = [0, 100]
missing = "category"

[projection.inputs.income]
range = [-2000.5, 200_000]
"""
SECOND = "weights = [-3, 0.000001]\noffset = 0.1\n"
# old text, new text, field, line, words of the explanation
PROJECTED_MISTAKES = {
    "input reversed": ("[0, 100]", "[100, 0]", "projection.inputs.age.range", 10, "must increase"),
    "input empty": ("[0, 100]", "[0, 0]", "projection.inputs.age.range", 10, "must increase"),
    "input nan": ("[0, 100]", "[0, nan]", "projection.inputs.age.range", 10, "finite numbers"),
    "input of one end": ("[0, 100]", "[100]", "projection.inputs.age.range", 10, "at least 2"),
    "input of three ends": ("[0, 100]", "[0, 5, 9]", "projection.inputs.age.range", 10, "two numbers"),
    "input without range": ("range = [0, 100]\n", "", "projection.inputs.age.range", 9, "at least 2"),
    "input with bins": (
        "[0, 100]",
        "[0, 1]\nbins = 4",
        "projection.inputs.age.bins",
        11,
        "not an entry here",
    ),
    "input with a weight": (
        "[0, 100]",
        "[0, 1]\nweight = 2",
        "projection.inputs.age.weight",
        11,
        "not an entry here",
    ),
    "input misses badly": (
        '"category"\n\n[proj',
        '"maybe"\n\n[proj',
        "projection.inputs.age.missing",
        11,
        '"category"',
    ),
    "input no table": (
        INPUTS,
        "[projection.inputs]\nage = 3\n",
        "projection.inputs.age",
        10,
        "[projection.inputs.age]",
    ),
    "input without name": (".income]", '.""]', "projection.inputs.", 13, "needs a name"),
    "input that is a feature": (
        ".income]",
        ".hours]",
        "projection.inputs.hours",
        13,
        "name of a feature or the label",
    ),
    "input that is a component": (".income]", ".first]", "projection.inputs.first", 13, "name of a feature"),
    "input that is the label": (".income]", ".rested]", "projection.inputs.rested", 13, "or the label"),
    "inputs no table": (
        INPUTS,
        "[projection]\ninputs = 3\n",
        "projection.inputs",
        10,
        "must be tables: [projection.inputs.NAME]",
    ),
    "no inputs": (INPUTS, "[projection]\n", "projection.inputs", 9, "at least one table"),
    "no projection": (INPUTS, "", "projection.inputs", None, "at least one table"),
    "unknown entry": (
        INPUTS,
        "[projection]\nfit = 1\n" + INPUTS,
        "projection.fit",
        10,
        "is not an entry here",
    ),
    "bins on a category": (
        '"south"]',
        '"south"]\nbins = 3',
        "features.city.bins",
        18,
        "is only for range",
    ),
    "too few weights": ("[0.25, -0.75]", "[0.25]", "features.first.weights", 25, "of the 2 inputs"),
    "too many weights": ("[0.25, -0.75]", "[1, 2, 3]", "features.first.weights", 25, "it has 3"),
    "no weights": ("[0.25, -0.75]", "[]", "features.first.weights", 25, "one for each input"),
    "weights no list": ("[0.25, -0.75]", "0.25", "features.first.weights", 25, "one for each input"),
    "weight text": ("[0.25, -0.75]", '[0.25, "1"]', "features.first.weights", 25, "finite numbers"),
    "weight true": ("[0.25, -0.75]", "[0.25, true]", "features.first.weights", 25, "finite numbers"),
    "weight nan": ("[0.25, -0.75]", "[0.25, nan]", "features.first.weights", 25, "finite numbers"),
    "weight infinite": ("[0.25, -0.75]", "[0.25, -inf]", "features.first.weights", 25, "finite numbers"),
    "weight too fine": ("-0.75]", "0.7500001]", "features.first.weights", 25, "at most 6 decimals"),
    "weight tiny": ("-0.75]", "1e-7]", "features.first.weights", 25, "at most 6 decimals"),
    "weights large": ("[0.25,", "[8000,", "features.first.weights", 25, "more than 8000"),
    "weight beyond doubles": ("[0.25,", "[1e400,", "features.first.weights", 25, "finite numbers"),
    "offset too fine": ("= 0.1\n", "= 0.1234567\n", "features.second.offset", 31, "at most 6 decimals"),
    "offset infinite": ("= 0.1\n", "= inf\n", "features.second.offset", 31, "finite number"),
    "offset text": ("= 0.1\n", '= "0.1"\n', "features.second.offset", 31, "finite number"),
    "offset without weights": (
        SECOND,
        "offset = 0.1\n",
        "features.second.weights",
        28,
        "one for each input",
    ),
    "more components than inputs": (
        "[0, 12]",
        "[0, 12]\nweights = [1, 1]",
        "projection",
        9,
        "1 to 2 components, each with weights; this survey has 3",
    ),
    "no component": (
        PROJECTED[PROJECTED.index("[features.first]") : PROJECTED.index("[mechanism]")],
        "",
        "projection",
        9,
        "this survey has 0",
    ),
    "weights misspelt": (
        "weights = [-3, 0.000001]\noffset = 0.1",
        "weigths = [-3]",
        "features.second.weigths",
        30,
        "is not an entry here",
    ),
}


@pytest.mark.parametrize("name", PROJECTED_MISTAKES)
def test_a_mistake_about_a_projection_is_explained_by_field_and_line(name):
    old, new, field, line, words = PROJECTED_MISTAKES[name]
    assert PROJECTED.count(old) == 1
    assert_explained(PROJECTED.replace(old, new), field, line, words)


def test_every_mistake_in_components_is_named_at_once():
    text = PROJECTED.replace("[0.25, -0.75]", "[0.25]").replace("offset = 0.1\n", "offset = 0.1234567\n")
    assert list_mistakes(text) == [
        ("features.first.weights", 25),
        ("features.second.offset", 31),
    ]


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        # each is one mistake for its author, and shows in two places
        ('"south"]', '"south"]\nweights = [1, 2]', {("projection", 9), ("features.city", 16)}),
        ('"south"]', '"south"]\noffset = 1', {("features.city", 16), ("features.city.weights", 16)}),
        ("range = [-2, 2]\n", "", {("features.second", 28)}),
        (INPUTS, "", {("projection.inputs", None)}),
    ],
)
def test_a_component_is_a_number_with_a_range(old, new, fields):
    assert set(list_mistakes(PROJECTED.replace(old, new))) == fields


def test_a_component_s_line_is_found_whatever_its_name():
    text = PROJECTED.replace("[features.first]", '[features."fir.st"]').replace("-0.75]", "-0.75, 1]")
    error = refuse(text)
    assert (error.field, error.line) == ("features.fir.st.weights", 25)


@pytest.mark.parametrize("text", ["projection = 3\n", "projection = []\n"])
def test_a_projection_is_a_table(text):
    assert ("projection", 1) in list_mistakes(text + PROJECTED.replace(INPUTS, ""))


COMPILED_MISTAKES = {
    "an input may be missing, its component not": (
        '-0.75]\nmissing = "category"',
        "-0.75]",
        "first",
        22,
        'so add missing = "category"',
    ),
    "bounds too close": ("[0, 12]", "[1, 1.0000000000000001]", "features.hours.range", 20, "must increase"),
    "range too large for doubles": (
        "[0, 12]",
        f"[-1{'0' * 308}.0, 1{'0' * 308}.0]",
        "features.hours.range",
        20,
        "digits",
    ),
    "no question estimates the prior": (
        'values = ["yes", "no"]',
        'values = ["yes", "no"]\nweight = 0',
        "label.weight",
        8,
        "0 leaves no question that estimates the label's prior",
    ),
    "noise too small": ("epsilon = 1.5", "epsilon = 17", "features.hours", 19, "epsilon up to 16 per number"),
}


@pytest.mark.parametrize("name", COMPILED_MISTAKES)
def test_a_mistake_that_shows_when_compiling_is_explained_by_field_and_line(name, tmp_path):
    old, new, field, line, words = COMPILED_MISTAKES[name]
    only_numbers = PROJECTED.replace("bins = 4\n", "").replace('"south"]', '"south"]\nweight = 0')
    text = (only_numbers if field == "label.weight" else PROJECTED).replace(old, new)
    mechanism = {"label.weight": "onebit", "features.hours": "sampled-laplace"}.get(field, "auto")
    (tmp_path / "survey.toml").write_text(text + f'numeric = "{mechanism}"\n', encoding="utf-8")
    assert_explained(tmp_path / "survey.toml", field, line, words, PEOPLE_PLANS.load)
