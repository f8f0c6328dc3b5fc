package ldpbayes.client.sending;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import ldpbayes.client.SurveyIdentity;

/**
 * The clients of a sender: the open ones, and of each survey without an open one the client that was closed
 * last.
 */
final class SenderClients {
    /** The latest clients of a survey that are kept: an application may never close its clients. */
    static final int MAX_CLIENTS_PER_SURVEY = 20;

    private final List<SenderClient> open = new ArrayList<>();
    private final List<SenderClient> closed = new ArrayList<>();
    private SenderClient latest;
    /** Of the client that was closed last, if none is open; or null. */
    private BooleanSupplier lastOptOut;

    /** Adds a client; one that has just made a report is found before the others of its survey. */
    void add(SenderClient client, boolean hasNewReport) {
        if (hasNewReport) open.remove(client);
        if (!open.contains(client)) open.add(hasNewReport ? 0 : open.size(), client);
        List<SenderClient> same = select(open, client.identity);
        if (same.size() > MAX_CLIENTS_PER_SURVEY) open.remove(same.get(1));
        latest = client;
    }

    /** Closes a client; if its survey has no other open one, its policy still applies. */
    void close(SenderClient client) {
        if (!open.remove(client)) return;
        closed.removeAll(select(closed, client.identity));
        closed.add(client.closed());
        if (latest == client) latest = closed.get(closed.size() - 1);
        lastOptOut = open.isEmpty() ? client.isOptedOut : null;
    }

    boolean areAllClosed() {
        return open.isEmpty();
    }

    /** Returns whether a thread is to send for one of the open clients. */
    boolean wantThread() {
        for (SenderClient each : open) {
            if (each.isInBackground) return true;
        }
        return false;
    }

    boolean isOpen(SenderClient client) {
        return open.contains(client);
    }

    /** Returns the open clients of a survey, or else the one that was closed last. */
    List<SenderClient> find(SurveyIdentity survey) {
        List<SenderClient> found = select(open, survey);
        return found.isEmpty() ? select(closed, survey) : found;
    }

    /** Returns the client that was added last, which sends reports of surveys without a client. */
    SenderClient latest() {
        return latest;
    }

    /** Returns what says whether reports are forbidden: of the open clients, or of the one closed last. */
    List<BooleanSupplier> optOuts() {
        List<BooleanSupplier> found = new ArrayList<>();
        for (SenderClient each : open) found.add(each.isOptedOut);
        if (open.isEmpty() && lastOptOut != null) found.add(lastOptOut);
        return found;
    }

    /** Forgets a function that may hold objects of a screen: nothing is sent any more. */
    void forgetOptOut() {
        lastOptOut = null;
    }

    private static List<SenderClient> select(List<SenderClient> clients, SurveyIdentity survey) {
        List<SenderClient> found = new ArrayList<>();
        for (SenderClient each : clients) {
            if (each.identity.matches(survey)) found.add(each);
        }
        return found;
    }
}
