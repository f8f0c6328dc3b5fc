"""ldp-silo: the command of an organisation that reports the rows it holds, as noisy counts."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from encoders.argument_parser import ArgumentParser
from encoders.errors import LdpError
from encoders.explain.text import format_table
from encoders.rows_csv import MISSING_CODES_HELP, MULTILINE_HELP
from encoders.survey.row_cells import parse_missing_codes
from ldp_client.errors import ConsentError, OptionError
from ldp_client.journal.journal import CLOSED_ONCE
from ldp_client.journal.table import JournalEntry
from ldp_client.policy import MAX_EPSILON
from ldp_client.receipt import Receipt, State
from ldp_silo.epoch_reports import WORDS
from ldp_silo.message_preview import describe_plan
from ldp_silo.silo import SEND_SECONDS, Silo
from ldp_silo.silo_journal import SiloJournal
from ldp_silo.silo_ledger import Epoch, sum_epsilon

FAILED, WAITS, STOPPED = 1, 3, 130
"""Exit codes besides 0; argparse exits with 2."""

_URL = "https://example.org/v1/surveys/readmissions"
_HELP, _STATES, _REASONS = (WORDS[each] for each in ("help", "states", "reasons"))


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    try:
        sys.exit(options.run(options))
    except LdpError as error:
        sys.exit(f"Error: {error}")
    except KeyboardInterrupt:
        _show_progress("Stopped. A message that is in the journal waits there: `ldp-silo status` lists it.")
        sys.exit(STOPPED)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="ldp-silo",
        usage="%(prog)s [OPTIONS] COMMAND",
        description="Report the rows of an organisation (a silo) to a survey, as counts with exact noise. "
        f"The rows stay here.\n\n{_HELP['journal-rules']}",
        examples=f"ldp-silo grant {_URL} --journal silo.db\n"
        f"ldp-silo report {_URL} rows.csv --journal silo.db",
    )
    commands = parser.add_subparsers()

    def command(
        name: str, run: Callable[[argparse.Namespace], int], arguments: str, summary: str, text: str = ""
    ) -> ArgumentParser:
        subparser = _add_command(commands, name, arguments, help=summary, description=text or summary)
        subparser.set_defaults(run=run)
        return subparser

    summary = "Agree to a survey: pin its plan, so that rows may be reported."
    grant = command("grant", _grant, "URL", summary, f"{summary}\n\n{_HELP['journal-rules']}")
    preview = command(
        "preview", _preview, "URL ROWS", "Show the counts of a file and an example of noise; send nothing."
    )
    report = command(
        "report", _report, "URL ROWS", "Count rows and send their noisy message.", _HELP["report"]
    )
    flush = command("flush", _flush, "URL", "Send the messages that wait in the journal.")
    status = command("status", _status, "", "List the epochs in the journal. Needs no network.")
    command("withdraw", _withdraw, "URL", "Delete the messages that wait, and report nothing more.")
    report.add_argument(
        "--epoch", default="1", metavar="NAME", help="Your name for these rows.  [default: 1]"
    )
    for reading in (preview, report):
        reading.add_argument("--person", metavar="COLUMN", help=_HELP["person"])
    report.add_argument("--new-rows", action="store_true", help=_HELP["new-rows"])
    status.add_argument("--json", action="store_true", help="Print one JSON object.")
    status.add_argument("--max-age", type=float, metavar="DAYS", help=_HELP["max-age"])
    for invited in (grant, report):
        token = invited.add_mutually_exclusive_group()
        token.add_argument("--token-file", type=Path, metavar="FILE", help=_HELP["token-file"])
        token.add_argument("--token", help="The invitation itself. Other users of this machine can read it.")
    for with_plan in (grant, preview, report, flush):
        _add_advanced(with_plan, reads=with_plan in (preview, report), sends=with_plan in (report, flush))
    return parser


def _add_command(commands: Any, name: str, arguments: str, **texts: str) -> ArgumentParser:
    words = arguments.replace("URL", _URL).replace("ROWS", "rows.csv")
    example = " ".join(["ldp-silo", name, *words.split(), "--journal silo.db"])
    usage = f"ldp-silo {name} [OPTIONS] {arguments}".rstrip()
    parser: ArgumentParser = commands.add_parser(name, usage=usage, examples=example, **texts)
    parser.set_defaults(token=None, token_file=None, public_key=None, digest=None)
    parser.set_defaults(max_epsilon=MAX_EPSILON, max_total_epsilon=None, missing_codes=None)
    if "URL" in arguments:
        parser.add_argument("url", metavar="URL", help=f"The survey at its collector, for example {_URL}")
    if "ROWS" in arguments:
        parser.add_argument("rows", metavar="ROWS", type=Path, help="A CSV file with a header.")
    parser.add_argument("--journal", required=True, metavar="FILE", help=f"{_HELP['journal']}  [required]")
    return parser


def _add_advanced(parser: ArgumentParser, *, reads: bool, sends: bool) -> None:
    group = parser.add_argument_group("Advanced options")
    group.add_argument("--public-key", metavar="KEY", help="Accept only a plan signed with this key.")
    group.add_argument("--digest", help="Accept only the plan with this digest.")
    group.add_argument(
        "--max-epsilon",
        type=float,
        default=MAX_EPSILON,
        metavar="NUMBER",
        help="Refuse a plan with a greater epsilon.  [default: %(default)g]",
    )
    group.add_argument(
        "--max-total-epsilon",
        type=float,
        metavar="NUMBER",
        help="Refuse to report if the surveys of this journal together would exceed it.",
    )
    if sends:
        group.add_argument(
            "--timeout",
            type=float,
            default=SEND_SECONDS,
            metavar="SECONDS",
            help="How long to wait for the collector's response.  [default: %(default)g]",
        )
    if reads:
        group.add_argument("--multiline", action="store_true", help=MULTILINE_HELP)
        metavar = "FEATURE=CODE,..."
        group.add_argument("--missing-codes", action="append", metavar=metavar, help=MISSING_CODES_HELP)


def _make_silo(options: argparse.Namespace) -> Silo:
    return Silo(
        options.url,
        journal=options.journal,
        token=_read_token(options.token_file) if options.token_file else options.token,
        public_key=options.public_key,
        digest=options.digest,
        max_epsilon=options.max_epsilon,
        max_total_epsilon=options.max_total_epsilon,
        show=_show_progress,
        missing_codes=parse_missing_codes(options.missing_codes or ()),
        show_rows=_show_progress,
        strict=True,
    )


def _read_token(file: Path) -> str:
    try:
        token = file.read_bytes().decode("latin-1")  # a token is ASCII: other bytes are reported as misspelt
    except OSError as error:  # without the path, because it may be the token itself
        raise OptionError(f"--token-file cannot be read: {error.strerror}") from error
    if (count := len(token.split())) > 1:
        raise OptionError(f"--token-file has {count} tokens: give a file with one token")
    return token


def _grant(options: argparse.Namespace) -> int:
    silo = _make_silo(options)
    receipt = silo.grant()
    _print(*describe_plan(silo.plan), "")
    words = ["ldp-silo", "report", options.url, "ROWS", "--journal", options.journal]
    words += ["--public-key", options.public_key] if options.public_key else []
    words += ["--max-epsilon", str(options.max_epsilon)] if silo.plan.epsilon > MAX_EPSILON else []
    words += ["--person", "COLUMN"] if silo.plan.rows_per_person > 1 else []
    words += ["--token-file", "FILE"] if silo.plan.by_invitation else []
    _print(f"{receipt}: `{shlex.join(words)}` reports rows")
    return 0


def _report(options: argparse.Namespace) -> int:
    silo = _make_silo(options)
    receipt = silo.report(
        options.rows,
        epoch=options.epoch,
        person=options.person,
        new_rows=options.new_rows,
        multiline=options.multiline,
        timeout=options.timeout,
    )
    return _print_outcome(receipt, f"epoch {options.epoch}")


def _flush(options: argparse.Namespace) -> int:
    silo = _make_silo(options)
    _require_known(silo)
    return _print_outcome(silo.flush(options.timeout), "latest message")


def _require_known(silo: Silo) -> None:
    entries = silo.journal.entries() if silo.journal.exists() else []
    if silo.journal.exists() and silo.journal.find(silo.identity):
        return
    known = "; ".join(f"{entry.survey} at {entry.url}" for entry in entries) or "no survey"
    raise ConsentError(
        f"the organisation never agreed to {silo.survey} at this URL in the journal {silo.journal.path}, "
        f"which has {known}: check the URL, or run `ldp-silo grant`"
    )


def _print_outcome(receipt: Receipt, what: str) -> int:
    _print(f"{what}: {_STATES[receipt.state]}{_describe_cause(receipt)}")
    if receipt.epsilon:
        _print(f"spent: epsilon {receipt.epsilon:g} for each person in these rows, in total over all epochs")
    if receipt.state is State.QUEUED:
        _print("the message waits in the journal: the same command sends the same bytes")
        return WAITS
    return 0 if receipt.state in _GOOD_STATES else FAILED


def _preview(options: argparse.Namespace) -> int:
    silo = _make_silo(options)
    _print(str(silo.preview(options.rows, person=options.person, multiline=options.multiline)))
    return 0


def _withdraw(options: argparse.Namespace) -> int:
    silo = _make_silo(options)
    _require_known(silo)
    waited = [epoch.name for epoch in silo.epochs() if epoch.state is State.QUEUED]
    silo.withdraw()
    _print(f"withdrawn: nothing more is reported to {silo.survey} from this journal")
    for name in waited:
        _print(f"epoch {name}: the message was deleted; an attempt may have arrived before")
    _print("what the collector has counted stays counted")
    return 0


def _status(options: argparse.Namespace) -> int:
    journal = SiloJournal(options.journal)
    if not journal.exists():
        _show_progress(f"Error: there is no journal {journal.path}")
        return FAILED
    entries, epochs = journal.entries(), journal.epochs()
    last = max((epoch.counted_at for epoch in epochs if epoch.counted_at), default=None)
    if options.json:
        names = ("survey", "name", "rows", "epsilon", "state", "reason", "counted_at")
        lists = {
            "surveys": _select(entries, "survey", "url", "digest", "state"),
            "epochs": _select(epochs, *names),
        }
        _print(json.dumps({"last_counted": last, "epsilon": float(sum_epsilon(epochs))} | lists))
    else:
        _print_journal(journal, entries, epochs)
        _print(f"the collector last took a message: {_format_hour(last)}")
    if options.max_age is None or time.time() - (last or 0) < options.max_age * 86_400:
        return 0
    age = f"within {options.max_age:g} days. The last one: {_format_hour(last)}"
    _show_progress(f"Error: the collector has taken no message {age}")
    return FAILED


def _select(items: Sequence[object], *names: str) -> list[dict[str, Any]]:
    return [{name: getattr(each, name) for name in names} for each in items]


def _format_hour(seconds: int | None) -> str:
    if seconds is None:
        return "never, or before this version"
    return f"in the hour from {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def _print_journal(journal: SiloJournal, entries: Sequence[JournalEntry], epochs: Sequence[Epoch]) -> None:
    _print(f"journal {journal.path}")
    for entry in entries:
        agreed = "agreed" if entry.state is State.READY else "withdrawn"
        _print(f"{entry.survey}: {agreed}, plan {entry.digest}, {entry.url}")
    if not entries:
        _print("the organisation has not agreed to a survey")
    if epochs:
        rows = [["survey", "epoch", "rows", "epsilon", "where it stands"]]
        rows += [[e.survey, e.name, f"{e.rows:,}", e.epsilon, _describe_epoch(e)] for e in epochs]
        _print("", *format_table(rows, "<<>><"), "")
        _print(f"epsilon spent by one person over all epochs, at most: {float(sum_epsilon(epochs)):g}")


_GOOD_STATES = (State.READY, State.SENT, State.DUPLICATE, State.ALREADY_REPORTED)


def _describe_epoch(epoch: Epoch) -> str:
    if epoch.reason == CLOSED_ONCE:
        return "waits; the collector said once that the survey is closed"
    reason = ": ".join(filter(None, (epoch.reason, _REASONS.get(epoch.reason, ""))))
    return _STATES[epoch.state] + (f" ({reason})" if reason else "")


def _describe_cause(receipt: Receipt) -> str:
    cause = ": ".join(filter(None, (receipt.reason, receipt.why or _REASONS.get(receipt.reason, ""))))
    return f" ({cause})" if cause else ""


def _print(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _show_progress(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
