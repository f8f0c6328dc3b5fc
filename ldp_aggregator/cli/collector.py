"""ldp-collector: serve surveys."""

from __future__ import annotations

import os
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

import click
from flask import Flask

from encoders.errors import LdpError
from encoders.survey import Plan
from encoders.survey.files import load_plan_file, load_signature_file, signature_path
from ldp_aggregator.cli.operate import COMMANDS
from ldp_aggregator.collector.app import create_app
from ldp_aggregator.collector.rates import MOST, Network, Rates
from ldp_aggregator.sources import TOKEN_VARIABLE
from ldp_aggregator.stores import MemoryStore, Policy, StoreError, open_store


def _address(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    port = text.rpartition(":")[2]
    if ":" not in text or not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise click.BadParameter("is HOST:PORT with a port from 0 to 65535, for example 127.0.0.1:8000")
    return text


def _networks(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> list[Network]:
    try:
        return [ip_network(text) for text in texts]
    except ValueError as error:
        raise click.BadParameter("is an address or a network, for example 10.1.0.2 or 10.1.0.0/24") from error


@click.group(context_settings={"auto_envvar_prefix": "LDP_COLLECTOR"})
def main() -> None:
    """Collect randomised reports, each counted exactly once."""


@main.command()
@click.argument(
    "surveys", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--store",
    default="sqlite:///ldp.db",
    show_default=True,
    help="sqlite:///FILE, redis://HOST:PORT/DB, redis+cluster://HOST:PORT or unix:///SOCKET.",
)
@click.option(
    "--bind",
    default="127.0.0.1:8000",
    show_default=True,
    callback=_address,
    help="HOST:PORT; port 0 takes a free one.",
)
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1, 64), help="Processes.")
@click.option(
    "--threads", default=16, show_default=True, type=click.IntRange(1, 64), help="Threads of each process."
)
@click.option(
    "--durability",
    type=click.Choice(["always", "everysec", "unchecked"]),
    default="always",
    show_default=True,
    help="What Redis must promise: on disk before it is acknowledged; within a second; not checked.",
)
@click.option(
    "--allow-open-redis", is_flag=True, help="Use a Redis over the network that asks for no password."
)
@click.option(
    "--rate",
    default=0,
    show_default=True,
    type=click.IntRange(0, MOST),
    help="Posts that each worker takes from one address in a minute; 0: any number.",
)
@click.option(
    "--trusted-proxy",
    "proxies",
    multiple=True,
    callback=_networks,
    metavar="ADDRESS",
    help="A proxy whose X-Forwarded-For is believed; may be repeated. --rate behind a proxy needs it.",
)
def serve(
    surveys: tuple[Path, ...],
    store: str,
    bind: str,
    workers: int,
    threads: int,
    durability: str,
    allow_open_redis: bool,
    rate: int,
    proxies: list[Network],
) -> None:
    """Serve SURVEYS (TOML files or compiled plans) until stopped.

    An author's signature beside one (survey.toml.sig, see ldp-survey sign) is served with it, unchecked:
    a collector knows no author's key.

    What is for the operator, the live page at / and /snapshot and /estimates of each survey, opens to the
    token in the environment variable LDP_OPERATOR_TOKEN.
    """
    try:
        plans = [load_plan_file(path) for path in surveys]
        signatures = _signatures(surveys, plans)
        promise = _publish(store, plans, Policy(durability, allow_open_redis))
    except LdpError as error:
        raise click.ClickException(str(error)) from error
    from ldp_aggregator.collector.server import serve as run  # late: gunicorn is slow to import

    token = os.environ.get(TOKEN_VARIABLE) or None

    def announce(addresses: list[str]) -> None:
        for plan in plans:
            click.echo(f"{addresses[0]}/v1/surveys/{plan.id}  epsilon {plan.epsilon}  digest {plan.digest}")
            if plan.id in signatures:
                click.echo("  with a signature, not checked here: only those who have the author's key can")
        click.echo("the page / of this address shows the operator how they are doing")
        click.echo(f"counting into {_without_password(store)}")
        click.echo(promise)
        if token is None:
            click.echo(f"estimates and snapshots are closed: set {TOKEN_VARIABLE} to open them to its holder")

    def make_app() -> Flask:
        rates = Rates(rate, proxies)
        return create_app(open_store(store), token, signatures=signatures, promise=promise, rates=rates)

    run(make_app, bind, workers, threads, announce)


for _command in COMMANDS:
    main.add_command(_command)


def _signatures(surveys: tuple[Path, ...], plans: list[Plan]) -> dict[str, bytes]:
    """Return the signatures that lie beside the surveys, by id."""
    found = [
        (plan.id, load_signature_file(signature_path(path)))
        for path, plan in zip(surveys, plans, strict=True)
    ]
    return {survey: signature for survey, signature in found if signature}


def _publish(url: str, plans: list[Plan], policy: Policy) -> str:
    """Put the plans into the store, or learn that one changed, before any request is served.

    Returns
    -------
    str
        What the store's acknowledgement is worth.
    """
    store = open_store(url)
    if isinstance(store, MemoryStore):
        raise StoreError("memory:// is for tests: each worker would count on its own; use sqlite:///FILE")
    try:
        promise = store.promise(policy)
        for plan in plans:
            store.publish(plan.id, plan.json)
        return promise
    finally:
        store.close()


def _without_password(url: str) -> str:
    """Return a store's URL fit for the screen."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
