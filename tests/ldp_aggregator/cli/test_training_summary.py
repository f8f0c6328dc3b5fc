"""The summary of a training names the selected features of a validation round, and why."""

from ldp_aggregator.cli.training_summary import format_summary
from ldp_aggregator.estimation import estimate_snapshot
from tests.ldp_aggregator.estimation.test_validation_result import trained, validated


def summarise(devices: int, epsilon: float, seed: int = 1) -> str:
    snapshot = trained(2_000, epsilon)
    validation = validated(devices, epsilon, seed=seed)
    return " ".join(format_summary(estimate_snapshot(snapshot, validation=validation), snapshot).split())


def test_a_significant_gain_selects_a_top_k_set():
    text = summarise(40_000, epsilon=4)
    assert "tea: 40000 devices validated an earlier model" in text
    assert "the model keeps informative" in text
    assert "this is the smallest within one standard error of the best" in text
    assert "not selected" in text
    assert "explains: the relevance of a feature for tired, from 0 to 1, with its 95% interval." in text
    assert "DE: direct encoding." in text


def test_without_a_significant_gain_the_model_keeps_all_features():
    text = summarise(40, epsilon=0.5, seed=2)
    assert "keeps all 3 validated features: no smaller feature set is significantly more accurate" in text


def test_unknown_estimates_are_marked():
    text = summarise(0, epsilon=4)
    assert "all 3 unknown unknown top 1 unknown unknown" in text.replace(
        "gain over all simultaneous 95% interval ", ""
    )
