"""ldp-collector: serves surveys over HTTP, and counts each report exactly once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from encoders.explain.text import Counted
from encoders.late_imports import LateImport
from encoders.survey import Plan
from encoders.survey.unsealing import write_private_key
from ldp_aggregator.cli import config, deletion, surveys, transfer
from ldp_aggregator.cli.access import access
from ldp_aggregator.cli.file_options import INPUT_FILE, STORE_VARIABLE, Count, durability_option
from ldp_aggregator.cli.help import Command, Group, advanced_option, argument, option, version_option
from ldp_aggregator.cli.surveys import tokens
from ldp_aggregator.collector.access_tokens import Role
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.serving import logs
from ldp_aggregator.collector.serving.rate_limit import MAX_REQUESTS_PER_MINUTE
from ldp_aggregator.collector.settings import (
    MAX_PROCESSES,
    MAX_THREADS,
    CollectorSettings,
    check_address,
    parse_networks,
)
from ldp_aggregator.collector.startup import PublishedSurveys, publish_surveys
from ldp_aggregator.stores.shards import MAX_SHARDS
from ldp_aggregator.training_sources import TOKEN_VARIABLE

_SERVER = LateImport("ldp_aggregator.collector.serving.server")  # gunicorn is slow to import


def _checked_by(check: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a callback that checks an option as :class:`CollectorSettings` does; errors name the option."""

    def callback(_context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
        try:
            return check(value)
        except SettingsError as error:
            raise click.BadParameter(str(error)) from error

    return callback


@click.group(cls=Group, context_settings={"auto_envvar_prefix": "LDP_COLLECTOR"})
@version_option
def main() -> None:
    """Collect randomised reports, and count each report exactly once.

    $ ldp-collector serve survey.toml
    $ ldp-collector status
    $ ldp-collector close health-2027 --grace 7
    $ ldp-collector export health-2027 -o snapshot.json
    """


@main.command(cls=config.ReloadableCommand)
@argument(
    "surveys",
    nargs=-1,
    required=True,
    envvar="LDP_COLLECTOR_SERVE_SURVEYS",
    type=INPUT_FILE,
    help="TOML files or compiled plans.  [env var: LDP_COLLECTOR_SERVE_SURVEYS]",
)
@option(
    "--store",
    envvar=["LDP_COLLECTOR_SERVE_STORE", STORE_VARIABLE],
    default="sqlite:///ldp.db",
    metavar="URL",
    help="Where reports are counted: sqlite:///FILE, redis://HOST:PORT/DB, rediss:// (Redis over TLS), "
    "redis+cluster://HOST:PORT or unix:///SOCKET.",
)
@option(
    "--bind",
    default="127.0.0.1:8000",
    metavar="HOST:PORT",
    callback=_checked_by(check_address),
    help="The address to listen on. Port 0 chooses a free port.",
)
@option(
    "--operator-token-file",
    envvar=f"{TOKEN_VARIABLE}_FILE",
    type=click.Path(path_type=Path),  # opened later: if it is a token by mistake, it must not be printed
    help=f"The file with the operator's token. It overrides {TOKEN_VARIABLE}, which contains the token.",
)
@option(
    "--tokens",
    type=INPUT_FILE,
    help="The file of further tokens with roles: operator, analyst, metrics, relay, gateway "
    "(see ldp-collector access).",
)
@option(
    "--config",
    is_eager=True,  # before the options that it sets defaults of
    callback=config.read_config,
    type=INPUT_FILE,
    help="A TOML file with settings named like these options: store, bind, workers, ... and surveys.",
)
@option("--show-settings", is_flag=True, help="Print each setting and its source, and exit.")
@option(
    "--page",
    is_flag=True,
    help="Serve a page on which people answer, at /s/ID. For test runs: you then deliver the code that "
    "protects people from you.",
)
@advanced_option(
    "--operator-bind",
    metavar="HOST:PORT",
    callback=_checked_by(check_address),
    show_default="the address of --bind",
    help="The address that serves the operator's pages.",
)
@advanced_option(
    "--workers", default=2, type=click.IntRange(1, MAX_PROCESSES), help="The number of processes."
)
@advanced_option(
    "--threads",
    default=16,
    type=click.IntRange(1, MAX_THREADS),
    help="The number of threads of each process.",
)
@advanced_option(
    "--shards",
    type=click.IntRange(1, MAX_SHARDS),
    show_default="1 for a new survey",
    help="How many counters share the reports of a question, on different nodes of a Redis Cluster. A survey "
    "keeps the number with which it was published first.",
)
@durability_option
@advanced_option(
    "--allow-open-redis", is_flag=True, help="Allow a Redis on the network that does not require a password."
)
@advanced_option(
    "--rate",
    default=0,
    type=Count(0, MAX_REQUESTS_PER_MINUTE),
    help="The limit on single reports from one address, per minute and worker. 0 means no limit.",
)
@advanced_option(
    "--trusted-proxy",
    multiple=True,
    callback=_checked_by(parse_networks),
    metavar="ADDRESS",
    help="A proxy whose X-Forwarded-For is trusted. Needed for --rate behind a proxy. May be repeated.",
)
@advanced_option(
    "--proxy-refusals",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file to which the proxy adds one byte for each request that it refuses with 429; metrics show "
    "its size.",
)
@click.pass_context
def serve(context: click.Context, /, **options: Any) -> None:
    """Serve SURVEYS until stopped.

    SIGHUP reloads the surveys and the settings. Options override environment variables, and these override
    the file of --config.

    An author's signature beside a survey (survey.toml.sig, see ldp-survey sign) is served with it. The
    collector does not check it, because it does not have the author's key.

    A survey with a relay needs its private key beside it (plan.json.key, see ldp-collector key), and a token
    for the relay.

    The dashboard at / and the pages /snapshot and /estimates of each survey require the operator's
    token. Tokens have at least 16 characters.

    $ ldp-collector serve survey.toml
    $ ldp-collector serve survey.toml --operator-token-file token.txt
    $ ldp-collector serve survey.toml --page
    $ ldp-collector serve survey.toml --store redis://127.0.0.1:6379/0 --bind 0.0.0.0:8000 --workers 4
    $ ldp-collector serve --config collector.toml --show-settings
    """
    if options["show_settings"]:
        _print_settings(context)
        return
    server = _SERVER.load()
    settings = CollectorSettings.from_options(options)
    published = publish_surveys(
        settings, before_writing=partial(server.require_addresses, settings.addresses)
    )
    latest = published

    def publish_again() -> PublishedSurveys:
        nonlocal latest
        new = CollectorSettings.from_options(config.reload_options(context))
        fixed = {name: getattr(settings, name) for name in _FIXED_SETTINGS}
        for name, value in fixed.items():
            if getattr(new, name) != value:
                logs.log_event("restart-needed", logging.WARNING, setting=name)
        latest = publish_surveys(replace(new, **fixed), latest)
        return latest

    server.serve(published, publish_again, partial(_print_surveys, published))


_FIXED_SETTINGS = ("store", "bind", "operator_bind")
"""Settings that change only on restart; otherwise devices and counts would be in two places."""


def _print_surveys(published: PublishedSurveys, addresses: list[str]) -> None:
    for plan in published.plans:
        click.echo(f"{addresses[0]}/v1/surveys/{plan.id}  epsilon {plan.epsilon}  digest {plan.digest}")
        if published.settings.page and isinstance(plan, Plan):
            click.echo(f"  a page for a test run: {addresses[0]}/s/{plan.id}")
        if isinstance(plan, Plan) and plan.relay:
            click.echo(f"  its reports arrive through its relay, {plan.relay.url}")
        if plan.id in published.signatures:
            click.echo(
                "  with a signature, which the collector does not check, because it does not have "
                "the author's key"
            )
    page = addresses[1] if addresses[1:] else "this address"
    click.echo(f"the dashboard is / of {page}")
    click.echo(f"counting into {_without_password(published.settings.store)}")
    if published.new_store:
        click.echo("  a new, empty store")
    for survey, date in published.deleted.items():
        click.echo(f"  {survey} was deleted on {date}: remove its file from the surveys of this collector")
    for survey, count in [] if published.new_store else published.report_counts.items():
        click.echo(f"  {survey}: {Counted(count, 'report')} so far")
    for error in published.damaged.values():
        click.echo(f"  {error}")
    click.echo(published.guarantee)
    if published.settings.roles.isdisjoint([Role.OPERATOR, Role.ANALYST, Role.METRICS]):
        click.echo(
            f"the operator's pages are closed: no operator token is set ({TOKEN_VARIABLE}, "
            "--operator-token-file or --tokens)"
        )


def _print_settings(context: click.Context) -> None:
    """Print each setting and its source, without secrets; check that the tokens can be read."""
    for name, origin in config.setting_origins(context).items():
        value = context.params[name]
        if name == "store":
            value = _without_password(config.resolve_store_path(value, Path.cwd()))
        text = " ".join(map(_setting_text, value)) if isinstance(value, tuple) else _setting_text(value)
        click.echo(f"{name} = {text}  ({origin})")
    settings = CollectorSettings.from_options(context.params)
    file = context.params["operator_token_file"]
    source = f"file {file}" if file else f"environment, {TOKEN_VARIABLE}"
    click.echo(f"the operator's token is {'set' if settings.operator_token else 'not set'}  ({source})")
    for each in settings.tokens:
        expiry = f"expires {each.expires}" if each.expires else "does not expire"
        click.echo(f"the token {each.name} is for {each.role}, and {expiry}")


def _setting_text(value: object) -> str:
    return str(value.absolute() if isinstance(value, Path) else value)


@click.command(cls=Command)
@argument("keyfile", type=click.Path(path_type=Path), help="The new file for the private key.")
def key(keyfile: Path) -> None:
    """Make a key for a survey with a relay, and print the public key.

    The survey's author writes the public key into the survey file as relay.collector_key. Put KEYFILE beside
    the compiled plan: plan.json.key beside plan.json. Anyone who has it can read the reports that the relay
    holds, so give it to nobody, least of all to the relay. Keep a copy: without the key no report can be
    counted. Delete both when the relay's operator confirms that nothing waits any more.

    $ ldp-collector key plan.json.key
    """
    click.echo(write_private_key(keyfile))


for _command in (*surveys.COMMANDS, key, tokens, access, *transfer.COMMANDS, *deletion.COMMANDS):
    main.add_command(_command)


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    address = rest.rpartition("@")[2].partition("?")[0]
    return (
        f"{scheme}://{address}" if separator and not address.startswith(":") else "(not the URL of a store)"
    )
