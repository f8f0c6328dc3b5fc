"""Every mistake in an authored survey is explained by field and line."""

import pytest

from encoders.survey import toml_reader
from encoders.survey.plan_files import PEOPLE_PLANS
from encoders.survey.toml_reader import parse_toml
from tests.support.mistakes import assert_explained, refuse
from tests.support.surveys import GOOD

AGE = '[features.age]\nvalues = ["young", "old"]\nmissing = "category"\n'
# old text, new text, field, line, words of the explanation
MISTAKES = {
    "epsilon zero": ("1.5", "0", "survey.epsilon", 3, "needs a number from"),
    "epsilon zero float": ("1.5", "0.0", "survey.epsilon", 3, "needs a number from"),
    "epsilon negative": ("1.5", "-1.0", "survey.epsilon", 3, "needs a number from"),
    "epsilon nan": ("1.5", "nan", "survey.epsilon", 3, "needs a number from"),
    "epsilon inf": ("1.5", "inf", "survey.epsilon", 3, "needs a number from"),
    "epsilon huge": ("1.5", "1e400", "survey.epsilon", 3, "needs a number from"),
    "epsilon above the cap": ("1.5", "32.01", "survey.epsilon", 3, "to 32"),
    "epsilon tiny": ("1.5", "1e-9", "survey.epsilon", 3, "needs a number from"),
    "epsilon text": ("1.5", '"1.5"', "survey.epsilon", 3, "needs a number from"),
    "epsilon true": ("1.5", "true", "survey.epsilon", 3, "needs a number from"),
    "epsilon list": ("1.5", "[1.5]", "survey.epsilon", 3, "needs a number from"),
    "epsilon date": ("1.5", "2026-01-01", "survey.epsilon", 3, "needs a number from"),
    "epsilon absent": ("epsilon = 1.5\n", "", "survey.epsilon", 1, "needs a number from"),
    "id absent": ('id = "sleep-2026"\n', "", "survey.id", 1, "needs 1 to 64"),
    "id empty": ('"sleep-2026"', '""', "survey.id", 2, "needs 1 to 64"),
    "id upper case": ("sleep-2026", "Sleep", "survey.id", 2, "needs 1 to 64"),
    "id with a path": ("sleep-2026", "../x", "survey.id", 2, "needs 1 to 64"),
    "id with a newline": ("sleep-2026", "x\\n", "survey.id", 2, "needs 1 to 64"),
    "id number": ('"sleep-2026"', "2026", "survey.id", 2, "needs 1 to 64"),
    "id long": ("sleep-2026", "a" * 65, "survey.id", 2, "needs 1 to 64"),
    "unknown entry": ("epsilon = 1.5", "epsilon = 1.5\ndelta = 1", "survey.delta", 4, "is not an entry here"),
    "unknown table": ("[mechanism]", "[mechanisms]", "mechanisms", 18, "is not an entry here"),
    "unknown feature entry": (
        "weight = 3",
        "weigth = 3",
        "features.hours.weigth",
        16,
        "is not an entry here",
    ),
    "scale with an order": (
        "weight = 3",
        "ordered = true",
        "features.hours.ordered",
        16,
        "bins are ordered anyway",
    ),
    "several answers": (
        "weight = 3",
        "multiple = true",
        "features.hours.multiple",
        16,
        "write choices = [...] instead of values",
    ),
    "missing label": (
        'name = "rested"\n',
        'name = "rested"\nmissing = "category"\n',
        "label.missing",
        7,
        'add a value such as "unknown"',
    ),
    "table as value": (
        "[mechanism]\n",
        "[mechanism.frequency]\nx = 1\n#",
        "mechanism.frequency",
        18,
        "choose",
    ),
    "label name absent": ('name = "rested"\n', "", "label.name", 5, "needs the name"),
    "label name number": ('"rested"', "1", "label.name", 6, "needs the name"),
    "label of one value": ('["yes", "no"]', '["yes"]', "label.values", 7, "at least 2"),
    "label values text": ('["yes", "no"]', '"yes"', "label.values", 7, "at least 2"),
    "label values absent": ('values = ["yes", "no"]\n', "", "label.values", 5, "at least 2"),
    "label value twice": (
        '["yes", "no"]',
        '["yes", "no", "yes"]',
        "label.values",
        7,
        "has repeated values: yes",
    ),
    "value twice, spelled otherwise": (
        '["yes", "no"]',
        '[1, "1"]',
        "label.values",
        7,
        "has repeated values: 1",
    ),
    "value empty": ('["yes", "no"]', '["yes", "no", ""]', "label.values", 7, "must be a text"),
    "value list": ('["yes", "no"]', '["yes", "no", []]', "label.values", 7, "must be a text"),
    "value broken number": ('["yes", "no"]', '["yes", "no", 0.5]', "label.values", 7, "must be a text"),
    "feature named as the label": (
        "[features.age]",
        "[features.rested]",
        "features.rested",
        9,
        "label's name",
    ),
    "feature no table": (AGE, "[features]\nage = 1\n", "features.age", 10, "must be a table"),
    "feature of two kinds": (
        "bins = 4",
        'bins = 4\nvalues = ["a", "b"]',
        "features.hours",
        13,
        "exactly one",
    ),
    "feature of no kind": ('values = ["young", "old"]\n', "", "features.age", 9, "exactly one of"),
    "feature without name": ("[features.age]", '[features.""]', "features.", 9, "needs a name"),
    "bins one": ("bins = 4", "bins = 1", "features.hours.bins", 15, "from 2 to 1000"),
    "bins many": ("bins = 4", "bins = 1001", "features.hours.bins", 15, "from 2 to 1000"),
    "bins float": ("bins = 4", "bins = 4.0", "features.hours.bins", 15, "whole number"),
    "bins true": ("bins = 4", "bins = true", "features.hours.bins", 15, "whole number"),
    "bins with values": ('missing = "category"', "bins = 2", "features.age.bins", 11, "is only for range"),
    "range reversed": ("[0, 10]", "[10, 0]", "features.hours.range", 14, "must increase"),
    "range empty": ("[0, 10]", "[5, 5]", "features.hours.range", 14, "must increase"),
    "range of one": ("[0, 10]", "[5]", "features.hours.range", 14, "at least 2"),
    "range of three": ("[0, 10]", "[0, 5, 10]", "features.hours.range", 14, "two numbers"),
    "range text": ("[0, 10]", '["0", "10"]', "features.hours.range", 14, "finite numbers"),
    "range nan": ("[0, 10]", "[0, nan]", "features.hours.range", 14, "finite numbers"),
    "range infinite": ("[0, 10]", "[-inf, 10]", "features.hours.range", 14, "finite numbers"),
    "range beyond doubles": ("[0, 10]", "[0, 1e400]", "features.hours.range", 14, "finite numbers"),
    "range true": ("[0, 10]", "[false, true]", "features.hours.range", 14, "finite numbers"),
    "edges with bins": (
        "range = [0, 10]",
        "edges = [0, 5, 10]",
        "features.hours.bins",
        15,
        "is only for range",
    ),
    "edges equal": (
        "range = [0, 10]\nbins = 4",
        "edges = [0, 5, 5]",
        "features.hours.edges",
        14,
        "must increase",
    ),
    "edges equal as doubles": (
        "range = [0, 10]\nbins = 4",
        "edges = [0, 1.0, 1.00000000000000001]",
        "features.hours.edges",
        14,
        "must increase",
    ),
    "edges of one bin": (
        "range = [0, 10]\nbins = 4",
        "edges = [0, 5]",
        "features.hours.edges",
        14,
        "at least 3",
    ),
    "missing misspelt": ('"category"', '"maybe"', "features.age.missing", 11, '"category"'),
    "missing true": ('"category"', "true", "features.age.missing", 11, '"category"'),
    "weight negative": ("weight = 3", "weight = -1", "features.hours.weight", 16, "whole number"),
    "weight float": ("weight = 3", "weight = 1.0", "features.hours.weight", 16, "whole number"),
    "weight true": ("weight = 3", "weight = true", "features.hours.weight", 16, "whole number"),
    "weight huge": ("weight = 3", "weight = 1000001", "features.hours.weight", 16, "to 1,000,000"),
    "label weight": ('name = "rested"', 'name = "rested"\nweight = "1"', "label.weight", 7, "whole number"),
    "mechanism unknown": ('"OUE"', '"LAPLACE"', "mechanism.frequency", 19, "choose one of"),
    "mechanism lower case": ('"OUE"', '"oue"', "mechanism.frequency", 19, "choose one of"),
    "mechanism list": ('"OUE"', '["OUE"]', "mechanism.frequency", 19, "choose one of"),
    "mechanism with a stray option": ('"OUE"', '"OUE(0.5)"', "mechanism.frequency", 19, "choose one of"),
    "family": ("epsilon =", 'family = "A b"\nepsilon =', "survey.family", 3, "first survey of its family"),
    "numeric": (
        'frequency = "OUE"',
        'numeric = "laplce"',
        "mechanism.numeric",
        19,
        'choose one of "auto", laplace',
    ),
}
MISTAKES |= {
    f"value {name}": ('"yes", "no"', new, "label.values", line, words)
    for name, new, line, words in (
        (
            "not printable",
            '"y\u00a0s", "no"',
            7,
            r"'y\xa0s' contains U+00A0 NO-BREAK SPACE, which is not printable",
        ),
        ("with a tab", '"yes", "n\to"', 7, r"'n\to' contains U+0009, which is not printable"),
        ("not in NFC", '"cafe\u0301", "no"', 7, "not in Unicode's normal form NFC"),
        ("with a blank letter", '"yes\u3164", "no"', 7, "contains U+3164 HANGUL FILLER"),
        ("of a blank sign", '"\u2800", "no"', 7, "contains U+2800 BRAILLE PATTERN BLANK"),
        ("that begins with a selector", '"\ufe0fyes", "no"', 7, "contains U+FE0F VARIATION SELECTOR-16"),
        ("that looks like another one", '"yes", "yes\ufe0f"', 7, "has repeated values: yes"),
        ("of many characters", f'"yes", "{"n" * 201}"', 7, "has 201 characters, not 1 to 200"),
        (
            "on a line of its own",
            '\n"yes",\n# "n\u200bo", \n\'no\',\n"a=",\n"n\\u200bo"',
            12,
            "U+200B ZERO WIDTH SPACE",
        ),
        ("in several lines", '\n"yes",\n"""\nn\u200bo"""', 7, "U+200B"),
    )
}
MISTAKES |= {
    "feature name not printable": (
        "features.age",
        'features."a\u200bge"',
        "features.a\u200bge",
        9,
        "contains U+200B",
    ),
    "feature name not in NFC": (
        "features.age",
        'features."a\u0308ge"',
        "features.a\u0308ge",
        9,
        "not in Unicode's normal form NFC",
    ),
    "unprintable label name": ('"rested"', '"res\u00adted"', "label.name", 6, "contains U+00AD SOFT HYPHEN"),
    "a value named as the missing one": (
        '"old"]',
        '\n"(missing)"]',
        "features.age.values",
        11,
        "is reserved for a",
    ),
    "the same where none may be missing": (
        '"old"]\nmissing = "category"',
        '"old",\n"(missing)"]',
        "features.age.values",
        11,
        'write missing = "category" instead',
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained_by_field_and_line(name):
    old, new, field, line, words = MISTAKES[name]
    assert GOOD.count(old) >= 1
    error = assert_explained(GOOD.replace(old, new, 1), field, line, words)
    printed = field.replace("\u200b", "\\u200b")  # the message contains no character that is not printable
    assert str(error).startswith(f"line {line}: {printed}: ")


@pytest.mark.slow
def test_every_feature_that_is_too_large_to_compile_is_named(tmp_path):
    text = GOOD.replace('"young", "old"', ", ".join(f'"{age}"' for age in range(40_000)))
    text = text.replace("[mechanism]", f"[features.zip]\nvalues = {list(range(32_769))}\n[mechanism]")
    (tmp_path / "survey.toml").write_text(text, encoding="utf-8")
    error = refuse(tmp_path / "survey.toml", PEOPLE_PLANS.load)
    problems = error.problems
    assert [(each.field, each.line) for each in problems] == [("features.age", 9), ("features.zip", 18)]
    assert problems[0].why.startswith(
        "40,001 values (the missing one too) x 2 values of the label = 80,002 combinations, and one question "
        "asks for at most 65,536: merge rare values"
    )
    assert "32,769 values x 2 values of the label = 65,538 combinations" in problems[1].why
    lines = str(error).splitlines()
    assert lines == [f"survey.toml: {each}" for each in problems]


def test_every_report_that_is_too_long_is_named(tmp_path):
    many = ", ".join(f'"{age}"' for age in range(1100))
    text = GOOD.replace('"young", "old"', many).replace("OUE", "SHE").replace("bins = 4", "bins = 1000")
    (tmp_path / "survey.toml").write_text(text.replace("epsilon = 1.5", "epsilon = 8"), encoding="utf-8")
    assert [each.field for each in refuse(tmp_path / "survey.toml", PEOPLE_PLANS.load).problems] == ["age"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("survey.json", '{"survey": {"id": "sleep-2026", "epsilon": 1.5}, "label": {"name": "rested"}}'),
        ("survey.toml", '\ufeff\n{\n  "survey": {"id": "sleep-2026",},  // comments\n}'),
        ("cut.json", '{"epsilon":"1","features":[{"kind":"cat'),
    ],
)
def test_json_that_is_no_plan_is_explained_with_the_command_that_makes_one(name, text, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    error = refuse(tmp_path / name, PEOPLE_PLANS.load)
    assert str(error).startswith(f"{name}: is JSON, but not a whole compiled plan: a survey file is TOML")
    assert "must be the plan that `ldp-survey compile SURVEY.toml -o PLAN.json` writes" in error.why
    assert "is JSON, and a survey file is TOML; `ldp-survey init` writes" in str(refuse(text))


SYNTAX = {
    "two features of one name": (
        GOOD + '[features.age]\nvalues = ["a", "b"]\n',
        20,
        "two entries have the same name",
    ),
    "a feature twice inline": (
        "[features]\na = {bins = 2}\na = {bins = 3}\n",
        3,
        "two entries have the same name",
    ),
    "an entry twice": (
        GOOD.replace("epsilon = 1.5", "epsilon = 1.5\nepsilon = 2"),
        4,
        "two entries have the same name",
    ),
    "broken string": (GOOD.replace('"sleep-2026"', '"sleep'), 2, "not valid TOML"),
    "no value": (GOOD.replace("1.5", ""), 3, "not valid TOML"),
    "prose": ("Dear survey,\n", 1, "not valid TOML"),
    "an unclosed list": (GOOD.replace('"old"]', '"old"'), 11, "not valid TOML"),
}


@pytest.mark.parametrize("name", SYNTAX)
def test_broken_toml_is_explained_with_its_line(name):
    text, line, words = SYNTAX[name]
    assert_explained(text, "", line, words)


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "x = 1" + "0" * 5000, "x = 1.5e99999999999999999999"])
def test_hostile_toml_is_refused_like_any_other(text):
    refuse(text)


DEEP_KEY = ".".join(["a"] * 20_000)


@pytest.mark.parametrize(
    "entry",
    [
        f"{DEEP_KEY} = 1",
        f"[{DEEP_KEY}]",
        f"[[{DEEP_KEY}]]",
        ".".join(["'a'", '"b"', "c"] * 7) + " = 1",
        f"x = {{b = 1, {DEEP_KEY} = 1}}",
        f'x = {{b = """"a""""", {DEEP_KEY} = 1}}',
        f"x = {{b = ''''a''''', {DEEP_KEY} = 1}}",
        "x = " + "{a = " * 21 + "1" + "}" * 21,
        "x = " + "[" * 21 + "]" * 21,
        "." * 20_000 + " = 1",
    ],
    ids=range(10),
)
def test_toml_that_is_nested_deeply_is_refused_with_its_line(entry):
    text = f'# [[[[\n[about]\ntitle = """\n{DEEP_KEY} = 1\n"""\npurpose = "{DEEP_KEY}"\n{entry}\n'
    assert_explained(text, "", 7, "a key has more than 20 parts")


def test_dots_and_brackets_in_texts_and_comments_do_not_count():
    texts = f'"{DEEP_KEY}", \'{"[" * 30}\', """\n{DEEP_KEY} = \\"""{DEEP_KEY}""", \'\'\'{"{" * 30}\'\'\''
    document = parse_toml(f"a = [{texts}] # {DEEP_KEY}\nb = {[0.5] * 30}\n")
    assert [len(each) for each in document["a"]] == [39_999, 30, 80_004, 30]


def test_the_lines_of_many_mistakes_are_found_in_one_pass(monkeypatch):
    read = []
    find_keys = toml_reader._keys
    monkeypatch.setattr(toml_reader, "_keys", lambda line: read.append(line) or find_keys(line))
    text = GOOD + "".join(f"[features.f{number}]\nvalues = [1]\nbins = 1\n" for number in range(50))
    error = refuse(text)
    assert len(error.problems) == 100
    assert len(read) <= text.count("\n")
    values = ", ".join(f'"{number}\u200b"' for number in range(50))
    error = refuse(GOOD.replace('"young", "old"', f"\n{values}\n"))
    assert {each.line for each in error.problems} == {11}


def test_a_line_of_blanks_in_a_list_does_not_delay_a_mistake():
    text = GOOD.replace('values = ["young"', f'values = [\n{" " * 20_000}\n"young"').replace("1.5", "-1")
    assert "line 3: survey.epsilon" in str(refuse(text))


@pytest.mark.parametrize(
    "text", ["", "\n# nothing\n", "[survey]\n", "survey = 1\nlabel = 2\nfeatures = 3\nmechanism = 4"]
)
def test_an_empty_survey_names_all_that_it_lacks(text):
    fields = {problem.field for problem in refuse(text).problems}
    assert {"survey.id", "survey.epsilon", "features"} <= fields


def test_error_lists_all_mistakes_in_the_order_of_the_file():
    text = (
        GOOD.replace("1.5", "0")
        .replace("[0, 10]", "[10, 0]")
        .replace('"OUE"', '"X"')
        .replace('"no"', '"yes"')
    )
    error = refuse(text)
    assert [(problem.field, problem.line) for problem in error.problems] == [
        ("survey.epsilon", 3),
        ("label.values", 7),
        ("features.hours.range", 14),
        ("mechanism.frequency", 19),
    ]
    assert str(error).splitlines() == [str(problem) for problem in error.problems]
    assert (error.field, error.line) == ("survey.epsilon", 3)
