"""Every reader of JSON or TOML, given a file with one wrong entry, raises LdpError or uses the file."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoders.errors import LdpError
from encoders.survey import Plan, read_survey
from ldp_aggregator.classifiers.export.sklearn import to_sklearn
from ldp_aggregator.classifiers.stored_model import load_model
from ldp_aggregator.cli.train import format_summary
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.privacy_statement import read_audit, state_privacy
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import dump_results, parse_results
from ldp_aggregator.snapshot import Snapshot
from ldp_design.model_validation import build_validation
from ldp_design.sizing.assumed_people import read_pilot
from tests.ldp_aggregator.classifiers.conftest import NUMBERS
from tests.support.commands import command
from tests.support.damaged_json import DELETED, Path_, dump, put, signed

VECTORS = Path(__file__).parents[2] / "vectors"
ODD = [
    10**400,
    -(10**400),
    2**63,
    -1,
    0,
    1.5,
    1e308,
    "x",
    "",
    "\ud800",
    "9" * 5000,
    None,
    True,
    [],
    {},
    DELETED,
]


def paths(document: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the path of every entry; of a list, of its first two."""
    entries = document.items() if isinstance(document, dict) else []
    entries = enumerate(document[:2]) if isinstance(document, list) else entries
    for name, entry in entries:
        yield (*path, name)
        yield from paths(entry, (*path, name))


def read_all(
    document: Any,
    read: Callable[[bytes], object],
    count: int,
    below: Path_ = (),
    write: Callable[[Any], bytes] = dump,
) -> None:
    """Read a document after each of so many edits, the same in each run, all below a path."""
    every = [(path, odd) for path in paths(document) if path[: len(below)] == below for odd in ODD]
    for path, odd in random.Random(1).sample(every, min(count, len(every))):
        changed = copy.deepcopy(document)
        put(changed, path, odd)
        try:
            data = write(changed)
        except ValueError:
            continue  # json writes no whole number of more than 4300 digits
        try:
            with suppress(LdpError), np.errstate(all="ignore"):
                read(data)
        except Exception as error:
            raise AssertionError(f"{path} = {str(odd)[:20]!r}: {str(error)[:100]}") from error


@pytest.fixture(autouse=True)
def _plans_are_proved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the plan that most edits leave as it is: proving it takes most of the time."""
    monkeypatch.setattr(Plan, "from_json", lru_cache(Plan.from_json))


@pytest.mark.slow
def test_a_damaged_snapshot_is_refused_or_trained_on(number_snapshot):
    def train(data: bytes) -> None:
        snapshot = Snapshot.from_json(data)
        format_summary(parse_results(dump_results(make_results(snapshot))))

    document = json.loads(Snapshot(number_snapshot.plan, number_snapshot.totals, {"malformed": 2}).to_json())
    read_all(document, train, 200, ("totals",))
    read_all(document, train, 20, ("rejections",))
    read_all(document, train, 60)


@pytest.mark.slow
def test_a_damaged_model_is_refused_or_used(number_results, tmp_path):
    path = tmp_path / "model.json"

    def use(data: bytes) -> None:
        path.write_bytes(data)
        model = load_model(path)
        model.predict_proba([{"tea": "black", "hours": 5, "age": 40}])
        asdict(read_pilot(path))
        with suppress(LdpError):
            to_sklearn(model)

    document = json.loads(dump_results(number_results))
    del document["checksum"]
    read_all(document, use, 30, write=signed)
    for place in (0, 1):
        read_all(document, use, 30, ("classifier", "conditionals", place), signed)
        read_all(document, use, 40, ("estimates", "features", place, "relevance"), signed)
    for name in ("reports", "estimator", "label", "classes", "raw_prior"):
        read_all(document, use, 25, ("estimates", name), signed)
    found = number_results.classifier
    survey = read_survey(NUMBERS)
    survey = survey.with_validation(build_validation(survey.compile(), found.prior, found.conditionals))
    validated = estimate_snapshot(Snapshot(survey.compile(), {}))
    document["estimates"]["validation"] = json.loads(json.dumps(validated.as_dict()))
    read_all(document, use, 30, ("estimates", "validation"), signed)


def test_a_damaged_audit_is_refused_or_kept(number_snapshot, tmp_path):
    path, plan = tmp_path / "audit.json", number_snapshot.plan

    def keep(data: bytes) -> None:
        path.write_bytes(data)
        state_privacy(number_snapshot, read_audit(path, plan))

    audit = {
        "faults": [],
        "trials": 5000,
        "plan_digest": plan.digest,
        "black_box": [{"leak": {"epsilon_lower_bound": 0.9}}],
    }
    read_all(audit, keep, 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numeric-projection", "validation", "together"])
def test_a_damaged_plan_is_refused(name):
    document = json.loads((VECTORS / f"good-{name}.json").read_bytes())["plan"]
    read_all(json.loads(document) if isinstance(document, str) else document, Plan.from_json, 250)


@pytest.mark.parametrize("depth", [100, 900, 990, 100_000])
def test_deep_nesting_is_refused(number_snapshot, depth):
    for data in (b"[" * depth + b"]" * depth, b'{"plan":' * depth + b"1" + b"}" * depth):
        for read in (Snapshot.from_json, parse_results, Plan.from_json):
            with pytest.raises(LdpError):
                read(data)


@pytest.mark.parametrize(
    "odd", ["nan", "-inf", "1" * 400, "1e400", "1e-400", "[]", "{}", "true", "'x'", "[[1]]"]
)
def test_a_damaged_survey_is_refused_or_compiled(odd):
    lines = NUMBERS.splitlines()
    for place, line in enumerate(lines):
        if "=" in line:
            changed = [*lines[:place], f"{line.partition('=')[0]}= {odd}", *lines[place + 1 :]]
            with suppress(LdpError):
                read_survey("\n".join(changed)).compile()


@pytest.mark.parametrize(
    "odd", ["1" * 400, "1e400", "NaN", "[]", "{}", "null", "true", '"\\ud800"', "1" * 5000]
)
def test_a_damaged_row_is_refused_or_previewed(odd, tmp_path):
    (tmp_path / "survey.toml").write_text(NUMBERS)
    for name in ("tea", "hours", "asleep"):
        row = {"tea": '"black"', "hours": "5", "age": "40", "asleep": '"yes"'} | {name: odd}
        (tmp_path / "row.json").write_text(
            "{" + ",".join(f'"{key}":{cell}' for key, cell in row.items()) + "}"
        )
        words = ("preview", tmp_path / "survey.toml", "--row", tmp_path / "row.json")
        assert command("ldp-survey", *words, check=False).exit_code in (0, 1)
