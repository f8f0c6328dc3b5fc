"""The survey file of the studio: its text, what is not saved yet, undo, and other programs' changes.

Edits go to a draft in the user's state folder, which survives the end of the studio; saving replaces the
file atomically. If another program changes the file meanwhile, neither version is lost: the author chooses
one, and the other is written beside the file.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from contextlib import suppress
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
    text : str
        What the author sees, with LF line ends.
    conflict : bytes or None
        The content that another program wrote while there were edits; None if there is no conflict.
    problem : str
        Why the draft cannot be written; empty if it can.
    """

    def __init__(self, path: Path, state_folder: Path) -> None:
        self.path = path.resolve()
        state_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:20]
        self._draft = state_folder / f"{name}.toml"
        self._lock = lock(state_folder / f"{name}.lock", self.path.name)
        self.text = self.problem = self.notice = self.kept = ""
        self.saved: bytes | None = None
        self.conflict: bytes | None = None
        self.undo_texts: list[str] = []
        self.redo_texts: list[str] = []
        self._prefix, self._line_end = b"", b"\n"
        self._load()

    def _load(self) -> None:
        self.saved = self._read_file()
        self.text = self._decode(self.saved or b"")
        with suppress(FileNotFoundError):
            base, _, draft = self._draft.read_bytes().partition(b"\n")
            self.text, self.notice = draft.decode(), "draft"
            if base.decode() != _digest(self.saved):
                self.conflict = self.saved if self.saved is not None else None
        if self.text == self._decode(self.saved or b"") and self.saved is not None:
            self._forget_draft()
            self.notice, self.conflict = "", None

    @property
    def exists(self) -> bool:
        """Whether the file was there when it was last read or saved."""
        return self.saved is not None

    @property
    def is_saved(self) -> bool:
        """Whether the file contains what the author sees."""
        return self.saved is not None and self.conflict is None and self._encode() == self.saved

    def change(self, text: str) -> None:
        """Take a new text; the former one can be restored."""
        if len(text.encode()) > MAX_TEXT_BYTES:
            raise WorkFileError("the survey would have more than 4 MB: it was not changed")
        if text == self.text:
            return
        self.undo_texts.append(self.text)
        while sum(map(len, self.undo_texts)) > _MAX_UNDO_BYTES:
            del self.undo_texts[0]
        self.redo_texts.clear()
        self._replace(text)

    def undo(self) -> None:
        """Restore the text before the last change."""
        if self.undo_texts:
            self.redo_texts.append(self.text)
            self._replace(self.undo_texts.pop())

    def redo(self) -> None:
        """Take back the last undo."""
        if self.redo_texts:
            self.undo_texts.append(self.text)
            self._replace(self.redo_texts.pop())

    def _replace(self, text: str) -> None:
        self.text, self.notice = text, ""
        if self.is_saved:
            self._forget_draft()
            return
        try:
            write_atomically(self._draft, f"{_digest(self.saved)}\n{text}".encode())
            self.problem = ""
        except OSError as error:
            self.problem = str(error.strerror)

    def look(self) -> bool:
        """Look whether another program has changed the file; return whether anything is new."""
        found = self._read_file()
        if found == self.saved or (found is not None and found == self.conflict):
            return False
        if found is None:  # deleted: the next save writes it again
            self.saved, self.notice = None, "deleted"
            self._replace_notice("deleted")
            return True
        if self.is_saved or found == self._encode():
            text = self._decode(found)
            self.saved = found
            if text != self.text:
                self.undo_texts.append(self.text)
                self.text, self.notice = text, "reloaded"
            self._forget_draft()
        else:
            self.conflict = found
        return True

    def _replace_notice(self, notice: str) -> None:
        self._replace(self.text)
        self.notice = notice

    def save(self) -> None:
        """Write the file; raises WorkFileError if it cannot be written, or another program has changed it."""
        self.look()
        if self.conflict is not None:
            raise WorkFileError("another program has changed the file: choose a version first")
        content = self._encode()
        _write(self.path, content)
        self.saved, self.notice = content, ""
        self._forget_draft()

    def resolve(self, *, keep_mine: bool) -> None:
        """End a conflict: take one version, and write the other beside the file."""
        if self.conflict is None:
            raise WorkFileError("there is nothing to choose: the file was not changed by another program")
        theirs = self.conflict
        kept = self._free_name("other" if keep_mine else "mine")
        _write(kept, theirs if keep_mine else self._encode())
        self.saved, self.conflict = theirs, None
        if keep_mine:
            self._replace(self.text)
            self.save()
        else:
            self.change(self._decode(theirs))
        self.kept = kept.name

    def _free_name(self, word: str) -> Path:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        names = (
            f"{self.path.stem}.{word}-{stamp}{end}{self.path.suffix}"
            for end in ("", *map(chr, range(97, 123)))
        )
        return next(each for name in names if not (each := self.path.with_name(name)).exists())

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

    def _forget_draft(self) -> None:
        with suppress(OSError):
            self._draft.unlink(missing_ok=True)


def state_folder() -> Path:
    """Return the folder of drafts of this user (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "ldp-survey-studio"


def lock(path: Path, name: str) -> int:
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


def _write(path: Path, content: bytes) -> None:
    try:
        write_atomically(path, content, public=True, durable=True)
    except OSError as error:
        raise WorkFileError(f"{path.name}: {error.strerror}") from error
