"""Bad plans whose text is not the canonical JSON of a plan."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tools.vectors.plan_mistakes.honest import text_of


def spellings() -> Iterator[tuple[str, str]]:
    text = text_of()
    document = json.loads(text)
    yield "empty text", ""
    yield "no object", "[]"
    yield "null", "null"
    yield "truncated", text[:-1]
    yield "a line feed behind it", text + "\n"
    yield "a byte order mark", "\ufeff" + text
    yield "a second object behind it", text + "{}"
    yield "white space between entries", json.dumps(document, sort_keys=True)
    yield "keys in another order", json.dumps(dict(reversed(document.items())), separators=(",", ":"))
    yield (
        "a key twice, the first ignored",
        text.replace('{"epsilon":"1",', '{"epsilon":"9","epsilon":"1",', 1),
    )
    yield "an escape that is not needed", text.replace("young", "\\u0079oung")
    yield "a slash escaped", text.replace("young", "yo\\/ung")
    yield "half a surrogate pair", text.replace("young", "\\ud83d")
    yield "a float", text.replace('"format":1', '"format":1.0')
    yield "an exponent", text.replace('"format":1', '"format":1e0')
    yield "NaN", text.replace('"weight":1', '"weight":NaN', 1)
