"""The papers' algorithms run as printed, their errors are measured, and corrected forms agree with ours."""

import itertools
import math
from fractions import Fraction
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from sklearn.utils import Bunch

from benchmarks.papers import (
    classifier_comparison,
    feature_selection,
    federated,
    functional_mechanism,
    logistic_regression,
    open_ml,
    perturbed_objective,
    smooth_sensitivity,
)
from benchmarks.papers.__main__ import PAPERS, main
from benchmarks.papers.classifier_comparison import class_size_attack, gini, wilcoxon
from benchmarks.papers.feature_selection import (
    bit_probability,
    count_cells,
    largest_bit_probability,
    log_sums,
    realised_by_iteration,
)
from benchmarks.papers.marks import error_section, marked_section, reasons
from benchmarks.papers.measured_epsilon import draw_float_laplace, impossible_share, lower_bound
from benchmarks.papers.paper_rows import PaperRows
from benchmarks.papers.perturbed_objective import SOFT_HINGE, minimise, realised_epsilon
from benchmarks.papers.smooth_sensitivity import STUDENT, TIGHT_CAUCHY, count_too_small
from encoders.randomness import FastStream
from ldp_aggregator.prediction.linear_model import Design, place_columns
from ldp_central import solver
from ldp_central.curator_naive_bayes import exact_tables, fit_naive_bayes
from ldp_central.linear import choose_constants
from ldp_central.solver import SoftHinge
from ldp_central.tree import list_splits, split_columns, split_scores

ROOT = Path(__file__).parent.parent
MODULES = [module for modules in PAPERS.values() for module in modules]
LARGE = 1e9
"""An epsilon with nearly no noise."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> PaperRows:
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 240)
    columns = [
        np.where(rng.random(240) < 0.8, label, 1 - label),
        rng.integers(0, 3, 240),
        (rng.normal(40, 9, 240) + 9 * label).round(2),
        rng.normal(0, 1, 240).round(3),
        label,
    ]
    lines = (
        ",".join(("xyz"[int(a)], "uvw"[int(b)], str(c), str(d), "np"[int(e)]))
        for a, b, c, d, e in zip(*columns, strict=True)
    )
    path = tmp_path_factory.mktemp("papers") / "tiny.csv"
    path.write_text("\n".join(["a,b,c,d,class", *lines]) + "\n")
    return PaperRows.read(path)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_algorithms_as_printed_run_and_state_why_they_are_not_private(module, rows, monkeypatch):
    monkeypatch.setattr(classifier_comparison, "EPSILONS", ("1e-11", "1"))
    monkeypatch.setattr(smooth_sensitivity, "EPSILONS", ("1",))
    monkeypatch.setattr(federated, "SILOS", (1, 3))
    monkeypatch.setattr(logistic_regression, "RIDGES", (0.1, 10.0))
    monkeypatch.setattr(feature_selection, "SYNTHETIC", {"dense": (300, (0.8, 0.5), 0.1)})
    monkeypatch.setattr(functional_mechanism, "MAX_ROWS", dict.fromkeys(functional_mechanism.PRINTED, 32))
    found = reasons(module.__name__)
    assert found
    assert all(reason.endswith(".") for reason in found.values())
    for section in module.sections(dict.fromkeys(module.DATA_SETS, rows), 1, 1):
        assert section.rows
        assert "nan" not in str(section)


def test_sets_of_open_ml_are_read_from_the_folder_or_fetched_or_absent(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    rows = [["y", "n", "republican"], ["n", None, "democrat"], ["n", "y", "democrat"]] * 20
    frame = pandas.DataFrame(rows, columns=["bill", "crime", "Class"], dtype="category")
    fetched = []

    def fetch(data_id, **_options):
        fetched.append(data_id)
        return Bunch(data=frame[["bill", "crime"]], target=frame["Class"])

    monkeypatch.setattr(open_ml, "fetch_openml", fetch)
    votes = open_ml.read_or_fetch(tmp_path, "votes")
    assert (len(votes), votes.k, fetched) == (60, 2, [56])
    assert votes.binary.shape == (60, 2 + 3)  # a missing vote is a third value

    def refuse(**_options):
        raise URLError("no network")

    monkeypatch.setattr(open_ml, "fetch_openml", refuse)
    assert open_ml.read_or_fetch(tmp_path, "votes") is None
    (tmp_path / "votes.csv").write_text("bill,class\n" + "y,a\nn,b\n" * 20)
    assert len(open_ml.read_or_fetch(tmp_path, "votes")) == 40


@pytest.mark.slow
def test_chess_stands_in_only_for_sets_that_are_not_reached(rows, monkeypatch):
    monkeypatch.setattr(classifier_comparison, "EPSILONS", ("1",))
    data = dict.fromkeys([*classifier_comparison.DATA_SETS, "votes"], rows)
    table, *_ = classifier_comparison.sections(data, 1, 1)
    used = {row[0]: row[4] for row in table.rows}
    assert (used["SPECT"], used["Congress"]) == ("chess", "votes")


def test_command_without_data_prints_reasons_and_errors_of_a_paper():
    result = CliRunner().invoke(main, ["003"], env={"LDP_DATA": None})
    assert result.exit_code == 0
    assert "local_message" in result.output
    assert "9.8" in result.output
    assert "### Silos" not in result.output


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_results_page_contains_reasons_and_errors_as_printed(module):
    page = (ROOT / "docs" / "results" / "papers.md").read_text("utf-8")
    assert str(marked_section(module.__name__)) in page
    assert str(error_section(module.errors())) in page


class TestSmoothSensitivity:
    @pytest.mark.parametrize("size", [3, 4, 5])
    @pytest.mark.parametrize("decay", [0.05, 0.1, 0.5])
    def test_corrected_bounds_are_never_below_the_true_smooth_sensitivity(self, size, decay):
        def trimmed(x: np.ndarray, b: float) -> float:
            return smooth_sensitivity.bound_trimmed_mean(x, 1, b)

        pairs = [
            (smooth_sensitivity.bound_mean, np.mean),
            (smooth_sensitivity.bound_variance, np.var),
            (trimmed, lambda x: x[1:-1].mean()),
        ]
        assert [count_too_small(bound, f, size, decay)[0] for bound, f in pairs] == [0, 0, 0]

    def test_theorem_7_read_literally_is_too_small(self):
        assert count_too_small(smooth_sensitivity.literal_variance, np.var, 5, 0.1) == (101, 126)

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
    @pytest.mark.parametrize(("noise", "density"), [(TIGHT_CAUCHY, stats.cauchy), (STUDENT, stats.t(3))])
    def test_corrected_noise_realises_at_most_epsilon(self, noise, density, epsilon):
        # a value moves by at most the bound S, and S changes by at most the factor e^b
        a, b = noise.spread(epsilon), noise.decay(epsilon)
        z = np.linspace(-60, 60, 40_001)
        for sign in (-1, 1):
            factor = math.exp(sign * b)
            ratio = density.logpdf(z) - density.logpdf((z - a) / factor) + math.log(factor)
            assert np.abs(ratio).max() <= epsilon * (1 + 1e-9)

    def test_class_change_realises_more_than_epsilon_as_printed(self):
        assert smooth_sensitivity.class_change_loss(0.1, 2) == pytest.approx(math.log(2))

    def test_class_bound_is_smooth(self):
        found = [smooth_sensitivity.bound_class_change(count, 0.2) for count in range(1, 60)]
        assert all(one <= other * math.exp(0.2) + 1e-12 for one, other in itertools.pairwise(found))
        assert found[0] == 1

    def test_moments_without_noise_are_exact(self, rows):
        model = smooth_sensitivity.fit_smooth(rows, LARGE, np.random.default_rng(1), STUDENT, corrected=True)
        x = rows.numbers[rows.labels == 0]
        assert model.mean[:, 0] == pytest.approx(x.mean(axis=0), abs=1e-6)
        assert model.deviation[:, 0] == pytest.approx(x.std(axis=0), abs=1e-4)

    @pytest.mark.slow
    def test_fitted_truncated_normals_have_the_moments_of_the_model(self, rows):
        model = smooth_sensitivity.fit_smooth(rows, LARGE, np.random.default_rng(1))
        fitted = smooth_sensitivity.fit_truncated(model)
        low, high = -fitted.mean / fitted.deviation, (1 - fitted.mean) / fitted.deviation
        mean, variance = stats.truncnorm.stats(low, high, loc=fitted.mean, scale=fitted.deviation)
        assert mean == pytest.approx(model.mean, abs=0.03)
        assert np.sqrt(variance) == pytest.approx(model.deviation, abs=0.03)


class TestFeatureSelection:
    def test_corrected_sampler_has_the_law_of_the_exponential_mechanism(self):
        scores, count, rate = np.array([4.0, 9.0, 1.0, 6.0, 2.0]), 2, 0.3
        sums = log_sums(scores, count, rate)
        masks = list(itertools.combinations(range(5), count))
        weights = np.array([math.exp(rate * scores[list(mask)].sum()) for mask in masks])
        found = []
        for mask in masks:
            left, probability = count, 1.0
            for d in range(5, 0, -1):
                one = bit_probability(sums, scores, rate, left, d)
                probability *= one if d - 1 in mask else 1 - one
                left -= d - 1 in mask
            found.append(probability)
        assert found == pytest.approx((weights / weights.sum()).tolist())

    def test_without_an_empty_mask_the_sampler_ends_with_too_few_features(self):
        scores = np.array([10.0, 40.0, 20.0, 30.0])
        assert feature_selection.last_bit_probability(scores, 2, 1.0) == 0

    def test_rankings_with_little_noise_select_the_most_informative_features(self, rows):
        cells, rng = count_cells(rows.binary, rows.labels), np.random.default_rng(1)
        best = feature_selection.most_informative(cells, 2)
        for rank in (feature_selection.ranking_of_model, feature_selection.ranking_of_information):
            assert rank(cells, 2, LARGE, rng) == best

    def test_shares_of_the_rows_count_every_row_once(self, rows):
        shares = feature_selection.count_shares(rows.binary, rows.labels, np.random.default_rng(1))
        assert shares.sum() == len(rows)
        assert (shares.sum(axis=(0, 2)) >= len(rows) // rows.binary.shape[1]).all()

    def test_printed_recursion_has_probabilities_above_one(self):
        assert largest_bit_probability(np.array([10.0, 40.0, 20.0, 30.0]), 2, 1.0) > 1000

    def test_iterative_selection_realises_more_than_epsilon(self):
        assert realised_by_iteration(4, 1, 1.0) > 2.6

    @pytest.mark.parametrize(("epsilon", "realised"), [(0.5, 0.83), (1.0, 1.49), (2.0, 2.62)])
    def test_resampling_until_positive_realises_more_than_epsilon(self, epsilon, realised):
        density = [
            lambda x, n=n: stats.laplace.pdf(x, n, 1 / epsilon) / stats.laplace.sf(0, n, 1 / epsilon)
            for n in (0, 1)
        ]
        found = feature_selection.realised_by_resampling(epsilon)
        assert found == pytest.approx(math.log(density[0](0.0) / density[1](0.0)))
        assert found == pytest.approx(realised, abs=0.005)

    def test_cells_are_those_of_our_tables(self, rows):
        ours = np.concatenate([cells for cells, _ in exact_tables(rows.coded)[:2]])
        on = count_cells(rows.binary, rows.labels)[1][:5]
        assert on.tolist() == ours[ours.any(axis=1)].tolist()

    def test_information_changes_by_at_most_its_sensitivity_if_a_row_is_replaced(self):
        size, most = 6, 0.0
        tables = [t for t in itertools.product(range(size + 1), repeat=4) if sum(t) == size]
        found = {
            t: feature_selection.mutual_information(np.array(t, float).reshape(2, 1, 2))[0] for t in tables
        }
        for t, (a, b) in itertools.product(tables, itertools.permutations(range(4), 2)):
            if t[a]:
                other = list(t)
                other[a], other[b] = other[a] - 1, other[b] + 1
                most = max(most, abs(found[t] - found[tuple(other)]))
        assert most == pytest.approx(feature_selection.information_sensitivity(size))

    @pytest.mark.slow
    def test_longest_private_row_realises_more_than_epsilon(self):
        assert logistic_regression.realised_by_scaling(20, 1.0) > 5

    def test_objective_perturbation_realises_at_most_epsilon_with_public_scaling(self):
        for ridge in (0.5, 1.0, 30.0):
            size, rate = logistic_regression.objective_constants(1.0, ridge)
            loss = perturbed_objective.LOGISTIC
            assert realised_epsilon([1.0, 1.0], [1.0, -1.0], loss, size, rate) <= 1 + 1e-9

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
    def test_first_branch_begins_at_the_smallest_ridge(self, epsilon):
        least = logistic_regression.smallest_ridge(epsilon)
        assert logistic_regression.objective_constants(epsilon, 1.01 * least)[0] == 1.01 * least
        assert logistic_regression.objective_constants(epsilon, 0.99 * least)[0] != 0.99 * least


class TestFunctionalMechanism:
    @pytest.mark.parametrize("dimension", [1, 3, 10])
    def test_no_replaced_row_changes_the_coefficients_by_more_than_the_corrected_sensitivity(self, dimension):
        rng, most = np.random.default_rng(dimension), 0.0
        upper = np.triu_indices(dimension)
        for _ in range(2000):
            x = rng.standard_normal((2, dimension))
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            one, other = (
                functional_mechanism.taylor_coefficients(x[[row]], rng.integers(0, 2, 1)) for row in (0, 1)
            )
            change = np.abs(one[0] - other[0])[upper].sum() + np.abs(one[1] - other[1]).sum()
            most = max(most, change)
        bound = functional_mechanism.corrected_sensitivity(dimension)
        assert 0.5 * bound < most <= bound
        assert bound < functional_mechanism.second_sensitivity(dimension)

    def test_coefficients_are_the_taylor_polynomial_of_the_loss(self):
        rng = np.random.default_rng(1)
        x, labels = functional_mechanism.draw_rows(50, 3, rng)
        matrix, linear = functional_mechanism.taylor_coefficients(x, labels)
        theta = rng.standard_normal(3) * 1e-3
        z = x @ theta
        loss = (np.logaddexp(0, z) - labels * z).sum() - 50 * math.log(2)
        assert theta @ matrix @ theta + theta @ linear == pytest.approx(loss, rel=1e-5)

    def test_without_noise_the_weights_separate_the_classes(self):
        rng = np.random.default_rng(1)
        x, labels = functional_mechanism.draw_rows(4000, 5, rng)
        x = functional_mechanism.scale_publicly(x)
        for trimmed in (False, True):
            weights = functional_mechanism.functional_mechanism(x, labels, LARGE, 1.0, rng, trimmed)
            assert ((x @ weights > 0) == labels).mean() > 0.87

    def test_objective_as_printed_often_has_no_minimum(self):
        assert functional_mechanism.share_without_minimum(2, 4096, 50, 1) == 0
        assert functional_mechanism.share_without_minimum(20, 4096, 50, 1) > 0.9

    def test_private_scaling_realises_more_than_epsilon(self):
        assert functional_mechanism.realised_by_private_scaling(1.0) > 5


class TestPerturbedObjective:
    def test_minimum_of_the_corrected_objective_is_ours(self, rows):
        design, columns = (
            Design.from_features(rows.coded.features, 1),
            place_columns(rows.coded.features, rows.coded.codes),
        )
        linear = np.random.default_rng(2).normal(0, 5, (design.columns, 1))
        objective = solver.Objective(design, columns, rows.labels, SoftHinge(2), 4.0, linear)
        ours = solver.minimise(objective)[:, 0]
        x = design.matrix(columns, slice(None))
        found = minimise(x, 2.0 * rows.labels - 1, SOFT_HINGE, 4.0, linear[:, 0])
        assert found == pytest.approx(ours, abs=1e-4)

    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
    def test_our_constants_realise_exactly_epsilon(self, epsilon):
        ridge, rate = choose_constants(2, Fraction(epsilon))
        found = realised_epsilon([1.0], [], SOFT_HINGE, ridge, rate, np.linspace(-60, 60, 200_001))
        assert 0.99 * epsilon <= found <= epsilon * (1 + 1e-9)


class TestFederated:
    def test_attack_on_local_sensitivity_measures_more_than_nine_at_a_third(self):
        exact, measured = federated.attack(1_000_000, 1)
        assert exact == pytest.approx(9.84, abs=0.01)
        assert 9.0 <= measured <= exact

    def test_messages_without_noise_have_our_tables(self, rows):
        message = federated.bounded_message(rows, LARGE, np.random.default_rng(1))
        for table, (ours, _) in zip(message.tables, exact_tables(rows.coded)[:2], strict=True):
            assert table == pytest.approx(ours, abs=1e-6)
        assert message.sums[:, 1] == pytest.approx(rows.numbers[rows.labels == 1].sum(axis=0), abs=1e-6)

    def test_messages_of_silos_add_up_to_that_of_all_rows(self, rows):
        one, *others = (
            federated.bounded_message(part, LARGE, np.random.default_rng(1))
            for part in federated.divide(rows, 4)
        )
        for each in others:
            one += each
        whole = federated.bounded_message(rows, LARGE, np.random.default_rng(1))
        assert one.squares == pytest.approx(whole.squares, abs=1e-5)

    def test_sum_of_silos_without_noise_is_the_model_of_one_curator(self, rows):
        large = Fraction(1000)
        silos = federated.sum_silos([part.coded for part in federated.divide(rows, 3)], large)
        one, _ = fit_naive_bayes(rows.coded, 10**6, large, FastStream(1))
        assert [t.cells.tolist() for t in silos.tables] == [t.cells.tolist() for t in one.tables]

    def test_more_silos_never_have_less_noise(self):
        for seed in range(20):
            values = np.random.default_rng(seed).lognormal(0, 3, 1000)
            assert federated.noise_growth(values, 50) >= 1


class TestClassifierComparison:
    @pytest.mark.filterwarnings("ignore:Sample size too small")  # scipy 1.12, of 5 pairs
    @pytest.mark.parametrize("size", [5, 30, 60])
    def test_corrected_wilcoxon_variance_matches_scipy(self, size):
        d = np.random.default_rng(size).normal(0.3, 1, size)
        peer = stats.wilcoxon(d, zero_method="zsplit", correction=False, method="approx")
        z, p = wilcoxon(d)
        assert (z, p) == pytest.approx((-abs(peer.zstatistic), peer.pvalue))
        assert wilcoxon(d, printed=True)[0] == pytest.approx(z / math.sqrt(6))

    def test_zero_differences_divide_their_ranks(self):
        z, p = wilcoxon([0.0, 0.0, 0.0, 0.0])
        assert (z, p) == (0, 1)

    def test_best_gini_split_is_ours(self, rows):
        coded = rows.coded.select([0, 1])
        node = np.zeros(len(coded), dtype=np.int64)
        (scores,) = split_scores(coded, split_columns(coded), node, 1, by_hits=False)
        ours = np.array([top / bottom for top, bottom in zip(scores.tops, scores.bottoms, strict=True)])
        candidates = list_splits(coded.features)
        inside = np.stack(
            [
                (each.low <= coded.codes[:, each.feature]) & (coded.codes[:, each.feature] <= each.high)
                for each in candidates
            ],
            axis=1,
        ).astype(float)
        used = inside.any(axis=0) & ~inside.all(axis=0)
        impurity = gini(count_cells(inside[:, used], coded.labels))
        # ours is the number of rows times one minus the mean Gini index
        assert ours[used] == pytest.approx(len(coded) * (1 - impurity))

    def test_exact_class_size_realises_more_than_epsilon(self):
        exact, measured = class_size_attack(200_000, 1)
        assert 3 <= measured <= exact == 5

    def test_unscaled_rows_realise_more_than_epsilon_and_scaled_ones_do_not(self):
        assert classifier_comparison.realised_without_scaling(1.0, 1.0) <= 1
        assert classifier_comparison.realised_without_scaling(11.0, 1.0) > 7

    def test_algorithms_without_noise_learn_the_labels(self, rows):
        rng = np.random.default_rng(1)
        tree = classifier_comparison.fit_tree(rows.binary, rows.labels, 2, 2, math.inf, rng)
        bayes = classifier_comparison.fit_naive_bayes(rows, math.inf, rng)
        for predicted in (tree.predict(rows.binary), bayes.predict(rows, rows.numbers)):
            assert (predicted == rows.labels).mean() > 0.75


def test_lower_bound_is_below_the_true_log_ratio():
    assert math.log(2) * 0.85 < lower_bound(10_000, 20_000, 100_000) < math.log(2)
    assert lower_bound(0, 0, 100) == 0


def test_float_noise_of_one_count_is_often_impossible_for_another():
    assert 0.5 < impossible_share(1, 20_000, 1) < 0.7
    assert impossible_share(0, 20_000, 1) == 0


def test_float_noise_has_the_law_of_laplace():
    noise = draw_float_laplace(20_000, np.random.default_rng(1))
    assert stats.kstest(noise, "laplace").pvalue > 1e-7


def test_the_online_update_gives_the_parameters_of_the_sums(rows):
    rng = np.random.default_rng(5)
    first, *others = (federated.bounded_message(part, 50.0, rng) for part in federated.divide(rows, 4))
    online, total = federated.Online.begin(first), first
    for message in others:
        online, total = online.update(message), total + message
    mean = total.sums / total.classes
    assert np.allclose(online.mean, mean)
    assert np.allclose(online.variance, total.squares / total.classes - mean**2)
    assert np.allclose(online.tables[0], total.tables[0])


def test_a_probability_of_a_class_of_few_rows_is_huge_only_with_the_printed_least_count(rows):
    few = rows.take(np.concatenate([np.flatnonzero(rows.labels == 0), np.flatnonzero(rows.labels == 1)[:1]]))

    def largest(least: float) -> float:
        rng = np.random.default_rng(4)
        models = [classifier_comparison.fit_naive_bayes(few, 1.0, rng, least) for _ in range(40)]
        return max(float(table.max()) for model in models for table in model.tables)

    printed, mended = map(largest, classifier_comparison.LEAST_COUNTS.values())
    assert printed > 1e5
    assert mended < 1e3
