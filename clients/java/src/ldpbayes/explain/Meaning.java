package ldpbayes.explain;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import ldpbayes.mechanisms.NumericDomain;
import ldpbayes.survey.Feature;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Question;

/** Writes questions and answers in words. */
final class Meaning {
    static final String MISSING_TEXT = "(missing)";

    private static final int SQUARE = 2;
    private static final int DIGITS = 6;
    private static final int SQUARE_DIGITS = 4;

    private Meaning() {
    }

    /**
     * A feature of a question; of an ordered one, the values are the intervals that the question asks for.
     */
    private static final class Asked {
        final Feature feature;
        final int size;
        final int count;
        final List<String> values;

        Asked(Feature feature, int size, int width, Wording wording) {
            this.feature = feature;
            this.size = size;
            count = (feature.count() + width - 1) / width;
            values = width == 1 ? feature.values() : intervals(width, wording);
        }

        /** Returns the texts of the intervals, or for a binned number their edges. */
        private List<String> intervals(int width, Wording wording) {
            List<String> all = feature.values();
            List<String> texts = new ArrayList<>();
            int lacking = count * width - feature.count();
            for (int each = 0; each < count; each++) {
                int start = Math.max(each * width - lacking, 0);
                int end = (each + 1) * width - lacking - 1;
                if (feature.kind() == Feature.Kind.BINNED) {
                    texts.add(all.get(start));
                    continue;
                }
                String first = wording.value(feature.name(), all.get(start));
                String last = wording.value(feature.name(), all.get(end));
                texts.add(end == start ? first : wording.word("between", first, last));
            }
            if (feature.kind() == Feature.Kind.BINNED) {
                texts.add(all.get(all.size() - 1));
            }
            return texts;
        }

        /** Returns the text of a code. */
        String text(int code, Question question, Wording wording) {
            String name = feature.name();
            if (feature.mayBeMissing() && code == size - 1) {
                String text = wording.value(name, MISSING_TEXT);
                return text.equals(MISSING_TEXT) ? wording.word("missing") : text;
            }
            if (feature.kind() == Feature.Kind.CHOICES) {
                return wording.word(code == 1 ? "yes" : "no");
            }
            if (feature.kind() == Feature.Kind.BINNED) {
                return binText(code, wording);
            }
            if (feature.kind() == Feature.Kind.NUMERIC) {
                double x = (double) (code - NumericDomain.GRID) / NumericDomain.GRID;
                return question.moment() == SQUARE
                    ? wording.word("squared", formatNumber(x, SQUARE_DIGITS))
                    : numberText(feature, x);
            }
            // an interval is in words already
            return question.width() > 1 ? values.get(code) : wording.value(name, values.get(code));
        }

        private String binText(int code, Wording wording) {
            int last = values.size() - 2;
            if (last > 0 && code == 0) {
                return wording.word("below", values.get(1));
            }
            return last > 0 && code == last
                ? wording.word("above", values.get(last))
                : wording.word("between", values.get(code), values.get(code + 1));
        }
    }

    private static List<Asked> askedFeatures(Plan plan, Question question, Wording wording) {
        List<Asked> asked = new ArrayList<>();
        int[] sizes = question.sizes();
        for (int place : question.features()) {
            Feature feature = plan.schema().features().get(place);
            asked.add(new Asked(feature, sizes[asked.size()], question.width(), wording));
        }
        return asked;
    }

    /** Returns the name of a question: its features, or the label. */
    static String questionName(Plan plan, Question question) {
        StringBuilder name = new StringBuilder(featureNames(plan, question));
        if (name.length() == 0) {
            name.append(plan.schema().label().name());
        }
        if (question.width() > 1) {
            int count = askedFeatures(plan, question, Wording.names()).get(0).count;
            name.append(" (").append(count).append(" intervals)");
        }
        return name.append(new String[] {"", " (mean)", " (square)", ""}[question.moment()]).toString();
    }

    private static String featureNames(Plan plan, Question question) {
        StringBuilder names = new StringBuilder();
        for (int place : question.features()) {
            names.append(names.length() == 0 ? "" : ", ").append(plan.schema().features().get(place).name());
        }
        return names.toString();
    }

    /**
     * Returns an answer in words, as pairs of a title and a text; the last pair is the label's, if there is
     * one.
     */
    static List<Map.Entry<String, String>> of(Plan plan, Question question, long[] value, Wording wording) {
        int labels = question.labels();
        List<Asked> asked = askedFeatures(plan, question, wording);
        List<Map.Entry<String, String>> pairs = new ArrayList<>();
        int[] codes = codesOf(value, labels, asked);
        for (int i = 0; i < codes.length; i++) {
            Asked each = asked.get(i);
            String title = wording.title(each.feature.name());
            pairs.add(new AbstractMap.SimpleImmutableEntry<>(title, each.text(codes[i], question, wording)));
        }
        if (labels > 1) {
            Feature label = plan.schema().label();
            String text = wording.value(label.name(), label.values().get((int) (value[0] % labels)));
            pairs.add(new AbstractMap.SimpleImmutableEntry<>(wording.title(label.name()), text));
        }
        return Collections.unmodifiableList(pairs);
    }

    /** Returns the codes of the features in an answer: one for each number, or a joint code. */
    private static int[] codesOf(long[] value, int labels, List<Asked> asked) {
        int[] codes = new int[asked.size()];
        long joint = value[0] / labels;
        for (int i = codes.length - 1; i >= 0; i--) {
            boolean isSingle = value.length > 1 || codes.length == 1;
            codes[i] = (int) (isSingle ? value[i] / labels : joint % asked.get(i).size);
            joint /= asked.get(i).size;
        }
        return codes;
    }

    /**
     * Returns what is asked, if it is the squares of numbers, as a line of text; null for other questions.
     */
    static String ofSquare(Plan plan, Question question) {
        if (question.moment() != SQUARE) {
            return null;
        }
        String names = featureNames(plan, question);
        int[] places = question.features();
        if (places.length > 1) {
            return Wording.sentence("squares", names) + " " + Wording.sentence("squaresEnds");
        }
        Feature number = plan.schema().features().get(places[0]);
        String middle = numberText(number, 0);
        return Wording.sentence("square", names, middle) + " "
            + Wording.sentence("squareEnds", middle, numberText(number, -1), numberText(number, 1));
    }

    /** Returns a normalised number in the feature's own unit. */
    private static String numberText(Feature feature, double x) {
        double low = Double.parseDouble(feature.values().get(0));
        double high = Double.parseDouble(feature.values().get(1));
        return formatNumber(low + (x + 1) * ((high - low) / 2), DIGITS);
    }

    /**
     * Returns a number as text with a few significant digits, with an exponent below 0.0001 and from 10^15
     * on.
     *
     * <p>A number halfway between two texts is rounded to the even digit.
     */
    static String formatNumber(double number, int digits) {
        MathContext figures = new MathContext(digits, RoundingMode.HALF_EVEN);
        BigDecimal rounded = new BigDecimal(number).round(figures).stripTrailingZeros();
        if (rounded.signum() == 0) {
            return "0";
        }
        if (rounded.abs().compareTo(new BigDecimal("0.0001")) >= 0 && Math.abs(number) < 1e15) {
            return rounded.toPlainString();
        }
        String written = rounded.unscaledValue().abs().toString();
        int exponent = written.length() - 1 - rounded.scale();
        return (rounded.signum() < 0 ? "-" : "") + written.charAt(0)
            + (written.length() > 1 ? "." + written.substring(1) : "")
            + (exponent < 0 ? "e-" : "e+") + (Math.abs(exponent) < 10 ? "0" : "") + Math.abs(exponent);
    }
}
