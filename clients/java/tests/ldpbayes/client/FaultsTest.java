package ldpbayes.client;

import static ldpbayes.client.Clients.LABEL;
import static ldpbayes.client.Clients.ROW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.logging.Handler;
import java.util.logging.Logger;
import ldpbayes.Bytes;
import ldpbayes.RandomSource;
import ldpbayes.client.journal.JournalStore;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Each step outside of the client fails in turn: a receipt comes back, and one report is counted. */
class FaultsTest {
    private static final String SECRET = "7.123456";
    private static final List<Supplier<Throwable>> ERRORS = Arrays.asList(
        () -> new IllegalStateException(SECRET), () -> new IOException(SECRET),
        () -> new OutOfMemoryError(SECRET), () -> new AssertionError(SECRET, new Exception(SECRET)));

    /** An application of which one step fails while the fault is on. */
    private static final class Faulty {
        final Clients clients = new Clients();
        final String step;
        final Supplier<Throwable> error;
        final AtomicInteger failures = new AtomicInteger();
        volatile boolean isOn;

        Faulty(String step, Supplier<Throwable> error) {
            this.step = step;
            this.error = error;
        }

        void at(String name) {
            if (!isOn || !name.equals(step)) return;
            failures.incrementAndGet();
            throw FaultsTest.<RuntimeException>unchecked(error.get());
        }

        Client make(Consumer<ClientOptions> change) {
            return clients.make(change.andThen(options -> options.journal(store()).spread(0)
                .transport((method, url, body, timeout) -> {
                    at("transport");
                    Transport.Response response = clients.recorder.request(method, url, body, timeout);
                    at("transport after the response");
                    return isOn && step.equals("a response that is null") ? null : response;
                })
                .random(count -> {
                    at("random");
                    return RandomSource.SYSTEM.take(count);
                })
                .onOutcome(receipt -> at("onOutcome"))
                .optOut(() -> {
                    at("optOut");
                    return false;
                })));
        }

        private JournalStore store() {
            return new JournalStore() {
                @Override
                public String name() {
                    return clients.store.name();
                }

                @Override
                public Map<String, byte[]> read() throws IOException {
                    at("store.read");
                    return clients.store.read();
                }

                @Override
                public void update(Consumer<Map<String, byte[]>> change) throws IOException {
                    at("store.update");
                    clients.store.update(change);
                    at("store.update after the commit");
                }
            };
        }

        /** Runs a task on a thread that can make no thread while this step fails. */
        void run(Runnable task) {
            List<Throwable> failed = new ArrayList<>();
            Thread thread = new Thread(task) {
                @Override
                public ClassLoader getContextClassLoader() {
                    at("new Thread");
                    return super.getContextClassLoader();
                }
            };
            thread.setUncaughtExceptionHandler((each, error) -> failed.add(error));
            thread.start();
            try {
                thread.join(60_000);
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
            if (!failed.isEmpty()) throw new AssertionError(step, failed.get(0));
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable error) throws E {
        throw (E) error;
    }

    private static Receipt required(Receipt receipt) {
        assertNotNull(receipt);
        assertFalse((receipt + receipt.why() + receipt.field() + receipt.problems()).contains(SECRET));
        return receipt;
    }

    private static final List<String> STEPS = Arrays.asList("store.read", "store.update",
        "store.update after the commit", "transport", "transport after the response",
        "a response that is null", "random", "onOutcome", "optOut", "new Thread");

    private interface Check {
        void on(Faulty it);
    }

    private static List<DynamicTest> tests(Check check) {
        List<DynamicTest> tests = new ArrayList<>();
        for (String step : STEPS) {
            for (Supplier<Throwable> error : ERRORS) {
                String name = step + ", " + error.get().getClass().getSimpleName();
                tests.add(DynamicTest.dynamicTest(name, () -> {
                    Set<Throwable> uncaught = new HashSet<>();
                    Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> uncaught.add(failure));
                    Faulty it = new Faulty(step, error);
                    try {
                        it.run(() -> check.on(it));
                    } finally {
                        it.isOn = false;
                        it.clients.close();
                        Thread.setDefaultUncaughtExceptionHandler(null);
                    }
                    assertTrue(uncaught.isEmpty(), () -> uncaught.toString()); // Android would end the app
                }));
            }
        }
        return tests;
    }

    @TestFactory
    List<DynamicTest> oneReportIsMadeAndSentWhateverFails() {
        return tests(it -> {
            it.isOn = it.step.equals("new Thread"); // else the thread of the client's making may still run
            Client client = it.make(options -> { });
            required(client.grant());
            it.isOn = true;
            Receipt receipt = required(client.report(ROW, LABEL));
            if (it.step.startsWith("transport")) Clients.await(() -> it.failures.get() > 0);
            it.isOn = false;
            boolean isQueued = receipt.state() == State.QUEUED;
            assertTrue(isQueued || receipt.state() == State.UNAVAILABLE || it.step.equals("optOut"),
                receipt.toString());
            assertTrue(it.failures.get() > 0 || it.step.startsWith("a response"), "the step is never taken");
            if (it.step.equals("new Thread")) assertEquals("internal-error", receipt.reason());
            Receipt again = required(client.report(ROW, LABEL));
            if (isQueued) {
                assertTrue(receipt.epsilon() > 0);
                assertEquals(State.ALREADY_REPORTED, again.state());
            }
            Clients.await(() -> required(client.flush(5)).state() != State.QUEUED);
            State state = client.status().state();
            boolean isCounted = state == State.SENT || state == State.DUPLICATE; // a response was lost
            assertTrue(isCounted, state.toString());
            assertEquals(1, it.clients.recorder.reports().size());
            Set<String> bodies = new HashSet<>();
            for (byte[] each : it.clients.recorder.bodies()) bodies.add(Bytes.toHex(each));
            assertEquals(1, bodies.size());
        });
    }

    @TestFactory
    List<DynamicTest> everyCallReturnsAReceiptWhateverFails() {
        return tests(it -> {
            it.isOn = true;
            Client client = it.make(options -> { });
            required(client.grant());
            required(client.status());
            Map<String, Object> row = new HashMap<>(ROW);
            row.put("more", SECRET);
            required(client.report(row, LABEL));
            required(client.flush(0.01));
            required(client.withdraw());
            required(client.status());
            client.close(0.1);
        });
    }

    @Test
    void flushSendsItselfIfNoThreadCanStart() {
        Faulty it = new Faulty("new Thread", () -> new OutOfMemoryError("unable to create native thread"));
        it.run(() -> {
            it.isOn = true;
            Client client = it.make(options -> { });
            client.grant();
            Receipt receipt = client.report(ROW, LABEL);
            assertEquals("queued internal-error", receipt.state() + " " + receipt.reason());
            assertTrue(receipt.why().contains("OutOfMemoryError"));
            assertEquals(State.SENT, client.flush(60).state());
            assertEquals(State.SENT, client.status().state());
            client.close();
        });
    }

    @Test
    void anAnswerIsWithdrawnAlthoughNoThreadCanStart() {
        Faulty it = new Faulty("new Thread", () -> new OutOfMemoryError(SECRET));
        it.run(() -> {
            it.isOn = true;
            Client client = it.clients.make();
            client.grant();
            client.report(ROW, LABEL);
            assertEquals(State.WITHDRAWN, required(client.withdraw()).state());
            client.flush(0.1);
            assertTrue(it.clients.recorder.bodies().isEmpty());
            client.close();
        });
    }

    @Test
    void aLogThatFailsStopsNothing() {
        Logger logger = Logger.getLogger("ldpbayes");
        Handler broken = new StatesTest.BrokenHandler();
        logger.addHandler(broken);
        logger.setUseParentHandlers(false);
        Faulty it = new Faulty("onOutcome", () -> new IllegalStateException(SECRET));
        try {
            Client client = it.make(options -> { });
            client.grant();
            it.isOn = true;
            Receipt receipt = required(client.report(ROW, LABEL));
            assertEquals("queued internal-error", receipt.state() + " " + receipt.reason());
            assertTrue(receipt.epsilon() > 0);
            Clients.await(() -> client.status().state() == State.SENT);
            assertEquals(1, it.clients.recorder.reports().size());
        } finally {
            logger.removeHandler(broken);
            logger.setUseParentHandlers(true);
            it.clients.close();
        }
    }

    @Test
    void aStrictClientThrowsAsBefore() {
        for (String step : Arrays.asList("store.read", "store.update", "random")) {
            Faulty it = new Faulty(step, () -> new IllegalStateException(SECRET));
            Client client = it.make(options -> options.strict(true));
            client.grant();
            it.isOn = true;
            assertThrows(RuntimeException.class, () -> client.report(ROW, LABEL), step);
            it.isOn = false;
            assertEquals(State.QUEUED, client.report(ROW, LABEL).state(), step);
            assertEquals(State.SENT, client.flush(60).state(), step);
            it.clients.close();
        }
    }
}
