package ldpbayes;

import java.math.BigInteger;

/**
 * Integer probability tables, from which mechanisms draw.
 *
 * <p>A draw is a 64-bit word: a {@code long} that is read as an unsigned integer.
 */
public final class ProbabilityTables {
    /** Number of values of a 64-bit draw: probabilities of whole words are integers out of this. */
    public static final BigInteger WORD = BigInteger.ONE.shiftLeft(64);

    private static final long LOW = 0xffffffffL;

    private ProbabilityTables() {
    }

    /**
     * Returns whether a word is below another one, without a branch.
     *
     * @param one an unsigned word
     * @param other an unsigned word
     * @return 1 if it is, else 0
     */
    public static int isBelow(long one, long other) {
        return (int) ((~one & other | (~one | other) & one - other) >>> 63);
    }

    /**
     * Returns how many of increasing limits are &lt;= a draw.
     *
     * @param limits unsigned words
     * @param draw an unsigned word
     * @return the number
     */
    public static int countUpTo(long[] limits, long draw) {
        int low = 0;
        int high = limits.length;
        while (low < high) {
            int middle = low + high >>> 1;
            if (isBelow(draw, limits[middle]) == 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /**
     * Returns the upper half of the product of two words.
     *
     * @param one an unsigned word
     * @param other an unsigned word
     * @return product / 2^64, rounded down
     */
    public static long multiplyHigh(long one, long other) {
        long low = (one & LOW) * (other & LOW);
        long cross = (one >>> 32) * (other & LOW) + (low >>> 32);
        long back = (one & LOW) * (other >>> 32) + (cross & LOW);
        return (one >>> 32) * (other >>> 32) + (cross >>> 32) + (back >>> 32);
    }

    /**
     * Returns the index of the cell that a draw selects: draw * cells / 2^64, rounded down.
     *
     * @param draw an unsigned word
     * @param cells number of cells, below 2^31
     * @return the index
     */
    public static int multiplyShift(long draw, int cells) {
        return (int) multiplyHigh(draw, cells);
    }

    /**
     * Returns the least and the greatest number of draws that select the same cell.
     *
     * @param cells number of cells
     * @return two integers, which differ by at most 1
     */
    public static BigInteger[] cellSizes(long cells) {
        BigInteger[] divided = WORD.divideAndRemainder(BigInteger.valueOf(cells));
        return new BigInteger[] {divided[0], divided[0].add(BigInteger.valueOf(divided[1].signum()))};
    }

    /**
     * Returns the greatest ratio of elements with the same index.
     *
     * @param numerators unsigned words above 0
     * @param denominators as many unsigned words above 0
     * @return the ratio, not reduced
     */
    public static Fraction greatestRatio(long[] numerators, long[] denominators) {
        int most = 0;
        for (int i = 1; i < numerators.length; i++) {
            if (isProductGreater(numerators[i], denominators[most], numerators[most], denominators[i])) {
                most = i;
            }
        }
        return new Fraction(toInteger(numerators[most]), toInteger(denominators[most]));
    }

    private static boolean isProductGreater(long a, long b, long c, long d) {
        int order = Long.compareUnsigned(multiplyHigh(a, b), multiplyHigh(c, d));
        return order > 0 || order == 0 && Long.compareUnsigned(a * b, c * d) > 0;
    }

    /**
     * Returns an unsigned word as an integer.
     *
     * @param word an unsigned word
     * @return the integer
     */
    public static BigInteger toInteger(long word) {
        BigInteger lower = BigInteger.valueOf(word & Long.MAX_VALUE);
        return word < 0 ? lower.setBit(63) : lower;
    }
}
