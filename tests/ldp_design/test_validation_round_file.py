"""A validation round keeps the author's text, and adds the model's scores."""

import numpy as np
import pytest

from encoders.errors import SurveyError
from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.classifiers.naive_bayes import NaiveBayes
from ldp_aggregator.estimation.validation_result import ValidationResult
from ldp_aggregator.results import Results, make_results
from ldp_aggregator.results_file import dump_results, parse_results
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot, SnapshotError
from ldp_design.model_validation import ValidationError, write_validation_round
from ldp_design.simulation.accuracies import simulate
from tests.support.commands import command
from tests.support.snapshots import train_model
from tests.support.surveys import RELAY_KEYS, RELAYED

SURVEY = """\
# What this is about.
[survey]
id = "tea"            # kept
epsilon = 2

[label]
name = "tired"
values = ["yes", "no"]

[features.related]
values = ["a", "b"]

[features."it's # an \\"echo\\""]
values = ["a", "b"]
weight = 1   # once

[features.echo]
values = ["a", "b"]

[features.hours]
range = [0, 12]
bins = 2
"""
COUNT = 20_000


def make_people(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, COUNT)
    informative, echo = (np.where(rng.random(COUNT) < often, labels, 1 - labels) for often in (0.8, 0.65))
    return np.stack([informative, echo, echo, echo], axis=1), labels


def make_snapshot(text: str, seed: int) -> Snapshot:
    return simulate_reports(read_survey(text).compile(), *make_people(seed), FastStream(seed))


def make_model(*snapshots: Snapshot, validation: Snapshot | None = None) -> Results:
    total = sum(snapshots[1:], snapshots[0])
    return parse_results(dump_results(make_results(total, validation=validation, poisoning=False)))


def find_kept(model: Results) -> tuple[str, ...]:
    """Return the names of the features that the validation selected."""
    assert model.estimates.validation
    assert model.estimates.validation.validation_result
    return model.estimates.validation.validation_result.selected_features


@pytest.fixture(scope="module")
def model() -> Results:
    return make_model(make_snapshot(SURVEY, 1))


def test_only_the_id_the_family_and_the_tables_at_the_end_change(model):
    text = write_validation_round(SURVEY, model, "model.json")
    assert SURVEY.split("\n", 3)[3] in text.replace(
        'family = "tea" # each person answers one round only\n', ""
    )
    plan = read_survey(text).compile()
    assert (plan.id, plan.family) == ("tea-validation", "tea")
    validation = plan.validation
    assert validation is not None
    assert (validation.label, validation.features) == (model.plan.label, model.plan.features)
    assert validation.features[validation.order[0]].name == "related"
    assert [question.name for question in plan.questions] == ["top 1", "top 2"]
    for word in ['"tea"', '"model.json"', "20,000", "4 features of the model", "top 1 or 2"]:
        assert word in text.replace("\n# ", " ")


def test_comments_predict_the_margins(model):
    text = " ".join(write_validation_round(SURVEY, model, "model.json").replace("# ", "").split())
    found = ValidationResult.from_snapshot(make_snapshot(write_validation_round(SURVEY, model, "m"), 2))
    right, gain = (
        1.96 * float(np.max(each)) * (COUNT / 10_000) ** 0.5
        for each in (found.accuracy.stderr, found.gains.stderr)
    )
    margins = [float(word.strip("+-%,")) / 100 for word in text.split() if word.startswith("+-")]
    np.testing.assert_allclose(margins, [right, gain], rtol=0.25)


def test_a_model_trained_on_it_keeps_and_uses_the_most_accurate_features(model):
    validation = make_snapshot(write_validation_round(SURVEY, model, "model.json"), 3)
    kept = make_model(make_snapshot(SURVEY, 1), validation=validation)
    assert len(find_kept(kept)) in (1, 2)  # the echoes alone do not outvote the informative feature
    classifier = NaiveBayes.from_results(kept)
    rows = [
        {"related": related, 'it\'s # an "echo"': echo, "echo": echo, "hours": 1.0 if echo == "a" else 11.0}
        for related in "ab"
        for echo in "ab"
    ]
    assert classifier.predict(rows).tolist() == ["yes", "yes", "no", "no"]


def test_a_validation_is_not_validated_and_a_model_of_another_survey_is_refused(model):
    text = write_validation_round(SURVEY, model, "model.json")
    with pytest.raises(
        SurveyError, match="tea-validation is a validation round, which asks only whether a model is right"
    ):
        write_validation_round(text, model, "model.json")
    with pytest.raises(ValidationError, match="was not trained on this survey"):
        write_validation_round(SURVEY.replace('"tired"', '"awake"'), model, "model.json")
    with pytest.raises(SurveyError):
        write_validation_round("[survey", model, "model.json")


def test_a_later_round_keeps_its_family_and_a_long_id_is_cut(model):
    later = SURVEY.replace('id = "tea"', 'family = "tea"\nid = "tea-round2"')
    assert read_survey(write_validation_round(later, model, "m")).id == "tea-round2-validation"
    long = SURVEY.replace('id = "tea"', f'id = "{"t" * 64}"')
    found = read_survey(write_validation_round(long, make_model(make_snapshot(long, 1)), "m"))
    assert (len(found.id), found.family) == (64, "t" * 64)
    assert found.id.endswith("-validation")


def test_the_comments_ask_to_invite_other_people(model):
    invited = SURVEY.replace('id = "tea"', 'enrolment = "token"\nid = "tea"')
    text = write_validation_round(invited, make_model(make_snapshot(invited, 1)), "m")
    assert "Invite only people who" in text
    assert read_survey(text).enrolment == "token"


def test_the_round_has_its_own_address_at_the_relay_and_says_what_it_needs():
    """The relay's promise is the local epsilon here, so it holds for every batch."""
    relay = f"""[relay]
url = "https://relay.example/tea"   # near "tea"
batch = 20
honest = 0.73
epsilon = 2
delta = 1e-6
opens = 2026-11-01T00:00:00Z
closes = 2026-12-31T00:00:00Z
{RELAY_KEYS}
[label]"""
    text = SURVEY.replace("[label]", relay, 1)
    written = write_validation_round(text, make_model(make_snapshot(text, 1)), "model.json")
    assert 'url = "https://relay.example/tea-validation"   # near "tea"' in written
    assert "needs a batch of people of its own" in " ".join(written.replace("#", "").split())
    survey = read_survey(written)
    assert (survey.id, survey.relay.url) == ("tea-validation", "https://relay.example/tea-validation")


def test_the_command_prints_the_round_or_the_reason_for_refusing(tmp_path, model):
    survey, file = tmp_path / "tea.toml", tmp_path / "model.json"
    survey.write_text(SURVEY.replace("\n", "\r\n"))
    train_model(file, make_snapshot(SURVEY, 1))
    done = command("ldp-survey", "validate", survey, "--model", file, check=False)
    assert done.exit_code == 0
    assert done.stdout == write_validation_round(SURVEY, model, "model.json")
    survey.write_text(SURVEY.replace('"tired"', '"awake"'))
    done = command("ldp-survey", "validate", survey, "--model", file, check=False)
    assert done.exit_code == 1
    assert "was not trained on this survey" in done.stderr


def test_a_validation_is_refused_by_commands_that_need_a_survey_people_answer(tmp_path, model):
    file, rows, model_file = tmp_path / "v.toml", tmp_path / "rows.csv", tmp_path / "model.json"
    file.write_text(write_validation_round(SURVEY, model, "model.json"))
    rows.write_text("class\nyes\n")
    train_model(model_file, make_snapshot(SURVEY, 1))
    for name, options in [
        ("size", ["--users", "1000"]),
        ("project", ["--from", str(rows)]),
        ("validate", ["--model", str(model_file)]),
    ]:
        done = command("ldp-survey", name, file, *options, check=False)
        assert done.exit_code == 1
        assert "tea-validation is a validation round, which asks only whether a model is right" in done.stderr
    survey = read_survey(file.read_text())
    validation = make_snapshot(file.read_text(), 2)
    for use in (
        lambda: NaiveBayes(survey=survey).fit([{"related": "a"}], ["yes"]),
        lambda: simulate(survey, {"class": ["yes", "no"]}),
        lambda: dump_results(make_results(validation)),
    ):
        with pytest.raises(SurveyError, match="give the survey that the model was made from"):
            use()


def test_snapshots_of_rounds_and_of_validations_are_not_added(model):
    text = write_validation_round(SURVEY, model, "model.json")
    with pytest.raises(
        SnapshotError, match="tea-validation is a validation round, whose reports cannot be added to tea"
    ):
        make_snapshot(SURVEY, 1) + make_snapshot(text, 2)


def test_the_model_states_the_epsilon_of_its_validation(model):
    validation = make_snapshot(write_validation_round(SURVEY, model, "model.json"), 3)
    snapshot = make_snapshot(SURVEY, 1)
    statement = make_model(snapshot, validation=validation).privacy
    assert [(each.epsilon, each.reports) for each in statement.rounds] == [("2", COUNT)] * 2
    assert statement.validation.plan_digest == validation.plan.digest
    assert [each.question for each in statement.validation.questions] == ["top 1", "top 2"]


@pytest.mark.slow
def test_a_round_whose_people_answer_all_questions_keeps_the_epsilon_of_each(model):
    relay = RELAYED[RELAYED.index("[relay]") : RELAYED.index("[features")]
    relay = relay.replace("night-work", "tea").replace("[relay]", f'[relay]\nask = "all"\n{RELAY_KEYS}')
    text = SURVEY.replace("epsilon = 2", "epsilon = 5") + relay
    trained = make_model(make_snapshot(text, 1))
    round_ = read_survey(write_validation_round(text, trained, "m"))
    count = len(read_survey(text).compile().questions)
    assert round_.asks_all
    assert round_.relay
    assert round_.relay.url.endswith("/tea-validation")
    assert len(round_.compile().questions) == 2
    assert 0 < round_.epsilon <= 2 * read_survey(text).epsilon / count


@pytest.mark.slow
@pytest.mark.parametrize(("left_out", "ask"), [((), "all"), (("echo", "hours"), "one")])
def test_a_round_of_a_survey_whose_people_answer_all_questions_validates_its_model(left_out, ask):
    """A round with a single question asks one, and spends less than all questions of the survey."""
    relay = RELAYED[RELAYED.index("[relay]") : RELAYED.index("[features")]
    relay = relay.replace("night-work", "tea").replace("[relay]", f'[relay]\nask = "all"\n{RELAY_KEYS}')
    text = SURVEY.replace("epsilon = 2", "epsilon = 4") + relay
    rows, labels = make_people(1)
    for name in left_out:
        start = text.index(f"[features.{name}]")
        text = text[:start] + text[text.index("\n[", start) + 1 :]
    rows = rows[:, : rows.shape[1] - len(left_out)]
    plan = read_survey(text).compile()
    snapshot = simulate_reports(plan, rows, labels, FastStream(1))
    round_ = read_survey(write_validation_round(text, make_model(snapshot), "m")).compile()
    validation = simulate_reports(round_, rows, labels, FastStream(2))
    statement = make_model(snapshot, validation=validation).privacy
    assert [each.ask for each in statement.rounds] == ["all", ask]
    assert [each.epsilon for each in statement.rounds] == [str(plan.epsilon), str(round_.epsilon)]
    assert round_.epsilon < plan.epsilon
