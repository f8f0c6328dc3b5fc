package ldpbayes;

import java.math.BigInteger;

/** An exact fraction of whole numbers; the denominator is positive. */
public final class Fraction {
    private final BigInteger numerator;
    private final BigInteger denominator;

    /**
     * Makes a fraction, which is not reduced.
     *
     * @param numerator any whole number
     * @param denominator a whole number above 0
     */
    public Fraction(BigInteger numerator, BigInteger denominator) {
        this.numerator = numerator;
        this.denominator = denominator;
    }

    /**
     * Returns the numerator.
     *
     * @return a whole number
     */
    public BigInteger numerator() {
        return numerator;
    }

    /**
     * Returns the denominator.
     *
     * @return a whole number above 0
     */
    public BigInteger denominator() {
        return denominator;
    }

    /**
     * Returns this fraction in lowest terms.
     *
     * @return an equal fraction
     */
    public Fraction reduce() {
        BigInteger divisor = numerator.gcd(denominator);
        return new Fraction(numerator.divide(divisor), denominator.divide(divisor));
    }

    /**
     * Returns whether this fraction is greater than another.
     *
     * @param other the other fraction
     * @return whether it is greater
     */
    public boolean isGreaterThan(Fraction other) {
        return numerator.multiply(other.denominator).compareTo(other.numerator.multiply(denominator)) > 0;
    }

    /**
     * Returns the product with another fraction, in lowest terms.
     *
     * @param other the other fraction
     * @return the product
     */
    public Fraction multiply(Fraction other) {
        BigInteger product = numerator.multiply(other.numerator);
        return new Fraction(product, denominator.multiply(other.denominator)).reduce();
    }

    /**
     * Returns the IEEE double that is nearest to this fraction of at least 2^-64, ties to even.
     *
     * @return the nearest double
     */
    public double nearestDouble() {
        BigInteger[] scaled = numerator.shiftLeft(128).divideAndRemainder(denominator);
        BigInteger sticky = BigInteger.valueOf(scaled[1].signum());
        return scaled[0].or(sticky).doubleValue() / 0x1p128;
    }
}
