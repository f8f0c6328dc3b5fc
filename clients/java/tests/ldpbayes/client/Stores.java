package ldpbayes.client;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import ldpbayes.client.journal.JournalStore;

/** Stores that tests need. */
final class Stores {
    private static final AtomicInteger COUNT = new AtomicInteger();

    private Stores() {
    }

    /** Returns the store under another name, as in another process: it has another sender. */
    static JournalStore renamed(JournalStore store) {
        return named(store, store.name() + ", later run " + COUNT.incrementAndGet());
    }

    /** Returns the store under a name. */
    static JournalStore named(JournalStore store, String name) {
        return new JournalStore() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public Map<String, byte[]> read() throws IOException {
                return store.read();
            }

            @Override
            public void update(Consumer<Map<String, byte[]>> change) throws IOException {
                store.update(change);
            }
        };
    }
}
