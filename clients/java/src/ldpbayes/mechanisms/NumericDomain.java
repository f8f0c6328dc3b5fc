package ldpbayes.mechanisms;

import static ldpbayes.SurveyException.requireValid;

import java.util.Arrays;

/**
 * The input of a mechanism for numbers: how many numbers and classes there are, and what all such mechanisms
 * share.
 */
public final class NumericDomain {
    /** Binary digits of the code of a number. */
    public static final int GRID_BITS = 21;
    /**
     * Steps of the grid on either side of zero: x in [-1, 1] has the code (x + 1) GRID, a missing number 2
     * GRID + 1.
     */
    public static final int GRID = 1 << GRID_BITS - 1;

    /** Number of codes of a number that is not missing. */
    public static final int CODES = 2 * GRID + 1;

    private static final int MAX_LABELS = 1 << 14;

    private final int labels;
    private final boolean[] missing;
    private final boolean isSquare;

    /**
     * Describes the numbers of a question.
     *
     * @param labels number of classes k
     * @param missing for each number, whether it may be missing
     * @param isSquare whether the numbers are squares, in [0, 1]
     */
    public NumericDomain(int labels, boolean[] missing, boolean isSquare) {
        this.labels = labels;
        this.missing = missing.clone();
        this.isSquare = isSquare;
    }

    /**
     * Returns the number of classes.
     *
     * @return k
     */
    public int labels() {
        return labels;
    }

    /**
     * Returns how many numbers a mechanism for several numbers takes.
     *
     * @return the number
     */
    public int numbers() {
        return missing.length;
    }

    /**
     * Returns whether a number may be missing.
     *
     * @param number index of the number
     * @return whether it may be missing
     */
    public boolean mayBeMissing(int number) {
        return missing[number];
    }

    /**
     * Returns whether the numbers are squares, in [0, 1].
     *
     * @return whether they are
     */
    public boolean isSquare() {
        return isSquare;
    }

    /**
     * Returns the number of slots of one number: k, or 2 k if it may be missing.
     *
     * @param number index of the number
     * @return number of slots
     */
    public int slots(int number) {
        return missing[number] ? 2 * labels : labels;
    }

    /** Returns the number of slots of all numbers. */
    int slots() {
        int slots = 0;
        for (int number = 0; number < missing.length; number++) {
            slots += slots(number);
        }
        return slots;
    }

    /**
     * Returns the index of a number's own slot among the slots of the number.
     *
     * @param value code * k + c
     * @return the index
     */
    public int slotOf(long value) {
        return (int) (value % labels) + labels * isAbsent(value / labels);
    }

    /**
     * Returns the code in a number's own slot: the code of 1 for a missing number.
     *
     * @param value code * k + c
     * @return the code
     */
    public int codeOf(long value) {
        long code = value / labels;
        return (int) code - isAbsent(code);
    }

    /** Returns 1 if a code is that of a missing number, else 0. */
    static int isAbsent(long code) {
        return (int) (2 * GRID - code >>> 63);
    }

    /** Checks the number of classes, and that there are not too many numbers for the mechanism. */
    void check(int maxNumbers) {
        requireValid(labels <= MAX_LABELS && missing.length <= maxNumbers);
    }

    /**
     * Returns the content; equal domains have equal texts.
     *
     * @return a text
     */
    @Override
    public String toString() {
        return labels + (isSquare ? " squares " : " numbers ") + Arrays.toString(missing);
    }
}
