package ldpbayes.relay;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import ldpbayes.SurveyException;

/**
 * The privacy of a person who answers every question through a relay: an upper bound on delta.
 *
 * <p>The same computation as {@code encoders/composition.py} of the Python package; docs/shuffling.md has the
 * proof.
 */
final class Composition {
    /** Losses are multiples of one hundredth. */
    private static final double STEPS = 100;
    private static final int CROWDS = 64;
    /** At most so many clones are expected; more people are left out, which never lowers delta. */
    private static final double CLONES = 4000;
    /** Ends of a binomial distribution below this part of its largest probability are left out. */
    private static final double FAR_END = 0x1p-100;
    /** Probabilities of sums of steps below this are left out. */
    private static final double NEGLIGIBLE = 1e-24;
    private static final double TRIMMED = 1e-18;
    /** More than all probabilities that are left out from one pair. */
    private static final double LEFT_OUT = 1e-17;
    private static final double RELATIVE_ERROR = 1e-6;
    private static final double ABSOLUTE_ERROR = 1e-14;
    /** More than the error of a curve, whose values are differences of rounded numbers. */
    private static final double CURVE_ERROR = 1e-12;

    private Composition() {
    }

    /** What the bound needs to know about the message of one question. */
    static final class Message {
        final double ratio;
        final double move;
        private final boolean isYesNo;

        /**
         * Describes a message.
         *
         * @param ratio above 1, at least the largest ratio of the probabilities of one message for any two
         *     answers
         * @param move 1 for any mechanism, and (ratio + 1) / (ratio + k - 1) for direct encoding of k values
         * @param isYesNo whether the answer has two values; the bound is then smaller, and does not use
         *     the move
         */
        Message(double ratio, double move, boolean isYesNo) {
            this.ratio = ratio;
            this.move = move;
            this.isYesNo = isYesNo;
        }
    }

    /** Probabilities of consecutive whole numbers: the least of them, and the probabilities from it on. */
    static final class Masses {
        final int low;
        final double[] values;
        /** What was cut off at the top. */
        final double cut;

        Masses(int low, double[] values, double cut) {
            this.low = low;
            this.values = values;
            this.cut = cut;
        }
    }

    /**
     * Returns an upper bound on the delta of a person who sends one message for every question.
     *
     * @param messages one per question
     * @param people how many honest people the batch has, the person included
     * @param epsilon after shuffling
     * @return a number from 0 to 1
     * @throws SurveyException if people is below 1, if there are no messages, or if a ratio or a move is out
     *     of range
     */
    static double composedDelta(List<Message> messages, long people, double epsilon) {
        SurveyException.requireValid(people >= 1 && !messages.isEmpty());
        Masses total = new Masses(0, new double[] {1}, 0);
        double lost = 0;
        double error = ABSOLUTE_ERROR;
        Map<List<Object>, Masses> known = new LinkedHashMap<>();
        for (Message message : messages) {
            SurveyException.requireValid(message.ratio > 1 && message.move > 0);
            List<Object> key = Arrays.asList(message.ratio, message.move, message.isYesNo);
            Masses losses = known.computeIfAbsent(key, unused -> trim(findLosses(message, people)));
            total = trim(convolve(total, losses));
            lost += losses.cut + LEFT_OUT + total.cut;
            error += message.isYesNo ? CURVE_ERROR : 0;
        }
        for (int i = 0; i < total.values.length; i++) {
            lost += total.values[i] * Math.max(0, 1 - Math.exp(epsilon - (total.low + i) / STEPS));
        }
        return Math.min(1, lost * (1 + RELATIVE_ERROR) + error);
    }

    /** Returns the losses of one question, in steps. */
    private static Masses findLosses(Message message, long people) {
        double ratio = message.ratio;
        int crowd = (int) Math.min(Math.min(people, Integer.MAX_VALUE), Math.floor(CLONES / 2 * (ratio + 1)));
        double[] powers = new double[(int) (Math.log(ratio) * STEPS) + 3];
        for (int k = 0; k < powers.length; k++) {
            powers[k] = Math.exp(k / STEPS);
        }
        double[] right = message.isYesNo
            ? findYesNoHalf(ratio, crowd, powers)
            : findWalkHalf(ratio, Math.min(1, message.move), crowd, powers);
        int top = right.length - 1;
        double[] both = new double[2 * top + 1];
        for (int k = 0; k <= top; k++) {
            both[top + k] += right[k];
            both[top - k] += right[k] / powers[k];
        }
        return new Masses(-top, both, 0);
    }

    /** Returns the right half of the pair for every mechanism, and for direct encoding. */
    private static double[] findWalkHalf(double ratio, double move, int people, double[] powers) {
        Masses clones = binomial(people - 1, 2 / (ratio + 1));
        int width = Math.max(1, (int) (Math.sqrt(2.0 * people * (ratio - 1)) / (ratio + 1) / 8));
        double[] first = new double[powers.length];
        double[] second = new double[powers.length];
        double[] ends = walk(clones.low + 1, move);
        for (int start = 0; start < clones.values.length; start += width) {
            // of all sizes of this group, the least: fewer clones never hide better
            double size = clones.low + start + 1;
            for (int i = 0; start > 0 && i < width; i++) {
                ends = step(ends, move);
            }
            double weight = 0;
            for (int i = start; i < Math.min(start + width, clones.values.length); i++) {
                weight += clones.values[i];
            }
            int k = 0;
            for (int s = 0; s < ends.length; s++) {
                while (k < powers.length - 2 && s >= edge(k + 1, ratio) * size) {
                    k++;
                }
                double mass = ends[s] * weight / ((ratio + 1) * size) / (s == 0 ? 2 : 1);
                first[k] += mass * (ratio * (size + s) + size - s);
                second[k] += mass * (ratio * (size - s) + size + s);
            }
        }
        return split(first, second, powers);
    }

    /** Returns the least part of N that a sum of N steps must be for a loss of k steps of the grid. */
    private static double edge(int k, double ratio) {
        return Math.tanh(k / 2.0 / STEPS) * (ratio + 1) / (ratio - 1);
    }

    /** Moves masses to the grid; those of P and of P' are kept, so only the spread of P/P' grows. */
    private static double[] split(double[] first, double[] second, double[] powers) {
        double[] right = new double[powers.length];
        for (int k = 0; k < powers.length - 1; k++) {
            double up = (first[k] - second[k] * powers[k]) / (1 - 1 / powers[1]);
            up = Math.min(first[k], Math.max(0, up));
            right[k] += first[k] - up;
            right[k + 1] += up;
        }
        return right;
    }

    /** Returns the probabilities that lazy steps end at 0, 1, ...: each is +1 or -1 with move / 2, else 0. */
    private static double[] walk(int steps, double move) {
        // proportional to the probabilities at -steps, 1 - steps, ..., 0
        double[] values = new double[steps + 1];
        values[0] = 1;
        double before = 0;
        for (int j = 0; j < steps; j++) {
            double here = values[j];
            values[j + 1] = (2 * (1 - move) * (steps - j) * here + move * (2 * steps - j + 1) * before)
                / (move * (j + 1));
            before = here;
            if (values[j + 1] > 1e200) {
                before *= 1e-200;
                for (int i = 0; i <= j + 1; i++) {
                    values[i] *= 1e-200;
                }
            }
        }
        double total = values[steps];
        for (int i = 0; i < steps; i++) {
            total += 2 * values[i];
        }
        double[] ends = new double[steps + 1];
        for (int s = 0; s <= steps; s++) {
            ends[s] = values[steps - s] / total;
        }
        return ends;
    }

    /** Returns the probabilities of the ends after one more step. */
    private static double[] step(double[] ends, double move) {
        double[] padded = Arrays.copyOf(ends, ends.length + 2);
        double[] after = new double[ends.length + 1];
        for (int s = 0; s < after.length; s++) {
            after[s] = (1 - move) * padded[s] + move / 2 * (padded[Math.abs(s - 1)] + padded[s + 1]);
        }
        int length = after.length;
        while (length > 2 && after[length - 1] < NEGLIGIBLE) {
            length--;
        }
        return Arrays.copyOf(after, length);
    }

    /** Returns the right half of the pair whose curve is the largest of all crowds, for two values. */
    private static double[] findYesNoHalf(double ratio, int people, double[] powers) {
        int group = Math.max(1, people / CROWDS);
        double[] curve = new double[powers.length];
        for (int noes = 0; noes < people; noes += group) {
            raiseCurve(curve, ratio, noes, Math.max(0, people - group - noes), powers);
        }
        double[] right = new double[powers.length];
        double before = -(1 - curve[0]) / 2;
        for (int k = 0; k < curve.length; k++) {
            boolean isLast = k == curve.length - 1;
            double slope = isLast ? 0 : (curve[k + 1] - curve[k]) / (powers[k + 1] - powers[k]);
            right[k] = Math.max(0, slope - before) * powers[k];
            before = slope;
        }
        return right;
    }

    /** Raises a curve to sum max(0, P - q P') of the number of messages that say yes, for each q. */
    private static void raiseCurve(double[] curve, double ratio, int noes, int yeses, double[] powers) {
        double wrong = 1 / (ratio + 1);
        Masses fromNoes = binomial(noes, wrong);
        Masses fromYeses = binomial(yeses, 1 - wrong);
        int centre = (int) (noes * wrong + yeses * (1 - wrong));
        double[] others = sumFrom(Math.max(0, centre - 1), fromNoes, fromYeses);
        double[] tails = new double[others.length + 1];
        for (int i = others.length - 1; i >= 0; i--) {
            tails[i] = tails[i + 1] + others[i];
        }
        int i = 1;
        for (int k = 0; k < powers.length; k++) {
            double gain = (ratio - powers[k]) * wrong;
            double loss = (ratio * powers[k] - 1) * wrong;
            while (i < others.length && gain * others[i - 1] < loss * others[i]) {
                i++;
            }
            curve[k] = Math.max(curve[k], gain * others[i - 1] - (powers[k] - 1) * tails[i]);
        }
    }

    /** Returns the probabilities of the sum of two numbers, from one value on. */
    private static double[] sumFrom(int start, Masses one, Masses other) {
        int first = start - one.low - other.low;
        double[] sums = new double[one.values.length + other.values.length - 1 - first];
        for (int t = 0; t < sums.length; t++) {
            int sum = first + t;
            int last = Math.min(sum, one.values.length - 1);
            for (int i = Math.max(0, sum - other.values.length + 1); i <= last; i++) {
                sums[t] += one.values[i] * other.values[sum - i];
            }
        }
        return sums;
    }

    /** Rounds the least losses up, and cuts off the largest. */
    private static Masses trim(Masses losses) {
        double[] values = losses.values;
        int first = 0;
        double small = 0;
        while (small + values[first] < TRIMMED) {
            small += values[first++];
        }
        values[first] += small;
        int end = values.length;
        double cut = 0;
        while (cut + values[end - 1] < TRIMMED) {
            cut += values[--end];
        }
        return new Masses(losses.low + first, Arrays.copyOfRange(values, first, end), cut);
    }

    /** Returns the masses of the sum of two losses. */
    private static Masses convolve(Masses one, Masses other) {
        double[] sums = new double[one.values.length + other.values.length - 1];
        for (int i = 0; i < one.values.length; i++) {
            for (int j = 0; j < other.values.length; j++) {
                sums[i + j] += one.values[i] * other.values[j];
            }
        }
        return new Masses(one.low + other.low, sums, 0);
    }

    /** Returns a binomial distribution without its negligible ends. */
    static Masses binomial(int count, double probability) {
        double odds = probability / (1 - probability);
        int mode = (int) Math.min(count, (count + 1.0) * probability);
        List<Double> above = new ArrayList<>();
        above.add(1.0);
        for (int value = mode; value < count && last(above) >= FAR_END; value++) {
            above.add(last(above) * (count - value) / (value + 1) * odds);
        }
        List<Double> below = new ArrayList<>();
        below.add(1.0);
        for (int value = mode; value > 0 && last(below) >= FAR_END; value--) {
            below.add(last(below) * (value / ((count - value + 1) * odds)));
        }
        int least = mode - (below.size() - 1);
        double[] values = new double[below.size() - 1 + above.size()];
        double total = 0;
        for (int i = 0; i < values.length; i++) {
            int offset = least + i - mode;
            values[i] = offset < 0 ? below.get(-offset) : above.get(offset);
            total += values[i];
        }
        for (int i = 0; i < values.length; i++) {
            values[i] /= total;
        }
        return new Masses(least, values, 0);
    }

    private static double last(List<Double> values) {
        return values.get(values.size() - 1);
    }
}
