"""Check a port of the client in another language against the vectors: docs/porting.md.

``python tests/vectors/check_port.py http://127.0.0.1:9000`` asks the port's adapter for every report and
every refusal of the vectors. It exits with 0 if all are as they must be, with 1 if any is not, and with 2 if
there is no adapter to ask. It runs from a clone of the project with nothing installed.
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

HERE = Path(__file__).resolve().parent
SHOWN = 5
"""Failures told per file; the first few mostly have one cause."""
SECONDS = 60
LONGEST_ANSWER = 1 << 20
PARTS = ((2, "version"), (36, "plan digest"), (37, "question"), (55, "report id"))
"""Where each part of a report ends, for questions below 128; the payload follows."""

Json = dict[str, Any]
Ask = Callable[[Json], Any]


class Unreachable(Exception):
    """There is no adapter, or no more."""


@dataclass(frozen=True)
class Case:
    """One question to the adapter: what it is about, what is posted, what must come back."""

    about: str
    posted: Json
    expected: Json


def cases_of(document: Json) -> Iterator[Case]:
    """Yield the cases of a file of vectors, whichever of the kinds it is."""
    if "plans" in document:
        yield from _cases_of_plans(document)
        return
    plan = json.loads(document["plan"])
    for number, case in enumerate(document["cases"]):
        wanted = [key for key in ("row", "label", "random", "token") if key in case]
        posted = {key: case[key] for key in wanted} | {"plan": document["plan"]}
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
    """Say which question of a plan is asked, by which mechanism."""
    question = plan["questions"][index]
    asked = question["feature"]
    places = [] if asked is None else asked if isinstance(asked, list) else [asked]
    names = ", ".join(plan["features"][place]["name"] for place in places) or plan["label"]["name"]
    moment = {None: "", 1: " (mean)", 2: " (square)"}[question.get("moment")]
    return f"question {index}, {names}{moment}, by {question['mechanism']}"


def asker(url: str) -> Ask:
    """Return what posts one question to an adapter and returns its JSON, or says in words what failed."""
    target = url.rstrip("/") + "/report"
    # a proxy of the environment would look for 127.0.0.1 elsewhere
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
            return "an answer that is no JSON"

    return ask


def may_skip(posted: Json) -> bool:
    """Tell whether a row holds what the types of some languages cannot carry: big integers and lists."""
    values = (*posted["row"].values(), posted["label"])
    return any(
        isinstance(value, list) or (isinstance(value, dict) and "integer" in value) for value in values
    )


def judge(case: Case, answer: Any) -> str:
    """Return "" if an answer is right, "skipped", or what is wrong with it."""
    if isinstance(answer, dict) and "skip" in answer:
        return "skipped" if may_skip(case.posted) else "skipped, but this value every port can be given"
    if isinstance(answer, dict) and isinstance(answer.get("report"), str):
        answer = answer | {"report": answer["report"].lower()}
    if answer == case.expected:
        return ""
    told = f"expected {brief(case.expected)}\n      got      {brief(answer)}"
    where = ""
    if isinstance(answer, dict) and "report" in case.expected and isinstance(answer.get("report"), str):
        where = "\n      " + first_difference(case.expected["report"], answer["report"])
    return told + where


def brief(answer: Any) -> str:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return text if len(text) <= 400 else f"{text[:380]}... ({len(text)} characters)"


def first_difference(expected: str, got: str) -> str:
    """Say which byte of two reports in hex is the first to differ, and what it is part of."""
    pairs = [(expected[at : at + 2], got[at : at + 2]) for at in range(0, max(len(expected), len(got)), 2)]
    at = next(place for place, (one, other) in enumerate(pairs) if one != other)
    part = next((name for end, name in PARTS if at < end), "payload")
    one, other = pairs[at]
    return (
        f"first differs at byte {at} of {len(expected) // 2} ({part}): {one or 'end'}, not {other or 'end'}"
    )


def check_file(path: Path, ask: Ask, shown: int) -> bool:
    """Ask all of a file, print what came of it, and tell whether all was right."""
    document = json.loads(path.read_text(encoding="utf-8"))
    verdicts = [(case.about, judge(case, ask(case.posted))) for case in cases_of(document)]
    skipped = sum(verdict == "skipped" for _, verdict in verdicts)
    failures = [(about, verdict) for about, verdict in verdicts if verdict not in ("", "skipped")]
    passed = len(verdicts) - skipped - len(failures)
    counts = f"{passed:4} passed  {len(failures):4} failed"
    print(f"{path.name:36} {counts}" + (f"  {skipped:4} skipped" if skipped else ""))
    for about, verdict in failures[:shown]:
        print(f"    {about}\n      {verdict}")
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
    """Return the files that say what a client does; bad.json is for collectors."""
    others = [HERE / "tokens.json", *sorted(HERE.glob("bad-rows*.json")), HERE / "bad-plans.json"]
    return [*sorted(HERE.glob("good-*.json")), *others]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and check."""
    parser = argparse.ArgumentParser(description="Check a port of the client against the vectors.")
    parser.add_argument("url", help="of the port's adapter, for example http://127.0.0.1:9000")
    parser.add_argument("files", nargs="*", type=Path, help="vectors to check; by default all for clients")
    parser.add_argument("--all", action="store_true", help="show every failure")
    given = parser.parse_args(arguments)
    if not given.url.startswith(("http://", "https://")):
        parser.error("the URL begins with http:// or https://")
    return check(given.url, given.files or vector_files(), sys.maxsize if given.all else SHOWN)


if __name__ == "__main__":
    sys.exit(main())
