"""Tables of estimates in a terminal: classes as columns, marks, and cuts that say how to see all."""

from ldp_aggregator.render.document import EstimateCells, EstimateGroup, EstimateTable, PlainTable, Section
from ldp_aggregator.render.interval import Axis
from ldp_aggregator.render.terminal import MAX_CLASSES, MAX_FEATURES, MAX_VALUES, write_document


def make_section(values, classes, name="tea", marked=False):
    """Return a section with a table of one feature, whose first row is marked on request."""
    empty = dict.fromkeys(("estimate", "interval", "simultaneous"), "")
    cells = {"axis": Axis(0, 1), "mark": None, "short": "25.0%", "is_known": True, "marked": False} | empty
    groups = [
        EstimateGroup(
            value=value,
            marked=marked and place == 0,
            rows=tuple(EstimateCells(name=each, **cells) for each in classes),
        )
        for place, value in enumerate(values)
    ]
    table = EstimateTable(
        caption="Shares", name=name, ticks=("0", "1", "2"), groups=tuple(groups), head="Class"
    )
    return Section(id=name, heading=name, marked=marked, parts=[table])


def write(*features):
    section = Section(id="features", heading="Features", parts=features)
    return write_document([section], "see them").splitlines()[1:]


def number(word, count):
    return [f"{word} {place}" for place in range(count)]


def test_a_table_has_a_column_per_class_and_marks_distinguishable_rows():
    assert write(make_section(["black", "green"], ["yes", "no"], marked=True)) == [
        "",
        "  tea: shares",
        "                yes     no",
        "    black  *  25.0%  25.0%",
        "    green     25.0%  25.0%",
    ]


def test_long_tables_are_cut_with_a_line_that_says_how_to_see_all():
    lines = write(make_section(number("value", MAX_VALUES + 3), number("class", MAX_CLASSES + 2)))
    assert lines[-1] == "    ... and 3 more values and 2 more classes: see them"
    assert len(lines) == 3 + MAX_VALUES + 1
    assert f"class {MAX_CLASSES}" not in lines[2]
    exact = write(make_section(number("value", MAX_VALUES), number("class", MAX_CLASSES)))
    assert not [line for line in exact if "..." in line]


def test_a_long_table_of_texts_is_cut_too():
    rows = [(f"value {place}", "1") for place in range(MAX_VALUES + 2)]
    table = PlainTable(caption="Compared", head=("Value", "Ratio"), rows=rows)
    lines = write(Section(id="tea", heading="tea", parts=[table]))
    assert lines[-1] == "    ... and 2 more rows: see them"
    assert len(lines) == 2 + 1 + MAX_VALUES + 1


def test_of_many_features_the_distinguishable_ones_are_printed_first():
    names = number("feature", MAX_FEATURES + 4)
    lines = write(*(make_section(["a"], ["yes"], name, marked=name == names[-1]) for name in names))
    titles = [line.strip() for line in lines if line.endswith(": shares")]
    assert titles[:2] == [f"{names[-1]}: shares", "feature 0: shares"]
    assert len(titles) == MAX_FEATURES
    assert lines[-1] == "  ... and 4 more features: see them"


def test_long_names_are_shortened():
    assert max(map(len, write(make_section(["v" * 60], ["c" * 60])))) < 60


def test_names_in_a_plain_table_are_cut_only_if_a_line_is_full():
    def first_cells(length, more):
        table = PlainTable(caption="", head=("Feature", "Counted"), rows=[("n" * length, "c" * more)])
        section = Section(id="data", heading="Data", parts=[table])
        return write_document([section], "").splitlines()[2].split()[0]

    assert first_cells(60, 30) == "n" * 60
    assert first_cells(60, 40) == "n" * 27 + "..."
