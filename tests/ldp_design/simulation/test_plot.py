"""A plot names its lines, and warns of projections that epsilon does not cover."""

import pytest

from ldp_design.simulation.accuracies import UNCOVERED_WARNING, Simulation, SimulationRow
from ldp_design.simulation.plot import group_rows, non_private_accuracies, plot_simulation

pytest.importorskip("matplotlib")


def row(projection: str, numeric: str, non_private: float) -> SimulationRow:
    return SimulationRow(
        epsilon=1.0,
        mechanism="auto",
        numeric=numeric,
        projection=projection,
        estimator="default",
        accuracy=0.7,
        stderr=0.01,
        non_private=non_private,
        repeats=5,
        balanced_accuracy=0.6,
        log_loss=0.6,
        calibration_error=0.1,
        beats_majority=True,
    )


ONE = Simulation((row("none", "auto", 0.8),), 0.6, "no")
MORE = Simulation((row("none", "auto", 0.8), row("dca:1", "auto", 0.9), row("pca:1", "auto", 0.9)), 0.6, "no")
PUBLIC = Simulation(MORE.rows, 0.6, "no", public_share=0.2)


def test_non_private_accuracies_are_named_by_their_projection():
    assert non_private_accuracies(ONE) == {"non-private": 0.8}
    assert non_private_accuracies(MORE) == {
        "non-private, none": 0.8,
        "non-private, dca:1": 0.9,
        "non-private, pca:1": 0.9,
    }
    assert list(group_rows(MORE)) == ["none", "dca:1", "pca:1"]


@pytest.mark.slow
@pytest.mark.parametrize(("result", "warns"), [(ONE, False), (MORE, True), (PUBLIC, False)])
def test_a_projection_fitted_on_rows_that_report_is_called_uncovered(result, warns, tmp_path):
    plot_simulation(result, tmp_path / "out.svg")  # SVG has the text in comments
    assert (UNCOVERED_WARNING in (tmp_path / "out.svg").read_text()) == warns
    assert (tmp_path / "out.svg").stat().st_mode & 0o777 == 0o600
