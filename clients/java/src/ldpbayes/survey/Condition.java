package ldpbayes.survey;

/** The answer to another question that is the condition for asking a question. */
public final class Condition {
    private final String feature;
    private final String value;

    Condition(String feature, String value) {
        this.feature = feature;
        this.value = value;
    }

    /**
     * Returns the name of the other question.
     *
     * @return the name of the label or of an entry of the row
     */
    public String feature() {
        return feature;
    }

    /**
     * Returns the answer that must have been given, or for several answers the choice that must have been
     * ticked.
     *
     * @return one of the other question's values
     */
    public String value() {
        return value;
    }
}
