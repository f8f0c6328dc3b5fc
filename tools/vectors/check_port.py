"""Checks a port of the client in another language against the vectors, see docs/porting.md.

``python tools/vectors/check_port.py http://127.0.0.1:9000`` asks the port's adapter for every report and
every refusal of the vectors. It exits with 0 if all responses are correct, with 1 if any is not, and with 2
if the adapter does not respond. It runs from a clone of the project with nothing installed.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).resolve().parents[2] / "tests" / "vectors"
SHOWN = 5
"""Failures printed per file; the first few usually have one cause."""
SECONDS = 60
LONGEST_ANSWER = 1 << 20
PARTS = ((2, "version"), (36, "plan digest"), (37, "question"), (55, "report id"))
"""End of each part of a report, in bytes, for questions below 128; the payload follows."""

Json = dict[str, Any]
Ask = Callable[[Json], Any]


class Unreachable(Exception):
    """The adapter does not respond."""


@dataclass(frozen=True)
class Case:
    """One request to the adapter: its description, the posted document and the expected response."""

    about: str
    posted: Json
    expected: Json


def cases_of(document: Json) -> Iterator[Case]:
    """Yield the cases of a file of vectors of any kind."""
    if "plans" in document:
        yield from _cases_of_plans(document)
        return
    plan = json.loads(document["plan"])
    for number, case in enumerate(document["cases"]):
        wanted = [key for key in ("plan", "row", "label", "random", "token", "wave") if key in case]
        posted = {"plan": document["plan"]} | {key: case[key] for key in wanted}
        named = f"case {number}" + (f", {case['name']}" if "name" in case else "")
        if "error" in case:
            yield Case(named, posted, {"error": case["error"]})
        elif "field" in case:
            yield Case(named, posted, {"error": "row", "field": case["field"]})
        else:
            about = f"{named}: {describe(plan, case['question'])}"
            yield Case(about, posted, {"report": case["report"]})


def _cases_of_plans(document: Json) -> Iterator[Case]:
    posted = {key: document[key] for key in ("row", "label", "random")}
    # an adapter that refuses whatever it is given passes nothing
    yield Case(
        "the honest plan", posted | {"plan": document["honest"]}, {"report": document["honest_report"]}
    )
    for each in document["plans"]:
        yield Case(f"plan: {each['name']}", posted | {"plan": each["plan"]}, {"error": "plan"})


def describe(plan: Json, index: int) -> str:
    """Return the question of a plan and its mechanism in words."""
    question = plan["questions"][index % len(plan["questions"])]
    asked = question["feature"]
    places = [] if asked is None else asked if isinstance(asked, list) else [asked]
    features = [name for feature in plan["features"] for name in names_of(feature)]
    names = ", ".join(features[place] for place in places) or plan["label"]["name"]
    moment = {1: " (mean)", 2: " (square)"}.get(question.get("moment"), "")
    return f"question {index}, {names}{moment}, by {question['mechanism']}"


def names_of(feature: Json) -> list[str]:
    """Return the names of the features of an entry of a plan: one for each choice of several answers."""
    if feature["kind"] != "choices":
        return [feature["name"]]
    return [f"{feature['name']}: {choice}" for choice in feature["values"]]


def asker(url: str) -> Ask:
    """Return a function that posts one request to an adapter; it returns the JSON, or an error as text."""
    target = url.rstrip("/") + "/report"
    # a proxy of the environment must not be used for 127.0.0.1
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(posted: Json) -> Any:
        body = json.dumps(posted).encode()
        request = urllib.request.Request(target, body, {"Content-Type": "application/json"})
        try:
            with opener.open(request, timeout=SECONDS) as answer:
                return json.loads(answer.read(LONGEST_ANSWER))
        except urllib.error.HTTPError as error:
            error.close()
            return f"HTTP status {error.code}"
        except (urllib.error.URLError, TimeoutError) as error:
            raise Unreachable(f"{target}: {getattr(error, 'reason', error)}") from error
        except (HTTPException, ConnectionError) as error:
            return f"no answer ({type(error).__name__})"
        except ValueError:
            return "a response that is not JSON"

    return ask


def may_skip(posted: Json) -> bool:
    """Return whether a row has values without a type in some languages: big integers and unexpected lists."""
    plan = json.loads(posted["plan"])
    several = {each["name"] for each in plan.get("validation", plan)["features"] if each["kind"] == "choices"}
    ticked = [value for name, value in posted["row"].items() if name in several and isinstance(value, list)]
    others = [value for name, value in posted["row"].items() if name not in several]
    return any(
        isinstance(value, list) or (isinstance(value, dict) and "integer" in value)
        for value in (*others, posted["label"], *(each for value in ticked for each in value))
    )


def outcome_of(case: Case, answer: Any) -> str:
    """Return "" if a response is correct, "skipped", or a description of the error."""
    if isinstance(answer, dict) and "skip" in answer:
        return "skipped" if may_skip(case.posted) else "skipped, but every port must accept this value"
    if isinstance(answer, dict) and isinstance(answer.get("report"), str):
        answer = answer | {"report": answer["report"].lower()}
    if answer == case.expected:
        return ""
    difference = f"expected {brief(case.expected)}\n      got      {brief(answer)}"
    where = ""
    if isinstance(answer, dict) and "report" in case.expected and isinstance(answer.get("report"), str):
        where = "\n      " + first_difference(case.expected["report"], answer["report"])
    return difference + where


def brief(answer: Any) -> str:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return text if len(text) <= 400 else f"{text[:380]}... ({len(text)} characters)"


def first_difference(expected: str, got: str) -> str:
    """Describe the first byte in which two reports in hex differ, and its part of the report."""
    pairs = [(expected[at : at + 2], got[at : at + 2]) for at in range(0, max(len(expected), len(got)), 2)]
    at = next(place for place, (one, other) in enumerate(pairs) if one != other)
    part = next((name for end, name in PARTS if at < end), "payload")
    one, other = pairs[at]
    return (
        f"first differs at byte {at} of {len(expected) // 2} ({part}): {one or 'end'}, not {other or 'end'}"
    )


def check_file(path: Path, ask: Ask, shown: int) -> bool:
    """Check all cases of a file, print the results, and return whether all are correct."""
    document = json.loads(path.read_text(encoding="utf-8"))
    outcomes = [(case.about, outcome_of(case, ask(case.posted))) for case in cases_of(document)]
    skipped = sum(outcome == "skipped" for _, outcome in outcomes)
    failures = [(about, outcome) for about, outcome in outcomes if outcome not in ("", "skipped")]
    passed = len(outcomes) - skipped - len(failures)
    counts = f"{passed:4} passed  {len(failures):4} failed"
    print(f"{path.name:36} {counts}" + (f"  {skipped:4} skipped" if skipped else ""))
    for about, outcome in failures[:shown]:
        print(f"    {about}\n      {outcome}")
    if len(failures) > shown:
        print(f"    ... and {len(failures) - shown} more (--all shows them)")
    return not failures


def check(url: str, paths: Sequence[Path], shown: int = SHOWN) -> int:
    """Check the adapter at a URL against files of vectors; return the exit status."""
    ask = asker(url)
    try:
        right = [check_file(path, ask, shown) for path in paths]
    except Unreachable as error:
        print(f"no adapter to ask at {error}", file=sys.stderr)
        return 2
    print("the port agrees with every vector" if all(right) else f"{right.count(False)} files with failures")
    return 0 if all(right) else 1


def vector_files() -> list[Path]:
    """Return the files of vectors for clients; bad.json is for collectors."""
    others = [VECTORS / f"{name}.json" for name in ("normal-forms", "tokens", "tokens-waves")]
    kinds = ("good-*", "bad-rows*", "bad-plans*")
    return [*(path for kind in kinds for path in sorted(VECTORS.glob(f"{kind}.json"))), *others]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check from the command line."""
    parser = argparse.ArgumentParser(description="Check a port of the client against the vectors.")
    parser.add_argument("url", help="of the port's adapter, for example http://127.0.0.1:9000")
    parser.add_argument("files", nargs="*", type=Path, help="vectors to check; by default all for clients")
    parser.add_argument("--all", action="store_true", help="show every failure")
    given = parser.parse_args(arguments)
    if not given.url.startswith(("http://", "https://")):
        parser.error("the URL must begin with http:// or https://")
    return check(given.url, given.files or vector_files(), sys.maxsize if given.all else SHOWN)


if __name__ == "__main__":
    sys.exit(main())
