package ldpbayes.client.journal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import ldpbayes.Reason;
import ldpbayes.client.BudgetException;
import ldpbayes.client.ConsentException;
import ldpbayes.client.JournalException;
import ldpbayes.client.PlanException;
import ldpbayes.client.State;
import ldpbayes.client.SurveyIdentity;
import ldpbayes.survey.Plan;

/**
 * The journal: consent, one report per survey, and its outcome, written to the store before anything is sent.
 *
 * <p>The state of an entry changes only like this:
 *
 * <pre>
 * (none) -&gt; ready &lt;-&gt; no_consent   the person agreed to a plan; from then on its digest is pinned
 *           ready -&gt; queued        their one report is made, and its epsilon spent
 *                    queued -&gt; sent | duplicate | rejected | expired | withdrawn
 *                              sent -&gt; withdrawn         while a relay may have the report
 * </pre>
 *
 * <p>The raw row is never stored. A report is made inside the transaction that records it. So two threads or
 * processes never both randomise, and a report that was not recorded was never sent. Every method throws
 * JournalException if the store cannot be used.
 */
public final class Journal {
    /**
     * Reports that may wait at once. A waiting report is never deleted to make room: its epsilon is spent.
     */
    static final int MAX_QUEUED_REPORTS = 10_000;
    /** A report is deleted once the collector still says "closed" a day after it first did. */
    private static final long CLOSED_MILLISECONDS = 86_400_000;

    private final JournalStore store;

    /**
     * Makes the journal of a store.
     *
     * @param store holds the entries
     */
    public Journal(JournalStore store) {
        this.store = store;
    }

    /**
     * Returns the journal's name.
     *
     * @return the store's name
     */
    public String name() {
        return store.name();
    }

    /**
     * Records that the person agrees to a plan, which is pinned from now on. An answered survey stays
     * unchanged.
     *
     * @param identity the survey's identity
     * @param plan the plan
     * @param bytes the plan's bytes
     * @param url where the report will be sent
     * @param maxTotal as for {@code commit}
     * @param choose gets the entry so far, or null, and the new one; returns the new one with its wave
     */
    public void grant(SurveyIdentity identity, Plan plan, byte[] bytes, String url, BigDecimal maxTotal,
            BinaryOperator<JournalEntry> choose) {
        update(table -> {
            JournalEntry known = table.find(identity);
            if (known != null) requireDigest(plan.digest(), known.digest);
            if (known != null && known.isAnswered()) return null;
            if (table.findAnswered(identity, plan.family()) == null) requireBudget(table, plan, maxTotal);
            boolean isSigned = known == null || !identity.signer.isEmpty();
            SurveyIdentity signed = isSigned ? identity
                : new SurveyIdentity(identity.survey, identity.origin, known.identity.signer);
            JournalEntry agreed = choose.apply(
                known, new JournalEntry(signed, plan.family(), url, plan.digest(), bytes));
            table.surveyEntries(identity).forEach(table::remove);
            table.write(agreed);
            return null;
        });
    }

    /**
     * Records that the person no longer agrees; deletes a queued report of any round of the survey.
     *
     * @param identity the survey's identity
     * @param family as for {@code find}
     */
    public void withdraw(SurveyIdentity identity, String family) {
        if (find(identity, family) == null) return; // nothing is stored without consent
        update(table -> {
            for (JournalEntry each : table.surveyEntries(identity)) {
                if (each.state == State.READY) table.write(each.refused());
            }
            for (JournalEntry each : table.rounds(identity, family)) {
                // the relay may still delete what it has
                boolean isHeld = each.state == State.SENT && each.report != null;
                if (isHeld || each.state == State.QUEUED) table.write(each.ended(State.WITHDRAWN, ""));
            }
            return null;
        });
    }

    /**
     * Records what a relay responded to a withdrawal.
     *
     * @param identity the survey of the report
     * @param reason why the relay did not delete it, or an empty text
     * @param isFinal whether it makes no sense to ask again; the envelope is then deleted
     */
    public void recordWithdrawn(SurveyIdentity identity, String reason, boolean isFinal) {
        update(table -> {
            JournalEntry entry = table.entries.get(identity);
            if (entry == null || entry.state != State.WITHDRAWN) return null;
            table.write(isFinal ? entry.forgotten(reason) : entry.ended(State.WITHDRAWN, reason));
            return null;
        });
    }

    /**
     * Deletes each envelope that has an outcome, and that no withdrawal can stop any more.
     *
     * @param now seconds since the epoch
     */
    public void forgetEnvelopes(long now) {
        update(table -> {
            for (JournalEntry each : new ArrayList<>(table.entries.values())) {
                if (each.isOver(now)) table.write(each.forgotten(each.reason));
            }
            return null;
        });
    }

    /**
     * Makes and records the one report of a survey, unless its family has a report already.
     *
     * @param identity the survey's identity
     * @param plan the plan
     * @param answer returns the entry with the report, or null to make none. It is called at most once,
     *     within the transaction. It must neither wait nor read the row.
     * @param maxTotal the epsilon that all reports of this journal may spend in total, or null
     * @return whether this call made the report; if not, a survey of the family was answered before, or
     *     {@code answer} made none
     */
    public boolean commit(
            SurveyIdentity identity, Plan plan, UnaryOperator<JournalEntry> answer, BigDecimal maxTotal) {
        return update(table -> {
            JournalEntry agreed = table.find(identity);
            if (agreed != null && agreed.isAnswered()) return false;
            if (agreed != null) requireDigest(plan.digest(), agreed.digest);
            if (table.findAnswered(identity, plan.family()) != null) return false;
            requireConsent(agreed != null && agreed.state == State.READY);
            int waiting = 0;
            for (JournalEntry each : table.entries.values()) waiting += each.state == State.QUEUED ? 1 : 0;
            if (waiting >= MAX_QUEUED_REPORTS) {
                throw new JournalException("too many reports wait: call flush()", Reason.QUEUE_FULL);
            }
            requireBudget(table, plan, maxTotal);
            JournalEntry queued = answer.apply(agreed);
            if (queued != null) table.write(queued);
            return queued != null;
        });
    }

    /**
     * Records the outcome of a queued report, and deletes its bytes; an earlier outcome stays unchanged.
     *
     * <p>The collector's first {@code survey-closed} may come from a wrong clock, or from a survey that was
     * closed by mistake. The report then stays queued with the reason {@code closed-once}, and expires if the
     * collector still says so a day later. If the device's clock was set back, the day begins again.
     *
     * @param identity the survey of the report
     * @param state the outcome
     * @param reason the outcome's reason
     * @param now milliseconds since the epoch
     * @return the entry, with an earlier outcome if there is one; null if it is gone
     */
    public JournalEntry recordOutcome(SurveyIdentity identity, State state, String reason, long now) {
        return update(table -> {
            JournalEntry entry = table.entries.get(identity);
            if (entry == null || entry.state != State.QUEUED) return entry;
            boolean hasDay = entry.closedAt >= 0 && now - entry.closedAt >= CLOSED_MILLISECONDS;
            boolean isFirst = entry.closedAt < 0 || now < entry.closedAt;
            JournalEntry changed = state != State.EXPIRED || hasDay ? entry.ended(state, reason)
                : entry.closedOnce(isFirst ? now : entry.closedAt);
            table.write(changed);
            return changed;
        });
    }

    /**
     * Returns the entry of a survey, or the entry of another round of it that was answered.
     *
     * @param identity the survey's identity
     * @param family the family of the rounds, if the survey has no entry
     * @return the entry, or null if the journal has neither
     */
    public JournalEntry find(SurveyIdentity identity, String family) {
        JournalTable table = read();
        JournalEntry entry = table.find(identity);
        if (entry != null && entry.isAnswered()) return entry;
        JournalEntry answered = table.findAnswered(identity, entry == null ? family : entry.family);
        return answered == null ? entry : answered;
    }

    /**
     * Returns the queued entries of all rounds of a survey, which {@code withdraw} would delete.
     *
     * @param identity the survey's identity
     * @param family as for {@code find}
     * @return the entries
     */
    public List<JournalEntry> queuedRounds(SurveyIdentity identity, String family) {
        return read().queuedRounds(identity, family);
    }

    /**
     * Returns the queued entry of one survey at one origin.
     *
     * @param identity the survey's identity
     * @return the entry, or null if no report waits
     */
    public JournalEntry findQueued(SurveyIdentity identity) {
        JournalEntry entry = read().entries.get(identity);
        return entry != null && entry.state == State.QUEUED ? entry : null;
    }

    /**
     * Returns the entries of all surveys.
     *
     * @return the entries
     */
    public List<JournalEntry> entries() {
        return new ArrayList<>(read().entries.values());
    }

    /**
     * Throws ConsentException unless the person has agreed.
     *
     * @param isAgreed whether they have
     */
    public static void requireConsent(boolean isAgreed) {
        if (isAgreed) return;
        throw new ConsentException("no consent to this survey at this URL: call grant()", Reason.NO_CONSENT);
    }

    /**
     * Throws PlanException unless a plan is the one that the journal or the application is bound to.
     *
     * @param digest of the plan
     * @param accepted the digest of the only plan; if it is empty, any plan is accepted
     */
    public static void requireDigest(String digest, String accepted) {
        if (accepted.isEmpty() || accepted.equals(digest)) return;
        throw new PlanException("the plan has digest " + digest + ", not " + accepted
            + ": a changed survey needs a new id");
    }

    private JournalTable read() {
        try {
            return new JournalTable(store.read());
        } catch (Throwable error) {
            throw unusable(error);
        }
    }

    private <T> T update(Function<JournalTable, T> change) {
        List<T> results = new ArrayList<>();
        List<RuntimeException> refusals = new ArrayList<>();
        try {
            store.update(values -> {
                try {
                    results.add(change.apply(new JournalTable(values)));
                } catch (IOException error) {
                    throw new UncheckedIOException(error);
                } catch (RuntimeException error) {
                    refusals.add(error);
                    throw error;
                }
            });
            return results.get(0);
        } catch (Throwable error) {
            throw refusals.isEmpty() ? unusable(error) : refusals.get(0);
        }
    }

    /** Returns the journal's own exception; the message of a store's exception may contain anything. */
    static JournalException unusable(Throwable error) {
        if (error instanceof JournalException) return (JournalException) error;
        String type = error.getClass().getSimpleName();
        return new JournalException(
            "the journal cannot be used (" + type + ")", Reason.JOURNAL_UNAVAILABLE);
    }

    private static void requireBudget(JournalTable table, Plan plan, BigDecimal maxTotal) {
        if (maxTotal == null) return;
        BigDecimal total = new BigDecimal(plan.epsilon());
        for (JournalEntry each : table.entries.values()) total = total.add(new BigDecimal(each.epsilon));
        if (total.compareTo(maxTotal) > 0) {
            throw new BudgetException("all surveys would spend more than maxTotalEpsilon",
                Reason.TOTAL_EPSILON_SPENT);
        }
    }
}
