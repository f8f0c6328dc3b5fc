"""The results that tests of pages, cards and summaries show, by name."""

import tempfile
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from encoders.build import Build
from encoders.randomness import FastStream
from encoders.survey import read_survey
from encoders.survey.any_survey import read_any_survey
from encoders.survey.features import GRID
from ldp_aggregator import results
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.estimation.poisoning.summary import SupportTests, SuspiciousPair
from ldp_aggregator.privacy_statement import AuditResult
from ldp_aggregator.results import find_usefulness
from ldp_aggregator.results_file import read_results
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import take_snapshot
from ldp_aggregator.stores import MemoryStore
from ldp_aggregator.views.estimate_rows import COLUMNS
from ldp_central.curator_training import CuratorTraining, read_curator_rows
from ldp_central.promise import Promise
from tests.ldp_aggregator.estimation.test_validation_result import trained, validated
from tests.ldp_aggregator.series.conftest import simulate_jump
from tests.support.central_surveys import make_csv, survey_text
from tests.support.silo_surveys import WARDS, make_message
from tests.support.snapshots import make_snapshot
from tests.support.surveys import make_plan

LEARNERS = ("nb", "linear", "tree")
SILOS = WARDS.replace("rows = 100000", "rows = 3000")
PEOPLE = SILOS.replace('kind = "silo"\n', "").replace("rows = 3000\nrows_per_person = 1\n", "")
_MORE_PRIVATE = SILOS.replace("epsilon = 1.0", "epsilon = 0.5").replace("wards", "clinics")
HOSTILE = """
[survey]
id = "names"
epsilon = 1.0
[about]
title = "Tea & <sleep>"
purpose = "<i>"
[label]
name = "<script>alert(1)</script>"
values = ["<b>yes</b>", "a&b|*no* [x](y) \\" onload='x'"]
[features."<img src=x onerror=alert(1)>"]
values = ["{{ 7 * 7 }}", "</table></style>"]
[features."</title>"]
range = [0, 1]
"""
"""A survey whose names are HTML, Markdown and template code."""
TABLES = """
[survey]
id = "tables"
epsilon = 2.0
{label}
[features.smokes]
values = ["yes", "no"]
alone = true
[features.sleep]
values = ["bad", "fair", "good"]
ordered = true
missing = "category"
[features.hours]
range = [0, 80]
bins = 40
[tables.nights]
features = ["smokes", "sleep"]
[tables.large]
features = ["smokes", "sleep", "hours"]
[texts.en.features.sleep]
title = "How do you sleep?"
values = {{ bad = "Badly", fair = "Fairly well", good = "Well" }}
"""
PLAIN_COLUMNS = tuple(name for name in COLUMNS if name not in ("column", "wave", "since", "stands_out"))
"""The columns of results without tables and waves."""
AUDIT = AuditResult(passed=True, faults=0, trials=5000, bound=0.9)


def make_table_plan(**changes):
    """Return a survey with a feature of each kind, one of them not asked, and a label of three classes."""
    features = {
        "tea": ["black", "green", "white", "none", "other"],
        "unasked": {"values": ["a", "b"], "weight": 0},
        "hours": {"range": [2, 12], "missing": "category"},
        "age": {"range": [0, 100]},
    }
    label = {"name": "asleep", "values": ["yes", "no", "rarely"], "weight": 1}
    return make_plan(**{"id": "table", "label": label, "features": features} | changes)


def simulate(people, epsilon=1.0, seed=1, **changes):
    """Return the reports of people of three classes, of which the third is rare."""
    plan = make_table_plan(epsilon=epsilon, **changes)
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, people, p=[0.6, 0.38, 0.02])
    tea = np.where(labels == 0, 0, rng.integers(0, 5, people))
    hours = np.where(rng.random(people) < 0.2, np.nan, rng.normal(np.where(labels, 4, 8), 0.2))
    unasked, hours_feature, age = plan.features[1:]
    codes = [
        tea,
        tea % unasked.size,
        encode_numbers(hours_feature, hours),
        encode_numbers(age, np.full(people, 50.0)),
    ]
    return simulate_reports(plan, np.column_stack(codes), labels, FastStream(seed))


def draw_silo_rows(count, seed):
    """Return the codes of rows of a silo, and of their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    weight = np.rint((np.clip(rng.normal(0.4 * labels - 0.2, 0.2), -1, 1) + 1) * GRID).astype(np.int64)
    pulse = np.where(rng.random(count) < 0.1, 2 * GRID + 1, weight)
    smoker = (rng.random(count) < 0.2 + 0.4 * labels).astype(np.int64)
    return np.stack([smoker, rng.integers(0, 5, count), weight, pulse], axis=1), labels


def record_messages(store, seeds=(1, 2, 3), text=SILOS):
    """Let a collector's intake count the messages of silos with 1,000 rows each; return their plan."""
    plan = read_any_survey(text).compile()
    store.publish(plan.id, plan.json)
    for seed in seeds:
        codes, labels = draw_silo_rows(1000, seed)
        rows = list(zip(codes.tolist(), labels.tolist(), strict=True))
        [outcome] = Intake(plan, store).record_body(make_message(plan, rows, FastStream(seed)))
        assert outcome.status == "recorded"
    return plan


def simulate_people_of_silos(text=PEOPLE, people=2000):
    """Return the reports of people to the survey of silos."""
    plan = read_survey(text.replace('id = "wards"', 'id = "people"')).compile()
    return simulate_reports(plan, *draw_silo_rows(people, 9), FastStream(9))


def collect(snapshot, audit=None, **options):
    """Return the results that ldp-train prints: of a snapshot, a validation round, and silos."""
    return results.make_results(snapshot, audit=audit, **options)


def _make_survey():
    return collect(replace(simulate(20_000), rejections={"wrong-plan": 7, "malformed": 1200}), AUDIT)


def make_habits(seed=1, **changes):
    """Return the reports to a survey with every kind of feature, texts, and by default no label."""
    features = {
        "smokes": {"values": ["yes", "no"], "missing": "category"},
        "cups": {"choices": ["small", "large"], "missing": "category"},
        "hours": {"range": [0, 80], "missing": "category"},
        "age": {"range": [0, 100], "bins": 2},
    }
    cups = {"title": "Which cups do you use?", "values": {"small": "A small cup", "large": "A large cup"}}
    texts = {"en": {"features": {"cups": cups, "smokes": {"title": "Do you smoke?"}}}}
    survey = {"id": "habits", "label": None, "epsilon": 2.0, "features": features}
    plan = make_plan(**survey | ({} if "features" in changes else {"texts": texts}) | changes)
    return make_snapshot(plan, 10_000, seed)


def simulate_tables(people, label="", seed=1):
    """Return the reports to a survey with tables and ordered features; smokers sleep worse."""
    plan = read_survey(TABLES.format(label=label)).compile()
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(plan.label.values), people)
    smokes = rng.integers(0, 2, people)
    sleep = np.minimum(rng.binomial(2, 0.3 + 0.4 * smokes) + 3 * (rng.random(people) < 0.05), 3)
    hours = np.clip(np.rint(rng.normal(20 + 5 * labels, 6)), 0, 39).astype(np.int64)
    return simulate_reports(plan, np.stack([smokes, sleep, hours], axis=1), labels, FastStream(seed))


def _take_silo_snapshot(seeds=(1, 2, 3), text=SILOS):
    store = MemoryStore()
    return take_snapshot(store, record_messages(store, seeds, text).id)


def _make_alarm():
    found = make_results("survey")
    first, check, *others = found.estimates.poisoning.questions
    pair = SuspiciousPair(("black", "green"), 900.0, 700.0)
    support = SupportTests(n=5000, level=1e-7, sizes=1e-25, pairs=1e-9, suspicious_pairs=(pair,))
    questions = (first, replace(check, support=support), *others)
    estimates = replace(found.estimates, poisoning=replace(found.estimates.poisoning, questions=questions))
    return replace(found, estimates=estimates, usefulness=find_usefulness(estimates, found.classifier))


def _make_hostile():
    plan = read_survey(HOSTILE).compile()
    labels = np.arange(4000) % 2
    codes = np.column_stack([labels, encode_numbers(plan.features[1], labels.astype(float))])
    return collect(simulate_reports(plan, codes, labels, FastStream(1)))


def make_curator_model(path, learner, name="none"):
    """Train on a curator's rows, write a model file and return its path; `name` replaces the tea "none"."""
    rows = path.with_suffix(".csv")
    rows.write_text(make_csv().replace(",none,", f",{name},"))
    survey = read_survey(survey_text().replace('"none"', f'"{name}"'))
    data = read_curator_rows(survey, rows)
    path.write_bytes(CuratorTraining(data, Promise(Fraction(5)), learner).run(FastStream(1)))
    return path


def _make_curator(learner):
    with tempfile.TemporaryDirectory() as folder:
        return read_results(make_curator_model(Path(folder) / "model.json", learner))


_SAMPLES = {
    "survey": _make_survey,
    "other": lambda: collect(
        simulate(30_000, 4, label={"name": "asleep", "values": ["no", "yes", "seldom"]}, id="other")
    ),
    "shares": lambda: collect(make_habits()),
    "choices": lambda: collect(make_habits(label={"name": "ill", "values": ["yes", "no"]})),
    "simulated": lambda: collect(replace(simulate(200), simulated=True)),
    "tables": lambda: collect(simulate_tables(20_000)),
    "class-tables": lambda: collect(
        simulate_tables(20_000, '[label]\nname = "ill"\nvalues = ["yes", "no"]\n')
    ),
    "empty-tables": lambda: collect(simulate_tables(0)),
    "validated": lambda: collect(trained(2_000), validation=validated(40_000)),
    "not-selected": lambda: collect(trained(2_000, 0.5), validation=validated(40, 0.5, seed=2)),
    "round": lambda: collect(validated(4_000)),
    "empty": lambda: collect(simulate(0)),
    "empty-round": lambda: collect(validated(0)),
    "empty-silos": lambda: collect(_take_silo_snapshot(())),
    "silos": lambda: collect(_take_silo_snapshot()),
    "several-silos": lambda: collect(_take_silo_snapshot(), silos=[_take_silo_snapshot((4,), _MORE_PRIVATE)]),
    "pooled": lambda: collect(simulate_people_of_silos(), silos=[_take_silo_snapshot()]),
    "useless": lambda: collect(simulate(40)),
    "alarm": _make_alarm,
    "hostile": _make_hostile,
    "waves": lambda: collect(simulate_jump()),
    **{f"curator-{learner}": lambda learner=learner: _make_curator(learner) for learner in LEARNERS},
}
NAMES = tuple(_SAMPLES)


@cache
def make_results(name):
    """Return the results with this name: of a survey, or the model of a curator; all of one build."""
    return replace(_SAMPLES[name](), build=Build("1.2.3", "c0ffee" * 6 + "c0de"))
