package ldpbayes.mechanisms;

import static ldpbayes.ProbabilityTables.greatestRatio;
import static ldpbayes.ProbabilityTables.toInteger;
import static ldpbayes.SurveyException.requireValid;

import java.util.Map;
import ldpbayes.Fraction;

/**
 * Summation with histogram encoding (SHE): a one-hot vector with Laplace noise on every component.
 *
 * <p>It reports d components: discrete Laplace noise, plus 1 for the true value, clamped to 1 - K, ..., K.
 */
final class Histogram extends Mechanism {
    private final int domain;

    private Histogram(int domain, Noise noise) {
        super(2 * domain, 8 * domain, noise.ratio, noise);
        this.domain = domain;
    }

    static Mechanism build(int domain, Map<?, ?> tables, Noise known) {
        return new Histogram(domain, known == null ? readNoise(tables) : known);
    }

    private static Noise readNoise(Map<?, ?> tables) {
        Parameters.checkKeyCount(tables, 1);
        long[] weights = Parameters.readWeights(tables.get("weights"));
        long last = weights[weights.length - 1];
        // clamping moves only the last weight, so these are the means of 1 plus noise and of noise
        requireValid(toInteger(-last).doubleValue() > toInteger(last).doubleValue());
        return new Noise(weights, 2 - weights.length, weights.length - 1, worstRatio(weights));
    }

    @Override
    public byte[] perturb(long[] value, byte[] random) {
        int[] vector = new int[domain];
        vector[(int) value[0]] = 1;
        return noise.addTo(vector, random, 0);
    }

    /**
     * Returns the greatest over the least of L_1(y)/L_0(y), with L_x the distribution of clamp(x + noise).
     */
    private static Fraction worstRatio(long[] weights) {
        int steps = weights.length - 1;
        long[] zero = Noise.law(weights, 0, 1 - steps, steps);
        long[] one = Noise.law(weights, 1, 1 - steps, steps);
        return greatestRatio(one, zero).multiply(greatestRatio(zero, one));
    }
}
