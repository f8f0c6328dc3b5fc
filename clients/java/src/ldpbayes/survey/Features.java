package ldpbayes.survey;

import static ldpbayes.SurveyException.requireValid;
import static ldpbayes.mechanisms.Parameters.checkKeyCount;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import ldpbayes.Decimals;

/** Reads the label and the features of a survey from a plan. */
final class Features {
    /** Most characters of a name or a category. */
    static final int MAX_TEXT = 200;
    /** The categories of Unicode that contain no letters, digits or signs. */
    private static final int NOT_PRINTABLE =
        1 << Character.CONTROL | 1 << Character.FORMAT | 1 << Character.SURROGATE | 1 << Character.PRIVATE_USE
        | 1 << Character.UNASSIGNED | 1 << Character.LINE_SEPARATOR | 1 << Character.PARAGRAPH_SEPARATOR
        | 1 << Character.SPACE_SEPARATOR;

    /** Letters, marks and signs that show nothing, although Unicode does not count them as spaces. */
    private static final String BLANKS = "[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ud834\udd59]";
    /** They show nothing themselves, but emoji and some scripts need them. */
    private static final String SELECTORS = "[\u180b-\u180d\u180f\ufe00-\ufe0f\udb40\udd00-\udb40\uddef]";
    private static final Pattern BLANK = Pattern.compile("^" + SELECTORS + "|" + BLANKS);
    private static final Pattern UNSEEN = Pattern.compile(BLANKS + "|" + SELECTORS + "|[\u200c-\u200f]");

    private Features() {
    }

    /** Returns whether a value can be a name or a category, which people read. */
    static boolean isText(Object value) {
        return value instanceof String && hasForm((String) value, " ", MAX_TEXT)
            && !BLANK.matcher((String) value).find();
    }

    /** Returns what people see of a text: NFC without characters that show nothing, with plain spaces. */
    static String lookOf(String text) {
        return ParseValue.toNfc(UNSEEN.matcher(text).replaceAll("").replaceAll("[\u00a0\u202f]", " "));
    }

    /**
     * Returns whether a text has at least one and at most so many characters, each printable or one of the
     * others, and is in Unicode's normal form C.
     *
     * <p>A character that the platform's version of Unicode does not know is not printable.
     */
    static boolean hasForm(String text, String others, int most) {
        int characters = 0;
        for (int i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            boolean isPrintable = (NOT_PRINTABLE >> Character.getType(text.codePointAt(i)) & 1) == 0;
            if (!isPrintable && others.indexOf(text.charAt(i)) < 0) {
                return false;
            }
            characters++;
        }
        // the length first: normalising takes quadratic time
        return 0 < characters && characters <= most && ParseValue.toNfc(text).equals(text);
    }

    /** Returns whether no element occurs twice; texts that look alike are one. */
    static boolean areDistinct(Collection<?> elements) {
        Set<Object> looks = new HashSet<>();
        for (Object each : elements) looks.add(each instanceof String ? lookOf((String) each) : each);
        return looks.size() == elements.size();
    }

    /** Reads the entry of a feature in a plan. */
    static Feature readFeature(Object value) {
        Map<?, ?> entry = (Map<?, ?>) value;
        requireValid(isText(entry.get("name"))); // at first: each feature of a choice repeats it
        Object word = entry.get("kind");
        boolean mayBeMissing = "category".equals(entry.get("missing"));
        requireValid(mayBeMissing || "error".equals(entry.get("missing")));
        Feature.Kind kind = Feature.Kind.CATEGORICAL;
        List<?> values = (List<?>) entry.get("values");
        double[] numbers = null;
        if ("binned".equals(word) || "numeric".equals(word)) {
            boolean isBinned = "binned".equals(word);
            kind = isBinned ? Feature.Kind.BINNED : Feature.Kind.NUMERIC;
            List<?> bounds = Arrays.asList(entry.get("low"), entry.get("high"));
            values = isBinned ? (List<?>) entry.get("edges") : bounds;
            numbers = Decimals.readIncreasing(values);
        } else if ("choices".equals(word)) {
            kind = Feature.Kind.CHOICES;
            requireValid(values.size() > 1);
        } else {
            requireValid("categorical".equals(word) && (!values.isEmpty() || mayBeMissing));
        }
        boolean isOrdered = kind == Feature.Kind.CATEGORICAL && Boolean.TRUE.equals(entry.get("ordered"));
        checkKeyCount(entry, kind == Feature.Kind.NUMERIC || isOrdered ? 5 : 4);
        List<String> texts = readTexts(values, numbers == null);
        requireValid(!texts.contains(ParseValue.MISSING_TEXT));
        // ";" separates choices in a CSV file
        requireValid(kind != Feature.Kind.CHOICES || texts.toString().indexOf(';') < 0);
        isOrdered |= kind == Feature.Kind.BINNED;
        return new Feature(kind, (String) entry.get("name"), mayBeMissing, isOrdered, texts, numbers);
    }

    /** Reads the entry of a label in a plan or a validation, if there is one. */
    static Feature readLabel(Map<?, ?> document) {
        String name = "";
        List<String> values = new ArrayList<>();
        if (document.containsKey("label")) {
            Map<?, ?> entry = (Map<?, ?>) document.get("label");
            checkKeyCount(entry, 2);
            name = (String) entry.get("name");
            values = readTexts((List<?>) entry.get("values"), true);
            requireValid(isText(name) && values.size() > 1);
        }
        return new Feature(Feature.Kind.LABEL, name, name.isEmpty(), false, values, null);
    }

    /** Reads a list of texts, which people read unless they are numbers. */
    private static List<String> readTexts(List<?> values, boolean areRead) {
        List<String> texts = new ArrayList<>();
        for (Object each : values) {
            requireValid(!areRead || isText(each));
            texts.add((String) each);
        }
        requireValid(areDistinct(texts));
        return texts;
    }
}
