"""The content of a curator's ledger: what was spent on some rows, and the models that were finished."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

from encoders.canonical import dump_canonical_json
from ldp_aggregator.codec import from_json, to_json
from ldp_aggregator.wording.values import format_amount
from ldp_central.coded_rows import CentralError

FORMAT = "ldp-bayes central ledger"
VERSION = 3
"""Ledgers contain model files, so a new form of those is a new form of ledgers."""

LEAST_DELTA_CAP = Fraction(1, 10**9)
"""The total delta that a new ledger allows at least, so that linear models need no statement of it."""


class LedgerError(CentralError):
    """A ledger that cannot be used, or a training that it does not allow; nothing is released."""


@dataclass(frozen=True)
class TrainingRequest:
    rows: tuple[str, str]
    """Digests of the file and of the sorted rows, which must not leave the ledger. Either identifies the
    rows: a file with another blank line, or with rows in another order, has the same rows."""
    command: str
    """A digest of everything else that determines the training."""
    epsilon: Fraction
    delta: Fraction

    def has_rows_of(self, other: TrainingRequest) -> bool:
        return any(one == another for one, another in zip(self.rows, other.rows, strict=True))

    def is_repetition_of(self, other: TrainingRequest) -> bool:
        """Return whether two requests are one training, whatever the order of rows, and get one model."""
        return self.has_rows_of(other) and replace(self, rows=other.rows) == other


@dataclass(frozen=True)
class Entry:
    """An amount that was committed on a day (UTC), and the finished model if there is one."""

    request: TrainingRequest
    date: str
    model: str | None = None


@dataclass(frozen=True)
class Ledger:
    name: str
    """The curator's name for the rows."""
    adjacency: str
    rows_per_person: int
    """Amounts add up for these neighbours only, so all trainings share them."""
    cap: Fraction
    delta_cap: Fraction
    entries: tuple[Entry, ...] = ()

    @property
    def spent(self) -> Fraction:
        return sum((entry.request.epsilon for entry in self.entries), Fraction(0))

    @property
    def spent_delta(self) -> Fraction:
        return sum((entry.request.delta for entry in self.entries), Fraction(0))

    @property
    def edited(self) -> tuple[bool, ...]:
        """Whether the rows of each training differ from those of the training before it."""
        requests = [entry.request for entry in self.entries]
        pairs = zip(requests, requests[:1] + requests, strict=False)
        return tuple(not request.has_rows_of(before) for request, before in pairs)

    def find_model(self, request: TrainingRequest) -> bytes | None:
        """Return the finished model of a training, or None if it has not finished."""
        models = (entry.model for entry in self.entries if entry.request.is_repetition_of(request))
        found = next((model for model in models if model is not None), None)
        return None if found is None else found.encode()

    def add(self, entry: Entry) -> Self:
        return replace(self, entries=(*self.entries, entry))

    def check_caps(self, request: TrainingRequest) -> None:
        """Raise LedgerError if the amounts, with those of the last entry, exceed a cap."""
        if self.spent > self.cap:
            before = self.spent - request.epsilon
            raise LedgerError(
                f"epsilon {before} of {self.cap} is spent, and this training would spend {request.epsilon} "
                "more. Give a smaller --epsilon; a larger --cap weakens the promise to the people in the rows"
            )
        if self.spent_delta > self.delta_cap:
            amounts = (self.spent_delta - request.delta, self.delta_cap, request.delta)
            spent, cap, wanted = map(format_amount, amounts)
            raise LedgerError(
                f"delta {spent} of {cap} is spent, and this training would spend {wanted} more. "
                "Use the learner tree, or a smaller --delta; a larger --cap-delta weakens the promise to the "
                "people in the rows"
            )

    def finish(self, model: bytes) -> Self:
        return replace(self, entries=(*self.entries[:-1], replace(self.entries[-1], model=model.decode())))

    def dump(self) -> bytes:
        entries = [to_json(each.request) | {"date": each.date, "model": each.model} for each in self.entries]
        header = {"format": FORMAT, "version": VERSION, "entries": entries}
        content = to_json(replace(self, entries=())) | header
        return dump_canonical_json({**content, "checksum": _compute_checksum(content)}) + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Return the ledger in the bytes of a file; raise LedgerError for another version."""
        content = json.loads(data)
        if content["format"] != FORMAT or content.pop("checksum") != _compute_checksum(content):
            raise ValueError("it is not a ledger, or it was edited or damaged")
        if content["version"] != VERSION:
            raise LedgerError(
                f"the ledger has version {content['version']!r}, and only {VERSION} is supported: "
                "use the release that wrote it, or move it to another folder if it belongs to other rows"
            )
        requests = [from_json(TrainingRequest, each) for each in content["entries"]]
        pairs = zip(requests, content["entries"], strict=True)
        entries = tuple(Entry(request, each["date"], each["model"]) for request, each in pairs)
        return replace(from_json(cls, content | {"entries": []}), entries=entries)


def _compute_checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(dump_canonical_json(content)).hexdigest()
