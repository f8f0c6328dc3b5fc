package ldpbayes.explain;

import java.util.HashMap;
import java.util.Map;
import ldpbayes.RandomSource;
import ldpbayes.survey.DisplayTexts;
import ldpbayes.survey.Waves;

/** Options of a preview; each method sets one and returns this object. */
public final class PreviewOptions {
    String question;
    String token;
    Waves.Wave wave;
    RandomSource random = RandomSource.SYSTEM;
    DisplayTexts texts;
    Map<String, String> words = new HashMap<>();

    /** Makes options with their default values. */
    public PreviewOptions() {
        // each option has its default above
    }

    /**
     * Makes a copy of options.
     *
     * @param options the options, which stay as they are
     */
    public PreviewOptions(PreviewOptions options) {
        question = options.question;
        token = options.token;
        wave = options.wave;
        random = options.random;
        texts = options.texts;
        words = options.words;
    }

    /**
     * Previews a question in place of a drawn one.
     *
     * @param name name of the question
     * @return this object
     */
    public PreviewOptions question(String name) {
        question = name;
        return this;
    }

    /**
     * Sets the invitation, for a survey by invitation; without it, the question is drawn.
     *
     * @param text the invitation, or null
     * @return this object
     */
    public PreviewOptions token(String text) {
        token = text;
        return this;
    }

    /**
     * Previews a wave, in a survey with waves; without it or an invitation, the wave is drawn.
     *
     * @param asked the wave, or null
     * @return this object
     */
    public PreviewOptions wave(Waves.Wave asked) {
        wave = asked;
        return this;
    }

    /**
     * Sets the source of random bytes.
     *
     * @param source by default the system's generator
     * @return this object
     */
    public PreviewOptions random(RandomSource source) {
        random = source;
        return this;
    }

    /**
     * Writes answers in the texts of a language.
     *
     * @param displayed the texts, or null for the names of the survey
     * @return this object
     */
    public PreviewOptions texts(DisplayTexts displayed) {
        texts = displayed;
        return this;
    }

    /**
     * Sets other words of answers, which are English by default; they are used together with texts.
     *
     * @param translated texts by any of the keys "yes", "no", "missing", "below" ("below {0}"), "between"
     * ("{0} to
     *     {1}"), "above" ("{0} and more") and "squared" ("{0} (squared distance)")
     * @return this object
     */
    public PreviewOptions words(Map<String, String> translated) {
        words = new HashMap<>(translated);
        return this;
    }
}
