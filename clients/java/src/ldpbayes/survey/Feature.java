package ldpbayes.survey;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import ldpbayes.RowException;
import ldpbayes.mechanisms.NumericDomain;

/**
 * A feature of the survey, an entry with several answers, or the label; it codes its values as integers.
 *
 * <p>A label must not be missing. A survey without a label has a single class. Its label has neither a name
 * nor values, and its only value is a missing one.
 *
 * <p>Values are coded before anything is drawn. A missing value is a separate category, the last one, because
 * skipping a question without an answer would reveal that the answer is missing.
 */
public final class Feature {
    /** What a feature asks for. */
    public enum Kind {
        /** The label: one of its values. */
        LABEL,
        /** One of its values. */
        CATEGORICAL,
        /** A number, of which only the bin between two edges is used. */
        BINNED,
        /** A number between two bounds. */
        NUMERIC,
        /** Any of its values, which are choices to tick. */
        CHOICES
    }

    private static final int MAX_LISTED_VALUES = 12;

    private final Kind kind;
    private final String name;
    private final boolean mayBeMissing;
    private final boolean isOrdered;
    private final List<String> values;
    private final int count;
    /** The edges or bounds of a number. */
    private final double[] numbers;
    /** The code of each value of a list; empty for a number. */
    private final Map<String, Integer> codes;

    /** Makes a number with these edges or bounds, or if they are null a feature with a list of values. */
    Feature(
        Kind kind, String name, boolean mayBeMissing, boolean isOrdered, List<String> values,
        double[] numbers) {
        this.kind = kind;
        this.name = name;
        this.mayBeMissing = mayBeMissing;
        this.isOrdered = isOrdered;
        this.values = Collections.unmodifiableList(values);
        this.numbers = numbers;
        codes = new HashMap<>();
        for (int code = 0; code < values.size() && numbers == null; code++) {
            codes.put(values.get(code), code);
        }
        if (kind == Kind.NUMERIC) {
            count = NumericDomain.CODES;
        } else {
            count = kind == Kind.CHOICES ? 2 : kind == Kind.BINNED ? numbers.length - 1 : values.size();
        }
    }

    /** Makes the feature of one choice of an entry with several answers. */
    Feature(Feature entry, String choice) {
        kind = entry.kind;
        name = entry.name + ": " + choice;
        mayBeMissing = entry.mayBeMissing;
        isOrdered = false;
        values = entry.values;
        numbers = null;
        codes = entry.codes;
        count = entry.count;
    }

    /**
     * Returns what the feature asks for.
     *
     * @return the kind
     */
    public Kind kind() {
        return kind;
    }

    /**
     * Returns the name of the feature, under which a row contains its value.
     *
     * @return the name; empty if the survey has no label
     */
    public String name() {
        return name;
    }

    /**
     * Returns whether a row may contain null for this feature.
     *
     * @return whether it may; if not, such a row is refused
     */
    public boolean mayBeMissing() {
        return mayBeMissing;
    }

    /**
     * Returns whether the values have an order: bins have one, and categories if the survey says so.
     *
     * @return whether they have an order
     */
    public boolean isOrdered() {
        return isOrdered;
    }

    /**
     * Returns the values of a label or a category, the choices, or the edges or bounds of a number.
     *
     * @return a list that cannot be changed
     */
    public List<String> values() {
        return values;
    }

    /**
     * Returns the number of codes without the code of a missing value; for choices, of each of them.
     *
     * @return number of codes
     */
    public int count() {
        return count;
    }

    /**
     * Returns the number of codes.
     *
     * @return number of codes
     */
    public int size() {
        return mayBeMissing ? count + 1 : count;
    }

    /** Returns whether the feature is a number. */
    boolean isNumber() {
        return numbers != null;
    }

    /** Returns whether a value is a number outside the public bounds. */
    boolean isOutside(Object value) {
        if (!isNumber() || !(value instanceof Number)) {
            return false;
        }
        double number = ((Number) value).doubleValue();
        return number < numbers[0] || number > numbers[numbers.length - 1];
    }

    /**
     * Codes a value; a missing one has the last code if the survey has a category for it.
     *
     * @return several codes for an entry with several answers, else one
     * @throws RowException if the value does not fit; it does not contain the value
     */
    int[] code(Object value) {
        Object read = value instanceof CharSequence ? value.toString() : value;
        int[] coded = new int[kind == Kind.CHOICES ? values.size() : 1];
        if (ParseValue.isMissing(read)) {
            if (!mayBeMissing) {
                throw missing();
            }
            Arrays.fill(coded, count);
        } else if (kind == Kind.CHOICES) {
            codeChoices(read, coded);
        } else {
            coded[0] = isNumber() ? codeNumber(ParseValue.parseNumber(read, name)) : codeCategory(read);
        }
        return coded;
    }

    private RowException missing() {
        return new RowException(name, "is missing: the survey needs a value");
    }

    /** Codes the choices of an entry with several answers: 0 for no, 1 for yes. */
    private void codeChoices(Object value, int[] coded) {
        Object ticked = value instanceof Collection ? ((Collection<?>) value).toArray() : value;
        if (!(ticked instanceof Object[])) {
            throw new RowException(name, "must be a collection or an array of the ticked choices");
        }
        for (Object each : (Object[]) ticked) {
            Object choice = each instanceof CharSequence ? each.toString() : each;
            if (ParseValue.isMissing(choice)) {
                throw missing();
            }
            coded[codeCategory(choice)] = 1;
        }
    }

    /**
     * Codes a number as the index of its bin, which includes its lower edge, or as the nearest point of the
     * grid.
     */
    private int codeNumber(double number) {
        if (kind == Kind.NUMERIC) {
            double low = numbers[0];
            double high = numbers[1];
            double share = (Math.min(Math.max(number, low), high) - low) / (high - low);
            return (int) Math.floor(share * (2 * NumericDomain.GRID) + 0.5);
        }
        int bin = 0;
        for (int i = 1; i < count; i++) {
            bin += numbers[i] <= number ? 1 : 0;
        }
        return bin;
    }

    /** Codes a value as its index in the list. */
    private int codeCategory(Object value) {
        // the texts of a plan are in normal form C
        Integer code = codes.get(ParseValue.categoryText(value));
        if (code != null) {
            return code;
        }
        if (name.isEmpty()) {
            throw new RowException("label", "this survey has no label: pass only the row");
        }
        StringBuilder why = new StringBuilder("is not one of the survey's values");
        for (int i = 0; i < Math.min(values.size(), MAX_LISTED_VALUES); i++) {
            why.append(i == 0 ? ": \"" : ", \"").append(values.get(i)).append('"');
        }
        throw new RowException(name, why + (values.size() > MAX_LISTED_VALUES ? ", ..." : ""));
    }
}
