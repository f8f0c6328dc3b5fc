"""The tables that `ldp-train` prints: classes as columns, marks, and cuts that say how to see all."""

from __future__ import annotations

import re

from ldp_aggregator.results.terminal_tables import MAX_CLASSES, MAX_FEATURES, MAX_VALUES, format_tables

from encoders.survey import read_survey
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.results.table import build_table
from ldp_aggregator.snapshot import Snapshot
from tests.ldp_aggregator.results.test_table import simulate

HOW = "see them"


def make_rows(features: int, values: int, classes: int) -> list[dict[str, object]]:
    return [
        {
            "feature": f"feature {feature}",
            "statistic": "P(value | class)",
            "value": f"value {value}",
            "class": f"class {label}",
            "estimate": 0.25,
            "stderr": 0.1,
            "low": 0.054,
            "high": 0.446,
            "simultaneous_low": 0.0,
            "simultaneous_high": 0.6,
            "raw": 0.25,
            "n": 10,
            "mechanism": "DE",
            "distinguishable": feature == features - 1 and value == 0,
        }
        for feature in range(features)
        for value in range(values)
        for label in range(classes)
    ]


def test_a_table_has_a_column_per_class_and_marks_distinguishable_rows() -> None:
    assert format_tables(make_rows(1, 2, 2), "tired", HOW) == [
        "P(feature 0 | tired)",
        "                     class 0         class 1",
        "  value 0  *  0.250 +- 0.196  0.250 +- 0.196",
        "  value 1     0.250 +- 0.196  0.250 +- 0.196",
    ]


def make_number_row(statistic: str, low: float, high: float, stderr: float | None = 5.0) -> dict[str, object]:
    (row,) = make_rows(1, 1, 1)
    return row | {
        "statistic": statistic,
        "value": None,
        "estimate": low,
        "stderr": stderr,
        "low": low,
        "high": high,
    }


def test_an_estimate_is_unknown_if_its_interval_covers_three_quarters_of_the_possible_values() -> None:
    def cell(statistic: str, low: float, high: float, stderr: float | None = 5.0) -> str:
        rows = [make_number_row(statistic, low, high, stderr)]
        return format_tables(rows, "tired", HOW, {"feature 0": 60.0})[-1].replace(statistic, "").strip(" *")

    assert cell("mean", 0, 45) == "unknown"
    assert cell("mean", 0, 44) == "0 +- 9.8"
    assert cell("standard deviation", 0, 22.5) == "unknown"  # it is at most 30
    assert cell("standard deviation", 0, 22, None) == "0 to 22"
    assert cell("P(missing | class)", 0.1, 0.85) == "unknown"
    assert cell("P(missing | class)", 0.1, 0.84) == "0.100 +- 9.800"


def test_long_tables_are_cut_with_a_line_that_says_how_to_see_all() -> None:
    lines = format_tables(make_rows(1, MAX_VALUES + 3, MAX_CLASSES + 2), "tired", HOW)
    assert lines[-1] == "  ... and 3 more values and 2 more classes: see them"
    assert len(lines) == 2 + MAX_VALUES + 1
    assert f"class {MAX_CLASSES}" not in lines[1]
    exact = format_tables(make_rows(1, MAX_VALUES, MAX_CLASSES), "tired", HOW)
    assert not [line for line in exact if "..." in line]


def test_of_many_features_the_distinguishable_ones_are_printed_first() -> None:
    lines = format_tables(make_rows(MAX_FEATURES + 4, 2, 2), "tired", HOW)
    titles = [line for line in lines if line.startswith("P(")]
    assert titles[:2] == [f"P(feature {MAX_FEATURES + 3} | tired)", "P(feature 0 | tired)"]
    assert len(titles) == MAX_FEATURES
    assert lines[-1] == "... and 4 more features: see them"


def test_printed_estimates_are_possible_and_half_widths_are_those_of_the_interval() -> None:
    rows = build_table(estimate_snapshot(simulate(3000)).as_dict())
    text = "\n".join(format_tables(rows, "asleep", HOW))
    shares = re.findall(r"(-?\d\.\d{3}) \+- \d", text.partition("hours, by")[0])
    assert len(shares) >= 10
    assert all(0 <= float(share) <= 1 for share in shares)
    black = next(row for row in rows if row["value"] == "black")
    assert f"{black['estimate']:.3f} +- {Z95 * black['stderr']:.3f}" in text
    age = [row for row in rows if (row["feature"], row["statistic"]) == ("age", "mean")]
    assert f"{age[0]['estimate']:.4g} +- {Z95 * age[0]['stderr']:.2g}" in text
    assert "age, by asleep" in text
    assert "unasked" not in text


def test_a_standard_deviation_without_a_standard_error_is_its_interval() -> None:
    cells = []
    for seed in range(20):
        rows = build_table(estimate_snapshot(simulate(500, seed=seed)).as_dict())
        text = "\n".join(format_tables(rows, "asleep", HOW))
        for row in rows:
            if row["statistic"] == "standard deviation" and row["estimate"] == 0.0:
                cells.append(f"0 to {row['high']:.4g}")
                assert cells[-1] in text
    assert cells


def test_an_uninformative_share_is_unknown() -> None:
    rows = make_rows(1, 1, 1)
    rows[0] |= {"low": 0.0, "high": 1.0}
    assert format_tables(rows, "tired", HOW)[-1].split() == ["value", "0", "*", "unknown"]


def test_without_reports_there_are_no_tables() -> None:
    plan = read_survey(
        '[survey]\nid = "t"\nepsilon = 1.0\n[label]\nname = "y"\nvalues = ["a", "b"]\n'
        '[features.x]\nvalues = ["c", "d"]\n'
    ).compile()
    assert format_tables(build_table(estimate_snapshot(Snapshot(plan, {}, {})).as_dict()), "y", HOW) == []


def test_long_names_are_shortened() -> None:
    rows = make_rows(1, 1, 1)
    rows[0] |= {"value": "v" * 60, "class": "c" * 60}
    assert max(map(len, format_tables(rows, "tired", HOW))) < 60
