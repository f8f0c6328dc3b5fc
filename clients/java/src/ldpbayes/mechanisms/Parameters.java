package ldpbayes.mechanisms;

import static ldpbayes.ProbabilityTables.isBelow;
import static ldpbayes.SurveyException.requireValid;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the parameters of a mechanism from a plan: integers as canonical decimal strings. */
public final class Parameters {
    static final String DIGITS = "0123456789";

    private static final int MAX_WEIGHTS = 1 << 14;
    private static final int MAX_DIGITS = 20;

    private Parameters() {
    }

    /**
     * Checks that an entry of a plan has as many keys as its reader reads.
     *
     * <p>A reader checks each of its keys, and refuses an absent one. So an entry with as many keys has no
     * others.
     *
     * @param entry an object of a plan
     * @param count number of keys
     */
    public static void checkKeyCount(Map<?, ?> entry, int count) {
        requireValid(entry.size() == count);
    }

    /** Returns a copy of an entry without a key. */
    static Map<?, ?> without(String key, Map<?, ?> entry) {
        Map<Object, Object> rest = new LinkedHashMap<>(entry);
        rest.remove(key);
        return rest;
    }

    /**
     * Returns whether a text has no other characters than the known ones.
     *
     * @param known the characters
     * @param text any text
     * @return whether it has
     */
    public static boolean hasOnly(String known, String text) {
        for (int i = 0; i < text.length(); i++) {
            if (known.indexOf(text.charAt(i)) < 0) {
                return false;
            }
        }
        return true;
    }

    /** Reads an unsigned word without sign and leading zeros, from low to high. */
    static long readInteger(Object value, long low, long high) {
        String text = (String) value;
        requireValid(!text.isEmpty() && text.length() <= MAX_DIGITS && hasOnly(DIGITS, text));
        requireValid(text.charAt(0) != '0' || text.length() == 1);
        long integer = Long.parseUnsignedLong(text);
        requireValid(Long.compareUnsigned(low, integer) <= 0 && Long.compareUnsigned(integer, high) <= 0);
        return integer;
    }

    /** Reads a small integer. */
    static int readSmallInteger(Object text, int low, int high) {
        return (int) readInteger(text, low, high);
    }

    /** Reads an unsigned word from 1 on. */
    static long readProbability(Object text) {
        return readInteger(text, 1, -1);
    }

    /**
     * Reads the weights of the magnitudes 0, 1, ..., K; over both signs of 1, ..., K they add up to 2^64.
     *
     * @param value a value of a plan
     * @return unsigned words
     */
    public static long[] readWeights(Object value) {
        List<?> texts = (List<?>) value;
        requireValid(2 <= texts.size() && texts.size() <= MAX_WEIGHTS);
        long[] weights = new long[texts.size()];
        for (int i = 0; i < weights.length; i++) {
            weights[i] = readProbability(texts.get(i));
        }
        long sum = 0;
        int overflows = 0;
        for (long weight : Noise.laplaceCells(weights)) {
            sum += weight;
            overflows += isBelow(sum, weight);
        }
        requireValid(sum == 0 && overflows == 1);
        return weights;
    }
}
