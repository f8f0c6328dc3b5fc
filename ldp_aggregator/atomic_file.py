"""Writes result files atomically, and never through a symbolic link."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

_PRIVATE_MODE = 0o600
_PUBLIC_MODE = 0o666
"""The operating system takes the umask off it."""
_SQLITE_MAGIC = b"SQLite format 3\0"
_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")


def write_atomically(
    path: str | os.PathLike[str], data: bytes, *, public: bool = False, durable: bool = False
) -> None:
    """Write or replace a file atomically.

    A new file has the permissions of the umask if it is `public`; otherwise only its owner can read it. A
    replaced file keeps its permissions. If `durable`, the folder is synced too, so that the file survives a
    power failure after the return.
    Raises OSError if the path is a symbolic link, not a regular file or a SQLite database, or cannot be
    written. An existing file is then unchanged.
    """
    target = Path(path)
    existing_mode = require_replaceable(target)
    # a new file in the same folder, with a name that cannot be guessed
    partial = target.parent / f".{secrets.token_hex(16)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(partial, flags, _PUBLIC_MODE if public else _PRIVATE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if existing_mode is not None:
            os.chmod(partial, existing_mode)
        os.replace(partial, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(partial)
        if isinstance(error, OSError):
            raise OSError(error.errno, f"cannot be written: {error.strerror}", str(target)) from error
        raise
    if durable:
        sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_replaceable(path: str | os.PathLike[str]) -> int | None:
    """Return the permissions of a file, None if there is none; raise OSError if it may not be replaced."""
    _refuse_database(Path(path))
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "is a symbolic link; give the path of the file itself", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is not a regular file; give the path of another file", str(path))
    return stat.S_IMODE(mode)


def _refuse_database(path: Path) -> None:
    """Raise OSError for a file of a SQLite database, which may be a store with all its counters."""
    names = [path.name, *(path.name.removesuffix(suffix) for suffix in _SQLITE_SUFFIXES)]
    for database in {path.with_name(name) for name in names if name}:
        if not database.is_symlink() and database.is_file():
            with database.open("rb") as file:
                if file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC:
                    raise OSError(
                        errno.EEXIST,
                        "is a SQLite database, which would be lost: give another file",
                        str(path),
                    )
