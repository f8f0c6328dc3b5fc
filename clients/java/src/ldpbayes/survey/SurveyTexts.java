package ldpbayes.survey;

import static ldpbayes.SurveyException.requireValid;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import ldpbayes.Bytes;
import ldpbayes.Json;
import ldpbayes.SurveyException;
import ldpbayes.mechanisms.Parameters;

/**
 * The file of a survey's texts: what people read when they are asked, in one or more languages.
 *
 * <p>The plan contains the SHA-256 of this file, so that consent and signature cover the texts. They are
 * plain text, never HTML or Markdown, and no report depends on them.
 */
public final class SurveyTexts {
    private static final int MAX_BYTES = 1 << 18;
    private static final int MAX_LANGUAGES = 100;
    private static final int MAX_TITLE = 300;
    private static final int MAX_VALUE = 200;
    private static final int MAX_LONG = 4000;
    private static final String TAG = "[a-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}";
    private static final Collection<String> LONG =
        Arrays.asList("help", "purpose", "contact", "ethics", "retention");
    private static final Collection<String> ABOUT =
        Arrays.asList("title", "purpose", "contact", "ethics", "retention");
    /** A language has no title among these, but one of its own. */
    static final List<String> LANGUAGE_ABOUT = Arrays.asList("purpose", "contact", "ethics", "retention");
    private static final Collection<String> HEAD = Arrays.asList("title", "help");
    /** The spaces, joiners and direction marks that some languages need. */
    private static final String LINE_SPACES = " \u00a0\u202f\u200c\u200d\u200e\u200f";
    private static final String SPACES = LINE_SPACES + "\n";

    final Map<String, String> about;
    final List<String> languages;
    /** By language. */
    final Map<?, ?> texts;
    /** By the name of the question that they hide; each follows those of the questions it names. */
    final Map<String, Condition> conditions;

    private SurveyTexts(Plan plan, Map<?, ?> file) {
        boolean hasConditions = file.containsKey("ask_if");
        Parameters.checkKeyCount(file, hasConditions ? 5 : 4);
        requireValid(Long.valueOf(1).equals(file.get("format")));
        Feature label = plan.rowSchema().label();
        Set<String> classes = new HashSet<>(label.values());
        Map<Object, Set<String>> named = new HashMap<>();
        for (Feature entry : plan.entries()) {
            named.put(entry.name(), new HashSet<>(valuesWithTexts(entry)));
        }
        about = readTexts(file.get("about"), ABOUT, MAX_TITLE);
        texts = (Map<?, ?>) file.get("texts");
        languages = readLanguages((List<?>) file.get("languages"));
        requireValid(texts.size() == languages.size());
        for (String tag : languages) {
            checkLanguage((Map<?, ?>) texts.get(tag), classes, named);
        }
        if (!label.name().isEmpty()) {
            named.put(label.name(), classes);
        }
        conditions = hasConditions
            ? Condition.readAll((Map<?, ?>) file.get("ask_if"), named)
            : Collections.<String, Condition>emptyMap();
    }

    /**
     * Reads the file of a plan's texts, and checks it against the plan.
     *
     * @param plan the plan of the survey
     * @param file the bytes of the file, as the collector sends them
     * @return the texts
     * @throws SurveyException if these are not the texts of the plan, or this version cannot read them
     */
    public static SurveyTexts read(Plan plan, byte[] file) {
        try {
            byte[] bytes = file.clone();
            requireValid(bytes.length <= MAX_BYTES && Bytes.toHex(Bytes.sha256(bytes)).equals(plan.texts()));
            return new SurveyTexts(plan, (Map<?, ?>) Json.parseCanonical(Bytes.toText(bytes)));
        } catch (RuntimeException error) {
            throw new SurveyException(
                "the texts are not those of the plan; take both unchanged from the collector");
        }
    }

    /**
     * Returns the languages of the texts.
     *
     * @return language tags in the author's order
     */
    public List<String> languages() {
        return Collections.unmodifiableList(languages);
    }

    /**
     * Returns the values of an entry or of the label that may have a text: of a number only the missing one.
     */
    static List<String> valuesWithTexts(Feature feature) {
        List<String> values = new ArrayList<>();
        if (!feature.isNumber()) {
            values.addAll(feature.values());
        }
        if (!feature.name().isEmpty() && feature.mayBeMissing()) {
            values.add(ParseValue.MISSING_TEXT);
        }
        return values;
    }

    private static List<String> readLanguages(List<?> tags) {
        List<String> languages = new ArrayList<>();
        Set<String> different = new HashSet<>();
        for (Object each : tags) {
            String tag = (String) each;
            requireValid(tag.matches(TAG) && different.add(tag.toLowerCase(Locale.ROOT)));
            languages.add(tag);
        }
        requireValid(languages.size() <= MAX_LANGUAGES);
        return languages;
    }

    private static void checkLanguage(
        Map<?, ?> table, Set<String> classes, Map<Object, Set<String>> named) {
        Map<Object, Object> head = new HashMap<>(table);
        if (head.containsKey("label")) {
            checkEntry(head.remove("label"), classes);
        }
        if (head.containsKey("features")) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) head.remove("features")).entrySet()) {
                checkEntry(entry.getValue(), named.get(entry.getKey()));
            }
        }
        if (head.containsKey("about")) {
            readTexts(head.remove("about"), LANGUAGE_ABOUT, MAX_TITLE);
        }
        readTexts(head, HEAD, MAX_TITLE);
    }

    private static void checkEntry(Object value, Set<String> listed) {
        Map<Object, Object> head = new HashMap<Object, Object>((Map<?, ?>) value);
        if (head.containsKey("values")) {
            Map<String, String> values = readTexts(head.remove("values"), listed, MAX_VALUE);
            requireValid(Features.areDistinct(values.values()));
        }
        requireValid(listed != null);
        readTexts(head, HEAD, MAX_TITLE);
    }

    /**
     * Reads a table that must contain only texts under these keys; a long text may be longer than the limit.
     */
    private static Map<String, String> readTexts(Object value, Collection<String> keys, int limit) {
        Map<String, String> texts = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
            String key = (String) entry.getKey();
            String text = (String) entry.getValue();
            boolean isLong = limit == MAX_TITLE && LONG.contains(key);
            requireValid(keys.contains(key) && isDisplayable(text, isLong ? MAX_LONG : limit));
            texts.put(key, text);
        }
        return texts;
    }

    /** Returns whether a text is printable and not only spaces and marks; a long one may have line breaks. */
    private static boolean isDisplayable(String text, int limit) {
        String others = limit == MAX_LONG ? SPACES : LINE_SPACES;
        return Features.hasForm(text, others, limit) && !Features.lookOf(text).trim().isEmpty();
    }
}
