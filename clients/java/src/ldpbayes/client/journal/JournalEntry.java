package ldpbayes.client.journal;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import ldpbayes.Reason;
import ldpbayes.client.State;
import ldpbayes.client.SurveyIdentity;

/** The entry of one survey in a journal; it cannot be changed. */
public final class JournalEntry {
    private static final int VERSION = 1;

    /**
     * The survey; id and origin are the entry's key, {@code signer} is the key that verified the plan's
     * signature.
     */
    public final SurveyIdentity identity;
    /** The survey's family. */
    public final String family;
    /** The URL that the person agreed to. */
    public final String url;
    /** The digest of the plan that they agreed to. */
    public final String digest;
    /** The epsilon that was spent: "0" until there is a report. */
    public final String epsilon;
    /** The state. */
    public final State state;
    /** Why the report was rejected or has expired; {@code closed-once} while it waits after that. */
    public final String reason;
    /** When the collector first said that the survey is closed, in milliseconds; otherwise -1. */
    public final long closedAt;
    /** The plan, until the report is delivered or deleted; then null. */
    public final byte[] plan;
    /** The report, until it is delivered or deleted; otherwise null. */
    public final byte[] report;

    /** Makes the entry of a person who has agreed to a plan. */
    JournalEntry(SurveyIdentity identity, String family, String url, String digest, byte[] plan) {
        this(identity, family, url, digest, "0", State.READY, "", -1, plan, null);
    }

    private JournalEntry(SurveyIdentity identity, String family, String url, String digest, String epsilon,
            State state, String reason, long closedAt, byte[] plan, byte[] report) {
        this.identity = identity;
        this.family = family;
        this.url = url;
        this.digest = digest;
        this.epsilon = epsilon;
        this.state = state;
        this.reason = reason;
        this.closedAt = closedAt;
        this.plan = plan;
        this.report = report;
    }

    private JournalEntry with(String spent, State next, String why, long at, byte[] agreed, byte[] made) {
        return new JournalEntry(identity, family, url, digest, spent, next, why, at, agreed, made);
    }

    /** Returns the entry of a person who no longer agrees. */
    JournalEntry refused() {
        return with(epsilon, State.NO_CONSENT, "", -1, plan, null);
    }

    /** Returns this entry with its one report, which spends an epsilon. */
    JournalEntry queued(byte[] made, String spent) {
        return with(spent, State.QUEUED, "", -1, plan, made);
    }

    /** Returns this entry after the collector said that the survey is closed. */
    JournalEntry closedOnce(long at) {
        return with(epsilon, state, Reason.CLOSED_ONCE, at, plan, report);
    }

    /** Returns this entry with the outcome of its report, and without the report. */
    JournalEntry ended(State outcome, String why) {
        return with(epsilon, outcome, why, -1, null, null);
    }

    /**
     * Returns whether the one report of the survey was made.
     *
     * @return whether it was
     */
    public boolean isAnswered() {
        return state != State.READY && state != State.NO_CONSENT;
    }

    /** Returns the entry in a store's value; throws IOException if another version wrote it. */
    static JournalEntry ofBytes(byte[] value) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(value));
        if (in.read() != VERSION) throw new IOException("another version");
        SurveyIdentity identity = new SurveyIdentity(in.readUTF(), in.readUTF(), in.readUTF());
        return new JournalEntry(identity, in.readUTF(), in.readUTF(), in.readUTF(), in.readUTF(),
            stateOf(in.readUTF()), in.readUTF(), in.readLong(), readBytes(in), readBytes(in));
    }

    /** Returns the value for a store; throws JournalException if a text is too long. */
    byte[] toBytes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        String[] texts = {identity.survey, identity.origin, identity.signer, family, url, digest, epsilon,
            state.toString(), reason};
        try {
            out.write(VERSION);
            for (String each : texts) out.writeUTF(each);
            out.writeLong(closedAt);
            for (byte[] each : new byte[][] {plan, report}) {
                out.writeInt(each == null ? -1 : each.length);
                if (each != null) out.write(each);
            }
        } catch (IOException error) {
            throw Journal.unusable(error);
        }
        return bytes.toByteArray();
    }

    private static byte[] readBytes(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0) return null;
        if (length > in.available()) throw new IOException("cut off");
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        return bytes;
    }

    private static State stateOf(String word) throws IOException {
        for (State each : State.values()) {
            if (each.toString().equals(word)) return each;
        }
        throw new IOException("another version");
    }
}
