"""The store of a command: its options, and a context manager that opens it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from ldp_aggregator.cli.error_messages import print_errors
from ldp_aggregator.stores import Store
from ldp_aggregator.training_sources import open_existing_store

STORE_VARIABLE = "LDP_STORE"
"""The environment variable that all commands read: a password in it is not on the command line."""

store_option = click.option(
    "--store",
    "url",
    envvar=STORE_VARIABLE,
    default="sqlite:///ldp.db",
    show_default=True,
    show_envvar=True,
    help="URL of the store.",
)
durability_option = click.option(
    "--durability",
    type=click.Choice(["always", "everysec", "unchecked"]),
    default="always",
    show_default=True,
    help="Required durability of Redis: on disk before a write is acknowledged; on disk within a second; not "
    "checked.",
)


@contextmanager
def open_for_command(
    url: str, open_function: Callable[[str], Store] = open_existing_store
) -> Iterator[Store]:
    """Open a store, by default an existing one, and close it; print errors without a traceback."""
    with print_errors():
        store = open_function(url)
        try:
            yield store
        finally:
            store.close()
