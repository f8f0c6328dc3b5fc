"""Trainings of a comparison: what is paired, which promise they keep, and what is refused before they run."""

import csv
import io
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from encoders.errors import LdpError, PrivacyError, RowError
from encoders.mechanisms.counted_table import laplace_variance
from encoders.randomness import FastStream
from encoders.survey import Survey, read_survey
from encoders.survey.any_survey import read_any_survey
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.estimation.tables.soft_moments import SiloTables
from ldp_central.curator_naive_bayes import exact_tables
from ldp_central.promise import Promise
from ldp_design.comparison import trust_experiment as module
from ldp_design.comparison.learners import RandomisedResponse, fit_logistic, place_rows
from ldp_design.comparison.trust_comparison import compute_noise_levels
from ldp_design.comparison.trust_experiment import Experiment, compare, prepare, simulate_silos
from ldp_design.comparison.trusts import TrustComparisonError, parse_trust
from ldp_design.simulation.accuracies import simulate
from ldp_design.simulation.experiment import split_rows
from ldp_design.simulation.variants import SimulationGrid
from tests.support.central_surveys import make_csv, survey_text
from tests.support.surveys import survey_toml

SURVEY = replace(read_survey(survey_text()), users=None)
NUMBERS = ("hours", "cups")
PROJECTED = survey_toml(
    projection={"inputs": {"x": {"range": [0, 10]}, "y": {"range": [0, 5]}}},
    features={"c": {"weights": [0.5, -0.5], "range": [-1, 1]}},
)


def read_columns(count: int) -> dict[str, list[object]]:
    rows = list(csv.DictReader(io.StringIO(make_csv(count))))
    columns: dict[str, list[object]] = {name: [row[name] for row in rows] for name in rows[0]}
    for name in NUMBERS:
        columns[name] = [float(str(cell)) if cell else None for cell in columns[name]]
    columns["tea"] = [cell or None for cell in columns["tea"]]
    return columns


COLUMNS = read_columns(400)


def prepare_small(
    *trusts: str, epsilons: tuple[str, ...] = ("1", "5"), survey: Survey = SURVEY, **options: int
) -> Experiment:
    names = [parse_trust(each) for each in trusts or ("none", "central", "labels", "silo:3", "local")]
    options = {"splits": 3} | options
    return prepare(survey, COLUMNS, names, epsilons, **options)


@pytest.mark.slow
def test_the_local_survey_has_the_accuracy_that_the_simulator_measures():
    found = compare(prepare_small("local", "central", splits=4, seed=7))
    grid = SimulationGrid(epsilons=["1", "5"])
    simulated = simulate(SURVEY, COLUMNS, grid, repeats=4, seed=7)
    assert found.local is not None
    assert found.local.accuracies.mean(axis=1) == pytest.approx([row.accuracy for row in simulated.rows])
    assert found.majority.value == pytest.approx(simulated.majority)
    assert found.ceilings["nb"].mean() == pytest.approx(simulated.non_private)


@pytest.mark.slow
def test_a_relay_is_a_local_survey_with_the_largest_epsilon_that_keeps_the_promise():
    relay = parse_trust("relay:300")
    locals_of = [relay.ask(SURVEY, Decimal(each)).epsilon for each in ("1", "5")]
    assert Decimal(1) < locals_of[0] < locals_of[1] == 5
    through = compare(prepare_small("relay:300", epsilons=("1",)))
    direct = compare(prepare_small("local", epsilons=(str(locals_of[0]),)))
    assert (through.curves[0].accuracies == direct.curves[0].accuracies).all()
    assert [row["adjacency"] for row in through.list_rows()] == ["replace"]
    assert relay.rank > parse_trust("local").rank
    assert parse_trust("relay:300").rank < parse_trust("relay:20").rank < parse_trust("silo:10").rank


def test_the_largest_local_epsilons_of_a_large_batch():
    relay = parse_trust("relay:5000")
    found = [float(relay.ask(SURVEY, Decimal(each)).epsilon) for each in ("0.5", "1", "2", "5", "7")]
    assert found == pytest.approx([3.36, 4.47, 5, 5, 7], abs=0.05)


@pytest.mark.slow
def test_all_answers_through_a_relay_share_the_largest_sum_that_keeps_the_promise():
    trust, one = parse_trust("relay:300:all"), parse_trust("relay:300")
    asked = trust.ask(replace(SURVEY, divide="margins"), Decimal(1))
    plan = asked.compile()
    assert plan.asks_all
    assert plan.relay
    assert (plan.relay.batch, plan.relay.epsilon) == (300, 1)
    with pytest.raises(PrivacyError, match=r"lower survey\.epsilon"):
        replace(asked, epsilon=asked.epsilon + Decimal("0.01")).compile()
    assert one.rank < trust.rank < parse_trust("silo:10").rank
    experiment = prepare_small("relay:300:all", "relay:300", epsilons=("1",), splits=2)
    found = compare(experiment)
    assert found.sent[trust, 1.0] == trust.ask(SURVEY, Decimal(1)).epsilon > 5
    assert found.sent[one, 1.0] < 5


@pytest.mark.slow
def test_accuracies_do_not_depend_on_the_other_trusts_and_epsilons():
    trusts = ("central:nb", "labels", "silo:3", "local", "central:tree")
    together = compare(prepare_small(*trusts, epsilons=("5", ".1", "1", ".5", "2"), splits=2))
    for beside in together.curves:
        alone = compare(prepare_small(beside.trust.text, epsilons=("1.0",), splits=2))
        assert (alone.curves[0].accuracies[0] == beside.accuracies[2]).all(), beside.trust.text


@pytest.mark.slow
def test_equal_seeds_give_equal_results():
    first, again, other = (compare(prepare_small(seed=seed)) for seed in (0, 0, 1))
    assert first.as_dict() == again.as_dict()
    assert first.as_dict() != other.as_dict()


@pytest.mark.slow
def test_every_model_advances_the_progress_by_one():
    experiment, steps = prepare_small(), []
    compare(experiment, steps.append)
    assert len(steps) == sum(steps) == len(experiment) == 3 * (3 + 4 * 2)


@pytest.mark.slow
def test_rows_of_the_result_name_trust_learner_adjacency_and_epsilon():
    document = compare(prepare_small("none", "central:nb", "labels", "silo:3", "local")).as_dict()
    assert set(document) == {"rows", "majority", "non_private"}
    keys = ["trust", "learner", "adjacency", "epsilon", "accuracy", "stderr", "splits"]
    assert all(list(row) == keys for row in document["rows"])
    assert [tuple(row[key] for key in keys[:4]) for row in document["rows"]] == [
        ("none", "nb", None, None),
        ("none", "logistic", None, None),
        ("none", "boosted-trees", None, None),
        *product(["central:nb"], ["nb"], ["replace"], [1.0, 5.0]),
        *product(["labels"], ["logistic"], ["replace-label"], [1.0, 5.0]),
        *product(["silo:3"], ["nb"], ["replace"], [1.0, 5.0]),
        *product(["local"], ["nb"], ["replace"], [1.0, 5.0]),
    ]
    best = max(row["accuracy"] for row in document["rows"] if row["trust"] == "none")
    assert document["non_private"] == best > 0.9 > document["majority"]


@pytest.mark.slow
@pytest.mark.parametrize("rows_per_person", [1, 3])
def test_curator_and_silos_spend_half_of_epsilon_for_the_rows_of_a_person(rows_per_person, monkeypatch):
    promises, plans, responses = [], [], []
    real_train, real_silos, real_fit = module.train, module.simulate_silos, module.fit_logistic

    def watch_train(rows: object, promise: Promise, **options: object) -> object:
        promises.append(promise)
        return real_train(rows, promise, **options)  # type: ignore[arg-type]

    def watch_silos(plan: SiloPlan, *others: object) -> object:
        plans.append(plan)
        return real_silos(plan, *others)  # type: ignore[arg-type]

    def watch_fit(rows: object, labels: object, response: RandomisedResponse) -> object:
        responses.append(response)
        return real_fit(rows, labels, response)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "train", watch_train)
    monkeypatch.setattr(module, "simulate_silos", watch_silos)
    monkeypatch.setattr(module, "fit_logistic", watch_fit)
    silos = survey_text().replace(
        "users = 2000", f'kind = "silo"\nrows = 1000\nrows_per_person = {rows_per_person}'
    )
    trusts = [parse_trust(each) for each in ("central", "labels", "silo:2")]
    compare(prepare(read_any_survey(silos), COLUMNS, trusts, ["0.6"], splits=2))
    assert [each.row_epsilon for each in promises] == [Fraction(3, 10) / rows_per_person] * 2
    assert {(each.adjacency, each.epsilon) for each in promises} == {("replace", Fraction(3, 5))}
    # a row changes one cell of each table, so F R of them are behind the noise of a cell
    features = len(SURVEY.features)
    assert [each.scale for each in plans] == [features * rows_per_person / Fraction(3, 10)] * 2
    assert [each.epsilon for each in responses] == [pytest.approx(0.6 / rows_per_person)] * 2


def test_silos_of_a_survey_of_people_spend_half_of_epsilon_too():
    plans = prepare_small("silo:2", epsilons=("0.6", "2")).silo_plans
    assert {each: plan.epsilon for each, plan in plans.items()} == {
        Decimal("0.6"): Decimal("0.3"),
        Decimal(2): Decimal(1),
    }


@pytest.mark.slow
def test_each_silo_adds_noise_of_its_own():
    experiment = prepare_small("silo:8", epsilons=("1",))
    plan, rows = experiment.silo_plans[Decimal(1)], experiment.take_rows(np.arange(400))
    silos, repeats = 8, 60
    exact = exact_tables(rows)
    scale = Fraction(len(exact)) / Fraction(1, 2)
    noise = []
    for seed in range(repeats):
        source = FastStream(np.random.SeedSequence(seed))
        found = SiloTables.from_snapshot(simulate_silos(plan, rows.codes, rows.labels, silos, source))
        for table, (cells, unit) in zip(found.tables, exact, strict=True):
            noise.append(((table.cells - cells) / unit).ravel())
            assert table.cell_variance == pytest.approx(silos * laplace_variance(scale * unit))
    drawn = np.concatenate(noise)
    variance = silos * laplace_variance(scale)
    # a sum of 8 Laplace draws has the kurtosis 3 + 3/8; five standard errors of its variance
    assert drawn.var() == pytest.approx(variance, rel=5 * math.sqrt((2 + 3 / 8) / len(drawn)))


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.1), (3, 1.0), (10, 5.0)])
def test_a_randomised_label_respects_epsilon_and_spends_all_of_it(k, epsilon):
    response = RandomisedResponse(k, epsilon)
    assert response.gap + k * response.q == pytest.approx(1)
    assert math.log((response.q + response.gap) / response.q) == pytest.approx(epsilon)
    labels = response.randomise(np.zeros(100_000, dtype=np.int64), np.random.default_rng(1))
    p = response.q + response.gap
    assert np.mean(labels == 0) == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / 100_000))


def test_labels_without_noise_are_kept():
    labels = np.array([0, 1, 2, 1])
    certain = RandomisedResponse(3, math.inf)
    assert (certain.q, certain.gap) == (0.0, 1.0)
    assert (certain.randomise(labels, np.random.default_rng(1)) == labels).all()


@pytest.mark.slow
def test_forward_correction_recovers_the_probabilities_of_true_labels():
    rng = np.random.default_rng(1)
    survey = read_survey(survey_toml(label=["a", "b", "c"], features={"x": ["0", "1", "2"]}))
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.1, 0.7]])
    codes = rng.integers(0, 3, 60_000)
    labels = (rng.random(60_000)[:, None] > np.cumsum(shares, axis=1)[codes]).sum(axis=1)
    response = RandomisedResponse(3, 2.0)
    rows = place_rows(survey.features, codes[:, None])
    weights = fit_logistic(rows, response.randomise(labels, rng), response)
    scores = place_rows(survey.features, np.arange(3)[:, None]) @ weights
    found = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found == pytest.approx(shares, abs=0.04)


@pytest.mark.slow
def test_a_survey_with_its_own_mechanism_is_simulated_as_it_is_written():
    survey = replace(SURVEY, frequency="OUE")
    found = compare(prepare_small("local", survey=survey, epsilons=("1",)))
    simulated = simulate(survey, COLUMNS, SimulationGrid(mechanisms=["OUE"]), repeats=3)
    assert found.local is not None
    assert found.local.accuracies.mean() == pytest.approx(simulated.rows[0].accuracy)


def test_epsilons_are_sorted_and_equal_ones_run_once():
    assert prepare_small(epsilons=("5", "1.0", "1", ".5")).epsilons == tuple(
        map(Decimal, ("0.5", "1.0", "5"))
    )
    assert len(prepare_small("local", "local").trusts) == 1


@pytest.mark.parametrize(
    ("trust", "why"),
    [
        ("silo:0", "'silo:0' is not a trust model"),
        ("silo:10001", "N from 1 to 10,000"),
        ("silo", "'silo' is not a trust model"),
        ("relay:1", "relay:N and relay:N:all with N from 2"),
        ("relay:300:one", "relay:N and relay:N:all with N from 2"),
        ("silo:3:all", "relay:N and relay:N:all with N from 2"),
        ("central:svm", "central:nb, central:linear, central:tree"),
        ("", "'' is not a trust model"),
        ("Local", "'Local' is not a trust model"),
    ],
)
def test_a_text_that_names_no_trust_is_refused(trust, why):
    with pytest.raises(TrustComparisonError, match=why):
        parse_trust(trust)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"epsilons": ("0",)}, "above 0"),
        ({"epsilons": ("nan",)}, "above 0"),
        ({"epsilons": ()}, "needs a trust model, an epsilon"),
        ({"splits": 1}, "at least 2 splits"),
        ({"trusts": ("silo:321",)}, "silo:321: there are only 320 training rows"),
        ({"trusts": ("relay:321",)}, "relay:321: there are only 320 training rows"),
        ({"trusts": ("central",), "epsilons": ("0.000001",)}, "epsilon is below"),
        ({"trusts": ("central",), "epsilons": ("33",)}, "at most 32"),
        ({"trusts": ("local",), "epsilons": ("0.000001",)}, "epsilon must be between"),
        (
            {"trusts": ("silo:2",), "epsilons": ("0.001",)},
            "silo: epsilon 0.001 is too small: silos spend half",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(options, why, monkeypatch):
    monkeypatch.setattr(module, "_predict", lambda *_: pytest.fail("a model was trained"))
    trusts = options.pop("trusts", ())
    with pytest.raises(LdpError, match=why):
        prepare_small(*trusts, **options)  # type: ignore[misc, arg-type]


def test_too_few_rows_are_refused():
    columns = {name: column[:9] for name, column in COLUMNS.items()}
    with pytest.raises(TrustComparisonError, match="there are 9 rows, but a comparison needs at least 10"):
        prepare(SURVEY, columns, [parse_trust("local")], ["1"])


def test_rows_outside_the_survey_are_refused():
    columns = COLUMNS | {"tea": ["coffee", *COLUMNS["tea"][1:]]}
    with pytest.raises(RowError, match="row 1"):
        prepare(SURVEY, columns, [parse_trust("local")], ["1"])


@pytest.mark.slow
def test_a_survey_of_silos_is_compared_without_people_who_answer():
    silos = survey_text().replace("users = 2000", 'kind = "silo"\nrows = 1000')
    trusts = [parse_trust(each) for each in ("none", "central", "labels", "silo:3")]
    found = compare(prepare(read_any_survey(silos), COLUMNS, trusts, ["5"], splits=2))
    of_people = compare(prepare(SURVEY, COLUMNS, trusts, ["5"], splits=2))
    assert found.as_dict() == of_people.as_dict()
    assert found.plan.digest != of_people.plan.digest
    with pytest.raises(TrustComparisonError, match="local: the survey central-tea is for organisations"):
        prepare(read_any_survey(silos), COLUMNS, [parse_trust("local")], ["5"])


@pytest.mark.slow
def test_the_ceiling_alone_can_be_measured():
    found = compare(prepare_small("none"))
    assert found.curves == ()
    assert {row["epsilon"] for row in found.as_dict()["rows"]} == {None}


def test_a_projected_survey_is_compared():
    numbers = {"x": np.linspace(0, 10, 60), "y": np.linspace(5, 0, 60)}
    survey = read_survey(PROJECTED)
    rows = {**numbers, "tired": ["yes", "no"] * 30}
    trusts = [parse_trust(each) for each in ("none", "central", "labels", "silo:2", "local")]
    found = compare(prepare(survey, rows, trusts, ["2"], splits=2))
    assert [feature.name for feature in found.plan.features] == ["c"]


def test_rows_of_one_class_are_refused():
    columns = COLUMNS | {"tired": ["yes"] * 400}
    with pytest.raises(TrustComparisonError, match="all rows have the label 'yes'"):
        prepare(SURVEY, columns, [parse_trust("local")], ["5"])


@pytest.mark.slow
def test_training_rows_of_one_class_are_compared():
    place = split_rows(400, 6, 0, 0.0)[0].test[0]
    columns = COLUMNS | {"tired": ["no" if row == place else "yes" for row in range(400)]}
    trusts = [parse_trust(each) for each in ("none", "central", "labels", "silo:2", "local")]
    experiment = prepare(SURVEY, columns, trusts, ["5"], splits=6)
    in_tests = [place in rows.split.test for rows in experiment.repeats]
    assert any(in_tests)
    assert not all(in_tests)
    found = compare(experiment)
    assert found.ceiling.value == pytest.approx(found.majority.value)
    assert found.majorities == pytest.approx(1 - np.array(in_tests) / 80)


def test_noise_levels_leave_out_features_that_are_asked_without_the_label():
    table = '[tables.t]\nfeatures = ["tea", "cups"]\n'
    survey = replace(read_survey(survey_text() + table), users=None)
    experiment = prepare_small("none", "local", survey=survey, splits=2)
    levels = compute_noise_levels(survey, experiment.epsilons, experiment.repeats[0].people, 100)
    assert levels
    assert levels.variances[0] > levels.variances[1] > 0
