package ldpbayes;

import static ldpbayes.SurveyException.requireValid;

import java.math.BigInteger;
import java.util.List;

/** Decimal numbers in the one exact form in which a plan stores each. */
public final class Decimals {
    private static final int MAX_DIGITS = 1000;
    /** Longest text of an epsilon: 1,000 significant digits, and the zeros before them. */
    private static final int MAX_EPSILON_TEXT = 1100;

    private Decimals() {
    }

    /**
     * Returns whether a value is a canonical decimal, such as "0.5" or "-12".
     *
     * @param value a value of a plan
     * @return whether it is a text of this form
     */
    public static boolean isDecimal(Object value) {
        if (!(value instanceof String)) {
            return false;
        }
        String text = (String) value;
        int start = text.startsWith("-") ? 1 : 0;
        int point = text.indexOf('.');
        int end = point < 0 ? text.length() : point;
        if (end == start || end > start + 1 && text.charAt(start) == '0' || text.equals("-0")) {
            return false;
        }
        if (point >= 0 && (point == text.length() - 1 || text.endsWith("0"))) {
            return false;
        }
        int significant = 0;
        for (int i = start; i < text.length(); i++) {
            char digit = text.charAt(i);
            if (i != point && (digit < '0' || digit > '9')) {
                return false;
            }
            if (i != point && (significant > 0 || digit != '0')) {
                significant++;
            }
        }
        return significant <= MAX_DIGITS;
    }

    /**
     * Reads an epsilon exactly, as a fraction whose denominator is a power of ten.
     *
     * @param value a canonical decimal; other values are refused with a SurveyException
     * @return the fraction, not reduced
     */
    public static Fraction parse(Object value) {
        requireValid(isDecimal(value) && ((String) value).length() <= MAX_EPSILON_TEXT);
        String text = (String) value;
        int point = text.indexOf('.');
        if (point < 0) {
            return new Fraction(new BigInteger(text), BigInteger.ONE);
        }
        BigInteger units = new BigInteger(text.substring(0, point) + text.substring(point + 1));
        return new Fraction(units, BigInteger.TEN.pow(text.length() - point - 1));
    }

    /**
     * Reads edges or bounds as doubles: at least two canonical decimals that increase, also as doubles.
     *
     * @param texts values of a plan
     * @return the doubles
     */
    public static double[] readIncreasing(List<?> texts) {
        requireValid(texts.size() >= 2);
        double[] numbers = new double[texts.size()];
        for (int i = 0; i < numbers.length; i++) {
            requireValid(isDecimal(texts.get(i)));
            numbers[i] = Double.parseDouble((String) texts.get(i));
            requireValid(i == 0 || numbers[i - 1] < numbers[i]);
        }
        double range = numbers[numbers.length - 1] - numbers[0];
        requireValid(!Double.isInfinite(range) && !Double.isNaN(range));
        return numbers;
    }
}
