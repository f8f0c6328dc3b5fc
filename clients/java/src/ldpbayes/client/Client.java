package ldpbayes.client;

import java.io.Closeable;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.logging.Logger;
import ldpbayes.LdpException;
import ldpbayes.RandomSource;
import ldpbayes.Reason;
import ldpbayes.SurveyException;
import ldpbayes.client.journal.JournalEntry;
import ldpbayes.client.sending.Sender;
import ldpbayes.client.sending.SenderClient;
import ldpbayes.explain.Preview;
import ldpbayes.explain.PreviewOptions;
import ldpbayes.relay.Relay;
import ldpbayes.survey.DisplayTexts;
import ldpbayes.survey.Plan;
import ldpbayes.survey.SurveyTexts;
import ldpbayes.survey.Waves;

/**
 * Answers one survey for one person on this device.
 *
 * <p>Nothing is drawn or sent before {@code grant} has recorded that the person agrees. From then on the
 * survey's plan is pinned, and {@code report} needs no network. The report is sent in the background, if
 * necessary after the next start of the application.
 *
 * <p>{@code grant}, {@code report}, {@code status}, {@code withdraw} and {@code flush} return a receipt, and
 * throw nothing unless the client is strict; docs/embedding.md lists the states. {@code plan}, {@code texts}
 * and {@code preview} always throw their errors.
 *
 * <p>Any thread may call the methods, also several at once. They block while they use the journal's file or
 * the network, so an application for Android must not call them on its main thread. The constructor uses no
 * network; it resolves the path of the journal's folder.
 */
public final class Client implements Closeable {
    private static final double EXIT_SECONDS = 2;

    private final Participation participation;
    private final Sender sender;
    private final SenderClient sending;
    private final Transport transport;
    private final String token;
    private final RandomSource random;
    private final Consumer<? super Receipt> onOutcome;
    private final BooleanSupplier optOut;
    private final boolean isStrict;
    private final String survey;
    private volatile SurveyTexts texts;
    private volatile boolean isClosed;

    /**
     * Makes a client of the survey at a URL.
     *
     * @param url the survey's URL at its collector, {@code https://host/v1/surveys/ID}; or at its relay
     * @param options the options
     * @throws OptionException if the application made a mistake
     */
    public Client(String url, ClientOptions options) {
        this(null, url, options);
    }

    /**
     * Makes a client of a plan that the application ships.
     *
     * @param plan the plan's bytes, which are checked when they are needed; null to fetch the plan
     * @param url the survey's URL, to which the report is sent
     * @param options the options
     * @throws OptionException if the application made a mistake
     */
    public Client(byte[] plan, String url, ClientOptions options) {
        if (plan != null && !options.publicKey.isEmpty()) {
            throw new OptionException("publicKey: a plan's bytes have no signature", Reason.BAD_OPTION);
        }
        SurveyIdentity identity = SurveyIdentity.ofUrl(url, options.publicKey);
        boolean isHere = identity.origin.equals(options.relay) && Relay.isUrl(SurveyIdentity.trim(url));
        if (!options.relay.isEmpty() && !isHere) {
            throw new OptionException("url: with a relay, give the survey's address at the relay, "
                + options.relay + "/ID", Reason.BAD_OPTION);
        }
        survey = identity.survey;
        transport = options.transport;
        token = options.token;
        random = options.random;
        onOutcome = options.onOutcome;
        optOut = options.optOut;
        isStrict = options.isStrict;
        participation = new Participation(identity, SurveyIdentity.trim(url), plan, options);
        sending = new SenderClient(identity, transport, options.spread(), options.inBackground,
            OptOut.test(optOut), participation.policy::accepts, this::handleOutcome);
        sender = Sender.of(participation.journal);
        receipt(() -> {
            start(false); // an earlier run may have left something to send
            return null;
        });
    }

    /** {@return the survey's id} */
    public String survey() { return survey; }

    /**
     * Returns the survey's plan, checked on first use: given, stored, or fetched.
     *
     * @return the plan
     * @throws LdpException as a strict client's {@code grant}
     */
    public Plan plan() {
        return participation.plan();
    }

    /**
     * Records that the person agrees to answer this survey with its present plan.
     *
     * <p>Call it only when the person agrees: a call at every start would undo a withdrawal. It fetches the
     * plan if this device does not have it.
     *
     * @return {@code ready}, or as {@code status} if the survey is answered already, or the person's wave is
     *     not open, or why it cannot be answered
     */
    public Receipt grant() {
        return receipt(() -> {
            requireOpen();
            participation.grant();
            if (sender.endHold(participation.identity, participation.family())) start(false);
            return status(false, "");
        });
    }

    /**
     * Records that the person no longer agrees; deletes a queued report of any round of the survey.
     *
     * <p>Only the plan names the family of the rounds: call {@code plan} first if the person never agreed to
     * this one.
     *
     * <p>If the journal cannot be written, this process does not send the report, and the next one may: call
     * it again.
     *
     * <p>With a relay, asks it to delete the report. The receipt has the reason {@code passed-on} if the
     * report has left, and {@code relay-unreachable} if the relay did not confirm: call it again.
     *
     * @return the status
     */
    public Receipt withdraw() {
        return receipt(() -> {
            SurveyIdentity identity = participation.identity;
            String family = participation.family();
            try {
                participation.journal.withdraw(identity, family);
            } catch (JournalException error) {
                sender.hold(identity, family); // it stays withdrawn in this process
                if (!error.reason().equals(Reason.JOURNAL_UNAVAILABLE)) throw error;
                throw new JournalException("the withdrawal is not recorded, and the report still waits: "
                    + "call withdraw() again; " + error.why(), Reason.JOURNAL_UNAVAILABLE);
            }
            Receipt known = status(false, "");
            return receipt(() -> {
                sender.endHold(identity, family);
                start(false); // the sender forgets the report
                Receipt answer = participation.askToDelete();
                return answer == null ? known : answer;
            }, known);
        });
    }

    /**
     * Returns the status of the survey in this journal; needs no network.
     *
     * @return the status
     */
    public Receipt status() {
        return receipt(() -> status(false, ""));
    }

    /**
     * Randomises one answer to a survey without a label; see {@link #report(Map, Object)}.
     *
     * @param row every feature by name
     * @return {@code queued}, or why nothing was drawn
     */
    public Receipt report(Map<String, ?> row) {
        return report(row, null);
    }

    /**
     * Randomises one answer, writes it to the journal, and starts sending it.
     *
     * <p>A second call for the same survey draws nothing and returns {@code already_reported}.
     *
     * @param row every feature by name: null for a missing value, a collection of the ticked choices for a
     *     feature with several answers; {@link ldpbayes.Core} lists the types
     * @param label null for a survey without a label
     * @return {@code queued}, or why nothing was drawn
     */
    public Receipt report(Map<String, ?> row, Object label) {
        Receipt receipt = receipt(() -> {
            requireOpen();
            Receipt made = participation.report(row, label);
            return made == null ? status(true, "") : made;
        });
        return receipt(() -> {
            boolean isQueued = receipt.state() == State.QUEUED;
            try {
                handleOutcome(receipt.withoutClipped()); // before the collector's answer
            } finally {
                if (isQueued || receipt.state() == State.ALREADY_REPORTED) start(isQueued);
            }
            Throwable failure = isQueued ? sender.threadFailure() : null;
            return failure == null ? receipt : receipt.withFailure(failure);
        }, receipt);
    }

    /**
     * Returns what {@code report} would do with a row of a survey without a label; see
     * {@link #preview(Map, Object, PreviewOptions)}.
     *
     * @param row as for {@code report}
     * @return the preview
     */
    public Preview preview(Map<String, ?> row) {
        return preview(row, null);
    }

    /**
     * Returns what {@code report} would do with a row; see {@link #preview(Map, Object, PreviewOptions)}.
     *
     * @param row as for {@code report}
     * @param label as for {@code report}
     * @return the preview
     */
    public Preview preview(Map<String, ?> row, Object label) {
        return preview(row, label, new PreviewOptions());
    }

    /**
     * Returns what {@code report} would do with a row, by the same steps; nothing is sent, spent or stored.
     *
     * <p>It contains the true answer: show it only to the person.
     *
     * @param row as for {@code report}
     * @param label as for {@code report}
     * @param options for example the texts of a language; the client uses its own token and source of
     *     random bytes
     * @return the preview
     * @throws ldpbayes.RowException if the row does not fit
     * @throws ldpbayes.TokenException if the token does not fit
     * @throws LdpException as {@code plan}
     */
    public Preview preview(Map<String, ?> row, Object label, PreviewOptions options) {
        Plan plan = plan();
        try {
            Waves.Wave wave = participation.findWave(plan);
            PreviewOptions own = new PreviewOptions(options).token(token).random(random).wave(wave);
            return Preview.of(plan, RowCopy.of(plan, row), RowCopy.of(label), own);
        } catch (RowCopy.ForeignException error) {
            throw Client.<RuntimeException>unchecked(error.getCause());
        }
    }

    /**
     * Returns the texts that the person reads when they are asked; they are fetched on first use.
     *
     * <p>They are plain text: never display them as HTML or Markdown.
     *
     * @param languages language tags, for example "de" or "pt-BR": the first one counts that the survey has;
     *     by default its first language
     * @return the texts
     * @throws PlanException if the collector does not send the texts of the plan
     * @throws LdpException as {@code plan}
     */
    public DisplayTexts texts(String... languages) {
        Plan plan = plan();
        if (plan.texts() != null && texts == null) {
            participation.requirePermission();
            byte[] bytes = PlanSource.fetchPage(transport, participation.url + "/texts", false,
                participation.isRelayed());
            try {
                texts = SurveyTexts.read(plan, bytes);
            } catch (SurveyException error) {
                throw new PlanException("the collector does not send the texts of this plan");
            }
        }
        return DisplayTexts.of(plan, texts, Arrays.asList(languages));
    }

    /**
     * Tries for at most 10 seconds to send the queued report now.
     *
     * @return the status
     */
    public Receipt flush() {
        return flush(10);
    }

    /**
     * Tries to send the queued report now, and waits for the collector's answer.
     *
     * <p>Sending continues in the background, unless the option {@code background} is off. Then the calling
     * thread sends, and an attempt that has begun is waited for.
     *
     * <p>The times link the reports of an application that flushes several surveys in a row.
     *
     * @param seconds the largest number of seconds to wait
     * @return the status: {@code queued} with the reason if the report still waits
     */
    public Receipt flush(double seconds) {
        return receipt(() -> {
            JournalEntry entry = participation.find();
            if (entry != null && entry.state == State.QUEUED && start(false)) {
                sender.flush(sending, entry.identity, positive(seconds));
            }
            return status(false, isClosed ? Reason.CLIENT_CLOSED : Reason.NO_ANSWER_YET);
        });
    }

    /**
     * Closes the client. A journal's last client first waits up to 2 seconds for its thread to send a report.
     *
     * <p>A process that ends without this call sends nothing more; its next run does.
     */
    @Override
    public void close() {
        close(EXIT_SECONDS);
    }

    /**
     * Closes the client.
     *
     * @param seconds the largest number of seconds to wait for an attempt to send
     */
    public void close(double seconds) {
        synchronized (sending) {
            if (isClosed) return;
            isClosed = true;
        }
        receipt(() -> {
            sender.close(sending, positive(seconds));
            return null;
        });
    }

    /** Returns seconds above 0, and 0 for all others and for NaN. */
    private static double positive(double seconds) {
        return seconds > 0 ? seconds : 0;
    }

    /** Starts sending; returns whether the client is open. */
    private boolean start(boolean hasNewReport) {
        synchronized (sending) {
            if (!isClosed) sender.start(sending, hasNewReport);
            return !isClosed;
        }
    }

    /**
     * Returns the status, or the receipt of a repeated answer; a report that waits without a known cause has
     * the reason {@code otherwise}.
     */
    private Receipt status(boolean isRepeat, String otherwise) {
        JournalEntry entry = participation.find();
        Receipt receipt = participation.status(entry, isRepeat);
        if (entry == null || entry.state != State.QUEUED) return receipt;
        LdpException forbidden = OptOut.find(optOut);
        if (forbidden != null) return waits(receipt, forbidden.reason(), forbidden.why());
        if (sender.isForbidden()) {
            return waits(receipt, Reason.DO_NOT_TRACK, "another client of this journal forbids reports");
        }
        CollectorResponse failure = sender.failureOf(entry.identity);
        if (failure != null) return waits(receipt, failure.reason, failure.why);
        boolean isExplained = !receipt.reason().isEmpty() || otherwise.isEmpty();
        return isExplained ? receipt : waits(receipt, otherwise, "the report waits to be sent");
    }

    private static Receipt waits(Receipt receipt, String reason, String why) {
        return new Receipt(receipt.state(), receipt.survey(), reason, why);
    }

    private void requireOpen() {
        if (isClosed) throw new ClosedException("this client was closed: make another");
    }

    /** Returns the receipt of a call; an exception becomes a receipt, unless the client is strict. */
    private Receipt receipt(Callable<Receipt> call) {
        return receipt(call, null);
    }

    /** Returns the receipt of a call; {@code known} is what the journal holds if the call fails, or null. */
    private Receipt receipt(Callable<Receipt> call, Receipt known) {
        try {
            return call.call();
        } catch (RowCopy.ForeignException error) {
            if (isStrict) throw Client.<RuntimeException>unchecked(error.getCause());
            return Receipt.ofForeignError(error.getCause(), survey);
        } catch (Throwable error) { // also an Error: the application's functions may throw anything
            if (isStrict) throw Client.<RuntimeException>unchecked(error);
            return known == null ? Receipt.ofError(error, survey) : known.withFailure(error);
        }
    }

    /** Throws any exception: objects in Kotlin may throw checked ones. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable error) throws E {
        throw (E) error;
    }

    private void handleOutcome(Receipt receipt) {
        try {
            onOutcome.accept(receipt);
        } catch (Throwable error) { // its text may contain anything
            Logger.getLogger("ldpbayes").severe("onOutcome failed: " + Receipt.typeName(error));
        }
    }
}
