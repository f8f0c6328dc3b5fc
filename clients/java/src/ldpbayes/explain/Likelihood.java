package ldpbayes.explain;

import static ldpbayes.ProbabilityTables.WORD;
import static ldpbayes.ProbabilityTables.toInteger;

import java.math.BigInteger;
import java.util.Map;
import ldpbayes.Fraction;
import ldpbayes.mechanisms.Noise;
import ldpbayes.mechanisms.Parameters;
import ldpbayes.survey.Question;

/**
 * The probability of a payload for each true answer, exactly, up to a factor that all answers share.
 *
 * <p>Only ratios of these probabilities matter: how far a report changes the odds between two answers.
 */
interface Likelihood {
    /** Returns the relative probability of the payload for a true answer. */
    Fraction of(long[] value);

    /** Returns the likelihood of a payload that the question's mechanism has made. */
    static Likelihood of(Question question, byte[] payload) {
        String name = question.mechanismName();
        Map<?, ?> tables = question.tables();
        return question.domain() == null
            ? ofOracle(name, question.cells(), tables, payload)
            : NumericLikelihood.of(name, question.domain(), tables, payload);
    }

    /** Returns the likelihood of a payload of a frequency oracle. */
    static Likelihood ofOracle(String name, int domain, Map<?, ?> tables, byte[] payload) {
        switch (name) {
            case "DE":
                return direct(domain, tables, payload);
            case "SS":
                return subset(domain, tables, payload);
            case "SHE":
                return histogram(tables, payload);
            default:
                return unary(tables, payload);
        }
    }

    /** Returns an integer of a table. */
    static BigInteger read(Map<?, ?> tables, String key) {
        return new BigInteger((String) tables.get(key));
    }

    /** Returns the likelihood of a payload of DE. */
    static Likelihood direct(int domain, Map<?, ?> tables, byte[] payload) {
        int reported = readIndex(payload);
        BigInteger keep = read(tables, "keep");
        return value -> {
            if (value[0] == reported) {
                return whole(keep);
            }
            int other = reported > value[0] ? reported - 1 : reported;
            return new Fraction(WORD.subtract(keep).multiply(draws(other, domain - 1)), WORD);
        };
    }

    /** Returns the likelihood of a payload of SS. */
    static Likelihood subset(int domain, Map<?, ?> tables, byte[] payload) {
        BigInteger keep = read(tables, "keep");
        int size = read(tables, "size").intValue();
        return value -> {
            // the set from the value on, around the domain; the combination of the other members has a rank
            int own = readBit(payload, (int) value[0]);
            long rank = 0;
            int members = 0;
            for (int other = 0; other < domain - 1; other++) {
                if (readBit(payload, (int) ((value[0] + 1 + other) % domain)) == 1) {
                    members++;
                    rank += combinations(other, members);
                }
            }
            BigInteger draws = draws(rank, combinations(domain - 1, size - own));
            return whole(draws.multiply(own == 1 ? keep : WORD.subtract(keep)));
        };
    }

    /** Returns the likelihood of a payload of SUE, OUE or THE. */
    static Likelihood unary(Map<?, ?> tables, byte[] payload) {
        BigInteger whole = BigInteger.ONE.shiftLeft(read(tables, "bits").intValue());
        BigInteger p = read(tables, "p");
        BigInteger q = read(tables, "q");
        return value -> readBit(payload, (int) value[0]) == 1
            ? new Fraction(p, q)
            : new Fraction(whole.subtract(p), whole.subtract(q));
    }

    /** Returns the likelihood of a payload of SHE. */
    static Likelihood histogram(Map<?, ?> tables, byte[] payload) {
        long[] weights = Parameters.readWeights(tables.get("weights"));
        int steps = weights.length - 1;
        long[] zero = Noise.law(weights, 0, 1 - steps, steps);
        long[] one = Noise.law(weights, 1, 1 - steps, steps);
        return value -> {
            int cell = readInteger(payload, (int) value[0]) + steps - 1;
            return new Fraction(toInteger(one[cell]), toInteger(zero[cell]));
        };
    }

    /** Returns C(n, m). */
    static long combinations(int n, int m) {
        BigInteger product = m > n ? BigInteger.ZERO : BigInteger.ONE;
        for (int i = 0; i < Math.min(m, n - m); i++) {
            product = product.multiply(BigInteger.valueOf(n - i)).divide(BigInteger.valueOf(i + 1));
        }
        return product.longValue();
    }

    /** Returns the number of 64-bit draws that select a cell by multiply-shift. */
    static BigInteger draws(long index, long cells) {
        return drawsBefore(index + 1, cells).subtract(drawsBefore(index, cells));
    }

    static BigInteger drawsBefore(long end, long cells) {
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
