package ldpbayes.mechanisms;

import static ldpbayes.ProbabilityTables.isBelow;
import static ldpbayes.ProbabilityTables.multiplyHigh;
import static ldpbayes.ProbabilityTables.multiplyShift;
import static ldpbayes.ProbabilityTables.toInteger;

import java.util.Arrays;
import java.util.Map;
import ldpbayes.Bytes;
import ldpbayes.Fraction;

/**
 * A number as the bias of a coin: one coin for a drawn slot (onebit), or a coin per slot (sign-vector).
 *
 * <p>Onebit draws the slot independently of the answer. The coins of sign-vector are biased in the own slot,
 * and fair in all others.
 */
final class Onebit extends Mechanism {
    private final NumericDomain domain;
    private final long q;
    private final boolean isVector;

    private Onebit(NumericDomain domain, long q, boolean isVector, int payloadBytes, int randomBytes) {
        super(payloadBytes, randomBytes, ratio(q, domain.isSquare() && !isVector));
        this.domain = domain;
        this.q = q;
        this.isVector = isVector;
    }

    static Mechanism build(NumericDomain domain, Map<?, ?> tables, boolean isVector) {
        domain.check(1);
        Parameters.checkKeyCount(tables, 1);
        long q = Parameters.readInteger(tables.get("q"), 1, Long.MAX_VALUE);
        int slots = domain.slots();
        int bytes = isVector ? (slots + 7) / 8 : indexBytes(2 * slots);
        return new Onebit(domain, q, isVector, bytes, isVector ? bytes + 8 : 16);
    }

    /** Returns the worst ratio of a coin; if only squares are asked for, it is never worse than fair. */
    private static Fraction ratio(long q, boolean isFairAtMost) {
        long greatest = isFairAtMost ? Long.MIN_VALUE : -q;
        return new Fraction(toInteger(greatest), toInteger(q)).reduce();
    }

    @Override
    public byte[] perturb(long[] value, byte[] random) {
        int slot = domain.slotOf(value[0]);
        int code = domain.codeOf(value[0]);
        return isVector ? tossAll(slot, code, random) : tossOne(slot, code, random);
    }

    private byte[] tossOne(int slot, int code, byte[] random) {
        int drawn = multiplyShift(Bytes.readWord(random, 0), domain.slots());
        int isOwn = 1 - ((drawn ^ slot) + Integer.MAX_VALUE >>> 31);
        int asked = NumericDomain.GRID + isOwn * (code - NumericDomain.GRID);
        return Bytes.fromIndex(2 * drawn + toss(Bytes.readWord(random, 1), asked), payloadBytes());
    }

    private byte[] tossAll(int slot, int code, byte[] random) {
        byte[] payload = Arrays.copyOf(random, payloadBytes());
        byte[] word = Arrays.copyOfRange(random, payload.length, random.length);
        payload[payload.length - 1] &= Unary.lastByteMask(domain.slots());
        payload[slot >> 3] &= ~(1 << (slot & 7));
        Subset.setBit(payload, slot, toss(Bytes.readWord(word, 0), code));
        return payload;
    }

    /** Returns a coin for the code of a number: 1 if the draw is below q + ((2^64 - 2 q) code >> 21). */
    private int toss(long draw, int code) {
        long range = -2 * q;
        int bits = NumericDomain.GRID_BITS;
        long part = multiplyHigh(range, code) << 64 - bits | range * code >>> bits;
        return isBelow(draw, q + part);
    }
}
