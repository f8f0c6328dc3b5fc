"""Edit one entry of a JSON document, and write it as a model file with a valid checksum."""

import hashlib
import json
from typing import Any

DELETED = object()
"""The value that deletes an entry."""
Path_ = tuple[str | int, ...]


def put(document: Any, path: Path_, value: object) -> None:
    """Replace or delete one entry."""
    for name in path[:-1]:
        document = document[name]
    if value is DELETED:
        del document[path[-1]]
    else:
        document[path[-1]] = value


def dump(document: Any) -> bytes:
    """Return canonical JSON, as far as the edit has a canonical form."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if not text.isprintable():  # half of a surrogate pair has no UTF-8 form
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return text.encode()


def signed(content: Any) -> bytes:
    """Return the bytes of a model file, its checksum made to fit."""
    return dump({**content, "checksum": hashlib.sha256(dump(content)).hexdigest()})
