"""Plans that a client must refuse: forged, damaged or inconsistent, with one mistake each."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import PrivacyError, SurveyError
from encoders.mechanisms import load, load_numeric
from encoders.probability_tables import bit_ratio
from encoders.randomness import GivenBytes
from encoders.survey import Plan, canonical, read_survey
from encoders.survey.decimals import decimal_text
from encoders.survey.questions import build_numeric_domain
from ldp_client import make_report
from tests.vectors.common import WORD, first_draws, random_bytes, words

SURVEY = """
[survey]
id = "plans"
epsilon = {epsilon}
[label]
name = "rested"
values = ["yes", "no"]
weight = 1
[features.age]
values = ["young", "old"]
missing = "category"
[features.hours]
edges = [0, 4.5, 12]
[features.sleep]
range = [0, 12]
{projection}
[mechanism]
frequency = "{frequency}"
numeric = "{numeric}"
"""
PROJECTION = """
[features.first]
range = [-1, 1]
bins = 2
weights = [0.25, 1]
[projection.inputs.pulse]
range = [40, 180]
[projection.inputs.weight]
range = [0, 300]
"""
VALIDATION = """
[validation]
order = ["sleep", "age", "hours"]
tops = [1, 2]
prior = [0, -5]
[validation.scores]
age = [[0, -1], [-2, 0], [0, 0]]
hours = [[-3, 0], [0, -4]]
sleep = [{sleep}]
"""
ROW = {"age": "old", "hours": 3, "sleep": 7, "pulse": 70, "weight": 60}
LABEL = "no"
Document = dict[str, Any]


def text_of(frequency: str = "DE", numeric: str = "sign", epsilon: str = "1", projection: str = "") -> str:
    filled = SURVEY.format(frequency=frequency, numeric=numeric, epsilon=epsilon, projection=projection)
    return read_survey(filled).compile().json.decode()


def bad_plans() -> Document:
    """Return the plans, and a row that fits the honest ones."""
    honest = Plan.from_json(text_of().encode())
    random = words(first_draws(honest)[1]) + random_bytes(
        "plans", 16 + honest.questions[1].mechanism.random_bytes
    )
    refused: dict[str, str] = {}
    for name, text in (
        *spellings(),
        *entries(),
        *numbers(),
        *together(),
        *projections(),
        *validations(),
        *tables(),
    ):
        assert name not in refused, name
        refused[name] = text
    return {
        "honest": text_of(),
        "honest_report": make_report(honest, ROW, LABEL, GivenBytes(random)).hex(),
        "label": LABEL,
        "plans": [{"name": name, "plan": text} for name, text in refused.items() if _is_refused(name, text)],
        "random": random.hex(),
        "row": ROW,
    }


def _is_refused(name: str, text: str) -> bool:
    try:
        Plan.from_json(text.encode())
    except PrivacyError:
        return True
    except SurveyError:
        assert not name.endswith("spends more than epsilon"), name
        return True
    raise AssertionError(f"{name}: taken")


# -- the text -----------------------------------------------------------------------------------


def spellings() -> Iterator[tuple[str, str]]:
    text = text_of()
    document = json.loads(text)
    yield "empty text", ""
    yield "no object", "[]"
    yield "null", "null"
    yield "truncated", text[:-1]
    yield "a line feed behind it", text + "\n"
    yield "a byte order mark", "\ufeff" + text
    yield "a second object behind it", text + "{}"
    yield "white space between entries", json.dumps(document, sort_keys=True)
    yield "keys in another order", json.dumps(dict(reversed(document.items())), separators=(",", ":"))
    yield (
        "a key twice, the first ignored",
        text.replace('{"epsilon":"1",', '{"epsilon":"9","epsilon":"1",', 1),
    )
    yield "an escape that is not needed", text.replace("young", "\\u0079oung")
    yield "a slash escaped", text.replace("young", "yo\\/ung")
    yield "half a surrogate pair", text.replace("young", "\\ud83d")
    yield "a float", text.replace('"format":1', '"format":1.0')
    yield "an exponent", text.replace('"format":1', '"format":1e0')
    yield "NaN", text.replace('"weight":1', '"weight":NaN', 1)


# -- entries ------------------------------------------------------------------------------------


def edited(path: str, value: Any, base: str = "") -> str:
    """Return a plan's text with one entry replaced, added, or left out (...)."""
    document = json.loads(base or text_of())
    *inner, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    node = document
    for key in inner:
        node = node[key]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return canonical.dump_canonical_json(document).decode()


def question(index: int) -> Document:
    entry: Document = json.loads(text_of())["questions"][index]
    return entry


ENTRIES: dict[str, tuple[str, Any]] = {
    "format 2": ("format", 2),
    "format 0": ("format", 0),
    "format as text": ("format", "1"),
    "format true": ("format", True),
    "no format": ("format", ...),
    "an unknown entry": ("more", "1"),
    "an unknown entry of a question": ("questions/0/more", 1),
    "an unknown entry of a feature": ("features/0/more", 1),
    "an unknown entry of the label": ("label/more", "1"),
    "an entry that is null": ("projection", None),
    "no id": ("id", ...),
    "id empty": ("id", ""),
    "id in capitals": ("id", "Plans"),
    "id of 65 characters": ("id", "a" * 65),
    "id with a slash": ("id", "plans/.."),
    "id with a hyphen first": ("id", "-plans"),
    "id with a line feed behind it": ("id", "plans\n"),
    "id with a letter beyond ASCII": ("id", "pl\u00e4ne"),
    "family as the id, which goes without saying": ("family", "plans"),
    "family empty": ("family", ""),
    "family null": ("family", None),
    "family in capitals": ("family", "Plans"),
    "enrolment open, which goes without saying": ("enrolment", "open"),
    "enrolment of a kind that is unknown": ("enrolment", "invitation"),
    "enrolment true": ("enrolment", True),
    "epsilon 0": ("epsilon", "0"),
    "epsilon negative": ("epsilon", "-1"),
    "epsilon below 0.001": ("epsilon", "0.0009"),
    "epsilon above 32": ("epsilon", "32.000001"),
    "epsilon with a trailing zero": ("epsilon", "1.0"),
    "epsilon with an exponent": ("epsilon", "1e0"),
    "epsilon with a sign": ("epsilon", "+1"),
    "epsilon as a number": ("epsilon", 1),
    "epsilon NaN": ("epsilon", "NaN"),
    "epsilon infinite": ("epsilon", "Infinity"),
    "epsilon less than what is spent": ("epsilon", "0.999999"),
    "one class": ("label/values", ["yes"]),
    "a class twice": ("label/values", ["yes", "yes"]),
    "a class more than the domain says": ("label/values", ["yes", "no", "maybe"]),
    "a class that is empty": ("label/values/0", ""),
    "a class with a line feed": ("label/values/0", "y\nes"),
    "a class of 201 characters": ("label/values/0", "y" * 201),
    "a class that is a number": ("label/values/0", 1),
    "the label named as a feature": ("label/name", "age"),
    "two features of one name": ("features/1/name", "age"),
    "a feature without a name": ("features/1/name", ""),
    "a kind that is unknown": ("features/0/kind", "ordinal"),
    "a kind of another feature": ("features/0/kind", "binned"),
    "missing neither category nor error": ("features/0/missing", "ignore"),
    "missing contradicts the domain": ("features/0/missing", "error"),
    "a category twice": ("features/0/values", ["old", "old"]),
    "a category named as the missing one": ("features/0/values/0", "(missing)"),
    "a category less than the domain says": ("features/0/values", ["old"]),
    "a category that is true": ("features/0/values/0", True),
    "edges that fall": ("features/1/edges", ["0", "12", "4.5"]),
    "edges equal as doubles": ("features/1/edges", ["0", "0.1", "0.10000000000000000001"]),
    "edges as numbers": ("features/1/edges", [0, 4, 12]),
    "an edge with an exponent": ("features/1/edges/2", "1e2"),
    "an edge with a trailing zero": ("features/1/edges/1", "4.50"),
    "an edge with a leading zero": ("features/1/edges/1", "04.5"),
    "an edge with a sign": ("features/1/edges/1", "+4.5"),
    "an edge of minus zero": ("features/1/edges/0", "-0"),
    "an edge with white space": ("features/1/edges/1", " 4.5"),
    "an edge with an underscore": ("features/1/edges/2", "1_2"),
    "an edge beyond the doubles": ("features/1/edges/2", "1" + "0" * 400),
    "an edge that is infinite": ("features/1/edges/2", "Infinity"),
    "edges further apart than the doubles reach": (
        "features/1/edges",
        ["-1" + "0" * 308, "0", "1" + "0" * 308],
    ),
    "one edge": ("features/1/edges", ["0"]),
    "low above high": ("features/2/low", "13"),
    "low equal to high": ("features/2/low", "12"),
    "low as a number": ("features/2/low", 0),
    "no questions": ("questions", []),
    "a question about no feature of the plan": ("questions/1/feature", 9),
    "a question about feature -1": ("questions/1/feature", -1),
    "a question about feature true": ("questions/2/feature", True),
    "a question about another feature": ("questions/1/feature", 1),
    "a question about the label with a feature": ("questions/0/feature", 0),
    "a domain that does not follow": ("questions/1/domain", 7),
    "a domain as text": ("questions/1/domain", "6"),
    "a weight of 0": ("questions/1/weight", 0),
    "a weight below 0": ("questions/1/weight", -1),
    "a weight that is true": ("questions/0/weight", True),
    "a weight as text": ("questions/1/weight", "1"),
    "a weight above 2000000": ("questions/1/weight", 2000001),
    "a mechanism that is unknown": ("questions/1/mechanism", "RAPPOR"),
    "a mechanism in small letters": ("questions/1/mechanism", "de"),
    "a mechanism of other tables": ("questions/1/mechanism", "OUE"),
    "a mechanism for numbers asks a category": ("questions/1/mechanism", "sign"),
    "a moment of a category": ("questions/1/moment", 1),
    "a moment and a domain": ("questions/3/domain", 4),
    "moment 3": ("questions/3/moment", 3),
    "moment true": ("questions/3/moment", True),
    "moment as text": ("questions/3/moment", "1"),
    "moment null": ("questions/1/moment", None),
    "a mean without its square": ("questions/4", ...),
    "a square without its mean": ("questions/3", ...),
    "a list of one feature where a category is due": ("questions/1/feature", [0]),
    "a list of one feature where a number is due": ("questions/3/feature", [2]),
    "a ratio that is smaller than the tables'": ("questions/1/ratio/0", "1"),
    "a ratio as numbers": ("questions/1/ratio", [2, 1]),
    "a ratio of one part": ("questions/1/ratio", ["2"]),
    "no ratio": ("questions/1/ratio", ...),
    "a realised epsilon that is smaller than the tables'": ("questions/1/epsilon", "0.5"),
    "a realised epsilon of more digits": ("questions/1/epsilon", question(1)["epsilon"] + "1"),
    "a key of no tables": ("questions/1/tables", "0123456789abcdef"),
    "a key of other tables": ("questions/1/tables", question(0)["tables"]),
    "tables that nobody uses": ("tables/0123456789abcdef_", {"keep": "1"}),
    "tables that are a list": (f"tables/{question(1)['tables']}", []),
    "an entry more in the tables": (f"tables/{question(1)['tables']}/more", "1"),
    "tables changed, all else as it was": (f"tables/{question(1)['tables']}/keep", "9000000000000000000"),
}


def entries() -> Iterator[tuple[str, str]]:
    for name, (path, value) in ENTRIES.items():
        yield name, edited(path, value)
    ratio = question(1)["ratio"]
    yield (
        "a ratio not in its lowest terms",
        edited("questions/1/ratio", [str(2 * int(part)) for part in ratio]),
    )
    yield "a ratio above the tables'", edited("questions/1/ratio/0", str(int(ratio[0]) + 1))
    named = edited("features/0/values", ["young", "old", "(missing)"])
    yield (
        "the last category named as the missing one, with none missing",
        edited("features/0/missing", "error", named),
    )
    listed = json.loads(text_of())["questions"]
    yield "questions in another order", edited("questions", [*listed[1:], listed[0]])
    yield "the square before the mean", edited("questions", [*listed[:3], listed[4], listed[3]])
    yield "a feature asked twice", edited("questions", [*listed[:2], *listed[1:]])


def numbers() -> Iterator[tuple[str, str]]:
    """Yield plans with the mechanism that asks for several numbers at once."""
    several = text_of(numeric="laplace")
    yield "laplace: a feature that is no list", edited("questions/3/feature", 2, several)
    yield "laplace: a list that is empty", edited("questions/3/feature", [], several)
    yield "laplace: a feature twice", edited("questions/3/feature", [2, 2], several)
    yield "laplace: a feature that is no number", edited("questions/3/feature", [1], several)


def together() -> Iterator[tuple[str, str]]:
    """Yield plans that ask about several features at once: age and hours, young or old and two bins."""
    base = text_of("auto", epsilon="5")
    assert [each["feature"] for each in json.loads(base)["questions"]] == [None, [0, 1], 2, 2]
    changes: dict[str, tuple[str, Any]] = {
        "the features unsorted": ("questions/1/feature", [1, 0]),
        "a feature twice": ("questions/1/feature", [0, 0]),
        "a number among them": ("questions/1/feature", [0, 2]),
        "a feature that is not there": ("questions/1/feature", [0, 3]),
        "a feature less than the domain says": ("questions/1/feature", 0),
        "a weight above 2000000": ("questions/1/weight", 2000001),
        "a list of none": ("questions/1/feature", []),
        "a list in a list": ("questions/1/feature", [[0, 1]]),
        "a domain that does not follow": ("questions/1/domain", 10),
        "a moment": ("questions/1/moment", 1),
        "a list of no feature for the label": ("questions/0/feature", []),
    }
    for name, (path, value) in changes.items():
        yield f"together: {name}", edited(path, value, base)
    listed = json.loads(base)["questions"]
    yield "together: asked twice", edited("questions", [*listed[:2], *listed[1:]], base)
    alone = json.loads(text_of("DE", epsilon="5"))
    both = [listed[0], listed[1], *alone["questions"][2:]]
    document = json.loads(edited("questions", both, base))
    used = {each["tables"] for each in both}
    known = alone["tables"] | document["tables"]
    document["tables"] = {key: known[key] for key in used}
    yield "together: a feature alone, too", canonical.dump_canonical_json(document).decode()


def projections() -> Iterator[tuple[str, str]]:
    base = text_of(projection=PROJECTION)
    changes: dict[str, tuple[str, Any]] = {
        "no inputs": ("inputs", []),
        "an input that is binned": ("inputs/0/kind", "binned"),
        "an input named as a feature": ("inputs/0/name", "age"),
        "an input that may be missing, of a feature that may not": ("inputs/0/missing", "category"),
        "no components": ("components", []),
        "a component of no feature's name": ("components/0/name", "third"),
        "a component named as a category": ("components/0/name", "age"),
        "a weight less than inputs": ("components/0/weights", ["1"]),
        "a weight of seven decimals": ("components/0/weights/0", "0.0000001"),
        "a weight with a trailing zero": ("components/0/weights/0", "0.250"),
        "a weight with an exponent": ("components/0/weights/0", "1e1"),
        "a weight of minus zero": ("components/0/weights/0", "-0"),
        "a weight as a number": ("components/0/weights/0", 1),
        "weights above 8000": ("components/0/weights", ["-4000", "4000.000001"]),
        "an offset that is empty": ("components/0/offset", ""),
        "no offset": ("components/0/offset", ...),
        "an unknown entry": ("more", 1),
    }
    for name, (path, value) in changes.items():
        yield f"projection: {name}", edited(f"projection/{path}", value, base)


def validations() -> Iterator[tuple[str, str]]:
    """Yield plans of a model to validate, with sleep, age and hours, sleep and age, and sleep alone."""
    parts = ", ".join(f"[0, {-part}]" for part in range(64))
    text = SURVEY.format(frequency="DE", numeric="sign", epsilon="1", projection="")
    base = read_survey(text + VALIDATION.format(sleep=parts)).compile().json.decode()
    for name, changes in VALIDATIONS.items():
        changed = base
        for path, value in changes.items():
            changed = edited(path, value, changed)
        yield f"validation: {name}", changed
    yield "validation: a score with a point", base.replace('"prior":[0,', '"prior":[0.0,')
    yield "validation: a score with an exponent", base.replace('"prior":[0,', '"prior":[0e0,')
    yield "validation: a score of minus zero", base.replace('"prior":[0,', '"prior":[-0,')
    yield (
        "validation: the model of a plan without verdicts",
        edited("validation", json.loads(base)["validation"]),
    )
    yield "validation: with a projection of its verdicts", edited("projection", PROJECTED, base)
    yield "validation: in a validation", edited("validation/validation", json.loads(base)["validation"], base)
    label_alone = (
        [question(0)],
        {question(0)["tables"]: json.loads(text_of())["tables"][question(0)["tables"]]},
    )
    without = edited("questions", label_alone[0], edited("tables", label_alone[1], base))
    asked = json.loads(base)["questions"]
    yield "validation: a top that no question asks about", edited("questions", asked[:-1], base)
    yield "validation: no tops", edited("validation/tops", [], edited("features", [], without))


PROJECTED: Document = {
    "components": [{"name": "top 1", "offset": "0", "weights": ["1"]}],
    "inputs": [{"high": "1", "kind": "numeric", "low": "0", "missing": "error", "name": "pulse"}],
}
VALIDATIONS: dict[str, dict[str, Any]] = {
    "a label of another name": {"label/name": "all 4"},
    "a label named by its number alone": {"label/name": "3"},
    "a label whose right comes first": {"label/values": ["right", "wrong"]},
    "a label of other words": {"label/values": ["no", "yes"]},
    "a feature of another name": {"features/1/name": "top 3"},
    "a feature whose right comes first": {"features/0/values": ["right", "wrong"]},
    "a feature that may be missing": {
        "features/0/missing": "category",
        "features/0/values": ["wrong"],
    },
    "features in another order": {"features/0/name": "top 2", "features/1/name": "top 1"},
    "a top less than features": {"validation/tops": [1]},
    "other tops than features": {"validation/tops": [2, 1]},
    "tops that fall": {"validation/tops": [2, 1], "features/0/name": "top 2", "features/1/name": "top 1"},
    "tops that are equal": {"validation/tops": [1, 1], "features/1/name": "top 1"},
    "a top as large as the order": {"validation/tops": [1, 3], "features/1/name": "top 3"},
    "a top beyond the order": {"validation/tops": [1, 4], "features/1/name": "top 4"},
    "a top of 0": {"validation/tops": [0, 2], "features/0/name": "top 0"},
    "a top below 0": {"validation/tops": [-1, 2], "features/0/name": "top -1"},
    "a top that is true": {"validation/tops": [True, 2]},
    "a top as text": {"validation/tops": ["1", 2]},
    "a top that is null": {"validation/tops": [None, 2]},
    "tops that are one number": {"validation/tops": 1},
    "tops that are text": {"validation/tops": "12"},
    "tops left out": {"validation/tops": ...},
    "an order that names a feature twice": {"validation/order": [2, 0, 2]},
    "an order beyond the features": {"validation/order": [2, 0, 3]},
    "an order before the features": {"validation/order": [2, 0, -1]},
    "an order with true": {"validation/order": [2, 0, True]},
    "an order with false": {"validation/order": [2, False, 1]},
    "an order with text": {"validation/order": [2, 0, "1"]},
    "an order of names": {"validation/order": ["sleep", "age", "hours"]},
    "an order with a list": {"validation/order": [2, 0, [1]]},
    "an order that is empty": {"validation/order": []},
    "an order left out": {"validation/order": ...},
    "an order of fewer than the label says": {"validation/order": [2, 0]},
    "a prior of one score less": {"validation/prior": [0]},
    "a prior of one score more": {"validation/prior": [0, -5, 0]},
    "a prior above 0": {"validation/prior": [0, 1]},
    "a prior below -1000000": {"validation/prior": [0, -1000001]},
    "a prior of text": {"validation/prior": ["0", "-5"]},
    "a prior with false": {"validation/prior": [False, -5]},
    "a prior left out": {"validation/prior": ...},
    "a feature without scores": {"validation/scores/2": ...},
    "scores by name": {"validation/scores": {"age": [], "hours": [], "sleep": []}},
    "a category without scores": {"validation/scores/0": [[0, -1], [-2, 0]]},
    "a bin more than there are": {"validation/scores/1": [[-3, 0], [0, -4], [0, 0]]},
    "63 parts of a number": {"validation/scores/2/0": ...},
    "a number that may be missing without scores for that": {"validation/features/2/missing": "category"},
    "a category that may not be missing with scores for that": {"validation/features/0/missing": "error"},
    "a label less": {"validation/scores/0/1": [-2]},
    "a label more": {"validation/scores/0/1": [-2, 0, 0]},
    "a score above 0": {"validation/scores/0/1/0": 1},
    "a score below -1000000": {"validation/scores/2/63/1": -1000001},
    "a score beyond all words": {"validation/scores/2/63/1": -(10**40)},
    "a score as text": {"validation/scores/1/0/0": "-3"},
    "a score that is false": {"validation/scores/0/0/0": False},
    "a score that is null": {"validation/scores/0/0/0": None},
    "a score in a list": {"validation/scores/0/0/0": [0]},
    "a row of scores that is a text": {"validation/scores/0/0": "00"},
    "a row of scores that is a number": {"validation/scores/0/0": 0},
    "a model's label of one value": {"validation/label/values": ["yes"]},
    "a model's label with a value more": {"validation/label/values": ["yes", "no", "maybe"]},
    "a model's label with a value twice": {"validation/label/values": ["yes", "yes"]},
    "a model's label named as a feature": {"validation/label/name": "age"},
    "a model without a label": {"validation/label": ...},
    "a model's features of one name": {"validation/features/1/name": "age"},
    "a model's edges that fall": {"validation/features/1/edges": ["0", "12", "4.5"]},
    "a model's range that is empty": {"validation/features/2/low": "12"},
    "a model's category with a line feed": {"validation/features/0/values/0": "y\noung"},
    "a model's feature of no kind": {"validation/features/0/kind": "ordinal"},
    "a model without features": {"validation/features": ...},
    "a model's projection of none of its features": {"validation/projection": {}},
    "a model's projection that is null": {"validation/projection": None},
    "an unknown entry": {"validation/more": 1},
    "null": {"validation": None},
    "true": {"validation": True},
    "empty": {"validation": {}},
    "a list": {"validation": []},
}


# -- tables that spend more than epsilon, or are none -------------------------------------------


def tables() -> Iterator[tuple[str, str]]:
    """Yield plans whose entries all follow from tables that no client should use."""
    for name, (frequency, numeric, index, change) in SPENDING.items():
        base = text_of(frequency, numeric)
        yield f"{name}, spends more than epsilon", forged(base, index, change)
    for name, (frequency, numeric, index, entry) in BROKEN.items():
        base = text_of(frequency, numeric)
        key = json.loads(base)["questions"][index]["tables"]
        yield name, rekeyed(base, key, json.loads(base)["tables"][key] | entry)
    yield "OUE whose p and q are one double", close()
    yield "SS of more than 64 values", subset(66, 2)
    yield "SS of more than 2^32 sets", subset(38, 19)


def close() -> str:
    """Set p to q plus one of 2^64, and everything computed from it."""
    base, p, q = text_of("OUE"), WORD // 2 + 1, WORD // 2
    known = json.loads(base)["tables"]
    new = {"bits": "64", "p": str(p), "q": str(q)}
    document = json.loads(rekeyed(base, json.loads(base)["questions"][1]["tables"], new))
    for entry in document["questions"]:
        if entry["tables"] not in known:
            entry |= spent(bit_ratio(64, p, q))
    return canonical.dump_canonical_json(document).decode()


def subset(domain: int, size: int) -> str:
    """Ask about `domain` values by SS with tables that spend little; what they spend is computed here."""
    document = json.loads(text_of())
    document["features"][0]["values"] = [str(i) for i in range(domain // 2 - 1)]
    keep = WORD * (size + 1) // (domain + 1)
    most, least = -(-WORD // math.comb(domain - 1, size - 1)), WORD // math.comb(domain - 1, size)
    new = {"keep": str(keep), "size": str(size)}
    key = hashlib.sha256(canonical.dump_canonical_json(new)).hexdigest()[:16]
    ratio = Fraction(keep * most, (WORD - keep) * least)
    document["questions"][1] |= {"domain": domain, "mechanism": "SS", "tables": key} | spent(ratio)
    del document["tables"][question(1)["tables"]]
    document["tables"][key] = new
    return canonical.dump_canonical_json(document).decode()


def steps(**by: int) -> Callable[[Document], Document]:
    return lambda old: old | {key: str(int(old[key]) + step) for key, step in by.items()}


def moved(old: Document) -> Document:
    """Move probability from the tail of the noise to its middle."""
    weights = [int(weight) for weight in old["weights"]]
    weights[-1] //= 2
    weights[0] = WORD - 2 * sum(weights[1:])
    return old | {"weights": [str(weight) for weight in weights]}


Change = Callable[[Document], Document]
SPENDING: dict[str, tuple[str, str, int, Change]] = {
    # by less than the precision of doubles: e^epsilon has to be bracketed by rationals
    "DE keeps the truth one word in 2^64 too often": ("DE", "sign", 1, steps(keep=1)),
    "DE on the label alone": ("DE", "sign", 0, steps(keep=1)),
    "SUE one step too far": ("SUE", "sign", 1, steps(p=1, q=-1)),
    "OUE with too few ones": ("OUE", "sign", 1, steps(q=-2)),
    "THE with too few ones": ("THE", "sign", 2, lambda old: old | {"q": str(int(old["q"]) // 2)}),
    "SHE with a thin tail": ("SHE", "sign", 1, moved),
    "SS holds the truth one word in 2^64 too often": ("SS", "sign", 1, steps(keep=1)),
    "SS of one value on the label alone": ("SS", "sign", 0, steps(keep=1)),
    "SS of fewer values": ("SS", "sign", 1, steps(size=-1)),
    "sign": ("DE", "sign", 3, steps(keep=1)),
    "onebit": ("DE", "onebit", 3, steps(q=-1)),
    "sign-vector": ("DE", "sign-vector", 3, steps(q=-1)),
    "piecewise": ("DE", "piecewise", 3, steps(near=1 << 12)),
    "sampled-laplace with a thin tail": ("DE", "sampled-laplace", 3, moved),
    "laplace with a thin tail": ("DE", "laplace", 3, moved),
}
BROKEN: dict[str, tuple[str, str, int, Document]] = {
    "DE keeps always": ("DE", "sign", 1, {"keep": str(WORD)}),
    "DE keeps never": ("DE", "sign", 1, {"keep": "0"}),
    "DE with a leading zero": ("DE", "sign", 1, {"keep": "01"}),
    "DE with a sign": ("DE", "sign", 1, {"keep": "+9"}),
    "DE with a number": ("DE", "sign", 1, {"keep": 9000000000000000}),
    "DE with an entry more": ("DE", "sign", 1, {"more": "1"}),
    "OUE of 65 bits": ("OUE", "sign", 1, {"bits": "65"}),
    "OUE of 0 bits": ("OUE", "sign", 1, {"bits": "0"}),
    "OUE that says nothing": ("OUE", "sign", 1, {"p": "5", "q": "5"}),
    "OUE that says the opposite": ("OUE", "sign", 1, {"p": "5", "q": "6"}),
    "THE of a threshold above 1": ("THE", "sign", 1, {"theta": "1.5"}),
    "THE of a threshold of seven decimals": ("THE", "sign", 1, {"theta": "0.2500000"}),
    "THE of a threshold that is a number": ("THE", "sign", 1, {"theta": 0}),
    "SHE of one weight": ("SHE", "sign", 1, {"weights": [str(WORD)]}),
    "SHE of weights that add up to less": ("SHE", "sign", 1, {"weights": ["1", "1"]}),
    "SHE with a weight of 0": ("SHE", "sign", 1, {"weights": [str(WORD - 2), "1", "0"]}),
    "SS of no value": ("SS", "sign", 1, {"size": "0"}),
    "SS of all values": ("SS", "sign", 1, {"size": "6"}),
    "SS of a size with a leading zero": ("SS", "sign", 1, {"size": "02"}),
    "SS of a size that is a number": ("SS", "sign", 1, {"size": 2}),
    "SS keeps always": ("SS", "sign", 1, {"keep": str(WORD)}),
    "SS keeps never": ("SS", "sign", 1, {"keep": "0"}),
    "SS that says nothing": ("SS", "sign", 1, {"keep": str(WORD // 3)}),
    "SS with an entry more": ("SS", "sign", 1, {"more": "1"}),
    "sign without an oracle": ("DE", "sign", 3, {"oracle": "none"}),
    "onebit that tells the truth": ("DE", "onebit", 3, {"q": "0"}),
    "onebit that says the opposite": ("DE", "onebit", 3, {"q": str(WORD // 2 + 1)}),
    "sampled-laplace of 3 steps": ("DE", "sampled-laplace", 3, {"steps": "3"}),
}


def forged(base: str, index: int, change: Change) -> str:
    """Change a question's tables and everything computed from them."""
    document = json.loads(base)
    key = document["questions"][index]["tables"]
    return rekeyed(base, key, change(document["tables"][key]), follow=True)


def rekeyed(base: str, old: str, new: Document, follow: bool = False) -> str:
    document = json.loads(base)
    del document["tables"][old]
    key = hashlib.sha256(canonical.dump_canonical_json(new)).hexdigest()[:16]
    document["tables"][key] = new
    for entry in document["questions"]:
        if entry["tables"] == old:
            entry["tables"] = key
            if follow:
                entry |= spent(_ratio(base, entry, new))
    return canonical.dump_canonical_json(document).decode()


def _ratio(base: str, entry: Document, new: Document) -> Fraction:
    if "moment" not in entry:
        return load(entry["mechanism"], entry["domain"], new).ratio
    plan = Plan.from_json(base.encode())
    places = entry["feature"] if isinstance(entry["feature"], list) else [entry["feature"]]
    form = build_numeric_domain(plan.label, [plan.features[place] for place in places], entry["moment"])
    return load_numeric(entry["mechanism"], form, new).ratio


def spent(ratio: Fraction) -> Document:
    return {
        "epsilon": decimal_text(realised_epsilon(ratio)),
        "ratio": [str(ratio.numerator), str(ratio.denominator)],
    }
