package ldpbayes.mechanisms;

import static ldpbayes.ProbabilityTables.WORD;
import static ldpbayes.ProbabilityTables.cellSizes;
import static ldpbayes.ProbabilityTables.isBelow;
import static ldpbayes.ProbabilityTables.multiplyShift;
import static ldpbayes.ProbabilityTables.toInteger;
import static ldpbayes.SurveyException.requireValid;

import java.math.BigInteger;
import java.util.Map;
import ldpbayes.Bytes;
import ldpbayes.Fraction;

/**
 * Direct encoding (DE), also called generalised randomised response: the payload is one index.
 *
 * <p>It reports the true value with probability keep / 2^64, any other value otherwise.
 */
final class Direct extends Mechanism {
    private final int domain;
    private final long keep;

    private Direct(int domain, long keep) {
        super(indexBytes(domain), 16, keptRatio(keep, 1, domain - 1));
        this.domain = domain;
        this.keep = keep;
    }

    static Mechanism build(int domain, Map<?, ?> tables) {
        Parameters.checkKeyCount(tables, 1);
        long keep = Parameters.readProbability(tables.get("keep"));
        checkKeptLikeliest(keep, 1, domain);
        return new Direct(domain, keep);
    }

    @Override
    public byte[] perturb(long[] value, byte[] random) {
        int kept = (int) value[0];
        int other = multiplyShift(Bytes.readWord(random, 1), domain - 1);
        other += 1 - isBelow(other, kept);
        int isKept = isBelow(Bytes.readWord(random, 0), keep);
        return Bytes.fromIndex(other + isKept * (kept - other), payloadBytes());
    }

    /**
     * Returns the worst likelihood ratio of sets that contain the true value with probability keep / 2^64.
     *
     * @param keep an unsigned word
     * @param within number of sets with the true value
     * @param without number of sets without it
     */
    static Fraction keptRatio(long keep, long within, long without) {
        BigInteger kept = toInteger(keep);
        BigInteger dropped = WORD.subtract(kept);
        BigInteger[] with = cellSizes(within);
        BigInteger[] others = cellSizes(without);
        BigInteger least = kept.multiply(with[0]).min(dropped.multiply(others[0]));
        BigInteger greatest = kept.multiply(with[1]).max(dropped.multiply(others[1]));
        return new Fraction(greatest, least).reduce();
    }

    /** Checks that the true value of a domain is in a reported set of a size more often than any other. */
    static void checkKeptLikeliest(long keep, int size, int domain) {
        BigInteger kept = toInteger(keep);
        BigInteger others = WORD.multiply(BigInteger.valueOf(size)).subtract(kept);
        double each = new Fraction(others, BigInteger.valueOf(domain - 1)).nearestDouble();
        requireValid(kept.doubleValue() > each);
    }
}
