"""The survey file of a second round that asks about a projection learned from the first round's reports."""

from __future__ import annotations

import math

from encoders.survey import Survey
from ldp_aggregator.authoring.projection_inputs import projection_inputs
from ldp_aggregator.authoring.projection_toml import ProjectedSurvey, ProjectionError, read_unprojected
from ldp_aggregator.authoring.toml_edit import quote
from ldp_aggregator.models.model_file import Model
from ldp_aggregator.rounds.learn import PILOT_SHARE, find_objections, learn_projection, min_people
from reduction.class_means import LEARNED_METHOD

_ORIGIN = (
    "It is a further round of the family {family}: a device that answered another round does not answer this "
    "one. Serve it at the address of the other rounds, unless apps pin the author's key. Weights and offsets "
    "were learned from the {reports} randomised reports of an earlier round, as the model {source} tells "
    "them. Their epsilon covers it; no other data was used."
)
_RECOMMENDED = (
    "Recommended for {people} people over both rounds: from about {needed} on, 1000 n / epsilon^2 with "
    "n = {n} numbers, two rounds told two classes apart better than one of as many people."
)
_NOT_RECOMMENDED = "NOT recommended for {people} people over both rounds: {objections}."
_TOO_FEW_PEOPLE = "it takes about {needed}, 1000 n / epsilon^2 with n = {n} numbers"
_SIMULATE = (
    "Rows like theirs tell more:  ldp-simulate SURVEY ROWS --epsilon {epsilon} --project none,learned:{count}"
)
_TABLES_ORIGIN = (
    "The directions along which the classes' means differ most, as {reports} reports of {source} tell."
)
_POWER = "holds {:.2%} of the variance between the classes, as far as the reports tell"
_POWER_OF_TWO_CLASSES = "along the difference of the two classes' means, as far as the reports tell"
_RANGE = (
    "two standard deviations around the mean, if the numbers are independent and each's is a sixth of its "
    "range; what is beyond is clipped"
)


def write_learned_round(
    text: str,
    model: Model,
    source: str,
    components: int = 1,
    bins: int | None = None,
    people: int | None = None,
) -> str:
    """Return the second round of a survey: its numbers as inputs of a projection learned in the first.

    Numbers of weight 0 are left as they are, and so is all else but the survey's id, which gets a suffix
    such as -learned1, and its family, which becomes the first round's. The components take the numbers'
    weight if all of these have the same, otherwise 1.

    Parameters
    ----------
    text : str
        The authored survey of the first round, each number in a table [features.NAME] of its own.
    model : Model
        Trained on the reports of that round.
    source : str
        What the model is called in comments.
    components : int
        1 to the number of classes less one.
    bins : int, optional
        Bins of each component; without it they are numeric.
    people : int, optional
        How many will answer, both rounds together, to judge by whether it is worth it. If it is not given,
        the first round is taken for seven tenths of them.

    Returns
    -------
    str
        TOML that :func:`encoders.survey.read_survey` accepts; its comments say whether two rounds are
        recommended.

    Raises
    ------
    SurveyError, ProjectionError, FitError
        Naming the entry, or what does not fit together.
    """
    text, survey = read_unprojected(text, LEARNED_METHOD, components)
    if survey.compile().digest != model.plan.digest:
        raise ProjectionError(
            f"{quote(source)} was not trained on this survey: its plan has another digest. Give the survey "
            f"that the first round answered, unchanged"
        )
    reports = model.reports
    if people is not None and people <= reports:
        raise ProjectionError(
            f"people counts both rounds, and the first alone had {reports:,}: nobody is left"
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
    """Return whether a second round is recommended, or the objections to it."""
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
