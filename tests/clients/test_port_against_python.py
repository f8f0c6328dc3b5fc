"""A client in another language accepts and refuses what the Python client does, also beyond the vectors.

Plans and rows of the vectors are changed at random, with fixed seeds. Some changed plans get the digests,
ratios and epsilons that follow from their tables: then only the check of the changed entry can refuse them.
"""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from encoders.canonical import decimal_text, dump_canonical_json
from encoders.epsilon_proof import realised_epsilon
from encoders.survey.plan_document import parse_plan_fields
from tests.support.ports import PORTS, Port
from tools.vectors import adapter
from tools.vectors.check_port import VECTORS, asker

pytestmark = pytest.mark.slow

CASES_PER_SEED = 400
DOCUMENTS = [
    json.loads(path.read_text("utf-8"))
    for path in [*sorted(VECTORS.glob("good-*.json")), *sorted(VECTORS.glob("tokens*.json"))]
]
PLAN_VALUES = [
    *(None, True, False, 0, 1, 2, -1, 3, 1 << 53, [], {}, [0], ["a"]),
    *("", "0", "1", "-0", "0.5", "1.0", "01", "1e3", "0.001", "0.0009", "32", "33"),
    *("18446744073709551615", "18446744073709551616", "9223372036854775808"),
    *("a" * 200, "a" * 201, "\u00a0", "x y", "\u00e9", "\u200d", "\U0001f642", "(missing)"),
    *(
        "category",
        "error",
        "numeric",
        "binned",
        "choices",
        "DE",
        "SUE",
        "THE",
        "laplace",
        "sign",
        "token",
        "open",
    ),
]
ROW_VALUES = [
    *(None, True, False, "", "a", "1", "true", [], [1], ["small"], ["nuts", "fruit"], ["3", None], [[]]),
    *(0.1, 2.5, 4.5, 5e-324, 1e21, 1e300, -1e300, 123456789012345680000),
    *({"double": "nan"}, {"double": "inf"}, {"double": "-inf"}, {"double": "-0.0"}),
    *({"integer": str(10**number)} for number in (16, 99, 100, 308, 309)),
]


@pytest.mark.parametrize("seed", [0, *(pytest.param(each, marks=pytest.mark.clients) for each in (1, 2))])
@pytest.mark.parametrize("port", PORTS)
def test_changed_plans_and_rows_have_the_same_outcome_in_both_clients(port: Port, seed: int):
    rnd = random.Random(seed)
    outcomes: Counter[str] = Counter()
    with port.serve_adapter() as url:
        ask = asker(url)
        for _ in range(CASES_PER_SEED):
            posted = change_case(rnd, rnd.choice(DOCUMENTS))
            expected = adapter.answer(posted)
            assert ask(posted) == expected, json.dumps(posted)
            outcomes[expected.get("error", "report")] += 1
    assert min(outcomes[each] for each in ("plan", "row", "report")) > CASES_PER_SEED // 20


def change_case(rnd: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """Return a request to an adapter in which the plan or one value of the row has changed."""
    case = rnd.choice(document["cases"])
    random_bytes = case.get("random", "00" * 64)
    posted = {
        "plan": document["plan"],
        "row": dict(case["row"]),
        "label": case["label"],
        "random": random_bytes,
    }
    posted |= {key: case[key] for key in ("token", "wave") if key in case}
    if rnd.random() < 0.7:
        posted["plan"] = change_plan(rnd, document["plan"])
        return posted
    name = rnd.choice([*posted["row"], "label"])
    value = rnd.choice([*ROW_VALUES, rnd.uniform(-1e6, 1e6), rnd.randrange(-(10**6), 10**6)])
    if name == "label":
        posted["label"] = value
    else:
        posted["row"][name] = value
    return posted


def change_plan(rnd: random.Random, text: str) -> str:
    plan = json.loads(text)
    paths = [path for path in paths_of(plan) if path]
    if rnd.random() < 0.4:
        paths = [path for path in paths if path[0] == "tables"]
    *above, last = rnd.choice(paths)
    parent = plan
    for key in above:
        parent = parent[key]
    parent[last] = change_value(rnd, parent[last])
    with suppress(TypeError, KeyError, AttributeError):
        name_tables(plan)
    if rnd.random() < 0.8:
        derive_ratios(plan)
    if rnd.random() < 0.4:
        plan["epsilon"] = "32"
    return dump_canonical_json(plan).decode()


def paths_of(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from paths_of(value, (*path, key))
    elif isinstance(document, list):
        for index, value in enumerate(document[:40]):
            yield from paths_of(value, (*path, index))


def change_value(rnd: random.Random, value: Any) -> Any:
    if isinstance(value, list):
        changed = [*value, rnd.choice(value or [0])] if rnd.random() < 0.5 else value[1:]
        return rnd.sample(changed, len(changed)) if rnd.random() < 0.3 else changed
    if isinstance(value, int) and not isinstance(value, bool):
        return rnd.choice([value + 1, value - 1, 2 * value, -value, value + 2_000_000, *PLAN_VALUES])
    if not isinstance(value, str):
        return rnd.choice(PLAN_VALUES)
    near = [value + "0", value + " ", value[:-1], "0" + value, "-" + value, value + ".5", value.upper()]
    if value.isdecimal() and value.isascii():
        number = int(value)
        near += 3 * [str(number + 1), str(max(number - 1, 0)), str(2 * number), str(number // 2)]
        near += [str(number + rnd.randrange(1000)), str(rnd.randrange(1 << 64))]
    return rnd.choice([*near, *PLAN_VALUES])


def name_tables(plan: dict[str, Any]) -> None:
    """Give tables the keys that follow from their content."""
    names = {
        key: hashlib.sha256(dump_canonical_json(entry)).hexdigest()[:16]
        for key, entry in plan["tables"].items()
    }
    plan["tables"] = {names[key]: entry for key, entry in plan["tables"].items()}
    for question in plan["questions"]:
        question["tables"] = names[question["tables"]]


def derive_ratios(plan: dict[str, Any]) -> None:
    """Give questions the domain, ratio and epsilon that follow from their tables, if a plan can be built."""
    with suppress(Exception):
        for question, entry in zip(parse_plan_fields(plan)["questions"], plan["questions"], strict=True):
            ratio = question.mechanism.ratio
            entry["ratio"] = [str(ratio.numerator), str(ratio.denominator)]
            entry["epsilon"] = decimal_text(realised_epsilon(ratio))
            if "domain" in entry:
                entry["domain"] = question.domain
