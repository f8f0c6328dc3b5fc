"""Plots of estimates: the bars, intervals and words of the results page; and tables as DataFrames."""

import io
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

from encoders.late_imports import MissingExtraError
from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
from ldp_aggregator.classifiers.stored_model import SurveyEstimates
from ldp_aggregator.results_file import ResultsError
from ldp_aggregator.views.estimate_rows import build_table
from ldp_aggregator.views.plot import _read_colours, plot_estimates
from tests.ldp_aggregator.views.samples import NAMES, make_results

PLOTS = [
    ("survey", "tea", ""),
    ("survey", "hours", ""),
    ("survey", "asleep", ""),
    ("survey", "tea", "class"),
    ("survey", "age", "class"),
    ("shares", "cups", ""),
    ("class-tables", "smokes x sleep", ""),
    ("waves", "tea", "wave"),
    ("useless", "tea", "class"),
    ("curator-nb", "tea", "class"),
    ("silos", "age", ""),
]


def draw(figure):
    figure.savefig(io.BytesIO(), dpi=40)  # a name that is not drawable is an error
    return figure


def words(axes):
    return [each.get_text() for each in axes.texts], [each.get_text() for each in axes.get_yticklabels()]


def open_results(name):
    results = make_results(name)
    return (NaiveBayes.from_results if results.has_label else SurveyEstimates)(results)


@pytest.mark.slow
def test_shares_have_bars_intervals_order_and_words_of_the_page():
    model = open_results("survey")
    [axes] = draw(model.plot("tea")).axes
    rows = [row for row in build_table(model.estimates_, model.plan_) if row.feature == "tea"][:5]
    numbers, names = words(axes)
    assert names == ["black", "green", "white", "none", "other"]
    assert axes.get_title("left") == "Share of each value"
    assert numbers[0].split("   ") == ["70.9%", "62.7% to 79.0%"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([row.estimate for row in rows])
    lines = [tuple(line.get_xdata()) for line in axes.lines]
    expected = [(row.simultaneous_low, row.simultaneous_high) for row in rows]
    np.testing.assert_allclose(lines[::2], expected)
    np.testing.assert_allclose(lines[1::2], [(row.low, row.high) for row in rows])
    assert [each.get_text() for each in axes.get_xticklabels()][::2] == ["0%", "50%", "100%"]


@pytest.mark.slow
def test_an_unknown_estimate_has_the_word_and_no_bar():
    [axes] = draw(open_results("useless").plot("tea", by="class")).axes
    numbers, _ = words(axes)
    assert numbers.count("unknown") == 13
    assert len(axes.patches) == 2


@pytest.mark.slow
def test_the_statistics_of_a_number_have_an_axis_each():
    mean, deviation, missing = draw(open_results("survey").plot("hours")).axes
    assert [words(each)[1] for each in (mean, deviation, missing)] == [
        ["mean"],
        ["standard deviation"],
        ["missing answers"],
    ]
    assert mean.get_xlim() == (2, 12)
    assert not mean.patches  # a dot


@pytest.mark.slow
@pytest.mark.parametrize(("name", "feature", "by"), PLOTS)
def test_results_can_be_drawn(name, feature, by):
    assert draw(plot_estimates(make_results(name), feature, by)).axes


@pytest.mark.slow
def test_names_are_no_formulas_and_no_markup():
    figure = draw(plot_estimates(make_results("hostile"), "<img src=x onerror=alert(1)>", "class"))
    assert figure.get_suptitle() == "<img src=x onerror=alert(1)>"
    [axes] = figure.axes
    axes.set_title("$\\frac{", parse_math=False)
    draw(figure)
    assert not any(each.get_parse_math() for each in (*axes.texts, *axes.get_yticklabels(), axes.title))


@pytest.mark.parametrize("by", ["", "class", "wave"])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_without_estimates_is_refused_with_the_known_ones(name, by):
    with pytest.raises(ResultsError, match=r"^coffee: there are no such estimates.*; known: "):
        plot_estimates(make_results(name), "coffee", by)


def test_other_groups_are_refused():
    with pytest.raises(ResultsError, match=r"^by: must be class, wave or empty, not 'label'$"):
        open_results("survey").plot("tea", by="label")


def test_the_figure_can_be_given_and_its_extra_is_named(monkeypatch):
    from matplotlib.figure import Figure

    figure = Figure()
    assert open_results("survey").plot("tea", figure=figure) is figure
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"^plot needs the extra \[plot\]: pip install"):
        open_results("survey").plot("tea")


# -- colours ----------------------------------------------------------------------------------------

SEEN = {
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
"""How colours are seen, in linear RGB (Machado, Oliveira and Fernandes 2009)."""
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


@pytest.mark.parametrize("sight", SEEN)
def test_neighbouring_classes_differ_for_everyone(sight):
    """CIE76 distances of bars on white; 2.3 is just noticeable. Each bar has its name beside it, too."""
    colours = [_read_colours()[f"class-{place}"] for place in range(10)]
    bars = 1 - 0.6 * (1 - np.array([list(bytes.fromhex(each[1:])) for each in colours]) / 255)
    linear = np.clip(((bars + 0.055) / 1.055) ** 2.4 @ np.transpose(SEEN[sight]), 0, 1)
    light = np.cbrt(linear @ XYZ.T / XYZ.sum(axis=1))
    x, y, z = light.T
    lab = np.stack([116 * y, 500 * (x - y), 200 * (y - z)], axis=1)
    distances = np.linalg.norm(np.diff(lab, axis=0), axis=1)
    assert distances[0] > 50
    assert distances.min() > 6


# -- tables -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tables", "class-tables"])
def test_a_crosstab_has_the_consistent_shares(name):
    model = open_results(name)
    table = model.estimates_.tables[0]
    frame = model.crosstab("smokes", "sleep")
    np.testing.assert_array_equal(frame.to_numpy(), table.make_consistent()[0])
    assert frame.index.name == "smokes"
    assert list(frame.index) == list(table.rows)
    if len(table.across) == 1:
        assert list(frame.columns) == [each for (each,) in table.columns]
    else:
        assert list(frame.columns) == list(table.columns)
    assert frame.to_numpy().sum() == pytest.approx(1)
    np.testing.assert_allclose(model.crosstab("smokes", "sleep", normalize="index").sum(axis=1), 1)
    np.testing.assert_allclose(model.crosstab("smokes", "sleep", normalize="columns").sum(axis=0), 1)


def test_a_crosstab_of_other_features_or_shares_is_refused():
    model = open_results("tables")
    with pytest.raises(ResultsError, match=r"^sleep x smokes: the survey has no such table; known: smokes"):
        model.crosstab("sleep", "smokes")
    with pytest.raises(ResultsError, match=r"^normalize: must be one of"):
        model.crosstab("smokes", "sleep", normalize="rows")
