"""Errors can be printed on a terminal, whatever they quote."""

from encoders.errors import LdpError, RowError, SurveyError


def test_control_characters_of_a_quoted_text_are_escaped():
    assert str(LdpError("caf\u00e9 \x1b]0;title\x07\nline two\u202e")) == (
        "caf\u00e9 \\x1b]0;title\\x07\nline two\\u202e"
    )
    assert str(SurveyError("is unknown", "a\x1bb")) == r"a\x1bb: is unknown"
    assert str(RowError("a\tb", "is missing")) == r"a\tb: is missing"
