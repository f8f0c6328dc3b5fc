package ldpbayes.client.journal;

import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Holds the entries of one person's journal; an application can give its own store, for example a table of
 * SQLite.
 *
 * <p>An entry has a key and a value, which is little longer than the survey's plan, so about 1 MiB at most.
 * The value is opaque, and contains no value of a row. Methods are called on any thread, and by several
 * threads at once.
 *
 * <p>A store must work as long as a client that uses it is open. Reports are sent with the store of the
 * latest client.
 */
public interface JournalStore {
    /**
     * Returns the name of the journal.
     *
     * @return a text that is equal for all stores of one journal, and for no other; never null
     */
    String name();

    /**
     * Returns all entries, by key.
     *
     * @return a map; it is empty if nothing was written yet
     * @throws IOException if the entries cannot be read
     */
    Map<String, byte[]> read() throws IOException;

    /**
     * Changes the entries in one transaction, which excludes those of all other threads and processes.
     *
     * <p>Calls {@code change} once, with all entries in a map. {@code change} adds, replaces and removes
     * entries. The method returns when the changes are on disk. If {@code change} throws, or the changes
     * cannot be written, nothing is changed, and the method throws.
     *
     * @param change does not wait for anything
     * @throws IOException if the entries cannot be read or written
     */
    void update(Consumer<Map<String, byte[]>> change) throws IOException;
}
