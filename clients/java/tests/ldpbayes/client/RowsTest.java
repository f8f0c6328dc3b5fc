package ldpbayes.client;

import static ldpbayes.client.Clients.LABEL;
import static ldpbayes.client.Clients.ROW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.ref.WeakReference;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import ldpbayes.LdpException;
import ldpbayes.RowException;
import ldpbayes.testing.MemoryStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Rows that do not fit, and objects of the application that fail: no value is quoted, and nothing is drawn.
 */
class RowsTest {
    private static final String SECRET = "secret-0f3b";
    private static final double NUMBER = 7.012345;

    private final Clients clients = new Clients();

    @AfterEach
    void close() {
        clients.close();
    }


    /** Throws a checked exception, too, as objects in Kotlin may. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> RuntimeException sneak(Throwable error) throws E {
        throw (E) error;
    }

    private static Map<String, Object> row(String name, Object value) {
        Map<String, Object> row = new LinkedHashMap<>(ROW);
        row.put(name, value);
        return row;
    }

    private static Map<String, Object> throwing(Throwable error) {
        return new LinkedHashMap<String, Object>(ROW) {
            private static final long serialVersionUID = 1L;

            @Override
            public Object get(Object name) {
                if (name.equals("text")) throw RowsTest.<RuntimeException>sneak(error);
                return super.get(name);
            }
        };
    }

    private static CharSequence failingText(RuntimeException error) {
        return new CharSequence() {
            @Override
            public int length() {
                return 1;
            }

            @Override
            public char charAt(int index) {
                throw error;
            }

            @Override
            public CharSequence subSequence(int start, int end) {
                throw error;
            }

            @Override
            public String toString() {
                throw error;
            }
        };
    }

    private static List<Object> failingList(RuntimeException error) {
        return new AbstractList<Object>() {
            @Override
            public Object get(int index) {
                throw error;
            }

            @Override
            public int size() {
                return 2;
            }
        };
    }

    private static List<Throwable> failures() {
        return Arrays.asList(new IllegalStateException(SECRET, new RuntimeException(SECRET)),
            new IOException(SECRET),
            new RowException("text", SECRET), new LdpException(SECRET, SECRET),
                new StackOverflowError(SECRET), new AssertionError(SECRET));
    }

    private static void requireNoValue(Receipt receipt) {
        for (String each :
            new String[] {receipt.toString(), receipt.why(), receipt.reason(), receipt.field()}) {
            assertFalse(each.contains(SECRET), each);
            assertFalse(each.contains("7.01"), each);
        }
    }

    private static void requireNoValue(Throwable error) {
        StringWriter text = new StringWriter();
        error.printStackTrace(new PrintWriter(text, true));
        assertFalse(text.toString().contains(SECRET), text.toString());
        assertFalse(text.toString().contains("7.01"), text.toString());
        assertNull(error.getCause());
        assertEquals(0, error.getSuppressed().length);
    }

    @Test
    void aRowThatDoesNotFitIsExplainedWithoutItsValues() {
        Client client = clients.make();
        client.grant();
        Object[] values = {SECRET, new StringBuilder(SECRET), NUMBER, Arrays.asList(SECRET),
            new Object[] {NUMBER},
            new Object() {
                @Override
                public String toString() {
                    return SECRET;
                }
            }, Double.POSITIVE_INFINITY, new java.math.BigDecimal("7.012345"), 'x', new int[] {7}};
        for (String name : new String[] {"text", "word", "kind"}) {
            for (Object value : values) {
                Receipt receipt = client.report(row(name, value), LABEL);
                assertEquals("invalid invalid-row " + name,
                    receipt.state() + " " + receipt.reason() + " " + receipt.field());
                requireNoValue(receipt);
            }
        }
        Receipt wrong = client.report(ROW, SECRET);
        assertEquals("invalid-row", wrong.reason());
        requireNoValue(wrong);
        assertEquals("invalid-row", client.report(null, LABEL).reason());
        assertEquals(State.READY, client.status().state());
        assertEquals(State.QUEUED, client.report(ROW, LABEL).state());
    }

    @Test
    void exceptionsOfTheApplicationsObjectsAreNotQuoted() {
        Client client = clients.make();
        client.grant();
        for (Throwable each : failures()) {
            Receipt receipt = client.report(throwing(each), LABEL);
            assertEquals("unavailable internal-error", receipt.state() + " " + receipt.reason());
            assertTrue(receipt.why().contains(each.getClass().getSimpleName()), receipt.why());
            requireNoValue(receipt);
        }
        IllegalStateException error = new IllegalStateException(SECRET);
        for (Object value :
            new Object[] {failingText(error), failingList(error), Arrays.asList(failingText(error))}) {
            Receipt receipt = client.report(row("text", value), LABEL);
            assertEquals("internal-error", receipt.reason());
            requireNoValue(receipt);
            assertEquals("internal-error", client.report(ROW, value).reason());
        }
        assertEquals(State.READY, client.status().state());
    }

    @Test
    void aStrictClientThrowsThemAsTheyAre() {
        Client client = clients.make(options -> options.strict(true));
        client.grant();
        for (Throwable each : failures()) {
            assertSame(each, assertThrows(Throwable.class, () -> client.report(throwing(each), LABEL)));
        }
    }

    @Test
    void exceptionsOfAStrictClientHaveNoValueAndNoCause() throws Exception {
        Client client = clients.make(options -> options.strict(true));
        requireNoValue(
            assertThrows(ConsentException.class, () -> client.report(row("text", SECRET), SECRET)));
        client.grant();
        requireNoValue(assertThrows(RowException.class, () -> client.report(row("text", SECRET), LABEL)));
        requireNoValue(assertThrows(RowException.class, () -> client.report(row("text", NUMBER), SECRET)));
        clients.store.setBroken(true);
        requireNoValue(assertThrows(JournalException.class, () -> client.report(ROW, LABEL)));
        clients.store.setBroken(false);
        client.close(60);
        requireNoValue(assertThrows(ClosedException.class, () -> client.report(row("text", SECRET), LABEL)));
    }

    @Test
    void anOutcomeHasNoNamesOfClippedNumbers() {
        List<Receipt> outcomes = new ArrayList<>();
        Client client = clients.make(options -> options.onOutcome(outcomes::add));
        client.grant();
        Receipt receipt = client.report(row("grid", 1e300), LABEL);
        assertEquals("queued (clipped: grid)", receipt.toString());
        assertEquals("queued", outcomes.get(0).toString());
        assertTrue(outcomes.get(0).epsilon() > 0);
    }

    @Test
    void aRowLeavesMemory() {
        Client client = clients.make();
        client.grant();
        for (String label : new String[] {"no such label", (String) LABEL}) {
            Object value = new String("a");
            Map<String, Object> row = row("text", value);
            List<WeakReference<?>> watched = Arrays.asList(new WeakReference<>(value),
                new WeakReference<>(row));
            client.report(row, label);
            value = null;
            row = null;
            for (WeakReference<?> each : watched) {
                Clients.await(() -> {
                    System.gc();
                    return each.get() == null;
                });
            }
        }
        assertEquals(State.QUEUED, client.status().state());
    }

    @Test
    void aRowThatChangesDuringTheCallIsReadOnce() {
        StringBuilder text = new StringBuilder("a");
        Client client =
            clients.keep(new Client(Clients.URL, Clients.options(new MemoryStore(), clients.recorder)
            .random(count -> {
                text.append(SECRET);
                return new byte[count];
            })));
        client.grant();
        assertEquals(State.QUEUED, client.report(row("text", text), LABEL).state());
    }
}
