"""CSV files become columns, or an error that names the place and not the content."""

from collections.abc import Callable
from pathlib import Path

import pytest

from encoders.errors import RowError
from encoders.survey import BinnedFeature, CategoricalFeature
from ldp_aggregator.rows.table_input import TableError, read_text_columns, read_typed_columns


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(data: bytes | str) -> Path:
        path = tmp_path / "rows.csv"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


def test_a_table_is_read_in_order(write):
    path = write('\ufeffb,a\n1,"x, y"\n\n2,\n')
    assert read_text_columns(path) == {"b": ["1", "2"], "a": ["x, y", ""]}
    assert list(read_text_columns(path)) == ["b", "a"]


def test_numbers_are_read_where_the_survey_has_numbers(write):
    hours = BinnedFeature("hours", ("0", "6", "12"), "category")
    columns = read_typed_columns(
        write("hours,tea\n2.5,7\n,8\n"), [hours, BinnedFeature("absent", ("0", "1"))]
    )
    assert columns == {"hours": [2.5, None], "tea": ["7", "8"]}
    with pytest.raises(RowError, match=r"^hours: row 2: must be a number$"):
        read_typed_columns(write("hours\n1\nsecret\n"), [hours])


def test_every_column_with_a_cell_that_is_no_number_is_named(write):
    numbers = [BinnedFeature(name, ("0", "6", "12")) for name in ("hours", "tea", "age")]
    with pytest.raises(RowError) as caught:
        read_typed_columns(write("hours,age,tea\nsecret,1,2\n1,2,secret\n"), numbers)
    assert str(caught.value) == "hours: row 1: must be a number\ntea: row 2: must be a number"


def test_another_separator_in_some_names_is_no_mistake(write):
    assert read_text_columns(write('"a;b",c\n1,2\n')) == {"a;b": ["1"], "c": ["2"]}
    assert read_text_columns(write("a\n1;2\n")) == {"a": ["1;2"]}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("", "first line must name the columns"),
        ("a,b,a\n", "columns 1 and 3 have the same name"),
        ("a,b\n1,2\n3\n", "row 2 has 1 cells, the header has 2"),
        ("a;b\n1,5;2\n", "seems to be separated by ';'; save it with commas instead"),
        ("a\tb\n1\t2\n", "seems to be separated by tabs; save it with commas instead"),
        ("a|b|c\n1|2|3\n", "seems to be separated by '|'; save it with commas instead"),
        ("a;b, yearly;c\n1;2;3\n", "seems to be separated by ';'"),
        (b"a,b\n\xff,2\n", "not a CSV file in UTF-8: save it as one"),
        ('a,b\n"1,2\n', r"line 2: is not valid CSV: unexpected end of data\. Write each \" in a quoted cell"),
        ('a,b\n\n1,2\n"1" x,2\n', r"line 4: is not valid CSV: ',' expected after '\"'"),
        ('a,b\n\n"1,2\n3,4\n5",6\n', "rows.csv: line 3: a quoted cell continues on the next line"),
        ('a,b\n1,"2\r3"\r', "line 2: a quoted cell continues on the next line"),
        ('"a\nb",c\n1,2\n', "line 1: a quoted cell continues on the next line"),
    ],
)
def test_a_file_that_is_no_table_is_refused(write, data, why):
    with pytest.raises(TableError, match=why):
        read_text_columns(write(data))


def test_cells_with_line_breaks_are_read_on_request(write):
    path = write('"a\nb",c\n1,"2\n\n3"\n"4\r\n",5\n')
    assert read_text_columns(path, multiline=True) == {"a\nb": ["1", "4\r\n"], "c": ["2\n\n3", "5"]}


def test_a_column_is_found_whatever_the_unicode_form_of_its_name(write):
    assert read_text_columns(write("cafe\u0301,x\n1,2\n")) == {"caf\u00e9": ["1"], "x": ["2"]}


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(TableError, match="cannot be read"):
        read_text_columns(tmp_path / "absent.csv")


def test_booleans_are_read_in_other_spellings_where_the_survey_has_booleans(
    write,
):
    path = write("smokes,code\nTrue,1\nfalse,0\n1,TRUE\n0,true\n,\n")
    features = [CategoricalFeature("smokes", ("true", "false")), CategoricalFeature("code", ("0", "1"))]
    assert read_typed_columns(path, features) == {
        "smokes": ["true", "false", "true", "false", ""],
        "code": ["1", "0", "TRUE", "true", ""],
    }
