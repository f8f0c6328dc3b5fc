package ldpbayes.mechanisms;

import static ldpbayes.ProbabilityTables.toInteger;
import static ldpbayes.SurveyException.requireValid;

import java.math.BigInteger;
import java.util.Map;
import ldpbayes.Fraction;

/**
 * Unary encoding: one bit per value of the domain, each randomised independently (SUE, OUE, THE).
 *
 * <p>The bit of the true value is 1 with probability p / 2^bits, every other with q / 2^bits.
 */
final class Unary extends Mechanism {
    private final int domain;
    private final long p;
    private final long q;

    private Unary(int domain, int bits, long p, long q) {
        super((domain + 7) / 8, bits * ((domain + 7) / 8), ratio(bits, p, q));
        this.domain = domain;
        this.p = p;
        this.q = q;
    }

    static Mechanism build(int domain, Map<?, ?> tables) {
        Parameters.checkKeyCount(tables, 3);
        int bits = Parameters.readSmallInteger(tables.get("bits"), 1, 64);
        long most = -1L >>> 64 - bits;
        long q = Parameters.readInteger(tables.get("q"), 1, most);
        long p = Parameters.readInteger(tables.get("p"), 1, most);
        requireValid(toInteger(p).doubleValue() > toInteger(q).doubleValue());
        return new Unary(domain, bits, p, q);
    }

    /** Builds THE: the vector of SHE, with each component replaced by whether it is above a threshold. */
    static Mechanism buildThresholding(int domain, Map<?, ?> tables) {
        requireValid(isThreshold((String) tables.get("theta")));
        return build(domain, Parameters.without("theta", tables));
    }

    /** Returns whether a text is 0 or 1, or one of these with a point and 1 to 6 digits, at most 1. */
    private static boolean isThreshold(String text) {
        if (text.equals("0") || text.equals("1")) {
            return true;
        }
        return text.length() >= 3 && text.length() <= 8
            && (text.startsWith("0.") && Parameters.hasOnly(Parameters.DIGITS, text.substring(2))
            || text.startsWith("1.") && Parameters.hasOnly("0", text.substring(2)));
    }

    private static Fraction ratio(int bits, long p, long q) {
        BigInteger whole = BigInteger.ONE.shiftLeft(bits);
        BigInteger own = toInteger(p);
        BigInteger other = toInteger(q);
        BigInteger greatest = own.multiply(whole.subtract(other));
        return new Fraction(greatest, other.multiply(whole.subtract(own))).reduce();
    }

    @Override
    public byte[] perturb(long[] value, byte[] random) {
        byte[] ones = areBelow(random, p);
        byte[] payload = areBelow(random, q);
        int place = (int) value[0] >> 3;
        int own = 1 << (value[0] & 7);
        payload[place] = (byte) (payload[place] & ~own | ones[place] & own);
        payload[payload.length - 1] &= lastByteMask(domain);
        return payload;
    }

    /**
     * Compares the draws of all positions with a threshold at once.
     *
     * <p>The draws are slices of as many bytes as the payload has. Slice j has bit j, the lowest first, of
     * every draw. The highest bit in which a draw differs from the threshold decides.
     */
    private byte[] areBelow(byte[] random, long threshold) {
        byte[] below = new byte[payloadBytes()];
        for (int start = 0; start < random.length; start += below.length) {
            boolean bit = (threshold & 1) == 1;
            for (int i = 0; i < below.length; i++) {
                int zeros = ~random[start + i];
                below[i] = (byte) (bit ? below[i] | zeros : below[i] & zeros);
            }
            threshold >>>= 1;
        }
        return below;
    }

    /** Returns the bits of the last byte of a vector that are used. */
    static byte lastByteMask(int length) {
        return (byte) (0xff >> (-length & 7));
    }
}
