"""The committed vectors: what they say still happens, and they are what their generator writes."""

import base64
import hashlib
import json
import math
import sys
import unicodedata
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoders.errors import LdpError, PrivacyError, Reason, ReportError, RowError, SurveyError, TokenError
from encoders.mechanisms import MECHANISMS, NUMERIC_MECHANISMS
from encoders.randomness import GivenBytes
from encoders.report import pack, unpack
from encoders.survey import Plan
from encoders.survey.questions import BOTH, MEAN, SQUARE
from ldp_client import make_report
from tests.support import reference
from tools.vectors import adapter, generate
from tools.vectors.adapter import value_of as read_value
from tools.vectors.check_port import cases_of, outcome_of

HERE = Path(__file__).parent
GOOD = sorted(HERE.glob("good-*.json"))
NUMERIC = sorted(HERE.glob("good-numeric-*.json"))
VALIDATIONS = sorted(HERE.glob("good-validation*.json"))
WITHOUT_LABEL = HERE / "good-unlabelled.json"
CHOICES = sorted(HERE.glob("good-choices*.json"))
WAVES = HERE / "good-waves.json"
SEVERAL = "choices"
"""The kind of an entry with several answers."""


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def row_of(case: dict[str, Any]) -> dict[str, Any]:
    return {name: read_value(value) for name, value in case["row"].items()}


every_file = pytest.mark.parametrize("path", GOOD, ids=[path.stem for path in GOOD])


@pytest.mark.slow
def test_the_generator_writes_the_committed_files():
    committed = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.json")}
    assert generate.files() == committed


@every_file
def test_every_report_follows_from_its_row_and_random_bytes(path):
    vectors = read(path)
    plan = Plan.from_json(vectors["plan"].encode())
    assert plan.digest == vectors["digest"] == hashlib.sha256(vectors["plan"].encode()).hexdigest()
    for case in vectors["cases"]:
        rng = GivenBytes(bytes.fromhex(case["random"]))
        row, label = row_of(case), read_value(case["label"])
        assert make_report(plan, row, label, rng, wave=case.get("wave")).hex() == case["report"]
        assert plan.encode(row, label) == (tuple(case["codes"]), case["label_code"])
        assert not plan.validation or list(plan.encode_row(row)) == case["row_codes"]
        question = plan.counted_questions[case["question"]]
        value = question.value(case["codes"], case["label_code"])
        assert (list(value) if question.mechanism.multivariate else value) == case["value"]
        with pytest.raises(LdpError, match="random bytes asked for, 0 are left"):
            rng.take(1)


@every_file
def test_reports_follow_from_the_document_of_the_wire_format_alone(path):
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
        assert validation_codes_of(plan, case) == (case["codes"], case["label_code"])
        if "wave" in case:
            names = [wave["name"] for wave in plan["waves"]["list"]]
            index += names.index(case["wave"]) * len(plan["questions"])
        assert (index, value_of(plan, question, case)) == (case["question"], case["value"])
        tables = plan["tables"][question["tables"]]
        if "moment" in question:
            payload = reference.perturb_numbers(
                *about(plan, question), question["moment"] == 2, as_list(case["value"]), random[24:]
            )
        else:
            domain = question["domain"]
            payload = reference.perturb(question["mechanism"], tables, domain, case["value"], random[24:])
        size = len(payload).to_bytes(1, "big") if len(payload) < 256 else len(payload).to_bytes(2, "big")
        header = b"\xc4" if len(payload) < 256 else b"\xc5"
        report = b"\x95\x01\xc4\x20" + bytes.fromhex(vectors["digest"]) + packed(index)
        report += b"\xc4\x10" + random[8:24] + header + size + payload
        assert report.hex() == case["report"]


def packed(index: int) -> bytes:
    short = bytes([index]) if index < 128 else b"\xcc" + bytes([index % 256])
    return short if index < 256 else b"\xcd" + index.to_bytes(2, "big")


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def about(plan: dict[str, Any], question: dict[str, Any]) -> tuple[str, Any, int, tuple[bool, ...]]:
    """Return the mechanism of a question about numbers, its tables, the classes and what may be missing."""
    features = reference.features_of(plan)
    asked = [features[place] for place in as_list(question["feature"])]
    missing = tuple(feature["missing"] == "category" for feature in asked)
    tables = plan["tables"][question["tables"]]
    return question["mechanism"], tables, classes_of(plan), missing


def classes_of(plan: dict[str, Any]) -> int:
    return len(plan["label"]["values"]) if "label" in plan else 1


def value_of(plan: dict[str, Any], question: dict[str, Any], case: dict[str, Any]) -> Any:
    labels, features = classes_of(plan), reference.features_of(plan)
    if question["feature"] is None:
        return case["label_code"]
    places = as_list(question["feature"])
    codes, sizes = [case["codes"][place] for place in places], []
    if "moment" not in question:
        intervals = [interval_of(features[each], question, case["codes"][each]) for each in places]
        codes, sizes = [code for code, _ in intervals], [size for _, size in intervals]
        labels = labels if question["domain"] == labels * math.prod(sizes) else 1
    label_code = case["label_code"] if labels > 1 else 0
    if question.get("moment") == 2:
        codes = [reference.square_of(code) for code in codes]
    if question["mechanism"] == "laplace":
        return [code * labels + label_code for code in codes]
    number = codes[0]
    for size, code in zip(sizes[1:], codes[1:], strict=True):
        number = number * size + code
    return number * labels + label_code


def interval_of(feature: dict[str, Any], question: dict[str, Any], code: int) -> tuple[int, int]:
    """Return the interval of a code, which is the code itself without a width, and how many there are."""
    missing, width = feature["missing"] == "category", question.get("width", 1)
    values = size_of(feature) - missing
    return (code + -values % width) // width, math.ceil(values / width) + missing


def size_of(feature: dict[str, Any]) -> int:
    """Return how many codes a discrete feature has."""
    known = len(feature["values"]) if feature["kind"] == "categorical" else len(feature["edges"]) - 1
    return known + (feature["missing"] == "category")


def validation_codes_of(plan: dict[str, Any], case: dict[str, Any]) -> tuple[list[int], int]:
    """Code a row, and validate the model if there is one, as the document states."""
    if "validation" not in plan:
        return codes_of(plan, case, case["codes"]), case["label_code"]
    model = plan["validation"]
    codes = codes_of(model, case, case["row_codes"])
    assert codes == case["row_codes"]
    return reference.outcomes(model, codes, model["label"]["values"].index(case["label"]))


def codes_of(plan: dict[str, Any], case: dict[str, Any], known: list[int]) -> list[int]:
    """Code a row as the document states; categories are taken as the vector has them."""
    projection = plan.get("projection", {"inputs": [], "components": []})
    row = row_of(case)
    inputs = [code_of(feature, row[feature["name"]]) for feature in projection["inputs"]]
    row |= {
        each["name"]: reference.component(each["weights"], each["offset"], inputs)
        for each in projection["components"]
    }
    codes: list[int] = []
    for feature in plan["features"]:
        if feature["kind"] == SEVERAL:
            codes += choice_codes_of(feature, row[feature["name"]])
        elif feature["kind"] == "categorical":
            codes.append(known[len(codes)])
        else:
            codes.append(code_of(feature, row[feature["name"]]))
    return codes


def choice_codes_of(entry: dict[str, Any], ticked: Any) -> list[int]:
    """Code the list of ticked choices as the document states."""
    if not isinstance(ticked, list):
        assert ticked is None or ticked == "" or math.isnan(ticked)
        return [2] * len(entry["values"])
    texts = {spelling_of(each) for each in ticked}
    return [int(choice in texts) for choice in entry["values"]]


def spelling_of(value: Any) -> str:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    return str(value).lower() if isinstance(value, bool) else str(int(value))


def double_of(x: Any) -> float | None:
    """Read a number as the document states: the nearest double, a finite one never infinite; None for NaN."""
    if x is None or x == "":
        return None
    if isinstance(x, int):
        return float(min(max(x, -int(sys.float_info.max)), int(sys.float_info.max)))
    assert not math.isinf(x)
    return None if math.isnan(x) else x


def code_of(feature: dict[str, Any], value: Any) -> int:
    x = double_of(value)
    if feature["kind"] == "numeric":
        return reference.number_code(feature["low"], feature["high"], feature["missing"], x)
    if x is None:
        return len(feature["edges"]) - 1
    return sum(float(edge) <= x for edge in feature["edges"][1:-1])


@every_file
def test_collector_accepts_every_report(path):
    vectors = read(path)
    plan = Plan.from_json(vectors["plan"].encode())
    for case in vectors["cases"]:
        data = bytes.fromhex(case["report"])
        report = checked_report(plan, data)
        assert pack(report) == data
        question = plan.counted_questions[report.question]
        row = np.frombuffer(report.payload, np.uint8)[None]
        if question.moment:
            document = json.loads(vectors["plan"])
            entry = document["questions"][report.question % len(plan.questions)]
            asked = about(document, entry)
            powers = 4 if question.moment == BOTH else 1
            expected = reference.contribution_of_numbers(*asked, report.payload, powers)
        else:
            expected = reference.contribution(question.mechanism.name, question.domain, report.payload)
        assert question.mechanism.tally(row).tolist() == expected


def test_the_vectors_reach_every_question_mechanism_and_missing_value():
    mechanisms = set()
    others = {*NUMERIC, *VALIDATIONS, *CHOICES, HERE / "good-unlabelled-texts.json", WAVES}
    for path in set(GOOD) - others:
        vectors = read(path)
        plan = Plan.from_json(vectors["plan"].encode())
        assert {case["question"] for case in vectors["cases"]} == set(range(len(plan.questions)))
        assert {2, 3} <= {code for case in vectors["cases"] for code in case["codes"]}
        assert any(None in case["row"].values() for case in vectors["cases"])
        mechanisms |= {question.mechanism.name for question in plan.questions if not question.moment}
    assert mechanisms == set(MECHANISMS)


def test_the_vectors_reach_every_combination_s_end_of_features_that_are_asked_about_together():
    vectors = read(HERE / "good-together.json")
    plan = Plan.from_json(vectors["plan"].encode())
    assert [question.feature_indices for question in plan.questions] == [(), (0, 2, 5), (1, 4), (3,)]
    assert plan.features[1].missing == "category"
    for question in plan.questions[1:3]:
        seen = {case["value"] for case in vectors["cases"] if case["question"] == question.index}
        codes = [question.meaning(value) for value in seen]
        for feature in question.asked_features:
            assert {each[feature.name] for each in codes} == set(feature.texts)
        assert {value % 3 for value in seen} == {0, 1, 2}


def test_the_vectors_of_numbers_reach_every_question_mechanism_end_and_missing_value():
    mechanisms = set()
    for path in NUMERIC:
        vectors = read(path)
        plan = Plan.from_json(vectors["plan"].encode())
        assert {case["question"] for case in vectors["cases"]} == set(range(len(plan.questions)))
        has_both = path.stem == "good-numeric-both"
        moments = {question.moment for question in plan.questions}
        assert moments == {None, MEAN, SQUARE} | ({BOTH} if has_both else set())
        for place, feature in enumerate(plan.features):
            seen = {case["codes"][place] for case in vectors["cases"]}
            assert feature.missing == "error" or feature.size - 1 in seen
            assert feature.kind != "numeric" or feature.name == "second" or {0, 2 * reference.G} <= seen
        numeric = {question.mechanism.name for question in plan.questions if question.moment}
        assert plan.projection or has_both or path.stem == f"good-numeric-{next(iter(numeric))}"
        mechanisms |= numeric
    assert mechanisms == set(NUMERIC_MECHANISMS)
    projected = Plan.from_json(read(HERE / "good-numeric-projection.json")["plan"].encode())
    assert [feature.kind for feature in projected.features[-2:]] == ["binned", "numeric"]
    assert projected.projection is not None


def test_the_vectors_of_validations_reach_every_answer_of_every_question():
    asked = []
    for path in VALIDATIONS:
        vectors = read(path)
        plan = Plan.from_json(vectors["plan"].encode())
        assert plan.validation is not None
        assert plan.validation.projection is not None
        assert {feature.kind for feature in plan.validation.features} == {"categorical", "binned", "numeric"}
        for question in plan.questions:
            seen = {case["value"] for case in vectors["cases"] if case["question"] == question.index}
            assert seen == set(range(question.domain))
        asked.append([question.feature_indices for question in plan.questions])
    assert asked == [[(0, 1), (2,)], [(0,), (1,), (2,), (3,), (4,)]]


def test_the_vectors_of_validations_reach_every_edge_tie_and_missing_value():
    vectors = read(HERE / "good-validation.json")
    model, g = json.loads(vectors["plan"])["validation"], reference.G
    edges = {part * g // 32 + step for part in (1, 2, 31, 32, 33, 62, 63) for step in (0, 1)}
    for place, feature in enumerate(model["features"]):
        seen = {case["row_codes"][place] for case in vectors["cases"]}
        if feature["kind"] == "numeric":
            assert seen >= {0, *edges, 2 * g} | ({2 * g + 1} if feature["missing"] == "category" else set())
        else:
            assert seen == set(range(size_of(feature)))
    ties = set()
    for case in vectors["cases"]:
        for top in (*model["tops"], len(model["order"])):
            scores = reference.scores_of(model, case["row_codes"], top)
            ties.add(tuple(label for label, score in enumerate(scores) if score == max(scores)))
    assert ties == {(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)}
    assert min(score for table in model["scores"] for row in table for score in row) == -1000000


def test_the_vectors_without_a_label_reach_every_mechanism_and_kind_of_feature():
    vectors = read(WITHOUT_LABEL)
    plan = Plan.from_json(vectors["plan"].encode())
    assert "label" not in json.loads(vectors["plan"])
    assert {case["question"] for case in vectors["cases"]} == set(range(len(plan.questions)))
    assert {feature.kind for feature in plan.entries} == {"categorical", "binned", "numeric", SEVERAL}
    assert {each.mechanism.name for each in plan.questions} == set(MECHANISMS) | set(NUMERIC_MECHANISMS)
    for place, feature in enumerate(plan.features):
        seen = {case["codes"][place] for case in vectors["cases"]}
        assert feature.missing == "error" or feature.size - 1 in seen
        assert feature.kind != "numeric" or len(seen & {0, 2 * reference.G}) >= 1


def test_the_vectors_of_choices_reach_every_tick_alone_and_together():
    alone, together = (read(HERE / f"good-{name}.json") for name in ("choices", "choices-together"))
    plan = Plan.from_json(alone["plan"].encode())
    named = [question for question in plan.questions if ":" in question.name]
    assert [each.name for each in named] == [each.name for each in plan.features if ":" in each.name]
    for question in named:
        [place] = question.feature_indices
        seen = {case["codes"][place] for case in alone["cases"] if case["question"] == question.index}
        assert seen == set(range(plan.features[place].size))
    grouped = Plan.from_json(together["plan"].encode())
    discrete = [each.feature_indices for each in grouped.questions if not each.moment]
    assert max(map(len, discrete)) >= 3
    assert sum(map(len, discrete)) == 7


def checked_report(plan: Plan, data: bytes) -> Any:
    """Check one report as a collector does."""
    report = unpack(data)
    if report.plan_digest.hex() != plan.digest:
        raise ReportError(Reason.WRONG_PLAN)
    if report.question >= len(plan.counted_questions):
        raise ReportError(Reason.UNKNOWN_QUESTION)
    plan.counted_questions[report.question].mechanism.check(report.payload)
    return report


BAD = read(HERE / "bad.json")


@pytest.mark.parametrize("case", BAD["reports"], ids=[case["name"] for case in BAD["reports"]])
def test_every_bad_report_is_refused_for_its_reason(case):
    plan = Plan.from_json(case.get("plan", BAD["plan"]).encode())
    with pytest.raises(ReportError) as caught:
        checked_report(plan, bytes.fromhex(case["report"]))
    assert caught.value.reason == case["reason"]


BAD_ROWS = sorted(HERE.glob("bad-rows*.json"))
every_bad_file = pytest.mark.parametrize("path", BAD_ROWS, ids=[path.stem for path in BAD_ROWS])


@every_bad_file
def test_every_bad_row_is_refused_by_field_before_anything_is_drawn(path):
    vectors = read(path)
    plan = Plan.from_json(vectors["plan"].encode())
    for case in vectors["cases"]:
        rng = GivenBytes(bytes.fromhex(case["random"]))
        with pytest.raises(RowError) as caught:
            make_report(plan, row_of(case), read_value(case["label"]), rng)
        assert caught.value.field == case["field"], case["name"]
        assert rng.take(len(case["random"]) // 2).hex() == case["random"]


@every_bad_file
def test_bad_rows_name_every_field_and_bad_values_every_feature(path):
    vectors = read(path)
    plan = Plan.from_json(vectors["plan"].encode())
    entries = {feature.name for feature in plan.entries}
    assert {case["field"] for case in vectors["cases"]} == entries | {plan.row_label.name or "label"}
    assert len({case["name"] for case in vectors["cases"]}) == len(vectors["cases"])


every_file_of_tokens = pytest.mark.parametrize("name", ["tokens", "tokens-waves"])


@every_file_of_tokens
def test_a_token_is_the_id_and_names_the_question_and_wave(name):
    vectors = read(HERE / f"{name}.json")
    plan = Plan.from_json(vectors["plan"].encode())
    accepted = [case for case in vectors["cases"] if "report" in case]
    for case in accepted:
        rng = GivenBytes(bytes.fromhex(case["random"]))
        assert make_report(plan, case["row"], case["label"], rng, case["token"]).hex() == case["report"]
        letters = "".join(case["token"].replace("-", "").split()).upper()
        token, check = base64.b32decode(letters)[:16], base64.b32decode(letters)[16:]
        digest = bytes.fromhex(vectors["digest"])
        assert check == hashlib.sha256(b"ldp-bayes token check\0" + digest + token).digest()[:4]
        report = unpack(bytes.fromhex(case["report"]))
        assert (report.id, report.question) == (token, int.from_bytes(token[:2], "big"))
    assert {case["question"] for case in accepted} == set(range(len(plan.counted_questions)))


@every_file_of_tokens
def test_every_bad_token_is_refused_before_anything_is_drawn(name):
    vectors = read(HERE / f"{name}.json")
    plan = Plan.from_json(vectors["plan"].encode())
    for case in vectors["cases"]:
        if "error" in case:
            with pytest.raises(TokenError) as caught:
                make_report(plan, case["row"], case["label"], GivenBytes(b""), case["token"])
            assert not case["token"] or case["token"] not in str(caught.value), case["name"]


def test_the_vectors_of_waves_reach_every_question_size_of_an_index_and_limit_of_a_draw():
    vectors = read(WAVES)
    plan = Plan.from_json(vectors["plan"].encode())
    assert plan.waves
    questions = len(plan.questions)
    indices = {case["question"] for case in vectors["cases"]}
    assert {index % questions for index in indices} == set(range(questions))
    assert {0, 127, 128, 255, 256, len(plan.counted_questions) - 1} <= indices
    count, expected = len(plan.waves.list), {}
    limits = [(1 << 64) * wave // count for wave in range(1, count)]
    for case in vectors["draws"]:
        random = bytes.fromhex(case["random"])
        drawn = int.from_bytes(random, "little")
        assert plan.waves.draw(GivenBytes(random)) == case["wave"] == sum(limit <= drawn for limit in limits)
        expected.setdefault(case["wave"], []).append(drawn)
    assert [wave for wave, drawn in expected.items() if len(drawn) == 2] == list(range(count))
    ends = [each for drawn in expected.values() for each in drawn]
    assert (ends[0], ends[-1]) == (0, (1 << 64) - 1)
    assert all(last + 1 == first for last, first in zip(ends[1::2], ends[2::2], strict=False))


NORMAL_FORMS = read(HERE / "normal-forms.json")


def test_texts_of_rows_are_compared_in_nfc_and_a_plan_with_another_text_is_refused():
    outcomes = {case.about: outcome_of(case, adapter.answer(case.posted)) for case in cases_of(NORMAL_FORMS)}
    assert len(outcomes) == len(NORMAL_FORMS["cases"])
    assert {about: outcome for about, outcome in outcomes.items() if outcome} == {}


BAD_PLANS, BAD_WITHOUT_LABEL = (read(HERE / f"{name}.json") for name in ("bad-plans", "bad-plans-unlabelled"))
REFUSED = [*BAD_PLANS["plans"], *BAD_WITHOUT_LABEL["plans"]]


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED, ids=[case["name"] for case in REFUSED])
def test_every_bad_plan_is_refused(case):
    spends = case["name"].endswith("spends more than epsilon")
    with pytest.raises(PrivacyError if spends else SurveyError):
        Plan.from_json(case["plan"].encode())


def test_bad_plans_overspend_by_every_mechanism_and_their_row_fits_the_honest_plan():
    spending = [case["plan"] for case in BAD_PLANS["plans"] if "spends more" in case["name"]]
    mechanisms = {question["mechanism"] for text in spending for question in json.loads(text)["questions"]}
    assert mechanisms == set(MECHANISMS) | set(NUMERIC_MECHANISMS)
    for file in (BAD_PLANS, BAD_WITHOUT_LABEL):
        plan, rng = Plan.from_json(file["honest"].encode()), GivenBytes(bytes.fromhex(file["random"]))
        assert make_report(plan, file["row"], file["label"], rng).hex() == file["honest_report"]
        assert len({case["plan"] for case in file["plans"]}) == len(file["plans"])


def test_no_json_reader_changes_a_value_of_the_vectors():
    # numbers are doubles everywhere, whole ones of at most 2^53; what is not has an object of its own
    for path in (*GOOD, *BAD_ROWS):
        for case in read(path)["cases"]:
            listed = [value for value in case["row"].values() if isinstance(value, list)]
            for value in (*case["row"].values(), case["label"], *chain.from_iterable(listed)):
                assert not isinstance(value, int) or abs(value) <= 1 << 53
                assert not isinstance(value, float) or (math.isfinite(value) and value.hex() != "-0x0.0p+0")
                assert not isinstance(value, dict) or value.keys() in ({"integer"}, {"double"})
