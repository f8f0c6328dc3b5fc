package ldpbayes.explain;

import java.util.HashMap;
import java.util.Map;
import ldpbayes.survey.DisplayTexts;
import ldpbayes.survey.EntryTexts;
import ldpbayes.survey.Feature;
import ldpbayes.survey.Plan;

/** How answers are written: in the texts of a language, or with the names of the survey. */
final class Wording {
    private static final Map<String, String> ENGLISH = new HashMap<>();

    static {
        for (int i = 0; i < Words.ENGLISH.length; i += 2) {
            ENGLISH.put(Words.ENGLISH[i], Words.ENGLISH[i + 1]);
        }
    }

    private final Map<String, String> words = new HashMap<>(ENGLISH);
    private final Map<String, String> titles = new HashMap<>();
    private final Map<String, EntryTexts> entries = new HashMap<>();

    private Wording() {
    }

    /** Returns the wording with the names of the survey. */
    static Wording names() {
        return new Wording();
    }

    /** Returns the wording of the texts of a language; what they do not contain is written as its name. */
    static Wording of(Plan plan, DisplayTexts texts, Map<String, String> words) {
        Wording wording = new Wording();
        if (texts == null) {
            return wording;
        }
        wording.words.putAll(words);
        wording.entries.putAll(texts.features());
        if (plan.label() != null && texts.label() != null) {
            wording.entries.put(plan.label().name(), texts.label());
        }
        for (Map.Entry<String, EntryTexts> each : wording.entries.entrySet()) {
            wording.titles.put(each.getKey(), each.getValue().title());
        }
        for (Feature feature : plan.entries()) {
            EntryTexts entry = texts.features().get(feature.name());
            if (feature.kind() == Feature.Kind.CHOICES && entry != null) {
                for (String choice : feature.values()) {
                    String title = entry.title() + ": " + entry.values().get(choice);
                    wording.titles.put(feature.name() + ": " + choice, title);
                }
            }
        }
        return wording;
    }

    /** Returns the title of a feature or of the label. */
    String title(String name) {
        String title = titles.get(name);
        return title == null ? name : title;
    }

    /** Returns the text of a value. */
    String value(String name, String value) {
        EntryTexts entry = entries.get(name);
        String text = entry == null ? null : entry.values().get(value);
        return text == null ? value : text;
    }

    /** Returns a word with its holes {0}, {1} filled. */
    String word(String key, String... parts) {
        return fill(words.get(key), parts);
    }

    /** Returns an English sentence with its holes {0}, {1} filled. */
    static String sentence(String key, String... parts) {
        return fill(ENGLISH.get(key), parts);
    }

    private static String fill(String word, String... parts) {
        StringBuilder filled = new StringBuilder();
        for (int i = 0; i < word.length(); i++) {
            boolean isHole = i + 2 < word.length() && word.charAt(i) == '{' && word.charAt(i + 2) == '}';
            int part = isHole ? word.charAt(i + 1) - '0' : -1;
            if (0 <= part && part < parts.length) {
                filled.append(parts[part]);
                i += 2;
            } else {
                filled.append(word.charAt(i));
            }
        }
        return filled.toString();
    }
}
