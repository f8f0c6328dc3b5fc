"""Codes for missing answers in the rows of curators and of predictions."""

import csv
import io
import random
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from encoders.errors import RowError
from encoders.survey import read_survey
from encoders.survey.toml_reader import read_curator_survey
from ldp_aggregator import NaiveBayes, load_model
from ldp_central.curator_training import read_curator_rows
from tests.support.commands import command
from tests.support.surveys import survey_toml

AGE = {"range": [0, 60], "missing": "category"}
HOURS = {"range": [0, 24], "bins": 4}
FEATURES = {"age": AGE, "hours": HOURS, "tea": ["black", "green"]}


def make_survey(kind: str = "central", **codes: list[object]) -> str:
    features: dict[str, dict[str, object]] = {
        name: dict(each) if isinstance(each, dict) else {"values": each} for name, each in FEATURES.items()
    }
    for name, listed in codes.items():
        features[name]["missing_codes"] = listed
    return survey_toml(kind=kind, epsilon=None if kind == "central" else 4.0, features=features)


def draw_rows(count: int = 2000) -> list[dict[str, object]]:
    """Return rows of which a tenth have the code 999 in age, and a twentieth have -9 in hours."""
    draw = random.Random(1)
    rows: list[dict[str, object]] = []
    for number in range(count):
        label = draw.choice(("yes", "no"))
        age = 999 if number % 10 == 0 else draw.randrange(20, 40)
        hours = -9 if number % 20 == 1 else draw.randrange(24)
        rows.append(
            {"tired": label, "age": age, "hours": hours, "tea": "black" if label == "yes" else "green"}
        )
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rows(tmp_path / "rows.csv", draw_rows())
    (tmp_path / "plain.toml").write_text(make_survey())
    (tmp_path / "coded.toml").write_text(make_survey(age=[999], hours=[-9]))
    return tmp_path


def write_rows(path: Path, rows: list[dict[str, object]]) -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["tired", "age", "hours", "tea"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue())
    return path


def train(folder: Path, survey: str, *options: object):
    files = [
        folder / survey,
        folder / "rows.csv",
        "-o",
        folder / "m.json",
        "--learner",
        "nb",
        "--epsilon",
        "4",
    ]
    return command("ldp-central", "train", *files, *options, check=False)


def test_a_curator_reads_codes_as_missing_and_leaves_rows_out(folder):
    coded = read_curator_rows(read_curator_survey(make_survey(age=[999], hours=[-9])), folder / "rows.csv")
    meant = [
        row | {"age": "" if row["age"] == 999 else row["age"]} for row in draw_rows() if row["hours"] != -9
    ]
    path = write_rows(folder / "meant.csv", meant)
    plain = read_curator_rows(read_curator_survey(make_survey()), path)
    np.testing.assert_array_equal(coded.rows.codes, plain.rows.codes)
    np.testing.assert_array_equal(coded.rows.labels, plain.rows.labels)
    assert coded.notes == ("100 of 2,000 rows are left out, because they contain a missing code.",)
    assert plain.notes == ()
    assert coded.plan == plain.plan


@pytest.mark.slow
def test_the_terminal_alone_shows_what_may_be_a_code(folder):
    code = "98765"
    (folder / "rows.csv").write_text((folder / "rows.csv").read_text().replace("999", code))
    result = train(folder, "plain.toml", "--csv", folder / "estimates.csv")
    assert result.exit_code == 0, result.stderr
    lines = result.stderr.splitlines()
    assert lines[0].startswith(
        f"age: 200 of 2,000 cells are outside of 0 to 60, and are clipped. 200 of them are {code}: if this "
        "stands for a missing answer, list it in missing_codes of the survey"
    )
    assert lines[1].startswith("hours: 100 of 2,000 cells are outside of 0 to 24, and are clipped. 100 of ")
    written = {each.name for each in folder.iterdir()} - {"rows.csv", "coded.toml", "plain.toml"}
    assert {"m.json", "estimates.csv", "rows.csv.ledger"} <= written
    texts = [(folder / each).read_text() for each in written] + [result.stdout]
    # Decimals of noisy numbers and digests may contain the code's digits, so only a whole number counts.
    shown = re.compile(rf"(?<![\w.]){code}(?!\w)|clipped|outside")
    assert [shown.findall(text) for text in texts] == [[]] * len(texts)


@pytest.mark.slow
def test_codes_are_part_of_what_the_ledger_records(folder):
    assert train(folder, "plain.toml").exit_code == 0
    again = train(folder, "plain.toml")
    assert "This training was finished before" in again.stderr
    first = (folder / "m.json").read_bytes()
    result = train(folder, "coded.toml", "--cap", "8")
    assert "finished before" not in result.stderr
    assert "epsilon 8 of 8" in result.stdout
    assert (folder / "m.json").read_bytes() != first
    assert b"missing_codes" not in (folder / "m.json").read_bytes()
    assert "100 of 2,000 rows are left out" in result.stderr


@pytest.mark.parametrize("changes", [{"hours": -9}, {"hours": -9, "age": 999}])
def test_rows_of_codes_alone_spend_nothing(folder, changes):
    write_rows(folder / "rows.csv", [row | changes for row in draw_rows(50)])
    result = train(folder, "coded.toml")
    assert result.exit_code == 1
    assert "hours: all rows contain a missing code: check the codes" in result.stderr
    assert not list(folder.glob("*.ledger"))
    assert not (folder / "m.json").exists()


def test_a_column_of_codes_alone_is_missing(folder):
    write_rows(folder / "rows.csv", [row | {"age": 999} for row in draw_rows(50)])
    rows = read_curator_rows(read_curator_survey(make_survey(age=[999], hours=[-9])), folder / "rows.csv")
    age = rows.plan.features[0]
    assert set(rows.rows.codes[:, 0].tolist()) == {age.size - 1}


def test_errors_number_the_rows_of_the_file(folder):
    rows = draw_rows(50)
    rows[30]["tea"] = "secret"
    write_rows(folder / "rows.csv", rows)
    with pytest.raises(RowError, match=r"tea: row 31: is not one of the survey's values") as caught:
        read_curator_rows(read_curator_survey(make_survey(hours=[-9])), folder / "rows.csv")
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_predictions_stay_in_line_with_the_rows(folder):
    assert train(folder, "coded.toml").exit_code == 0
    options = ["--missing-codes", "age=999", "--missing-codes", "hours=-9"]
    result = command("ldp-predict", folder / "m.json", folder / "rows.csv", *options)
    head, *lines = csv.reader(io.StringIO(result.stdout))
    assert head == ["tired", "P(no)", "P(yes)"]
    rows = draw_rows()
    assert [number for number, line in enumerate(lines) if line == ["", "", ""]] == list(range(1, 2000, 20))
    model = load_model(folder / "m.json")
    kept = [row | {"age": None if row["age"] == 999 else row["age"]} for row in rows if row["hours"] != -9]
    shown = np.array([[float(each) for each in line[1:]] for line in lines if line[0]])
    np.testing.assert_allclose(shown, model.predict_proba(kept), rtol=1e-5)
    assert result.stderr.endswith("100 of 2,000 rows are left out, because they contain a missing code.\n")
    without = command("ldp-predict", folder / "m.json", folder / "rows.csv")
    assert "200 of them are 999: if this stands for a missing answer" in without.stderr
    assert "" not in [line[0] for line in csv.reader(io.StringIO(without.stdout))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("hours", "--missing-codes needs FEATURE=CODE"),
        ("sleep=-9", "sleep: is no feature, so it has no missing codes; known: age, hours, tea"),
        ("hours=12", "hours: the missing code 12 is in the range"),
        ("hours=-9", "hours: all rows contain a missing code"),
    ],
)
def test_prediction_with_wrong_codes_writes_nothing(folder, option, why):
    assert train(folder, "coded.toml").exit_code == 0
    write_rows(folder / "rows.csv", [row | {"hours": -9} for row in draw_rows(20)])
    output = folder / "out.csv"
    result = command(
        "ldp-predict",
        folder / "m.json",
        folder / "rows.csv",
        "--missing-codes",
        option,
        "-o",
        output,
        check=False,
    )
    assert result.exit_code == 1
    assert why in result.stderr
    assert not output.exists()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dicts", "frame"])
def test_fit_and_predict_obey_the_survey(form, caplog, recwarn):
    survey = read_survey(make_survey("local", age=[999], hours=[-9], tea=["NA"]))
    rows = draw_rows(600)
    rows[7]["tea"] = "NA"
    kept = [row for row in rows if row["hours"] != -9 and row["tea"] != "NA"]
    meant = [row | {"age": None if row["age"] == 999 else row["age"]} for row in kept]
    models = []
    for each in (rows, meant):
        labels = [row["tired"] for row in each]
        models.append(NaiveBayes(survey=survey, random_state=0).fit(to_form(form, each), labels))
    coded, plain = models
    assert coded.estimates_.as_dict() == plain.estimates_.as_dict()
    table = to_form(form, kept)
    np.testing.assert_array_equal(coded.predict_proba(table), plain.predict_proba(to_form(form, meant)))
    np.testing.assert_array_equal(coded.predict(table), plain.predict(to_form(form, meant)))
    with pytest.raises(RowError, match=r"hours: (row 2|index 1): is missing"):
        coded.predict(to_form(form, rows))
    ignoring = coded.set_params(handle_unknown="ignore")
    assert len(ignoring.predict(to_form(form, rows))) == 600
    assert not caplog.text
    assert not recwarn


def to_form(form: str, rows: list[dict[str, object]]) -> object:
    if form == "frame":
        return pd.DataFrame(rows)
    return rows


def test_a_fit_without_rows_is_refused():
    survey = read_survey(make_survey("local", hours=[-9]))
    rows = [row | {"hours": -9} for row in draw_rows(10)]
    with pytest.raises(RowError, match="hours: all rows contain a missing code"):
        NaiveBayes(survey=survey).fit(rows, [row["tired"] for row in rows])
