package ldpbayes.mechanisms;

import static ldpbayes.ProbabilityTables.greatestRatio;
import static ldpbayes.ProbabilityTables.isBelow;
import static ldpbayes.SurveyException.requireValid;

import java.util.Map;
import ldpbayes.Bytes;
import ldpbayes.Fraction;

/** Laplace noise on every slot of the vector of numbers and classes: for all numbers at once, or for one. */
final class Laplace extends Mechanism {
    static final int MAX_NUMBERS = 100;
    /** Largest product of steps and weights; it limits the time to prove an untrusted plan. */
    private static final int MAX_PROOF_WORK = 1 << 15;

    private final NumericDomain domain;
    private final int steps;

    private Laplace(NumericDomain domain, int steps, Noise noise) {
        super(2 * domain.slots(), 8 * (domain.numbers() + domain.slots()),
            power(noise.ratio, domain.numbers()), noise);
        this.domain = domain;
        this.steps = steps;
    }

    static Mechanism build(
        NumericDomain domain, Map<?, ?> tables, int maxNumbers, Noise known) {
        domain.check(maxNumbers);
        Parameters.checkKeyCount(tables, 2);
        int steps = Parameters.readSmallInteger(tables.get("steps"), 1, 64);
        Noise noise = known == null ? readNoise(tables, steps, domain.isSquare()) : known;
        return new Laplace(domain, steps, noise);
    }

    private static Noise readNoise(Map<?, ?> tables, int steps, boolean isSquare) {
        long[] weights = Parameters.readWeights(tables.get("weights"));
        int most = weights.length - 1 - steps;
        requireValid(Integer.bitCount(steps) == 1 && most > 0 && steps * weights.length <= MAX_PROOF_WORK);
        return new Noise(weights, -most, most, worstRatio(weights, steps, isSquare));
    }

    @Override
    public byte[] perturb(long[] value, byte[] random) {
        int fractionBits = NumericDomain.GRID_BITS - 1 - Integer.numberOfTrailingZeros(steps);
        int[] vector = new int[domain.slots()];
        int start = 0;
        for (int number = 0; number < domain.numbers(); number++) {
            int code = domain.codeOf(value[number]);
            int rest = code & (1 << fractionBits) - 1;
            int up = isBelow(Bytes.readHighBits(random, number, fractionBits), rest);
            vector[start + domain.slotOf(value[number])] = (code >> fractionBits) + up - steps;
            start += domain.slots(number);
        }
        return noise.addTo(vector, random, domain.numbers());
    }

    /** Returns the worst likelihood ratio of two values of all numbers: that of one number for each. */
    private static Fraction power(Fraction ratio, int numbers) {
        return new Fraction(ratio.numerator().pow(numbers), ratio.denominator().pow(numbers));
    }

    /** Returns the worst likelihood ratio of two values of one number, in the same slot or in two slots. */
    private static Fraction worstRatio(long[] weights, int steps, boolean isSquare) {
        int highest = weights.length - 1 - steps;
        long[] empty = Noise.law(weights, 0, -highest, highest);
        long[] most = empty.clone();
        long[] least = empty.clone();
        for (int x = isSquare ? 0 : -steps; x <= steps; x++) {
            long[] law = Noise.law(weights, x, -highest, highest);
            for (int y = 0; y < law.length; y++) {
                if (Long.compareUnsigned(law[y], most[y]) > 0) {
                    most[y] = law[y];
                }
                if (Long.compareUnsigned(law[y], least[y]) < 0) {
                    least[y] = law[y];
                }
            }
        }
        Fraction stay = greatestRatio(most, least);
        Fraction move = greatestRatio(most, empty).multiply(greatestRatio(empty, least));
        return stay.isGreaterThan(move) ? stay.reduce() : move;
    }
}
