"""What an operator does beside serving: look at the surveys of a store, open and close them."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import click

from encoders.text_table import format_table
from ldp_aggregator.cli.store_option import opened, store_option
from ldp_aggregator.collector.invitations import created
from ldp_aggregator.stores import Store
from ldp_aggregator.stores.schedule import (
    Phase,
    Schedule,
    read_all_schedules,
    read_schedule,
    require_complete_import,
)

_DAY = 86_400
_at = click.option(
    "--at", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"]), help="In UTC; now by default."
)


@click.command()
@store_option
def status(url: str) -> None:
    """List the surveys of a store: phase, times (UTC), reports, rejections, tokens."""
    with opened(url) as store:
        windows = read_all_schedules(store)
        rows = [["survey", "phase", "opens", "closes", "grace", "reports", "rejected", "tokens"]]
        for survey in sorted(store.plans()):
            window = windows.get(survey, Schedule())
            reports = sum(total.n for total in store.totals(survey).values())
            rejected = sum(store.rejections(survey).values())
            times = [_told(window.opens), _told(window.closes), f"{window.grace / _DAY:g} days"]
            tokens = f"{made:,}" if (made := created(store, survey)) else "-"
            phase = "arriving" if window.arriving else window.phase(time.time())
            rows.append([survey, phase, *times, f"{reports:,}", f"{rejected:,}", tokens])
    click.echo(
        "\n".join(format_table(rows, "<<<<>>>>")) if len(rows) > 1 else "the store holds no survey yet"
    )


@click.command("open")
@click.argument("survey")
@store_option
@_at
def open_(survey: str, url: str, at: datetime | None) -> None:
    """Open SURVEY, now or later; until then its plan is not given. It stays open until it is closed."""
    with opened(url) as store:
        former = read_schedule(store, survey)
        _set(store, survey, Schedule(opens=_seconds(at)))
        if former.closes is not None:
            click.echo(f"its close, {_told(former.closes)}, no longer holds: close it anew")


@click.command()
@click.argument("survey")
@store_option
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
    with opened(url) as store:
        window, closes = read_schedule(store, survey), _seconds(at)
        if at and window.opens is not None and closes <= window.opens:
            raise click.ClickException(f"{survey} opens {_told(window.opens)}, which is later")
        opens = None if window.phase(time.time()) is Phase.WAITING and not at else window.opens
        _set(store, survey, Schedule(opens, closes, grace * _DAY))


COMMANDS = (status, open_, close)


def _set(store: Store, survey: str, window: Schedule) -> None:
    require_complete_import(store, survey)
    store.set_schedule(survey, window.to_json())
    phase = window.phase(time.time())
    said = {
        Phase.WAITING: f"opens {_told(window.opens)}",
        Phase.OPEN: f"open, closes {_told(window.closes)}" if window.closes else "open",
        Phase.GRACE: f"closed; reports are taken for {window.grace / _DAY:g} days more",
        Phase.CLOSED: "closed",
    }
    click.echo(f"{survey}: {said[phase]}")


def _seconds(at: datetime | None) -> int:
    return int(at.replace(tzinfo=UTC).timestamp()) if at else int(time.time())


def _told(seconds: int | None) -> str:
    return "-" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
