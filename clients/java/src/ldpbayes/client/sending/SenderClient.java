package ldpbayes.client.sending;

import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import ldpbayes.client.Receipt;
import ldpbayes.client.SurveyIdentity;
import ldpbayes.client.Transport;
import ldpbayes.client.journal.JournalEntry;

/** What a sender needs of a client; the functions are called on any thread. */
public final class SenderClient {
    final SurveyIdentity identity;
    final Transport transport;
    final double spread;
    final boolean isInBackground;
    final BooleanSupplier isOptedOut;
    final Predicate<JournalEntry> accepts;
    final Consumer<Receipt> onOutcome;

    /**
     * Describes a client.
     *
     * @param identity its survey
     * @param transport sends its requests
     * @param spread the seconds within which a report is first sent
     * @param isInBackground whether a thread sends the reports, and not only {@code flush}
     * @param isOptedOut returns whether all reports are forbidden now
     * @param accepts returns whether the client's policy still accepts a queued report
     * @param onOutcome receives the outcome of the survey's report; does not throw
     */
    public SenderClient(SurveyIdentity identity, Transport transport, double spread, boolean isInBackground,
            BooleanSupplier isOptedOut, Predicate<JournalEntry> accepts, Consumer<Receipt> onOutcome) {
        this.identity = identity;
        this.transport = transport;
        this.spread = spread;
        this.isInBackground = isInBackground;
        this.isOptedOut = isOptedOut;
        this.accepts = accepts;
        this.onOutcome = onOutcome;
    }

    /** Returns this client after it was closed: its policy still applies, and it has no functions. */
    SenderClient closed() {
        return new SenderClient(identity, transport, spread, isInBackground, () -> false, accepts,
            receipt -> { });
    }
}
