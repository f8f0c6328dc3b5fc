"""A survey without a label: no output speaks of labels and classes, or has an empty name."""

import json
import re
from dataclasses import replace

import pytest

from encoders.randomness import FastStream
from encoders.survey.any_survey import read_any_survey
from ldp_aggregator import load_model, save_onnx, to_sklearn
from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
from ldp_aggregator.cli.train import format_summary
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.results_file import ModelError, read_results
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import MemoryStore
from ldp_aggregator.views.estimate_rows import build_table
from ldp_aggregator.views.feature_sections import find_shares
from ldp_aggregator.views.model_card import describe_model
from ldp_aggregator.views.results_page import render_page
from tests.ldp_aggregator.views.samples import SILOS, collect, draw_silo_rows, make_habits, make_results
from tests.support.commands import command
from tests.support.html_page import parse_page
from tests.support.silo_surveys import make_message
from tests.support.snapshots import make_snapshot, train_model
from tests.support.surveys import make_plan

WORDS = re.compile(r"label|class|relevan|predict|accura|majority|bayes classifier", re.IGNORECASE)
EMPTY = re.compile(r"""["']{2}|\bof ?[,.:]|[(\[]\s*[)\]]| = [,.]|: *,|, ?,|  of  |\| *\|\s*\|""")
SNIPPET = re.compile(r'read\.?_?csv\("estimates.csv".*')
REFUSAL = re.compile(r"habits: this survey has no label, so there is no classifier: [^.\n]+\.?")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Train on the command line; return the folder of the files, and what the command printed."""
    folder = tmp_path_factory.mktemp("habits")
    (folder / "snapshot.json").write_bytes(make_habits().to_json())
    paths = [folder / "snapshot.json", "-o", folder / "model.json", "--csv", folder / "table.csv"]
    return folder, command("ldp-train", *paths).stdout.replace(str(folder), "")


@pytest.fixture(scope="module")
def model(trained):
    return load_model(trained[0] / "model.json")


@pytest.mark.slow
def test_no_output_speaks_of_labels_and_classes_or_has_an_empty_name(trained, model):
    folder, printed = trained
    command("ldp-results", folder / "model.json", "-o", folder / "page.html")
    page = parse_page((folder / "page.html").read_bytes())
    tags = ("th", "td", "h1", "h2", "h3", "caption", "dt", "dd", "li", "p")
    cells = [each for tag in tags for each in page.find(tag)]
    assert not [each.tag for each in cells if not each.text and not each.find("svg")]
    nodes = [*page.find("div"), *page.find("section")]
    named = [each.attributes.get("aria-label", "") for each in nodes]
    outputs = {
        "page": "\n".join([*page.lines(), *named]),
        "terminal": printed,
        "card": model.card(),
        "print": str(model),
        "repr": repr(model),
        "notebook": re.sub(r"<[^>]*>", " ", model._repr_html_()),
        "csv": (folder / "table.csv").read_text(),
        "frame": model.to_frame().to_string(),
        "notices": "\n".join(map(str, model.notices)),
    }
    for name, output in outputs.items():
        assert not WORDS.findall(output), name
        found = EMPTY.findall(SNIPPET.sub("", output) if name != "csv" else "")
        assert not found, name


def test_a_model_file_has_no_entries_about_a_label(trained):
    document = json.loads((trained[0] / "model.json").read_bytes())
    text = json.dumps({name: each for name, each in document.items() if name != "texts"})
    assert not re.findall(r"label|class(?!ifier)|\"\"", text)
    entry = document["estimates"]["features"][0]
    assert {"relevance", "conditionals", "comparisons"}.isdisjoint(entry)


def test_the_file_and_the_snapshot_have_the_same_results(trained, model):
    folder, _ = trained
    of_file, of_snapshot = (read_results(folder / name) for name in ("model.json", "snapshot.json"))
    shown = [parse_page(render_page(each)).section("shares").text for each in (of_file, of_snapshot)]
    assert shown[0] == shown[1]
    assert model.estimates_.as_dict() == of_file.estimates.as_dict() == of_snapshot.estimates.as_dict()
    head = (folder / "table.csv").read_text().splitlines()[0]
    assert ",".join(model.to_frame().columns) == head


def test_the_first_table_of_every_output_is_about_shares(trained, model):
    folder, printed = trained
    page = parse_page(render_page(read_results(folder / "model.json")))
    assert page.find("table")[0].find("caption")[0].text == "Share of each value: “Do you smoke?”"
    assert printed.startswith("Shares\n")
    assert "## Shares" in model.card().splitlines()[2]
    assert re.search(r"feature cups +A small cup \d", str(model))


def test_a_missing_answer_is_not_the_most_frequent_value():
    results = collect(make_habits())
    table = build_table(results.estimates, results.plan)
    largest = [
        replace(row, estimate=0.9) if row.feature == "smokes" and row.value == "(missing)" else row
        for row in table
    ]
    assert largest != table
    assert find_shares(results, largest) == find_shares(results, table)
    assert "smokes, the most frequent value is" in str(find_shares(results, largest)[0])


def test_several_answers_are_one_table_with_one_row_for_missing_answers(trained):
    page = parse_page(render_page(read_results(trained[0] / "model.json")))
    section = page.section("shares-2")
    assert section.find("h3")[0].text == "Which cups do you use?"
    names = [row[0] for row in section.table("Share of people who ticked each choice").rows()]
    assert names == ["A small cup", "A large cup", "(missing)"]
    rows = [line.split(",")[:3] for line in (trained[0] / "table.csv").read_text().splitlines()]
    expected = [["cups", "P(value)", "small"], ["cups", "P(value)", "large"], ["cups", "P(missing)", ""]]
    assert [row for row in rows if row[0] == "cups"] == expected


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.predict([{}]),
        lambda model: model.predict_proba([{}]),
        lambda model: model.predict_log_proba([{}]),
        lambda model: model.score([{}], ["yes"]),
        lambda model: save_onnx("model.onnx", model),
        to_sklearn,
        lambda model: NaiveBayes(survey=model.plan_).fit([{}], ["yes"]),
    ],
)
def test_what_needs_a_classifier_refuses_in_one_sentence(model, use):
    with pytest.raises(ModelError) as caught:
        use(model)
    assert REFUSAL.fullmatch(str(caught.value))


def test_an_option_that_needs_a_classifier_is_refused_before_anything_is_written(trained, tmp_path):
    onnx = ["--onnx", tmp_path / "model.onnx"]
    words = [trained[0] / "snapshot.json", "-o", tmp_path / "model.json", *onnx]
    result = command("ldp-train", *words, check=False)
    assert result.exit_code == 1
    assert REFUSAL.fullmatch(result.stderr.removeprefix("Error: ").strip())
    assert not (tmp_path / "model.json").exists()


def test_ldp_predict_refuses_before_it_reads_the_rows(trained):
    result = command("ldp-predict", trained[0] / "model.json", trained[0] / "absent.csv", check=False)
    assert result.exit_code == 1
    assert REFUSAL.fullmatch(result.stderr.removeprefix("Error: ").strip())


def test_two_surveys_without_a_label_are_compared_by_their_shares():
    other = collect(make_habits(id="other", features={"smokes": ["yes", "no"]}, seed=2))
    page = parse_page(render_page(make_results("shares"), other))
    text = "\n".join(page.section("comparison").lines())
    assert "smokes, P(value)" in text
    assert not WORDS.findall(text)
    with_label = parse_page(render_page(make_results("shares"), make_results("choices"), independent=True))
    rows = with_label.section("comparison").table("What was not compared").rows()
    assert any(reason == "only the second survey has a label" for _, reason in rows)


def test_a_silo_survey_without_a_label_speaks_of_shares_alone():
    plan = read_any_survey(re.sub(r"\[label\]\n.*\n.*\n", "", SILOS)).compile()
    assert not plan.label.exists
    store = MemoryStore()
    store.publish(plan.id, plan.json)
    rows = [(codes, 0) for codes in draw_silo_rows(1000, 1)[0].tolist()]
    [outcome] = Intake(plan, store).record_body(make_message(plan, rows, FastStream(1)))
    assert outcome.status == "recorded"
    results = collect(take_snapshot(store, plan.id))
    page = "\n".join(parse_page(render_page(results)).lines())
    card = describe_model(results, [], "Estimates").format_card()
    for output in (page, card, format_summary(results)):
        assert "could move P(value), or a mean as a share of its range, by at most 0." in " ".join(
            output.split()
        )
        assert not WORDS.findall(output)
        assert not EMPTY.findall(SNIPPET.sub("", output))


def test_without_reports_everything_is_unknown(tmp_path):
    plan = make_plan(id="habits", label=None, features={"smokes": ["yes", "no"], "age": {"range": [0, 9]}})
    path = train_model(tmp_path / "model.json", make_snapshot(plan, 0))
    model = load_model(path)
    assert not WORDS.findall("\n".join(parse_page(render_page(model.results_)).lines()))
    assert "feature smokes  yes unknown, no unknown" in str(model)
    assert model.to_frame()["estimate"].isna().all()
