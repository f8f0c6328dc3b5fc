"""Typed results and their form in JSON: reading what was written gives the same."""

import json
import re
from pathlib import Path

import pytest

from ldp_aggregator.codec import from_json, to_json
from ldp_aggregator.results_file import dump_results, parse_results
from tests.ldp_aggregator.views.samples import NAMES, make_results

ROOT = Path(__file__).parents[3]
SUBSCRIPT = re.compile(r"\b(estimates|privacy|poisoning|validation|validation_result|silos)_?\[[\"']")
"""An entry of typed results, read as if they were a dictionary."""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_reading_what_was_written_gives_the_same(name):
    results = make_results(name)
    for part in filter(None, (results.privacy, results.estimates, results.usefulness)):
        written = to_json(part)
        assert to_json(from_json(type(part), json.loads(json.dumps(written)))) == written
    if not results.is_validation:
        written = dump_results(results)
        assert dump_results(parse_results(written)) == written


@pytest.mark.slow
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
