"""The survey file of the studio: its text, what is not saved yet, undo, and other programs' changes.

Edits go to a draft in the user's state folder, which survives the end of the studio; saving replaces the
file atomically. If another program changes the file meanwhile, neither version is lost: the author chooses
one, and the other is written beside the file.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from encoders.errors import LdpError
from ldp_aggregator.atomic_file import write_atomically

MAX_TEXT_BYTES = 4_000_000
_MAX_UNDO_BYTES = 20_000_000
_BOM, _CRLF = b"\xef\xbb\xbf", b"\r\n"


class WorkFileError(LdpError):
    """A survey file that cannot be read, saved, or worked on."""


class WorkFile:
    """A survey file and its draft; the caller serialises all calls.

    Attributes
    ----------
    saved : bytes or None
        The content of the file when it was last read or written; None if there was no file.
    conflict : bytes or None
        The content that another program wrote while there were edits; None if there is no conflict.
    problem : str
        Why the draft cannot be written; empty if it can.
    notice : str
        What happened to the file: "draft", "deleted", "reloaded" or "".
    kept : str
        The name of the file with the version that was not chosen.
    """

    def __init__(self, path: Path, state_folder: Path) -> None:
        self.path = path.resolve()
        state_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:20]
        self._draft = state_folder / f"{name}.toml"
        self._lock = _lock(state_folder / f"{name}.lock", self.path.name)
        self.problem = self.notice = self.kept = ""
        self.saved, self.conflict = self._read_file(), None
        self._texts, self._place = [self._decode(self.saved or b"")], 0
        with suppress(FileNotFoundError):
            base, _, draft = self._draft.read_bytes().partition(b"\n")
            if draft.decode() != self.text or self.saved is None:
                self._texts, self._place, self.notice = [self.text, draft.decode()], 1, "draft"
                self.conflict = self.saved if base.decode() != _digest(self.saved) else None

    @property
    def text(self) -> str:
        """What the author sees, with LF line ends."""
        return self._texts[self._place]

    @property
    def can_move(self) -> dict[str, bool]:
        """Whether there are a former and a later text."""
        return {"undo": self._place > 0, "redo": self._place < len(self._texts) - 1}

    @property
    def is_saved(self) -> bool:
        """Whether the file contains what the author sees."""
        return self.saved is not None and self.conflict is None and self._encode() == self.saved

    def change(self, text: str) -> None:
        """Take a new text; the former one can be restored."""
        if len(text.encode()) > MAX_TEXT_BYTES:
            raise WorkFileError("the survey would have more than 4 MB: it was not changed")
        if text != self.text:
            self._texts[self._place + 1 :] = [text]
            while sum(map(len, self._texts)) > _MAX_UNDO_BYTES and len(self._texts) > 1:
                del self._texts[0]
            self._go(len(self._texts) - 1)

    def undo(self) -> None:
        """Restore the text before the last change."""
        self._go(max(self._place - 1, 0))

    def redo(self) -> None:
        """Take back the last undo."""
        self._go(min(self._place + 1, len(self._texts) - 1))

    def _go(self, place: int, notice: str = "") -> None:
        """Show a text, and keep it as a draft unless it is saved."""
        self._place, self.notice, self.problem = place, notice, ""
        try:
            if self.is_saved:
                self._draft.unlink(missing_ok=True)
            else:
                write_atomically(self._draft, f"{_digest(self.saved)}\n{self.text}".encode())
        except OSError as error:
            self.problem = str(error.strerror)

    def look(self) -> bool:
        """Look whether another program has changed the file; return whether anything is new."""
        found = self._read_file()
        if found == self.saved or (found is not None and found == self.conflict):
            return False
        if found is None:  # deleted: the next save writes it again
            self.saved = self.conflict = None
            self._go(self._place, "deleted")
        elif self.is_saved or found == self._encode():
            text, self.saved, self.conflict = self._decode(found), found, None
            notice = "reloaded" if text != self.text else ""
            self.change(text)
            self._go(self._place, notice)
        else:
            self.conflict = found
        return True

    def save(self) -> None:
        """Write the file; raises WorkFileError if it cannot be written, or another program has changed it."""
        self.look()
        if self.conflict is not None:
            raise WorkFileError("another program has changed the file: choose a version first")
        self.saved = _write(self.path, self._encode())
        self._go(self._place)

    def resolve(self, *, keep_mine: bool) -> None:
        """End a conflict: take one version, and write the other beside the file."""
        if self.conflict is None:
            raise WorkFileError("there is nothing to choose: the file was not changed by another program")
        theirs, word = self.conflict, "other" if keep_mine else "mine"
        stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
        kept = self.path.with_name(f"{self.path.stem}.{word}-{stamp}{self.path.suffix}")
        _write(kept, theirs if keep_mine else self._encode())
        self.saved, self.conflict, self.kept = theirs, None, kept.name
        if keep_mine:
            self.save()
        else:
            self.change(self._decode(theirs))

    def close(self) -> None:
        """Release the file for another studio."""
        os.close(self._lock)

    # -- bytes -----------------------------------------------------------------------------------------

    def _read_file(self) -> bytes | None:
        try:
            with self.path.open("rb") as file:
                content = file.read(MAX_TEXT_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise WorkFileError(f"{self.path.name}: cannot be read: {error.strerror}") from error
        if len(content) > MAX_TEXT_BYTES:
            raise WorkFileError(f"{self.path.name}: has more than 4 MB, so it is no survey file")
        return content

    def _decode(self, content: bytes) -> str:
        self._prefix = _BOM if content.startswith(_BOM) else b""
        self._line_end = _CRLF if _CRLF in content else b"\n"
        try:
            return content.removeprefix(_BOM).replace(_CRLF, b"\n").decode()
        except UnicodeDecodeError as error:
            raise WorkFileError(f"{self.path.name}: is not UTF-8 text, so it is no survey file") from error

    def _encode(self) -> bytes:
        return self._prefix + self.text.encode().replace(b"\n", self._line_end)


def state_folder() -> Path:
    """Return the folder of drafts of this user (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "ldp-survey-studio"


def _lock(path: Path, name: str) -> int:
    """Lock a file until the process ends; raises WorkFileError if another studio has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise WorkFileError(f"{name} is open in another studio: use that one, or end it first") from error
    return descriptor


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> bytes:
    try:
        write_atomically(path, content, public=True, durable=True)
    except OSError as error:
        raise WorkFileError(f"{path.name}: {error.strerror}") from error
    return content
