package ldpbayes;

/**
 * The base of all exceptions that this client throws deliberately.
 *
 * <p>An exception contains names of fields and public texts of the survey. It never contains a value of a
 * row.
 */
public class LdpException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What is wrong. */
    private final String why;
    /** A word of {@link Reason}. */
    private final String reason;
    /** Name of the wrong entry, or empty. */
    private final String field;

    /**
     * Describes an error that concerns no single entry.
     *
     * @param why what is wrong
     * @param reason a word of {@link Reason}
     */
    public LdpException(String why, String reason) {
        this(why, reason, "");
    }

    /**
     * Describes an error in an entry.
     *
     * @param why what is wrong
     * @param reason a word of {@link Reason}
     * @param field name of the wrong entry; empty if the error concerns no single entry
     */
    public LdpException(String why, String reason, String field) {
        super(field.isEmpty() ? why : field + ": " + why);
        this.why = why;
        this.reason = reason;
        this.field = field;
    }

    /**
     * Returns what is wrong, in a sentence without the name of the entry.
     *
     * @return what is wrong
     */
    public String why() {
        return why;
    }

    /**
     * Returns a stable word for the kind of the error.
     *
     * @return a word of {@link Reason}
     */
    public String reason() {
        return reason;
    }

    /**
     * Returns the name of the wrong entry.
     *
     * @return the name; empty if the error concerns no single entry
     */
    public String field() {
        return field;
    }
}
