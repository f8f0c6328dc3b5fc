package ldpbayes;

/** Probability tables of a plan that would spend more than the epsilon that it states. */
public final class PrivacyException extends SurveyException {
    private static final long serialVersionUID = 1L;

    /** Describes such a plan. */
    public PrivacyException() {
        super("spends more than epsilon; take it unchanged from the collector");
    }
}
