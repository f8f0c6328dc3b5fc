"""Writes the survey file of a second round, about a projection learned from the first round's reports."""

from __future__ import annotations

import math

from encoders.survey import Survey
from ldp_aggregator.classifiers.model_file import Model
from ldp_design.authoring.projection_inputs import projection_inputs
from ldp_design.authoring.projection_toml import ProjectedSurvey, ProjectionError, read_unprojected
from ldp_design.authoring.toml_edit import quote
from ldp_design.rounds.further_round import require_label
from ldp_design.rounds.learn import PILOT_SHARE, find_objections, learn_projection, min_people
from reduction.class_means import LEARNED_METHOD

_ORIGIN = (
    "It is a further round of the family {family}: a device that answered another round does not answer this "
    "one. Serve it at the address of the other rounds, unless apps pin the author's key. Weights and offsets "
    "were learned from the model {source}, trained on the {reports} randomised reports of an earlier round. "
    "Their epsilon covers it; no other data was used."
)
_RECOMMENDED = (
    "Recommended for {people} people over both rounds: from about {needed} on, 1000 n / epsilon^2 with "
    "n = {n} numbers, two rounds separated two classes better than one round of as many people."
)
_NOT_RECOMMENDED = "NOT recommended for {people} people over both rounds: {objections}."
_TOO_FEW_PEOPLE = "two rounds need about {needed} people: 1000 n / epsilon^2, with n = {n} numeric features"
_SIMULATE = (
    "A simulation on rows like theirs is more informative:  "
    "ldp-simulate SURVEY ROWS --epsilon {epsilon} --project none,learned:{count}"
)
_TABLES_ORIGIN = (
    "The directions along which the classes' means differ most, estimated from {reports} reports of {source}."
)
_POWER = "explains {:.2%} of the estimated variance between the classes"
_POWER_OF_TWO_CLASSES = "along the estimated difference of the two classes' means"
_RANGE = (
    "two standard deviations around the mean, if the numbers are independent and the standard deviation of "
    "each is a sixth of its range; values beyond are clipped"
)


def write_learned_round(
    text: str,
    model: Model,
    source: str,
    components: int = 1,
    bins: int | None = None,
    people: int | None = None,
) -> str:
    """Return the text of a second round, with the numbers as inputs of a projection learned in the first.

    Numbers of weight 0 and all other entries are unchanged. Only the survey's id gets a suffix such as
    -learned1, and the family becomes that of the first round. The components have the numbers' weight if all
    numbers have the same weight, otherwise 1.

    Parameters
    ----------
    text : str
        The authored survey of the first round, with each number in its own table [features.NAME].
    model : Model
        The model trained on the reports of the first round.
    source : str
        Name of the model in comments.
    components : int
        1 to the number of classes minus one.
    bins : int, optional
        Number of bins of each component; components are numeric without it.
    people : int, optional
        Number of people who will answer both rounds, to decide whether two rounds are recommended. By
        default the first round is assumed to have 70% of them.

    Returns
    -------
    str
        TOML that :func:`encoders.survey.read_survey` accepts; its comments state whether two rounds are
        recommended.

    Raises
    ------
    SurveyError, LdpError, ProjectionError, FitError
        If the survey, the model and the options do not fit together; the message names the entry.
    """
    text, survey = read_unprojected(text, LEARNED_METHOD, components)
    require_label(survey)
    if survey.compile().digest != model.plan.digest:
        raise ProjectionError(
            f"{quote(source)} was not trained on this survey: its plan has another digest. Give the survey "
            f"that the first round answered, unchanged"
        )
    reports = model.reports
    if people is not None and people <= reports:
        raise ProjectionError(
            "--people must be the number of people of both rounds, and the first round alone had "
            f"{reports:,} reports: give a larger number"
        )
    fit = learn_projection(survey, model.prior, model.conditionals, components)
    family = survey.family or survey.id
    words = {"family": quote(family), "reports": f"{reports:,}", "source": quote(source)}
    if len(model.prior) > 2:
        powers = [_POWER.format(power) for power in fit.powers]
    else:
        powers = [_POWER_OF_TWO_CLASSES] * len(fit.powers)
    return ProjectedSurvey(
        fit=fit,
        stem=LEARNED_METHOD,
        header=(
            _ORIGIN.format(**words),
            _recommend(survey, model, components, people),
            _SIMULATE.format(epsilon=survey.epsilon, count=components),
        ),
        origin=(_TABLES_ORIGIN.format(**words),),
        powers=tuple(powers),
        ranges=(_RANGE,) * components,
        bins=bins,
        family=family,
    ).write(text, survey)


def _recommend(survey: Survey, model: Model, components: int, people: int | None) -> str:
    """Return a sentence that recommends a second round, or lists the objections."""
    expected = math.ceil(model.reports / PILOT_SHARE) if people is None else people
    n = len(projection_inputs(survey))
    needed = min_people(n, survey.epsilon)
    words = {"people": f"{expected:,}", "needed": f"{needed:,}", "n": n}
    objections = find_objections(survey, model.prior, model.conditionals, components)
    if expected < needed:
        objections.insert(0, _TOO_FEW_PEOPLE.format(**words))
    if objections:
        return _NOT_RECOMMENDED.format(**words, objections="; ".join(objections))
    return _RECOMMENDED.format(**words)
