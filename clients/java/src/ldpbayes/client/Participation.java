package ldpbayes.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import ldpbayes.LdpException;
import ldpbayes.RandomSource;
import ldpbayes.Reason;
import ldpbayes.SurveyException;
import ldpbayes.TokenException;
import ldpbayes.client.journal.Journal;
import ldpbayes.client.journal.JournalEntry;
import ldpbayes.relay.Envelope;
import ldpbayes.relay.Relay;
import ldpbayes.survey.CodedRow;
import ldpbayes.survey.Invitation;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Randomise;
import ldpbayes.survey.Waves;

/** The checks before a client reports: opt-out, consent, the plan, the policy, the invitation. */
final class Participation {
    private static final byte[] NONE = {};

    final Journal journal;
    final ClientPolicy policy;
    final SurveyIdentity identity;
    final String url;
    /** The plan's bytes, if the application ships them; otherwise null. */
    private final byte[] source;
    private final String token;
    private final Transport transport;
    private final RandomSource random;
    private final BooleanSupplier optOut;
    private final LongSupplier clock;
    private volatile Loaded loaded;

    /** A checked plan, with its bytes. */
    private static final class Loaded {
        final Plan plan;
        final byte[] bytes;

        Loaded(Plan plan, byte[] bytes) {
            this.plan = plan;
            this.bytes = bytes;
        }
    }

    Participation(SurveyIdentity identity, String url, byte[] source, ClientOptions options) {
        this.identity = identity;
        this.url = url;
        this.source = source == null ? null : source.clone();
        journal = new Journal(options.makeStore());
        policy = new ClientPolicy(options);
        token = options.token;
        transport = options.transport;
        random = options.random;
        optOut = options.optOut;
        clock = options.clock;
    }

    boolean isRelayed() {
        return !policy.relay.isEmpty();
    }

    void requirePermission() {
        OptOut.requirePermission(optOut);
    }

    /** Returns the survey's entry, or the entry of another round that was answered; or null. */
    JournalEntry find() {
        return journal.find(identity, family());
    }

    /** Returns the family in the plan; until it is read, the survey's id, as if it were the first round. */
    String family() {
        Loaded known = loaded;
        return known == null ? identity.survey : known.plan.family();
    }

    Plan plan() {
        return load(find()).plan;
    }

    /** Returns the plan, checked on first use: given by the application, stored, or fetched. */
    private Loaded load(JournalEntry found) {
        Loaded known = loaded;
        if (known != null) return known;
        JournalEntry entry = found == null || isOtherRound(found) ? null : found;
        byte[] bytes = source;
        if (isRelayed() && bytes == null && policy.digest.isEmpty() && policy.publicKey.isEmpty()) {
            throw new TransportException("with a relay, pin the plan: give its digest, its author's "
                + "publicKey, or the plan", Reason.RELAY_UNPINNED);
        }
        if (bytes == null && entry != null && policy.isSignedBy(entry.identity.signer)) bytes = entry.plan;
        if (bytes == null) {
            requirePermission();
            bytes = PlanSource.fetchPlan(transport, url, policy.publicKey, isRelayed());
        }
        Plan plan = readPlan(bytes);
        if (!plan.id().equals(identity.survey)) throw new SurveyException("of another survey: check the URL");
        if (entry != null) Journal.requireDigest(plan.digest(), entry.digest);
        Relay relay = plan.relay() == null ? null : Relay.of(plan);
        String promise = relay != null && relay.url().equals(url) ? relay.epsilon() : "";
        policy.check(plan.digest(), plan.epsilon(), promise, policy.publicKey);
        // shows before anything is drawn that the keys and this platform can seal
        if (isRelayed()) {
            Waves.Wave first = plan.waves() == null ? null : plan.waves().list().get(0);
            Envelope.seal(plan, Collections.nCopies(Envelope.columns(plan).size(), NONE), NONE, first);
        }
        loaded = new Loaded(plan, bytes);
        return loaded;
    }

    private Plan readPlan(byte[] bytes) {
        try {
            return isRelayed() ? Relay.readPlan(bytes) : Plan.read(bytes);
        } catch (SurveyException error) {
            if (!error.reason().equals(Reason.RELAY_UNSUPPORTED)) throw error;
            String why = error.why() + ": give the option relay";
            throw new TransportException(why, Reason.RELAY_UNSUPPORTED);
        }
    }

    private boolean isOtherRound(JournalEntry entry) {
        return !entry.identity.survey.equals(identity.survey);
    }

    /** Returns whether the person has agreed to a plan of this URL and, if one is pinned, of this key. */
    private boolean isAgreed(JournalEntry entry) {
        return entry.url.equals(url) && policy.isSignedBy(entry.identity.signer);
    }

    /** Returns the receipt for a journal entry: the survey's status, or that of a repeated answer. */
    Receipt status(JournalEntry entry, boolean isRepeat) {
        if (entry == null || !entry.isAnswered()) requirePermission();
        if (entry == null || entry.state == State.NO_CONSENT) {
            return new Receipt(State.NO_CONSENT, identity.survey, Reason.NO_CONSENT, "");
        }
        if (entry.state == State.READY && !isAgreed(entry)) {
            String why = entry.url.equals(url) ? "the plan lacks the required signature: call grant() again"
                : "the consent is to send to " + entry.url + ", not to " + url + ": call grant() again";
            return new Receipt(State.NO_CONSENT, identity.survey, Reason.NO_CONSENT, why);
        }
        if (entry.state == State.READY && !entry.wave.isEmpty()) {
            Loaded known = loaded; // no policy checks the plan, because only its waves are read
            boolean isKnown = known != null && known.plan.digest().equals(entry.digest);
            Plan plan = isKnown ? known.plan : Relay.readPlan(entry.plan);
            Receipt waiting = AskedWave.describeWait(plan, entry, clock.getAsLong());
            return waiting != null ? waiting : new Receipt(State.READY, identity.survey, "", "");
        }
        boolean isOther = isOtherRound(entry);
        if (entry.state == State.QUEUED && !isOther) {
            policy.check(entry.digest, entry.epsilon, entry.promise, entry.identity.signer);
        }
        boolean isAgain = entry.state != State.WITHDRAWN && (isRepeat || isOther);
        String why = entry.reason.equals(Reason.CLOSED_ONCE)
            ? "the survey is closed; the report is deleted if it is so a day later"
            : isAgain ? "this device has answered the survey before, or another round of it" : entry.why();
        State state = isAgain ? State.ALREADY_REPORTED : entry.state;
        return new Receipt(state, entry.identity.survey, entry.reason, why);
    }

    /** Returns the wave in which the person is asked; null if it is not known, or without waves. */
    Waves.Wave findWave(Plan plan) {
        JournalEntry entry = plan.waves() == null ? null : find();
        boolean isKnown = entry != null && !isOtherRound(entry);
        return isKnown ? AskedWave.find(plan, entry, clock.getAsLong()) : null;
    }

    /** Records that the person agrees to the plan, unless the survey is answered already. */
    void grant() {
        requirePermission();
        JournalEntry entry = find();
        if (entry != null && entry.isAnswered() && !isOtherRound(entry)) return;
        Loaded given = load(entry);
        // consent without a valid invitation would be useless
        Invitation invited = Invitation.read(given.plan, token);
        journal.grant(identity, given.plan, given.bytes, url, policy.maxTotalEpsilon, (known, agreed) ->
            AskedWave.choose(given.plan, invited, known, agreed, random, clock.getAsLong()));
    }

    /**
     * Randomises what a person sends and writes it to the journal; returns null if they have answered, or if
     * their wave has ended meanwhile. The row is not read before their wave is open.
     */
    Receipt report(Map<String, ?> row, Object label) {
        requirePermission();
        JournalEntry entry = find();
        if (entry != null && entry.isAnswered()) return null;
        Journal.requireConsent(entry != null && entry.state == State.READY && isAgreed(entry));
        Plan plan = load(entry).plan;
        // all that hashes, or reads the row, is done before the journal's transaction
        Invitation invited = Invitation.read(plan, token);
        Receipt waiting = AskedWave.describeWait(plan, entry, clock.getAsLong());
        if (waiting != null) return waiting;
        CodedRow coded = plan.encode(RowCopy.of(plan, row), RowCopy.of(label));
        double epsilon = Double.parseDouble(plan.epsilon());
        Receipt queued = Receipt.queued(plan.id(), epsilon, coded.clipped());
        boolean isMade = journal.commit(identity, plan,
            agreed -> answer(plan, coded, invited, agreed), policy.maxTotalEpsilon);
        return isMade ? queued : null; // another thread or process was faster
    }

    /** Returns the entry with the report or the envelope; null if the person's wave is not open. */
    private JournalEntry answer(Plan plan, CodedRow coded, Invitation invited, JournalEntry agreed) {
        long now = clock.getAsLong();
        Waves.Wave wave = AskedWave.find(plan, agreed, now);
        if (invited != null && invited.wave() != wave) {
            throw new TokenException("is of another wave: call grant() with it when the person agrees");
        }
        if (AskedWave.describeWait(plan, agreed, now) != null) return null;
        List<byte[]> reports = new ArrayList<>();
        Randomise.randomiseAll(plan, coded, random, Invitation.inWave(invited, wave))
            .forEach(each -> reports.add(each.report()));
        if (plan.relay() == null) return agreed.queued(reports.get(0), plan.epsilon(), null, wave);
        byte[] envelope = Envelope.seal(plan, reports, Invitation.readCode(plan, token), wave);
        return agreed.queued(envelope, plan.epsilon(), Relay.of(plan), wave);
    }

    /**
     * Asks the relay to delete a report that was withdrawn, even if this process has sent nothing: another
     * one may have. Returns the answer, or null if there is nothing to delete.
     */
    Receipt askToDelete() {
        JournalEntry entry = find();
        if (entry == null || entry.state != State.WITHDRAWN || entry.report == null) return null;
        LdpException forbidden = OptOut.find(optOut);
        String reason = Reason.RELAY_UNREACHABLE;
        String why = "the relay did not confirm it: withdraw again, or it may pass the report on";
        if (forbidden != null) {
            why = "the relay was not asked to delete the report: " + forbidden.why();
        } else {
            CollectorResponse response =
                CollectorResponse.exchange(transport, "DELETE", entry.post(), entry.report, true);
            // with a code that it refuses, the relay never held the message, and never will
            if (response.status == 204 || response.reason.startsWith("code-")) {
                reason = "";
                why = "the relay does not have the report, and will not pass it on";
            } else if (response.status == 409 && response.reason.equals(Reason.PASSED_ON)) {
                reason = response.reason;
                why = "the relay has passed the report on: it cannot be taken back";
            } else if (response.state == State.EXPIRED) {
                reason = response.reason;
                why = "the relay has passed the report on, or deleted it with all others";
            }
        }
        journal.recordWithdrawn(entry.identity, reason, !reason.equals(Reason.RELAY_UNREACHABLE));
        return new Receipt(State.WITHDRAWN, entry.identity.survey, reason, why);
    }
}
