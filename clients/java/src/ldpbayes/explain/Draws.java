package ldpbayes.explain;

import static ldpbayes.ProbabilityTables.WORD;

import java.math.BigInteger;
import ldpbayes.Fraction;

/** Counts of random draws, and values of payloads, from which likelihoods are computed. */
final class Draws {
    private Draws() {
    }

    /** Returns the number of 64-bit draws that select a cell by multiply-shift. */
    static BigInteger of(long index, long cells) {
        return before(index + 1, cells).subtract(before(index, cells));
    }

    private static BigInteger before(long end, long cells) {
        BigInteger count = BigInteger.valueOf(cells);
        return WORD.multiply(BigInteger.valueOf(end)).add(count).subtract(BigInteger.ONE).divide(count);
    }

    /** Returns an index of one or two bytes. */
    static int readIndex(byte[] bytes) {
        return bytes[0] & 255 | (bytes.length > 1 ? (bytes[1] & 255) << 8 : 0);
    }

    /** Returns bit index % 8 of byte index / 8. */
    static int readBit(byte[] bytes, int index) {
        return bytes[index >> 3] >> (index & 7) & 1;
    }

    /** Returns the signed 16-bit integer with an index. */
    static int readInteger(byte[] bytes, int index) {
        return bytes[2 * index] & 255 | bytes[2 * index + 1] << 8;
    }

    /** Returns a whole number as a fraction. */
    static Fraction whole(BigInteger number) {
        return new Fraction(number, BigInteger.ONE);
    }

    /** Returns the mixture of two probabilities, the first with the weight part / whole. */
    static Fraction mix(long part, long whole, Fraction one, Fraction other) {
        BigInteger first = BigInteger.valueOf(part).multiply(one.numerator()).multiply(other.denominator());
        BigInteger second =
            BigInteger.valueOf(whole - part).multiply(other.numerator()).multiply(one.denominator());
        BigInteger parts = one.denominator().multiply(other.denominator());
        return new Fraction(first.add(second), BigInteger.valueOf(whole).multiply(parts));
    }
}
