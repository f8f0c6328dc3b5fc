package ldpbayes.survey;

import java.util.Collections;
import java.util.Map;

/** The texts of the label, or of one entry of the row: plain text, to display as it is. */
public final class EntryTexts {
    private final String title;
    private final String help;
    private final Map<String, String> values;
    private final Map<String, String> textLanguages;

    EntryTexts(
        String title, String help, Map<String, String> values, Map<String, String> textLanguages) {
        this.title = title;
        this.help = help;
        this.values = Collections.unmodifiableMap(values);
        this.textLanguages = Collections.unmodifiableMap(textLanguages);
    }

    /**
     * Returns the question.
     *
     * @return the name of the entry if there is no text
     */
    public String title() {
        return title;
    }

    /**
     * Returns an explanation of the question.
     *
     * @return empty if the author wrote none
     */
    public String help() {
        return help;
    }

    /**
     * Returns the text of each value to choose from, in the survey's order.
     *
     * <p>The value "(missing)", if it is there, stands for a missing answer, which a row contains as null.
     *
     * @return a map that cannot be changed; empty for a number that must not be missing
     */
    public Map<String, String> values() {
        return values;
    }

    /**
     * Returns the languages of the texts "title", "help" and "values.VALUE".
     *
     * @return a map that cannot be changed; what is not there is a name
     */
    public Map<String, String> textLanguages() {
        return textLanguages;
    }
}
