"""Devices with one bug each in what they send over the waves of a survey; the audit must flag all."""

from __future__ import annotations

from functools import cache

from encoders.randomness import SystemEntropy
from encoders.report import unpack
from encoders.survey import Plan, read_survey
from encoders.survey.randomise import randomise
from ldp_audit.people import Person
from ldp_audit.series_audit import Bodies, History

SURVEY = """
[survey]
id = "series"
epsilon = 1
[label]
name = "paid"
values = ["yes", "no"]
[features.kind]
values = ["a", "b"]
[mechanism]
frequency = "DE"
[waves]
first = 2027-01-01
every = "month"
count = 12
open_days = 14
"""


@cache
def compile_series() -> Plan:
    """Return the plan of `SURVEY`."""
    return read_survey(SURVEY).compile()


class StepwiseSeries:
    """A device without a bug. Each step is a method; a subclass replaces one of them."""

    def series(self, plan: Plan, history: History) -> Bodies:
        assert plan.waves is not None
        self.drawn = self.draw(plan, history)
        sent: Bodies = [[] for _ in history.people]
        for wave, person in [*enumerate(history.people)] * 2:  # once more: the clock is set back
            if person and wave >= history.joins and self.is_asked(wave, history, sent):
                sent[wave].append(self.answer(plan, wave, person))
        return sent

    def draw(self, plan: Plan, history: History) -> int:
        assert plan.waves is not None
        return plan.waves.draw(SystemEntropy())

    def is_asked(self, wave: int, history: History, sent: Bodies) -> bool:
        return wave == self.drawn and not any(sent)

    def answer(self, plan: Plan, wave: int, person: Person) -> bytes:
        return randomise(plan, person.row, person.label, SystemEntropy(), wave=wave).report


def by_chance(share: float) -> bool:
    return SystemEntropy().take(1)[0] < 256 * share


class EveryWave(StepwiseSeries):
    """Each wave is answered, with fresh noise."""

    def is_asked(self, wave: int, history: History, sent: Bodies) -> bool:
        return not sent[wave]


class AgainAfterRestart(StepwiseSeries):
    """One of ten devices forgets its answer when the application is started again."""

    def is_asked(self, wave: int, history: History, sent: Bodies) -> bool:
        return super().is_asked(wave, history, sent) or (any(sent) and by_chance(0.01))


class AgainAfterClockIsSetBack(StepwiseSeries):
    """The wave is answered whenever it is open."""

    def is_asked(self, wave: int, history: History, sent: Bodies) -> bool:
        return wave == self.drawn


class WaveByAnswer(StepwiseSeries):
    """One of five people with the other answers is asked in the first wave."""

    def draw(self, plan: Plan, history: History) -> int:
        person = next(filter(None, history.people))
        drawn = super().draw(plan, history)
        return 0 if person.row["kind"] == "b" and by_chance(0.2) else drawn


class WhenTheAnswerChanges(StepwiseSeries):
    """The device waits until an answer differs from the one before."""

    def is_asked(self, wave: int, history: History, sent: Bodies) -> bool:
        changed = wave > 0 and history.people[wave] != history.people[wave - 1]
        return not any(sent) and changed


class RedrawnAtGrant(StepwiseSeries):
    """Each new grant draws the wave again."""

    def is_asked(self, wave: int, history: History, sent: Bodies) -> bool:
        return not any(sent) and by_chance(1 / len(history.people))


class MissedIsRedrawn(StepwiseSeries):
    """A person who misses their wave is asked in the next one."""

    def is_asked(self, wave: int, history: History, sent: Bodies) -> bool:
        return wave >= self.drawn and not any(sent)


class LateDrawsFromTheRest(StepwiseSeries):
    """People who agree late draw from the waves that are left."""

    def draw(self, plan: Plan, history: History) -> int:
        drawn = super().draw(plan, history)
        return drawn if drawn >= history.joins else self.draw(plan, history)


class UnderAnotherWave(StepwiseSeries):
    """The report names the wave after its own."""

    def answer(self, plan: Plan, wave: int, person: Person) -> bytes:
        return super().answer(plan, (wave + 1) % 12, person)


class RedrawnOnChange(StepwiseSeries):
    """A permanent answer is sent in each wave, and drawn again when the answer changes."""

    def is_asked(self, wave: int, history: History, sent: Bodies) -> bool:
        return not sent[wave]

    def answer(self, plan: Plan, wave: int, person: Person) -> bytes:
        if wave == 0:
            self.kept: dict[int, bytes] = {}
        if id(person) not in self.kept:
            self.kept = {id(person): unpack(super().answer(plan, wave, person)).payload}
        return super().answer(plan, wave, person)[:-1] + self.kept[id(person)]


MUTANTS = (
    EveryWave,
    AgainAfterRestart,
    AgainAfterClockIsSetBack,
    WaveByAnswer,
    WhenTheAnswerChanges,
    RedrawnAtGrant,
    MissedIsRedrawn,
    LateDrawsFromTheRest,
    UnderAnotherWave,
    RedrawnOnChange,
)
