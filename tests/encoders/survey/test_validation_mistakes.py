"""Every mistake in the model of a validation round is explained by field and line."""

import pytest

from tests.support.mistakes import assert_explained, list_mistakes, refuse
from tests.support.surveys import PROJECTED, VALIDATED

ORDER, PRIOR = 'order = ["hours", "second", "city"]', "prior = [0, -20]"
CITY = "city = [[0, -700], [-300, 0]]\n"
SCORES = VALIDATED[VALIDATED.index("[validation.scores]") :]
# old text, new text, field, line, words of the explanation
VALIDATED_MISTAKES = {
    "an order with a name that no feature has": ('"city"]', '"town"]', "order", 39, "names of features"),
    "an order with an input's name": ('"city"]', '"age"]', "order", 39, "names of features"),
    "an order with the label's name": ('"city"]', '"rested"]', "order", 39, "names of features"),
    "an order with a number": ('"city"]', "0]", "order", 39, "names of features"),
    "an order with a name twice": ('"city"]', '"hours"]', "order", 39, "each once"),
    "an order of one name": (ORDER, 'order = ["hours"]', "order", 39, "at least two features"),
    "an order that is empty": (ORDER, "order = []", "order", 39, "at least two features"),
    "an order that is text": (ORDER, 'order = "hours"', "order", 39, "at least two features"),
    "no order": (ORDER + "\n", "", "order", 38, "at least two features"),
    "tops that fall": ("[1, 2]", "[2, 1]", "tops", 40, "that increase"),
    "a top of all": ("[1, 2]", "[1, 3]", "tops", 40, "less than the 3 of the order"),
    "a top of none": ("[1, 2]", "[0, 2]", "tops", 40, "from 1 to less"),
    "a top with a point": ("[1, 2]", "[1.0, 2]", "tops", 40, "whole numbers"),
    "a top that is true": ("[1, 2]", "[true, 2]", "tops", 40, "whole numbers"),
    "tops that are empty": ("[1, 2]", "[]", "tops", 40, "whole numbers"),
    "tops that are a number": ("[1, 2]", "1", "tops", 40, "whole numbers"),
    "no tops": ("tops = [1, 2]\n", "", "tops", 38, "whole numbers"),
    "a prior of one label": (PRIOR, "prior = [0]", "prior", 41, "for each label, 2 in all"),
    "a prior above zero": (PRIOR, "prior = [0, 1]", "prior", 41, "from -1000000 to 0"),
    "a prior below the least": (PRIOR, "prior = [0, -1_000_001]", "prior", 41, "from -1000000 to 0"),
    "a prior with a point": (PRIOR, "prior = [0, -20.5]", "prior", 41, "a whole number"),
    "a prior that is no number": (PRIOR, "prior = [0, nan]", "prior", 41, "a whole number"),
    "a prior of text": (PRIOR, 'prior = [0, "-20"]', "prior", 41, "a whole number"),
    "no prior": (PRIOR + "\n", "", "prior", 38, "for each label, 2 in all"),
    "no scores of a feature": (CITY, "", "scores", 43, "for each feature"),
    "scores of no feature": (CITY, f"{CITY}town = [[0, 0]]\n", "scores", 43, "for each feature"),
    "scores that are a list": (SCORES, "scores = []\n", "scores", 43, "a table of scores"),
    "a value less": ("[[0, -700], [-300, 0]]", "[[0, -700]]", "scores.city", 44, "needs 2 rows"),
    "a label less": ("[-300, 0]]", "[-300]]", "scores.city", 44, "for each label, 2 in all"),
    "a score above zero": ("[-300, 0]]", "[-300, 1]]", "scores.city", 44, "from -1000000 to 0"),
    "a score with a point": ("[-300, 0]]", "[-300, -0.5]]", "scores.city", 44, "a whole number"),
    "scores that are a number": ("[[0, -700], [-300, 0]]", "0", "scores.city", 44, "needs 2 rows"),
    "a row that is a number": ("[-300, 0]]", "0]", "scores.city", 44, "for each label"),
    "no missing value": (", [0, 0]]\nhours", "]\nhours", "scores.first", 45, "needs 5 rows"),
    "a part less": ("[-32, 0], ", "", "scores.hours", 46, "needs 64 rows"),
    "no missing number": (", [-5, 0]]", "]", "scores.second", 47, "needs 65 rows"),
    "an unknown entry": (PRIOR, f"{PRIOR}\nmodel = 1", "model", 42, "is not an entry here"),
}


@pytest.mark.parametrize("name", VALIDATED_MISTAKES)
def test_a_mistake_in_a_validation_is_explained_by_field_and_line(name):
    old, new, field, line, words = VALIDATED_MISTAKES[name]
    assert VALIDATED.count(old) == 1
    assert_explained(VALIDATED.replace(old, new), f"validation.{field}", line, words)


@pytest.mark.parametrize("text", ["validation = 3\n", "validation = []\n"])
def test_validation_must_be_a_table(text):
    assert list_mistakes(text + PROJECTED) == [("validation", 1)]


def test_scores_of_a_feature_are_found_whatever_its_name():
    text = (
        VALIDATED.replace('"city"', '"ci.ty"').replace(".city]", '."ci.ty"]').replace("city = ", '"ci.ty" = ')
    )
    error = refuse(text.replace("[-300, 0]]", "[-300, 1]]"))
    assert (error.field, error.line) == ("validation.scores.ci.ty", 44)


def test_mistakes_of_the_survey_come_before_those_of_its_validation():
    text = VALIDATED.replace("[0, 12]", "[12, 0]").replace("tops = [1, 2]", "tops = []")
    assert [field for field, _ in list_mistakes(text)] == ["features.hours.range"]
