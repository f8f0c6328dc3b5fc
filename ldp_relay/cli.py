"""ldp-relay: the command of an organisation that hides from collectors who sent which report."""

from __future__ import annotations

import secrets
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from encoders.argument_parser import ArgumentParser
from encoders.errors import LdpError
from encoders.explain.text import format_table
from encoders.late_imports import LateImport
from encoders.survey.invitation import format_token, hash_token
from encoders.survey.relay import CODE_BYTES
from encoders.survey.toml_reader import parse_toml
from encoders.survey.unsealing import breaks_promise, write_private_key
from ldp_relay.delivery import probe
from ldp_relay.held_messages import LAST_DELIVERY, RECEIVED, TOO_FEW, HeldMessages, Outcome
from ldp_relay.networks import WIDER
from ldp_relay.relay_settings import RelayedSurvey, RelaySettings, read_settings
from ldp_relay.selftest import run_selftest

_SERVE_SETTINGS = LateImport("ldp_relay.serving:serve")  # gunicorn is slow to import
MAX_CODES = 1_000_000
_COMMANDS: dict[str, dict[str, str]] = parse_toml(
    files(__package__).joinpath("commands.toml").read_text("utf-8")
)
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "KEYFILE": {"type": Path, "help": "The new file for the private key."},
    "SETTINGS": {"type": Path, "help": "The TOML file of the settings."},
    "SURVEY": {"help": "The survey's id."},
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the subcommand that the arguments name."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except LdpError as error:
        sys.exit(f"Error: {error}")


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="ldp-relay",
        usage="%(prog)s [OPTIONS] COMMAND",
        description="Receive sealed reports, and pass them on to their collectors in large batches and in "
        "random order.\n\nNever restore the relay's database from a copy: messages that have left would "
        "leave again, in another crowd.",
        examples="ldp-relay key relay.key\nldp-relay serve relay.toml\nldp-relay status relay.toml",
    )
    commands = parser.add_subparsers()
    runs: dict[str, Callable[[Namespace], None]] = {
        "key": lambda options: print(write_private_key(options.keyfile)),  # noqa: T201
        "codes": _make_codes,
        "selftest": lambda _: _print(run_selftest()),
        "serve": _serve,
        "status": _status,
    }
    for name, run in runs.items():
        words = _COMMANDS[name]
        command = commands.add_parser(
            name,
            help=words["summary"],
            description=words.get("text", words["summary"]),
            examples=words["examples"],
            usage=f"ldp-relay {name} [OPTIONS] {words['arguments']}".rstrip(),
        )
        for each in words["arguments"].split():
            command.add_argument(each.lower(), metavar=each, **_ARGUMENTS[each])
        command.set_defaults(run=run)
    codes = commands.choices["codes"]
    codes.add_argument("--count", type=_count, required=True, metavar="N", help="How many codes to make.")
    codes.add_argument("--page", default="", metavar="URL", help="Print links to the page of the survey.")
    return parser


def _count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= MAX_CODES:
        raise ArgumentTypeError(f"needs a number from 1 to {MAX_CODES:,}")
    return count


def _make_codes(options: Namespace) -> None:
    settings = read_settings(options.settings)
    survey = settings.surveys.get(options.survey)
    if survey is None or not survey.codes:
        sys.exit(f"Error: {options.survey}: needs a table [surveys.{options.survey}] with codes = true")
    codes = [secrets.token_bytes(CODE_BYTES) for _ in range(options.count)]
    held = HeldMessages(settings.database)
    held.add_codes(survey.plan.digest, [hash_token(survey.plan, each) for each in codes])
    held.close()
    link = f"{options.page}#token=" if options.page else ""
    _print("\n".join(link + format_token(survey.plan, each) for each in codes))


def _serve(options: Namespace) -> None:
    settings = read_settings(options.settings)
    held = HeldMessages(settings.database)  # a file that cannot be used is named before anything is served
    warnings = _find_unserved(settings, held)
    held.close()
    _SERVE_SETTINGS.load()(settings, lambda address: _print_surveys(settings, address, warnings))


def _find_unserved(settings: RelaySettings, held: HeldMessages) -> list[str]:
    served = {each.plan.digest for each in settings.surveys.values()}
    return [
        f"warning: messages of the plan {digest} wait, and it is not in the settings: add it again"
        for digest in sorted(held.digests() - served)
    ]


def _print_surveys(settings: RelaySettings, address: str, warnings: Sequence[str]) -> None:
    for survey in settings.surveys.values():
        relay = survey.relay
        _print(f"{address}/{survey.plan.id}  batch {relay.batch}  digest {survey.plan.digest}")
        _print(f"  open from {_time(relay.opens)} to {_time(relay.closes)}, for people at {relay.url}")
        if waves := survey.plan.waves:
            _print(
                f"  in {len(waves.list):,} waves, which are never mixed: a wave of fewer messages is deleted"
            )
        _print(f"  passes on to {survey.collector}, at full hours")
        _print(f"  {_describe_limit(survey)}")
        _print(f"  the collector {probe(survey)}")
    _print(f"holding messages in {settings.database}")
    for each in warnings:
        _print(each)


def _describe_limit(survey: RelayedSurvey) -> str:
    limit, dishonest = survey.messages_per_network, survey.relay.batch - survey.relay.honest_reports
    if not limit and survey.codes:
        return "takes messages with a code only, each once"
    if not limit:
        return "warning: no limit: one network can fill whole batches with made-up messages"
    found = (
        f"one network (/24, or /48 for IPv6) can send {limit:,} of the {dishonest:,} messages of a batch "
        f"that may be dishonest; so an office behind one address can have {limit:,} people"
    )
    if WIDER * limit <= dishonest:
        return found
    several = f"{dishonest // limit + 1} networks, or one provider of IPv6,"
    return f"warning: {'one network' if limit > dishonest else several} can break the promise: {found}"


def _open(settings: RelaySettings) -> HeldMessages:
    if not settings.database.exists():
        sys.exit(f"Error: {settings.database}: there is no such database yet; ldp-relay serve creates it")
    return HeldMessages(settings.database)


def _status(options: Namespace) -> None:
    settings = read_settings(options.settings)
    held = _open(settings)
    for survey in settings.surveys.values():
        _print("\n".join(_describe(survey, held)))
    for each in _find_unserved(settings, held):
        _print(each)
    held.close()


def _describe(survey: RelayedSurvey, held: HeldMessages) -> list[str]:
    relay = survey.relay
    lines = [f"{survey.plan.id}: batch {relay.batch}, closes {_time(relay.closes)}"]
    lines += [f"  {_describe_limit(survey)}", f"  the collector {probe(survey)}"]
    counts = held.counts(survey.plan.digest)
    unit = " answers" if survey.plan.asks_all else ""  # the collector counts each message in an envelope
    last = counts.pop(LAST_DELIVERY, None)
    lines += [f"  {name}: {count:,}{unit * name.startswith('passed on')}" for name, count in counts.items()]
    lines += [f"  {LAST_DELIVERY}: in the hour from {_time(last)}"] if last is not None else []
    if turned_away := counts.get(f"refused, {Outcome.FULL}"):
        lines.append(
            f"  warning: messages that were turned away, because their network is full: {turned_away:,}. "
            "They may be of one sender, or of people in one office: give codes, or raise "
            "messages_per_network if you know who sends"
        )
    if survey.plan.waves:
        lines += [f"  {line}" for line in format_table(_wave_rows(survey, held), "<<>>>")]
    batches = held.batches(survey.plan.digest)
    broken = sum(breaks_promise(relay, size, rejected) for _, size, rejected in batches)
    if broken:
        lines.append(
            f"  warning: in {broken:,} of {len(batches):,} batches, the promise of the survey did not hold: "
            f"the collector could open fewer than {relay.honest_reports:,} messages. Tell its operator and "
            "the author of the survey"
        )
    rows = [["batch at", "messages", "rejected"]]
    rows += [[_time(hour), f"{size:,}", f"{rejected:,}"] for hour, size, rejected in batches]
    return lines + ([f"  {line}" for line in format_table(rows, "<>>")] if rows[1:] else [])


def _wave_rows(survey: RelayedSurvey, held: HeldMessages) -> list[list[str]]:
    rows = [["wave", "closes", RECEIVED, "waiting", TOO_FEW]]
    for name, pool in survey.pools.items():
        found = held.counts(pool.name)
        if found[RECEIVED]:
            numbers = (found.get(each, 0) for each in rows[0][2:])
            rows.append([name, _time(pool.closes), *(f"{each:,}" for each in numbers)])
    return rows


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def _time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
