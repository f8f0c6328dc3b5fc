package ldpbayes.survey;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The texts of a survey in one language: plain text, to display as it is.
 *
 * <p>A text that the language lacks is taken from its base language, or from the survey's first language; if
 * both lack it, it is the name.
 */
public final class DisplayTexts {
    private final List<String> languages;
    private final List<String> chain = new ArrayList<>();
    private final Map<String, String> textLanguages = new LinkedHashMap<>();
    private final String title;
    private final String help;
    private final Map<String, String> about = new LinkedHashMap<>();
    private final EntryTexts label;
    private final Map<String, EntryTexts> features = new LinkedHashMap<>();
    private final Map<String, Condition> conditions;

    private DisplayTexts(Plan plan, SurveyTexts source, List<String> wanted) {
        if (source == null) {
            languages = Collections.emptyList();
            conditions = Collections.emptyMap();
        } else {
            languages = source.languages();
            about.putAll(source.about);
            conditions = source.conditions;
        }
        for (int i = 0; i < wanted.size() && chain.isEmpty(); i++) {
            addFallbacks(wanted.get(i));
        }
        if (!languages.isEmpty() && !chain.contains(languages.get(0))) {
            chain.add(languages.get(0));
        }
        List<Map<?, ?>> heads = new ArrayList<>();
        List<Map<?, ?>> stated = new ArrayList<>();
        List<Map<?, ?>> labels = new ArrayList<>();
        List<Map<?, ?>> entries = new ArrayList<>();
        for (String tag : chain) {
            Map<?, ?> table = (Map<?, ?>) source.texts.get(tag);
            heads.add(table);
            stated.add(tableOf(table, "about"));
            labels.add(tableOf(table, "label"));
            entries.add(tableOf(table, "features"));
        }
        String name = about.containsKey("title") ? about.get("title") : plan.id();
        title = choose(heads, "title", "title", name, textLanguages);
        help = choose(heads, "help", "help", "", textLanguages);
        for (String key : SurveyTexts.LANGUAGE_ABOUT) {
            String text = choose(stated, key, "about." + key, about.get(key), textLanguages);
            if (text != null) {
                about.put(key, text);
            }
        }
        label = plan.label() == null ? null : choose(plan.label(), labels);
        for (Feature entry : plan.entries()) {
            List<Map<?, ?>> tables = new ArrayList<>();
            for (Map<?, ?> each : entries) {
                tables.add(tableOf(each, entry.name()));
            }
            features.put(entry.name(), choose(entry, tables));
        }
    }

    /**
     * Returns the texts of a plan in a language.
     *
     * @param plan the plan of the survey
     * @param source the survey's texts, or null to display names
     * @param wanted language tags, for example "de" or "pt-BR": the first one counts that the survey has,
     *     itself or its base language. Neither case nor "-" and "_" differ. By default it is the survey's
     *     first language.
     * @return the texts
     */
    public static DisplayTexts of(Plan plan, SurveyTexts source, List<String> wanted) {
        return new DisplayTexts(plan, source, new ArrayList<>(wanted));
    }

    /**
     * Returns the survey's language that fits the requested one best.
     *
     * @return a language tag; empty if there are no texts
     */
    public String language() {
        return chain.isEmpty() ? "" : chain.get(0);
    }

    /**
     * Returns all languages of the survey.
     *
     * @return language tags in the author's order
     */
    public List<String> languages() {
        return languages;
    }

    /**
     * Returns the languages of the texts "title", "help" and "about.KEY" of the survey.
     *
     * @return a map that cannot be changed; what is not there is a name
     */
    public Map<String, String> textLanguages() {
        return Collections.unmodifiableMap(textLanguages);
    }

    /**
     * Returns the title of the survey.
     *
     * @return its id if there is no text
     */
    public String title() {
        return title;
    }

    /**
     * Returns an explanation of the survey.
     *
     * @return empty if the author wrote none
     */
    public String help() {
        return help;
    }

    /**
     * Returns what the author wrote about the survey: any of title, purpose, contact, ethics and retention,
     * of which all but the title can differ from language to language.
     *
     * @return a map that cannot be changed
     */
    public Map<String, String> about() {
        return Collections.unmodifiableMap(about);
    }

    /**
     * Returns the texts of the label.
     *
     * @return null if the survey has no label
     */
    public EntryTexts label() {
        return label;
    }

    /**
     * Returns the texts of each entry of the row, by name.
     *
     * @return a map that cannot be changed, in the order of {@link Plan#entries}
     */
    public Map<String, EntryTexts> features() {
        return Collections.unmodifiableMap(features);
    }

    /**
     * Returns the names of the questions that do not concern a person, for which the row contains null.
     *
     * @param answers the answers as in a row, and the label's under its name; a name that is not there has no
     *     answer
     * @return a set that may be changed
     */
    public Set<String> hidden(Map<String, ?> answers) {
        return Condition.findHidden(conditions, answers);
    }

    /** Adds the survey's languages in which to look for a text: the exact one and its base languages. */
    private void addFallbacks(String language) {
        String tag = language.replace('_', '-').toLowerCase(Locale.ROOT);
        while (true) {
            for (String known : languages) {
                if (known.toLowerCase(Locale.ROOT).equals(tag)) {
                    chain.add(known);
                }
            }
            if (tag.indexOf('-') < 0) {
                return;
            }
            tag = tag.substring(0, tag.lastIndexOf('-'));
        }
    }

    private EntryTexts choose(Feature entry, List<Map<?, ?>> tables) {
        Map<String, String> found = new LinkedHashMap<>();
        String entryTitle = choose(tables, "title", "title", entry.name(), found);
        String entryHelp = choose(tables, "help", "help", "", found);
        List<Map<?, ?>> listed = new ArrayList<>();
        for (Map<?, ?> table : tables) {
            listed.add(tableOf(table, "values"));
        }
        Map<String, String> values = new LinkedHashMap<>();
        for (String value : SurveyTexts.valuesWithTexts(entry)) {
            values.put(value, choose(listed, value, "values." + value, value, found));
        }
        return new EntryTexts(entryTitle, entryHelp, values, found);
    }

    /** Returns a text of the first table that has it, and records its language under a path. */
    private String choose(
        List<Map<?, ?>> tables, String key, String path, String otherwise, Map<String, String> found) {
        for (int i = 0; i < tables.size(); i++) {
            if (tables.get(i).containsKey(key)) {
                found.put(path, chain.get(i));
                return (String) tables.get(i).get(key);
            }
        }
        return otherwise;
    }

    private static Map<?, ?> tableOf(Map<?, ?> table, String key) {
        return table.containsKey(key) ? (Map<?, ?>) table.get(key) : Collections.emptyMap();
    }
}
