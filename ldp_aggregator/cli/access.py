"""ldp-collector access: adds tokens to a file, and removes them."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click

from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.help import Command, Group, argument, option
from ldp_aggregator.collector.access_tokens import Role, add_token, hash_secret, remove_token

_name_argument = argument("name", help="The name of the token: a-z, 0-9 and -.")
_file_option = option(
    "--file",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default="tokens.toml",
    help="The file of tokens, which `serve --tokens` reads.",
)


@click.group(cls=Group)
def access() -> None:
    """Add and remove access tokens.

    They give operators, analysts, Prometheus, relays and gateways access to a collector. Afterwards, reload
    the collector (SIGHUP). To invite people to a survey, use ldp-collector tokens instead.

    $ ldp-collector access add anna --role analyst --expires 2027-12-31 > anna.token
    $ ldp-collector access remove anna
    """


@access.command(cls=Command)
@_name_argument
@option(
    "--role",
    type=click.Choice([each.value for each in Role]),
    required=True,
    help="What the token gives access to.",
)
@option(
    "--expires",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    show_default="never",
    help="The first day, in UTC, on which the token is refused.",
)
@_file_option
def add(name: str, role: str, expires: datetime | None, path: Path) -> None:
    """Add a token NAME to a file, and print its secret.

    The secret is shown only once, because the file contains only its hash. To replace a token without a gap,
    add a second one with another name, reload the collector, give the new secret to its user, and remove the
    old token.

    $ ldp-collector access add prometheus-2027 --role metrics --expires 2028-02-01
    """
    day = expires.date() if expires else None
    if day and day <= datetime.now(UTC).date():
        raise click.BadParameter("this day is not in the future", param_hint="--expires")

    secret = secrets.token_hex(16)
    _edit(path, lambda text: add_token(text, str(path), name, role, hash_secret(secret), day))
    click.echo(secret)


@access.command(cls=Command)
@_name_argument
@_file_option
def remove(name: str, path: Path) -> None:
    """Remove the token NAME from a file.

    $ ldp-collector access remove prometheus-2026
    """
    _edit(path, lambda text: remove_token(text, str(path), name))
    click.echo(f"removed {name} from {path}: reload the collector")


def _edit(path: Path, change: Callable[[str], str]) -> None:
    """Change the text of a file; of two commands at once, the second waits for the first."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        text = change(path.read_text("utf-8") if path.exists() else "")
        # public: hashes of long random secrets reveal nothing, and the collector may run as another user
        write_atomically(path, text.encode(), public=True, durable=True)
    finally:
        os.close(folder)
