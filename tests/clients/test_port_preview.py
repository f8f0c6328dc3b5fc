"""Previews of the clients in other languages state what the Python client computes."""

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from encoders.epsilon_proof import exp_bounds
from encoders.explain.preview import Preview, describe_square, preview
from encoders.mechanisms import NumericMechanism
from encoders.mechanisms.numeric_base import GRID
from encoders.mechanisms.probability_text import percent, round_up
from encoders.randomness import GivenBytes
from encoders.survey import Plan
from tests.support.ports import PORTS, Port
from tests.support.surveys import make_plan
from tools.vectors import common
from tools.vectors.adapter import value_of
from tools.vectors.check_port import VECTORS

pytestmark = pytest.mark.slow

FILES = [*sorted(VECTORS.glob("good-*.json")), *sorted(VECTORS.glob("tokens*.json"))]
MAX_LISTED = 16


def previews_of(file: Path) -> Iterator[Preview]:
    document = json.loads(file.read_text("utf-8"))
    plan = Plan.from_json(document["plan"].encode())
    for case in document["cases"]:
        if "report" in case:
            row = {name: value_of(value) for name, value in case["row"].items()}
            rng = GivenBytes(bytes.fromhex(case["random"]))
            wave = plan.waves.find(case["wave"]) if plan.waves and "wave" in case else None
            yield preview(plan, row, value_of(case["label"]), rng, token=case.get("token"), wave=wave)


def likelihoods_of(shown: Preview) -> list[tuple[Any, float]]:
    """Return each listed true answer with its probability after the report."""
    question, truth, payload, _ = shown.randomised
    mechanism = question.mechanism
    if not isinstance(mechanism, NumericMechanism):
        exact = dict(enumerate(mechanism.likelihood(payload)))
    else:
        domain = mechanism.domain
        lowest = GRID * (1 + domain.low)
        codes = [lowest, (lowest + 2 * GRID) // 2, 2 * GRID] + [2 * GRID + 1] * all(domain.missing)
        values: list[Any] = [code * domain.labels + label for label in range(domain.labels) for code in codes]
        if mechanism.multivariate:
            values = [(value,) * len(domain.missing) for value in values]
        exact = {value: mechanism.probability(payload, value) for value in {*values, truth}}
    total = sum(exact.values())
    return [(value, float(chance / total)) for value, chance in exact.items()]


@pytest.mark.parametrize("port", PORTS)
def test_a_preview_states_what_the_python_client_computes(port: Port):
    compare_previews(port, *FILES)


@pytest.mark.clients
def test_both_clients_write_the_same_texts():
    ports = [each.values[0] for each in PORTS]
    printed = [json.loads(port.run(port.previews, *map(str, FILES))) for port in ports]
    one, other = ([shown["text"] for shown in previews] for previews in printed)
    assert one == other


NUMBERS = make_plan(
    id="numbers",
    epsilon=1,
    label={"name": "rested"},
    features={
        "halves": {"range": [0, 1048576]},
        "far": {"range": [-3e15, 1e18]},
        "near": {"range": [0, 0.001]},
    },
)


@pytest.mark.parametrize("port", PORTS)
def test_numbers_and_squared_distances_of_any_size_are_the_same_texts(port: Port, tmp_path: Path):
    # 100000.5 is halfway between two texts of six digits; the square of an eighth of its range, of four
    plan = NUMBERS
    sizes = [
        0.5,
        *(number / 16 for number in range(17)),
        0.09536790847778320,
        0.0953683853,
        0.4990001,
        0.5001,
    ]
    cases = [
        common.case(
            plan,
            {"halves": 1048576 * x, "far": 1e18 * x, "near": 0.001 * x},
            "no",
            common.words(draw) + noise,
        )
        for question, draw in zip(plan.questions, common.first_draws(plan), strict=True)
        for noise in [common.random_bytes(question.name, 16 + question.mechanism.random_bytes)]
        for x in sizes
    ]
    path = tmp_path / "numbers.json"
    path.write_text(json.dumps({"cases": cases, "plan": plan.json.decode()}))
    compare_previews(port, path)


@pytest.mark.parametrize(("weight", "text"), [(79, "1.2%"), (15, "6.2%"), (1599, "0.062%")])
@pytest.mark.parametrize("port", PORTS)
def test_a_probability_halfway_between_two_texts_is_the_even_one(
    port: Port, weight: int, text: str, tmp_path: Path
):
    often = {"values": ["yes", "no"], "weight": weight}
    plan = make_plan(id="halves", label=None, features={"rare": ["yes", "no"], "often": often})
    random = common.words(common.first_draws(plan)[0]) + common.random_bytes(
        "halves", 16 + plan.questions[0].mechanism.random_bytes
    )
    case = common.case(plan, {"rare": "yes", "often": "no"}, None, random)
    path = tmp_path / "halves.json"
    path.write_text(json.dumps({"cases": [case], "plan": plan.json.decode()}))
    [found] = json.loads(port.run(port.previews, str(path)))
    assert found["question"] == "rare"
    assert percent(Fraction(found["chance"])) == text
    assert f"with probability {text}, without looking" in found["text"]


def compare_previews(port: Port, *files: Path) -> None:
    """Compare the previews of all cases of some files in both clients."""
    printed = json.loads(port.run(port.previews, *map(str, files)))
    expected = [(file.stem, each) for file in files for each in previews_of(file)]
    assert len(printed) == len(expected) >= len(files)
    for found, (name, shown) in zip(printed, expected, strict=True):
        question = shown.randomised.question
        assert (name, found["report"]) == (name, shown.report.hex())
        assert found["question"] == shown.question
        assert found["chance"] == pytest.approx(shown.plan.question_probability(question))
        assert dict(found["truth"]) == shown.truth
        assert sorted(found["clipped"]) == sorted(shown.clipped)
        assert found["oddsBound"] == pytest.approx(math.exp(shown.epsilon))
        beliefs = likelihoods_of(shown)
        beliefs.sort(key=lambda pair: -pair[1])
        listed = len(found["answers"])
        assert min(MAX_LISTED, len(beliefs)) <= listed <= MAX_LISTED + 1
        assert [each["belief"] for each in found["answers"][:MAX_LISTED]] == pytest.approx(
            [belief for _, belief in beliefs[:MAX_LISTED]], rel=1e-12
        )
        words = [(question.meaning(value), belief) for value, belief in beliefs]
        for each in found["answers"]:
            assert any(
                dict(each["answer"]) == answer and each["belief"] == pytest.approx(belief, rel=1e-12)
                for answer, belief in words
            )
        [truth] = [each for each in found["answers"] if each["isTruth"]]
        assert dict(truth["answer"]) == shown.truth
        assert shown.question in found["text"]
        for each in found["answers"]:
            assert f": {percent(Fraction(each['belief']))}" in found["text"]
        explained = [line for line in found["text"].splitlines() if line.startswith("It asks for")]
        assert explained == [" ".join(lines) for lines in [describe_square(question)] if lines]
        bound = exp_bounds(shown.plan.epsilon)[1]
        assert f"= {round_up(bound, 4)}." in found["text"]
