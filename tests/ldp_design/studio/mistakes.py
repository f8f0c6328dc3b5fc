"""Operations of the page that lead to mistakes or warnings, as authors make them."""

from collections.abc import Iterator

from ldp_design.studio import imports
from ldp_design.studio.edits import apply_operations

_BASE = [
    {"op": "set", "path": ["survey", "users"], "value": 5000},
    {
        "op": "add",
        "path": ["features", "mood"],
        "value": {"entries": {"values": ["a", "b"], "ordered": True}},
    },
    {"op": "add", "path": ["features", "uses"], "value": {"entries": {"choices": ["x", "y"]}}},
    {"op": "add", "path": ["features", "hours"], "value": {"entries": {"edges": [0, 5, 9]}}},
    {"op": "add", "path": ["texts", "en"], "value": {"entries": {}}},
]
_RELAY = [{"op": "relay", "value": "one"}, {"op": "fit"}]


def _set(*path: str, to: object) -> list[dict[str, object]]:
    return [{"op": "set", "path": [*path], "value": to}]


def _typed(*path: str, to: str) -> list[dict[str, object]]:
    return _set(*path, to={"number": to})


def _answers(*path: str, to: list[object]) -> list[dict[str, object]]:
    return _set(*path, to=to)


def _condition(on: str, feature: str, value: object) -> list[dict[str, object]]:
    return [
        *_set("features", on, "ask_if", to={"feature": feature, "value": value}),
        *_set("features", on, "missing", to="category"),
    ]


def _table(*names: str) -> list[dict[str, object]]:
    return [{"op": "add", "path": ["tables", "both"], "value": {"entries": {"features": [*names]}}}]


_CHANGES = [
    *(
        _typed("survey", "epsilon", to=to)
        for to in ("0", "-1", "many", "0.0001", "3", "50", "0.00012345678901")
    ),
    *(_typed("survey", "users", to=to) for to in ("0", "-5", "1.5", "many", "99999999999")),
    *(_set("survey", "id", to=to) for to in ("", "My Survey", "x" * 80, "-x", "a/b")),
    *(_typed("features", "income", "bins", to=to) for to in ("0", "1", "2.5", "few", "5000")),
    *(
        _set("features", "income", "range", to=[{"number": low}, {"number": high}])
        for low, high in (("5", "5"), ("9", "1"), ("", "4"), ("a", "b"), ("0", "1e300"), ("0", "inf"))
    ),
    *(_typed("features", "debt", "spread", to=to) for to in ("0", "-1", "wide", "99999999")),
    *(_typed("features", "age", "weight", to=to) for to in ("-1", "often", "0", "1e9")),
    *(
        _set("features", "hours", "edges", to=[{"number": each} for each in to])
        for to in ([], ["1"], ["3", "2"], ["a", "b", "c"], ["1", "1", "2"])
    ),
    *(
        _answers("features", "age", "values", to=to)
        for to in ([], ["one"], ["a", "a"], [""], ["a", "x" * 300])
    ),
    *(_answers("features", "uses", "choices", to=to) for to in ([], ["a", "a"], [""], ["a: b", "c"])),
    *(_answers("features", "mood", "values", to=to) for to in ([], ["a"], ["a", "a"])),
    *(_answers("label", "values", to=to) for to in ([], ["one"], ["a", "a"])),
    _set("label", "name", to="age"),
    _set("label", "name", to=""),
    *(
        [{"op": "rename", "path": ["features", "age"], "value": to}]
        for to in ("x" * 300, "a: b", "missed_payment")
    ),
    _condition("age", "age", "old"),
    _condition("age", "nobody", "old"),
    _condition("age", "income", "old"),
    _condition("income", "age", "older"),
    _condition("age", "cards", True),
    [*_condition("age", "mood", "a"), *_condition("mood", "age", "old")],
    _condition("age", "missed_payment", "yes"),
    _table("age", "age"),
    _table("age"),
    _table("age", "nothing"),
    _table("age", "debt"),
    _table("age", "uses"),
    [*_table("age", "mood"), *_condition("mood", "age", "old")],
    [*_table("age", "income"), *_typed("features", "income", "bins", to="900")],
    [
        {"op": "remove", "path": ["features", each]}
        for each in ("age", "income", "debt", "cards", "mood", "uses", "hours")
    ],
    _set("features", "age", "missing", to="never"),
    _set("features", "mood", "missing", to="category"),
    _set("features", "age", "values", to=["a", "b", "c"]),
    _typed("features", "income", "bins", to="900"),
    [*_typed("survey", "users", to="500000"), *_RELAY, *_typed("relay", "delta", to="1e-5")],
    _set("texts", "en", "title", to="x" * 5000),
    _set("texts", "en", "features", "age", "title", to="x" * 5000),
    _set("texts", "en", "features", "nobody", "title", to="x"),
    _set("texts", "en", "features", "age", "values", "nothing", to="x"),
    _set("texts", "english", "title", to="x"),
    _set("about", "contact", to="x" * 5000),
    _set("about", "purpose", to="a\u202eb"),
    _RELAY,
    [*_RELAY, *_set("relay", "url", to="relay")],
    [*_RELAY, *_set("relay", "url", to="https://relay.example/other")],
    *([*_RELAY, *_typed("relay", "batch", to=to)] for to in ("0", "1", "many", "90000000000", "4900")),
    *([*_RELAY, *_typed("relay", "honest", to=to)] for to in ("0", "1", "2", "half", "0.01")),
    *([*_RELAY, *_typed("relay", "delta", to=to)] for to in ("0", "1", "small", "1e-12")),
    *([*_RELAY, *_typed("relay", "epsilon", to=to)] for to in ("0", "9", "small", "0.001", "0.5")),
    *([*_RELAY, *_typed("survey", "epsilon", to=to)] for to in ("5", "9", "0.5", "1")),
    *(
        [*_RELAY, *_typed("relay", each, to=to)]
        for each in ("opens", "closes")
        for to in ("soon", "2020-01-01")
    ),
    *(
        [*_RELAY, *_set("relay", each, to=to)]
        for each in ("collector_key", "relay_key")
        for to in ("", "abc")
    ),
    [{"op": "relay", "value": "all"}, {"op": "fit"}],
    [{"op": "relay", "value": "all"}, *_typed("survey", "epsilon", to="99")],
]
"""Each is a list of operations on the example, with further questions and a language."""


def mistaken_surveys() -> Iterator[str]:
    """Yield the texts of surveys with mistakes or warnings."""
    base = apply_operations(imports.read_example(), _BASE)
    for each in _CHANGES:
        yield apply_operations(base, each)
    without = apply_operations(base, [{"op": "label", "path": ["label"]}])
    yield from (apply_operations(without, each) for each in (_table("age", "uses"), _RELAY))
