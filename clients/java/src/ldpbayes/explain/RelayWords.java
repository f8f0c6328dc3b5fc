package ldpbayes.explain;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Locale;
import ldpbayes.Decimals;
import ldpbayes.EpsilonProof;
import ldpbayes.Fraction;
import ldpbayes.relay.Relay;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Question;

/** Writes what a person reads about the relay of a survey. */
final class RelayWords {
    /** With a larger epsilon, relay and collector together can learn most answers. */
    private static final Fraction MUCH = Decimals.parse("5");
    private static final MathContext TWO_DIGITS = new MathContext(2, RoundingMode.CEILING);

    private RelayWords() {
    }

    /** Returns one paragraph: what is sent, the promise, and what holds if relay and collector collude. */
    static String describe(Plan plan) {
        Relay relay = Relay.of(plan);
        Fraction delta = Decimals.parse(relay.delta());
        String odds = factor(relay.epsilon());
        String remainder = String.format(Locale.ROOT, "%,d", delta.denominator().divide(delta.numerator()));
        String honest = String.format(Locale.ROOT, "%,d", relay.honestReports());
        String batch = String.format(Locale.ROOT, "%,d", relay.batch());
        String together = Wording.sentence("togetherOdds", factor(plan.epsilon()));
        if (plan.asksAll()) {
            if (Decimals.parse(plan.epsilon()).isGreaterThan(MUCH)) {
                together = Wording.sentence("together", keptShare(plan) + "%");
            }
            return Wording.sentence("all") + " "
                + Wording.sentence("relayed", odds, remainder, honest, batch) + " " + together;
        }
        return "The report goes through a relay, which cannot read it. The relay knows that you take part; "
            + "the collector cannot see who sent which report. What the collector sees changes the odds of "
            + "any two answers of yours by at most " + odds + " times, with a remainder of at most 1 in "
            + remainder + ", if at least " + honest + " of the " + batch + " reports that leave together "
            + "come from people who do not help it. " + together;
    }

    /** Returns e^epsilon with two digits, rounded up. */
    private static String factor(String epsilon) {
        Fraction odds = EpsilonProof.expLowerBound(Decimals.parse(epsilon));
        return new BigDecimal(odds.numerator()).divide(new BigDecimal(odds.denominator()), TWO_DIGITS)
            .toPlainString();
    }

    /** Returns the largest share of yes/no answers that are sent as they are, in percent, rounded up. */
    private static long keptShare(Plan plan) {
        BigDecimal most = BigDecimal.ZERO;
        for (Question question : plan.questions()) {
            Fraction ratio = question.mechanism().ratio();
            BigDecimal total = new BigDecimal(ratio.numerator().add(ratio.denominator()));
            BigDecimal hundred = new BigDecimal(ratio.numerator()).movePointRight(2);
            most = most.max(hundred.divide(total, 0, RoundingMode.CEILING));
        }
        return most.longValue();
    }
}
