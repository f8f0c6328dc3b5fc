package ldpbayes.survey;

import static ldpbayes.SurveyException.requireValid;
import static ldpbayes.mechanisms.Parameters.checkKeyCount;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import ldpbayes.mechanisms.Mechanism;
import ldpbayes.mechanisms.NumericDomain;

/** A question of a survey: about the label alone, or about features coupled with the label. */
public final class Question {
    static final int MEAN = 1;
    static final int SQUARE = 2;
    static final int BOTH = MEAN | SQUARE;

    private static final long MAX_WEIGHT = 12_000_000;
    /** A number of answers that no question may have; a product of sizes is not computed beyond it. */
    private static final long TOO_MANY = 1L << 31;

    final Mechanism mechanism;
    final long weight;
    private final int[] features;
    private final int[] sizes;
    private final int labels;
    private final int width;
    private final int shift;
    private final int moment;
    private final String mechanismName;
    private final int cells;
    private final NumericDomain domain;
    private final Map<?, ?> tables;
    private final boolean isVector;

    /** Reads the entry of a question in a plan; the questions prove its mechanism. */
    Question(Map<?, ?> entry, Questions questions) {
        RowSchema schema = questions.schema;
        mechanismName = (String) entry.get("mechanism");
        moment = entry.containsKey("moment") ? readSmall(entry.get("moment"), MEAN, BOTH) : 0;
        width = entry.containsKey("width") ? readSmall(entry.get("width"), 2, Integer.MAX_VALUE) : 1;
        checkKeyCount(entry, width > 1 ? 8 : 7);
        isVector = mechanismName.equals(Mechanism.LAPLACE);
        requireValid(entry.containsKey("feature"));
        features = readIndices(entry.get("feature"), isVector, schema.features().size());
        weight = (Long) entry.get("weight");
        requireValid(0 < weight && weight <= MAX_WEIGHT * (isVector ? features.length : 1));
        requireValid(moment == 0 || features.length > 0);
        requireValid(moment != BOTH || mechanismName.equals(Mechanism.PIECEWISE));
        shift = width == 1 ? 0 : readShift(schema);
        sizes = new int[features.length];
        boolean[] missing = new boolean[features.length];
        long product = 1;
        for (int i = 0; i < features.length; i++) {
            Feature feature = schema.features().get(features[i]);
            requireValid((feature.kind() == Feature.Kind.NUMERIC) == (moment > 0));
            sizes[i] = (feature.size() - 1 + shift) / width + 1;
            missing[i] = feature.mayBeMissing();
            product = Math.min(product * sizes[i], TOO_MANY);
        }
        int all = schema.label().size();
        if (moment > 0) {
            labels = all;
            cells = 0;
            domain = new NumericDomain(labels, missing, moment == SQUARE);
        } else {
            long stated = (Long) entry.get("domain");
            labels = width > 1 || stated == product ? 1 : all;
            requireValid(stated == product * labels && stated < TOO_MANY);
            cells = (int) stated;
            domain = null;
        }
        tables = (Map<?, ?>) questions.tables.get(entry.get("tables"));
        mechanism = questions.prove(this, entry);
    }

    private int readShift(RowSchema schema) {
        requireValid(features.length == 1);
        Feature feature = schema.features().get(features[0]);
        requireValid(feature.isOrdered() && width < feature.count());
        return (width - feature.count() % width) % width;
    }

    private static int readSmall(Object value, int low, int high) {
        long integer = (Long) value;
        requireValid(low <= integer && integer <= high);
        return (int) integer;
    }

    /** Returns the indices of the features of a question: of null none, of a number one. */
    private static int[] readIndices(Object entry, boolean isListed, int count) {
        if (entry == null) {
            return new int[0];
        }
        List<?> listed = entry instanceof List ? (List<?>) entry : Collections.singletonList(entry);
        requireValid(entry instanceof List == (isListed || listed.size() > 1));
        int[] indices = new int[listed.size()];
        for (int i = 0; i < indices.length; i++) {
            indices[i] = readSmall(listed.get(i), i == 0 ? 0 : indices[i - 1] + 1, count - 1);
        }
        return indices;
    }

    /**
     * Returns the indices of the features in the plan.
     *
     * @return a new array; empty for the question about the label alone
     */
    public int[] features() {
        return features.clone();
    }

    /**
     * Returns the weight with which the question is drawn.
     *
     * @return the weight
     */
    public long weight() {
        return weight;
    }

    /**
     * Returns the number of codes of each feature; of intervals, if the width is above 1.
     *
     * @return a new array
     */
    public int[] sizes() {
        return sizes.clone();
    }

    /**
     * Returns the number of classes that the answers contain.
     *
     * @return 1 if the label is not asked for
     */
    public int labels() {
        return labels;
    }

    /**
     * Returns the number of adjacent values of an ordered feature that are one answer.
     *
     * @return 1 if the values are not grouped
     */
    public int width() {
        return width;
    }

    /**
     * Returns 1 for a number, 2 for its square, 3 for both in one, and 0 for categories and bins.
     *
     * @return the moment
     */
    public int moment() {
        return moment;
    }

    /**
     * Returns the mechanism that randomises the answer.
     *
     * @return the mechanism
     */
    public Mechanism mechanism() {
        return mechanism;
    }

    /**
     * Returns the name of the mechanism that randomises the answer.
     *
     * @return its name in the literature
     */
    public String mechanismName() {
        return mechanismName;
    }

    /**
     * Returns the number of possible answers of a question about categories or bins.
     *
     * @return the number, 0 for a question about numbers
     */
    public int cells() {
        return cells;
    }

    /**
     * Returns what a mechanism for numbers takes.
     *
     * @return null for a question about categories or bins
     */
    public NumericDomain domain() {
        return domain;
    }

    /**
     * Returns the integers of the mechanism, as decimal strings.
     *
     * @return a map that cannot be changed, nor the lists in it
     */
    public Map<?, ?> tables() {
        return tables;
    }

    /**
     * Returns the true answer of a coded row, as an input of the mechanism.
     *
     * <p>It is the label's code c for the label alone, a k + c for a feature's code a, and (a B + b) k + c
     * for two features, the second with B values. Without the label, k is 1 and c is 0. For several numbers,
     * each has an entry.
     */
    long[] trueAnswer(CodedRow coded) {
        long[] found = new long[isVector ? features.length : 1];
        long joint = 0;
        for (int i = 0; i < features.length; i++) {
            int code = coded.codes[features[i]];
            code = moment == SQUARE ? squareCode(code) : (code + shift) / width;
            joint = isVector ? code : joint * sizes[i] + code;
            found[isVector ? i : 0] = joint;
        }
        for (int i = 0; i < found.length; i++) {
            found[i] = found[i] * labels + coded.labelCode % labels;
        }
        return found;
    }

    /** Returns the code of a number's square; a missing number's square is missing. */
    private static int squareCode(int code) {
        long steps = code - NumericDomain.GRID;
        long square = (steps * steps + NumericDomain.GRID / 2) / NumericDomain.GRID;
        // a missing number has one step more than the highest one
        return (int) square + NumericDomain.GRID - (int) (NumericDomain.GRID - steps >>> 63);
    }
}
