"""Devices with one bug each in what a person's consent to a series covers; the audit must flag all."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.randomness import SystemEntropy
from encoders.survey.randomise import randomise
from ldp_audit.people import Person
from ldp_audit.series_audit import Bodies, Offer, row_of


class StepwiseStanding:
    """A device without a bug. Each step is a method; a subclass replaces one of them."""

    def standing(self, offers: Sequence[Offer], lifetime: float, person: Person, ends: int) -> Bodies:
        agreed, sent, self.spent = offers[0], Bodies([[] for _ in offers]), 0.0
        is_over = False
        for at, offer in [*enumerate(offers)] * 2:
            self.restart()
            is_over |= at == ends
            if not self.is_over(is_over) and not self.is_answered(sent[at]) and self.covers(agreed, offer):
                epsilon = float(offer.plan.epsilon)
                if self.spent + epsilon <= lifetime:
                    self.spend(epsilon)
                    row, label = row_of(offer, person)
                    sent[at].append(randomise(offer.plan, row, label, SystemEntropy()).report)
        return sent

    def restart(self) -> None:
        """Start the application again."""

    def spend(self, epsilon: float) -> None:
        self.spent += epsilon

    def is_over(self, is_over: bool) -> bool:
        return is_over

    def is_answered(self, sent: list[bytes]) -> bool:
        return bool(sent)

    def covers(self, agreed: Offer, offer: Offer) -> bool:
        return (
            self.has_key(agreed, offer)
            and self.has_epsilon(agreed, offer)
            and self.has_values(agreed, offer)
            and self.has_recipient(agreed, offer)
        )

    def has_key(self, agreed: Offer, offer: Offer) -> bool:
        return agreed.plan.series == offer.plan.series

    def has_epsilon(self, agreed: Offer, offer: Offer) -> bool:
        return offer.plan.epsilon <= agreed.plan.epsilon

    def has_values(self, agreed: Offer, offer: Offer) -> bool:
        return (agreed.plan.features, agreed.plan.label) == (offer.plan.features, offer.plan.label)

    def has_recipient(self, agreed: Offer, offer: Offer) -> bool:
        return agreed.host == offer.host


class ForgetsSpent(StepwiseStanding):
    """The spent epsilon is forgotten when the application is started again."""

    def restart(self) -> None:
        self.spent = 0.0


class ForgetsAnswered(StepwiseStanding):
    """A plan is answered again after a restart."""

    def is_answered(self, sent: list[bytes]) -> bool:
        return False


class CountsWhenSent(StepwiseStanding):
    """A report counts only once the collector has confirmed it, which it never does here."""

    def spend(self, epsilon: float) -> None:
        pass


class IgnoresWithdrawal(StepwiseStanding):
    """Later plans are answered after a withdrawal."""

    def is_over(self, is_over: bool) -> bool:
        return False


class LargerEpsilon(StepwiseStanding):
    """A plan with a larger epsilon needs no new yes."""

    def has_epsilon(self, agreed: Offer, offer: Offer) -> bool:
        return True


class AnotherKey(StepwiseStanding):
    """A plan that another key signed needs no new yes."""

    def has_key(self, agreed: Offer, offer: Offer) -> bool:
        return True


class AnotherValue(StepwiseStanding):
    """A plan with a value that was not shown needs no new yes."""

    def has_values(self, agreed: Offer, offer: Offer) -> bool:
        return True


class AnotherRecipient(StepwiseStanding):
    """A plan of another collector or relay needs no new yes."""

    def has_recipient(self, agreed: Offer, offer: Offer) -> bool:
        return True


class Never(StepwiseStanding):
    """No later plan is answered, so that each asks again."""

    def covers(self, agreed: Offer, offer: Offer) -> bool:
        return agreed == offer


MUTANTS = StepwiseStanding.__subclasses__()
