"""The layer of once and afresh: the same bytes on every retry, other bytes from every copy of a process."""

from __future__ import annotations

import os
import warnings
from multiprocessing import get_context
from multiprocessing.connection import Connection

from encoders.survey import Plan
from ldp_audit.cases import Case
from ldp_audit.checks import FRESHNESS, Check
from ldp_audit.device import Device

_SECONDS = 60.0


def retries(device: Device, plan: Plan, case: Case) -> Check:
    """Look at all that one person's device posts while the network fails."""
    bodies = device.attempts(plan, case.row, case.label)
    good = len(bodies) > 1 and len(set(bodies)) == 1
    return Check(
        FRESHNESS, "a retry sends the same bytes", good, f"{len(bodies)} attempts, {len(set(bodies))} bodies"
    )


def forks(device: Device, plan: Plan, case: Case, copies: int) -> Check:
    """Let copies of this process report, each once; a generator's copied state would show.

    Its state is warmed up first, so that a pool read ahead is copied too.
    """
    name = f"{copies} forked copies of a process send different reports"
    if not hasattr(os, "fork"):
        return Check(FRESHNESS, name, True, "not tested: this system does not fork")
    device.report(plan, case.row, case.label)
    sent = {_from_a_copy(device, plan, case) for _ in range(copies)}
    different = len(sent - {b""})
    return Check(FRESHNESS, name, different == copies, f"{different} of {copies} are different")


def _from_a_copy(device: Device, plan: Plan, case: Case) -> bytes:
    """Return what a forked child sends, nothing if it sends nothing in time."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(there, device, plan, case), daemon=True)
    with warnings.catch_warnings():  # numpy may have started threads, which the child does without
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    there.close()
    try:
        return here.recv_bytes() if here.poll(_SECONDS) else b""
    except EOFError:
        return b""
    finally:
        here.close()
        child.kill()
        child.join()


def _send(end: Connection, device: Device, plan: Plan, case: Case) -> None:
    end.send_bytes(device.report(plan, case.row, case.label))
    end.close()
