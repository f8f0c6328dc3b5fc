"""A survey whose numbers are projected, the projection learned from the reports of a first round."""

from __future__ import annotations

import math

from ldp_aggregator.authoring.projected import Projected, ProjectError, to_project
from ldp_aggregator.authoring.toml_text import quote
from ldp_aggregator.models.model_file import Model
from ldp_aggregator.rounds import PILOT_SHARE, learn_projection, people_needed
from reduction.components import Fit
from reduction.learned import LEARNED

_HEADER = (
    "It is the second round of the family {family}: who answered another round of it does not answer this "
    "one, each device sees to that. Weights, offsets and ranges were learned from the {reports} randomised "
    "reports of the first, as the model {source} tells them. Their epsilon covers it; no other data was used."
)
_WORTH = (
    "{verdict}, for {people} people over both rounds: from about {needed} on, which is 1000 n / epsilon^2 "
    "with n = {n} numbers, two rounds tell the classes apart better than one that asks everybody about each "
    "number."
)
_ORIGIN = "The directions along which the classes' means differ most, as {reports} reports of {source} tell."
_POWER = "holds {:.2%} of the variance between the classes"
_RANGE = "two standard deviations around the middle, as far as the reports tell; numbers beyond are clipped"


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
    SurveyError, ProjectError, FitError
        Naming the entry.
    """
    text, survey = to_project(text)
    if survey.compile().digest != model.plan.digest:
        raise ProjectError(
            f"{source}: was not trained on this survey: its plan has another digest. Give the survey that "
            f"the first round answered, unchanged"
        )
    found = learn_projection(survey, model.prior, model.conditionals, components)
    reports = f"{model.estimates['reports']:,}"
    family, named = survey.family or survey.id, quote(source)
    return Projected(
        found,
        LEARNED,
        header=(
            _HEADER.format(family=quote(family), reports=reports, source=named),
            _worth(found, model, people),
        ),
        origin=(_ORIGIN.format(reports=reports, source=named),),
        powers=tuple(_POWER.format(power) for power in found.powers),
        ranges=(_RANGE,) * components,
        bins=bins,
        family=family,
    ).survey(text, survey)


def _worth(found: Fit, model: Model, people: int | None) -> str:
    n = len(found.projection.inputs)
    needed = people_needed(n, model.plan.epsilon)
    expected = math.ceil(model.estimates["reports"] / PILOT_SHARE) if people is None else people
    verdict = "Recommended" if expected >= needed else "NOT recommended"
    return _WORTH.format(verdict=verdict, people=f"{expected:,}", needed=f"{needed:,}", n=n)
