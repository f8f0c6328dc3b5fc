"""No float reaches a report: from the first draw on, a device computes only with integers and bytes.

Floating-point noise leaks the input (Mironov 2012): some outputs can be reached from one input only. So
every step of every mechanism is watched while it runs, and each wire value is held against every input.
"""

import dis
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import ldp_client
from encoders.errors import ReportError
from encoders.mechanisms import Mechanism
from encoders.survey import Plan, Question, read_survey
from tests.support.surveys import survey_toml

ROOT = Path(__file__).resolve().parents[2]
SURVEY = survey_toml(
    id="no-floats",
    epsilon=1.5,
    label={"name": "paid", "values": ["yes", "no", "later"]},
    features={
        "kind": {"values": ["a", "b", "c"], "missing": "category"},
        "size": {"range": [-2, 10.5], "missing": "category"},
        "age": {"range": [0, 90], "bins": 3},
    },
    mechanism={"frequency": "{frequency}", "numeric": "{numeric}"},
)
WAYS = [
    ("DE", "piecewise"),
    ("SUE", "onebit"),
    ("OUE", "sampled-laplace"),
    ("SHE", "sign-vector"),
    ("THE", "laplace"),
    ("SS", "sign"),
]
ROWS = [({"kind": "b", "size": 3.7, "age": 41.5}, "no"), ({"kind": None, "size": None, "age": 1e9}, "later")]


class Watch:
    """Notes each float that a function of this project stores or returns after the question is drawn."""

    def __init__(self) -> None:
        self.floats: list[str] = []
        self.codes: set[CodeType] = set()
        self._watching = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not Path(code.co_filename).is_relative_to(ROOT):
            return None
        if code.co_name == "draw":
            self._watching = True  # the row has been coded; from here on everything is watched
        if self._watching:
            self.codes.add(code)
            held = {name: value for name, value in frame.f_locals.items() if name != "self"}
            held |= {"what it returns": argument} if event == "return" else {}
            self.floats += [f"{code.co_qualname}: {name}" for name, value in held.items() if has_float(value)]
        if event == "return" and code.co_name == "make_report":
            self._watching = False
        return self


def has_float(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(has_float, value))
    return isinstance(value, (float, complex, Fraction))


def watched(plan: Plan) -> Watch:
    watch = Watch()
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        for row, label in ROWS * 10:
            # the row's own numbers are floats, and stay behind once they are coded
            report(plan, row, label)
    finally:
        sys.settrace(before)
    return watch


def report(plan: Plan, row: dict[str, object], label: str) -> bytes:
    return ldp_client.make_report(plan, row, label)


@pytest.mark.slow
@pytest.mark.parametrize(("frequency", "numeric"), WAYS)
def test_no_float_is_stored_or_returned_after_the_draw(frequency, numeric):
    plan = read_survey(SURVEY.format(frequency=frequency, numeric=numeric)).compile()
    report(plan, *ROWS[0])  # loads what loads late
    watch = watched(plan)
    assert not watch.floats
    names = {code.co_name for code in watch.codes}
    assert {"perturb", "value", "pack"} <= names


def divides(code: CodeType) -> bool:
    return any(each.argrepr in ("/", "/=") for each in dis.get_instructions(code))


@pytest.mark.slow
@pytest.mark.parametrize(("frequency", "numeric"), WAYS)
def test_no_step_divides_or_uses_a_float(frequency, numeric):
    plan = read_survey(SURVEY.format(frequency=frequency, numeric=numeric)).compile()
    codes = [code for code in watched(plan).codes if code.co_name != "make_report"]
    constants = [(code.co_qualname, each) for code in codes for each in code.co_consts if has_float(each)]
    assert not constants
    divisions = [
        code.co_qualname
        for code in codes
        for each in dis.get_instructions(code)
        if each.argrepr in ["/", "/="]
    ]
    assert not divisions


def test_float_watch_detects_a_float():
    plan = read_survey(SURVEY.format(frequency="DE", numeric="sign")).compile()
    question = plan.questions[0]
    honest = type(question.mechanism).perturb

    def perturb(self: Any, value: Any, rng: Any) -> bytes:
        noise = 0.5
        return honest(self, value, rng) if noise else b""

    type(question.mechanism).perturb = perturb
    try:
        watch = watched(plan)
    finally:
        type(question.mechanism).perturb = honest
    assert any(each.endswith("perturb: noise") for each in watch.floats)


def wire_values(mechanism: Mechanism) -> Iterator[bytes]:
    """Yield payloads with every 16-bit number that a device may send in its first two places."""
    places = mechanism.payload_bytes // 2
    for place in range(min(places, 2)):
        before, after = bytes(2 * place), bytes(2 * (places - place - 1))
        for number in range(-(1 << 15), 1 << 15):
            payload = before + number.to_bytes(2, "little", signed=True) + after
            try:
                mechanism.check(payload)
            except ReportError:
                continue
            yield payload


def question_of(name: str) -> Question:
    frequency, numeric = ("SHE", "sign") if name == "SHE" else ("DE", name)
    plan = read_survey(SURVEY.format(frequency=frequency, numeric=numeric)).compile()
    return next(each for each in plan.questions if each.mechanism.name == name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SHE", "sampled-laplace", "laplace"])
def test_every_wire_value_can_come_from_every_input(name):
    mechanism = question_of(name).mechanism
    count = 0
    for payload in wire_values(mechanism):
        count += 1
        if count % 7 and abs(int.from_bytes(payload[:2], "little", signed=True)) < 60:
            continue  # all of the tails, a seventh of the middle
        chances = mechanism.likelihood(payload)
        assert min(chances) > 0
        assert max(chances) <= mechanism.ratio * min(chances)
    assert count > 100
