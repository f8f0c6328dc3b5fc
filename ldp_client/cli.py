"""ldp-client: the command for the person at the device; lists, shows and withdraws their reports."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from encoders.argument_parser import ArgumentParser
from encoders.errors import LdpError
from encoders.explain.preview import describe_relay, explain_report
from encoders.explain.text import format_table
from encoders.survey.plan import Plan
from ldp_client.errors import JournalError
from ldp_client.journal import Journal
from ldp_client.journal.journal import CLOSED_ONCE
from ldp_client.journal.table import JournalEntry
from ldp_client.opt_out import REHEARSAL_VARIABLE, active_opt_out, is_variable_set
from ldp_client.receipt import State
from ldp_client.waves import describe_wait

_STATE_TEXTS = {
    State.NO_CONSENT: "not agreed to: nothing is sent",
    State.READY: "agreed to, not answered yet",
    State.QUEUED: "answered, waits to be sent",
    State.SENT: "answered and counted",
    State.DUPLICATE: "answered and counted",
    State.REJECTED: "answered, but refused by the collector",
    State.EXPIRED: "answered, but the survey was closed before",
    State.WITHDRAWN: "withdrawn: the report was deleted unsent, as far as this device knows",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the subcommand that the arguments name."""
    options = _parser().parse_args(arguments)
    try:
        lines = options.run(Journal(options.journal, options.person), options)
    except LdpError as error:
        sys.exit(f"Error: {error}")
    sys.stdout.write("\n".join(lines) + "\n")


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="ldp-client",
        usage="%(prog)s [OPTIONS] COMMAND",
        description="Show which surveys were answered on this device and what it sends; withdraw reports.",
        examples="ldp-client status\nldp-client preview\nldp-client purge --all",
    )
    commands = parser.add_subparsers()
    text = "List the surveys that the person agreed to: their state, and the epsilon spent."
    _add_command(commands, "status", _status, text, "ldp-client status")
    text = "Show and explain the bytes of the reports that wait to be sent."
    examples = "ldp-client preview\nldp-client preview health-2027"
    preview = _add_command(commands, "preview", _preview, text, examples)
    preview.add_argument("survey", metavar="[SURVEY]", nargs="?", help="Show only the report to this survey.")
    text = "Withdraw, from a survey's series too: delete reports that wait, and make no further ones."
    examples = "ldp-client purge health-2027\nldp-client purge --all"
    purge = _add_command(commands, "purge", _purge, text, examples)
    target = purge.add_mutually_exclusive_group(required=True)
    target.add_argument("survey", metavar="[SURVEY]", nargs="?", help="Withdraw from this survey.")
    target.add_argument("--all", action="store_true", help="Withdraw from every survey.")
    target.add_argument(
        "--damaged",
        action="store_true",
        help="Delete a damaged journal, which the client has renamed. This device can then answer the "
        "surveys in it a second time, and spend their epsilon again.",
    )
    return parser


def _add_command(
    commands: Any,
    name: str,
    run: Callable[[Journal, argparse.Namespace], list[str]],
    text: str,
    examples: str,
) -> ArgumentParser:
    usage = f"ldp-client {name} [OPTIONS]{'' if name == 'status' else ' [SURVEY]'}"
    parser: ArgumentParser = commands.add_parser(
        name, usage=usage, help=text, description=text, examples=examples
    )
    parser.set_defaults(run=run)
    location = parser.add_mutually_exclusive_group()
    location.add_argument(
        "--journal",
        metavar="FILE",
        help="The journal's file.  [env var: LDP_JOURNAL; default: a file among the application data]",
    )
    location.add_argument(
        "--person",
        metavar="NAME",
        help="Use the journal of this person, in a folder beside the default file.",
    )
    return parser


def _status(journal: Journal, _: argparse.Namespace) -> list[str]:
    entries = journal.entries()
    lines = [f"journal {journal.path}"]
    if name := active_opt_out():
        lines.append(f"{name} is set: nothing is drawn or sent")
    lines += _describe_rehearsal()
    if not entries:
        return [*lines, "the person has not agreed to a survey on this device"]
    rows = [["survey", "epsilon spent", "where it stands", "plan's digest", "collector"]]
    rows += [[e.survey, e.epsilon, _describe(e), e.digest, e.url] for e in entries]
    spent = sum((Fraction(entry.epsilon) for entry in entries), Fraction(0))
    lines += ["", *format_table(rows, "<><<<"), "", f"epsilon spent in all: {float(spent):g}"]
    lines += [str(journal.standing(each) or "") for each in dict.fromkeys(e.series for e in entries) if each]
    if any(entry.state is State.QUEUED for entry in entries):
        lines.append("the application's log `ldp_client` shows at level DEBUG why a report waits")
    return lines


def _preview(journal: Journal, options: argparse.Namespace) -> list[str]:
    lines: list[str] = []
    for entry in _select_entries(journal, options.survey):
        if entry.state is not State.QUEUED or entry.plan is None:
            continue
        _, body = entry.post
        plan = Plan.from_json(entry.plan)
        text = f"an encrypted message of {len(body)} bytes, which this device cannot open"
        text = "\n".join([text, "", *describe_relay(plan)])
        if entry.report is not None:
            text = explain_report(plan, entry.report)
        lines += [f"{entry.survey}: waits to be sent to {entry.url}", "", text, ""]
    return [*_describe_rehearsal(), *(lines[:-1] or ["nothing waits to be sent"])]


def _describe_rehearsal() -> list[str]:
    if not is_variable_set(REHEARSAL_VARIABLE):
        return []
    return [f"{REHEARSAL_VARIABLE} is set: applications rehearse, and do not use this journal"]


def _purge(journal: Journal, options: argparse.Namespace) -> list[str]:
    if options.damaged:
        if journal.forget_damaged():
            return [f"deleted the damaged journal ({journal.path}); this device can answer its surveys again"]
        return [f"no journal is damaged ({journal.path})"]
    lines = [
        f"{entry.survey}: {_describe_withdrawn(journal.withdraw(entry.identity) or entry)}"
        for entry in _select_entries(journal, options.survey)
    ]
    return lines or ["the person has not agreed to a survey on this device"]


def _describe(entry: JournalEntry) -> str:
    if entry.reason == CLOSED_ONCE:
        return "answered, waits; the collector said once that the survey is closed"
    if entry.state is State.READY and entry.wave is not None and entry.plan:
        wait = describe_wait(Plan.from_json(entry.plan), entry)
        return f"agreed to; {wait.why}" if wait else _STATE_TEXTS[entry.state]
    if entry.why and entry.state is State.SENT:
        return f"answered: {entry.why}"
    return _STATE_TEXTS[entry.state] + (f" ({entry.reason})" if entry.reason else "")


def _describe_withdrawn(entry: JournalEntry) -> str:
    if entry.state is State.WITHDRAWN and entry.sealed:
        return "the relay may have the report: only the application can ask it to delete the report"
    if entry.state in (State.SENT, State.DUPLICATE) and entry.closes is None:
        return "was counted before; the collector keeps only sums of reports, so it cannot be taken back"
    return _describe(entry)


def _select_entries(journal: Journal, survey: str | None) -> list[JournalEntry]:
    entries = [entry for entry in journal.entries() if survey in (None, entry.survey)]
    if survey is not None and not entries:
        raise JournalError(
            f"the survey {survey!r} is unknown to this device: `ldp-client status` lists its surveys"
        )
    return entries
