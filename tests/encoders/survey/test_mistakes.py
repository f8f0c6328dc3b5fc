"""Every mistake in an authored survey is explained by field and line."""

from __future__ import annotations

import pytest

from encoders.errors import SurveyError
from encoders.survey import read_survey
from tests.encoders.survey.authored import GOOD

AGE = '[features.age]\nvalues = ["young", "old"]\nmissing = "category"\n'

# old text, new text, field, line, words of the explanation
MISTAKES = {
    "epsilon zero": ("1.5", "0", "survey.epsilon", 3, "needs a number from"),
    "epsilon zero float": ("1.5", "0.0", "survey.epsilon", 3, "needs a number from"),
    "epsilon negative": ("1.5", "-1.0", "survey.epsilon", 3, "needs a number from"),
    "epsilon nan": ("1.5", "nan", "survey.epsilon", 3, "needs a number from"),
    "epsilon inf": ("1.5", "inf", "survey.epsilon", 3, "needs a number from"),
    "epsilon huge": ("1.5", "1e400", "survey.epsilon", 3, "needs a number from"),
    "epsilon above the cap": ("1.5", "32.01", "survey.epsilon", 3, "to 32"),
    "epsilon tiny": ("1.5", "1e-9", "survey.epsilon", 3, "needs a number from"),
    "epsilon text": ("1.5", '"1.5"', "survey.epsilon", 3, "needs a number from"),
    "epsilon true": ("1.5", "true", "survey.epsilon", 3, "needs a number from"),
    "epsilon list": ("1.5", "[1.5]", "survey.epsilon", 3, "needs a number from"),
    "epsilon date": ("1.5", "2026-01-01", "survey.epsilon", 3, "needs a number from"),
    "epsilon absent": ("epsilon = 1.5\n", "", "survey.epsilon", 1, "needs a number from"),
    "id absent": ('id = "sleep-2026"\n', "", "survey.id", 1, "needs 1 to 64"),
    "id empty": ('"sleep-2026"', '""', "survey.id", 2, "needs 1 to 64"),
    "id upper case": ("sleep-2026", "Sleep", "survey.id", 2, "needs 1 to 64"),
    "id with a path": ("sleep-2026", "../x", "survey.id", 2, "needs 1 to 64"),
    "id with a newline": ("sleep-2026", "x\\n", "survey.id", 2, "needs 1 to 64"),
    "id number": ('"sleep-2026"', "2026", "survey.id", 2, "needs 1 to 64"),
    "id long": ("sleep-2026", "a" * 65, "survey.id", 2, "needs 1 to 64"),
    "unknown entry": ("epsilon = 1.5", "epsilon = 1.5\ndelta = 1", "survey.delta", 4, "is not an entry here"),
    "unknown table": ("[mechanism]", "[mechanisms]", "mechanisms", 18, "is not an entry here"),
    "unknown feature entry": (
        "weight = 3",
        "weigth = 3",
        "features.hours.weigth",
        16,
        "is not an entry here",
    ),
    "table as value": (
        "[mechanism]\n",
        "[mechanism.frequency]\nx = 1\n#",
        "mechanism.frequency",
        18,
        "choose",
    ),
    "label name absent": ('name = "rested"\n', "", "label.name", 5, "needs the name"),
    "label name number": ('"rested"', "1", "label.name", 6, "needs the name"),
    "label of one value": ('["yes", "no"]', '["yes"]', "label.values", 7, "at least 2"),
    "label values text": ('["yes", "no"]', '"yes"', "label.values", 7, "at least 2"),
    "label values absent": ('values = ["yes", "no"]\n', "", "label.values", 5, "at least 2"),
    "label value twice": (
        '["yes", "no"]',
        '["yes", "no", "yes"]',
        "label.values",
        7,
        "has values twice: yes",
    ),
    "value twice, spelled otherwise": ('["yes", "no"]', '[1, "1"]', "label.values", 7, "has values twice: 1"),
    "value empty": ('["yes", "no"]', '["yes", "no", ""]', "label.values", 7, "each value is a text"),
    "value list": ('["yes", "no"]', '["yes", "no", []]', "label.values", 7, "each value is a text"),
    "value broken number": ('["yes", "no"]', '["yes", "no", 0.5]', "label.values", 7, "each value is a text"),
    "feature named as the label": (
        "[features.age]",
        "[features.rested]",
        "features.rested",
        9,
        "label's name",
    ),
    "feature no table": (AGE, "[features]\nage = 1\n", "features.age", 10, "is a table"),
    "feature of two kinds": (
        "bins = 4",
        'bins = 4\nvalues = ["a", "b"]',
        "features.hours",
        13,
        "exactly one",
    ),
    "feature of no kind": ('values = ["young", "old"]\n', "", "features.age", 9, "exactly one of"),
    "feature without name": ("[features.age]", '[features.""]', "features.", 9, "needs a name"),
    "bins absent": ("bins = 4\n", "", "features.hours.bins", 13, "whole number of bins"),
    "bins one": ("bins = 4", "bins = 1", "features.hours.bins", 15, "from 2 to 1000"),
    "bins many": ("bins = 4", "bins = 1001", "features.hours.bins", 15, "from 2 to 1000"),
    "bins float": ("bins = 4", "bins = 4.0", "features.hours.bins", 15, "whole number"),
    "bins true": ("bins = 4", "bins = true", "features.hours.bins", 15, "whole number"),
    "bins with values": ('missing = "category"', "bins = 2", "features.age.bins", 11, "goes with range"),
    "range reversed": ("[0, 10]", "[10, 0]", "features.hours.range", 14, "must increase"),
    "range empty": ("[0, 10]", "[5, 5]", "features.hours.range", 14, "must increase"),
    "range of one": ("[0, 10]", "[5]", "features.hours.range", 14, "at least 2"),
    "range of three": ("[0, 10]", "[0, 5, 10]", "features.hours.range", 14, "two numbers"),
    "range text": ("[0, 10]", '["0", "10"]', "features.hours.range", 14, "finite numbers"),
    "range nan": ("[0, 10]", "[0, nan]", "features.hours.range", 14, "finite numbers"),
    "range infinite": ("[0, 10]", "[-inf, 10]", "features.hours.range", 14, "finite numbers"),
    "range beyond doubles": ("[0, 10]", "[0, 1e400]", "features.hours.range", 14, "finite numbers"),
    "range true": ("[0, 10]", "[false, true]", "features.hours.range", 14, "finite numbers"),
    "edges with bins": (
        "range = [0, 10]",
        "edges = [0, 5, 10]",
        "features.hours.bins",
        15,
        "goes with range",
    ),
    "edges equal": (
        "range = [0, 10]\nbins = 4",
        "edges = [0, 5, 5]",
        "features.hours.edges",
        14,
        "must increase",
    ),
    "edges equal as doubles": (
        "range = [0, 10]\nbins = 4",
        "edges = [0, 1.0, 1.00000000000000001]",
        "features.hours.edges",
        14,
        "must increase",
    ),
    "edges of one bin": (
        "range = [0, 10]\nbins = 4",
        "edges = [0, 5]",
        "features.hours.edges",
        14,
        "at least 3",
    ),
    "missing misspelt": ('"category"', '"maybe"', "features.age.missing", 11, '"category"'),
    "missing true": ('"category"', "true", "features.age.missing", 11, '"category"'),
    "weight negative": ("weight = 3", "weight = -1", "features.hours.weight", 16, "whole number"),
    "weight float": ("weight = 3", "weight = 1.0", "features.hours.weight", 16, "whole number"),
    "weight true": ("weight = 3", "weight = true", "features.hours.weight", 16, "whole number"),
    "weight huge": ("weight = 3", "weight = 1000001", "features.hours.weight", 16, "to 1,000,000"),
    "label weight": ('name = "rested"', 'name = "rested"\nweight = "1"', "label.weight", 7, "whole number"),
    "mechanism unknown": ('"OUE"', '"LAPLACE"', "mechanism.frequency", 19, "choose one of"),
    "mechanism lower case": ('"OUE"', '"oue"', "mechanism.frequency", 19, "choose one of"),
    "mechanism list": ('"OUE"', '["OUE"]', "mechanism.frequency", 19, "choose one of"),
    "mechanism with a stray option": ('"OUE"', '"OUE(0.5)"', "mechanism.frequency", 19, "choose one of"),
    "numeric": ('frequency = "OUE"', 'numeric = "laplace"', "mechanism.numeric", 19, 'only "auto" for now'),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained_by_field_and_line(name: str) -> None:
    old, new, field, line, words = MISTAKES[name]
    assert GOOD.count(old) >= 1
    with pytest.raises(SurveyError) as caught:
        read_survey(GOOD.replace(old, new, 1))
    error = caught.value
    assert (error.field, error.line) == (field, line)
    assert words in error.why
    assert str(error).startswith(f"line {line}: {field}: ")
    assert len(error.problems) == 1


SYNTAX = {
    "two features of one name": (
        GOOD + '[features.age]\nvalues = ["a", "b"]\n',
        20,
        "two entries have one name",
    ),
    "a feature twice inline": (
        "[features]\na = {bins = 2}\na = {bins = 3}\n",
        3,
        "two entries have one name",
    ),
    "an entry twice": (
        GOOD.replace("epsilon = 1.5", "epsilon = 1.5\nepsilon = 2"),
        4,
        "two entries have one name",
    ),
    "broken string": (GOOD.replace('"sleep-2026"', '"sleep'), 2, "not valid TOML"),
    "no value": (GOOD.replace("1.5", ""), 3, "not valid TOML"),
    "prose": ("Dear survey,\n", 1, "not valid TOML"),
    "an unclosed list": (GOOD.replace('"old"]', '"old"'), 11, "not valid TOML"),
}


@pytest.mark.parametrize("name", SYNTAX)
def test_broken_toml_is_explained_with_its_line(name: str) -> None:
    text, line, words = SYNTAX[name]
    with pytest.raises(SurveyError, match=words) as caught:
        read_survey(text)
    assert caught.value.line == line


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "x = 1" + "0" * 5000, "x = 1.5e99999999999999999999"])
def test_hostile_toml_is_refused_like_any_other(text: str) -> None:
    with pytest.raises(SurveyError):
        read_survey(text)


@pytest.mark.parametrize(
    "text", ["", "\n# nothing\n", "[survey]\n", "survey = 1\nlabel = 2\nfeatures = 3\nmechanism = 4"]
)
def test_an_empty_survey_names_all_that_it_lacks(text: str) -> None:
    with pytest.raises(SurveyError) as caught:
        read_survey(text)
    fields = {problem.field for problem in caught.value.problems}
    assert {"survey.id", "survey.epsilon", "label.name", "label.values", "features"} <= fields


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = (
        GOOD.replace("1.5", "0")
        .replace("[0, 10]", "[10, 0]")
        .replace('"OUE"', '"X"')
        .replace('"no"', '"yes"')
    )
    with pytest.raises(SurveyError) as caught:
        read_survey(text)
    error = caught.value
    assert [(problem.field, problem.line) for problem in error.problems] == [
        ("survey.epsilon", 3),
        ("label.values", 7),
        ("features.hours.range", 14),
        ("mechanism.frequency", 19),
    ]
    assert str(error).splitlines() == [str(problem) for problem in error.problems]
    assert (error.field, error.line) == ("survey.epsilon", 3)
