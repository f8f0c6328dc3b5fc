package ldpbayes.testing;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import ldpbayes.client.journal.JournalStore;

/** A journal in memory, for tests: each new one is the journal of another person. */
public final class MemoryStore implements JournalStore {
    private static final AtomicInteger COUNT = new AtomicInteger();

    private final String name = "memory " + COUNT.incrementAndGet();
    private Map<String, byte[]> entries = new LinkedHashMap<>();
    private boolean isBroken;

    /** Makes an empty journal. */
    public MemoryStore() {
    }

    /**
     * Sets whether every call fails, as on a disk that is full or cannot be read.
     *
     * @param isBroken whether calls fail from now on
     */
    public synchronized void setBroken(boolean isBroken) {
        this.isBroken = isBroken;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public synchronized Map<String, byte[]> read() throws IOException {
        if (isBroken) throw new IOException("the store is broken");
        return new LinkedHashMap<>(entries);
    }

    @Override
    public synchronized void update(Consumer<Map<String, byte[]>> change) throws IOException {
        Map<String, byte[]> changed = read();
        change.accept(changed);
        read(); // it may have been broken meanwhile
        entries = changed;
    }
}
