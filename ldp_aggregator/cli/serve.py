"""ldp-collector: serve surveys."""

from __future__ import annotations

import logging
import os
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import click

from encoders.errors import LdpError
from ldp_aggregator.cli import surveys, transfer
from ldp_aggregator.cli.config import ReadAgain, origins, read_again, read_config
from ldp_aggregator.cli.store_option import durability_option
from ldp_aggregator.cli.tokens import tokens
from ldp_aggregator.collector.service import GATEWAY_TOKEN_VARIABLE
from ldp_aggregator.collector.serving import logs
from ldp_aggregator.collector.serving.rate_limit import MOST, Network
from ldp_aggregator.collector.startup import Offer, prepare
from ldp_aggregator.training_sources import TOKEN_VARIABLE


def _address(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    if text is None:
        return None
    port = text.rpartition(":")[2]
    if ":" not in text or not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise click.BadParameter("is HOST:PORT with a port from 0 to 65535, for example 127.0.0.1:8000")
    return text


def _networks(
    _context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise click.BadParameter("is an address or a network, for example 10.1.0.2 or 10.1.0.0/24") from error


@click.group(context_settings={"auto_envvar_prefix": "LDP_COLLECTOR"})
def main() -> None:
    """Collect randomised reports, each counted exactly once."""


@main.command(cls=ReadAgain)
@click.argument(
    "surveys",
    nargs=-1,
    required=True,
    envvar="LDP_COLLECTOR_SERVE_SURVEYS",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--config",
    is_eager=True,  # before what it gives defaults to
    callback=read_config,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A TOML file with these settings, named as here: store, bind, workers, ... and surveys.",
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
@click.option(
    "--operator-bind",
    callback=_address,
    help="HOST:PORT where the operator's pages answer, and nowhere else; by default they do at --bind.",
)
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1, 64), help="Processes.")
@click.option(
    "--threads", default=16, show_default=True, type=click.IntRange(1, 64), help="Threads of each process."
)
@durability_option
@click.option(
    "--allow-open-redis", is_flag=True, help="Use a Redis over the network that asks for no password."
)
@click.option(
    "--rate",
    default=0,
    show_default=True,
    type=click.IntRange(0, MOST),
    help="Reports that each worker takes from one address in a minute, each in a request of its own; "
    "0: any number.",
)
@click.option(
    "--trusted-proxy",
    multiple=True,
    callback=_networks,
    metavar="ADDRESS",
    help="A proxy whose X-Forwarded-For is believed; may be repeated. --rate behind a proxy needs it.",
)
@click.option(
    "--operator-token-file",
    envvar=f"{TOKEN_VARIABLE}_FILE",
    type=click.Path(path_type=Path),  # looked for later: a token in its place is not to be shown
    help=f"Holds the operator's token; used rather than {TOKEN_VARIABLE}.",
)
@click.option(
    "--gateway-token-file",
    envvar=f"{GATEWAY_TOKEN_VARIABLE}_FILE",
    type=click.Path(path_type=Path),
    help=f"Holds the gateways' token, which lifts --rate; used rather than {GATEWAY_TOKEN_VARIABLE}.",
)
@click.option("--show-settings", is_flag=True, help="Say what would be used, and from where; serve nothing.")
@click.pass_context
def serve(context: click.Context, /, **settings: Any) -> None:
    """Serve SURVEYS (TOML files or compiled plans) until stopped; SIGHUP reads them and the settings again.

    An author's signature beside one (survey.toml.sig, see ldp-survey sign) is served with it, unchecked:
    a collector knows no author's key.

    What is for the operator, the live page at / and /snapshot and /estimates of each survey, opens to the
    token in the environment variable LDP_OPERATOR_TOKEN, or in a file. Tokens have at least 16 characters.

    Options win over environment variables (LDP_COLLECTOR_SERVE_STORE, ...), those over the --config file.
    """
    if settings["show_settings"]:
        _show(context)
        return
    from ldp_aggregator.collector.serving.server import (  # late: gunicorn is slow to import
        Work,
        require_addresses,
    )
    from ldp_aggregator.collector.serving.server import serve as run

    addresses = {f"--{name.replace('_', '-')}": settings[name] for name in _ADDRESSES if settings[name]}
    try:
        offer = prepare(settings)
        require_addresses(addresses)
    except LdpError as error:
        raise click.ClickException(str(error)) from error

    def work_of(offer: Offer) -> Work:
        names = [plan.id for plan in offer.plans]
        return Work(offer.make_app, names, offer.settings["workers"], offer.settings["threads"])

    def renew() -> Work:
        again, fixed = read_again(context), {name: settings[name] for name in _FOR_GOOD}
        for name in _FOR_GOOD:
            if again[name] != fixed[name]:
                logs.tell("restart-needed", logging.WARNING, setting=name)
        return work_of(prepare(again | fixed))

    run(work_of(offer), renew, settings["bind"], partial(_announce, offer), settings["operator_bind"])


_ADDRESSES = ("bind", "operator_bind")
_FOR_GOOD = ("store", *_ADDRESSES)
"""Settings that only a new start changes: devices and counts would be in two places."""


def _announce(offer: Offer, addresses: list[str]) -> None:
    """Say what is served, and where."""
    for plan in offer.plans:
        click.echo(f"{addresses[0]}/v1/surveys/{plan.id}  epsilon {plan.epsilon}  digest {plan.digest}")
        if plan.id in offer.signatures:
            click.echo("  with a signature, not checked here: only those who have the author's key can")
    page = addresses[1] if addresses[1:] else "this address"
    click.echo(f"the page / of {page} shows the operator how they are doing")
    click.echo(f"counting into {_without_password(offer.settings['store'])}")
    click.echo(offer.promise)
    if offer.token is None:
        click.echo(f"estimates and snapshots are closed: set {TOKEN_VARIABLE} to open them to its holder")


def _show(context: click.Context) -> None:
    """Print each setting and where it comes from, without the secrets."""
    for name, origin in origins(context).items():
        value = context.params[name]
        if name == "store":
            value = _without_password(value)
        told = " ".join(map(str, value)) if isinstance(value, tuple) else value
        click.echo(f"{name} = {told}  ({origin})")
    for owner, variable in (("operator", TOKEN_VARIABLE), ("gateway", GATEWAY_TOKEN_VARIABLE)):
        if context.params[f"{owner}_token_file"] is None:
            known = "set" if os.environ.get(variable) else "not set"
            click.echo(f"the {owner}'s token is {known}  (environment, {variable})")


for _command in (*surveys.COMMANDS, *transfer.COMMANDS, tokens):
    main.add_command(_command)


def _without_password(url: str) -> str:
    """Return a store's URL fit for the screen, however it is misspelt."""
    scheme, found, rest = url.partition("://")
    place = rest.rpartition("@")[2].partition("?")[0]
    return f"{scheme}://{place}" if found and not place.startswith(":") else "(not the URL of a store)"
