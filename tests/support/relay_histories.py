"""Random histories of a relay: messages, repeats, withdrawals, floods, restarts, outages and wrong clocks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from ldp_relay.delivery import HourlyRelease
from ldp_relay.held_messages import HeldMessages, Outcome
from ldp_relay.relay_settings import RelayedSurvey
from tests.support.relays import RELAY, SMALL, relayed_plan

MESSAGE_BYTES = len(b"message 000000")
_PLAN = relayed_plan(SMALL)
_HOUR = 3600
_STEPS = 200


class History:
    """One relay, its clock, and what its collector has received.

    Parameters
    ----------
    seed : int
    folder : Path
        Receives the database.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self._draw = random.Random(seed)
        self._path = folder / f"{seed}.db"
        batch = self._draw.randint(2, 12)
        relay = replace(_PLAN.relay, batch=batch, opens=1, closes=1000 * _HOUR)
        self._survey = RelayedSurvey(
            replace(_PLAN, relay=relay), RELAY, "http://127.0.0.1:9/v1/surveys/s", "token", 0, codes=False
        )
        self._wall = self._monotonic = 990.0 * _HOUR
        self.sent: list[bytes] = []
        self.withdrawn: set[bytes] = set()
        self.batch_of: dict[bytes, int] = {}

    def run(self) -> Counter[str]:
        """Run all steps, and return how many of each kind; raise AssertionError if a promise is broken."""
        steps: dict[str, tuple[int, Callable[[], None]]] = {
            "message": (30, self._send),
            "repeat": (15, self._repeat),
            "withdrawal": (8, self._withdraw),
            "flood": (3, self._flood),
            "time": (25, self._pass_time),
            "clock": (6, self._set_clock),
            "restart": (5, self._restart),
            "delivery": (15, self._deliver),
        }
        done: Counter[str] = Counter()
        with ExitStack() as stack:
            for module in ("delivery", "held_messages"):
                stack.enter_context(patch(f"ldp_relay.{module}.time", lambda: self._wall))
            stack.enter_context(patch("ldp_relay.delivery.monotonic", lambda: self._monotonic))
            self._start()
            for _ in range(_STEPS):
                weights = [weight for weight, _ in steps.values()]
                [name] = self._draw.choices(list(steps), weights)
                steps[name][1]()
                done[name] += 1
            self._check_batches()
            done["passed on"] = len(self.batch_of)
        self._held.close()
        return done

    def _start(self) -> None:
        self._held = HeldMessages(self._path)
        self._release = HourlyRelease([self._survey], self._held, {})

    def _restart(self) -> None:
        self._held.close()
        self._start()

    def _send(self) -> None:
        self.sent.append(b"message %06d" % len(self.sent))
        self._hold(self.sent[-1])

    def _flood(self) -> None:
        for _ in range(self._draw.randint(5, 40)):
            self._send()

    def _repeat(self) -> None:
        if self.sent:
            self._hold(self._draw.choice(self.sent))

    def _hold(self, message: bytes) -> None:
        self._held.hold(self._survey.plan.digest, message, self._survey.relay.closes)

    def _withdraw(self) -> None:
        if not self.sent:
            return
        message = self._draw.choice(self.sent)
        outcome = self._held.withdraw(self._survey.plan.digest, message, self._survey.relay.closes)
        if outcome in (Outcome.NEW, Outcome.KNOWN):
            assert message not in self.batch_of
            self.withdrawn.add(message)

    def _pass_time(self) -> None:
        seconds = self._draw.choice([60, 1800, 3599, 3601, 7200])
        for _ in range(10):
            self._wall += seconds / 10
            self._monotonic += seconds / 10
            self._release_if_due(may_release=True)

    def _set_clock(self) -> None:
        self._wall += self._draw.choice([-1, 1]) * self._draw.choice([61, 1800, 3600, 36_000, 360_000])
        self._release_if_due(may_release=False)

    def _release_if_due(self, *, may_release: bool) -> None:
        before = self._held.counts(self._survey.plan.digest)["leaving"]
        self._release.release_if_due()
        after = self._held.counts(self._survey.plan.digest)["leaving"]
        assert may_release or after == before

    def _deliver(self) -> None:
        digest = self._survey.plan.digest
        for _ in range(self._draw.randint(1, 6)):
            passage = self._held.next_passage(digest, self._draw.randint(1, 7), [MESSAGE_BYTES])
            if passage is None:
                return
            is_received, is_marked = self._draw.random() < 0.8, self._draw.random() < 0.7
            if is_received:
                for each in self._messages(passage.body):
                    assert each not in self.withdrawn, "a withdrawn message has left"
                    assert self.batch_of.setdefault(each, passage.batch) == passage.batch, "in two batches"
            if is_received and is_marked:  # else the collector's answer is lost
                self._held.mark_passed_on(passage, {"recorded": passage.records}, [0])

    def _messages(self, body: bytes) -> list[bytes]:
        return [body[start : start + MESSAGE_BYTES] for start in range(0, len(body), MESSAGE_BYTES)]

    def _check_batches(self) -> None:
        sizes = [size for _, size, _ in self._held.batches(self._survey.plan.digest)]
        assert all(size >= self._survey.relay.batch for size in sizes), "a small batch"
        assert len(self.batch_of) <= sum(sizes)
