"""What an operator does beside serving: look, open and close a survey, take its totals away."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import reduce
from operator import add
from pathlib import Path

import click

from encoders.errors import LdpError
from encoders.randomness import SystemEntropy
from encoders.survey import Plan
from encoders.survey.layout import table
from ldp_aggregator.collector.enrolment import create_tokens, created
from ldp_aggregator.collector.windows import Phase, Window, windows_of
from ldp_aggregator.moving import ARRIVING, move
from ldp_aggregator.snapshot import Snapshot, take_snapshot
from ldp_aggregator.sources import open_existing
from ldp_aggregator.stores import MemoryStore, Policy, Store, StoreError, open_store
from ldp_aggregator.stores.base import no_survey

_DAY = 86_400
_FILE = click.Path(dir_okay=False, path_type=Path)
_store = click.option(
    "--store", "url", default="sqlite:///ldp.db", show_default=True, help="Where it counts."
)
_at = click.option(
    "--at", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"]), help="In UTC; now by default."
)
durability_option = click.option(
    "--durability",
    type=click.Choice(["always", "everysec", "unchecked"]),
    default="always",
    show_default=True,
    help="What Redis must promise: on disk before it is acknowledged; within a second; not checked.",
)


@contextmanager
def _opened(url: str, opening: Callable[[str], Store] = open_existing) -> Iterator[Store]:
    """Open a store, by default one that exists; errors are for people."""
    try:
        store = opening(url)
        try:
            yield store
        finally:
            store.close()
    except (LdpError, OSError) as error:
        raise click.ClickException(str(error)) from error


@click.command()
@_store
def status(url: str) -> None:
    """List the surveys of a store: phase, times (UTC), reports, rejections, tokens."""
    with _opened(url) as store:
        windows, rows = (
            windows_of(store),
            [["survey", "phase", "opens", "closes", "grace", "reports", "rejected", "tokens"]],
        )
        for survey in sorted(store.plans()):
            window = windows.get(survey, Window())
            reports = sum(total.n for total in store.totals(survey).values())
            rejected = sum(store.rejections(survey).values())
            times = [_told(window.opens), _told(window.closes), f"{window.grace / _DAY:g} days"]
            tokens = f"{made:,}" if (made := created(store, survey)) else "-"
            phase = "arriving" if window == ARRIVING else window.phase(time.time())
            rows.append([survey, phase, *times, f"{reports:,}", f"{rejected:,}", tokens])
    click.echo("\n".join(table(rows, "<<<<>>>>")) if len(rows) > 1 else "the store holds no survey yet")


@click.command("open")
@click.argument("survey")
@_store
@_at
def open_(survey: str, url: str, at: datetime | None) -> None:
    """Open SURVEY, now or later; until then its plan is not given. It stays open until it is closed."""
    with _opened(url) as store:
        former = windows_of(store).get(survey, Window())
        _set(store, survey, Window(opens=_seconds(at)))
        if former.closes is not None:
            click.echo(f"its close, {_told(former.closes)}, no longer holds: close it anew")


@click.command()
@click.argument("survey")
@_store
@_at
@click.option(
    "--grace",
    type=click.IntRange(0, 3650),
    default=0,
    show_default=True,
    help="Days in which reports are still taken.",
)
def close(survey: str, url: str, at: datetime | None, grace: int) -> None:
    """Close SURVEY, now or later: its plan is no longer given, and after the grace no report is taken.

    Devices that were offline report within the grace; what comes later is refused, and deleted there.
    """
    with _opened(url) as store:
        window, closes = windows_of(store).get(survey, Window()), _seconds(at)
        if at and window.opens is not None and closes <= window.opens:
            raise click.ClickException(f"{survey} opens {_told(window.opens)}, which is later")
        opens = None if window.phase(time.time()) is Phase.WAITING and not at else window.opens
        _set(store, survey, Window(opens, closes, grace * _DAY))


@click.command()
@click.argument("survey")
@_store
@click.option("-o", "--output", type=_FILE, required=True, help="The snapshot to write.")
def export(survey: str, url: str, output: Path) -> None:
    """Write everything that training needs of SURVEY to a file, which ldp-train reads."""
    with _opened(url) as store:
        snapshot = take_snapshot(store, survey)
        _write(output, snapshot)
    click.echo(f"{_reports(snapshot):,} reports of {survey} in {output}")


@click.command()
@click.argument("snapshots", nargs=-1, required=True, type=_FILE)
@click.option("-o", "--output", type=_FILE, required=True, help="The snapshot to write.")
def merge(snapshots: tuple[Path, ...], output: Path) -> None:
    """Add SNAPSHOTS of one plan, from collectors that counted different reports, into one."""
    try:
        if len({path.resolve() for path in snapshots}) < len(snapshots):
            raise click.ClickException("a snapshot is named twice: its reports would count twice")
        if output.resolve() in [path.resolve() for path in snapshots]:
            raise click.ClickException(
                "the output is one of the snapshots: merged again, it would count twice"
            )
        total = reduce(add, map(_read, snapshots))
        _write(output, total)
    except (LdpError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{_reports(total):,} reports of {total.plan.id} in {output}")


@click.group()
def tokens() -> None:
    """Invite people to a survey whose file says enrolment = "token"."""


@tokens.command()
@click.argument("survey")
@_store
@click.option("--count", type=click.IntRange(1, 10_000_000), required=True, help="How many people to invite.")
def create(survey: str, url: str, count: int) -> None:
    """Print new tokens for SURVEY, one a line: each lets one person answer once, a question it names.

    They are shown this once: the store keeps hashes. Whoever knows a token can answer with it, and whoever
    knows whom it was given to can tell her report; so treat the list as you would passwords. They hold at
    the collectors that serve this very store.
    """
    with _opened(url) as store:
        plan = _plan_of(store, survey)
        if not plan.by_invitation:
            raise click.ClickException(
                f'anybody may answer {survey}: give a new survey [survey] enrolment = "token" to invite to it'
            )
        for token in create_tokens(store, plan, count, SystemEntropy()):
            click.echo(token)


@click.command("import")
@click.argument("survey")
@click.option("--from", "source", required=True, help="The store that it leaves; it is only read.")
@click.option("--store", "url", required=True, help="The store that it goes to.")
@durability_option
def import_(survey: str, source: str, url: str, durability: str) -> None:
    """Move SURVEY to another store: its plan, times, tokens, counters, and the ids of all its reports.

    Stop the collectors that count into the old store first; that they are stopped cannot be seen from here,
    only that the totals stood still. Until all has arrived, collectors on the new store tell devices to come
    again. Cut off, or refused because the old store changed: run the same command again.
    """
    with _opened(source) as old, _opened(url, open_store) as new:
        if isinstance(new, MemoryStore):
            raise StoreError("memory:// forgets everything: import into sqlite:///FILE or a Redis")
        new.promise(Policy(durability, allow_open=True))
        length = sum(total.n for total in old.totals(survey).values())
        with click.progressbar(length=length, label="importing", file=sys.stderr) as bar:
            reports = move(old, new, survey, bar.update)
    click.echo(f"{reports:,} reports of {survey} are in the new store; now start collectors on it")


COMMANDS = (status, open_, close, export, merge, import_, tokens)


def _plan_of(store: Store, survey: str) -> Plan:
    plans = store.plans()
    if survey not in plans:
        raise no_survey(survey, plans)
    return Plan.from_json(plans[survey])


def _set(store: Store, survey: str, window: Window) -> None:
    if windows_of(store).get(survey) == ARRIVING:
        raise click.ClickException(f"{survey} has not arrived here: run its import again, to the end")
    store.set_window(survey, window.to_json())
    phase = window.phase(time.time())
    said = {
        Phase.WAITING: f"opens {_told(window.opens)}",
        Phase.OPEN: f"open, closes {_told(window.closes)}" if window.closes else "open",
        Phase.GRACE: f"closed; reports are taken for {window.grace / _DAY:g} days more",
        Phase.CLOSED: "closed",
    }
    click.echo(f"{survey}: {said[phase]}")


def _read(path: Path) -> Snapshot:
    try:
        return Snapshot.from_json(path.read_bytes())
    except LdpError as error:
        raise click.ClickException(f"{path}: {error}") from error


def _write(path: Path, snapshot: Snapshot) -> None:
    """Write a whole file or none: a full disk must not cost the old one."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(snapshot.to_json())
    os.replace(part, path)


def _seconds(at: datetime | None) -> int:
    return int(at.replace(tzinfo=UTC).timestamp()) if at else int(time.time())


def _told(seconds: int | None) -> str:
    return "-" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def _reports(snapshot: Snapshot) -> int:
    return sum(total.n for total in snapshot.totals.values())
