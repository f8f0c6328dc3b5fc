package ldpbayes.mechanisms;

import static ldpbayes.ProbabilityTables.isBelow;
import static ldpbayes.ProbabilityTables.multiplyHigh;
import static ldpbayes.SurveyException.requireValid;

import java.util.Map;
import ldpbayes.Bytes;

/**
 * Subset selection (SS): a set of values that contains the true value with a higher probability.
 *
 * <p>It reports {@code size} values: the true one with probability keep / 2^64, and a combination of the
 * others.
 */
final class Subset extends Mechanism {
    private static final int MAX_DOMAIN = 64;
    private static final long MAX_COMBINATIONS = 1L << 32;
    /** C(n, m) for all n below the largest domain. */
    private static final long[][] BINOMIALS = pascalTriangle(MAX_DOMAIN);

    private final int domain;
    private final long keep;
    private final int size;

    private Subset(int domain, long keep, int size) {
        super((domain + 7) / 8, 16,
            Direct.keptRatio(keep, BINOMIALS[domain - 1][size - 1], BINOMIALS[domain - 1][size]));
        this.domain = domain;
        this.keep = keep;
        this.size = size;
    }

    static Mechanism build(int domain, Map<?, ?> tables) {
        requireValid(domain <= MAX_DOMAIN);
        Parameters.checkKeyCount(tables, 2);
        long keep = Parameters.readProbability(tables.get("keep"));
        int size = Parameters.readSmallInteger(tables.get("size"), 1, domain - 1);
        long[] last = BINOMIALS[domain - 1];
        requireValid(last[size] <= MAX_COMBINATIONS && last[size - 1] <= MAX_COMBINATIONS);
        Direct.checkKeptLikeliest(keep, size, domain);
        return new Subset(domain, keep, size);
    }

    @Override
    public byte[] perturb(long[] value, byte[] random) {
        int own = isBelow(Bytes.readWord(random, 0), keep);
        int left = size - own;
        // the number of combinations of the other members
        long combinations = BINOMIALS[domain - 1][left];
        long rank = multiplyHigh(Bytes.readWord(random, 1), combinations);
        byte[] payload = new byte[payloadBytes()];
        setBit(payload, (int) value[0], own);
        for (int other = domain - 2; other >= 0; other--) {
            long least = BINOMIALS[other][left];
            int chosen = 1 - isBelow(rank, least);
            rank -= least & -chosen;
            left -= chosen;
            setBit(payload, (int) ((value[0] + 1 + other) % domain), chosen);
        }
        return payload;
    }

    /** Returns C(n, m) for all n below a count of at most 64, and m up to that count. */
    private static long[][] pascalTriangle(int count) {
        long[][] rows = new long[count][count + 1];
        for (int n = 0; n < count; n++) {
            rows[n][0] = 1;
            for (int m = 1; m <= n; m++) {
                rows[n][m] = rows[n - 1][m - 1] + rows[n - 1][m];
            }
        }
        return rows;
    }

    /** Sets bit index % 8 of byte index / 8, which must be 0. */
    static void setBit(byte[] bytes, int index, int bit) {
        bytes[index >> 3] |= (byte) (bit << (index & 7));
    }
}
