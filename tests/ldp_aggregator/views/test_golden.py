"""What pages, cards and terminals show as a whole: golden files, and that each sentence is a statement."""

import re
from collections import defaultdict

import pytest

from ldp_aggregator.cli.train import format_summary
from ldp_aggregator.render import markdown
from ldp_aggregator.views.model_card import describe_model
from ldp_aggregator.views.results_page import render_page
from ldp_aggregator.wording import statement as worded_statements
from tests.ldp_aggregator.views.samples import NAMES, make_results
from tests.support.html_page import parse_page

SENTENCE = re.compile(r"[\w)%]\.(?=\s|$)")


def describe(results):
    """Return the description of a model with these results."""
    name = "NaiveBayes" if results.has_label else "Estimates"
    name = "CuratorClassifier" if results.is_curator else name
    return describe_model(results, results.plan.label.values, name)


def list_lines(*results):
    """Return the visible text of a page."""
    return "\n".join([*parse_page(render_page(*results)).lines(), ""])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["survey", "round", "pooled", "curator-nb", "shares", "choices", "tables"])
def test_the_page_is_its_golden_file(name, compare_with_golden):
    compare_with_golden(f"page-{name}", list_lines(make_results(name)))


@pytest.mark.slow
def test_the_comparison_is_its_golden_file(compare_with_golden):
    page = parse_page(render_page(make_results("survey"), make_results("other")))
    compare_with_golden("comparison", "\n".join([*page.section("comparison").lines(), ""]))


@pytest.mark.parametrize("name", ["validated", "curator-tree", "shares", "tables"])
def test_the_card_is_its_golden_file(name, compare_with_golden):
    compare_with_golden(f"card-{name}", describe(make_results(name)).format_card())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pooled", "validated", "shares", "tables", "class-tables", "waves"])
def test_the_summary_of_a_training_is_its_golden_file(name, compare_with_golden):
    compare_with_golden(f"summary-{name}", f"{format_summary(make_results(name))}\n")


def test_the_lines_that_models_print_are_their_golden_file(compare_with_golden):
    names = ("survey", "validated", "empty", "pooled", "useless", "curator-linear", "shares")
    models = [describe(make_results(name)) for name in names]
    compare_with_golden(
        "lines", "\n".join(f"{each.format_lines()}\n{each.format_line('M')}\n" for each in models)
    )


@pytest.fixture
def worded(monkeypatch):
    """Return the statements that were worded during the test, by their identifiers."""
    found, fill = defaultdict(list), worded_statements._fill

    def record(*arguments):
        statement = fill(*arguments)
        found[statement.id].append(statement)
        return statement

    monkeypatch.setattr(worded_statements, "_fill", record)
    return found


def find_others(text, sentences):
    """Return the ends of sentences in a text that are in none of these sentences."""
    text = " ".join(text.split())
    for sentence in sorted(sentences, key=len, reverse=True):
        text = text.replace(" ".join(sentence.split()), "")
    return [text[max(0, each.start() - 60) : each.end()] for each in SENTENCE.finditer(text)]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_is_the_filled_text_of_a_statement(name, worded):
    results = make_results(name)
    page = parse_page(render_page(results))
    shown = page.statements()
    for each in shown:
        words = {" ".join(str(statement).split()) for statement in worded[each.attributes["data-finding"]]}
        assert each.text in words
    for tag in ("p", "li", "dd", "td"):
        others = [each for each in page.find(tag) if each.text.endswith(".") and not each.statements()]
        assert [each.text for each in others] == []
    model = describe(results)
    outputs = [] if "round" in name else [model.format_card(), model.format_lines(), model.format_line("M")]
    outputs += [format_summary(results)] if outputs and not results.is_curator else []
    found = [statement for each in worded.values() for statement in each if str(statement).endswith(".")]
    sentences = {write(each) for each in found for write in (str, markdown.write_statement)}
    for output in outputs:
        assert find_others(output, sentences) == []
