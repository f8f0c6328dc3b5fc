"""Shares of the labels that an author expects."""

import pytest

from ldp_design.sizing.assumed_people import LabelSharesError, parse_label_shares
from ldp_design.sizing.survey_size import compare_sizes, size_for_margin
from tests.ldp_design.sizing.surveys import SURVEY


def test_shares_are_in_the_order_of_the_labels_and_add_up_to_one():
    assert parse_label_shares("no=0.8, yes=0.12,unknown=0.08", ["yes", "no", "unknown"]) == pytest.approx(
        (0.12, 0.8, 0.08)
    )
    assert sum(parse_label_shares("a=0.333,b=0.333,c=0.333", ["a", "b", "c"])) == pytest.approx(1)


def test_names_may_contain_commas_and_equals_signs():
    labels = ["a", "a=b", "no, never"]
    assert parse_label_shares("a=b=0.2,no, never=0.3,a=0.5", labels) == pytest.approx((0.5, 0.2, 0.3))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yes=0.5", 'no share of "no": give each label a share'),
        ("", 'no share of "yes", "no"'),
        ("yes=0.5,maybe=0.5", '"maybe" is not a label: choose among "yes", "no"'),
        ("yes=0.5,yes=0.5", '"yes" occurs twice'),
        ("yes=0.5,no=0.4", "the shares add up to 0.9: change them so that they add up to 1"),
        ("yes=50%,no=0.5", "has the share '50%': write a number as in 0.05"),
        ("yes=nan,no=0.5", "has the share 'nan'"),
        ("yes=0,no=1", "has the share '0'"),
        ("yes", '"yes" is not a label'),
    ],
)
def test_mistakes_are_named_with_the_fix(text, why):
    with pytest.raises(LabelSharesError) as caught:
        parse_label_shares(text, ["yes", "no"])
    assert why in str(caught.value)


@pytest.mark.slow
@pytest.mark.usefixtures("without_remedies")
def test_the_people_needed_grow_with_the_square_of_a_label_s_rarity():
    labels = len(SURVEY.label.values)
    rare = 1 / (3 * labels)
    shares = (rare, *[(1 - rare) / (labels - 1)] * (labels - 1))
    uniform = size_for_margin(SURVEY, 0.1)
    needed = size_for_margin(SURVEY, 0.1, label_shares=shares)
    assert needed.label_shares == shares
    assert needed.as_dict()["label_shares"] == list(shares)
    assert needed.users / uniform.users == pytest.approx(9, rel=0.15)


@pytest.mark.slow
def test_equal_shares_change_no_margin():
    labels = len(SURVEY.label.values)
    given = compare_sizes(SURVEY, users=[10_000], label_shares=(1 / labels,) * labels)
    assumed = compare_sizes(SURVEY, users=[10_000])
    assert [each.margin for each in given[0].margins] == pytest.approx(
        [each.margin for each in assumed[0].margins]
    )
