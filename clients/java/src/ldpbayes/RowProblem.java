package ldpbayes;

import java.io.Serializable;

/** An entry of a row that does not fit the survey. */
public final class RowProblem implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Name of the feature or label. */
    private final String field;
    /** What is wrong, without the value. */
    private final String why;

    RowProblem(String field, String why) {
        this.field = field;
        this.why = why;
    }

    /**
     * Returns the name of the feature or label.
     *
     * @return the name
     */
    public String field() {
        return field;
    }

    /**
     * Returns what is wrong, without the value.
     *
     * @return what is wrong
     */
    public String why() {
        return why;
    }

    /**
     * Returns the name and what is wrong.
     *
     * @return a text without the value
     */
    @Override
    public String toString() {
        return field + ": " + why;
    }
}
