package ldpbayes.relay;

import java.util.Arrays;
import ldpbayes.relay.Composition.Masses;

/**
 * The privacy of a report that is shuffled with others: an upper bound on delta, for every mechanism.
 *
 * <p>The same computation as {@code encoders/shuffling.py} of the Python package; docs/shuffling.md has the
 * proof.
 */
final class Shuffling {
    static final int MAX_REPORTS = 10_000_000;
    /** More than the sum of all probabilities that are left out. */
    private static final double LEFT_OUT = 1e-14;
    /** More than the relative error of the bound. */
    private static final double RELATIVE_ERROR = 1e-6;
    private static final double ULP = 0x1p-50;

    private Shuffling() {
    }

    /**
     * Returns an upper bound on the delta of a shuffled report at an epsilon.
     *
     * @param ratio the largest likelihood ratio of one report, above 1
     * @param reports how many honest reports the batch has, the person's included: 1 to MAX_REPORTS
     * @param epsilon after shuffling
     * @return a number from 0 to 1
     */
    static double shuffledDelta(double ratio, int reports, double epsilon) {
        double growth = Math.exp(epsilon);
        if (growth >= ratio) {
            return 0;
        }
        double likely = ratio / (ratio + 1);
        double unlikely = 1 / (ratio + 1);
        double gain = likely - growth * unlikely;
        double slope = Math.min(1, (growth * likely - unlikely) / ((likely - unlikely) * (1 + growth)));
        Masses clones = Composition.binomial(reports - 1, 2 * unlikely);
        Masses coins = Composition.binomial(clones.low, 0.5);
        // with k = t - 1 for the best t, P(U_c >= t) - e^epsilon P(V_c >= t) is
        // gain P(Bin(c, 1/2) = k) - (e^epsilon - 1) P(Bin(c, 1/2) > k)
        int k = (int) Math.ceil((clones.low + 1) * slope) - 1;
        int end = coins.values.length;
        int place = Math.min(Math.max(k - coins.low, -1), end);
        double point = 0 <= place && place < end ? coins.values[place] : 0;
        double firstTail = Arrays.stream(coins.values, Math.min(place + 1, end), end).sum();
        double tail = firstTail;
        double delta = 0;
        for (int i = 0; i < clones.values.length; i++) {
            int c = clones.low + i;
            delta += clones.values[i] * Math.max(0, gain * point - (growth - 1) * tail);
            tail += point / 2; // one more coin
            point *= (c + 1.0) / (2.0 * (c + 1 - k));
            if (Math.ceil((c + 2) * slope) - 1 > k) {
                k++;
                point *= (c + 2.0 - k) / k;
                tail = Math.max(0, tail - point);
            }
        }
        double rounding = clones.values.length * ULP * firstTail * (growth - 1);
        return Math.min(1, delta * (1 + RELATIVE_ERROR) + rounding + LEFT_OUT);
    }
}
