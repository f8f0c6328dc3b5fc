package ldpbayes.mechanisms;

import static ldpbayes.SurveyException.requireValid;

import java.util.Map;
import ldpbayes.Fraction;

/**
 * Randomises one answer; the lengths of its payload and of its randomness are fixed.
 *
 * <p>A value is a list of one index below the domain of a frequency oracle, or of code * k + c for each
 * number of a mechanism for numbers, where c is the label's code. {@code perturb} does not branch on the
 * value. Java does not promise a constant time.
 */
public abstract class Mechanism {
    /** Name of the mechanism that reports all numbers at once. */
    public static final String LAPLACE = "laplace";
    /** Name of the mechanism whose reports can estimate both moments of a number. */
    public static final String PIECEWISE = "piecewise";
    /** Largest domain of a question; the estimates of a larger one would be noise. */
    private static final int MAX_DOMAIN = 1 << 16;

    private final int payloadBytes;
    private final int randomBytes;
    private final Fraction ratio;
    /** The noise of the mechanism, or null. */
    final Noise noise;

    Mechanism(int payloadBytes, int randomBytes, Fraction ratio) {
        this(payloadBytes, randomBytes, ratio, null);
    }

    Mechanism(int payloadBytes, int randomBytes, Fraction ratio, Noise noise) {
        this.payloadBytes = payloadBytes;
        this.randomBytes = randomBytes;
        this.ratio = ratio;
        this.noise = noise;
    }

    /**
     * Builds a mechanism from a plan's tables: one for numbers, or a frequency oracle.
     *
     * @param name its name in the plan
     * @param values number of values of a frequency oracle
     * @param domain what a mechanism for numbers takes, or null for a frequency oracle
     * @param tables the integers of the mechanism, as decimal strings
     * @param known the noise of a mechanism that was built before from the same tables, for the same moment;
     *     or null
     * @return the mechanism
     */
    public static Mechanism build(
        String name, int values, NumericDomain domain, Map<?, ?> tables, Noise known) {
        return domain == null
            ? buildOracle(name, values, tables, known)
            : buildNumeric(name, domain, tables, known);
    }

    static Mechanism buildOracle(String name, int values, Map<?, ?> tables, Noise known) {
        requireValid(2 <= values && values <= MAX_DOMAIN);
        if (name.equals("DE")) {
            return Direct.build(values, tables);
        }
        if (name.equals("SUE") || name.equals("OUE")) {
            return Unary.build(values, tables);
        }
        if (name.equals("SHE")) {
            return Histogram.build(values, tables, known);
        }
        if (name.equals("THE")) {
            return Unary.buildThresholding(values, tables);
        }
        requireValid(name.equals("SS"));
        return Subset.build(values, tables);
    }

    private static Mechanism buildNumeric(
        String name, NumericDomain domain, Map<?, ?> tables, Noise known) {
        if (name.equals(LAPLACE)) {
            return Laplace.build(domain, tables, Laplace.MAX_NUMBERS, known);
        }
        if (name.equals("sampled-laplace")) {
            return Laplace.build(domain, tables, 1, known);
        }
        if (name.equals("onebit") || name.equals("sign-vector")) {
            return Onebit.build(domain, tables, name.equals("sign-vector"));
        }
        if (name.equals("sign")) {
            return Sign.build(domain, tables);
        }
        requireValid(name.equals(PIECEWISE));
        return Piecewise.build(domain, tables);
    }

    /**
     * Returns the length of a payload.
     *
     * @return number of bytes
     */
    public final int payloadBytes() {
        return payloadBytes;
    }

    /**
     * Returns the number of random bytes that {@code perturb} takes.
     *
     * @return number of bytes
     */
    public final int randomBytes() {
        return randomBytes;
    }

    /**
     * Returns the exact worst likelihood ratio over all inputs and outputs.
     *
     * @return a fraction in lowest terms
     */
    public final Fraction ratio() {
        return ratio;
    }

    /**
     * Returns the noise that another mechanism may share.
     *
     * @return null if there is none
     */
    public final Noise noise() {
        return noise;
    }

    /**
     * Randomises a value.
     *
     * @param value the true answer
     * @param random as many random bytes as the mechanism takes
     * @return the payload
     */
    public abstract byte[] perturb(long[] value, byte[] random);

    /** Returns the number of bytes of an index below a count: 1 or 2. */
    static int indexBytes(int count) {
        return count <= 256 ? 1 : 2;
    }
}
