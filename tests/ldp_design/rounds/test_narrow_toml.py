"""A narrowed survey keeps the author's text except some weights, and states what each feature explains."""

import dataclasses
import re

import numpy as np
import pytest

from encoders.errors import SurveyError
from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.classifiers.model_file import Model, parse_model
from ldp_aggregator.classifiers.model_file import dump_model as dump
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from ldp_design.authoring.toml_edit import LayoutError
from ldp_design.rounds.narrow import next_round
from ldp_design.rounds.narrow_toml import NarrowError, write_narrowed_round
from tests.support.surveys import RELAY_KEYS

SURVEY = """\
# What this is about.

[survey]
id = "tea"            # kept "tea"
epsilon = 1

[label]
name = "tired"
values = ["yes", "no"]
# asked by itself too
weight = 4

[features.related]
values = ["a", "b", "c", "d", "e", "f"]

# About nothing that differs.
[features.silent]
weight = 3   # three times
values = ["a", "b", "c", "d", "e", "f", "g"]

[features."it's # \\u0073ilent too"]
values = [
    "a", "b", "c",
    "d", "e",
]

[features.idle]
values = ["x", "y"]
weight = 0

[mechanism]
frequency = "DE"
"""


def make_snapshot(text: str, people: int, seed: int = 1, related: str = "related") -> Snapshot:
    """Simulate reports of people with one feature that depends on the label; the others do not."""
    plan = read_survey(text).compile()
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, people)
    codes = [
        3 * labels + rng.integers(0, 2, people)
        if feature.name == related
        else rng.integers(0, feature.size, people)
        for feature in plan.features
    ]
    return simulate_reports(plan, np.asfortranarray(np.column_stack(codes)), labels, FastStream(seed))


def make_model(*snapshots: Snapshot) -> Model:
    total = sum(snapshots[1:], snapshots[0])
    return parse_model(dump(total, estimate_snapshot(total)))


def weights(text: str) -> dict[str, int | None]:
    survey = read_survey(text)
    return dict(zip(["label", *(each.name for each in survey.features)], survey.weights, strict=True))


@pytest.fixture(scope="module")
def model() -> Model:
    return make_model(make_snapshot(SURVEY, 6000))


def test_uninformative_features_get_weight_0_and_everything_else_stays(model):
    narrower = write_narrowed_round(SURVEY, model, "pilot.json")
    assert weights(narrower) == {"label": 4, "related": 5, "silent": 0, "it's # silent too": 0, "idle": 0}
    assert "weight = 0   # three times\n" in narrower
    old, new = read_survey(SURVEY), read_survey(narrower)
    assert dataclasses.replace(new, id="tea", family="", weights=old.weights) == old
    assert (new.id, new.family) == ("tea-round2", "tea")
    for line in SURVEY.splitlines():
        assert line in narrower or line.startswith(("id =", "weight ="))


def test_comments_list_what_each_feature_explains_and_what_is_left_out(model):
    comments = write_narrowed_round(SURVEY, model, "pilot.json").split("# What this is about.")[0]
    assert all(line.startswith("#") for line in comments.strip().splitlines())
    words = " ".join(comments.replace("#", " ").split())
    assert 'a further round of the family "tea"' in words
    assert "2 of the 3 features asked about are left out" in words
    assert 'estimated by the model "pilot.json" from 6,000 randomised reports' in words
    first, second, third = (
        line.split() for line in comments.splitlines() if line.startswith("#   ") and "%" in line
    )
    assert (first[1], second[-2:], third[-2:]) == ("related", ["left", "out"], ["left", "out"])
    assert int(first[3].rstrip("%")) > 90
    assert 0.2 < float(first[2]) < 1
    for line in (first, second, third):
        raw = " ".join(line).partition("% ")[2].removesuffix(" left out")
        assert re.fullmatch(r"unknown|-?\d\.\d\d \[\d\.\d\d, \d\.\d\d\]", raw)


def test_the_comments_ask_to_invite_other_people(model):
    text = SURVEY.replace("epsilon = 1\n", 'epsilon = 1\nenrolment = "token"\n')
    invited = write_narrowed_round(text, make_model(make_snapshot(text, 6000)), "pilot.json")
    assert "Invite only people who were not invited" in " ".join(invited.replace("#", " ").split())
    assert "Invite" not in write_narrowed_round(SURVEY, model, "pilot.json")


NUMBERS = """
[survey]
id = "numbers"
epsilon = 1
[label]
name = "tired"
values = ["yes", "no"]
[features.related]
values = ["a", "b", "c", "d", "e", "f"]
""" + "".join(f'[features.n{each}]\nrange = [0, 10]\nmissing = "category"\n' for each in range(4))


@pytest.mark.slow
@pytest.mark.parametrize("people", [0, 30, 300, 1500, 6000])
def test_the_command_and_the_simulation_narrow_equally(people):
    survey = read_survey(NUMBERS)
    for seed in range(6):
        snapshot = make_snapshot(NUMBERS, people, seed)
        simulated = next_round(survey, snapshot)
        try:
            written = read_survey(write_narrowed_round(NUMBERS, make_model(snapshot), "pilot.json")).weights
        except NarrowError:
            written = survey.weights
        assert written == simulated.weights


def test_a_further_round_is_narrowed_by_the_reports_of_all_rounds(model):
    second = write_narrowed_round(SURVEY, model, "pilot.json")
    both = make_model(make_snapshot(SURVEY, 6000), make_snapshot(second, 2000, seed=2))
    assert both.reports == 8000
    with pytest.raises(NarrowError, match="nothing to leave out"):
        write_narrowed_round(second, both, "both.json")


def test_rounds_are_numbered(model):
    for old, new in [
        ("tea-round2", "tea-round3"),
        ("tea-round19", "tea-round20"),
        ("a" * 64, "a" * 57 + "-round2"),
    ]:
        text = SURVEY.replace('id = "tea" ', f'id = "{old}"\nfamily = "tea" ')
        narrower = read_survey(
            write_narrowed_round(text, make_model(make_snapshot(text, 6000)), "pilot.json")
        )
        assert (narrower.id, narrower.family) == (new, "tea")


def test_too_few_reports_are_refused_with_the_standard_error():
    few = make_model(make_snapshot(SURVEY, 40))
    with pytest.raises(
        NarrowError, match=r"too early: .* standard error is .* Let more people answer this round first"
    ):
        write_narrowed_round(SURVEY, few, "pilot.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [("epsilon = 1", "epsilon = 2"), ('"no"]', '"never"]'), ('"f", "g"]', '"f", "h"]'), ('"tea" ', '"pot" ')],
)
def test_the_model_of_another_survey_is_refused(model, old, new):
    assert old in SURVEY
    with pytest.raises(NarrowError, match=r'"pilot\.json" was not trained on this survey'):
        write_narrowed_round(SURVEY.replace(old, new), model, "pilot.json")


@pytest.mark.parametrize(
    "freely",
    [
        SURVEY.replace("[features.silent]\n", "[features]\nsilent.").replace(
            "weight = 3   # three times\nvalues", "weight = 3\nsilent.values"
        ),
        SURVEY.replace('id = "tea" ', 'id = """\ntea""" '),
    ],
)
def test_a_layout_that_cannot_be_kept_is_refused(freely):
    model = make_model(make_snapshot(freely, 6000))
    with pytest.raises(LayoutError, match=r"needs a separate table|cannot be edited"):
        write_narrowed_round(freely, model, "pilot.json")


def test_a_survey_with_mistakes_names_them(model):
    with pytest.raises(SurveyError, match="epsilon"):
        write_narrowed_round(SURVEY.replace("epsilon = 1", "epsilon = -1"), model, "pilot.json")


def test_windows_line_ends_and_a_byte_order_mark_are_read(model):
    odd = "\ufeff" + SURVEY.replace("\n", "\r\n")
    assert write_narrowed_round(odd, model, "pilot.json") == write_narrowed_round(SURVEY, model, "pilot.json")


def test_the_command_prints_the_round_or_the_reason_for_refusing(model, tmp_path):
    from click.testing import CliRunner

    from ldp_design.cli.survey import main

    (tmp_path / "tea.toml").write_text(SURVEY)
    for people in (6000, 40):
        total = make_snapshot(SURVEY, people)
        (tmp_path / f"{people}.json").write_bytes(dump(total, estimate_snapshot(total)))
    run = CliRunner().invoke
    asked = ["narrow", str(tmp_path / "tea.toml"), "--pilot"]
    result = run(main, [*asked, str(tmp_path / "6000.json")])
    assert result.exit_code == 0
    assert result.stdout == write_narrowed_round(SURVEY, model, "6000.json")
    result = run(main, [*asked, str(tmp_path / "40.json")])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: too early")


def test_a_further_round_has_its_own_address_at_the_relay_and_says_what_it_needs():
    """The relay's promise is the local epsilon here, so it holds for every batch."""
    relay = f"""[relay]
url = "https://relay.example/tea"   # near "tea"
batch = 20
honest = 0.73
epsilon = 1
delta = 1e-6
opens = 2026-11-01T00:00:00Z
closes = 2026-12-31T00:00:00Z
{RELAY_KEYS}
[label]"""
    text = SURVEY.replace("[label]", relay, 1)
    narrowed = write_narrowed_round(text, make_model(make_snapshot(text, 6000)), "model.json")
    assert 'url = "https://relay.example/tea-round2"   # near "tea"' in narrowed
    assert "needs a batch of people of its own" in " ".join(narrowed.replace("#", "").split())
    survey = read_survey(narrowed)
    assert (survey.id, survey.relay.url) == ("tea-round2", "https://relay.example/tea-round2")
