package ldpbayes;

import java.math.BigInteger;

/**
 * Proves with exact arithmetic that a mechanism spends at most epsilon.
 *
 * <p>The probabilities of a mechanism are integers, so its worst likelihood ratio is an exact fraction. The
 * proof compares it with a rational lower bound of e^epsilon.
 */
public final class EpsilonProof {
    /**
     * Binary digits after the point, of which squaring loses few: more than 60 decimal digits of any
     * e^epsilon.
     */
    private static final int PRECISION = 256;
    /** The series is computed for numbers below 2^-12. */
    private static final int HALVINGS = 12;
    /** Significant digits of the epsilon that a question states. */
    private static final BigInteger STATED = BigInteger.TEN.pow(12);

    private EpsilonProof() {
    }

    /**
     * Returns a lower bound of e^x for 0 &lt;= x &lt;= 64.
     *
     * <p>The series of e^(x / 2^n) needs few terms, and its sum is squared n times. All terms and squares are
     * positive and rounded down, so the result is below e^x.
     *
     * @param x the exponent
     * @return the lower bound
     */
    public static Fraction expLowerBound(Fraction x) {
        BigInteger one = BigInteger.ONE.shiftLeft(PRECISION);
        BigInteger scaled = x.numerator().shiftLeft(PRECISION).divide(x.denominator());
        int squares = Math.max(0, scaled.bitLength() - PRECISION + HALVINGS);
        scaled = scaled.shiftRight(squares);
        BigInteger sum = BigInteger.ZERO;
        BigInteger term = one;
        for (int n = 1; term.signum() > 0; n++) {
            sum = sum.add(term);
            term = term.multiply(scaled).shiftRight(PRECISION).divide(BigInteger.valueOf(n));
        }
        for (int i = 0; i < squares; i++) {
            sum = sum.multiply(sum).shiftRight(PRECISION);
        }
        return new Fraction(sum, one);
    }

    /**
     * Returns whether a text is the logarithm of a ratio, rounded up to 12 significant digits.
     *
     * <p>It is if the ratio is at most e^x for the number x, and not for x less one unit u of its 12th digit:
     * the ratio times e^u is above e^x.
     *
     * @param ratio a likelihood ratio
     * @param text a value of a plan
     * @return whether it is the logarithm
     */
    public static boolean isRealisedEpsilon(Fraction ratio, Object text) {
        Fraction stated = Decimals.parse(text);
        BigInteger units = stated.numerator();
        BigInteger scale = stated.denominator();
        if (units.signum() <= 0) {
            return false;
        }
        // a power of ten counts as 10^12 units, because the numbers below it have a smaller unit
        while (units.multiply(BigInteger.TEN).compareTo(STATED) <= 0) {
            units = units.multiply(BigInteger.TEN);
            scale = scale.multiply(BigInteger.TEN);
        }
        if (units.compareTo(STATED) > 0 || units.compareTo(scale.multiply(BigInteger.valueOf(33))) > 0) {
            return false;
        }
        Fraction bound = expLowerBound(stated);
        Fraction unit = expLowerBound(new Fraction(BigInteger.ONE, scale));
        BigInteger next = ratio.numerator().multiply(unit.numerator());
        return !ratio.isGreaterThan(bound)
            && new Fraction(next, ratio.denominator().multiply(unit.denominator())).isGreaterThan(bound);
    }
}
