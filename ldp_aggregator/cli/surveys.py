"""ldp-collector status, open, close, tokens: lists the surveys of a store, schedules them, invites people."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from typing import Any

import click

from encoders.errors import SurveyError
from encoders.explain.text import format_table
from encoders.randomness import SystemEntropy
from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.cli.file_options import Count, store_option
from ldp_aggregator.cli.help import Command, Group, argument, json_option, option
from ldp_aggregator.collector.invitations import count_tokens, create_tokens
from ldp_aggregator.collector.sealed_reports import closes_early
from ldp_aggregator.damage import find_damage
from ldp_aggregator.snapshot import read_stored_plan
from ldp_aggregator.stores import Store, operator_log
from ldp_aggregator.stores.failure import CounterError, describe_loss
from ldp_aggregator.stores.schedule import (
    Phase,
    Schedule,
    format_time,
    read_all_schedules,
    read_schedule,
    require_usable,
)
from ldp_aggregator.stores.store import SCHEDULES, count_reports
from ldp_aggregator.training_sources import open_existing_store

_DAY_SECONDS = 86_400


def _read_time(_context: click.Context, _parameter: click.Parameter, text: str | None) -> datetime | None:
    """Return a time in UTC; name a wrong format and a date that does not exist separately."""
    if text is None:
        return None
    if not re.fullmatch(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d)?", text, re.ASCII):
        raise click.BadParameter(
            f"{text!r} is not YYYY-MM-DD or YYYY-MM-DDTHH:MM, for example 2027-02-15T18:00"
        )
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: this date or time does not exist") from error


_at_option = option(
    "--at",
    callback=_read_time,
    metavar="TIME",
    show_default="now",
    help="The time in UTC: YYYY-MM-DD or YYYY-MM-DDTHH:MM.",
)
survey_argument = argument("survey", help="The id of a survey in the store.")
_wave_option = option("--wave", metavar="NAME", help="A wave of the survey; the others stay as they are.")


@click.command(cls=Command)
@store_option
@json_option
def status(url: str, as_json: bool) -> None:
    """List the surveys of a store and their reports.

    Prints each survey's phase, its times in UTC, and its numbers of reports, rejected reports and tokens. If
    the store has lost reports, or is a backup, it says so.

    $ ldp-collector status
    $ ldp-collector status --store redis://127.0.0.1:6379/0
    $ ldp-collector status --json
    """
    with closing(open_existing_store(url)) as store:
        schedules, tombstones = read_all_schedules(store), operator_log.read_tombstones(store)
        due = operator_log.read_deletion_dates(store)
        found: list[dict[str, Any]] = []
        plans, damage = store.plans(), find_damage(store)
        for survey in sorted((plans.keys() | damage.keys()) - tombstones.keys()):
            schedule = schedules.get(survey, Schedule())
            phase = "arriving" if schedule.import_run else schedule.phase(time.time())
            phase = phase if survey in plans else "lost"
            found.append(
                {
                    "survey": survey,
                    "phase": "backup" if schedule.backup else phase,
                    "opens": schedule.opens,
                    "closes": schedule.closes,
                    "grace": schedule.grace / _DAY_SECONDS,
                    "reports": count_reports(schedule.correct(store.totals(survey))),
                    "rejected": sum(store.rejections(survey).values()),
                    "tokens": count_tokens(store, survey),
                    "delete_by": due.get(survey),
                    "notes": list(describe_losses(survey, damage.get(survey), schedule)),
                }
            )
    if as_json:
        found += [{"survey": name, "phase": "deleted"} | each._asdict() for name, each in tombstones.items()]
        click.echo(json.dumps(found, default=str))
        return
    if found:
        click.echo("\n".join(format_table([list(found[0])[:-2], *map(_format_status, found)], "<<<<>>>>")))
    elif not tombstones:
        click.echo("the store does not contain a survey yet")
    lines = [f"{each['survey']}: {note}" for each in found for note in each["notes"]]
    for survey, day in sorted(due.items()):
        late = " (overdue)" * (day <= datetime.now(UTC).date())
        lines.append(f"{survey}: to be deleted by {day}{late}, says about.retention")
    for survey, tombstone in sorted(tombstones.items()):
        rest = "" if tombstone.complete else f", but not completely: run ldp-collector delete {survey} again"
        lines.append(f"{survey}: deleted on {tombstone.date}{rest}")
    click.echo("".join(f"{line}\n" for line in lines), nl=False)


def describe_losses(survey: str, damage: CounterError | None, schedule: Schedule) -> Iterator[str]:
    """Yield sentences on what a survey lost, now or before it was imported."""
    if damage:
        yield str(damage).replace("the store has lost", "THE STORE HAS LOST")
    if schedule.lost:
        yield f"lost before it was imported: {describe_loss(survey, schedule.loss)}"
    if schedule.restored:
        times = " and ".join(f"{format_time(each)} UTC" for each in schedule.restored)
        yield f"restored from a backup of {times}; reports that were acknowledged later are lost"
    for wave, end in schedule.closed_waves.items():
        yield f"the wave {wave} takes no reports from {format_time(end)} UTC, as its operator has closed it"
    if schedule.backup:
        yield f"a backup of {format_time(schedule.backup)} UTC, which can only be imported"


def _format_status(status: dict[str, Any]) -> list[str]:
    """Return the cells of a survey's row."""
    survey, phase, opens, closes, grace, *counts, tokens, _, _ = status.values()
    times = [_format_time(opens), _format_time(closes), f"{grace:g} days"]
    return [survey, phase, *times, *(f"{each:,}" for each in counts), f"{tokens:,}" if tokens else "-"]


@click.command("open", cls=Command)
@survey_argument
@store_option
@_at_option
@_wave_option
def open_(survey: str, url: str, at: datetime | None, wave: str | None) -> None:
    """Open SURVEY now or at a time.

    The survey stays open until it is closed. Its plan is not served before it opens. With --wave, a wave that
    was closed takes reports again while it lasts.

    $ ldp-collector open health-2027
    $ ldp-collector open health-2027 --at 2027-02-15T18:00
    """
    with closing(open_existing_store(url)) as store:
        former = read_schedule(store, survey)
        if wave:
            if at:
                raise click.UsageError("a wave opens at the time in the plan: leave --at out")
            _find_wave(read_stored_plan(store, survey), wave)
            open_waves = {name: end for name, end in former.closed_waves.items() if name != wave}
            new, what = replace(former, closed_waves=open_waves), f"the wave {wave} is not closed"
            _set_schedule(store, survey, new, "opened", what)
            return
        was_open = survey in store.plans() and former.phase(time.time()) is Phase.OPEN
        _set_schedule(store, survey, replace(former, opens=_seconds(at), closes=None, grace=0), "opened")
        if was_open and _seconds(at) > time.time():
            reports = count_reports(store.totals(survey))
            kept = (
                f"; its {reports:,} {'report is' if reports == 1 else 'reports are'} kept" if reports else ""
            )
            click.echo(f"the survey was open: until it opens again, reports are refused{kept}")
        if former.closes is not None:
            click.echo(
                f"its closing time, {_format_time(former.closes)}, is cancelled: run ldp-collector close to "
                "set another"
            )


@click.command(cls=Command)
@survey_argument
@store_option
@_at_option
@option(
    "--grace",
    type=click.IntRange(0, 3650),
    metavar="DAYS",
    default=0,
    help="The number of days after closing for which reports are still accepted.",
)
@_wave_option
def close(survey: str, url: str, at: datetime | None, grace: int, wave: str | None) -> None:
    """Close SURVEY now or at a time.

    From then on the plan is not served. Devices that made a report while they were offline can send it
    within the grace period. Later reports are refused, and devices delete them. With --wave, only the reports
    of this wave are refused, as if it were over.

    $ ldp-collector close health-2027
    $ ldp-collector close health-2027 --at 2027-03-01 --grace 7
    $ ldp-collector close mood-2027 --wave 2027-03
    """
    with closing(open_existing_store(url)) as store:
        schedule, closes = read_schedule(store, survey), _seconds(at)
        if wave:
            _find_wave(read_stored_plan(store, survey), wave)
            end = closes + grace * _DAY_SECONDS
            new = replace(schedule, closed_waves={**schedule.closed_waves, wave: end})
            what = f"the wave {wave} takes no reports from {_format_time(end)}"
            _set_schedule(store, survey, new, "closed", what)
            return
        if at and schedule.opens is not None and closes <= schedule.opens:
            raise click.ClickException(
                f"{survey} opens {_format_time(schedule.opens)}, which is after this time: give a later --at"
            )
        opens = None if schedule.phase(time.time()) is Phase.WAITING and not at else schedule.opens
        new = replace(schedule, opens=opens, closes=closes, grace=grace * _DAY_SECONDS)
        _set_schedule(store, survey, new, "closed")
        with suppress(SurveyError):  # a plan of another version has no relay that this one knows
            if closes_early(read_stored_plan(store, survey), new):
                click.echo(
                    "its relay may not have passed on all reports by then, and the rest will be refused: "
                    "close the survey at the earliest a day after relay.closes"
                )


COMMANDS = (status, open_, close)


def _set_schedule(store: Store, survey: str, schedule: Schedule, what: str, wave: str = "") -> None:
    """Store a schedule, print and log it; `wave` says what is changed about a wave."""
    operator_log.require_living(store, survey)
    require_usable(store, survey)
    store.set_note(SCHEDULES, survey, schedule.to_json())
    phase = schedule.phase(time.time())
    states = {
        Phase.WAITING: f"opens {_format_time(schedule.opens)}",
        Phase.OPEN: f"open, closes {_format_time(schedule.closes)}" if schedule.closes else "open",
        Phase.GRACE: "closed; reports that devices made before are accepted until "
        + _format_time((schedule.closes or 0) + schedule.grace),
        Phase.CLOSED: "closed",
    }
    state = wave or states[phase]
    click.echo(f"{survey}: {state}")
    operator_log.write_log(store, operator_log.local_account(), what, survey, state)


def _seconds(at: datetime | None) -> int:
    return int(at.timestamp()) if at else int(time.time())


def _format_time(seconds: int | None) -> str:
    return "-" if seconds is None else format_time(seconds)


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
@option("--wave", metavar="NAME", help="The wave that the tokens are for, in a survey with waves.")
@store_option
def create(survey: str, url: str, count: int, wave: str | None) -> None:
    """Print new tokens for SURVEY, one per line.

    Each token lets one person answer one question once. The token determines the question. In a silo
    survey, each token lets one organisation send one message.

    Tokens are shown only once, because the store keeps only their hashes. Anyone who knows a token can answer
    with it, and anyone who knows to whom it was given can recognise that person's report, so protect the list
    like passwords. Tokens are valid only at collectors that use this store.

    $ ldp-collector tokens create health-2027 --count 500
    $ ldp-collector tokens create health-2027 --count 500 --store redis://127.0.0.1:6379/0
    $ ldp-collector tokens create mood-2027 --count 500 --wave 2027-03
    """
    with closing(open_existing_store(url)) as store:
        plan, closed = read_stored_plan(store, survey), require_usable(store, survey).closed_waves
        if not plan.by_invitation:
            raise click.ClickException(
                f'{survey} is open to everyone: to invite people, write a new survey with enrolment = "token"'
            )
        index = _find_wave(plan, wave, closed)
        operator_log.write_log(store, operator_log.local_account(), "invited", survey, f"{count:,} tokens")
        for token in create_tokens(store, plan, count, SystemEntropy(), index):
            click.echo(token)


def _find_wave(
    plan: Plan | SiloPlan, name: str | None, closed: Mapping[str, int] | None = None
) -> int | None:
    """Return the index of a wave, with `closed` of one that is not over; None in a survey without waves."""
    waves = plan.waves if isinstance(plan, Plan) else None
    if waves and name is None:
        names = ", ".join(each.name for each in waves.list)
        raise click.ClickException(f"give the wave that the tokens are for, with --wave: {names}")
    if name is None:
        return None
    if waves is None:
        raise click.ClickException("the survey has no waves: leave --wave out")
    index = waves.find(name)
    if closed is not None and time.time() >= min(waves.list[index].closes, closed.get(name, inf)):
        raise click.ClickException(f"the wave {name} is over: give a later one with --wave")
    return index
