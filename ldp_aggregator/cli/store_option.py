"""The options of commands that use a store."""

from __future__ import annotations

import click

from ldp_aggregator.cli.help import advanced_option, option

STORE_VARIABLE = "LDP_STORE"
"""The environment variable that all commands read: a password in it is not on the command line."""

store_option = option(
    "--store",
    "url",
    envvar=STORE_VARIABLE,
    default="sqlite:///ldp.db",
    metavar="URL",
    show_envvar=True,
    help="The store: sqlite:///FILE, redis://HOST:PORT/DB, rediss://, redis+cluster:// or unix:///SOCKET.",
)
durability_option = advanced_option(
    "--durability",
    type=click.Choice(["always", "everysec", "unchecked"]),
    default="always",
    help="When Redis must write a report to disk: before it acknowledges the report (always), or within a "
    "second (everysec); unchecked accepts any configuration of Redis.",
)
