"""ldp-collector tokens: creates invitations to a survey."""

from __future__ import annotations

import click

from encoders.randomness import SystemEntropy
from ldp_aggregator.cli.store_option import open_for_command, store_option
from ldp_aggregator.collector.invitations import create_tokens
from ldp_aggregator.snapshot import read_stored_plan
from ldp_aggregator.stores.schedule import require_complete_import


@click.group()
def tokens() -> None:
    """Invite people to a survey with enrolment = "token"."""


@tokens.command(short_help="Print new tokens for SURVEY, one per line.")
@click.argument("survey")
@store_option
@click.option(
    "--count",
    type=click.IntRange(1, 10_000_000),
    required=True,
    help="Number of people to invite, or of messages of silos: one token each.",
)
def create(survey: str, url: str, count: int) -> None:
    """Print new tokens for SURVEY, one per line: each lets one person answer one question once.

    The token determines the question. Tokens are shown only once, because the store keeps only their hashes.
    Anybody who knows a token can answer with it. Anybody who knows to whom a token was given can recognise
    that person's report. So protect the list like passwords. Tokens are valid only at collectors that use
    this store.

    In a survey of silos, each token lets one organisation send one message.
    """
    with open_for_command(url) as store:
        plan = read_stored_plan(store, survey)
        require_complete_import(store, survey)
        if not plan.by_invitation:
            raise click.ClickException(
                f'anybody may answer {survey}: to invite people, make a new survey with enrolment = "token"'
            )
        for token in create_tokens(store, plan, count, SystemEntropy()):
            click.echo(token)
