"""ldp-collector delete, log: deletes a survey with a receipt; lists what operators did."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import click

from encoders.explain.text import Counted, format_table
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import OutputFile, require_no_input, store_option
from ldp_aggregator.cli.help import Command, json_option, option
from ldp_aggregator.cli.surveys import survey_argument
from ldp_aggregator.deletion import delete_survey
from ldp_aggregator.stores.operator_log import LogEntry, local_account, read_log
from ldp_aggregator.training_sources import open_existing_store

_REMAINING = (
    "backups, replicas and all other copies of the store, and snapshots of its disk or machine",
    "snapshots, models and results that were made from the survey, wherever they are",
    "archives of raw reports, messages that a relay still holds, and the journals of devices",
)
_REMAINING_BY_STORE = {
    "sqlite": "blocks of the disk that the file system no longer uses. In the file, the data are overwritten "
    "with zeros once all collectors have emptied its log (15 seconds); VACUUM makes the file smaller",
    "redis": "the append-only file of each server until the rewrite that this command has requested is "
    "finished (INFO persistence: aof_rewrite_in_progress:0), and RDB files",
}


@click.command(cls=Command)
@survey_argument
@option("--even-open", is_flag=True, help="Delete the survey although it is not closed.")
@option("-o", "--output", type=OutputFile(), show_default="standard output", help="The receipt to write.")
@store_option
def delete(survey: str, url: str, even_open: bool, output: Path | None) -> None:
    """Delete SURVEY for ever, and write a receipt.

    Deletes the survey's plan, texts, times, counters and tokens, and the ids of its reports. The store keeps
    the survey's id, the digest of its plan and the date. The id cannot be used again. Collectors may run;
    they refuse later reports, and devices delete them.

    The receipt lists what this command cannot delete, such as backups. If the command is interrupted, run it
    again. After a finished deletion it only writes the receipt again.

    $ ldp-collector delete health-2027 -o receipt.json
    """
    require_no_input(output, [url])
    with closing(open_existing_store(url)) as store:
        found = delete_survey(store, survey, local_account(), even_open)
        exports = [each for each in read_log(store) if (each.survey, each.what) == (survey, "exported")]
    store_kind = "sqlite" if url.startswith("sqlite:") else "redis"
    receipt = {
        "survey": survey,
        "deleted": f"{datetime.fromtimestamp(found.pop('time'), UTC):%Y-%m-%dT%H:%M:%SZ}",
        **found,
        "store": "redis cluster" if url.startswith("redis+cluster:") else store_kind,
        "exports": [{"time": each.time, "who": each.who} for each in exports],
        "remaining": [*_REMAINING, _REMAINING_BY_STORE[store_kind]],
    }
    text = json.dumps(receipt, indent=2)
    if output is None:
        click.echo(text)
    else:
        write_atomically(output, f"{text}\n".encode())
        click.echo(f"deleted {survey} with {Counted(found['reports'], 'report')}; the receipt is {output}")


@click.command(cls=Command)
@store_option
@json_option
def log(url: str, as_json: bool) -> None:
    """List what operators did to the surveys of a store, and when.

    Prints the time in UTC, the local account or the name of the token, the action, and the survey.

    $ ldp-collector log
    $ ldp-collector log --json
    """
    with closing(open_existing_store(url, read_only=True)) as store:
        entries = read_log(store)
    if as_json:
        click.echo(json.dumps([each._asdict() for each in entries]))
    else:
        click.echo("\n".join(format_table([list(LogEntry._fields), *map(list, entries)], "<<<<<")))


COMMANDS = (delete, log)
