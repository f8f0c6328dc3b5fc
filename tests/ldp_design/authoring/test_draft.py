"""The draft of any sample compiles, and every row of the sample fits it."""

import tomllib
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ldp_client.client
from encoders.survey import CategoricalFeature, read_survey
from encoders.survey.features import Choices
from ldp_aggregator.rows.encode_table import read_boolean_columns
from ldp_design.authoring import overview
from ldp_design.authoring.column_types import NO_ANSWER, LeftOut, infer_feature, round_outward
from ldp_design.authoring.draft import DraftError, draft_survey, make_survey_id
from ldp_design.authoring.toml_edit import quote

ODD = [
    'say "hi"',
    "back\\slash",
    "a\tb",
    "line\nbreak",
    "\x00\x1f\x7f\x85\u2028",
    "Zürich",
    "日本",
    "🫖",
    "'''",
    "#",
    "[x]",
    "a=b",
    " ",
    "true",
    "nan",
    "1e5",
    "007",
    "1.0",
    "-0",
    "+1",
    "1_000",
    "9007199254740993",
    "NA",
    "?",
]
texts = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
cells = st.one_of(
    texts,
    st.just(""),
    st.integers(-5, 20).map(str),
    st.integers().map(str),
    st.floats().map(repr),
    st.decimals(-100, 100, places=2).map(str),
)
columns = st.one_of(
    st.lists(texts, min_size=30, max_size=30),
    st.lists(cells, min_size=30, max_size=30),
    st.lists(st.floats().map(repr), min_size=30, max_size=30),
    st.lists(st.integers(0, 12).map(str), min_size=30, max_size=30),
    st.lists(st.sampled_from(["", "1", "2.5", "-3"]), min_size=30, max_size=30),
    st.lists(st.sampled_from([str(10**17 + i) for i in range(3)]), min_size=30, max_size=30),
    st.lists(st.sampled_from(["True", "False", "true", "FALSE", " false", ""]), min_size=30, max_size=30),
    st.lists(st.sampled_from(["a; b", "b;1", "1", ";", "a;a", " ", "", "~"]), min_size=30, max_size=30),
)
samples = st.dictionaries(texts, columns, min_size=1, max_size=4)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(samples, st.text(st.characters(exclude_categories=["Cs"]), max_size=70), st.booleans())
def test_a_draft_compiles_and_every_row_fits_it(sample, source, labelled):
    sample = sample | ({"label": ["yes", "no"] * 15} if labelled else {})
    try:
        text = draft_survey(sample, "label" if labelled else None, source)
    except DraftError:
        return  # every column is left out
    plan = read_survey(text).compile()
    assert {entry.name for entry in plan.entries} <= set(sample)
    for row in range(30):
        cells = {each.name: [read_cell(each, sample[each.name], row)] for each in plan.entries}
        read = read_boolean_columns(plan.entries, cells)
        label = sample["label"][row] if labelled else None
        plan.encode({name: value for name, [value] in read.items()}, label)


def read_cell(entry, column, row):
    """Read a cell as an application passes it that follows the comments of the draft."""
    cell = column[row]
    if cell.strip().lower() in NO_ANSWER and not (
        isinstance(entry, CategoricalFeature) and cell in entry.values
    ):
        assert entry.missing == "category" or entry.kind == "categorical"
        return entry.from_text("") if entry.missing == "category" else entry.values[0]
    if isinstance(entry, Choices):
        ticked = entry.from_text(cell)
        rare = {each for each in ticked if sum(each in (entry.from_text(text) or ()) for text in column) < 2}
        return [each for each in ticked if each not in rare]
    if entry.kind == "categorical" and column.count(cell) == 1 and "other" in entry.values:
        return "other"
    return entry.from_text(cell)


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_quoting_on_one_line(text):
    assert tomllib.loads(f"a = {quote(text)}") == {"a": text}
    assert quote(text).isprintable()


@settings(deadline=None)
@given(st.decimals(-(10**6), 10**6, places=3), st.decimals(Decimal("0.001"), 10**6, places=3))
def test_ranges_are_rounded_outward_to_a_few_round_bins(low, span):
    start, end, bins = round_outward(low, low + span)
    assert start <= low
    assert low + span <= end
    assert 2 <= bins <= 8
    assert end - start <= 4 * span
    width = ((end - start) / bins).normalize()
    assert width.as_tuple().digits in {(1,), (2,), (5,), (2, 5)}


@pytest.mark.parametrize(
    ("column", "entries"),
    [
        (["3", "10", "3"], ("values = [3, 10]",)),
        (["007", "012"], ('values = ["007", "012"]',)),
        (["1.0", "2.0"], ("edges = [1, 2, 3]",)),
        (["0.5", "2", " "], ("edges = [0.5, 2, 3.5]", 'missing = "category"')),
        (["True", ""], ('values = ["True"]', 'missing = "category"')),
        (["True", "False", "true"], ("values = [false, true]",)),
        (["FALSE", "", "TRUE"], ("values = [false, true]", 'missing = "category"')),
        (["true", "false", "?"], ('values = ["?", "false", "true", "other"]',)),
        (["<5", "5", "10+"], ('values = ["5", "10+", "<5", "other"]',)),
        (["3", "10", "4"], ('values = ["3", "4", "10", "other"]',)),
        (["3", "5", "4"], ("values = [3, 4, 5]",)),
        (["a", "b", "Other"], ('values = ["Other", "a", "b"]',)),
        (["a; b", "b", ""], ('choices = ["a", "b"]', 'missing = "category"')),
        (["2;1", ";"], ("choices = [1, 2]",)),
        (["a; b", "a;c", "d"], ('choices = ["a", "b", "c", "d"]',)),
        (["often; daily", "never"], ('values = ["never", "often; daily"]',)),
        ([str(i) for i in range(3, 98)], ("range = [0, 100]", "bins = 5")),
    ],
)
def test_a_column_s_type_is_inferred(column, entries):
    assert tuple(line for line in infer_feature(column * 2) if not line.startswith("#")) == entries


def test_spellings_that_applications_do_not_use_get_a_hint():
    assert any(
        "True and False are the values true and false" in line for line in infer_feature(["True", "a"] * 2)
    )
    assert any("if it means" in line for line in infer_feature(["?", "a"] * 2))
    assert any("number is the value without .0" in line for line in infer_feature(["1.0", "unknown"] * 2))


def test_a_column_with_infinite_numbers_is_left_out():
    with pytest.raises(LeftOut, match="2 of its numbers are infinite: empty those cells"):
        infer_feature([*map(str, range(20)), "inf", "-inf"])
    assert infer_feature([*map(str, range(20)), "nan", ""])


def test_numbers_that_differ_beyond_the_tenth_digit_are_left_out():
    with pytest.raises(LeftOut, match="tenth digit"):
        infer_feature([str(10**15 + i // 2) for i in range(40)])


def test_a_value_in_two_unicode_forms_is_one_value():
    sample = {"place": ["caf\u00e9", "cafe\u0301", "bar", "bar"], "label": ["yes", "yes", "no", "no"]}
    survey = read_survey(draft_survey(sample, "label", "sample"))
    (place,) = survey.features
    assert place.texts[:2] == ("bar", "caf\u00e9")
    assert [place.code(text) for text in sample["place"]] == [1, 1, 0, 0]


def test_an_id_is_made_of_the_file_name():
    assert make_survey_id("My Data (2026)") == "my-data-2026"
    assert make_survey_id("日本") == "my-survey"


def test_the_warning_uses_the_clients_default_limit_of_epsilon():
    assert float(overview.DEFAULT_MAX_EPSILON) == ldp_client.client.MAX_EPSILON
