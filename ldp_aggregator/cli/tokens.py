"""ldp-collector tokens: creates invitations to a survey."""

from __future__ import annotations

import click

from encoders.randomness import SystemEntropy
from ldp_aggregator.cli.amounts import Count
from ldp_aggregator.cli.help import Group, option
from ldp_aggregator.cli.store_option import open_for_command, store_option
from ldp_aggregator.cli.surveys import survey_argument
from ldp_aggregator.collector.invitations import create_tokens
from ldp_aggregator.snapshot import read_stored_plan
from ldp_aggregator.stores.schedule import require_complete_import


@click.group(cls=Group)
def tokens() -> None:
    """Invite people to a survey with enrolment = "token".

    $ ldp-collector tokens create health-2027 --count 500
    """


@tokens.command()
@survey_argument
@option(
    "--count",
    type=Count(1, 10_000_000),
    required=True,
    help="The number of tokens: one for each person, or for each message of a silo.",
)
@store_option
def create(survey: str, url: str, count: int) -> None:
    """Print new tokens for SURVEY, one per line.

    Each token lets one person answer one question once. The token determines the question. In a silo
    survey, each token lets one organisation send one message.

    Tokens are shown only once, because the store keeps only their hashes. Anyone who knows a token can answer
    with it, and anyone who knows to whom it was given can recognise that person's report, so protect the list
    like passwords. Tokens are valid only at collectors that use this store.

    $ ldp-collector tokens create health-2027 --count 500
    $ ldp-collector tokens create health-2027 --count 500 --store redis://127.0.0.1:6379/0
    """
    with open_for_command(url) as store:
        plan = read_stored_plan(store, survey)
        require_complete_import(store, survey)
        if not plan.by_invitation:
            raise click.ClickException(
                f'{survey} is open to everyone: to invite people, write a new survey with enrolment = "token"'
            )
        for token in create_tokens(store, plan, count, SystemEntropy()):
            click.echo(token)
