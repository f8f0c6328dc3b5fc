package ldpbayes.survey;

import static ldpbayes.SurveyException.requireValid;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import ldpbayes.mechanisms.NumericDomain;
import ldpbayes.mechanisms.Parameters;

/**
 * A validation round: devices report whether a model predicts their label, with all and the top t features.
 *
 * <p>The model is Naive Bayes in whole numbers: each value has a score for each label, the score of a label
 * is the sum over a row's values, and the label with the highest score is predicted.
 */
final class ValidationRound {
    private static final int LOWEST_SCORE = -1_000_000;
    /** Number of equal parts of a number's range, each with its scores. */
    private static final int PARTS = 64;

    /** Codes rows. */
    final RowSchema schema;
    private final int[] order;
    private final int[] tops;
    private final int[] prior;
    /** By feature, row and label. */
    private final int[][][] scores;

    /** Reads the model of a plan, and checks that the plan's label and features are its outcomes. */
    ValidationRound(Map<?, ?> plan) {
        Map<?, ?> entry = (Map<?, ?>) plan.get("validation");
        schema = new RowSchema(entry);
        Parameters.checkKeyCount(entry, schema.projection.inputs.isEmpty() ? 6 : 7);
        List<Feature> features = schema.features();
        int labels = schema.label().size();
        order = readIntegers(entry.get("order"), 0, features.size() - 1);
        tops = readIntegers(entry.get("tops"), 1, order.length - 1);
        prior = readScores(entry.get("prior"), labels);
        requireValid(!schema.label().name().isEmpty() && order.length >= 2 && tops.length > 0);
        for (int i = 1; i < tops.length; i++) {
            requireValid(tops[i - 1] < tops[i]);
        }
        boolean[] isUsed = new boolean[features.size()];
        for (int place : order) {
            requireValid(!isUsed[place]);
            isUsed[place] = true;
        }
        List<?> tables = (List<?>) entry.get("scores");
        requireValid(tables.size() == features.size());
        scores = new int[features.size()][][];
        for (int i = 0; i < scores.length; i++) {
            scores[i] = readTable((List<?>) tables.get(i), features.get(i), labels);
        }
        requireValid(outcomes().equals(Arrays.asList(plan.get("features"), plan.get("label"))));
    }

    /** Returns the features and the label of the plan. */
    private List<Object> outcomes() {
        List<String> values = Arrays.asList("wrong", "right");
        List<Object> features = new ArrayList<>();
        for (int top : tops) {
            Map<String, Object> feature = new LinkedHashMap<>();
            feature.put("kind", "categorical");
            feature.put("missing", "error");
            feature.put("name", "top " + top);
            feature.put("values", values);
            features.add(feature);
        }
        Map<String, Object> label = new LinkedHashMap<>();
        label.put("name", "all " + order.length);
        label.put("values", values);
        return Arrays.<Object>asList(features, label);
    }

    /** Returns the codes of the outcomes, from those of a row. */
    CodedRow validate(CodedRow coded) {
        long[] sums = new long[prior.length];
        for (int label = 0; label < sums.length; label++) {
            sums[label] = prior[label];
        }
        int[] right = new int[order.length];
        for (int rank = 0; rank < right.length; rank++) {
            int place = order[rank];
            int[] row = scores[place][scoreRow(schema.features().get(place), coded.codes[place])];
            int best = 0;
            for (int label = 0; label < sums.length; label++) {
                sums[label] += row[label];
                best = sums[label] > sums[best] ? label : best;
            }
            right[rank] = best == coded.labelCode ? 1 : 0;
        }
        int[] codes = new int[tops.length];
        for (int i = 0; i < codes.length; i++) {
            codes[i] = right[tops[i] - 1];
        }
        return new CodedRow(codes, right[right.length - 1], coded.clipped);
    }

    private static int scoreRow(Feature feature, int code) {
        return feature.kind() == Feature.Kind.NUMERIC
            ? (int) ((long) code * PARTS / NumericDomain.CODES)
            : code;
    }

    private static int[][] readTable(List<?> rows, Feature feature, int labels) {
        // a number has a row for each part, and one more if it may be missing
        int count = feature.kind() == Feature.Kind.NUMERIC ? PARTS : feature.count();
        requireValid(rows.size() == count + feature.size() - feature.count());
        int[][] table = new int[rows.size()][];
        for (int i = 0; i < table.length; i++) {
            table[i] = readScores(rows.get(i), labels);
        }
        return table;
    }

    private static int[] readScores(Object list, int labels) {
        int[] scores = readIntegers(list, LOWEST_SCORE, 0);
        requireValid(scores.length == labels);
        return scores;
    }

    /** Reads a list of whole numbers from low to high. */
    private static int[] readIntegers(Object value, int low, int high) {
        List<?> list = (List<?>) value;
        int[] integers = new int[list.size()];
        for (int i = 0; i < integers.length; i++) {
            long integer = (Long) list.get(i);
            requireValid(low <= integer && integer <= high);
            integers[i] = (int) integer;
        }
        return integers;
    }
}
