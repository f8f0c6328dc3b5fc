"""Bad plans whose tables spend more than epsilon, or are no tables; all other entries follow from them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from encoders import canonical
from encoders.canonical import decimal_text
from encoders.epsilon_proof import realised_epsilon
from encoders.mechanisms import load, load_numeric
from encoders.probability_tables import bit_ratio
from encoders.survey import Plan
from encoders.survey.questions import build_numeric_domain
from tools.vectors.common import WORD
from tools.vectors.plan_mistakes.honest import Document, question, text_of


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
    yield "SS of more than 256 values", subset(258, 2)
    yield "SS of more than 2^32 sets", subset(38, 19)
    yield "SS of more than 2^32 sets of five values", subset(256, 5)
    yield "SS of more than 2^240 sets", subset(256, 128)


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
    most, least = -(-WORD // math.comb(domain - 1, size - 1)), max(WORD // math.comb(domain - 1, size), 1)
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
    "OUE with p equal to q": ("OUE", "sign", 1, {"p": "5", "q": "5"}),
    "OUE with p below q": ("OUE", "sign", 1, {"p": "5", "q": "6"}),
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
    "SS whose sets hold the truth no more often than by chance": ("SS", "sign", 1, {"keep": str(WORD // 3)}),
    "SS with an entry more": ("SS", "sign", 1, {"more": "1"}),
    "sign without an oracle": ("DE", "sign", 3, {"oracle": "none"}),
    "onebit that always keeps the truth": ("DE", "onebit", 3, {"q": "0"}),
    "onebit that keeps the truth in fewer than half of the cases": (
        "DE",
        "onebit",
        3,
        {"q": str(WORD // 2 + 1)},
    ),
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
