"""The settings of a collector: the error names the invalid one."""

import pytest

from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.settings import CollectorSettings
from tests.support.access import access


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("bind", "127.0.0.1"),
        ("bind", "127.0.0.1:65536"),
        ("operator_bind", "localhost:http"),
        ("workers", 0),
        ("threads", 65),
        ("rate", -1),
        ("rate", 60_001),
        ("max_body", 0),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(setting, value):
    with pytest.raises(SettingsError, match=f"^{setting} must be "):
        CollectorSettings(**{setting: value})


def test_tokens_must_differ_from_each_other_and_from_the_operator_token():
    with pytest.raises(SettingsError, match="the tokens operator and gateway are equal: make another"):
        CollectorSettings(operator_token="a" * 16, tokens=(access("gateway", "a" * 16),))
    with pytest.raises(SettingsError, match="the tokens relay and metrics are equal"):
        CollectorSettings(tokens=(access("relay", "a" * 16), access("metrics", "a" * 16)))


def test_the_tokens_are_not_in_the_repr():
    token = access("gateway", "b" * 16)
    settings = CollectorSettings(operator_token="a" * 16, tokens=(token,))
    assert len(settings.all_tokens) == 2
    assert not any(each in repr(settings) for each in ("aaaa", "bbbb", token.sha256))


def test_addresses_are_listed_by_option():
    assert CollectorSettings(bind="127.0.0.1:0").addresses == {"--bind": "127.0.0.1:0"}
    both = CollectorSettings(bind="127.0.0.1:0", operator_bind="127.0.0.1:8001")
    assert list(both.addresses.items()) == [("--bind", "127.0.0.1:0"), ("--operator-bind", "127.0.0.1:8001")]
