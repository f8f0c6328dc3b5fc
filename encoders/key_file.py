"""Writes a private key to a new file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from encoders.errors import LdpError


def write_key_file(path: Path, pem: bytes, error_type: Callable[[str], LdpError]) -> None:
    """Write a private key to a new file of its owner alone, or raise what `error_type` makes."""
    descriptor = None
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
    except FileExistsError as error:
        raise error_type(
            f"{path.name}: already exists and is not replaced, because a lost key cannot be restored: give "
            "another KEYFILE"
        ) from error
    except OSError as error:
        if descriptor is not None:
            os.unlink(path)  # a part of a key is worth nothing
        raise error_type(f"{path.name}: cannot be written: {error.strerror}") from error
