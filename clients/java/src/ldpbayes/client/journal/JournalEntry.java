package ldpbayes.client.journal;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import ldpbayes.Reason;
import ldpbayes.client.State;
import ldpbayes.client.SurveyIdentity;
import ldpbayes.relay.Relay;
import ldpbayes.survey.Waves;

/** The entry of one survey in a journal; it cannot be changed. */
public final class JournalEntry {
    private static final int VERSION = 1;
    /** Of an entry whose report is sealed for a relay; the others stay as older versions read them. */
    private static final int SEALED_VERSION = 2;
    /** Of an entry of a survey with waves. */
    private static final int WAVE_VERSION = 3;
    /** The wave of a person who answers in the one that is open then; no wave has this name. */
    public static final String OPEN_WAVE = "*";
    /** How long after its end an envelope is kept: the relay needs hours, and the clock may be days ahead. */
    private static final long ENVELOPE_SECONDS = 7 * 86_400;

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
    /**
     * The report, until it is delivered or deleted; otherwise null. With a relay, the envelope, which stays
     * after the relay has taken it, so that the person can withdraw it.
     */
    public final byte[] report;
    /** The epsilon that the plan promises with its relay; empty without a sealed report. */
    public final String promise;
    /** When the relay stops, in seconds since 1970; 0 without a sealed report. In a wave, its end. */
    public final long closes;
    /**
     * The name of the person's wave, which the address at a relay contains, or {@code OPEN_WAVE}; empty
     * without waves.
     */
    public final String wave;

    /** Makes the entry of a person who has agreed to a plan. */
    JournalEntry(SurveyIdentity identity, String family, String url, String digest, byte[] plan) {
        this(identity, family, url, digest, "0", State.READY, "", -1, plan, null, "", 0, "");
    }

    private JournalEntry(SurveyIdentity identity, String family, String url, String digest, String epsilon,
            State state, String reason, long closedAt, byte[] plan, byte[] report, String promise,
            long closes, String wave) {
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
        this.promise = promise;
        this.closes = closes;
        this.wave = wave;
    }

    private JournalEntry with(String spent, State next, String why, long at, byte[] agreed, byte[] made) {
        return new JournalEntry(
            identity, family, url, digest, spent, next, why, at, agreed, made, promise, closes, wave);
    }

    /**
     * Returns this entry of a person who is asked in a wave.
     *
     * @param name the wave's name, or {@code OPEN_WAVE}
     * @param why the reason of the entry
     * @return the entry
     */
    public JournalEntry inWave(String name, String why) {
        return new JournalEntry(identity, family, url, digest, epsilon, state, why, closedAt, plan, report,
            promise, closes, name);
    }

    /** Returns the entry of a person who no longer agrees. */
    JournalEntry refused() {
        return with(epsilon, State.NO_CONSENT, reason, -1, plan, null);
    }

    /**
     * Returns this entry with its one report.
     *
     * @param made the report, or with a relay the envelope
     * @param spent the epsilon that it spends
     * @param relay the survey's relay, or null
     * @param asked the wave in which the person has answered, or null without waves
     * @return the entry
     */
    public JournalEntry queued(byte[] made, String spent, Relay relay, Waves.Wave asked) {
        long end = relay == null ? 0 : asked == null ? relay.closes() : asked.closes;
        return new JournalEntry(identity, family, url, digest, spent, State.QUEUED, "", -1, plan, made,
            relay == null ? "" : relay.epsilon(), end, asked == null ? wave : asked.name);
    }

    /** Returns this entry after the collector said that the survey is closed. */
    JournalEntry closedOnce(long at) {
        return with(epsilon, state, Reason.CLOSED_ONCE, at, plan, report);
    }

    /** Returns this entry with the outcome of its report, and without the report unless a relay has it. */
    JournalEntry ended(State outcome, String why) {
        boolean isHeld = isSealed() && (outcome == State.SENT || outcome == State.WITHDRAWN);
        return with(epsilon, outcome, why, -1, null, isHeld ? report : null);
    }

    /** Returns this entry without its report. */
    JournalEntry forgotten(String why) {
        return with(epsilon, state, why, closedAt, plan, null);
    }

    /**
     * Returns whether an envelope has an outcome, and no withdrawal can stop it any more.
     *
     * @param now seconds since the epoch
     * @return whether there is no reason to keep it
     */
    public boolean isOver(long now) {
        return isSealed() && report != null && state != State.QUEUED && closes + ENVELOPE_SECONDS <= now;
    }

    /** {@return whether the report is sealed, and sent to a relay} */
    public boolean isSealed() { return !promise.isEmpty(); }

    /** {@return the URL to which the report is posted} */
    public String post() {
        return url + "/" + (isSealed() ? digest + (wave.isEmpty() ? "" : "/" + wave) : "reports");
    }

    /** {@return what the outcome of a report for a relay means, as a sentence; or an empty text} */
    public String why() {
        if (isSealed() && state == State.SENT) {
            return report != null ? "the relay has it; it is counted when enough others have answered"
                : "the relay has passed it on, or deleted it because too few others answered";
        }
        switch (reason) {
            case Reason.CODE_MISSING: return "the survey needs a code: use the link that you received";
            case Reason.CODE_UNKNOWN:
                return "the relay did not give this code: use the link that you received";
            case Reason.CODE_USED: return "this code was used before, and the first answer counts";
            default: return "";
        }
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
        int version = in.read();
        if (version < VERSION || version > WAVE_VERSION) throw new IOException("another version");
        SurveyIdentity identity = new SurveyIdentity(in.readUTF(), in.readUTF(), in.readUTF());
        boolean isLonger = version >= SEALED_VERSION;
        return new JournalEntry(identity, in.readUTF(), in.readUTF(), in.readUTF(), in.readUTF(),
            stateOf(in.readUTF()), in.readUTF(), in.readLong(), readBytes(in), readBytes(in),
            isLonger ? in.readUTF() : "", isLonger ? in.readLong() : 0,
            version == WAVE_VERSION ? in.readUTF() : "");
    }

    /** Returns the value for a store; throws JournalException if a text is too long. */
    byte[] toBytes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        String[] texts = {identity.survey, identity.origin, identity.signer, family, url, digest, epsilon,
            state.toString(), reason};
        try {
            boolean hasWave = !wave.isEmpty();
            out.write(hasWave ? WAVE_VERSION : isSealed() ? SEALED_VERSION : VERSION);
            for (String each : texts) out.writeUTF(each);
            out.writeLong(closedAt);
            for (byte[] each : new byte[][] {plan, report}) {
                out.writeInt(each == null ? -1 : each.length);
                if (each != null) out.write(each);
            }
            if (hasWave || isSealed()) {
                out.writeUTF(promise);
                out.writeLong(closes);
            }
            if (hasWave) out.writeUTF(wave);
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
