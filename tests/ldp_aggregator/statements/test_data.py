"""The statements about data that are empty in part, simulated, or few."""

import json
from dataclasses import replace

import pytest

from ldp_aggregator.codec import from_json, to_json
from ldp_aggregator.privacy_statement import PrivacyStatement
from ldp_aggregator.statements.data import find_data, find_validation
from tests.ldp_aggregator.views.samples import make_results


def state(results, **changes):
    estimates = replace(results.estimates, **changes)
    return " ".join(map(str, find_data(estimates, results.privacy, validation=False)))


@pytest.mark.slow
def test_pooled_estimates_without_messages_state_that_nothing_is_known_about_silos():
    pooled = make_results("pooled")
    silos = pooled.estimates.silos
    people = pooled.estimates.reports - silos.messages
    words = state(pooled, reports=people, silos=replace(silos, messages=0, rows=0.0))
    assert "Silos sent no messages yet, and nothing is known about their rows." in words
    assert "pooled" not in words
    assert f"{people:,} people answered" in words


def test_pooled_estimates_without_reports_state_that_people_sent_none():
    pooled = make_results("pooled")
    silos = pooled.estimates.silos
    words = state(pooled, reports=silos.messages, silos=replace(silos, people=0))
    assert "People sent no reports yet." in words
    assert "pooled" not in words


def test_simulated_messages_are_called_so_and_reports_of_people_are_not():
    pooled = make_results("pooled")
    privacy = replace(pooled.privacy, silos=(replace(pooled.privacy.silos[0], simulated=True),))
    words = state(replace(pooled, privacy=privacy))
    assert "were simulated: a program made them" in words
    assert "people answered one question each" in words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reports", "words"), [(2, "too few to show the accuracy"), (0, "There are no reports")]
)
def test_an_unknown_accuracy_is_called_so_with_its_reason(reports, words):
    validation = make_results("validated").estimates.validation
    result = validation.validation_result
    wide = replace(result.accuracy, low=result.accuracy.low * 0, high=result.accuracy.high * 0 + 1)
    few = replace(validation, reports=reports, validation_result=replace(result, accuracy=wide))
    assert any(words in str(each) for each in find_validation(few, {}))


@pytest.mark.parametrize("epsilon", ["1000", "1e400", "9" * 60, "0", "x"])
def test_an_impossible_epsilon_in_a_statement_is_refused(epsilon):
    document = json.loads(json.dumps(to_json(make_results("survey").privacy)))
    document["people"]["epsilon"] = epsilon
    with pytest.raises((ValueError, ArithmeticError)):
        from_json(PrivacyStatement, document)
