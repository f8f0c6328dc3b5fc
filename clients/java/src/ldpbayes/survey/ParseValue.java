package ldpbayes.survey;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.text.Normalizer;
import java.util.Map;
import ldpbayes.RowException;

/** Reads the values of a row that an application passes, in the same way for every feature. */
final class ParseValue {
    static final String MISSING_TEXT = "(missing)";

    private static final BigInteger MAX_INTEGER = BigInteger.TEN.pow(100);
    /** Texts of smaller characters are in Unicode's normal form C. */
    private static final char FIRST_COMBINING = '\u0300';

    private ParseValue() {
    }

    /** Returns the entry of a row; throws RowException if the row lacks it. */
    static Object rowEntry(Map<?, ?> row, String name) {
        Object value = row.get(name);
        if (value == null && !row.containsKey(name)) {
            throw new RowException(name, "the row has no such entry; pass null if it is missing");
        }
        return value;
    }

    /** Returns whether a value is missing: null, NaN or an empty text. */
    static boolean isMissing(Object value) {
        return value == null || "".equals(value)
            || isFloat(value) && Double.isNaN(((Number) value).doubleValue());
    }

    /**
     * Returns a category as text: text in normal form C, 3 and 3.0 as "3", true as "true"; null for other
     * types.
     */
    static String categoryText(Object value) {
        if (value instanceof String) {
            String text = (String) value;
            // a character is normalised from at most 4; more would take quadratic time
            return text.length() > 2 * 4 * Features.MAX_TEXT ? null : toNfc(text);
        }
        if (value instanceof Boolean) {
            return value.toString();
        }
        BigInteger integer = toInteger(value);
        return integer != null && integer.abs().compareTo(MAX_INTEGER) < 0 ? integer.toString() : null;
    }

    /** Reads a number as the nearest double; a finite number of any size stays finite. */
    static double parseNumber(Object value, String name) {
        boolean isExact = isInteger(value) || value instanceof BigDecimal;
        double number = isExact || isFloat(value) ? ((Number) value).doubleValue() : Double.NaN;
        if (!isExact && (Double.isNaN(number) || Double.isInfinite(number))) {
            throw new RowException(name, "must be a finite number, or null if it is missing");
        }
        return Math.min(Math.max(number, -Double.MAX_VALUE), Double.MAX_VALUE);
    }

    /** Returns a text in Unicode's normal form C. */
    static String toNfc(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) >= FIRST_COMBINING) {
                return Normalizer.normalize(text, Normalizer.Form.NFC);
            }
        }
        return text;
    }

    /** Returns a whole number, or null if a value is none. */
    private static BigInteger toInteger(Object value) {
        if (value instanceof BigInteger) {
            return (BigInteger) value;
        }
        if (isInteger(value)) {
            return BigInteger.valueOf(((Number) value).longValue());
        }
        double number = isFloat(value) ? ((Number) value).doubleValue() : Double.NaN;
        boolean isWhole = number == Math.rint(number) && !Double.isInfinite(number);
        return isWhole ? new BigDecimal(number).toBigInteger() : null;
    }

    private static boolean isInteger(Object value) {
        return value instanceof Integer || value instanceof Long || value instanceof BigInteger
            || value instanceof Short || value instanceof Byte;
    }

    private static boolean isFloat(Object value) {
        return value instanceof Double || value instanceof Float;
    }
}
