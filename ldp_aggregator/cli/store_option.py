"""The store of a command: its options, and a context manager that opens it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from ldp_aggregator.cli.help import advanced_option, option
from ldp_aggregator.stores import Store
from ldp_aggregator.training_sources import open_existing_store

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


@contextmanager
def open_for_command(
    url: str, open_function: Callable[[str], Store] = open_existing_store
) -> Iterator[Store]:
    """Open a store, by default an existing one, and close it."""
    store = open_function(url)
    try:
        yield store
    finally:
        store.close()
