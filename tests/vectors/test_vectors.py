"""The committed vectors: what they say still happens, and they are what their generator writes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoders.errors import LdpError, Reason, ReportError
from encoders.randomness import GivenBytes
from encoders.report import pack, unpack
from encoders.survey import Plan
from ldp_client import make_report
from tests.contracts import reference
from tests.vectors import generate

HERE = Path(__file__).parent
GOOD = sorted(HERE.glob("good-*.json"))


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


every_file = pytest.mark.parametrize("path", GOOD, ids=[path.stem for path in GOOD])


def test_the_generator_writes_the_committed_files() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.json")}
    assert generate.files() == committed


@every_file
def test_every_report_follows_from_its_row_and_random_bytes(path: Path) -> None:
    vectors = read(path)
    plan = Plan.from_json(vectors["plan"].encode())
    assert plan.digest == vectors["digest"] == hashlib.sha256(vectors["plan"].encode()).hexdigest()
    for case in vectors["cases"]:
        rng = GivenBytes(bytes.fromhex(case["random"]))
        assert make_report(plan, case["row"], case["label"], rng).hex() == case["report"]
        assert plan.encode(case["row"], case["label"]) == (tuple(case["codes"]), case["label_code"])
        question = plan.questions[case["question"]]
        assert question.value(case["codes"], case["label_code"]) == case["value"]
        with pytest.raises(LdpError, match="random bytes asked for, 0 are left"):
            rng.take(1)


@every_file
def test_the_wire_format_s_document_alone_gives_the_same_reports(path: Path) -> None:
    # From the plan's JSON and the reference of tests/contracts only: what a port in another language does.
    vectors = read(path)
    plan = json.loads(vectors["plan"])
    total = sum(question["weight"] for question in plan["questions"])
    for case in vectors["cases"]:
        random = bytes.fromhex(case["random"])
        draw, reached, index = int.from_bytes(random[:8], "little"), 0, -1
        while draw >= (1 << 64) * reached // total:
            index += 1
            reached += plan["questions"][index]["weight"]
        question = plan["questions"][index]
        labels = len(plan["label"]["values"])
        code = 0 if question["feature"] is None else case["codes"][question["feature"]]
        assert (index, code * labels + case["label_code"]) == (case["question"], case["value"])
        payload = reference.perturb(
            question["mechanism"],
            plan["tables"][question["tables"]],
            question["domain"],
            case["value"],
            random[24:],
        )
        size = len(payload).to_bytes(1, "big") if len(payload) < 256 else len(payload).to_bytes(2, "big")
        header = b"\xc4" if len(payload) < 256 else b"\xc5"
        report = b"\x95\x01\xc4\x20" + bytes.fromhex(vectors["digest"]) + bytes([index])
        report += b"\xc4\x10" + random[8:24] + header + size + payload
        assert report.hex() == case["report"]


@every_file
def test_a_collector_takes_every_report(path: Path) -> None:
    vectors = read(path)
    plan = Plan.from_json(vectors["plan"].encode())
    for case in vectors["cases"]:
        data = bytes.fromhex(case["report"])
        report = judged(plan, data)
        assert pack(report) == data
        question = plan.questions[report.question]
        row = np.frombuffer(report.payload, np.uint8)[None]
        expected = reference.contribution(question.mechanism.name, question.domain, report.payload)
        assert question.mechanism.tally(row).tolist() == expected


def test_the_vectors_reach_every_question_mechanism_and_missing_value() -> None:
    mechanisms = set()
    for path in GOOD:
        vectors = read(path)
        plan = Plan.from_json(vectors["plan"].encode())
        assert {case["question"] for case in vectors["cases"]} == set(range(len(plan.questions)))
        assert {2, 3} <= {code for case in vectors["cases"] for code in case["codes"]}
        assert any(None in case["row"].values() for case in vectors["cases"])
        mechanisms |= {question.mechanism.name for question in plan.questions}
    assert mechanisms == {"DE", "SUE", "OUE", "SHE", "THE"}


def judged(plan: Plan, data: bytes) -> Any:
    """Judge one report as a collector does."""
    report = unpack(data)
    if report.plan_digest.hex() != plan.digest:
        raise ReportError(Reason.WRONG_PLAN)
    if report.question >= len(plan.questions):
        raise ReportError(Reason.UNKNOWN_QUESTION)
    plan.questions[report.question].mechanism.check(report.payload)
    return report


BAD = read(HERE / "bad.json")


@pytest.mark.parametrize("case", BAD["reports"], ids=[case["name"] for case in BAD["reports"]])
def test_every_bad_report_is_refused_for_its_reason(case: dict[str, str]) -> None:
    plan = Plan.from_json(case.get("plan", BAD["plan"]).encode())
    with pytest.raises(ReportError) as caught:
        judged(plan, bytes.fromhex(case["report"]))
    assert caught.value.reason == case["reason"]
