"""Write valid inputs of every target to tests/fuzz_corpus.zip: `python -m tools.fuzz.seeds`.

Run it again if a format changes. A fuzzer starts from these inputs; tests/test_fuzz_corpus.py requires that
they are accepted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from click.testing import CliRunner

from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from encoders.survey.randomise import randomise_coded
from ldp_aggregator.snapshot import make_snapshot
from ldp_central.cli import main as central
from tests.support import central_surveys, silo_surveys, snapshots, surveys
from tools.fuzz.corpus import read_corpus, write_corpus
from tools.fuzz.targets import people_plans, silo_plan

ROWS = "smokes,age,hours,district,rested\ntrue,young,7.5,1000,often\nFalse,,,1089,never\n"
SILO_ROWS = 'smoker,age,weight,pulse,ill\nyes,50,80.5,,no\n"no",,31,1e2,yes\n'


def reports(people: int = 40) -> Iterator[bytes]:
    for index, plan in enumerate(people_plans()):
        rng, codes = FastStream(index), [0] * len(plan.row_schema.features)
        drawn = [randomise_coded(plan, (codes, 0), rng) for _ in range(people)]
        by_question = {each.question.index: each.report for each in drawn}
        yield from (bytes([index]) + report for report in by_question.values())
        yield bytes([index]) + b"".join(list(by_question.values())[:3])


def messages() -> Iterator[bytes]:
    plan = silo_plan()
    made = [
        silo_surveys.make_message(plan, silo_surveys.make_rows(plan, rows), FastStream(rows))
        for rows in (1, 100)
    ]
    yield made[0]
    yield b"".join(made)


def small_plans() -> list[Plan]:
    return [
        read_survey(text).compile()
        for text in (surveys.TEA, surveys.SLEEP + surveys.SLEEP_TEXTS, surveys.GOOD, surveys.PROJECTED)
    ]


def plans() -> Iterator[bytes]:
    yield from (plan.json for plan in (*people_plans(), *small_plans()))
    yield silo_plan().json


def survey_files() -> Iterator[bytes]:
    texts = (surveys.TEA, surveys.SLEEP + surveys.SLEEP_TEXTS, surveys.GOOD, surveys.PROJECTED)
    yield from (text.encode() for text in (*texts, silo_surveys.WARDS, central_surveys.survey_text()))


def all_snapshots() -> Iterator[bytes]:
    yield from (snapshots.make_snapshot(plan, 500).to_json() for plan in small_plans()[:3])
    yield make_snapshot(silo_plan(), {}).to_json()


def models() -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        for plan in small_plans()[:2]:
            yield snapshots.train_model(Path(folder) / "m", snapshots.make_snapshot(plan, 500)).read_bytes()
        survey, rows = Path(folder) / "survey.toml", Path(folder) / "rows.csv"
        survey.write_text(central_surveys.survey_text())
        rows.write_text(central_surveys.make_csv())
        for learner in ("nb", "linear", "tree"):
            yield train_by_curator(Path(folder) / f"{learner}.json", survey, rows, learner)


def train_by_curator(model: Path, survey: Path, rows: Path, learner: str) -> bytes:
    words = ["train", survey, rows, "-o", model, "--learner", learner, "--epsilon", 1, "--cap", 9]
    run = CliRunner().invoke(central, list(map(str, words)))
    assert run.exit_code == 0, run.output
    return model.read_bytes()


SEEDS: dict[str, Callable[[], Iterator[bytes]]] = {
    "reports": reports,
    "messages": messages,
    "plans": plans,
    "surveys": survey_files,
    "snapshots": all_snapshots,
    "models": models,
    "rows": lambda: iter((ROWS.encode(),)),
    "silo-rows": lambda: iter((SILO_ROWS.encode(),)),
}


if __name__ == "__main__":
    found = {name: data for name, data in read_corpus().items() if "/seed-" not in name}
    seeds = {
        f"{name}/seed-{number:02}": data for name, make in SEEDS.items() for number, data in enumerate(make())
    }
    write_corpus(found | seeds)
