"""Opens sealed messages of relays (see :mod:`encoders.survey.sealing`), and loads the private keys for it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from encoders.errors import Reason, ReportError
from encoders.report import unpack
from encoders.survey import Plan
from encoders.survey.plan_files import key_path
from encoders.survey.sealing import SealError, column_bytes
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.unsealing import PrivateKey, load_private_key, open_inner
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.stores import Store
from ldp_aggregator.stores.schedule import Phase, Schedule, read_schedule

DELIVERY_SECONDS = 86_400
"""How long after its closing time a relay may take to pass on what it holds."""


class OpenedMessages(NamedTuple):
    """The reports in the messages of one request, and the messages that are refused."""

    reports: list[bytes]
    """In the order of the body. Each is one report in the wire format, which may still be invalid."""
    columns: list[int]
    refused: list[tuple[int, Reason]]
    """Column and reason of each message that does not open, or has not one report of its column and wave."""


def open_messages(plan: Plan, body: bytes, key: PrivateKey, wave: int | None = None) -> OpenedMessages:
    """Open the messages of one request with the collector's key of this survey.

    The body is concatenated records. A record is one message of each column; these are messages of different
    people. `wave` is the index of the wave of all messages. Raises ReportError if the body is not a number of
    whole records.
    """
    sizes, count = column_bytes(plan), len(plan.questions)
    first = (wave or 0) * count
    record = sum(sizes)
    if not body or len(body) % record:
        what = f"records of {record} bytes" if plan.asks_all else f"messages of {record} bytes"
        raise ReportError(Reason.MALFORMED, f"the body is not a number of {what}")
    opened, end = OpenedMessages([], [], []), 0
    for column, size in enumerate(sizes * (len(body) // record)):
        column, start, end = column % len(sizes), end, end + size
        try:
            report = open_inner(plan, body[start:end], key, column)
            asked = unpack(report).question - first  # two short reports fit into one message
            if (plan.asks_all and asked != column) or (plan.waves and not 0 <= asked < count):
                raise ReportError(Reason.WRONG_QUESTION)
        except SealError:
            opened.refused.append((column, Reason.BAD_SEAL))
        except ReportError as error:
            opened.refused.append((column, error.reason))
        else:
            opened.reports.append(report)
            opened.columns.append(column)
    return opened


def load_keys(files: Iterable[tuple[Path, Plan | SiloPlan]], store: Store) -> dict[str, PrivateKey]:
    """Load the private keys of the surveys with a relay, each from beside its survey's file.

    The key of a closed survey may be missing, because its operator may have deleted it. Raises KeyFileError
    if a file cannot be read or is not a key, and SettingsError if a key is missing or is not the plan's, or
    if the survey closes before its relay has delivered.
    """
    keys = {}
    for path, plan in files:
        if not plan.relay:
            continue
        schedule, file = read_schedule(store, plan.id), key_path(path)
        is_closed = schedule.phase(time.time()) is Phase.CLOSED
        if not file.exists():
            if is_closed:
                continue
            raise SettingsError(
                f"{file.name}: there is no such file; it must have the private key of {plan.id}, which "
                "`ldp-collector key` wrote"
            )
        key = load_private_key(file)
        if key.public_key != plan.relay.collector_key:
            raise SettingsError(
                f"{file.name}: this is not the private key of {plan.id}: give the one whose public key is "
                "relay.collector_key"
            )
        if closes_early(plan, schedule) and not is_closed:
            raise SettingsError(
                f"{plan.id} closes before its relay has passed on all reports: run ldp-collector close "
                f"{plan.id} with a time a day after relay.closes, or with --grace"
            )
        keys[plan.id] = key
    return keys


def closes_early(plan: Plan | SiloPlan, schedule: Schedule) -> bool:
    """Return whether a survey stops taking reports less than a day after its relay closes."""
    if not plan.relay or schedule.closes is None:
        return False
    return schedule.closes + schedule.grace < plan.relay.closes + DELIVERY_SECONDS
