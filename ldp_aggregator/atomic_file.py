"""Writing a file of results: whole or not at all, for its owner alone, never through a symbolic link."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

_PRIVATE = 0o600
_SQLITE_MAGIC = b"SQLite format 3\0"
_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace a file atomically.

    A new file can be read and written by its owner alone; one that is replaced keeps its mode.

    Parameters
    ----------
    path : path
    data : bytes

    Raises
    ------
    OSError
        If the path is a symbolic link, no regular file or a SQLite database, or cannot be written. What
        was there before is unchanged.
    """
    target = Path(path)
    mode = require_replaceable(target)
    # in the same folder, new, not following a link, and with a name that nobody can guess
    descriptor, partial = mkstemp(prefix=".", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(partial, mode)
        os.replace(partial, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise


def require_replaceable(path: str | os.PathLike[str]) -> int:
    """Return the mode that a file at this path is to have.

    Raises
    ------
    OSError
        If the path is a symbolic link, no regular file, or a SQLite database or a file that SQLite keeps
        beside it.
    """
    _require_no_database(Path(path))
    try:
        found = os.lstat(path).st_mode
    except FileNotFoundError:
        return _PRIVATE
    if stat.S_ISLNK(found):
        raise OSError(errno.ELOOP, "is a symbolic link; name the file itself", str(path))
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "is no regular file; name another one", str(path))
    return stat.S_IMODE(found)


def _require_no_database(path: Path) -> None:
    """Refuse a path of a SQLite database: a store would be lost with all its counters."""
    names = [path.name, *(path.name.removesuffix(suffix) for suffix in _SQLITE_SUFFIXES)]
    for database in {path.with_name(name) for name in names if name}:
        if not database.is_symlink() and database.is_file():
            with database.open("rb") as file:
                if file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC:
                    raise OSError(errno.EEXIST, "is a SQLite database; name another file", str(path))
