"""ldp-collector export, merge, import, backup: writes and adds snapshots, and copies surveys."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from encoders.explain.text import Counted
from encoders.progress import show_progress
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli import file_options
from ldp_aggregator.cli.help import Command, argument, option
from ldp_aggregator.cli.surveys import describe_losses, survey_argument
from ldp_aggregator.damage import find_damage
from ldp_aggregator.migrate import back_up, migrate_survey
from ldp_aggregator.snapshot import (
    read_snapshot,
    read_stored_plan,
    require_different,
    sum_snapshots,
    take_snapshot,
)
from ldp_aggregator.stores import MemoryStore, Store, StoreError, StorePolicy, open_store
from ldp_aggregator.stores.failure import LostReportsError
from ldp_aggregator.stores.operator_log import BACKED_UP, local_account, write_log
from ldp_aggregator.stores.schedule import format_time, read_schedule
from ldp_aggregator.stores.store import count_reports
from ldp_aggregator.training_sources import open_existing_store

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(cls=Command)
@survey_argument
@option("-o", "--output", type=file_options.OutputFile(), required=True, help="The snapshot to write.")
@file_options.store_option
def export(survey: str, url: str, output: Path) -> None:
    """Write a snapshot of SURVEY to a file.

    The snapshot is all that ldp-train and ldp-results need.

    $ ldp-collector export health-2027 -o snapshot.json
    """
    file_options.require_no_input(output, [url])
    with closing(open_existing_store(url)) as store:
        snapshot = take_snapshot(store, survey)
        write_atomically(output, snapshot.to_json())
        _log_copy(store, "export", "exported", survey)
    click.echo(f"{Counted(snapshot.total(), 'report')} of {survey} in {output}")


def _log_copy(store: Store, copy: str, what: str, survey: str = "") -> None:
    try:
        write_log(store, local_account(), what, survey)
    except StoreError as error:  # a store that cannot be written can still be rescued
        click.echo(f"the {copy} is not in the operator's log: {error}", err=True)


@click.command(cls=Command)
@argument(
    "snapshots", nargs=-1, required=True, type=_FILE, help="Snapshots of one plan, or of one survey's rounds."
)
@option("-o", "--output", type=file_options.OutputFile(), required=True, help="The snapshot to write.")
def merge(snapshots: tuple[Path, ...], output: Path) -> None:
    """Add up SNAPSHOTS.

    No report may be in two snapshots. Snapshots with equal counters are refused, because they are copies.

    $ ldp-collector merge north.json south.json -o snapshot.json
    """
    file_options.require_no_input(output, snapshots)
    if len({path.resolve() for path in snapshots}) < len(snapshots):
        raise click.ClickException(
            "a snapshot is given twice, so its reports would count twice: give it once"
        )
    read = [read_snapshot(path.read_bytes(), str(path)) for path in snapshots]
    require_different(dict(zip(map(str, snapshots), read, strict=True)))
    pooled = sum_snapshots(read)
    write_atomically(output, pooled.to_json())
    click.echo(f"{Counted(pooled.total(), 'report')} of {pooled.plan.id} in {output}")


@click.command("import", cls=Command)
@survey_argument
@option(
    "--from",
    "source",
    envvar="LDP_OLD_STORE",
    metavar="URL",
    show_envvar=True,
    required=True,
    help="The old store. It is only read.",
)
@option(
    "--store",
    "url",
    envvar=file_options.STORE_VARIABLE,
    metavar="URL",
    show_envvar=True,
    required=True,
    help="The new store.",
)
@file_options.durability_option
@option(
    "--accept-loss",
    is_flag=True,
    help="Copy what is left in a store that has lost reports, or restore a backup. Results will state the "
    "loss.",
)
def import_(survey: str, source: str, url: str, durability: str, accept_loss: bool) -> None:
    """Copy SURVEY to another store.

    Copies the survey's plan, texts, times, tokens and counters, and the ids of all its reports.

    Stop the collectors of the old store first. This command checks only that the totals do not change; it
    cannot check that the collectors are stopped. Until everything is copied, collectors on the new store
    refuse reports, and devices send them again later. If the import is interrupted, or reports that the old
    store changed, run the same command again. After a finished import it does nothing.

    $ ldp-collector import health-2027 --from sqlite:///ldp.db --store redis://127.0.0.1:6379/0
    $ ldp-collector import health-2027 --from sqlite:///backup.db --store sqlite:///new.db --accept-loss
    """
    if source == url:
        raise click.ClickException("--from and --store are the same store: nothing to copy")
    with closing(open_existing_store(source, read_only=True)) as old:
        read_stored_plan(old, survey)  # before the new store is made
        with closing(open_store(url)) as new:
            if isinstance(new, MemoryStore):
                raise StoreError(
                    "memory:// loses everything on a restart: import into sqlite:///FILE or Redis"
                )
            new.check_durability(StorePolicy(durability, allow_open=True))
            damage, length = find_damage(old).get(survey), count_reports(old.totals(survey))
            with show_progress("importing", length, "reports") as progress:
                reports = migrate_survey(old, new, survey, progress.advance, accept_loss=accept_loss)
            write_log(new, local_account(), "imported", survey, f"{Counted(reports, 'report')}")
            notes = (
                [f"the old store had lost data of {damage.what}"]
                if isinstance(damage, LostReportsError)
                else []
            )
            notes += describe_losses(survey, None, read_schedule(new, survey))
    click.echo(
        f"the new store has {Counted(reports, 'report')} of {survey}. Run collectors on the new store only: "
        "never serve both."
    )
    for note in notes:
        click.echo(f"{survey}: {note}")
    if accept_loss and not notes:
        click.echo("the old store has lost nothing, so --accept-loss had no effect")


@click.command(cls=Command)
@option("-o", "--output", type=file_options.OutputFile(), required=True, help="The new SQLite file.")
@file_options.store_option
def backup(url: str, output: Path) -> None:
    """Copy all surveys to a new file while collectors run.

    Copies the same as import to a SQLite file, and leaves out surveys that have lost data. No collector
    serves it, because it is marked as a backup: to restore it, import each survey into a new store. Reports
    that are acknowledged later than the command was started may be missing in it. It contains the ids of all
    reports, so protect it like the store.

    $ ldp-collector backup -o backup-2027-02-15.db
    $ ldp-collector backup -o backup.db --store redis://127.0.0.1:6379/0
    """
    with closing(open_existing_store(url)) as store:
        damage = find_damage(store)
        surveys = store.plans().keys() - damage.keys()
        if damage and not surveys:
            raise next(iter(damage.values()))
        length = sum(count_reports(store.totals(survey)) for survey in surveys)
        with show_progress("copying", length, "reports") as progress:
            made = back_up(store, output, progress.advance, damage)
        _log_copy(store, "backup", BACKED_UP)
    click.echo(
        f"{Counted(len(surveys), 'survey')} in {output}, a backup of {format_time(made)} UTC. To restore "
        f"one: ldp-collector import ID --from sqlite:///{output} --store NEW --accept-loss"
    )
    if damage:
        raise click.ClickException("; ".join(f"{survey} is not in it: {damage[survey]}" for survey in damage))


COMMANDS = (export, merge, import_, backup)
