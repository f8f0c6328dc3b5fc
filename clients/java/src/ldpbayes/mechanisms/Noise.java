package ldpbayes.mechanisms;

import static ldpbayes.ProbabilityTables.countUpTo;

import java.util.Arrays;
import ldpbayes.Bytes;
import ldpbayes.Fraction;

/** Discrete Laplace noise, drawn from the weights of a table; mechanisms share it, because it is large. */
public final class Noise {
    /** The worst likelihood ratio of the mechanism, of one number if it takes several. */
    final Fraction ratio;
    /** All cell ends but the last: z + K is the number of them that are at most a word. */
    private final long[] ends;
    private final int low;
    private final int high;

    /** Prepares noise with these weights of the magnitudes 0, ..., K, which is clamped to low ... high. */
    Noise(long[] weights, int low, int high, Fraction ratio) {
        long[] cells = laplaceCells(weights);
        ends = new long[cells.length - 1];
        long sum = 0;
        for (int i = 0; i < ends.length; i++) {
            sum += cells[i];
            ends[i] = sum;
        }
        this.low = low;
        this.high = high;
        this.ratio = ratio;
    }

    /**
     * Returns the weights of z = -K, ..., K from the weights of the magnitudes 0, ..., K.
     *
     * @param weights unsigned words
     * @return unsigned words
     */
    public static long[] laplaceCells(long[] weights) {
        int far = weights.length - 1;
        long[] cells = new long[2 * far + 1];
        for (int i = 0; i < cells.length; i++) {
            cells[i] = weights[Math.abs(i - far)];
        }
        return cells;
    }

    /**
     * Returns the distribution, out of 2^64, of x plus noise, clamped to low ... high.
     *
     * @param weights of the magnitudes 0, ..., K of the noise
     * @param x a whole number
     * @param low the least result
     * @param high the greatest result
     * @return an unsigned word for each of low, ..., high
     */
    public static long[] law(long[] weights, int x, int low, int high) {
        long[] cells = laplaceCells(weights);
        int first = low - x + weights.length - 1;
        int last = high - x + weights.length - 1;
        long[] law = Arrays.copyOfRange(cells, first, last + 1);
        for (int i = 0; i < first; i++) {
            law[0] += cells[i];
        }
        for (int i = last + 1; i < cells.length; i++) {
            law[last - first] += cells[i];
        }
        return law;
    }

    /**
     * Adds noise to whole numbers, clamps the sums and packs them; it takes one random word for each number.
     */
    byte[] addTo(int[] numbers, byte[] random, int firstWord) {
        int far = ends.length / 2;
        int[] noisy = new int[numbers.length];
        for (int i = 0; i < noisy.length; i++) {
            int drawn = countUpTo(ends, Bytes.readWord(random, firstWord + i));
            noisy[i] = Math.min(Math.max(numbers[i] + drawn - far, low), high);
        }
        return Bytes.fromIntegers(noisy);
    }
}
