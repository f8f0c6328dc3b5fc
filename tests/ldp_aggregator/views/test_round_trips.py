"""Typed results and their form in JSON: reading what was written gives the same."""

import json
import re
from pathlib import Path

import pytest

from ldp_aggregator.classifiers.curator_file import CentralModelFile
from tests.ldp_aggregator.views.samples import NAMES, make_results

ROOT = Path(__file__).parents[3]
SUBSCRIPT = re.compile(r"\b(estimates|privacy|poisoning|validation|validation_result|silos)_?\[[\"']")
"""An entry of typed results, read as if they were a dictionary."""


@pytest.mark.parametrize("name", NAMES)
def test_reading_what_was_written_gives_the_same(name):
    results = make_results(name)
    parts = [results.privacy]
    if not isinstance(results, CentralModelFile):
        parts.append(results.estimates)
    for part in parts:
        written = part.as_dict()
        assert type(part).from_dict(json.loads(json.dumps(written))).as_dict() == written


def test_the_samples_have_every_part_of_estimates():
    parts = ("poisoning", "validation", "validation_result", "silos")
    for part in parts:
        found = [getattr(make_results(name).estimates, part) for name in NAMES if "curator" not in name]
        assert any(found)
        assert not all(found)


def test_no_module_subscripts_typed_results_by_text():
    modules = [
        path for package in ("aggregator", "design", "audit") for path in ROOT.glob(f"ldp_{package}/**/*.py")
    ]
    assert len(modules) > 100
    assert [path for path in modules if SUBSCRIPT.search(path.read_text("utf-8"))] == []
