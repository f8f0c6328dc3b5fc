package ldpbayes.survey;

/** One randomised answer. Only {@code report} leaves the device. */
public final class RandomisedReport {
    private final Question question;
    private final Waves.Wave wave;
    private final long[] truth;
    private final byte[] payload;
    private final byte[] report;

    RandomisedReport(Question question, Waves.Wave wave, long[] truth, byte[] payload, byte[] report) {
        this.question = question;
        this.wave = wave;
        this.truth = truth;
        this.payload = payload;
        this.report = report;
    }

    /** {@return the one question that is answered} */
    public Question question() { return question; }

    /** {@return the wave in which it is asked, or null without waves} */
    public Waves.Wave wave() { return wave; }

    /** {@return the true answer, as an input of the question's mechanism} */
    public long[] truth() { return truth.clone(); }

    /** {@return the randomised answer alone} */
    public byte[] payload() { return payload.clone(); }

    /** {@return the whole report} */
    public byte[] report() { return report.clone(); }
}
