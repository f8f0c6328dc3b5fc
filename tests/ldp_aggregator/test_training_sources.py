"""All sources of training give the same totals, and a source given twice is refused."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.report import Report, pack
from encoders.survey import Plan, read_survey
from encoders.survey.validation_round import Validation
from ldp_aggregator.snapshot import SnapshotError, take_snapshot
from ldp_aggregator.stores import MemoryStore, StoreError, open_store
from ldp_aggregator.training_sources import SourceError, read_training_data
from tests.ldp_aggregator.collector.conftest import make_store
from tests.support.batches import record
from tests.support.http_servers import QuietHandler, serve
from tests.support.surveys import make_plan as make_small_plan
from tests.support.surveys import survey_toml

QUESTIONS = {
    "label": {"name": "label", "values": ["a", "b"]},
    "features": {"x": ["1", "2", "3"], "y": ["u", "v"]},
}


def make_plan(survey: str = "one") -> Plan:
    return make_small_plan(id=survey, **QUESTIONS)


@pytest.fixture
def plan() -> Plan:
    return make_plan()


def make_reports(plan: Plan, count: int, seed: int = 1) -> list[bytes]:
    rng, stream = np.random.default_rng(seed), FastStream(seed)
    packed = []
    for _ in range(count):
        question = plan.draw(stream)
        payload = question.mechanism.perturb(int(rng.integers(question.domain)), stream)
        packed.append(pack(Report(bytes.fromhex(plan.digest), question.index, rng.bytes(16), payload)))
    return packed


def fill(store: MemoryStore, plan: Plan, reports: int) -> None:
    for question in plan.questions:
        record(store, plan.id, question.key, {bytes(16): bytes(8)}, np.arange(question.domain))
    store.add_rejections(plan.id, "malformed", reports)


def test_archives_are_counted_as_the_collector_counts(plan, tmp_path):
    first, second = make_reports(plan, 60), make_reports(plan, 40, seed=2)
    (tmp_path / "a").write_bytes(b"".join(first))
    (tmp_path / "b").write_bytes(b"".join([*second, *first[:10], *make_reports(make_plan("other"), 3)]))
    snapshot = read_training_data([str(tmp_path / "a"), str(tmp_path / "b")], plan=plan).snapshot
    assert snapshot.total() == 100
    assert dict(snapshot.rejections) == {"wrong-plan": 3}
    assert snapshot.plan == plan


def test_a_truncated_archive_adds_up_with_others(plan, tmp_path):
    (tmp_path / "a").write_bytes(b"".join(make_reports(plan, 60))[:-1])
    (tmp_path / "b").write_bytes(gzip.compress(b"".join(make_reports(plan, 40, seed=2))))
    archives = [str(tmp_path / "a"), str(tmp_path / "b")]
    with pytest.warns(UserWarning, match="a: ends inside a report"):
        alone = read_training_data(archives, plan=plan).snapshot
    assert (alone.total(), dict(alone.rejections)) == (99, {"incomplete-body": 1})
    (tmp_path / "snapshot.json").write_bytes(alone.to_json())
    messages = []
    both = read_training_data(
        [*archives, str(tmp_path / "snapshot.json")], plan=plan, warn=messages.append
    ).snapshot
    assert (both.total(), dict(both.rejections)) == (198, {"incomplete-body": 2})
    assert len(messages) == 1


def test_reports_need_their_plan(plan, tmp_path):
    (tmp_path / "a").write_bytes(make_reports(plan, 1)[0])
    with pytest.raises(SourceError, match=r"raw reports; add the survey or plan .*--plan"):
        read_training_data([str(tmp_path / "a")])


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(SourceError, match="absent: cannot be read"):
        read_training_data([str(tmp_path / "absent")])


def test_a_snapshot_file_is_read_and_adds_up_with_others(plan, tmp_path):
    (tmp_path / "reports").write_bytes(b"".join(make_reports(plan, 50)))
    alone = read_training_data([str(tmp_path / "reports")], plan=plan).snapshot
    (tmp_path / "snapshot.json").write_bytes(alone.to_json())
    again = read_training_data([str(tmp_path / "snapshot.json")]).snapshot
    assert again.to_json() == alone.to_json()
    both = read_training_data(
        [str(tmp_path / "snapshot.json"), str(tmp_path / "reports")], plan=plan
    ).snapshot
    assert both.total() == 100


def test_sources_of_two_plans_do_not_add_up(plan, tmp_path):
    for name in ("one", "two"):
        other = make_plan(name)
        store = make_store(other)
        (tmp_path / name).write_bytes(take_snapshot(store, other.id).to_json())
    with pytest.raises(SnapshotError, match="one and two cannot be added: they answer different plans"):
        read_training_data([str(tmp_path / "one"), str(tmp_path / "two")])
    with pytest.raises(SourceError, match="answer another plan"):
        read_training_data([str(tmp_path / "two")], plan=plan)


def test_a_source_named_twice_is_refused(tmp_path):
    with pytest.raises(SourceError, match="given twice"):
        read_training_data([str(tmp_path), str(tmp_path)])


def test_an_archive_named_by_two_paths_is_refused(plan, tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"".join(make_reports(plan, 3)))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match="given twice"):
        read_training_data(["a", "./a"], plan=plan)
    url = f"sqlite:///{tmp_path / 'ldp.db'}"
    open_store(url).publish(plan.id, plan.json)
    with pytest.raises(SourceError, match="one is given twice"):
        read_training_data([url], surveys=["one", "two", "one"])


def test_a_store_is_read_by_its_url(plan, tmp_path):
    url = f"sqlite:///{tmp_path / 'ldp.db'}"
    store = open_store(url)
    store.publish(plan.id, plan.json)
    fill(store, plan, reports=4)
    snapshot = read_training_data([url]).snapshot
    assert snapshot.total() == 2
    assert snapshot.rejections == {"malformed": 4}
    other = make_plan("two")
    store.publish(other.id, other.json)
    store.close()
    with pytest.raises(
        SourceError, match="several surveys; choose one, or the rounds of one, with --survey: one, two"
    ):
        read_training_data([url])
    assert read_training_data([url], surveys=["two"]).snapshot.plan == other
    with pytest.raises(StoreError, match="no survey 'three'"):
        read_training_data([url], surveys=["three"])


def make_validation(prior: tuple[int, int] = (0, 0)) -> Plan:
    survey, table = read_survey(survey_toml(**QUESTIONS)), ((0, -1), (-1, 0), (0, 0))
    scores = (table, table[:2])
    model = Validation(
        label=survey.label, features=survey.features, order=(0, 1), top_k=(1,), prior=prior, scores=scores
    )
    return replace(survey, id=f"one-{-prior[0]}", family="one").with_validation(model).compile()


def test_a_validation_round_is_summed_separately_wherever_it_is_named(plan, tmp_path):
    url = f"sqlite:///{tmp_path / 'ldp.db'}"
    validation, other = make_validation(), make_validation(prior=(-5, 0))
    store = open_store(url)
    for each in (plan, validation, other):
        store.publish(each.id, each.json)
        fill(store, each, reports=0)
    store.close()
    found = read_training_data([url], surveys=[validation.id, plan.id])
    assert (found.snapshot.plan, found.validation.plan) == (plan, validation)
    (tmp_path / "validation.json").write_bytes(found.validation.to_json())
    again = read_training_data([str(tmp_path / "validation.json"), url], surveys=[plan.id])
    assert again.validation.to_json() == found.validation.to_json()
    assert read_training_data([url], surveys=[plan.id]).validation is None
    with pytest.raises(SourceError, match="one-0 is a validation round, which cannot train a model alone"):
        read_training_data([url], surveys=[validation.id])
    with pytest.raises(SourceError, match="one-0 and one-5 validate 2 models: give the rounds of one of"):
        read_training_data([url], surveys=[plan.id, validation.id, other.id])


def test_validation_rounds_of_one_model_are_summed_and_of_several_are_refused(plan, tmp_path):
    url = f"sqlite:///{tmp_path / 'ldp.db'}"
    rounds = [make_validation(), make_validation(prior=(-5, 0)), make_validation(prior=(-7, 0))]
    again = replace(make_validation(), id="one-again")
    store = open_store(url)
    for each in (plan, *rounds, again):
        store.publish(each.id, each.json)
        fill(store, each, reports=0)
    store.close()

    def read(*names: str) -> Plan | None:
        validation = read_training_data([url], surveys=[plan.id, *names]).validation
        return validation and validation.plan

    assert read() is None
    assert read("one-5") == rounds[1]
    both = read("one-0", "one-again")
    assert both is not None
    assert both.validation == rounds[0].validation
    with pytest.raises(SourceError, match="one-0, one-5 and one-7 validate 3 models"):
        read("one-7", "one-0", "one-5")


def test_a_misspelt_store_is_not_created(tmp_path):
    with pytest.raises(SourceError, match="no such file"):
        read_training_data([f"sqlite:///{tmp_path / 'absent.db'}"])
    assert not (tmp_path / "absent.db").exists()
    with pytest.raises(StoreError):
        read_training_data(["ftp://host/ldp"])
    open_store(f"sqlite:///{tmp_path / 'empty.db'}").close()
    with pytest.raises(SourceError, match="does not contain a survey yet"):
        read_training_data([f"sqlite:///{tmp_path / 'empty.db'}"])


@contextmanager
def collector(
    status: int, body: bytes, location: str | None = None
) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """Serve one response on a new port; yield its URL and the requests it received."""
    requests: list[tuple[str, str | None]] = []

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            requests.append((self.path, self.headers["Authorization"]))
            self.answer(status, body, **({"Location": location} if location else {}))

    with serve(Handler) as origin:
        yield f"{origin}/v1/surveys/one", requests


@pytest.mark.slow
def test_a_collector_is_asked_with_the_operators_token(plan):
    store = make_store(plan)
    fill(store, plan, reports=1)
    held = take_snapshot(store, plan.id)
    with collector(200, held.to_json()) as (url, requests):
        assert read_training_data([url], token="secret").snapshot.to_json() == held.to_json()
    assert requests == [("/v1/surveys/one/snapshot", "Bearer secret")]


@pytest.mark.slow
def test_the_error_quotes_a_collectors_refusal():
    problem = json.dumps({"title": "Forbidden", "detail": "the token is wrong"}).encode()
    with collector(403, problem) as (url, _), pytest.raises(SourceError, match="403 the token is wrong"):
        read_training_data([url], token="secret")
    problem = json.dumps({"title": "red \x1b[31m\r\n\x9b0m"}).encode()
    with collector(403, problem) as (url, _), pytest.raises(SourceError) as caught:
        read_training_data([url], token="secret")
    assert str(caught.value).endswith(r"403 red \x1b[31m\r\n\x9b0m")
    with collector(500, b"<html>") as (url, _), pytest.raises(SourceError, match="500 Internal Server Error"):
        read_training_data([url], token="secret")


@pytest.mark.slow
def test_the_token_is_not_sent_to_another_host():
    with (
        collector(200, b"{}") as (elsewhere, requests),
        collector(302, b"", location=elsewhere) as (url, _),
        pytest.raises(SourceError, match="302"),
    ):
        read_training_data([url], token="secret")
    assert requests == []


@pytest.mark.slow
def test_a_response_that_is_not_a_snapshot_is_refused():
    for body, why in ((b"<html>", "not a snapshot"), (b'{"status":"ok"}', "not a snapshot")):
        expected = pytest.raises(SnapshotError, match=f"sign-in page may have answered: {why}")
        with collector(200, body) as (url, _), expected:
            read_training_data([url], token="secret")


@pytest.mark.slow
def test_a_collector_is_not_read_without_a_token_or_a_connection():
    with collector(200, b"{}") as (url, _):
        pass
    with pytest.raises(SourceError, match="cannot be reached"):
        read_training_data([url], token="secret")
    with pytest.raises(SourceError, match="set the environment variable LDP_OPERATOR_TOKEN"):
        read_training_data([url])


@pytest.mark.slow
def test_a_wrong_token_a_missing_one_and_one_that_no_header_takes_are_told_apart():
    problem = b'{"detail": "the token anna expired on 2027-01-31"}'
    with collector(401, problem) as (url, requests):
        with pytest.raises(SourceError, match="LDP_OPERATOR_TOKEN: 401 the token anna expired on"):
            read_training_data([url], token="wrong")
        with pytest.raises(SourceError, match="none is set: set the environment variable LDP_OPERATOR_TOKEN"):
            read_training_data([url])
        for damaged in ("secret\nline", "secr\u00e9t"):
            with pytest.raises(SourceError, match="LDP_OPERATOR_TOKEN has a line break") as caught:
                read_training_data([url], token=damaged)
            assert "secr" not in str(caught.value)
    assert len(requests) == 1
