"""The settings of a collector: the error names the invalid one."""

import pytest

from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.settings import CollectorSettings


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


def test_the_gateway_token_must_differ_from_the_operator_token():
    with pytest.raises(SettingsError, match="the gateway's token equals the operator's"):
        CollectorSettings(operator_token="a" * 16, gateway_token="a" * 16)


def test_the_tokens_are_not_in_the_repr():
    settings = CollectorSettings(operator_token="a" * 16, gateway_token="b" * 16)
    assert "aaaa" not in repr(settings)
    assert "bbbb" not in repr(settings)


def test_addresses_are_listed_by_option():
    assert CollectorSettings(bind="127.0.0.1:0").addresses == {"--bind": "127.0.0.1:0"}
    both = CollectorSettings(bind="127.0.0.1:0", operator_bind="127.0.0.1:8001")
    assert list(both.addresses.items()) == [("--bind", "127.0.0.1:0"), ("--operator-bind", "127.0.0.1:8001")]
