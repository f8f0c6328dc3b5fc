"""Makes the bytes of a report from a row, without journal and network."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.randomness import RandomSource, SystemEntropy
from encoders.survey.plan import Plan
from encoders.survey.randomise import randomise
from ldp_client.plan_source import refuse_relay


def make_report(
    plan: Plan,
    row: Mapping[str, object],
    label: object = None,
    rng: RandomSource | None = None,
    token: str | None = None,
    wave: str | None = None,
) -> bytes:
    """Randomise one answer and return the report's bytes; uses no journal and no network.

    Each call draws fresh noise: sending the results of two calls spends epsilon twice. Applications use
    :meth:`ldp_client.Client.report`, which makes one report per survey and resends those bytes.

    Parameters
    ----------
    plan : Plan
    row : Mapping[str, object]
        Every feature of the survey by name; None for a missing value. Other entries are ignored.
    label : object
        None for a survey without a label.
    rng : RandomSource, optional
        The operating system's entropy by default; given bytes for test vectors and audits. 8 bytes are
        taken for the question, then 16 for the report id, then those of the mechanism.
    token : str, optional
        The invitation, if the survey needs one; it determines the question and the report id.
    wave : str, optional
        The name of the wave, in a survey with waves. A token determines it too.

    Returns
    -------
    bytes
        One packed report; its length depends only on the plan and the question.

    Raises
    ------
    RowError, TokenError
        If the row, the label or the token does not fit the survey; raised before anything is drawn.
    TransportError
        If the survey needs a relay.
    LdpError
        If there is no such wave, or the survey has waves and none is given.

    Examples
    --------
    >>> from encoders.survey import read_survey
    >>> plan = read_survey('''
    ... survey = {id = "tea", epsilon = 2}
    ... label = {name = "smoker", values = ["yes", "no"]}
    ... features.tea.values = ["never", "daily"]
    ... ''').compile()
    >>> len(make_report(plan, {"tea": "daily"}, "yes"))
    58
    """
    refuse_relay(plan)
    index = None if wave is None else plan.waves.find(wave) if plan.waves else 0
    return randomise(plan, row, label, rng or SystemEntropy(), token=token, wave=index).report
