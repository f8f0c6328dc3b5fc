"""The package's front door."""

import subprocess
import sys

import pytest

import ldp_aggregator


def test_every_public_name_exists():
    assert sorted(ldp_aggregator.__all__) == ldp_aggregator.__all__
    for name in ldp_aggregator.__all__:
        assert getattr(ldp_aggregator, name).__name__ == name
        assert name in dir(ldp_aggregator)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = ldp_aggregator.magic


def test_a_collector_runs_without_scikit_learn():
    code = "import sys, ldp_aggregator.estimation; print('sklearn' in sys.modules or 'scipy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
