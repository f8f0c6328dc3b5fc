package ldpbayes.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import ldpbayes.LdpException;
import ldpbayes.Reason;
import ldpbayes.RowException;
import ldpbayes.RowProblem;
import ldpbayes.TokenException;
import ldpbayes.survey.Waves;

/**
 * The result of a call of a client; it contains no value of the row.
 *
 * <p>{@code field}, {@code why}, {@code problems} and {@code clipped} name the entries that did not fit: for
 * the person, not for a log.
 */
public final class Receipt {
    private final State state;
    private final String survey;
    private final String reason;
    private final String why;
    private final String field;
    private final List<RowProblem> problems;
    private final double epsilon;
    private final List<String> clipped;
    /** The person's wave, if it is not open. */
    private final Waves.Wave wave;

    private Receipt(State state, String survey, String reason, String why, String field,
            List<RowProblem> problems, double epsilon, List<String> clipped, Waves.Wave wave) {
        this.state = state;
        this.survey = survey;
        this.reason = reason;
        this.why = why;
        this.field = field;
        this.problems = problems;
        this.epsilon = epsilon;
        this.clipped = clipped;
        this.wave = wave;
    }

    /**
     * Makes the receipt of a state.
     *
     * @param state the state
     * @param survey the survey's id
     * @param reason a word of {@link Reason}, or an empty text
     * @param why the cause as a sentence, or an empty text
     */
    public Receipt(State state, String survey, String reason, String why) {
        this(state, survey, reason, why, null);
    }

    /** Makes the receipt of a person whose wave is not open. */
    Receipt(State state, String survey, String reason, String why, Waves.Wave wave) {
        this(state, survey, reason, why, "", Collections.emptyList(), 0, Collections.emptyList(), wave);
    }

    /** Returns the receipt of a report that was queued. */
    static Receipt queued(String survey, double epsilon, List<String> clipped) {
        List<String> names = Collections.unmodifiableList(new ArrayList<>(clipped));
        return new Receipt(State.QUEUED, survey, "", "", "", Collections.emptyList(), epsilon, names, null);
    }

    /** Returns the receipt of a call that threw an exception. */
    static Receipt ofError(Throwable error, String survey) {
        if (!(error instanceof LdpException)) return ofForeignError(error, survey);
        LdpException known = (LdpException) error;
        State state = stateOf(known);
        if (state != State.INVALID) return new Receipt(state, survey, known.reason(), known.getMessage());
        List<RowProblem> problems = known instanceof RowException
            ? ((RowException) known).problems() : new RowException(known.field(), known.why()).problems();
        return new Receipt(state, survey, known.reason(), known.why(), known.field(), problems, 0,
            Collections.emptyList(), null);
    }

    /** Returns the receipt of an exception whose text may contain anything, also values of the row. */
    static Receipt ofForeignError(Throwable error, String survey) {
        String why = "an unexpected " + typeName(error) + "; a strict client throws it";
        return new Receipt(State.UNAVAILABLE, survey, Reason.INTERNAL_ERROR, why);
    }

    /** Returns this receipt of what the journal holds, with the reason of an unexpected error. */
    Receipt withFailure(Throwable error) {
        Receipt failed = ofForeignError(error, survey);
        return new Receipt(state, survey, failed.reason, failed.why, field, problems, epsilon, clipped,
            wave);
    }

    private static State stateOf(LdpException error) {
        if (error instanceof RowException || error instanceof TokenException) return State.INVALID;
        if (error instanceof ConsentException) return State.NO_CONSENT;
        if (error instanceof ExpiredException) return State.EXPIRED;
        boolean isTemporary = error instanceof ClosedException || error instanceof JournalException
            || error instanceof TransportException || error.getClass() == LdpException.class;
        return isTemporary ? State.UNAVAILABLE : State.REJECTED;
    }

    /** Returns the name of an exception's class. */
    static String typeName(Throwable error) {
        String name = error.getClass().getName();
        return name.substring(name.lastIndexOf('.') + 1);
    }

    /** Returns the receipt without {@code clipped}, which is for the caller of {@code report}. */
    Receipt withoutClipped() {
        return new Receipt(state, survey, reason, why, field, problems, epsilon, Collections.emptyList(),
            wave);
    }

    /** {@return the state of the survey, or the outcome of the call} */
    public State state() { return state; }

    /** {@return the survey's id; the id of an earlier round, if that round was answered} */
    public String survey() { return survey; }

    /** {@return a stable word for why a report was rejected or still waits, or what is unavailable} */
    public String reason() { return reason; }

    /** {@return the cause as a sentence for people} */
    public String why() { return why; }

    /** {@return the feature or label that was invalid, or {@code token}; of several, the first} */
    public String field() { return field; }

    /** {@return every entry that was invalid} */
    public List<RowProblem> problems() { return problems; }

    /** {@return the epsilon that this call spent: 0 unless it queued a report} */
    public double epsilon() { return epsilon; }

    /** {@return the names of the numbers that were beyond the survey's bounds} */
    public List<String> clipped() { return clipped; }

    /** {@return when the person's wave opens, in seconds since 1970; 0 if it is open, or there is none} */
    public long opens() { return wave == null ? 0 : wave.opens; }

    /** {@return when the person's wave closes, in seconds since 1970; 0 if it is open, or there is none} */
    public long closes() { return wave == null ? 0 : wave.closes; }

    /** Returns the state and the cause in one line. */
    @Override
    public String toString() {
        StringBuilder cause = new StringBuilder();
        for (RowProblem each : problems) cause.append(cause.length() == 0 ? "" : "; ").append(each);
        if (problems.isEmpty()) {
            cause.append(reason).append(reason.isEmpty() || why.isEmpty() ? "" : ": ").append(why);
        }
        if (!clipped.isEmpty()) cause.append("clipped: ").append(String.join(", ", clipped));
        return cause.length() == 0 ? state.toString() : state + " (" + cause + ")";
    }
}
