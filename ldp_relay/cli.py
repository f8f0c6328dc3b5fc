"""ldp-relay: the command of an organisation that hides from collectors who sent which report."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from encoders.argument_parser import ArgumentParser
from encoders.errors import LdpError
from encoders.survey.opening import write_private_key
from encoders.text_table import format_table
from ldp_relay.delivery import probe
from ldp_relay.held_messages import HeldMessages
from ldp_relay.settings import RelayedSurvey, RelaySettings, read_settings


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
    key = commands.add_parser(
        "key",
        help="Make a key for a survey, and print the public key.",
        description="Make a key for a survey, and print the public key.\n\nThe survey's author writes the "
        "public key into the survey file as relay.relay_key. Keep KEYFILE secret, above all from the "
        "collector.",
        examples="ldp-relay key relay.key",
        usage="ldp-relay key [OPTIONS] KEYFILE",
    )
    key.add_argument("keyfile", type=Path, metavar="KEYFILE", help="The new file for the private key.")
    key.set_defaults(run=lambda options: print(write_private_key(options.keyfile)))  # noqa: T201
    for name, run, text in (
        ("serve", _serve, "Serve the surveys of SETTINGS until stopped."),
        ("status", _status, "Print how many messages wait, were passed on or were refused, and the batches."),
    ):
        command = commands.add_parser(
            name,
            help=text,
            description=text,
            examples=f"ldp-relay {name} relay.toml",
            usage=f"ldp-relay {name} [OPTIONS] SETTINGS",
        )
        command.add_argument("settings", type=Path, metavar="SETTINGS", help="The TOML file of the settings.")
        command.set_defaults(run=run)
    return parser


def _serve(options: Namespace) -> None:
    from ldp_relay.serving import serve  # late: gunicorn is slow to import

    settings = read_settings(options.settings)
    held = HeldMessages(settings.database)  # a file that cannot be used is named before anything is served
    warnings = _find_unserved(settings, held)
    held.close()
    serve(settings, lambda address: _print_surveys(settings, address, warnings))


def _find_unserved(settings: RelaySettings, held: HeldMessages) -> list[str]:
    """Return a warning for each plan whose messages nobody would pass on."""
    served = {each.plan.digest for each in settings.surveys.values()}
    return [
        f"warning: messages of the plan {digest} wait, and it is not in the settings: add it again"
        for digest in sorted(set(held.digests()) - served)
    ]


def _print_surveys(settings: RelaySettings, address: str, warnings: Sequence[str]) -> None:
    for survey in settings.surveys.values():
        relay = survey.relay
        _print(f"{address}/{survey.plan.id}  batch {relay.batch}  digest {survey.plan.digest}")
        _print(f"  open from {_time(relay.opens)} to {_time(relay.closes)}, for people at {relay.url}")
        _print(f"  passes on to {survey.collector}, at full hours")
        _print(f"  the collector {probe(survey)}")
    _print(f"holding messages in {settings.database}")
    for each in warnings:
        _print(each)


def _status(options: Namespace) -> None:
    settings = read_settings(options.settings)
    if not settings.database.exists():  # opening it would create it, perhaps for another user
        sys.exit(f"Error: {settings.database}: there is no such database yet; ldp-relay serve creates it")
    held = HeldMessages(settings.database)
    for survey in settings.surveys.values():
        _print("\n".join(_describe(survey, held)))
    for each in _find_unserved(settings, held):
        _print(each)
    held.close()


def _describe(survey: RelayedSurvey, held: HeldMessages) -> list[str]:
    relay = survey.relay
    lines = [f"{survey.plan.id}: batch {relay.batch}, closes {_time(relay.closes)}"]
    lines.append(f"  the collector {probe(survey)}")
    lines += [f"  {name}: {count:,}" for name, count in held.counts(survey.plan.digest).items()]
    rows = [["batch at", "messages"]]
    rows += [[_time(hour), f"{size:,}"] for hour, size in held.batches(survey.plan.digest)]
    return lines + ([f"  {line}" for line in format_table(rows, "<>")] if rows[1:] else [])


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def _time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
