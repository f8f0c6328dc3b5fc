package ldpbayes.client.journal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Consumer;
import ldpbayes.client.State;
import ldpbayes.client.SurveyIdentity;

/** Changes journals as tests need it. */
public final class Journals {
    private Journals() {
    }

    /** Adds as many queued reports as may wait at once. */
    public static void fillQueue(JournalStore store) throws IOException {
        String[] epsilons = new String[Journal.MAX_QUEUED_REPORTS];
        Arrays.fill(epsilons, "1");
        spend(store, epsilons);
    }

    /** Adds queued reports that spent some epsilon. */
    static void spend(JournalStore store, String... epsilons) throws IOException {
        store.update(write(values -> {
            for (int number = 0; number < epsilons.length; number++) {
                String id = "other-" + number;
                SurveyIdentity identity = new SurveyIdentity(id, "https://x:1", "");
                JournalEntry entry = new JournalEntry(identity, id, "https://x:1/v1/surveys/" + id, "", null);
                values.put(identity.toString(), entry.queued(new byte[1], epsilons[number], null, null)
                    .toBytes());
            }
        }));
    }

    /** Returns the only entry of a store. */
    public static JournalEntry only(JournalStore store) {
        return new Journal(store).entries().get(0);
    }

    /** Makes the first closing of all queued surveys older. */
    public static void age(JournalStore store, long milliseconds) throws IOException {
        store.update(write(values -> {
            for (Map.Entry<String, byte[]> each : values.entrySet()) {
                JournalEntry entry = JournalEntry.ofBytes(each.getValue());
                if (entry.state != State.QUEUED) continue;
                each.setValue(entry.closedOnce(entry.closedAt - milliseconds).toBytes());
            }
        }));
    }

    private interface Write {
        void apply(Map<String, byte[]> values) throws IOException;
    }

    private static Consumer<Map<String, byte[]>> write(Write write) {
        return values -> {
            try {
                write.apply(values);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        };
    }
}
