"""The checker of ports passes this project's client, and detects ports with one mistake each."""

import json
import math
import subprocess
import sys
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from encoders.mechanisms.base import Mechanism
from encoders.mechanisms.direct import DE
from encoders.survey import Plan, invitation, questions, validation_round
from encoders.survey.features import GRID, BinnedFeature, NumericFeature, parse_number
from encoders.survey.projection import Projection
from encoders.survey.questions import Question
from encoders.survey.validation_round import Validation
from encoders.survey.waves import Waves
from tests.support.http_servers import serve
from tools.vectors import adapter, check_port

HERE = Path(__file__).parent
VALUES, ROWS, PLANS, TOKENS, FORMS = (
    HERE / f"{name}.json" for name in ("good-values", "bad-rows", "bad-plans", "tokens", "normal-forms")
)
Respond = Callable[[dict[str, Any]], Any]


def serving(respond: Respond) -> AbstractContextManager[str]:
    return serve(adapter.serve(0, respond))


@pytest.fixture(autouse=True)
def empty_plan_cache() -> Iterator[None]:
    # plans that were read with a mistake are not used without it, and the reverse
    adapter.plan_of.cache_clear()
    yield
    adapter.plan_of.cache_clear()


@pytest.mark.slow
def test_this_client_passes_as_two_programs_that_need_no_installation():
    # as a porter runs them: two scripts, the checker without the project and its dependencies (-I -S)
    with subprocess.Popen(
        [sys.executable, adapter.__file__, "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        url = served.stdout.readline().strip()
        run = subprocess.run(
            [sys.executable, "-I", "-S", check_port.__file__, url], capture_output=True, text=True
        )
        served.terminate()
    assert run.returncode == 0, run.stdout + run.stderr
    assert "agrees with every vector" in run.stdout
    files = {path.name for path in HERE.glob("*.json")} - {
        "bad.json",
        "compositions.json",
        "conditions.json",
        "envelopes.json",
        "relay-addresses.json",
        "relay-plans.json",
    }
    assert {line.split()[0] for line in run.stdout.splitlines()[:-1]} == files


# -- wrong ports --------------------------------------------------------------------------------


def on_values(change: Callable[[Any], Any]) -> Respond:
    """Return an adapter whose port reads values otherwise."""

    def respond(asked: dict[str, Any]) -> Any:
        row = {name: change(value) for name, value in asked["row"].items()}
        return adapter.answer(asked | {"row": row, "label": change(asked["label"])})

    return respond


def on_text(change: Callable[[str], str]) -> Respond:
    return on_values(lambda value: change(value) if isinstance(value, str) else value)


def on_integers(change: Callable[[int], Any]) -> Respond:
    return on_values(
        lambda value: (
            change(int(value["integer"])) if isinstance(value, dict) and "integer" in value else value
        )
    )


def through_doubles(value: int) -> Any:
    try:
        return {"integer": str(int(float(value)))}
    except OverflowError:
        return {"double": "inf"}


def other_byte_order(asked: dict[str, Any]) -> Any:
    random = bytes.fromhex(asked["random"])
    return adapter.answer(asked | {"random": (random[:8][::-1] + random[8:]).hex()})


def absent_is_missing(asked: dict[str, Any]) -> Any:
    plan = json.loads(asked["plan"])
    inputs = plan.get("projection", {"inputs": []})["inputs"]
    names = [each["name"] for each in (*plan["features"], *inputs)]
    return adapter.answer(asked | {"row": dict.fromkeys(names) | asked["row"]})


def unknown_entries_taken(asked: dict[str, Any]) -> Any:
    try:
        plan = json.loads(asked["plan"])
    except ValueError:
        return adapter.answer(asked)
    if isinstance(plan, dict):
        plan.pop("more", None)
        text = json.dumps(plan, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return adapter.answer(asked | {"plan": text})
    return adapter.answer(asked)


def only_what_is_asked(asked: dict[str, Any]) -> Any:
    good = json.loads(ROWS.read_text(encoding="utf-8"))["plan"] == asked["plan"]
    said = adapter.answer(asked)
    if good and said.get("field") in ("kind", "left"):
        return adapter.answer(asked | {"row": asked["row"] | {"kind": "x", "left": 0}})
    return said


def only_what_the_model_uses(asked: dict[str, Any]) -> Any:
    return adapter.answer(asked | {"row": asked["row"] | {"tea": "no"}})


def on_report(change: Callable[[bytes], bytes]) -> Respond:
    def respond(asked: dict[str, Any]) -> Any:
        said = adapter.answer(asked)
        return {"report": change(bytes.fromhex(said["report"])).hex()} if "report" in said else said

    return respond


WRONG_ADAPTERS: dict[str, tuple[Path, Respond]] = {
    "the question's draw is big-endian": (VALUES, other_byte_order),
    "text is normalised to NFKC": (FORMS, on_text(lambda text: unicodedata.normalize("NFKC", text))),
    "text is trimmed": (VALUES, on_text(str.strip)),
    "case does not count": (VALUES, on_text(str.lower)),
    "an empty text is a category": (VALUES, on_values(lambda value: "(empty)" if value == "" else value)),
    "truth values are spelled with capitals": (
        VALUES,
        on_values(lambda value: str(value) if isinstance(value, bool) else value),
    ),
    "truth values are 0 and 1": (
        VALUES,
        on_values(lambda value: int(value) if isinstance(value, bool) else value),
    ),
    "large doubles are spelled with an exponent": (
        VALUES,
        on_values(lambda value: "1e+21" if value == 1e21 else value),
    ),
    "whole numbers are doubles": (VALUES, on_integers(through_doubles)),
    "an absent entry is a missing one": (ROWS, absent_is_missing),
    "a number may be text": (
        ROWS,
        on_text(lambda text: float(text) if text.replace(".", "").isdigit() else text),
    ),
    "only what is asked is checked": (ROWS, only_what_is_asked),
    "only what a model uses is checked": (HERE / "bad-rows-validation.json", only_what_the_model_uses),
    "unknown entries of a plan are passed over": (PLANS, unknown_entries_taken),
    "a line feed behind a plan is passed over": (
        PLANS,
        lambda asked: adapter.answer(asked | {"plan": asked["plan"].rstrip("\n")}),
    ),
    "every plan is refused": (PLANS, lambda asked: {"error": "plan"}),
    "msgpack of another length": (
        HERE / "good-she.json",
        on_report(lambda report: report.replace(b"\xc4\x10", b"\xc5\x00\x10", 1)),
    ),
    "payloads of two bytes are big-endian": (
        HERE / "good-de.json",
        on_report(lambda report: report[:-2] + report[:-3:-1] if report[-3] == 2 else report),
    ),
    "bits from the other end": (
        HERE / "good-oue.json",
        on_report(lambda report: report[:-1] + bytes([int(f"{report[-1]:08b}"[::-1], 2)])),
    ),
    "nothing of JSON": (VALUES, lambda asked: None),
    "all is skipped": (VALUES, lambda asked: {"skip": "too hard"}),
}


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Callable[[Respond, list[Path]], int]:
    """Return the checker of an adapter in this process: what is sent is JSON, but not through HTTP."""

    def run(respond: Respond, paths: list[Path]) -> int:
        def ask(posted: dict[str, Any]) -> Any:
            try:
                return json.loads(json.dumps(respond(json.loads(json.dumps(posted)))))
            except Exception:  # a server would end the connection
                return "no answer"

        monkeypatch.setattr(check_port, "asker", lambda url: ask)
        return check_port.check("", paths)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("mistake", WRONG_ADAPTERS)
def test_port_that_reads_or_writes_differently_fails(mistake, check):
    path, respond = WRONG_ADAPTERS[mistake]
    assert check(respond, [path]) == 1


def half_to_even(self: NumericFeature, value: object) -> int:
    number, (low, high) = parse_number(value, self.name), self.bounds
    if number is None:
        return CODE(self, value)
    return round((min(max(number, low), high) - low) / (high - low) * (2 * GRID))


def half_up_without_adding(self: NumericFeature, value: object) -> int:
    # as Math.round of JavaScript: the double just below one half goes down
    number, (low, high) = parse_number(value, self.name), self.bounds
    if number is None:
        return CODE(self, value)
    scaled = (min(max(number, low), high) - low) / (high - low) * (2 * GRID)
    return math.floor(scaled) + (scaled - math.floor(scaled) >= 0.5)


def by_the_reciprocal(self: NumericFeature, value: object) -> int:
    number, (low, high) = parse_number(value, self.name), self.bounds
    if number is None:
        return CODE(self, value)
    return math.floor((min(max(number, low), high) - low) * (2 * GRID / (high - low)) + 0.5)


def minus_zero_below_zero(self: BinnedFeature, value: object) -> int:
    negative = isinstance(value, float) and value == 0 and math.copysign(1, value) < 0
    return BIN(self, -5e-324 if negative else value)


def edges_above(self: BinnedFeature, value: object) -> int:
    number = parse_number(value, self.name)
    return BIN(self, value) if number is None else bisect_left(self._inner, number)


def exact_edges(self: BinnedFeature, value: object) -> int:
    number = parse_number(value, self.name)
    if number is None:
        return BIN(self, value)
    exact = Fraction(value) if isinstance(value, int) else Fraction(number)
    return sum(Fraction(edge) <= exact for edge in self.edges[1:-1])


def in_doubles(self: Projection, row: dict[str, Any]) -> dict[str, float | None]:
    codes = [(feature.code(row[feature.name]) - GRID) / GRID for feature in self.inputs]
    return {
        each.name: sum(float(w) * x for w, x in zip(each.weights, codes, strict=True)) + float(each.offset)
        for each in self.components
    }


def limits_in_doubles(weights: list[int]) -> list[int]:
    return [int(2.0**64 * (sum(weights[: place + 1]) / sum(weights))) for place in range(len(weights) - 1)]


def last_of_equals(self: Validation, codes: Sequence[int], label_code: int) -> Any:
    backwards = replace(
        self,
        prior=self.prior[::-1],
        scores=tuple(tuple(row[::-1] for row in table) for table in self.scores),
    )
    return VALIDATE(backwards, codes, len(self.prior) - 1 - label_code)


def in_doubles_of_nats(self: Validation, codes: Sequence[int], label_code: int) -> Any:
    scores: Any = tuple(tuple(tuple(each / 1000 for each in row) for row in table) for table in self.scores)
    prior: Any = tuple(each / 1000 for each in self.prior)
    return VALIDATE(replace(self, prior=prior, scores=scores), codes, label_code)


def without_the_prior(self: Validation, codes: Sequence[int], label_code: int) -> Any:
    return VALIDATE(replace(self, prior=(0,) * len(self.prior)), codes, label_code)


def in_the_features_order(self: Validation, codes: Sequence[int], label_code: int) -> Any:
    return VALIDATE(replace(self, order=tuple(sorted(self.order))), codes, label_code)


def parts_of_an_even_grid(feature: Any, code: int) -> int:
    if not isinstance(feature, NumericFeature):
        return code
    return 64 if code > 2 * GRID else min(code >> 15, 63)


def perturb_up_to_the_limit(self: DE, value: int, rng: Any) -> bytes:
    keep_draw, other_draw = (int.from_bytes(rng.take(8), "little") for _ in range(2))
    other = other_draw * (self.domain - 1) >> 64
    reported = value if keep_draw <= self._keep else other + (other >= value)
    return reported.to_bytes(self.payload_bytes, "little")


def proved_in_doubles(self: Mechanism, epsilon: Any) -> None:
    if math.log(float(self.ratio)) > float(epsilon) * (1 + 1e-12):
        PROVE(self, epsilon)


def question_by_question(self: Plan, question: Question, wave: int) -> Question:
    assert self.waves
    return replace(question, index=question.index * len(self.waves.list) + wave)


CODE, BIN, PROVE, VALIDATE = NumericFeature.code, BinnedFeature.code, Mechanism.prove, Validation.validate
MODEL, WAVES = HERE / "good-validation.json", HERE / "good-waves.json"
WRONG_PORTS: dict[str, tuple[Path, Any, str, Any]] = {
    "halves to even": (VALUES, NumericFeature, "code", half_to_even),
    "halves up, but not the double below": (VALUES, NumericFeature, "code", half_up_without_adding),
    "multiplies by the reciprocal": (VALUES, NumericFeature, "code", by_the_reciprocal),
    "-0.0 below 0": (VALUES, BinnedFeature, "code", minus_zero_below_zero),
    "a bin holds its upper edge": (VALUES, BinnedFeature, "code", edges_above),
    "exact edges": (VALUES, BinnedFeature, "code", exact_edges),
    "a projection in doubles": (VALUES, Projection, "apply", in_doubles),
    "the question's limits in doubles": (VALUES, questions, "thresholds", limits_in_doubles),
    "DE keeps at the limit": (HERE / "good-de.json", DE, "perturb", perturb_up_to_the_limit),
    "of equal scores the last label": (MODEL, Validation, "validate", last_of_equals),
    "scores in doubles": (MODEL, Validation, "validate", in_doubles_of_nats),
    "scores without the prior": (MODEL, Validation, "validate", without_the_prior),
    "the order of the features": (MODEL, Validation, "validate", in_the_features_order),
    "parts that begin at round codes": (MODEL, validation_round, "find_score_row", parts_of_an_even_grid),
    "no model is checked": (PLANS, Validation, "check", lambda self: None),
    "tokens are not checked": (TOKENS, invitation, "_check_bytes", lambda plan, token_id: b"0000"),
    "waves are not counted apart": (WAVES, Plan, "in_wave", lambda self, question, wave: question),
    "indices of waves question by question": (WAVES, Plan, "in_wave", question_by_question),
    "no waves are checked": (PLANS, Waves, "check", lambda self, questions: None),
    "proves nothing": (PLANS, Mechanism, "prove", lambda self, epsilon: None),
    "proves in doubles": (PLANS, Mechanism, "prove", proved_in_doubles),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", WRONG_PORTS)
def test_port_that_computes_differently_fails(mistake, check, monkeypatch):
    path, owner, name, wrong = WRONG_PORTS[mistake]
    monkeypatch.setattr(owner, name, wrong)
    if name == "thresholds":
        monkeypatch.setattr("encoders.survey.plan.thresholds", wrong)
    assert check(adapter.answer, [path]) == 1


# -- output of the checker ----------------------------------------------------------------------


def test_a_failure_names_the_question_both_answers_and_the_first_byte(capsys):
    with serving(on_report(lambda report: report[:-1] + bytes([report[-1] ^ 1]))) as url:
        assert check_port.main([url, str(HERE / "good-she.json")]) == 1
    said = capsys.readouterr().out
    assert "good-she.json" in said
    assert "  0 passed    36 failed" in said
    assert "case 0: question 0, rested, by SHE" in said
    assert "first differs at byte 62 of 63 (payload)" in said
    assert said.count("first differs") == check_port.SHOWN
    assert "... and 31 more" in said


def test_cases_without_a_type_in_the_language_may_be_skipped(check, capsys):
    def respond(asked: dict[str, Any]) -> Any:
        return {"skip": "no such type"} if check_port.may_skip(asked) else adapter.answer(asked)

    assert check(respond, [VALUES, ROWS]) == 0
    assert "skipped" in capsys.readouterr().out


def test_missing_adapter_and_failing_adapter_give_different_errors(capsys):
    with serving(adapter.answer) as url:
        assert check_port.check(f"{url}/nowhere", [ROWS]) == 1
    assert "HTTP status 404" in capsys.readouterr().out
    assert check_port.check(url, [ROWS]) == 2
    assert "no adapter to ask" in capsys.readouterr().err


def test_leftover_and_missing_random_bytes_are_reported():
    document = json.loads(VALUES.read_text(encoding="utf-8"))
    case = document["cases"][0] | {"plan": document["plan"]}
    for random in (case["random"] + "00", case["random"][:-2]):
        assert adapter.answer(case | {"random": random}) == {"error": "random"}
