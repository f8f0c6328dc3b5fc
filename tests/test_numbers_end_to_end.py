"""The whole protocol with numbers: a mixed survey with a projection, reports over HTTP, a mixed model."""

import random
from pathlib import Path

import pytest

from encoders.randomness import FastStream
from ldp_aggregator import load_model
from ldp_client import Client, State, load_plan, make_report
from tests.support.commands import command, post_reports
from tests.support.servers import TOKEN, collector, redis_server
from tests.support.surveys import survey_toml

pytestmark = pytest.mark.slow

SURVEY = survey_toml(
    id="numbers",
    epsilon=12.0,  # estimates are close to the truth
    label={"name": "kind", "values": ["a", "b"]},
    features={
        "colour": ["red", "blue"],
        "height": {"range": [0, 10], "missing": "category"},
        "sum": {"weights": [0.5, 0.5], "range": [-1, 1]},
        "difference": {"weights": [0.5, -0.5], "range": [-1, 1], "bins": 4},
    },
    projection={"inputs": {"left": {"range": [-1, 1]}, "right": {"range": [-1, 1]}}},
    mechanism={"numeric": "{numeric}"},
)
PEOPLE = 3000


def draw_person(rng: random.Random) -> tuple[dict[str, object], str]:
    """Draw a row: class b is taller, and its left hand stronger."""
    kind = rng.choice("ab")
    strength = 0.4 if kind == "b" else -0.4
    row: dict[str, object] = {
        "colour": rng.choice(["red", "blue"]),
        "height": rng.gauss(7 if kind == "b" else 4, 1) if rng.random() < 0.9 else None,
        "left": strength + rng.gauss(0, 0.1),
        "right": -strength + rng.gauss(0, 0.1),
    }
    return row, kind


@pytest.mark.parametrize("numeric", ["auto", "onebit", "sign-vector"])
def test_the_model_has_the_means_and_classes_of_the_people(numeric, tmp_path):
    store = f"sqlite:///{tmp_path}/ldp.db"
    check_model(numeric, store, tmp_path)


def test_redis_counts_numbers(tmp_path):
    with redis_server(tmp_path) as store:
        check_model("laplace", store, tmp_path)


def check_model(numeric: str, store: str, folder: Path) -> None:
    (folder / "survey.toml").write_text(SURVEY.format(numeric=numeric))
    rng, noise = random.Random(numeric), FastStream(7)
    with collector([folder / "survey.toml"], store) as (base, _):
        url = f"{base}/v1/surveys/numbers"
        plan = load_plan(url)
        reports = [make_report(plan, *draw_person(rng), noise) for _ in range(PEOPLE)]
        assert post_reports(url, b"".join(reports)) == {"recorded": PEOPLE, "duplicate": 0, "rejected": []}
        assert post_reports(url, b"".join(reports[:9])) == {"recorded": 0, "duplicate": 9, "rejected": []}
        with Client(plan, url, journal=":memory:", max_epsilon=20) as client:
            client.grant()
            row, kind = draw_person(rng)
            receipt = client.report({**row, "height": 99, "left": -2}, kind)
            assert (receipt.state, receipt.clipped) == (State.QUEUED, ("left", "height"))
            assert client.flush().state is State.SENT
        output = command("ldp-train", url, "-o", folder / "model.json", LDP_OPERATOR_TOKEN=TOKEN).stdout
    assert f"{PEOPLE + 1:,} people answered" in output

    features = {each.name: each for each in load_model(folder / "model.json").estimates_.features}
    for name, truths in {"height": (4.0, 7.0), "sum": (0.0, 0.0)}.items():
        means = features[name].by_class.means
        for value, error, truth in zip(means.value, means.stderr, truths, strict=True):
            assert abs(value - truth) < 5.5 * error, (name, means)
    (folder / "rows.csv").write_text(
        "colour,height,left,right\nred,7,0.4,-0.4\nred,4,-0.4,0.4\nblue,,0.4,-0.4\nblue,99,-0.4,0.4\n"
    )
    lines = command("ldp-predict", folder / "model.json", folder / "rows.csv").stdout.splitlines()
    assert [line[0] for line in lines[1:4]] == ["b", "a", "b"]
