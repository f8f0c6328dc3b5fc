"""Audits of surveys without a label, with several answers: of devices, of silos, and of a curator."""

import re

import numpy as np
import pytest

from benchmarks.buggy_silos import MUTANTS
from encoders.randomness import FastStream
from ldp_audit import audit
from ldp_audit.people import draw_people, make_people
from ldp_audit.render import render_html, render_text
from ldp_audit.silo_audit import PublicSilo, audit_silo, make_neighbours
from ldp_silo.epoch_reports import count_file
from tests.support.silo_surveys import HABITS, read_silo_survey
from tests.support.statistical_checks import small_and_full
from tests.support.surveys import make_plan, survey_toml

FEATURES = {"cups": {"choices": ["small", "large"], "missing": "category"}, "hours": {"range": [0, 12]}}
PLAN = make_plan(id="audited", label=None, features=FEATURES)
CHOICES = {"cups": {"choices": ["small", "large"]}}
OF_CLASSES = MUTANTS[1]
"""Its noise depends on a class's own counts; with one class they are never 0."""
EMPTY_NAMES = re.compile(r"\(\)|''|\"\"(?!\")|: ,|, ,|^, |, $|<t[dh][^>]*></t[dh]>", re.M)


def test_people_differ_in_their_ticks():
    people = {person.name: person for person in make_people(PLAN)}
    assert {person.label for person in people.values()} == {None}
    assert {name: person.row["cups"] for name, person in people.items()} == {
        "first": [],
        "last": ["small", "large"],
        "middle": ["small"],
        "beyond": [],
        "missing": None,
    }
    large = next(question for question in PLAN.questions if question.name == "cups: large")
    codes = {large.value(*PLAN.encode(person.row, None)) for person in make_people(PLAN, large)}
    assert codes == {0, 1, 2}


def test_random_people_have_every_combination_of_ticks():
    people = draw_people(PLAN, 300)
    for person in people:
        PLAN.encode(person.row, person.label)
    assert {str(person.row["cups"]) for person in people} == {
        "None", "[]", "['small']", "['large']", "['small', 'large']"
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("size", small_and_full({"trials": 100, "copies": 2}, {"trials": 2000, "copies": 8}))
def test_the_client_of_this_project_passes_and_no_text_mentions_a_label(size):
    result = audit(PLAN, alpha=1e-8, requests=10, **size)
    assert result.passed
    assert "cups: large" in [each.question for each in result.black_box]
    for text in (render_text(result), render_html(result)):
        assert "label" not in re.sub(r"aria-label\w*|<style.*?</style>", "", text, flags=re.S)
        assert not EMPTY_NAMES.search(text)


def test_the_counts_of_neighbours_are_those_of_their_files(tmp_path):
    text = HABITS.replace("rows = 100000", "rows = 100000\nrows_per_person = 2")
    plan = read_silo_survey(text).compile()
    pairs = make_neighbours(plan, tmp_path)
    assert [pair.name for pair in pairs] == [
        "first values", "last values", "beyond values", "missing values"
    ]  # fmt: skip
    for pair in pairs:
        for file, counts in zip(pair.files, pair.counts, strict=True):
            assert count_file(plan, file, pair.person).counts == counts.tolist()
        change = pair.counts[1] - pair.counts[0]
        for table in plan.mechanism.tables:
            assert np.abs(change[table.start : table.end]).sum() == 2 * table.unit


SILOS = survey_toml(
    id="audited", kind="silo", rows=100, label=None, features={**CHOICES, "b": {"range": [0, 10]}}
)


@pytest.mark.slow
@pytest.mark.parametrize("trials", small_and_full(300, 1000))
def test_the_silo_of_this_project_passes(trials):
    plan = read_silo_survey(SILOS).compile()
    assert audit_silo(plan, trials, PublicSilo(FastStream(22)), 20).passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "trials"),
    [
        pytest.param(MUTANTS[0], 3000, id=MUTANTS[0].name, marks=pytest.mark.statistics),
        *(pytest.param(each, 400, id=each.name) for each in MUTANTS[1:] if each is not OF_CLASSES),
    ],
)
def test_buggy_silos_are_detected_with_one_class_too(mutant, trials):
    plan = read_silo_survey(SILOS).compile()
    assert not audit_silo(plan, trials, mutant.make(FastStream(21)), 20).passed
