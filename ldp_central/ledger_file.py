"""Trains a curator's model once, and records it in a ledger beside the rows, as secret as they are.

A training has these steps, and a process may be killed between any two of them:

1. The amount is added to the ledger and synced to the disk. Before this, nothing is drawn.
2. The model is trained.
3. The model's bytes are added to the ledger and synced. Before this, nothing is released.
4. The bytes are returned, to be released.

A process killed before step 1 ends spent nothing. One killed before step 3 ends has spent the amount and
released nothing; the next training spends again. After step 3 the same request returns the same bytes. So the
ledger never states less than what was spent. Each step replaces the whole file atomically.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from ldp_aggregator.atomic_file import write_atomically
from ldp_central.curator_ledger import LEAST_DELTA_CAP, Entry, Ledger, LedgerError, TrainingRequest

SUFFIX = ".ledger"
LOCK_SUFFIX = ".lock"
_DAMAGED = (ValueError, TypeError, KeyError, AttributeError, RecursionError, ZeroDivisionError)


@dataclass(frozen=True)
class LedgerTerms:
    name: str
    adjacency: str
    rows_per_person: int
    cap: Fraction | None = None
    """A new total epsilon. Without it the total stays; that of a new ledger is the epsilon of its first
    training."""
    delta_cap: Fraction | None = None
    """A new total delta. Without it the total stays; that of a new ledger is the delta of its first
    training, and at least LEAST_DELTA_CAP."""
    rows_changed: bool = False
    """Whether the rows may differ from those of the earlier trainings. Their amounts still count."""


class Trained(NamedTuple):
    model: bytes
    ledger: Ledger
    is_repetition: bool
    """Whether an earlier training made the model, so that nothing more was spent."""


def find_ledger(rows: Path, name: str | None) -> tuple[Path, str]:
    """Return the path of the ledger beside a file of rows, with links resolved, and the name of the rows."""
    try:
        target = rows.resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError until Python 3.12
        raise LedgerError(f"{rows}: is a loop of symbolic links: give the path of the file itself") from error
    name = target.name if name is None else name
    if not name or not name.isprintable() or name != Path(name).name:
        raise LedgerError(
            "the name of the rows must be printable and valid as a file name: choose another --name"
        )
    if target.exists() and target.stat().st_nlink > 1:
        raise LedgerError(
            f"{rows}: the file has several hard links, and its ledger may be beside another one. Find them "
            "(find FOLDER -samefile FILE), and delete all but the one beside the ledger"
        )
    return target.with_name(name + SUFFIX), name


def train_once(
    path: Path, terms: LedgerTerms, request: TrainingRequest, make_model: Callable[[], bytes]
) -> Trained:
    """Return the model of a request; train it only if the ledger has no such model.

    `make_model` returns the UTF-8 bytes of a model file. It is called after the amount was committed, and if
    it fails, the amount stays spent.
    Raises LedgerError if the ledger is damaged, lost, read-only, in use or of other rows, if another ledger
    in the folder is of the same rows, or if the amount exceeds a cap.
    """
    with _lock(path) as lock:
        found = read_ledger(path)
        if found and not path.stat().st_mode & stat.S_IWUSR:
            raise LedgerError(
                f"{path}: is read-only, so the training cannot be recorded; make the file writable"
            )
        ledger = found or _make_ledger(terms, request)
        _check_terms(path, ledger, terms, request)
        finished = ledger.find_model(request)
        if finished is not None:
            return Trained(finished, ledger, is_repetition=True)
        _refuse_same_rows(path, request)
        ledger = _state_caps(ledger, terms).add(Entry(request, datetime.now(UTC).date().isoformat()))
        with _naming(path):
            ledger.check_caps(request)
        _write(path, ledger)  # 1. the amount, before anything is drawn
        _undo_if_same_rows(path, request, found)
        _mark(path, lock)
        model = make_model()  # 2.
        ledger = ledger.finish(model)
        _write(path, ledger)  # 3. the model, before it is released
        return Trained(model, ledger, is_repetition=False)  # 4.


def _make_ledger(terms: LedgerTerms, request: TrainingRequest) -> Ledger:
    return Ledger(
        name=terms.name,
        adjacency=terms.adjacency,
        rows_per_person=terms.rows_per_person,
        cap=request.epsilon,
        delta_cap=max(request.delta, LEAST_DELTA_CAP),
    )


def _state_caps(ledger: Ledger, terms: LedgerTerms) -> Ledger:
    return replace(
        ledger,
        cap=ledger.cap if terms.cap is None else terms.cap,
        delta_cap=ledger.delta_cap if terms.delta_cap is None else terms.delta_cap,
    )


def _check_terms(path: Path, ledger: Ledger, terms: LedgerTerms, request: TrainingRequest) -> None:
    if ledger.name != terms.name:
        raise LedgerError(f"{path}: is the ledger of other rows, called {ledger.name!r}: give another --name")
    if (ledger.adjacency, ledger.rows_per_person) != (terms.adjacency, terms.rows_per_person):
        raise LedgerError(
            f"{path}: its amounts are for adjacency {ledger.adjacency} and {ledger.rows_per_person} rows "
            "per person; amounts for another adjacency or number of rows cannot be added to them, so give "
            "the same"
        )
    if not terms.rows_changed and not all(entry.request.has_rows_of(request) for entry in ledger.entries):
        raise LedgerError(
            f"{path}: is the ledger of other rows. If these are the same people's rows after an edit, add "
            "--rows-changed; what was spent still counts. If they are other people's rows, give another "
            "--name"
        )


def _refuse_same_rows(path: Path, request: TrainingRequest) -> None:
    """Raise LedgerError if another ledger in the folder is of the same rows: amounts would not add up."""
    for other in sorted(path.parent.glob("*" + SUFFIX)):
        if other.name == path.name or other.is_symlink() or not other.is_file():
            continue
        with suppress(OSError, *_DAMAGED):  # what cannot be read is not known to be of these rows
            entries = _parse(other).entries
            if any(entry.request.has_rows_of(request) for entry in entries):
                raise LedgerError(
                    f"{path}: the same rows have the ledger {other.name}, whose amounts count, too. Give "
                    "the file and the --name of that ledger"
                )


def _undo_if_same_rows(path: Path, request: TrainingRequest, found: Ledger | None) -> None:
    """Look again for other ledgers of the same rows, and undo the last commit if there is one.

    Two first trainings under two names may each have found no other ledger. Each looks again after its
    commit, so at least one of them finds the other's. Nothing has been drawn, so nothing is spent.
    """
    try:
        _refuse_same_rows(path, request)
    except LedgerError:
        if found is None:
            path.unlink()
        else:
            _write(path, found)
        raise


@contextmanager
def _lock(path: Path) -> Iterator[int]:
    """Return a context in which no other process can use the ledger: the descriptor of the lock file."""
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(_lock_path(path), flags, 0o600)
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise LedgerError(f"{path}: another training uses this ledger; wait until it ends") from error
        yield descriptor
    finally:
        os.close(descriptor)


def _mark(path: Path, lock: int) -> None:
    """State in the lock file that there is a ledger, so that its loss is detected."""
    try:
        if not os.fstat(lock).st_size:
            os.write(lock, b"The ledger exists.\n")
    except OSError as error:
        raise _cannot_write(path, error) from error


def read_ledger(path: Path) -> Ledger | None:
    """Return a ledger, or None if there was none; raise LedgerError if it is lost, damaged or not private."""
    try:
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode):
            raise LedgerError(f"{path}: is not a regular file, so it cannot be a ledger: give another --name")
        if mode & 0o077:
            raise LedgerError(
                f"{path}: other users can read or write this ledger: set its mode to 0600 (chmod 600)"
            )
        return _parse(path)
    except FileNotFoundError:
        lock = _lock_path(path)
        if lock.exists() and lock.stat().st_size:
            raise LedgerError(
                f"{path}: the ledger is lost, because {lock.name} shows that there was one. Restore the "
                "ledger: without it, it is unknown what was spent"
            ) from None
        return None
    except OSError as error:
        raise LedgerError(f"{path}: cannot be read: {error.strerror}") from error
    except _DAMAGED as error:
        raise LedgerError(
            f"{path}: the ledger is damaged: {error}. Restore the ledger: without it, it is unknown what "
            "was spent"
        ) from error


def _parse(path: Path) -> Ledger:
    with _naming(path):
        return Ledger.parse(path.read_bytes())


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Return a context in which errors about a ledger name its file."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(f"{path}: {error}") from None


def _lock_path(path: Path) -> Path:
    return path.with_name(path.name + LOCK_SUFFIX)


def _write(path: Path, ledger: Ledger) -> None:
    try:
        write_atomically(path, ledger.dump(), durable=True)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> LedgerError:
    return LedgerError(f"{path}: the ledger cannot be written: {error.strerror}; nothing is released")
