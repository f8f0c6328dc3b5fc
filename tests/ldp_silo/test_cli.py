"""ldp-silo: what the operator of a silo reads, and the exit codes."""

import itertools
import json
import shlex
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from encoders.report import MAX_MESSAGE_BYTES, unpack
from encoders.survey.invitation import format_token
from encoders.survey.signature import signature_text
from encoders.survey.silo_plan import SiloPlan
from ldp_client import Response
from ldp_design.authoring.signing import make_keys, sign
from ldp_silo import SiloJournal
from ldp_silo import silo as silo_module
from ldp_silo.cli import main
from ldp_silo.epoch_reports import EXPLANATIONS
from tests.ldp_client.conftest import Collector
from tests.ldp_silo.conftest import DOWN, HEADER, RECORDED, URL, draw_rows
from tests.support.commands import command
from tests.support.silo_surveys import WARDS, read_silo_survey

REFUSED = Response(422, b'{"reason":"bad-payload","retryable":false}')
NEVER = "never, or before this version"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def collector(plan: SiloPlan, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made = Collector(plan)
    monkeypatch.setattr(silo_module, "HttpTransport", lambda: made)
    monkeypatch.setattr("ldp_silo.epoch_reports.MAX_BACKOFF_SECONDS", 0.001)
    return made


@pytest.fixture
def run(tmp_path: Path, collector: Collector) -> Run:
    """Run a command with the journal of the test; return its exit code, and what it printed."""

    def run(*arguments: object, **environment: str) -> tuple[int, str, str]:
        journal = ("--journal", tmp_path / "ward.journal")
        result = command("ldp-silo", *arguments, *journal, check=False, **environment)
        return result.exit_code, result.stdout, result.stderr

    return run


def test_a_silo_agrees_and_reports(run, plan, write_rows):
    code, out, _ = run("grant", URL)
    assert code == 0
    assert plan.digest in " ".join(out.split())
    assert "The noise of a count has a standard error of at most 5.66 rows" in " ".join(out.split())
    assert "counts rows by ill, together with each of: smoker, age, weight, pulse." in " ".join(out.split())
    code, out, shown = run("report", URL, write_rows(50))
    assert code == 0
    assert out.splitlines() == [
        "epoch 1: counted by the collector",
        "spent: epsilon 1 for each person in these rows, in total over all epochs",
    ]
    assert shown.splitlines() == [
        "counting the rows of ward.csv",
        "age: 2 of 50 cells are outside of 0 to 100, and are clipped.",
        "weight: 11 of 50 cells are outside of 30 to 130, and are clipped.",
        "pulse: 1 of 50 cells are outside of 40 to 160, and are clipped.",
        "the message of epoch 1 is in the journal, and is sent now",
    ]
    code, out, _ = run("report", URL, write_rows(50))
    assert code == 0
    assert out.startswith("epoch 1: already counted (epoch 1 was counted before, with the same file)")


def test_the_same_command_sends_a_message_that_waits(run, collector, write_rows, monkeypatch):
    run("grant", URL)
    collector.respond(DOWN)
    clock = SimpleNamespace(monotonic=itertools.count().__next__, sleep=lambda _: None, time=time.time)
    with monkeypatch.context() as patch:
        patch.setattr("ldp_silo.epoch_reports.time", clock)  # an attempt takes a second
        code, out, shown = run("report", URL, write_rows(50), "--timeout", "2")
    assert code == 3
    assert "epoch 1: waits to be sent (collector-unreachable: the collector did not respond" in out
    assert out.endswith("the message waits in the journal: the same command sends the same bytes\n")
    assert "next attempt in" in shown
    assert run("flush", URL, "--timeout", "0")[0] == 3
    collector.respond(RECORDED)
    assert run("report", URL, write_rows(50))[:2] == (0, "epoch 1: counted by the collector\n")
    assert len(set(collector.bodies)) == 1


def test_a_refused_message_exits_with_an_error(run, collector, write_rows):
    run("grant", URL)
    collector.respond(REFUSED)
    code, out, _ = run("report", URL, write_rows(50))
    assert code == 1
    cause = "bad-payload: counts beyond what rows and noise explain"
    assert out.startswith(f"epoch 1: refused by the collector ({cause})\n")
    assert run("flush", URL)[0] == 1


def test_an_error_is_one_line_without_a_value(run, write_rows):
    run("grant", URL)
    code, out, error = run("report", URL, write_rows([["yes", "perhaps", "1", "50", "60"]]))
    assert (code, out) == (1, "")
    assert error.splitlines()[-1] == 'Error: smoker: row 1: is not one of the survey\'s values: "yes", "no"'
    code, _, error = run("report", URL, write_rows(5), "--max-epsilon", "0.5")
    assert (code, error.splitlines()[-1]) == (1, "Error: the plan's epsilon is 1, but max_epsilon is 0.5")


def test_consent_comes_first(run, write_rows):
    code, _, error = run("report", URL, write_rows(5))
    assert code == 1
    assert "ldp-silo grant" in error


def test_status_lists_the_epochs(run, plan, write_rows):
    run("grant", URL)
    run("report", URL, write_rows(50), "--epoch", "march")
    run("report", URL, write_rows(draw_rows(9, seed=2)), "--epoch", "april", "--new-rows")
    _, out, _ = run("status")
    assert f"wards: agreed, plan {plan.digest}, {URL}" in out
    lines = [line.split() for line in out.splitlines() if line.startswith("wards  ")]
    assert [line[1:3] for line in lines] == [["march", "50"], ["april", "9"]]
    assert "epsilon spent by one person over all epochs, at most: 1\n" in out
    run("withdraw", URL)
    assert "wards: withdrawn" in run("status")[1]


def test_status_tells_a_monitor_when_the_collector_last_took_a_message(
    run, collector, write_rows, monkeypatch
):
    run("grant", URL)
    assert run("status", "--max-age", "1")[::2] == (
        1,
        f"Error: the collector has taken no message within 1 days. The last one: {NEVER}\n",
    )
    collector.respond(DOWN)
    run("report", URL, write_rows(50), "--timeout", "0")
    assert json.loads(run("status", "--json")[1])["last_counted"] is None
    monkeypatch.setattr("ldp_silo.silo_ledger.time", SimpleNamespace(time=lambda: 1_790_002_799.5))
    collector.respond(RECORDED)
    assert run("flush", URL)[0] == 0
    code, out, _ = run("status", "--json")
    status = json.loads(out)
    hour = 1_790_000_000 // 3600 * 3600
    assert (code, status["last_counted"]) == (0, hour)
    assert status["surveys"] == [
        {"survey": "wards", "url": URL, "digest": collector.plan.digest, "state": "ready"}
    ]
    assert status["epochs"] == [
        {"survey": "wards", "name": "1", "rows": 50, "epsilon": "1"}
        | {"state": "sent", "reason": "", "counted_at": hour}
    ]
    assert status["epsilon"] == 1.0
    when = time.strftime("in the hour from %Y-%m-%d %H:%M UTC", time.gmtime(hour))
    assert f"the collector last took a message: {when}" in run("status")[1]
    monkeypatch.setattr("ldp_silo.cli.time", SimpleNamespace(time=lambda: hour + 2 * 86_400.0))
    assert run("status", "--max-age", "2.5")[0] == 0
    code, out, error = run("status", "--max-age", "1.5")
    assert (code, error) == (
        1,
        f"Error: the collector has taken no message within 1.5 days. The last one: {when}\n",
    )
    assert when in out
    assert run("status", "--json", "--max-age", "1.5")[0] == 1


def test_a_ledger_without_the_hours_of_messages_is_read_and_extended(run, collector, write_rows, tmp_path):
    run("grant", URL)
    run("report", URL, write_rows(50))
    with closing(sqlite3.connect(tmp_path / "ward.journal", isolation_level=None)) as database:
        database.execute("DROP TABLE silo_counted_at")  # as an earlier version wrote it
    assert "the collector last took a message: never, or before this version" in run("status")[1]
    run("report", URL, write_rows(draw_rows(9, seed=2)), "--epoch", "2", "--new-rows")
    epochs = json.loads(run("status", "--json")[1])["epochs"]
    assert [each["counted_at"] is None for each in epochs] == [True, False]


def test_status_of_a_journal_that_does_not_exist_is_an_error(run, tmp_path):
    code, out, shown = run("status")
    assert (code, out) == (1, "")
    assert shown == f"Error: there is no journal {tmp_path / 'ward.journal'}\n"
    assert not (tmp_path / "ward.journal").exists()


def test_status_of_a_journal_without_consent_lists_no_survey(run, tmp_path):
    SiloJournal(tmp_path / "ward.journal").read_key()  # creates the file
    assert "the organisation has not agreed to a survey" in run("status")[1]


@pytest.mark.parametrize("command", ["flush", "withdraw"])
def test_a_survey_that_the_journal_does_not_have_is_an_error(run, tmp_path, command):
    status, out, err = run(command, URL)
    assert status == 1
    assert "never agreed to" in err
    assert "which has no survey" in err
    assert not out
    assert not list(tmp_path.glob("*.journal"))


def test_withdraw_names_the_messages_that_it_deletes(run, collector, write_rows):
    run("grant", URL)
    run("report", URL, write_rows(50), "--epoch", "march")
    collector.respond(DOWN)
    later = write_rows(draw_rows(9, seed=2))
    run("report", URL, later, "--epoch", "april", "--new-rows", "--timeout", "0")
    code, out, _ = run("withdraw", URL)
    assert code == 0
    assert out.splitlines() == [
        "withdrawn: nothing more is reported to wards from this journal",
        "epoch april: the message was deleted; an attempt may have arrived before",
        "what the collector has counted stays counted",
    ]


def test_an_interrupt_has_an_exit_code_of_its_own(run, collector, write_rows, monkeypatch):
    run("grant", URL)

    def interrupt(*_arguments: object) -> Response:
        raise KeyboardInterrupt

    monkeypatch.setattr(collector, "request", interrupt)
    code, _, shown = run("report", URL, write_rows(50))
    assert code == 130
    assert shown.endswith(
        "Stopped. A message that is in the journal waits there: `ldp-silo status` lists it.\n"
    )
    assert "waits to be sent" in run("status")[1]


def test_grant_names_the_options_that_a_report_needs(run, collector, monkeypatch):
    assert run("grant", URL)[1].endswith("ward.journal` reports rows\n")
    text = WARDS.replace("rows_per_person = 1", 'rows_per_person = 2\nenrolment = "token"')
    collector.plan = read_silo_survey(text.replace('"wards"', '"invited"')).compile()
    out = run("grant", URL.replace("wards", "invited"))[1]
    assert out.endswith("ward.journal --person COLUMN --token-file FILE` reports rows\n")


def test_the_next_command_reports_with_the_same_key_limit_and_journal(
    run, collector, tmp_path, write_rows, capsys
):
    author = make_keys()
    collector.plan = read_silo_survey(WARDS.replace("epsilon = 1.0", "epsilon = 3.0")).compile()
    collector.signature = signature_text(sign(collector.plan, author.private_pem))
    grant = ["grant", URL, "--public-key", author.public_key, "--max-epsilon", "3.5"]
    with pytest.raises(SystemExit):
        main([*grant, "--journal", str(tmp_path / "ward 7.journal")])
    command = shlex.split(capsys.readouterr().out.split("`")[1])
    assert command[4:] == [
        *("--journal", str(tmp_path / "ward 7.journal")),
        *("--public-key", author.public_key, "--max-epsilon", "3.5"),
    ]
    command[command.index("ROWS")] = str(write_rows(50))
    with pytest.raises(SystemExit) as ended:
        main(command[1:])
    assert ended.value.code == 0


def test_a_token_is_read_from_a_file(run, collector, tmp_path, write_rows):
    collector.plan = read_silo_survey(WARDS.replace("[label]", 'enrolment = "token"\n[label]')).compile()
    file, rows = tmp_path / "token", write_rows(50)
    token_id = bytes(2) + b"\x01" * 14
    token = format_token(collector.plan, token_id)
    missing = run("grant", URL, "--token-file", tmp_path / token)
    assert missing == (1, "", "Error: --token-file cannot be read: No such file or directory\n")
    for text, start in (
        ("", "token: "),
        ("é", "token: "),
        (f"{token}\n{token}\n", "--token-file has 2 tokens"),
    ):
        file.write_text(text)
        code, _, error = run("grant", URL, "--token-file", file)
        assert code == 1
        assert error.startswith(f"Error: {start}")
    file.write_bytes(f"{token}\r\n".encode())
    run("grant", URL, "--token-file", file)
    assert run("report", URL, rows, "--token-file", file)[0] == 0
    (body,) = collector.bodies
    assert body is not None
    assert unpack(body, MAX_MESSAGE_BYTES).id == token_id
    code, _, error = run("report", URL, rows, "--token-file", file, "--token", token)
    assert code == 2
    assert "not allowed with argument" in error


def test_a_reused_token_is_explained(run, collector, write_rows):
    run("grant", URL)
    collector.respond(Response(409, b'{"reason":"id-reused","retryable":false}'))
    code, out, _ = run("report", URL, write_rows(50))
    assert code == 1
    assert out.startswith(f"epoch 1: refused by the collector (id-reused: {EXPLANATIONS['id-reused']})\n")
    assert "(id-reused: the collector has counted another message with this token)" in run("status")[1]


def test_a_preview_states_whether_persons_were_counted(run, write_rows):
    assert "NOT CHECKED: whether each person has only one row." in run("preview", URL, write_rows(50))[1]
    out = run("preview", URL, write_rows(50), "--person", "weight")[1]
    assert "NOT CHECKED" not in out
    assert "weight names 50 persons, each with at most 1 row in this file." in out


def test_a_preview_needs_the_persons_where_a_report_does(run, collector, write_rows):
    collector.plan = read_silo_survey(WARDS.replace("rows_per_person = 1", "rows_per_person = 2")).compile()
    code, out, error = run("preview", URL, write_rows(50))
    assert (code, out) == (1, "")
    assert "--person COLUMN" in error


def test_a_preview_shows_exact_counts_and_sends_nothing(run, collector, write_rows):
    code, out, _ = run("preview", URL, write_rows(50))
    assert code == 0
    assert "All 50 rows fit the survey." in out
    assert not collector.bodies


def test_cells_with_line_breaks_are_reported_on_request(run, plan, write_rows):
    note = [*HEADER, "id"]
    rows = [[*row, f'"a\nb {place}"'] for place, row in enumerate(draw_rows(20))]
    first, later = write_rows(rows, note), write_rows(rows[:1], note, "later.csv")
    run("grant", URL)
    for name in ("preview", "report"):
        code, _, error = run(name, URL, first, "--person", "id")
        assert code == 1
        assert "ward.csv: line 2: a quoted cell continues on the next line" in error
    options = ("--person", "id", "--multiline")
    assert "All 20 rows fit the survey." in run("preview", URL, first, *options)[1]
    assert run("report", URL, first, *options)[0] == 0
    for rehearsal in ("1", ""):
        code, _, error = run("report", URL, later, *options, "--epoch", "2", LDP_REHEARSAL=rehearsal)
        assert code == 1
        assert "id: row 1: 1 person with more than 1 row over all epochs" in error


def test_a_rehearsal_says_that_nothing_was_drawn(run, write_rows):
    code, out, _ = run("report", URL, write_rows(50), LDP_REHEARSAL="1")
    assert (code, out) == (
        0,
        "epoch 1: ready (rehearsal: the rows fit the survey; nothing was drawn, recorded or sent)\n",
    )


@pytest.mark.parametrize("command", ["grant", "report", "preview", "flush", "withdraw", "status"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "--journal FILE" in shown
    assert ("rows_per_person" in shown) == (command in ("report", "preview"))
