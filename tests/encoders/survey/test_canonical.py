"""Canonical JSON has one encoding per document and refuses all others."""

import pytest

from encoders.canonical import dump_canonical_json, load_canonical_json
from tests.support.mistakes import refuse


def test_a_document_has_one_spelling():
    document = {"b": [1, "x", None, True], "a": {"ü": "\u2028", "Z": 0}}
    assert dump_canonical_json(document) == '{"a":{"Z":0,"ü":"\u2028"},"b":[1,"x",null,true]}'.encode()
    assert load_canonical_json(dump_canonical_json(document)) == document


@pytest.mark.parametrize(
    "data",
    [
        *(
            b"",
            b"{",
            b'{"a":1}\n',
            b' {"a":1}',
            b'{"a": 1}',
            b'{"b":1,"a":1}',
            b'{"a":1,"a":1}',
            b'{"a":1.0}',
        ),
        *(
            b"1e3",
            b"-0",
            b"NaN",
            b"-Infinity",
            b"01",
            b'"\\u0061"',
            b'"\\/"',
            b'"\\ud800"',
            b'"\xff"',
            b"'a'",
        ),
        *("ü".encode("latin-1"), '"a"'.encode("utf-16"), b"\xef\xbb\xbf1", b"[" * 100_000, b"1" * 5000),
    ],
)
def test_another_spelling_is_refused(data):
    refuse(data, load_canonical_json)
