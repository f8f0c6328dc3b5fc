"""The readers of data from another program or person, which are fuzzed, and the errors that each may raise.

A target reads one input. It raises the documented error for an input that it refuses. Any other exception,
any warning and a long run are defects. An input that is accepted must also be consistent, which the targets
assert.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from encoders.canonical import dump_canonical_json
from encoders.errors import LdpError, ReportError, RowError, SurveyError
from encoders.report import split
from encoders.survey import Plan
from encoders.survey.any_survey import ANY_PLANS, load_checked_file
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.randomise import read_report
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.survey import Survey
from ldp_aggregator.classifiers.stored_model import SurveyEstimates, load_model
from ldp_aggregator.reports.batch_reader import BatchReader
from ldp_aggregator.results_file import ModelError
from ldp_aggregator.rows.encode_table import encode_table
from ldp_aggregator.rows.table_input import TableError, parse_text_columns, parse_typed_columns
from ldp_aggregator.snapshot import SnapshotError, read_snapshot
from ldp_client import load_plan
from ldp_silo.count_rows import count_rows
from ldp_silo.rows_file import open_rows
from tests.support.silo_surveys import read_silo_survey
from tools.fuzz.corpus import ROOT

_VECTORS = ROOT / "tests" / "vectors"
_PLANS = ("good-auto", "good-numeric-projection", "good-numeric-sign-vector", "good-validation-together")
"""Vectors whose plans the reports answer: the first byte of an input chooses one. Rows are of the first."""
_KEY = bytes(32)
"""A key for the digests of files of rows."""


@dataclass(frozen=True)
class Target:
    """One reader."""

    read: Callable[[bytes], object]
    """Reads one input, and asserts that what it accepts is consistent."""
    errors: tuple[type[LdpError], ...]
    """The errors that it documents."""
    is_json: bool = False
    """Whether to mutate inputs as JSON documents too."""

    def __call__(self, data: bytes) -> bool:
        """Read one input; return whether it was accepted."""
        try:
            self.read(data)
        except self.errors as error:
            if not str(error):
                raise AssertionError("an error without a message") from error
            return False
        return True


@cache
def people_plans() -> tuple[Plan, ...]:
    """Return the plans of the reports and of the rows."""
    vectors = (json.loads((_VECTORS / f"{name}.json").read_text("utf-8")) for name in _PLANS)
    return tuple(Plan.from_json(each["plan"].encode()) for each in vectors)


@cache
def silo_plan() -> SiloPlan:
    """Return the plan of the messages and of the silo's rows."""
    return read_silo_survey().compile()


@contextmanager
def _file(data: bytes) -> Iterator[Path]:
    """Write the data to a file for a reader of files; remove it afterwards."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path = Path(folder) / "input"
        path.write_bytes(data)
        yield path


def _read_reports(data: bytes) -> None:
    plans = people_plans()
    _read_body(plans[data[0] % len(plans) if data else 0], data[1:])


def _read_messages(data: bytes) -> None:
    _read_body(silo_plan(), data)


def _read_body(plan: AnyPlan, body: bytes) -> None:
    """Read a body as a collector does; the outcomes must be those of each report read alone."""
    batches, rejections = BatchReader(plan).read(body)
    found: dict[int, str] = {position: str(each.reason) for position, each in rejections.items()}
    for batch in batches:
        batch.question.mechanism.tally(batch.payloads)
        assert batch.marks.shape == (len(batch.positions), 8)
        found |= dict.fromkeys(batch.positions.tolist(), "")
    assert found == dict(enumerate(_outcome(plan, piece) for piece in split(body)))


def _outcome(plan: AnyPlan, piece: bytes) -> str:
    try:
        read_report(plan, piece)
    except ReportError as error:
        return str(error.reason)
    return ""


def _read_plan(data: bytes) -> None:
    """Read a compiled plan, with all entries as they are and in canonical form."""
    with suppress(SurveyError):
        _check_plan(ANY_PLANS.from_json(data))
    with _file(data) as path:
        loaded = None
        with suppress(SurveyError):
            loaded = load_plan(path)
        if loaded is not None:
            assert ANY_PLANS.from_json(loaded.json) == loaded
    with suppress(ValueError, RecursionError):
        data = dump_canonical_json(json.loads(data))
    _check_plan(ANY_PLANS.from_json(data))


def _check_plan(plan: Plan | SiloPlan) -> None:
    assert hashlib.sha256(plan.json).hexdigest() == plan.digest
    assert len({question.key for question in plan.questions}) == len(plan.questions)
    assert all(question.cells > 0 for question in plan.questions)


def _read_survey(data: bytes) -> None:
    """Read a survey file; compile it, and read the plan."""
    with _file(data) as path:
        loaded = load_checked_file(path)
        if not isinstance(loaded, Survey):
            assert ANY_PLANS.load(path) == loaded
            assert ANY_PLANS.from_json(loaded.json).digest == loaded.digest


def _read_snapshot(data: bytes) -> None:
    snapshot = read_snapshot(data)
    assert read_snapshot(snapshot.to_json()).to_json() == snapshot.to_json()


def _read_model(data: bytes) -> None:
    """Read a model file, as it is and with a valid checksum; a model that is read must predict."""
    with suppress(ModelError):
        _predict(data)
    with suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
        data = _with_valid_checksums(json.loads(data))
    _predict(data)


def _with_valid_checksums(content: dict[str, Any]) -> bytes:
    content.pop("checksum", None)
    content["plan_digest"] = hashlib.sha256(dump_canonical_json(content["plan"])).hexdigest()
    checksum = hashlib.sha256(dump_canonical_json(content)).hexdigest()
    return dump_canonical_json(content | {"checksum": checksum})


def _predict(data: bytes) -> None:
    with _file(data) as path:
        model = load_model(path)
    if isinstance(model, SurveyEstimates):
        model.to_frame()
        return
    rows = [{entry.name: _first_value(entry) for entry in model.plan_.entries}]
    shares = model.predict_proba(rows)
    assert shares.shape == (1, len(model.classes_))
    assert np.isclose(shares.sum(), 1)


def _first_value(entry: Any) -> object:
    return entry.values[0] if hasattr(entry, "values") else entry.bounds[0]


def _read_rows(data: bytes) -> None:
    """Read rows as an analyst does: the columns of the survey that are there, and their codes."""
    plan = people_plans()[0]
    columns = parse_typed_columns(parse_text_columns(data, "rows.csv"), plan.entries)
    codes = encode_table(plan, columns)
    assert codes.shape[1] == len(plan.features)


def _read_silo_rows(data: bytes) -> None:
    """Read and count rows as a silo does."""
    with _file(data) as path, open_rows(path, _KEY) as file:
        counted = count_rows(silo_plan(), file)
    assert counted.rows > 0
    assert len(counted.counts) == silo_plan().mechanism.cells


TARGETS = {
    "reports": Target(_read_reports, (ReportError,)),
    "messages": Target(_read_messages, (ReportError,)),
    "plans": Target(_read_plan, (SurveyError,), is_json=True),
    "surveys": Target(_read_survey, (SurveyError,)),
    "snapshots": Target(_read_snapshot, (SnapshotError,), is_json=True),
    "models": Target(_read_model, (ModelError,), is_json=True),
    "rows": Target(_read_rows, (TableError, RowError)),
    "silo-rows": Target(_read_silo_rows, (RowError,)),
}
