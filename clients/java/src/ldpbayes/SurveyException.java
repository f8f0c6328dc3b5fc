package ldpbayes;

/**
 * A plan that cannot be used; {@code ldp-survey check} of the Python package describes the mistake.
 *
 * <p>The reason is {@link Reason#INVALID_PLAN}, or {@link Reason#RELAY_UNSUPPORTED} if the survey is answered
 * through a relay.
 */
public class SurveyException extends LdpException {
    private static final long serialVersionUID = 1L;

    /** Describes a plan that is damaged, or made for another version. */
    public SurveyException() {
        this("damaged, or for another version; take it unchanged from the collector");
    }

    /**
     * Describes an invalid plan.
     *
     * @param why what is wrong
     */
    public SurveyException(String why) {
        this(why, Reason.INVALID_PLAN);
    }

    /**
     * Describes a plan that cannot be used.
     *
     * @param why what is wrong
     * @param reason a word of {@link Reason}
     */
    public SurveyException(String why, String reason) {
        super(why, reason, "plan");
    }

    /**
     * Throws a SurveyException unless a condition of a plan holds; docs/wire-format.md lists the conditions.
     *
     * @param condition what must hold
     */
    public static void requireValid(boolean condition) {
        if (!condition) {
            throw new SurveyException();
        }
    }
}
