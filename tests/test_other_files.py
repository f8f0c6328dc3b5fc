"""A file of another kind, at every command that takes one: what it looks like, and nothing is written."""

import gzip
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from encoders.file_kind import describe_other
from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.classifiers.stored_model import load_model
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import save_results
from ldp_aggregator.simulated_population import simulate_reports
from tests.support.commands import command
from tests.support.surveys import survey_toml

RAW = "s3cret"
"""A cell of the files, which no message may contain."""
LOOKS = {
    "survey.toml": "a survey file (TOML): ldp-survey check and compile read it",
    "settings.toml": "a TOML file without [survey]: ldp-collector serve --config",
    "plan.json": "a compiled plan: ldp-collector serve reads it",
    "silo.json": "a compiled plan",
    "texts.json": "the texts of a plan",
    "model.json": "a model file: ldp-predict and ldp-results read it",
    "snapshot.json": "a snapshot: ldp-train and ldp-results read it",
    "ledger.json": "a ledger: ldp-central status",
    "rows.csv": "a CSV file: ldp-predict and ldp-simulate read it",
    "reports": "an archive of reports: ldp-train --plan reads it",
    "rows.csv.gz": "a gzip file",
    "rows.zip": "a zip file: unpack it",
    "book.xlsx": "an Excel file: ldp-survey init --from",
    "ldp.db": "a database",
    "key.pem": "a key or certificate (PEM)",
    "page.html": "a web page",
    "binary": "binary data",
    "empty": "",
    "folder": "",
}
SURVEYS = {"survey.toml", "settings.toml"}  # TOML without [survey] is a survey with mistakes
JOURNALS = {"ldp.db", "empty", "reports", "binary", "rows.csv.gz"}  # may be journals that were damaged
PLANS = SURVEYS | {"plan.json", "silo.json"}
ROWS = {"rows.csv", "empty"}  # an empty file has no header
TRAINS = {"snapshot.json", "model.json"}
COMMANDS: dict[str, tuple[str, set[str]]] = {
    "a training": ("ldp-train FILE -o out", {"snapshot.json", "reports", "rows.csv.gz"}),
    "its plan": ("ldp-train snapshot.json --plan FILE -o out", PLANS),
    "its archive": ("ldp-train FILE --plan survey.toml -o out", {"snapshot.json", "reports"}),
    "its audit": ("ldp-train snapshot.json --audit FILE -o out", set()),
    "a model": ("ldp-predict FILE rows.csv -o out", {"model.json"}),
    "rows to predict": ("ldp-predict model.json FILE -o out", ROWS),
    "results": ("ldp-results FILE -o out", TRAINS),
    "compared results": ("ldp-results model.json FILE -o out", TRAINS),
    "check": ("ldp-survey check FILE", PLANS),
    "compile": ("ldp-survey compile FILE -o out", PLANS),
    "init": ("ldp-survey init --from FILE -o out", ROWS | {"book.xlsx"}),
    "size": ("ldp-survey size FILE", SURVEYS),
    "pilot": ("ldp-survey size survey.toml --pilot FILE", TRAINS),
    "dossier": ("ldp-survey dossier FILE -o out", SURVEYS),
    "preview": ("ldp-survey preview FILE --csv rows.csv", PLANS),
    "row": ("ldp-survey preview survey.toml --row FILE", {each for each in LOOKS if each.endswith(".json")}),
    "rows to preview": ("ldp-survey preview survey.toml --csv FILE", ROWS),
    "page": ("ldp-survey page FILE --collector https://ldp.example -o out", PLANS),
    "author's key": ("ldp-survey sign plan.json --key FILE -o out", {"key.pem"}),
    "simulate": ("ldp-simulate FILE rows.csv", SURVEYS),
    "rows to simulate": ("ldp-simulate survey.toml FILE", ROWS),
    "compare": ("ldp-compare FILE rows.csv", SURVEYS),
    "rows to compare": ("ldp-compare survey.toml FILE", ROWS),
    "central": ("ldp-central train FILE rows.csv --epsilon 1 -o out", SURVEYS),
    "central rows": ("ldp-central train survey.toml FILE --epsilon 1 -o out", ROWS),
    "merge": ("ldp-collector merge FILE snapshot.json -o out", {"snapshot.json"}),
    "serve": ("ldp-collector serve FILE --store memory://", PLANS),
    "settings": ("ldp-collector serve survey.toml --config FILE", {"settings.toml", "survey.toml", "empty"}),
    "store": ("ldp-collector export tea --store sqlite:///FILE -o out", {"ldp.db", "empty"}),
    "audit": ("ldp-audit FILE", PLANS),
    "relay": ("ldp-relay status FILE", {"settings.toml", "survey.toml", "empty"}),
    "journal": ("ldp-client status --journal FILE", JOURNALS),
    "silo's journal": (
        "ldp-silo status --journal FILE",
        {"ldp.db", "empty", "reports", "binary", "rows.csv.gz"},
    ),
}
"""A command for each file that it takes, and the kinds that it reads or that have an error of their own."""


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    text = survey_toml(about={"title": RAW})
    plan = read_survey(text).compile()
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (500, 2))
    snapshot = simulate_reports(plan, codes, rng.integers(0, 2, 500), FastStream(1))
    save_results(folder / "model.json", make_results(snapshot))
    assert plan.texts is not None
    rows = f"tea,hours,tired\n{RAW},3,yes\ngreen,,no\n"
    contents: dict[str, str | bytes] = {
        "survey.toml": text,
        "settings.toml": f'[server]\nname = "{RAW}"\n',
        "plan.json": plan.json,
        "silo.json": b'{"epsilon":"1","format":1,"id":"tea","kind":"silo"}',
        "texts.json": plan.texts.json,
        "snapshot.json": snapshot.to_json(),
        "ledger.json": '{"format": "ldp-bayes central ledger"}',
        "rows.csv": rows,
        "reports": b"\x95\x01\xc4\x20" + bytes(100),
        "rows.csv.gz": gzip.compress(rows.encode()),
        "key.pem": f"-----BEGIN PRIVATE KEY-----\n{RAW}\n-----END PRIVATE KEY-----\n",
        "page.html": f"\n<!DOCTYPE html><title>{RAW}</title>",
        "binary": bytes(range(256)),
        "empty": "",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    for name, member in (("rows.zip", "rows.csv"), ("book.xlsx", "xl/workbook.xml")):
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr(member, RAW)
    with sqlite3.connect(folder / "ldp.db") as connection:
        connection.execute("CREATE TABLE other (cell TEXT)")
    connection.close()
    (folder / "folder").mkdir()
    return folder


@pytest.fixture
def files(originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for each in originals.iterdir():
        if each.is_dir():
            (tmp_path / each.name).mkdir()
        else:
            (tmp_path / each.name).write_bytes(each.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


@pytest.mark.parametrize("name", LOOKS)
def test_every_kind_of_file_is_recognised(originals, name):
    found = describe_other(originals / name)
    expected = {"empty": "; the file is empty", "folder": ""}
    assert (
        found == expected[name]
        if name in expected
        else found.startswith(f"; the file looks like {LOOKS[name]}")
    )
    if name != "folder":
        assert describe_other(b"\xef\xbb\xbf" + (originals / name).read_bytes()) == found


@pytest.mark.slow
@pytest.mark.parametrize("what", COMMANDS)
def test_a_file_of_another_kind_is_described_and_nothing_is_written(files, what):
    line, reads = COMMANDS[what]
    before = contents(files)
    for name in LOOKS.keys() - reads:
        result = command(*(each.replace("FILE", name) for each in line.split()), check=False)
        message = result.stderr + result.stdout
        assert result.exit_code in (1, 2), (what, name, message)
        assert RAW not in message
        assert contents(files) == before, (what, name)
        expected = {"empty": "is empty", "folder": ""}.get(name, f"the file looks like {LOOKS[name]}")
        assert expected in " ".join(message.split()), (what, name, message)


def test_a_database_of_another_program_is_not_changed(files):
    before = contents(files)
    for line in (
        "ldp-collector serve survey.toml --store sqlite:///ldp.db",
        "ldp-client status --journal ldp.db",
    ):
        assert command(*line.split(), check=False).exit_code == 1
        assert contents(files) == before


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("name\nAnn\nBob\n", "a text file"),
        ("a;b\n1;2\n", "a CSV file"),
        ("# survey\r\n\r\n[survey]\r\nid = 'a'\r\n", "a survey file"),
        ("BMI=kg/m2,age\n1,2\n", "a CSV file"),
        ("Dear all,\nthis is it\n", "a text file"),
        ('{"a": 1}', "a JSON file"),
        (" \n" * 50_000 + "x", "a text file"),
        ("#\n" * 50_000 + "x", "a text file"),
        ("[" * 50_000, "a text file"),
    ],
)
def test_texts_are_told_apart_in_linear_time(text, kind):
    assert describe_other(text.encode()).startswith(f"; the file looks like {kind}")


@pytest.mark.parametrize("name", ["rows.csv", "survey.toml", "plan.json", "empty"])
def test_load_model_says_what_a_file_looks_like(files, name):
    looks = "is empty" if name == "empty" else f"looks like {LOOKS[name]}"
    with pytest.raises(Exception, match="; the file ") as caught:
        load_model(name)
    assert looks in str(caught.value)
