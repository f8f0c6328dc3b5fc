"""A survey whose numbers are projected, the projection learned from the reports of a first round."""

from __future__ import annotations

import math

from encoders.survey import Survey
from ldp_aggregator.authoring.projected import Projected, ProjectionError, read_unprojected
from ldp_aggregator.authoring.projection_inputs import projection_inputs
from ldp_aggregator.authoring.toml_edit import quote
from ldp_aggregator.models.model_file import Model
from ldp_aggregator.rounds.learn import PILOT_SHARE, doubts, learn_projection, min_people
from reduction.class_means import LEARNED_METHOD

_HEADER = (
    "It is a further round of the family {family}: a device that answered another round does not answer this "
    "one. Serve it at the address of the other rounds, unless apps pin the author's key. Weights and offsets "
    "were learned from the {reports} randomised reports of an earlier round, as the model {source} tells "
    "them. Their epsilon covers it; no other data was used."
)
_YES = (
    "Recommended for {people} people over both rounds: from about {needed} on, 1000 n / epsilon^2 with "
    "n = {n} numbers, two rounds told two classes apart better than one of as many people."
)
_NO = "NOT recommended for {people} people over both rounds: {doubts}."
_FEW = "it takes about {needed}, 1000 n / epsilon^2 with n = {n} numbers"
_CHECK = (
    "Rows like theirs tell more:  ldp-simulate SURVEY ROWS --epsilon {epsilon} --project none,learned:{count}"
)
_ORIGIN = "The directions along which the classes' means differ most, as {reports} reports of {source} tell."
_POWER = "holds {:.2%} of the variance between the classes, as far as the reports tell"
_ONLY = "along the difference of the two classes' means, as far as the reports tell"
_RANGE = (
    "two standard deviations around the mean, if the numbers are independent and each's is a sixth of its "
    "range; what is beyond is clipped"
)


def learn(
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
    found = learn_projection(survey, model.prior, model.conditionals, components)
    family, named = survey.family or survey.id, quote(source)
    several = len(model.prior) > 2
    return Projected(
        found,
        LEARNED_METHOD,
        header=(
            _HEADER.format(family=quote(family), reports=f"{reports:,}", source=named),
            _worth(survey, model, components, people),
            _CHECK.format(epsilon=survey.epsilon, count=components),
        ),
        origin=(_ORIGIN.format(reports=f"{reports:,}", source=named),),
        powers=tuple(_POWER.format(power) if several else _ONLY for power in found.powers),
        ranges=(_RANGE,) * components,
        bins=bins,
        family=family,
    ).survey(text, survey)


def _worth(survey: Survey, model: Model, components: int, people: int | None) -> str:
    expected = math.ceil(model.reports / PILOT_SHARE) if people is None else people
    n = len(projection_inputs(survey))
    needed = min_people(n, survey.epsilon)
    shown = {"people": f"{expected:,}", "needed": f"{needed:,}", "n": n}
    against = doubts(survey, model.prior, model.conditionals, components)
    if expected < needed:
        against.insert(0, _FEW.format(**shown))
    return _NO.format(**shown, doubts="; ".join(against)) if against else _YES.format(**shown)
