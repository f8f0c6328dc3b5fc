"""ldp-survey on the command line."""

import csv
import io
import json
import tomllib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from encoders.randomness import SystemEntropy
from encoders.report import unpack
from encoders.survey import Plan, read_survey
from ldp_design.authoring.sample_row import make_sample_row
from tests.support.commands import command
from tests.support.surveys import TEA_OF_THREE as SURVEY

run = partial(command, "ldp-survey", check=False)

TEXTS = """\
[texts.en]
title = "Tea"
[texts.en.label]
title = "Are you tired?"
values = { yes = "Yes", no = "No" }
[texts.en.features.tea]
title = "Which tea do you drink?"
values = { black = "Black", green = "Green", mint = "Mint" }
[texts.en.features.hours]
title = "How long do you sleep?"
[texts.de]
help = "Eine Minute."
"""
BROKEN = """\
[survey]
id = "Tea!"
epsilon = 0

[label]
name = "tired"
values = ["yes"]

[features.tea]
values = ["black", "black"]
missing = "maybe"

[features."hours [a day]"]
range = [12, 0]
bins = 3

[mechanism]
frequency = "RAPPOR"
"""
ROW = {"tea": "green", "hours": 5, "tired": "no"}


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., Path]:
    """Write files by name; return the function that does so."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


def table(rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


# -- init ---------------------------------------------------------------------------------------


def test_the_example_passes_its_own_check(files):
    example = run("init")
    checked = run("check", files("survey.toml", example.stdout))
    assert (example.exit_code, checked.exit_code) == (0, 0)
    warnings = [line for line in checked.stdout.splitlines() if line.startswith("warning: ")]
    assert [each.partition(":")[2].partition(":")[0] for each in warnings] == [" missed_payment (the label)"]


def test_a_draft_separates_categories_from_numbers_and_marks_each_guess(files):
    rows = [["age", "city", "children", "paid"]]
    rows += [[20 + i, ["Graz", "Linz"][i % 2], i % 4, ["yes", "no"][i % 2]] for i in range(40)]
    draft = run("init", "--from", files("Public Sample.csv", table(rows)), "--label", "paid").stdout
    survey = read_survey(draft)
    age, city, children = survey.features
    assert survey.id == "public-sample"
    assert survey.label.values == ("no", "yes")
    assert (age.edges[0], age.edges[-1], age.size) == ("20", "60", 8)
    assert city.values == ("Graz", "Linz")
    assert children.values == ("0", "1", "2", "3")
    for line, following in zip(draft.splitlines(), draft.splitlines()[1:], strict=False):
        if following.startswith(("values", "range", "bins", "id")):
            assert line.startswith("# guess: ")
            assert "confirm" in line


def without_comment_signs(text: str) -> str:
    """Return a survey with the comment signs of the tables [about] and [texts] removed."""
    first = text.index("# [about]")
    lines = text[first:].partition("# Left out:")[0].splitlines()
    return text[:first] + "\n".join(line.removeprefix("# ") for line in lines if line[2:3] != "W")


def test_the_example_and_a_draft_contain_tables_of_texts_in_comments(files):
    sample = files("sample.csv", table([["a b", "c"], *[["x", "1"], ["y", "0"], ["", "0"]] * 2]))
    drafts = [run("init").stdout, run("init", "--from", sample, "--label", "c").stdout]
    for draft, feature in zip(drafts, ("age", "a b"), strict=True):
        assert read_survey(draft).texts is None
        texts = read_survey(without_comment_signs(draft)).texts
        assert texts
        assert set(texts.about) == {"title", "purpose", "contact", "ethics", "retention"}
        assert list(texts.languages["en"]["features"]) == [feature]


def test_a_draft_warns_of_private_samples(files):
    sample = files("sample.csv", table([["a", "b"], *[["x", "1"], ["y", "0"]] * 2]))
    draft = run("init", "--from", sample, "--label", "b").stdout
    words = " ".join(draft.replace("\n# ", " ").split())
    assert "PUBLIC sample. Values and ranges that are inferred from private rows leak these rows." in words


def test_missing_cells_become_a_category(files):
    rows = [["a", "b", "c"], *([i or "", ["", "x"][i % 2], "n"[: i % 2] or "y"] for i in range(30))]
    draft = run("init", "--from", files("sample.csv", table(rows)), "--label", "c").stdout
    assert [feature.missing for feature in read_survey(draft).features] == ["category"] * 2
    assert "# guess: 15 of 30 rows have no answer; confirm" in draft


def test_columns_that_cannot_be_features_are_left_out_with_a_reason(files):
    rows = [["", "same", "one", "text", "mixed", "empty", "f", "l"]]
    rows += [[i, "x", 1.5, f"n{i}", i % 55 or "few", "", i % 2, "ab"[i % 2]] for i in range(60)]
    draft = run("init", "--from", files("sample.csv", table(rows)), "--label", "l").stdout
    assert list(tomllib.loads(draft)["features"]) == ["f"]
    assert draft.splitlines()[-7:] == [
        "# Left out:",
        '#   "": a column without a name, usually a row number',
        '#   "same": the same in every row',
        '#   "one": the same number in every row that has one',
        '#   "text": 60 different texts, more than 50',
        '#   "mixed": 55 different texts, more than 50; all but 2 cells are numbers: empty row 1?',
        '#   "empty": empty in every row',
    ]


@pytest.mark.parametrize(
    ("rows", "label", "why"),
    [
        ([["a", "b"], ["x", "y"]], "c", 'no column "c" for the label; it has "a", "b"'),
        ([["a", "b"], ["x", "y"]], "b", 'the label "b" has 1 values'),
        (
            [["a", "b"], *([i, i] for i in range(60))],
            "b",
            "has 60 values; choose a label with 2 to 50",
        ),
        ([["a", "b"]], "b", "at least one row"),
        ([["a", "b"], *[["x", "y"], ["x", "z"]] * 2], "b", "no column can be a feature"),
        ([["a", "b"], ["x"]], "b", "row 1 has 1 cells"),
    ],
)
def test_an_unusable_sample_is_a_clear_error(files, rows, label, why):
    result = run("init", "--from", files("sample.csv", table(rows)), "--label", label)
    assert result.exit_code == 1
    assert why in result.stderr


def test_a_label_needs_a_sample_with_rows(files):
    assert run("init", "--label", "b").exit_code == 2
    assert run("init", "--from", files("sample.csv", "a,b\n"), "--label", "b").exit_code == 1
    assert "needs at least one row" in run("init", "--from", files("sample.csv", "a,b\n")).output


# -- check --------------------------------------------------------------------------------------


def test_check_shows_what_every_question_costs(files):
    path = files("survey.toml", SURVEY)
    result = run("check", path)
    tea, hours = (line.split() for line in result.stdout.splitlines()[3:5])
    assert (tea[0], tea[1:6], tea[6]) == ("tea", ["3", "x", "2", "=", "6"], "SS")
    assert 0.9999 < float(tea[7]) <= 1
    assert (tea[9], hours[9]) == ("25.0%", "75.0%")
    assert result.stdout.rstrip().endswith(f"digest {read_survey(SURVEY).compile().digest}")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", "2 features, asked in 2 questions"),
        (
            "[features.hours]",
            '[features.height]\nrange = [0, 2]\n[mechanism]\nnumeric = "sign"\n[features.hours]',
            "3 features, asked in 4 questions (a number takes two)",
        ),
        (
            "[features.hours]",
            "[features.height]\nrange = [0, 2]\n[features.hours]",
            "3 features, asked in 3 questions",
        ),
        (
            'values = ["yes", "no"]',
            'values = ["yes", "no"]\nweight = 1',
            "2 features, asked in 3 questions (one asks for the label alone)",
        ),
        (
            "[features.tea]",
            "".join(f"[features.{name}]\nvalues = [true, false]\n" for name in "abcd") + "[features.tea]",
            "6 features, asked in 4 questions (some ask for several features)",
        ),
    ],
    ids=["lists", "number", "number of one question", "label alone", "grouped"],
)
def test_check_counts_features_and_questions(files, old, new, expected):
    text = SURVEY.replace(old, new, 1).replace("epsilon = 1.0", "epsilon = 2.4")
    first = run("check", files("survey.toml", text)).stdout.splitlines()[0]
    assert first == f"tea: epsilon 2.4, {expected}, of which each person answers one"


def test_check_of_a_survey_with_one_question_counts_it(files):
    text = SURVEY.replace("weight = 3", "weight = 0")
    first = run("check", files("survey.toml", text)).stdout.splitlines()[0]
    assert first == "tea: epsilon 1, 1 feature, asked in 1 question"


def test_check_names_every_mistake_by_line_and_field(files):
    result = run("check", files("survey.toml", BROKEN))
    output = [line.split(": ")[:3] for line in result.stderr.splitlines()]
    assert result.exit_code == 1
    assert output[:-1] == [
        ["survey.toml", "line 2", "survey.id"],
        ["survey.toml", "line 3", "survey.epsilon"],
        ["survey.toml", "line 7", "label.values"],
        ["survey.toml", "line 10", "features.tea.values"],
        ["survey.toml", "line 11", "features.tea.missing"],
        ["survey.toml", "line 14", "features.hours [a day].range"],
        ["survey.toml", "line 18", "mechanism.frequency"],
    ]
    assert output[-1] == ["7 mistakes"]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("bins = 3", "bins 3", "survey.toml: line 11: not valid TOML"),
        ("[features.hours]", "[features.tea]", "survey.toml: line 9: two entries have the same name"),
        ("bins = 3", "bin = 3", "survey.toml: line 11: features.hours.bin: is not an entry"),
        (
            '"mint"]',
            '"mint"]\n[mechanism]\nfrequency = "SHE"\n[features.big]\nvalues = ' + str([*range(2000)]),
            "survey.toml: line 11: big: 4000 counters of the question 'big' make SHE reports longer",
        ),
    ],
)
def test_check_names_the_line_of_syntax_and_of_what_cannot_be_compiled(files, old, new, place):
    result = run("check", files("survey.toml", SURVEY.replace(old, new, 1)))
    assert result.exit_code == 1
    assert result.stderr.startswith(place)


def test_check_warns_of_what_is_rarely_intended(files):
    odd = SURVEY.replace("epsilon = 1.0", "epsilon = 4").replace("bins = 3", "bins = 200")
    output = run("check", files("survey.toml", odd.replace('"mint"]', '"mint"]\nweight = 0'))).stdout
    assert "warning: epsilon is above 2" in output
    assert "warning: tea: never asked" in output
    assert "warning: hours has 402 possible answers" in output


def test_check_shows_questions_about_several_features_without_a_warning(files):
    several = SURVEY.replace("epsilon = 1.0", "epsilon = 12").replace("bins = 3", "bins = 20")
    output = run("check", files("survey.toml", several.replace("weight = 3", ""))).stdout
    assert "\ntea, hours  3 x 21 x 2 = 126 " in output
    assert "possible answers" not in output


@pytest.mark.parametrize(
    ("weights", "span", "why"),
    [
        ("[0, 0]", "[-1, 1]", "all its weights are 0"),
        ("[1, -0.5]", "[1.75, 9]", "its sums are from -1.25 to 1.75, none of them inside its range"),
        ("[1, -0.5]", "[-9, -1.25]", "its sums are from -1.25 to 1.75, none of them"),
    ],
)
def test_check_warns_of_a_constant_component(files, weights, span, why):
    text = (
        SURVEY.split("[features.")[0]
        + "[projection.inputs.a]\nrange = [0, 9]\n[projection.inputs.b]\nrange = [0, 9]\n"
        + f"[features.sum]\nweights = {weights}\noffset = 0.25\nrange = {span}\n"
    )
    assert f"warning: sum is the same for everybody: {why}" in run("check", files("s.toml", text)).stdout
    sound = text.replace(weights, "[1, 1]").replace(span, "[-1, 1]")
    assert "is the same for everybody" not in run("check", files("s.toml", sound)).stdout


def test_check_warns_of_people_who_cannot_answer(files):
    output = run("check", files("survey.toml", SURVEY.replace('missing = "category"', ""))).stdout
    assert "warning: tea: a person whose answer is not listed cannot report" in output
    assert "warning: tea, hours: a person without an answer cannot report" in output


def test_a_draft_offers_another_value_where_a_list_may_be_incomplete(files):
    rows = [["city", "count", "days", "plan"]]
    rows += [[["Graz", "Wels", "Zell"][i % 3], [1, 2, 5][i % 3], i % 4, "abc"[i % 3]] for i in range(30)]
    draft = run("init", "--from", files("sample.csv", table(rows)), "--label", "plan").stdout
    survey = read_survey(draft)
    assert [feature.values for feature in survey.features] == [
        ("Graz", "Wels", "Zell", "other"),
        ("1", "2", "5", "other"),
        ("0", "1", "2", "3"),
    ]
    assert survey.label.values == ("a", "b", "c", "other")
    assert draft.count('# guess: "other" stands for every answer that is not listed; confirm') == 3
    assert "is not listed cannot report" not in run("check", files("survey.toml", draft)).stdout


# -- compile ------------------------------------------------------------------------------------


def test_a_compiled_plan_is_a_survey_too(files, tmp_path):
    path, plan = files("survey.toml", SURVEY), tmp_path / "plan.json"
    assert run("compile", path, "-o", plan).exit_code == 0
    assert Plan.from_json(plan.read_bytes()) == read_survey(SURVEY).compile()
    assert run("compile", path).stdout_bytes == plan.read_bytes()
    assert run("check", plan).stdout == run("check", path).stdout


def test_compile_prints_the_digest_and_the_next_step(files, tmp_path):
    plan = tmp_path / "a plan.json"
    printed = run("compile", files("survey.toml", SURVEY), "-o", plan).stdout
    assert printed == (
        f"wrote {plan}, digest {read_survey(SURVEY).compile().digest}\n"
        f"next: ldp-survey preview '{plan}', then ldp-collector serve '{plan}'\n"
    )


def test_a_byte_order_mark_and_a_last_newline_do_no_harm(files, tmp_path):
    path = files("survey.toml", "\ufeff" + SURVEY.replace("\n", "\r\n"))
    plan = files("plan.json", run("compile", path).stdout + "\n")
    assert run("check", plan).stdout == run("check", path).stdout


def test_compile_writes_the_texts_beside_the_plan(files, tmp_path):
    path, plan = files("survey.toml", SURVEY + TEXTS), tmp_path / "plan.json"
    assert run("compile", path, "-o", plan).exit_code == 0
    expected = read_survey(SURVEY + TEXTS).compile()
    assert expected.texts
    assert plan.read_bytes() == expected.json
    assert (tmp_path / "plan.texts.json").read_bytes() == expected.texts.json
    assert run("check", plan).stdout == run("check", path).stdout
    copy = tmp_path / "copy.json"
    assert run("compile", plan, "-o", copy).exit_code == 0
    assert (tmp_path / "copy.texts.json").read_bytes() == expected.texts.json


def test_compile_without_output_prints_the_plan_and_mentions_the_texts(files):
    result = run("compile", files("survey.toml", SURVEY + TEXTS))
    assert result.stdout_bytes == read_survey(SURVEY + TEXTS).compile().json
    assert "give -o PLAN.json to write them" in result.stderr
    assert not run("compile", files("survey.toml", SURVEY)).stderr


def test_compile_writes_no_texts_for_a_survey_without_them(files, tmp_path):
    run("compile", files("survey.toml", SURVEY), "-o", tmp_path / "plan.json")
    assert not (tmp_path / "plan.texts.json").exists()


def test_compile_and_check_of_a_plan_without_its_texts_say_so(files, tmp_path):
    plan = files("plan.json", read_survey(SURVEY + TEXTS).compile().json.decode())
    result = run("compile", plan, "-o", tmp_path / "other.json")
    assert result.exit_code == 1
    assert "the file of its texts is not beside the plan" in result.stderr
    assert "texts: their file is not beside the plan" in run("check", plan).stdout


def test_compile_into_a_folder_that_does_not_exist_is_an_error(files, tmp_path):
    result = run("compile", files("survey.toml", SURVEY), "-o", tmp_path / "no" / "plan.json")
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


def test_check_lists_what_each_language_lacks(files):
    shown = run("check", files("survey.toml", SURVEY + TEXTS)).stdout
    assert "  en: complete\n" in shown
    assert (
        "  de: missing title, label.title, label.values.yes, label.values.no, features.tea.title, " in shown
    )
    assert "features.tea.values.black and 3 more\n" in shown


# -- preview ------------------------------------------------------------------------------------


def preview(path: Path, *arguments: object) -> str:
    result = run("preview", path, *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def sent(output: str) -> bytes:
    """Return the report that a preview shows."""
    lines = output.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("What would be sent"))
    end = next(i for i, line in enumerate(lines) if line.startswith("The last "))
    return bytes.fromhex("".join(lines[start + 1 : end]))


def test_a_preview_shows_the_report_s_bytes(files):
    plan = read_survey(SURVEY).compile()
    output = preview(files("survey.toml", SURVEY), "--row", files("row.json", json.dumps(ROW)))
    report = unpack(sent(output))
    question = plan.questions[report.question]
    question.mechanism.check(report.payload)
    assert report.plan_digest.hex() == plan.digest
    assert f"{len(sent(output))} bytes" in output
    assert next(line for line in output.splitlines() if "this one" in line).split()[0] == question.name


def test_a_preview_shows_the_true_answer_beside_the_other_possible_ones(files):
    output = preview(
        files("survey.toml", SURVEY), "--row", files("row.json", json.dumps(ROW)), "--question", "hours"
    )
    truth = [line for line in output.splitlines() if "<- the truth" in line]
    shares = [
        float(line.split("%")[-2].split()[-1])  # the last is what one would now believe
        for line in output.splitlines()
        if "tired = " in line and "%" in line
    ]
    assert truth[0].startswith("  hours = 4 to 8, tired = no ")
    assert "  hours = 4 to 8, tired = no\n" in output
    assert len(shares) == 8
    assert sum(shares) == pytest.approx(100, abs=0.5)
    assert "by more than the factor e^1 = 2.7183." in " ".join(output.split())
    assert "Sending it spends epsilon = 1;" in " ".join(output.split())


def test_a_preview_names_the_values_that_were_clipped(files):
    path = files("survey.toml", SURVEY)
    far, near = (
        preview(path, "--row", files("row.json", json.dumps({**ROW, "hours": hours}))) for hours in (13, 12)
    )
    assert "\n  (hours is outside its range, 0 to 12: the device moves it to the nearest end)\n" in far
    assert "outside" not in near


def test_a_preview_of_a_number_shows_both_of_its_questions(files):
    path = files("survey.toml", SURVEY.replace("bins = 3\n", ""))
    row = files("row.json", json.dumps({**ROW, "hours": 9}))
    output = preview(path, "--row", row, "--question", "hours")
    mean, square = output.split(f"\n{'-' * 80}\n\n")
    assert "  hours = 9, tired = no\n" in mean
    assert "squared" not in mean
    assert "It asks for the squared distance of hours from 6, the middle of its range." in square
    assert "1 at both ends, 0 and 12." in " ".join(square.split())
    assert "  hours = 0.25 (squared distance), tired = no\n" in square


def test_an_unknown_question_is_an_error_before_a_row_is_made_up(files):
    result = run("preview", files("survey.toml", SURVEY), "--question", "coffee")
    assert result.exit_code == 1
    assert not result.stdout
    assert "there is no question or feature 'coffee'; the survey asks tea; hours" in result.stderr


def test_entries_that_a_json_row_lacks_are_named_with_the_value_to_write(files):
    result = run("preview", files("survey.toml", SURVEY), "--row", files("row.json", '{"tired": "no"}'))
    assert result.exit_code == 1
    lines = result.stderr.removeprefix("Error: ").splitlines()
    assert lines == [
        f"{name}: the row has no such entry; write null for a missing value" for name in ("tea", "hours")
    ]


def test_a_preview_of_a_question_about_a_number_has_no_column_without_entries(
    files,
):
    path = files(
        "survey.toml",
        SURVEY.replace("[features.hours]", "[features.height]\nrange = [0, 2]\n[features.hours]"),
    )
    output = preview(path, "--question", "height (mean)").splitlines()
    head = next(line for line in output if line.startswith("  true answer"))
    assert head.split() == ["true", "answer", "chance", "belief"]
    discrete = preview(path, "--question", "hours").splitlines()
    assert any(line.split() == ["true", "answer", "sent", "chance", "belief"] for line in discrete)


@pytest.mark.parametrize("mechanism", ["DE", "SUE", "OUE", "SHE", "THE", "SS"])
def test_every_mechanism_has_a_preview_of_a_sample_row(files, mechanism):
    path = files("survey.toml", SURVEY + f'[mechanism]\nfrequency = "{mechanism}"\n')
    output = preview(path)
    assert output.startswith("A row, made up")
    assert f"randomised by {mechanism}" in output


CONDITIONS = """[survey]
id = "habits"
epsilon = 1
[features.smokes]
values = ["yes", "no"]
[features.kind]
choices = ["pipe", "snus"]
missing = "category"
ask_if = { feature = "smokes", value = "yes" }
[features.filter]
range = [0, 9]
missing = "category"
ask_if = { feature = "kind", value = "pipe" }
"""


def test_a_sample_row_has_no_answer_to_a_question_that_is_not_asked():
    plan = read_survey(CONDITIONS).compile()
    rows = [make_sample_row(plan, SystemEntropy()) for _ in range(200)]  # fails by chance with 2^-190
    assert {row["kind"] is None for row in rows if row["smokes"] == "no"} == {True}
    assert {row["filter"] is None for row in rows if "pipe" not in (row["kind"] or ())} == {True}
    assert any(row["filter"] is not None for row in rows)


def test_check_warns_of_a_question_that_nobody_is_asked(files):
    both = '{ feature = "smokes", value = "yes" }, { feature = "smokes", value = "no" }'
    text = CONDITIONS.replace('{ feature = "kind", value = "pipe" }', f"{{ all = [{both}] }}")
    warning = "warning: filter: nobody is asked, because the conditions in ask_if exclude each other"
    assert warning in run("check", files("survey.toml", text)).stdout
    for other in (CONDITIONS, text.replace("all = ", "any = ")):
        assert "nobody is asked" not in run("check", files("survey.toml", other)).stdout


def test_a_row_of_a_csv_file_is_counted_from_1(files):
    path, rows = files("survey.toml", SURVEY), files("rows.csv", "tea,hours,tired\nblack,1,yes\nmint,,no\n")
    output = preview(path, "--csv", rows, "--row-number", 2, "--question", "hours")
    assert "  hours = (missing), tired = no\n" in output
    assert "tired = yes\n" in preview(path, "--csv", rows, "--row-number", 2, "--label", "yes")
    missing = run("preview", path, "--csv", rows, "--row-number", 3)
    assert (missing.exit_code, "has 2 rows, but no row 3" in missing.stderr) == (1, True)


def test_booleans_of_a_csv_file_are_read_in_other_spellings(files):
    survey = SURVEY.replace('values = ["yes", "no"]', "values = [false, true]")
    survey = survey.replace('values = ["black", "green", "mint"]', "values = [false, true]")
    path, rows = files("survey.toml", survey), files("rows.csv", "tea,hours,tired\nTrue,1,0\n")
    output = preview(path, "--csv", rows, "--row-number", 1, "--question", "tea")
    assert "  tea = true, tired = false\n" in output


def test_large_domains_list_the_likeliest_and_the_truth(files):
    path = files("survey.toml", SURVEY.replace("bins = 3", "bins = 100"))
    output = preview(path, "--row", files("row.json", json.dumps(ROW)), "--question", "hours")
    assert output.count("<- the truth") == 1
    assert " more\n" in output


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("{", "row.json: is not JSON"),
        ("[1]", "row.json: needs a JSON object"),
        (json.dumps(ROW | {"tea": "secret"}), "tea: is not one of the survey's values"),
        (json.dumps({"tea": "mint", "tired": "no"}), "hours: the row has no such entry"),
        (json.dumps({"tea": "mint", "hours": 1}), "tired: the label is missing"),
    ],
)
def test_a_row_that_does_not_fit_is_named_by_field_and_not_by_value(files, row, why):
    result = run("preview", files("survey.toml", SURVEY), "--row", files("row.json", row))
    assert result.exit_code == 1
    assert why in result.stderr
    assert "secret" not in result.stderr


def test_an_unknown_question_and_two_rows_are_refused(files):
    path, row = files("survey.toml", SURVEY), files("row.json", json.dumps(ROW))
    assert "the survey asks tea; hours" in run("preview", path, "--question", "coffee").stderr
    assert run("preview", path, "--row", row, "--csv", row).exit_code == 2


def test_preview_shows_the_texts_of_a_language(files):
    path = files("survey.toml", SURVEY + TEXTS + '[texts.de.label]\nvalues = { no = "Nein" }\n')
    row = files("row.json", json.dumps(ROW))
    shown = preview(path, "--row", row, "--question", "tea", "--language", "de")
    assert '  tea: "Which tea do you drink?"' in shown
    assert '"Which tea do you drink?" = "Green", "Are you tired?" = "Nein"' in shown
    assert 'tea = "Mint", tired = "Yes"' in shown
    assert '"Are you tired?" = "No"' in preview(path, "--row", row, "--question", "tea")
