package ldpbayes.client;

import java.util.Locale;

/** The state of a survey in this journal, or the outcome of a call; docs/embedding.md describes them. */
public enum State {
    /** The person has not agreed, or withdrew before answering; nothing was drawn or spent. */
    NO_CONSENT,
    /** The person has agreed, and the plan is on this device: {@code report} will answer. */
    READY,
    /** The person is asked in a wave that has not opened; nothing is stored or spent until then. */
    WAITING,
    /** The person's wave was over when they agreed; nothing is drawn or spent. */
    NOT_ASKED,
    /** The person's wave is over, and they did not answer in it; nothing is drawn or spent. */
    MISSED,
    /** The answer is randomised and written to the journal; the report is still to be sent. */
    QUEUED,
    /** The collector has counted the report. */
    SENT,
    /** The collector had already counted the same bytes; equivalent to SENT. */
    DUPLICATE,
    /** The collector or this client has refused the report for good; the reason gives the cause. */
    REJECTED,
    /** The survey was closed, and still a day later; the report is deleted, but may have been counted. */
    EXPIRED,
    /** The person withdrew while the report waited; it is deleted, and none is ever made in its place. */
    WITHDRAWN,
    /** This device answered the survey before; nothing was drawn or spent. */
    ALREADY_REPORTED,
    /** The answers or the token do not fit the survey; nothing was drawn or spent. */
    INVALID,
    /** The plan or journal cannot be read, or the client is closed; nothing was drawn or spent: try again. */
    UNAVAILABLE;

    /** Returns the word of the documentation, for example {@code no_consent}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
