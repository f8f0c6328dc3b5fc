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
    private static final int MAX_DOMAIN = 256;
    private static final long MAX_COMBINATIONS = 1L << 32;

    private final int domain;
    private final long keep;
    private final int size;

    private Subset(int domain, long keep, int size, long[] binomials) {
        super((domain + 7) / 8, 16, Direct.keptRatio(keep, binomials[size - 1], binomials[size]));
        this.domain = domain;
        this.keep = keep;
        this.size = size;
    }

    static Mechanism build(int domain, Map<?, ?> tables) {
        requireValid(domain <= MAX_DOMAIN);
        Parameters.checkKeyCount(tables, 2);
        long keep = Parameters.readProbability(tables.get("keep"));
        int size = Parameters.readSmallInteger(tables.get("size"), 1, domain - 1);
        long[] last = pascalTriangle(domain, size)[domain - 1];
        requireValid(last[size] <= MAX_COMBINATIONS && last[size - 1] <= MAX_COMBINATIONS);
        Direct.checkKeptLikeliest(keep, size, domain);
        return new Subset(domain, keep, size, last);
    }

    @Override
    public byte[] perturb(long[] value, byte[] random) {
        long[][] binomials = pascalTriangle(domain, size);
        long[] last = binomials[domain - 1];
        int own = isBelow(Bytes.readWord(random, 0), keep);
        // of all sets, with the true value as the last: first those without it, then those with it
        long rank = multiplyHigh(Bytes.readWord(random, 1), last[size - own]) + own * last[size];
        int left = size;
        byte[] payload = new byte[payloadBytes()];
        for (int other = domain - 1; other >= 0; other--) {
            long least = binomials[other][left];
            int chosen = 1 - isBelow(rank, least);
            rank -= least & -chosen;
            left -= chosen;
            setBit(payload, (int) ((value[0] + 1 + other) % domain), chosen);
        }
        return payload;
    }

    /** Returns C(n, m) for all n below a count and m up to a size, or a number that exceeds every rank. */
    private static long[][] pascalTriangle(int count, int most) {
        long[][] rows = new long[count][most + 1];
        rows[0][0] = 1;
        for (int n = 1; n < count; n++) {
            rows[n][0] = 1;
            for (int m = 1; m <= most; m++) {
                rows[n][m] = Math.min(rows[n - 1][m - 1] + rows[n - 1][m], 2 * MAX_COMBINATIONS);
            }
        }
        return rows;
    }

    /** Sets bit index % 8 of byte index / 8, which must be 0. */
    static void setBit(byte[] bytes, int index, int bit) {
        bytes[index >> 3] |= (byte) (bit << (index & 7));
    }
}
