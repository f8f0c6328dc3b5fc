"""Tests of text files with holes."""

import sys
from dataclasses import dataclass

import pytest

from ldp_aggregator.render import html, markdown
from ldp_aggregator.wording.statement import Basis, Texts
from ldp_aggregator.wording.values import Count, Names, Share

SAMPLE = """# A sample

## message (assumed)
**What is sent?**
One report, with {{ identifier }}, by
`ldp-client {{ file }}`.

## belief (conditional, odds)
{{ reports }} reports of {{ names }} change {{ share }}.

## only-invited if invited, not simulated
Invitations are counted.

## either if invited
With invitations.

## either
Without invitations.

### identifier if invited
the invitation

### identifier
a random number
"""
NESTED = """
## promise if relay, plan.relay
{{ plan.survey }} promises {{ plan.relay.epsilon }}.

## promise
{{ plan.survey }} promises {{ nothing }}.

### nothing if plan.relay
no more

### nothing
nothing
"""


@dataclass(frozen=True)
class RelayFacts:
    epsilon: Share


@dataclass(frozen=True)
class PlanFacts:
    survey: str
    relay: RelayFacts | None = None


@dataclass(frozen=True)
class NestedFacts:
    plan: PlanFacts
    relay: bool = True


@pytest.fixture
def texts(tmp_path, monkeypatch) -> Texts:
    """Return the texts of a package with one text file."""
    folder = tmp_path / "sample_package"
    (folder / "texts").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "texts" / "sample.md").write_text(SAMPLE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sample_package", raising=False)
    return Texts("sample_package")


def test_a_statement_has_an_identifier_a_basis_a_title_and_plain_words(texts):
    found = texts.find("sample.message", file="a.toml", invited=False)
    assert (found.id, found.basis, found.title) == ("sample.message", Basis.ASSUMED, "What is sent?")
    assert str(found) == "One report, with a random number, by ldp-client a.toml."


def test_a_section_has_the_statements_whose_conditions_hold_in_the_order_of_the_file(texts):
    values = {"file": "a", "reports": 1, "names": "b", "share": "c", "odds": "python3", "simulated": False}
    invited = texts.section("sample", **values, invited=True)
    assert [each.id for each in invited] == [
        "sample.message",
        "sample.belief",
        "sample.only-invited",
        "sample.either",
    ]
    assert str(invited[-1]) == "With invitations."
    assert invited[1].command == "python3"
    others = texts.section("sample", **values, invited=False)
    assert str(others[-1]) == "Without invitations."
    assert len(others) == 3


def test_values_state_how_they_are_written_and_names_are_escaped_for_each_output(texts):
    values = {"reports": Count(12345), "names": Names(["<b>", "*c"]), "share": Share(0.1234), "odds": ""}
    found = texts.find("sample.belief", **values)
    assert str(found) == "12,345 reports of <b>, *c change 12.3%."
    assert html.write_statement(found) == "12,345 reports of <bdi>&lt;b&gt;, *c</bdi> change 12.3%."
    assert markdown.write_statement(found) == r"12,345 reports of &lt;b&gt;, \*c change 12.3%."


def test_backticks_become_code_on_pages_even_around_a_hole(texts):
    found = texts.find("sample.message", file="a&b", invited=True)
    assert html.write_statement(found).endswith("by <code>ldp-client <bdi>a&amp;b</bdi></code>.")
    assert markdown.write_statement(found).endswith("by `ldp-client a&amp;b`.")


def test_a_missing_value_or_entry_is_an_error_that_names_it(texts):
    with pytest.raises(KeyError, match="has no fact 'file'"):
        texts.find("sample.message", invited=False)
    with pytest.raises(KeyError, match=r"no text 'sample\.none'"):
        texts.find("sample.none")


def test_a_value_that_no_text_of_the_file_needs_is_an_error(texts):
    texts.find("sample.either", invited=False, file="another entry of the file needs it")
    with pytest.raises(KeyError, match="needs files"):
        texts.find("sample.either", invited=False, files="")
    with pytest.raises(KeyError, match="needs files"):
        texts.section("sample", files="")
    with pytest.raises(KeyError, match="needs file"):
        texts.find("sample.either", RelayFacts(Share(0)), file="facts and values at once")


@pytest.fixture
def write(texts, tmp_path):
    """Return a function that writes a further file of the package."""
    return lambda text: (tmp_path / "sample_package" / "texts" / "nested.md").write_text(text)


def test_dotted_names_lead_through_dataclasses_and_end_at_none(texts, write):
    write(NESTED)
    relay = RelayFacts(Share(0.5))
    [found] = texts.section("nested", NestedFacts(PlanFacts("sleep", relay)))
    assert str(found) == "sleep promises 50.0%."
    assert str(texts.find("nested.promise", NestedFacts(PlanFacts("sleep")))) == "sleep promises nothing."


def test_words_of_words_md_fill_the_holes_of_all_files_that_have_no_words_for_them(texts, write, tmp_path):
    write("## a\n{{ own }}, {{ shared }}\n\n### own\nof the file")
    shared = "### own\nshared\n\n### shared if invited\ninvited by {{ issuer }}\n\n### shared\nopen"
    (tmp_path / "sample_package" / "texts" / "words.md").write_text(shared)
    assert str(texts.find("nested.a", invited=False)) == "of the file, open"
    assert str(texts.find("nested.a", invited=True, issuer="us")) == "of the file, invited by us"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{{ plan.survey }}", "{{ plan.id }}"),
        ("{{ plan.survey }}", "{{ survey }}"),
        ("if relay", "if relayed"),
        ("### nothing if plan.relay", "### nothing if plan.silo"),
        ("## promise if", "## promise (assumed, command) if"),
    ],
)
def test_a_text_that_names_a_fact_that_the_dataclass_lacks_is_an_error_even_if_it_does_not_hold(
    texts, write, old, new
):
    write(NESTED.replace(old, new))
    facts = NestedFacts(PlanFacts("sleep"), relay=False)
    with pytest.raises(KeyError, match="Facts has no fact"):
        texts.section("nested", facts)
    with pytest.raises(KeyError, match="Facts has no fact"):
        texts.find("nested.promise", facts)


@pytest.mark.parametrize("text", ["## a\n{{ b + c }}", "## a\n{{b}}", "## a\n{% if b %}", "## a b\nc"])
def test_a_hole_has_a_name_and_no_expression(texts, tmp_path, text):
    (tmp_path / "sample_package" / "texts" / "bad.md").write_text(text)
    with pytest.raises(ValueError, match=r"bad\.md"):
        texts.section("bad")
