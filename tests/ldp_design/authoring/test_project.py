"""A projected survey keeps the author's text except the numbers, which become inputs of a projection."""

import tomllib
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import ldp_design.authoring
from encoders.errors import RowError, SurveyError
from encoders.survey import BinnedFeature, CategoricalFeature, Plan, read_survey
from encoders.survey.features import NumericFeature
from ldp_aggregator.rows.encode_table import encode_table, project_columns
from ldp_design.authoring.project import ProjectionError, write_projection
from ldp_design.authoring.toml_edit import LayoutError
from reduction.fit import FitError, fit

SURVEY = """\
# What this is about.

[survey]
id = "tea"            # kept "tea"
epsilon = 1.0

[label]
name = "tired"
values = ["yes", "no"]

# About the kind.
[features.kind]
values = ["black", "green"]

# About the hours.
[features.hours]
# slept a night
range = [0, 12]
bins = 3
# bins = 4

# Nothing of this belongs to hours.

[features."cups [a day]"]
edges = [
    0,
    1,   # a cup
    2.5,
    20,
]

# About the city.
[features.city]
values = ["north", "south"]

[mechanism]
frequency = "SUE"
"""


def table(m: int = 300, seed: int = 1) -> dict[str, list[str]]:
    rng = np.random.default_rng(seed)
    tired = rng.integers(0, 2, m)
    hours = np.round(7 + rng.normal(size=m) - 2 * tired, 2)
    cups = np.round(np.abs(2 + rng.normal(size=m) + tired), 1)
    return {
        "tired": [["no", "yes"][code] for code in tired],
        "hours": [str(number) for number in hours],
        "cups [a day]": [str(number) for number in cups],
        "other": ["x"] * m,
    }


TABLE = table()


def unwrap(text: str) -> str:
    """Return a text without comment marks and line breaks."""
    return " ".join(line.lstrip("# ") for line in text.splitlines())


def with_(**columns: list[str]) -> dict[str, list[str]]:
    return TABLE | columns


# -- what is written ----------------------------------------------------------------------------


def test_numbers_become_inputs_and_components_take_their_place():
    survey = read_survey(write_projection(SURVEY, TABLE, "rows.csv", "dca", 2, bins=4))
    assert survey.id == "tea-dca2"
    assert [feature.name for feature in survey.features] == ["kind", "dca1", "dca2", "city"]
    assert survey.projection.inputs == (
        NumericFeature("hours", "0", "12"),
        NumericFeature("cups [a day]", "0", "20"),
    )
    assert [component.name for component in survey.projection.components] == ["dca1", "dca2"]
    assert isinstance(survey.features[1], BinnedFeature)
    assert len(survey.features[1].edges) == 5
    assert (survey.epsilon, survey.frequency) == (Decimal(1), "SUE")
    assert survey.label == read_survey(SURVEY).label
    plan = survey.compile()
    assert Plan.from_json(plan.json) == plan


def test_without_bins_components_are_numbers():
    survey = read_survey(write_projection(SURVEY, TABLE, "rows.csv", "pca"))
    assert survey.id == "tea-pca1"
    assert isinstance(survey.features[1], NumericFeature)
    assert survey.features[1].name == "pca1"


def test_numbers_without_bins_are_inputs_too():
    text = write_projection(SURVEY.replace("bins = 3\n", ""), TABLE, "rows.csv", bins=4)
    assert tomllib.loads(text) == tomllib.loads(write_projection(SURVEY, TABLE, "rows.csv", bins=4))


def test_everything_else_stays_as_it_was_written():
    text = write_projection(SURVEY, TABLE, "rows.csv")
    kept = text[text.index("# What this is about") :]
    assert kept[: kept.index("# Discriminant")] == SURVEY[: SURVEY.index("# About the hours")].replace(
        'id = "tea"', 'id = "tea-dca1"'
    )
    end = "# Nothing of this belongs to hours.\n\n# About the city."
    assert kept.endswith(end + SURVEY[SURVEY.index("# About the city.") + len("# About the city.") :])
    for gone in ("About the hours", "slept a night", "bins", "a cup"):
        assert gone not in kept


def test_the_matrix_is_the_fit_of_the_table():
    x = np.stack(
        [np.array(TABLE["hours"], float) / 6 - 1, np.array(TABLE["cups [a day]"], float) / 10 - 1], 1
    )
    labels = (np.array(TABLE["tired"]) == "no").astype(int)
    survey = read_survey(write_projection(SURVEY, TABLE, "rows.csv", "dca", 2, ridge=0.5))
    found = fit("dca", survey.projection.inputs, x, labels, 2, 0.5)
    for one, other in zip(survey.projection.components, found.projection.components, strict=True):
        np.testing.assert_allclose(
            [float(text) for text in one.weights], [float(text) for text in other.weights], atol=1e-4
        )
    assert [(each.low, each.high) for each in survey.features[1:3]] == list(found.bounds)


def test_the_devices_components_are_centred_and_within_their_ranges():
    survey = read_survey(write_projection(SURVEY, TABLE, "rows.csv", "dca", 2))
    columns = {name: list(map(float, TABLE[name])) for name in ("hours", "cups [a day]")}
    for feature, column in zip(
        survey.features[1:3], project_columns(survey.projection, columns).values(), strict=True
    ):
        assert column.mean() == pytest.approx(0, abs=1e-5)
        assert column.std() == pytest.approx(1, abs=1e-5)
        assert float(feature.low) <= column.min() + 1e-5
        assert float(feature.high) >= column.max() - 1e-5
    plan = survey.compile()
    columns |= {"kind": ["black"] * 300, "city": ["south"] * 300}
    coded = encode_table(plan, columns)
    row = {name: values[7] for name, values in columns.items()}
    assert plan.encode_row(row) == tuple(coded[7])


def test_the_text_begins_with_the_origin_of_the_projection():
    text = write_projection(SURVEY, TABLE, "my rows.csv", "dca", 2, ridge=0.02)
    beginning = unwrap(text.split("\n\n")[0])
    assert 'stated to be PUBLIC, "my rows.csv",' in beginning
    assert "Epsilon does not cover the fit" in beginning
    assert "new id" in beginning
    assert "(DCA), ridge 0.02 of" in unwrap(text)
    assert 'of "my rows.csv": 300 of its 300 rows.' in unwrap(text)
    assert "# discriminant power 1." in text
    assert "# discriminant power 0:" in text
    assert "Only the first component can separate 2 classes" in unwrap(text)
    assert "Only the first" not in write_projection(SURVEY, TABLE, "rows.csv")
    by_pca = write_projection(SURVEY, TABLE, "rows.csv", "pca", 2)
    assert "ridge" not in by_pca
    shares = [float(part.split("%")[0]) for part in by_pca.split("# explains ")[1:]]
    assert sum(shares) == pytest.approx(100, abs=0.02)


def test_rows_with_a_gap_are_left_out_and_counted():
    gaps = with_(hours=["", " ", "nan", *TABLE["hours"][3:]], tired=[*TABLE["tired"][:-1], ""])
    whole = {name: cells[3:-1] for name, cells in TABLE.items()}
    text, expected = (
        write_projection(SURVEY, gaps, "rows.csv"),
        write_projection(SURVEY, whole, "rows.csv"),
    )
    assert "296 of its 300 rows; the others lack a number or the label." in unwrap(text)
    assert tomllib.loads(text) == tomllib.loads(expected)
    by_pca = write_projection(SURVEY, gaps, "rows.csv", "pca")
    assert "297 of its 300 rows; the others lack a number." in unwrap(by_pca)


def test_pca_needs_no_label():
    assert "PCA" in write_projection(
        SURVEY, {name: TABLE[name] for name in TABLE if name != "tired"}, "rows.csv", "pca"
    )


def test_components_may_be_missing_if_an_input_may():
    text = write_projection(SURVEY.replace("bins = 3", 'bins = 3\nmissing = "category"'), TABLE, "rows.csv")
    survey = read_survey(text)
    assert [each.missing for each in survey.projection.inputs] == ["category", "error"]
    assert survey.features[1].missing == "category"
    assert [each.missing for each in survey.features if isinstance(each, CategoricalFeature)] == ["error"] * 2


def test_components_have_the_weight_that_all_numbers_share():
    both = SURVEY.replace("bins = 3", "bins = 3\nweight = 4").replace("edges = [", "weight = 4\nedges = [")
    assert read_survey(write_projection(both, TABLE, "rows.csv", components=2)).weights[1:] == (
        1,
        4,
        4,
        1,
    )
    one = SURVEY.replace("bins = 3", "bins = 3\nweight = 4")
    assert read_survey(write_projection(one, TABLE, "rows.csv")).weights[1:] == (1, 1, 1)


def test_a_number_that_nobody_is_asked_about_stays_as_it_is():
    text = write_projection(SURVEY.replace("bins = 3", "bins = 3\nweight = 0"), TABLE, "rows.csv")
    survey = read_survey(text)
    assert [feature.name for feature in survey.features] == ["kind", "hours", "dca1", "city"]
    assert [each.name for each in survey.projection.inputs] == ["cups [a day]"]
    assert "# About the hours." in text


def test_a_long_id_is_shortened_to_make_room():
    survey = read_survey(write_projection(SURVEY.replace('"tea" ', f'"{"t" * 64}" '), TABLE, "rows.csv"))
    assert survey.id == "t" * 59 + "-dca1"


def test_an_id_that_leaves_no_room_for_a_new_one_is_refused():
    text = SURVEY.replace('"tea" ', f'"{"t" * 59}-dca1" ')
    with pytest.raises(ProjectionError, match="too long for a new id that ends in -dca1: shorten it"):
        write_projection(text, TABLE, "rows.csv")


def test_only_the_id_itself_is_exchanged_in_its_line():
    text = SURVEY.replace('id = "tea"            # kept "tea"', """id = 'tea'  # not "tea" alone""")
    assert """id = "tea-dca1"  # not "tea" alone\n""" in write_projection(text, TABLE, "rows.csv")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace('id = "tea" ', "id = 'tea' "),
        lambda text: text.replace("[features.hours]", '[ features . "hours" ] # hours'),
        lambda text: text.replace("\n\n", "\n"),
        lambda text: text.replace("\n\n", "\n\n\n"),
        lambda text: (
            text.replace("[survey]\n", "").replace("id =", "survey.id =").replace("eps", "survey.eps")
        ),
        lambda text: text.rstrip("\n"),
        lambda text: text[: text.index("# About the city")],
        lambda text: text.replace('values = ["yes"', 'values = ["tea", "yes"'),
        lambda text: text.replace("# What", '# "tea": what'),
        lambda text: text.replace('id = "tea" ', 'id = """\ntea""" '),
        lambda text: text.replace("# About the city.", "[about]\npurpose = 'tea'\n\n# About the city."),
    ],
)
def test_every_sensible_layout_is_kept(change):
    text = change(SURVEY)
    new, old = read_survey(write_projection(text, TABLE, "rows.csv")), read_survey(text)
    assert new.id == "tea-dca1"
    assert new.label == old.label
    kept = [feature for feature in old.features if isinstance(feature, CategoricalFeature)]
    assert [feature for feature in new.features if isinstance(feature, CategoricalFeature)] == kept


def test_comments_right_above_the_next_header_stay_with_it():
    between = "# bins = 4\n\n# Nothing of this belongs to hours.\n\n"
    text = write_projection(SURVEY.replace(between, "# About the cups.\n"), TABLE, "rows.csv")
    assert "About the cups" not in text
    swapped = SURVEY.replace("20,\n]\n\n", "20,\n]\n")
    assert "# About the city.\n[features.city]" in write_projection(swapped, TABLE, "rows.csv")


def test_the_example_can_be_projected():
    example = (Path(ldp_design.authoring.__file__).parent / "example.toml").read_text("utf-8")
    rng = np.random.default_rng(2)
    columns = {
        "income": [str(number) for number in rng.integers(0, 250_000, 50)],
        "cards": [str(number) for number in rng.integers(0, 9, 50)],
        "debt": [str(number) for number in rng.integers(0, 10**6, 50)],
        "missed_payment": ["yes", "no"] * 25,
    }
    plan = read_survey(write_projection(example, columns, "rows.csv", "dca", 2, 8)).compile()
    assert {feature.name for feature in plan.entries} == {"age", "income", "cards", "debt"}


# -- what cannot be projected -------------------------------------------------------------------


def test_a_projected_survey_is_not_projected_again():
    with pytest.raises(ProjectionError, match="has a projection already"):
        write_projection(write_projection(SURVEY, TABLE, "rows.csv"), TABLE, "rows.csv")


def test_a_survey_without_numbers_is_refused():
    text = SURVEY.replace("bins = 3", "bins = 3\nweight = 0").replace("edges = [", "weight = 0\nedges = [")
    with pytest.raises(ProjectionError, match="asks about no number"):
        write_projection(text, TABLE, "rows.csv")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[features.hours]\n# slept a night\nrange = [0, 12]\nbins = 3", "[features]\nhours.range = [0, 12]"),
        (
            "[features.hours]\n# slept a night\nrange = [0, 12]\nbins = 3",
            "[features]\nhours = {range = [0, 12]}",
        ),
    ],
)
def test_a_number_without_a_table_of_its_own_is_refused(old, new):
    assert old in SURVEY
    with pytest.raises(LayoutError, match=r"features\.hours: needs a separate table"):
        write_projection(SURVEY.replace(old, new), TABLE, "rows.csv")


def test_a_layout_that_cannot_be_kept_is_refused():
    freely = SURVEY.replace("# About the hours.", '[about]\npurpose = """\n# looks like a comment"""')
    assert read_survey(freely).id == "tea"
    with pytest.raises(LayoutError, match="layout of the survey cannot be edited"):
        write_projection(freely, TABLE, "rows.csv")


@pytest.mark.parametrize("place", ["[features.kind]", '"tired"'])
def test_a_name_that_is_taken_is_refused(place):
    text = SURVEY.replace(place, place.replace("kind", "dca1").replace("tired", "dca1"))
    columns = with_(dca1=TABLE["tired"])
    with pytest.raises(ProjectionError, match="dca1: the survey has a column of that name"):
        write_projection(text, columns, "rows.csv")


SECRET = "s3cret"
UNFIT = {
    "no column": (ProjectionError, {"hours": None}, 'no column "hours"; it has "tired", "cups'),
    "no label": (ProjectionError, {"tired": None}, 'no column "tired"'),
    "no number": (RowError, {"hours": [SECRET] * 300}, "hours: row 1: must be a number"),
    "no label of the survey": (RowError, {"tired": [SECRET] * 300}, "tired: row 1: is not one of"),
    "one class": (FitError, {"tired": ["yes"] * 300}, "all rows are of one class"),
    "constant": (FitError, {"hours": ["7"] * 300}, "hours: is the same in every row"),
    "clipped": (FitError, {"hours": ["99", "98"] * 150}, "hours: .* clipped to one bound"),
    "all gaps": (FitError, {"hours": [""] * 300}, "at least 2 rows without missing values, not 0"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_table_that_does_not_fit_is_named_without_its_values(name):
    kind, changes, why = UNFIT[name]
    columns = {name: cells for name, cells in (TABLE | changes).items() if cells is not None}
    with pytest.raises(kind, match=why) as caught:
        write_projection(SURVEY, columns, "rows.csv")
    assert SECRET not in str(caught.value)


def test_more_components_than_numbers_are_refused():
    with pytest.raises(FitError, match="2 inputs make 1 to 2 components, not 3"):
        write_projection(SURVEY, TABLE, "rows.csv", "pca", 3)


def test_a_survey_with_mistakes_is_refused():
    with pytest.raises(SurveyError, match=r"line 5: survey\.epsilon"):
        write_projection(SURVEY.replace("1.0", "0"), TABLE, "rows.csv")
