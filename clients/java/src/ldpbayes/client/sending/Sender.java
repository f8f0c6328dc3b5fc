package ldpbayes.client.sending;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import ldpbayes.client.CollectorResponse;
import ldpbayes.client.Receipt;
import ldpbayes.client.State;
import ldpbayes.client.SurveyIdentity;
import ldpbayes.client.journal.Journal;
import ldpbayes.client.journal.JournalEntry;

/**
 * Sends the queued reports of one journal, each to the collector that it was made for, and those of earlier
 * runs.
 *
 * <p>All clients of this process that share a journal share one sender. Its thread runs while there is
 * something to send; if no client wants a thread, each call of {@code flush} sends. {@link SendingSchedule}
 * draws a time for each report. Reports are sent one at a time.
 */
public final class Sender {
    private static final double JOURNAL_RETRY_SECONDS = 30;
    private static final double OPT_OUT_SECONDS = 5;
    static final int MAX_SENDERS = 1000;
    /**
     * The senders of this process by journal, the latest last; an idle one knows its latest attempt, so the
     * latest are kept.
     */
    static final Map<String, Sender> SENDERS = new LinkedHashMap<>(16, 0.75f, true);

    private volatile Journal journal;
    private final SenderClients clients = new SenderClients();
    private final SendingSchedule schedule = new SendingSchedule(Sender::now, SendingSchedule::drawUniform);
    private final Map<SurveyIdentity, Double> newReportSpreads = new HashMap<>();
    /** The latest failures, by survey or by origin. */
    private final Map<String, CollectorResponse> failures = new HashMap<>();
    /** The families of surveys whose withdrawal could not be recorded. */
    private final Map<SurveyIdentity, String> held = new HashMap<>();
    private int readsRequested;
    private int readsDone;
    /** The thread that sends now, or null: the sender's own, or that of a call of flush. */
    private Thread runner;
    private boolean isOwnThread;
    /** Whether all clients are closed: one more report may be sent; and whether its attempt has begun. */
    private boolean isEnding;
    private boolean isLastTried;
    /** Whether the thread waits because a client forbids all reports. */
    private boolean isHeld;
    /** Why no thread could start; null if it could. */
    private Throwable threadFailure;

    private Sender(Journal journal) {
        this.journal = journal;
    }

    /**
     * Returns the sender of a journal, the same for every client of this process.
     *
     * @param journal the journal, which the sender uses from now on: an earlier store may have been closed
     * @return its sender
     */
    public static Sender of(Journal journal) {
        synchronized (SENDERS) {
            Sender sender = SENDERS.computeIfAbsent(journal.name(), name -> new Sender(journal));
            sender.journal = journal;
            Iterator<Sender> eldest = SENDERS.values().iterator();
            for (int excess = SENDERS.size() - MAX_SENDERS; excess > 0; excess--) {
                if (eldest.next().isIdle()) eldest.remove();
            }
            return sender;
        }
    }

    private synchronized boolean isIdle() {
        return runner == null && clients.areAllClosed() && held.isEmpty();
    }

    /**
     * Reads the journal again, and sends its reports.
     *
     * @param client an open client
     * @param hasNewReport whether this client has just made a report
     */
    public synchronized void start(SenderClient client, boolean hasNewReport) {
        if (isEnding) { // all clients were closed: what is left is as after a restart
            newReportSpreads.clear();
            schedule.beginRun();
        }
        clients.add(client, hasNewReport);
        if (hasNewReport) newReportSpreads.put(client.identity, client.spread);
        readsRequested++;
        isEnding = isLastTried = isHeld = false;
        if (client.isInBackground) startThread();
        notifyAll();
    }

    /**
     * Tries to send a survey's report now, and waits until its collector has responded.
     *
     * <p>The attempt does not wait for the scheduled time or a backoff. It does wait for the end of a pause
     * that the collector asked for; if that lasts longer than {@code timeout}, this method returns at once.
     *
     * @param client an open client
     * @param survey the survey
     * @param timeout largest number of seconds to wait
     */
    public void flush(SenderClient client, SurveyIdentity survey, double timeout) {
        double end = now() + timeout;
        boolean isRunner = false;
        try {
            synchronized (this) {
                if (runner == Thread.currentThread()) return; // onOutcome calls flush
                if (!client.isInBackground || threadFailure != null) {
                    while (runner != null && !isOwnThread && now() < end) await(end - now());
                    isRunner = runner == null;
                    if (isRunner) runner = Thread.currentThread();
                }
            }
            if (isRunner) readJournal();
            synchronized (this) {
                boolean isWaiting = !isRunner;
                // the thread must know the report first
                while (isWaiting && readsDone != readsRequested && isPending(survey, end)) await(end - now());
                schedule.expedite(survey);
                notifyAll();
                while (isWaiting && isPending(survey, end)) await(end - now());
            }
            if (isRunner) sendOnly(survey, end);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } finally {
            synchronized (this) {
                if (isRunner) release();
                if (isRunner && clients.wantThread()) startThread();
                schedule.endExpedite(survey);
            }
        }
    }

    /**
     * Returns why a report still waits.
     *
     * @param survey the survey
     * @return the collector's latest response; null if no attempt failed
     */
    public synchronized CollectorResponse failureOf(SurveyIdentity survey) {
        CollectorResponse own = failures.get(survey.toString());
        return own == null ? failures.get(survey.origin) : own;
    }

    /**
     * Holds the reports of all rounds of a survey back in this process: a withdrawal could not be recorded.
     *
     * @param survey the survey
     * @param family its family, as far as it is known
     */
    public synchronized void hold(SurveyIdentity survey, String family) {
        held.put(survey, family);
    }

    /**
     * Ends what {@code hold} did to any round of a survey.
     *
     * @param survey the survey
     * @param family its family, as far as it is known
     * @return whether a round was held back
     */
    public boolean endHold(SurveyIdentity survey, String family) {
        synchronized (this) {
            if (held.isEmpty()) return false;
        }
        Set<SurveyIdentity> released = new HashSet<>();
        for (JournalEntry each : journal.queuedRounds(survey, family)) {
            released.addAll(withdrawalsOf(each.identity));
        }
        synchronized (this) {
            return held.keySet().removeIf(each -> each.matches(survey) || released.contains(each));
        }
    }

    /** Returns the surveys whose withdrawal holds a report back; the journal knows the rounds of a survey. */
    private Set<SurveyIdentity> withdrawalsOf(SurveyIdentity report) {
        Map<SurveyIdentity, String> all;
        synchronized (this) {
            all = new HashMap<>(held);
        }
        all.entrySet().removeIf(withdrawn -> {
            for (JournalEntry each : journal.queuedRounds(withdrawn.getKey(), withdrawn.getValue())) {
                if (each.identity.equals(report)) return false;
            }
            return true;
        });
        return all.keySet();
    }

    /**
     * Ends a client; after the last one, the thread tries to send one report that the schedule allows.
     *
     * @param client the client
     * @param timeout largest number of seconds to wait for the thread
     */
    public synchronized void close(SenderClient client, double timeout) {
        clients.close(client);
        if (!clients.areAllClosed()) return;
        if (runner == null) clients.forgetOptOut();
        isEnding = true;
        notifyAll();
        double end = now() + timeout;
        try {
            while (runner != null && runner != Thread.currentThread() && now() < end) await(end - now());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private void startThread() {
        if (runner != null) return;
        threadFailure = null;
        try {
            schedule.redrawOverdue(now()); // the moment must not show when the application was opened
            runner = new Thread(this::run, "ldpbayes");
            runner.setDaemon(true);
            isOwnThread = true;
            runner.start();
        } catch (Throwable error) { // for example an OutOfMemoryError
            threadFailure = error;
            release(); // flush, or a later run, sends
        }
    }

    /** {@return why the sender's thread could not start; null if it could} */
    public synchronized Throwable threadFailure() { return threadFailure; }

    /** Lets another thread send. */
    private synchronized void release() {
        if (runner != null && (runner == Thread.currentThread() || !runner.isAlive())) {
            runner = null;
            isOwnThread = isHeld = false;
            if (clients.areAllClosed()) clients.forgetOptOut();
            notifyAll();
        }
    }

    /** Returns whether another thread may still send a report before a time. */
    private boolean isPending(SurveyIdentity survey, double end) {
        boolean isKnown = readsDone == readsRequested;
        boolean isWaiting = !isKnown || (schedule.contains(survey) && schedule.pauseEnd(survey) <= end);
        return isWaiting && !isHeld && runner != null && runner != Thread.currentThread() && now() < end;
    }

    /** Sends a survey's report, and no other, for a call of flush. */
    private void sendOnly(SurveyIdentity survey, double end) throws InterruptedException {
        while (readJournal() && !isForbidden()) {
            double seconds;
            synchronized (this) {
                if (isEnding || !schedule.contains(survey) || schedule.pauseEnd(survey) > end) return;
                seconds = schedule.secondsUntil(survey);
                if (seconds > 0 && now() >= end) return;
                if (seconds > 0) await(Math.min(seconds, end - now()));
            }
            if (seconds <= 0) attempt(survey);
        }
    }

    /** Sends what is due, until nothing waits. */
    private void run() {
        try {
            for (SurveyIdentity survey; (survey = awaitDue()) != null;) attempt(survey);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } catch (Throwable error) {
            // it must not end the application: a later call or run sends
        } finally {
            release();
        }
    }

    /**
     * Waits until a report is due, and returns its survey; null if the thread has ended, and was released.
     */
    private SurveyIdentity awaitDue() throws InterruptedException {
        while (true) {
            boolean isRead = readJournal();
            boolean isForbidden = isForbidden();
            Thread.interrupted(); // only a function of the application has interrupted the thread
            synchronized (this) {
                if (isRead && readsDone != readsRequested) continue;
                SurveyIdentity next = isEnding ? schedule.nextBeforeExit() : schedule.nextDue();
                boolean isLast = isEnding && (isForbidden || isLastTried || !isRead);
                if (isLast || (isRead && next == null)) {
                    release(); // at once: a new report must find no thread that ends
                    return null;
                }
                isHeld = isForbidden;
                notifyAll(); // a call of flush does not wait for what is forbidden
                double seconds = isForbidden ? OPT_OUT_SECONDS
                    : isRead ? schedule.secondsUntil(next) : JOURNAL_RETRY_SECONDS;
                if (seconds <= 0 || (isRead && isEnding)) return next;
                await(seconds);
            }
        }
    }

    /**
     * Asks the open clients whether all reports are forbidden now.
     *
     * @return whether one of them says so
     */
    public boolean isForbidden() {
        List<BooleanSupplier> questions;
        synchronized (this) {
            questions = clients.optOuts();
        }
        for (BooleanSupplier each : questions) {
            if (each.getAsBoolean()) return true;
        }
        return false;
    }

    /**
     * Reads the queued reports if that was requested, and schedules the new ones; returns whether it was
     * possible.
     */
    private boolean readJournal() {
        int request;
        synchronized (this) {
            request = readsRequested;
            if (readsDone == request) return true;
        }
        try {
            List<JournalEntry> entries = journal.entries();
            long now = System.currentTimeMillis() / 1000;
            if (entries.stream().anyMatch(each -> each.isOver(now))) journal.forgetEnvelopes(now);
            synchronized (this) {
                List<SendingSchedule.Report> queued = new ArrayList<>();
                for (JournalEntry each : entries) {
                    if (each.state == State.QUEUED) queued.add(describe(each.identity));
                }
                readsDone = request;
                schedule.update(queued);
                notifyAll();
            }
            return true;
        } catch (Throwable error) {
            return false; // another process may hold the journal
        }
    }

    private SendingSchedule.Report describe(SurveyIdentity survey) {
        Double spread = newReportSpreads.get(survey);
        List<SenderClient> found = clients.find(survey);
        double usual = found.isEmpty() ? 0 : found.get(0).spread;
        return new SendingSchedule.Report(survey, spread == null ? usual : spread, spread != null);
    }

    private void attempt(SurveyIdentity survey) {
        try {
            send(survey);
        } catch (Throwable error) { // of the journal: the next attempt sends the same bytes
            synchronized (this) {
                if (schedule.contains(survey)) schedule.reportFailed(survey, false, 0);
            }
        }
    }

    /** Sends a survey's report once; records its outcome, or draws the time of the next attempt. */
    private void send(SurveyIdentity survey) {
        JournalEntry entry = withdrawalsOf(survey).isEmpty() ? journal.findQueued(survey) : null;
        SenderClient client = entry == null ? null : beginAttempt(entry);
        if (client == null) {
            remove(survey, false); // it was withdrawn or sent; or it waits for clients that accept it
            return;
        }
        CollectorResponse response =
            CollectorResponse.post(client.transport, entry.post(), entry.report, entry.isSealed());
        synchronized (this) {
            schedule.endAttempt();
        }
        long now = System.currentTimeMillis();
        JournalEntry recorded = response.state == null ? entry
            : journal.recordOutcome(survey, response.state, response.reason, now);
        if (recorded != null && recorded.state == State.QUEUED) {
            fail(survey, response);
            return;
        }
        boolean isListening;
        synchronized (this) {
            isListening = recorded != null && recorded.isAnswered() // the journal may be a new one
                && clients.isOpen(client) && client.identity.matches(survey);
        }
        if (isListening) { // what the journal says: the person may have withdrawn meanwhile
            client.onOutcome.accept(
                new Receipt(recorded.state, survey.survey, recorded.reason, recorded.why()));
        }
        remove(survey, true);
    }

    /** Begins an attempt to send a report; returns the client to use, null if those of the survey refuse. */
    private synchronized SenderClient beginAttempt(JournalEntry entry) {
        List<SenderClient> found = clients.find(entry.identity);
        SenderClient client = found.isEmpty() ? clients.latest() : null;
        for (SenderClient each : found) {
            if (client == null && each.accepts.test(entry)) client = each;
        }
        if (client == null) return null;
        schedule.beginAttempt(entry.identity);
        isLastTried = isEnding;
        return client;
    }

    /** Draws a new time for a report, or for all reports of a collector that cannot accept any. */
    private synchronized void fail(SurveyIdentity survey, CollectorResponse response) {
        failures.remove(survey.toString());
        failures.remove(survey.origin);
        if (response.state == State.EXPIRED) {
            schedule.surveyClosed(survey);
        } else if (response.isShared()) {
            failures.put(survey.origin, response);
            schedule.collectorFailed(survey, response.retryAfter);
        } else {
            failures.put(survey.toString(), response);
            schedule.reportFailed(survey, true, response.retryAfter);
        }
        notifyAll();
    }

    private synchronized void remove(SurveyIdentity survey, boolean hasOutcome) {
        newReportSpreads.remove(survey);
        failures.remove(survey.toString());
        if (hasOutcome) failures.remove(survey.origin);
        schedule.remove(survey, hasOutcome);
        notifyAll();
    }

    private void await(double seconds) throws InterruptedException {
        wait((long) Math.max(1, Math.min(seconds * 1000, Integer.MAX_VALUE)));
    }

    private static double now() {
        return System.nanoTime() / 1e9;
    }
}
