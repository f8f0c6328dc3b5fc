package ldpbayes.survey;

/** One randomised answer. Only {@code report} leaves the device. */
public final class RandomisedReport {
    private final Question question;
    private final long[] truth;
    private final byte[] payload;
    private final byte[] report;

    RandomisedReport(Question question, long[] truth, byte[] payload, byte[] report) {
        this.question = question;
        this.truth = truth;
        this.payload = payload;
        this.report = report;
    }

    /**
     * Returns the one question that is answered.
     *
     * @return the question
     */
    public Question question() {
        return question;
    }

    /**
     * Returns the true answer, as an input of the question's mechanism.
     *
     * @return a new array
     */
    public long[] truth() {
        return truth.clone();
    }

    /**
     * Returns the randomised answer alone.
     *
     * @return a new array
     */
    public byte[] payload() {
        return payload.clone();
    }

    /**
     * Returns the whole report.
     *
     * @return a new array
     */
    public byte[] report() {
        return report.clone();
    }
}
