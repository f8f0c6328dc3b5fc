"""Waves with a relay: times, the promise of each wave, and seals that name their wave."""

from dataclasses import replace

import pytest

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.errors import SurveyError
from encoders.report import unpack
from encoders.survey import Plan, read_survey
from encoders.survey.sealing import SealError, outer_bytes, seal_envelope
from encoders.survey.unsealing import open_inner, open_outer
from ldp_design.authoring.overview import find_warnings, format_overview
from tests.support.relays import (
    ALL,
    COLLECTOR,
    RELAY,
    SMALL,
    WAVES,
    relayed_plan,
    relayed_reports,
    relayed_text,
    waved_plan,
    waved_text,
)

BOTH = pytest.mark.parametrize("survey", [SMALL, ALL], ids=["one", "all"])


@BOTH
def test_the_relay_is_open_from_the_first_wave_to_the_last(survey):
    plan = waved_plan(survey)
    first, *_, last = plan.waves.list
    assert (plan.relay.opens, plan.relay.closes) == (first.opens, last.closes)
    assert Plan.from_json(plan.json) == plan


@pytest.mark.parametrize("name", ["opens", "closes"])
def test_other_times_than_those_of_the_waves_are_refused(name):
    plan = waved_plan()
    with pytest.raises(SurveyError, match="must be the times of the first and the last wave"):
        replace(plan, relay=replace(plan.relay, **{name: getattr(plan.relay, name) - 1}))
    with pytest.raises(SurveyError) as raised:
        read_survey(relayed_text() + WAVES)
    assert f"relay.{name}: follows from [waves]: delete it" in str(raised.value)


def test_a_mistake_in_the_waves_is_not_one_of_the_relay():
    with pytest.raises(SurveyError) as raised:
        read_survey(waved_text().replace("count = 3", "count = 0"))
    assert "waves.count" in str(raised.value)
    assert "relay" not in str(raised.value)


def test_invitations_stay_refused():
    with pytest.raises(SurveyError, match="a token names its holder"):
        waved_plan(SMALL.replace("users = 1000", 'users = 1000\nenrolment = "token"'))


@BOTH
def test_a_batch_must_fit_into_a_wave(survey):
    """Without waves the author is warned if the batch is above 60% of the people, here of those of a wave."""

    def warnings(users: int) -> list[str]:
        plan = waved_plan(survey.replace("users = 1000", f"users = {users}"))
        return [each.message for each in find_warnings(plan) if each.path == ("relay", "batch")]

    assert warnings(100) == []
    [warning] = warnings(99)
    assert (
        "above 60% of the expected 33 people of each wave: if fewer than 20 answer, no report of" in warning
    )
    assert "Each of the 3 waves is mixed by itself: if one has fewer than 20" in format_overview(
        waved_plan(survey)
    ).replace("\n", " ")


@BOTH
def test_an_envelope_opens_in_its_wave_alone(survey):
    plan = waved_plan(survey)
    for wave in range(3):
        reports = relayed_reports(plan, wave)
        envelope = seal_envelope(plan, reports, wave=wave)
        assert len(envelope) == outer_bytes(plan)
        content = open_outer(plan, envelope, RELAY, wave=wave)
        size = len(content) // len(reports)
        columns = [content[start : start + size] for start in range(0, len(content), size)]
        opened = [open_inner(plan, each, COLLECTOR, column) for column, each in enumerate(columns)]
        assert opened == reports
        assert {unpack(each).question // len(plan.questions) for each in opened} == {wave}
        for other in {0, 1, 2} - {wave}:
            with pytest.raises(SealError, match="was not sealed for this survey"):
                open_outer(plan, envelope, RELAY, wave=other)


def test_a_seal_needs_the_wave_if_there_are_waves():
    plan, without = waved_plan(), relayed_plan()
    reports = relayed_reports(plan, 0)
    for action in (
        lambda: seal_envelope(plan, reports),
        lambda: open_outer(plan, bytes(outer_bytes(plan)), RELAY),
        lambda: seal_envelope(without, relayed_reports(without), wave=0),
        lambda: open_outer(without, bytes(outer_bytes(without)), RELAY, wave=0),
    ):
        with pytest.raises(SealError, match="give the wave if the survey has waves, and only then"):
            action()


def test_all_waves_have_envelopes_of_one_length():
    """The index of a question has one byte in the first waves, and three in the last ones."""
    plan = waved_plan(ALL.replace("users = 1000", "users = 100000"), more="open_days = 1").waves
    assert len(plan.list) == 3
    text = waved_text(ALL).replace('"month"\ncount = 3', '"day"\ncount = 200')
    plan = read_survey(text).compile()
    sizes = {len(seal_envelope(plan, relayed_reports(plan, wave), wave=wave)) for wave in (0, 100, 199)}
    assert sizes == {outer_bytes(plan)}
