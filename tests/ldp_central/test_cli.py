"""ldp-central on the command line."""

import datetime
import hashlib
import json
import stat
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from ldp_aggregator import load_model
from ldp_aggregator.rows.table_input import read_typed_columns
from ldp_aggregator.wording.values import format_amount
from ldp_central import curator_training, solver
from ldp_central.curator_ledger import Ledger
from tests.support.central_surveys import HEADER, make_csv, survey_text
from tests.support.commands import command

ROWS = make_csv()


REPEATED = "This training was finished before, so its model is written again, and nothing more is spent."


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "survey.toml").write_text(survey_text())
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


@pytest.fixture
def run(folder):
    def run(*arguments, epsilon=1, output: str = "model.json"):
        files = (folder / "survey.toml", folder / "rows.csv")
        options = ("--epsilon", epsilon, *arguments, "-o", folder / output)
        return command("ldp-central", "train", *files, *options, check=False)

    return run


def read_ledger(folder: Path, name: str = "rows.csv") -> Ledger:
    return Ledger.parse((folder / f"{name}.ledger").read_bytes())


def assert_nothing_spent(folder: Path) -> None:
    assert not (folder / "rows.csv.ledger").exists()
    assert not (folder / "model.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["auto", "nb", "linear", "tree"])
def test_a_model_of_each_learner_predicts_rows(run, folder, learner):
    result = run("--learner", learner)
    assert result.exit_code == 0, result.output
    delta = format_amount(read_ledger(folder).spent_delta)
    assert (delta == "0") == (learner in ("nb", "tree"))
    spent = f"epsilon 1 of 1 and delta {delta} of 1e-9 are spent (rows.csv.ledger)"
    assert result.stdout == f"wrote {folder}/model.json; {spent}\n"
    model = load_model(folder / "model.json")
    columns = read_typed_columns(folder / "rows.csv", model.plan_.entries)
    assert model.score(columns, columns["tired"]) > 0.85  # always "no" has .6
    found = command("ldp-predict", folder / "model.json", folder / "rows.csv")
    assert found.stdout.splitlines()[0] == "tired,P(no),P(yes)"
    assert len(found.stdout.splitlines()) == 2001


def test_the_same_command_writes_the_same_model_and_spends_nothing(run, folder):
    assert run("--learner", "tree").exit_code == 0
    assert run("--learner", "tree", output="again.json").exit_code == 0
    assert (folder / "again.json").read_bytes() == (folder / "model.json").read_bytes()
    assert read_ledger(folder).spent == 1


@pytest.mark.slow
def test_another_command_needs_more_than_the_cap(run, folder):
    assert run("--learner", "tree").exit_code == 0
    refused = run("--learner", "nb", output="other.json")
    assert refused.exit_code == 1
    assert "epsilon 1 of 1 is spent, and this training would spend 1 more" in refused.stderr
    assert not (folder / "other.json").exists()
    assert run("--learner", "nb", "--cap", 2, output="other.json").exit_code == 0
    assert read_ledger(folder).spent == 2


def test_ledger_and_model_are_for_their_owner_only(run, folder):
    run()
    for name in ("rows.csv.ledger", "model.json"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_a_name_names_the_ledger(run, folder):
    run("--name", "people")
    assert read_ledger(folder, "people").name == "people"
    assert not (folder / "rows.csv.ledger").exists()


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["nb", "linear", "tree"])
@pytest.mark.parametrize("users", ["users = 2000\n", ""])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_the_model_names_what_it_spent(run, folder, learner, users, adjacency):
    (folder / "survey.toml").write_text(survey_text().replace("users = 2000\n", users))
    assert run("--learner", learner, "--adjacency", adjacency, epsilon="0.7").exit_code == 0
    privacy = load_model(folder / "model.json").privacy_.curator
    assert privacy.adjacency == adjacency
    assert privacy.epsilon == Fraction(7, 10)
    assert sum(step.epsilon for step in privacy.steps) == Fraction(7, 10)
    assert sum(step.delta for step in privacy.steps) == privacy.delta
    assert privacy.delta <= read_ledger(folder).spent_delta < Fraction(1, 10**30)
    assert (privacy.steps[0].step == "number of rows") == (not users)
    assert privacy.are_rows_public == bool(users)


@pytest.mark.slow
def test_a_delta_is_spent_by_naive_bayes(run, folder):
    assert run("--learner", "nb", "--delta", "1e-6").exit_code == 0
    assert load_model(folder / "model.json").privacy_.curator.delta == Fraction(1, 10**6)
    assert read_ledger(folder).spent_delta == Fraction(1, 10**6)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["nb", "linear", "tree"])
def test_the_model_has_no_digest_count_or_time_of_the_rows(run, folder, learner):
    (folder / "rows.csv").write_text(make_csv(1983))
    assert run("--learner", learner).exit_code == 0
    text = (folder / "model.json").read_text()
    document = json.loads(text)
    expected = {
        "build",
        "format",
        "version",
        "plan",
        "plan_digest",
        "privacy",
        "estimates",
        "classifier",
        "usefulness",
    }
    expected |= {"estimates", "classifier", "usefulness", "checksum"}
    assert document.keys() == expected
    assert "1983" not in json.dumps(document["privacy"])
    entry = read_ledger(folder).entries[0]
    assert not any(digest in text for digest in (*entry.request.rows, entry.date))
    assert entry.request.command not in text


BAD_ROWS = {
    "outside": (f"{HEADER}\n1,green,5,3,yes\n2,mate,5,3,no\n", "tea: row 2"),
    "number": (f"{HEADER}\n1,green,five,3,yes\n", "hours: row 1"),
    "missing number": (f"{HEADER}\n1,green,,3,yes\n", "hours: row 1"),
    "label": (f"{HEADER}\n1,green,5,3,yes\n2,green,5,3,perhaps\n", "tired: row 2"),
    "missing label": (f"{HEADER}\n1,green,5,3,yes\n2,green,5,3,\n", "tired: row 2"),
    "no label": ("id,tea,hours,cups\n1,green,5,3\n", "tired: the table has no such column"),
    "no feature": ("id,tea,cups,tired\n1,green,3,yes\n", "hours: the table has no such column"),
    "no rows": (f"{HEADER}\n", "there are no rows"),
    "nothing": ("", "the first line must name the columns"),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_bad_rows_are_refused_before_anything_is_spent(run, folder, kind):
    text, message = BAD_ROWS[kind]
    (folder / "rows.csv").write_text(text)
    result = run()
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr
    assert "do not publish it" in result.stderr
    assert "mate" not in result.stderr
    assert_nothing_spent(folder)


@pytest.mark.parametrize(
    "epsilon", ["0", "-1", "nan", "inf", "1e400", "", "one", "0.0", "1/0", "1001", ".", ".e-1"]
)
def test_an_invalid_epsilon_is_refused(run, folder, epsilon):
    result = run(epsilon=epsilon)
    assert result.exit_code == 2
    assert "is not a number from 1e-06 to 1000" in result.stderr
    assert_nothing_spent(folder)


@pytest.mark.parametrize("epsilon", [".5", "0.50", "+.5", "5e-1", "5.E-1", "0.005E+2"])
def test_every_spelling_of_an_epsilon_is_the_same_training(run, folder, epsilon):
    assert run("--learner", "tree", epsilon="0.5").exit_code == 0
    assert run("--learner", "tree", epsilon=epsilon, output="again.json").exit_code == 0
    assert (folder / "again.json").read_bytes() == (folder / "model.json").read_bytes()
    assert read_ledger(folder).spent == Fraction(1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["auto", "linear"])
@pytest.mark.parametrize("options", [(), ("--adjacency", "replace"), ("--rows-per-person", 10)])
def test_an_epsilon_whose_delta_is_not_negligible_is_refused(run, folder, learner, options):
    for epsilon in (600, 1000):
        result = run("--learner", learner, *options, epsilon=epsilon)
        assert result.exit_code == 1
        assert "epsilon is too large for a" in result.stderr
    assert_nothing_spent(folder)
    assert run("--learner", "tree", *options, epsilon=1000).exit_code == 0
    assert read_ledger(folder).spent_delta == 0
    assert r"1.98e\+434" in load_model(folder / "model.json").card()


@pytest.mark.parametrize("delta", ["nan", "1", "-1e-6", "1e-999"])
def test_an_invalid_delta_is_refused(run, folder, delta):
    assert run("--learner", "nb", "--delta", delta).exit_code in (1, 2)
    assert_nothing_spent(folder)


@pytest.mark.parametrize(("delta", "epsilon"), [("1e-999", 1), ("1e-300", "1e-6")])
def test_a_delta_that_is_too_small_is_refused_with_the_option_and_the_fix(run, folder, delta, epsilon):
    refused = run("--learner", "nb", "--delta", delta, epsilon=epsilon)
    assert refused.exit_code == 1
    assert "give a larger --delta, or leave it out, which gives Laplace noise" in refused.stderr
    assert_nothing_spent(folder)


@pytest.mark.parametrize("learner", ["auto", "linear", "tree"])
def test_a_delta_that_a_learner_would_not_use_is_refused(run, folder, learner):
    refused = run("--learner", learner, "--delta", "1e-6")
    assert refused.exit_code == 1
    assert "--delta is only for --learner nb" in refused.stderr
    assert_nothing_spent(folder)


@pytest.mark.slow
def test_deltas_add_up_to_a_total_that_is_printed(run, folder):
    options = ("--learner", "nb", "--delta", "1e-6", "--cap", 9)
    assert "delta 1e-6 of 1e-6 are spent" in run(*options).stdout
    refused = run(*options, epsilon=2, output="second.json")
    assert refused.exit_code == 1
    assert "delta 1e-6 of 1e-6 is spent, and this training would spend 1e-6 more" in refused.stderr
    assert read_ledger(folder).spent == 1
    allowed = run(*options, "--cap-delta", "2e-6", epsilon=2, output="second.json")
    assert "epsilon 3 of 9 and delta 2e-6 of 2e-6 are spent" in allowed.stdout


def test_a_cap_of_zero_delta_refuses_a_linear_model(run, folder):
    refused = run("--learner", "linear", "--cap-delta", 0)
    assert refused.exit_code == 1
    assert "a larger --cap-delta weakens the promise" in refused.stderr
    assert_nothing_spent(folder)
    assert "delta 0 of 0 are spent" in run("--learner", "tree", "--cap-delta", 0).stdout


def test_linear_models_after_a_tree_need_no_statement_of_delta(run, folder):
    assert run("--learner", "tree", "--cap", 2).exit_code == 0
    assert run("--learner", "linear", output="second.json").exit_code == 0
    assert read_ledger(folder).delta_cap == Fraction(1, 10**9)


@pytest.mark.parametrize("labels", ["yes", "no"])
@pytest.mark.parametrize("learner", ["nb", "linear", "tree"])
def test_rows_of_one_class_are_trained_because_a_refusal_would_reveal_them(run, folder, labels, learner):
    other = {"yes": "no", "no": "yes"}[labels]
    (folder / "rows.csv").write_text(ROWS.replace(f",{other}\n", f",{labels}\n"))
    result = run("--learner", learner)
    assert result.exit_code == 0, result.output
    assert labels not in result.output.replace(str(folder), "")


def test_a_survey_with_one_label_is_refused(run, folder):
    (folder / "survey.toml").write_text(survey_text().replace('["yes", "no"]', '["yes"]'))
    assert run().exit_code == 1
    assert_nothing_spent(folder)


@pytest.mark.parametrize("names", [["7"], [" 7 "], ["caf\u00e9", "cafe\u0301"]])
def test_more_rows_of_a_person_than_stated_are_refused(run, folder, names):
    twice = ROWS + "".join(f"{name},green,5,3,yes\n" for name in names)
    (folder / "rows.csv").write_text(twice)
    refused = run("--person", "id")
    assert refused.exit_code == 1
    assert f"id: row {2000 + len(names)}: its person has more than 1 row:" in refused.stderr
    assert_nothing_spent(folder)
    assert run("--person", "id", "--rows-per-person", 2).exit_code == 0
    privacy = load_model(folder / "model.json").privacy_.curator
    assert (privacy.rows_per_person, privacy.epsilon) == (2, 1)


def test_a_row_of_nobody_and_an_unknown_column_of_people_are_refused(run, folder):
    assert "there is no column 'who'" in run("--person", "who").stderr
    (folder / "rows.csv").write_text(f"{HEADER}\n,green,5,3,yes\n")
    assert "id: row 1: the cell is empty" in run("--person", "id").stderr
    assert_nothing_spent(folder)


def test_a_solver_that_does_not_converge_releases_nothing_and_stays_spent(run, folder, monkeypatch):
    monkeypatch.setattr(solver, "_MAX_STEPS", 1)
    result = run("--learner", "linear")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "did not converge" in result.stderr
    assert "do not publish it, nor that the training failed" in result.stderr
    assert not (folder / "model.json").exists()
    assert read_ledger(folder).spent == 1


def test_a_damaged_ledger_is_refused(run, folder):
    run()
    ledger = folder / "rows.csv.ledger"
    damaged = ledger.read_bytes()[:-9]
    ledger.write_bytes(damaged)
    result = run("--cap", 9, output="second.json")
    assert result.exit_code == 1
    assert "the ledger is damaged" in result.stderr
    assert ledger.read_bytes() == damaged
    assert not (folder / "second.json").exists()


@pytest.mark.slow
def test_other_rows_under_the_same_name_are_refused(run, folder):
    run()
    (folder / "rows.csv").write_text(make_csv(seed=2))
    result = run("--cap", 9, output="second.json")
    assert result.exit_code == 1
    assert "is the ledger of other rows" in result.stderr
    assert run("--cap", 9, "--rows-changed").exit_code == 0
    assert read_ledger(folder).spent == 2


def swap_columns(text: str) -> str:
    return "".join(f"{line.partition(',')[2]},{line.partition(',')[0]}\n" for line in text.splitlines())


SAME_ROWS: dict[str, Callable[[str], str]] = {
    "a blank line": lambda text: text + "\n",
    "line ends": lambda text: text.replace("\n", "\r\n"),
    "a byte order mark": lambda text: "\ufeff" + text,
    "quotes": lambda text: text.replace("black", '"black"'),
    "order of rows": lambda text: "\n".join([HEADER, *reversed(text.splitlines()[1:])]),
    "order of columns": swap_columns,
    "decomposed letters": lambda text: text.replace("\xe9", "e\u0301"),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", SAME_ROWS)
def test_the_same_rows_in_another_form_are_the_same_training(run, folder, change):
    text = ROWS.replace("\n7,", "\nJos\xe9,")  # in a column that no learner uses
    (folder / "rows.csv").write_text(text)
    assert run("--learner", "tree").exit_code == 0
    before = read_ledger(folder)
    changed = SAME_ROWS[change](text)
    assert changed != text
    (folder / "rows.csv").write_bytes(changed.encode())
    again = run("--learner", "tree", output="again.json")
    assert again.exit_code == 0, again.output
    assert again.stderr == REPEATED + " The rows are the same, in another order or form.\n"
    assert (folder / "again.json").read_bytes() == (folder / "model.json").read_bytes()
    assert read_ledger(folder) == before
    assert "epsilon 1 of 1 is spent" in run("--learner", "nb", output="other.json").stderr
    (folder / "rows.csv").rename(folder / "copy.csv")
    (folder / "rows.csv").symlink_to(folder / "copy.csv")
    assert "the same rows have the ledger rows.csv.ledger" in run().stderr


def test_rows_that_differ_have_different_digests():
    tables = [
        {"a": ["1", "2"], "b": ["x", ""]},
        {"a": ["2", "1"], "b": ["x", ""]},
        {"a": ["1", "2"], "b": ["", "x"]},
        {"a": ["1", "2", "2"], "b": ["x", "", ""]},
        {"a": ["1", "2"], "c": ["x", ""]},
        {"b": ["1", "2"], "a": ["x", ""]},
        {"a": ["1x", "2"], "b": ["", ""]},
        {"a": ["1", "2"]},
        {"a": ["1", "2"], "b": ["\uff58", ""]},
    ]
    digests = [curator_training.digest_rows(table) for table in tables]
    assert len(set(digests)) == len(tables) - 1
    assert digests[1] == digests[2]  # the same two rows


def test_a_file_with_two_hard_links_is_refused(run, folder):
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "rows.csv").hardlink_to(folder / "rows.csv")
    refused = run()
    assert refused.exit_code == 1
    assert "the file has several hard links, and its ledger may be beside another one" in refused.stderr
    assert_nothing_spent(folder)


def show_status(folder: Path, *arguments: str):
    return command("ldp-central", "status", folder / "rows.csv", *arguments, check=False)


@pytest.mark.slow
def test_status_lists_the_trainings_and_changes_nothing(run, folder, monkeypatch):
    assert run("--learner", "nb", "--delta", "1e-6", "--cap", 9, "--name", "people").exit_code == 0
    options = ("--cap-delta", "2e-6", "--name", "people")
    monkeypatch.setattr(solver, "_MAX_STEPS", 1)
    assert run("--learner", "linear", *options, epsilon="0.5").exit_code == 1
    delta = format_amount(read_ledger(folder, "people").entries[1].request.delta)
    ledger, lock = folder / "people.ledger", folder / "people.ledger.lock"
    lock.unlink()
    ledger.chmod(0o400)
    (folder / "rows.csv").unlink()  # the ledger may outlive the rows
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    result = show_status(folder, "--name", "people")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        f"{ledger}: adjacency add-remove, rows per person at most 1",
        "epsilon 1.5 of 9 and delta 1e-6 of 2e-6 are spent",
        "",
    ]
    today = read_ledger(folder, "people").entries[0].date
    assert datetime.date.fromisoformat(today)
    assert [line.split() for line in lines[4:]] == [
        [today, "nb", "1", "1e-6", "yes", "no"],
        [today, "unknown", "0.5", delta, "no", "no"],
    ]
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


def test_status_without_a_ledger_is_one_sentence(folder):
    result = show_status(folder)
    assert (result.exit_code, result.stdout) == (1, "")
    path = folder / "rows.csv.ledger"
    assert result.stderr == f"Error: there is no ledger {path}. Ledgers in this folder: none\n"
    assert {path.name for path in folder.iterdir()} == {"rows.csv", "survey.toml"}
    (folder / "b.ledger").touch()
    (folder / "a.ledger").touch()
    assert "folder: a.ledger, b.ledger; --name NAME chooses NAME.ledger\n" in show_status(folder).stderr
    (folder / "rows.csv.ledger.lock").write_text("The ledger exists.\n")
    assert "the ledger is lost" in show_status(folder).stderr


def test_a_repeated_training_says_so_and_ignores_a_new_total(run, folder):
    assert run("--learner", "tree").stderr == ""
    assert run("--learner", "tree", "--cap", "1").stderr == f"{REPEATED}\n"
    for option, total in (("--cap", "5"), ("--cap-delta", "1e-5")):
        again = run("--learner", "tree", option, total)
        assert again.stderr.startswith(f"{REPEATED} --cap and --cap-delta are ignored")
        assert "epsilon 1 of 1 and delta 0 of 1e-9 are spent" in again.stdout


@pytest.mark.slow
def test_status_states_before_which_trainings_rows_were_edited(run, folder):
    for learner, row in (("tree", ""), ("nb", ROWS.splitlines()[-1] + "\n"), ("linear", "")):
        (folder / "rows.csv").write_text((folder / "rows.csv").read_text() + row)
        assert run("--learner", learner, "--cap", "9", "--rows-changed").exit_code == 0
    lines = show_status(folder).stdout.splitlines()
    assert [line.split()[-1] for line in lines[-3:]] == ["no", "yes", "no"]


def test_a_wrong_kind_is_the_only_mistake(run, folder):
    (folder / "survey.toml").write_text('[survey]\nid = "x"\nkind = "centre"\n')
    result = run()
    assert result.stderr.count("line") == 1
    assert 'survey.kind: must be "local" (the default), "silo" or "central"' in result.stderr


def test_status_of_a_loop_of_symbolic_links_is_an_error(folder):
    (folder / "rows.csv").unlink()
    (folder / "rows.csv").symlink_to("loop.csv")
    (folder / "loop.csv").symlink_to("rows.csv")
    result = show_status(folder)
    assert (result.exit_code, type(result.exception)) == (1, SystemExit)


def test_status_of_a_damaged_ledger_is_refused(run, folder):
    assert run("--learner", "tree").exit_code == 0
    (folder / "rows.csv.ledger").write_bytes(b"{")
    assert "the ledger is damaged" in show_status(folder).stderr


def test_the_output_is_neither_an_input_nor_the_ledger(run, folder):
    names = ["rows.csv", "survey.toml", "rows.csv.ledger", "rows.csv.ledger.lock"]
    names += ["other.ledger", "other.ledger.lock", "OTHER.Ledger"]
    (folder / "link.csv").hardlink_to(folder / "rows.csv")
    for name in [*names, "link.csv"]:
        assert run(output=name).exit_code == 2
        assert run("--learner", "nb", "--csv", folder / name).exit_code == 2
    assert run("--learner", "nb", "--csv", folder / "model.json").exit_code == 2
    assert_nothing_spent(folder)
    assert (folder / "rows.csv").read_text() == ROWS


def test_rows_are_read_once(run, folder, monkeypatch):
    """A file that is replaced while it is read is coded as it was, and its digest is of the same bytes."""
    read = curator_training.read_table_file

    def read_and_replace(path: Path) -> bytes:
        data = read(path)
        path.write_text(f"{HEADER}\n1,mate,5,3,yes\n1,mate,5,3,yes\n")
        return data

    monkeypatch.setattr(curator_training, "read_table_file", read_and_replace)
    assert run("--person", "id").exit_code == 0
    assert read_ledger(folder).entries[0].request.rows[0] == hashlib.sha256(ROWS.encode()).hexdigest()


def test_a_compiled_plan_is_refused(run, folder):
    (folder / "survey.toml").write_text("{}")
    assert "give the TOML survey" in run().stderr
    assert_nothing_spent(folder)
