package ldpbayes.client;

import static ldpbayes.client.Clients.LABEL;
import static ldpbayes.client.Clients.PLAN;
import static ldpbayes.client.Clients.ROW;
import static ldpbayes.client.Clients.URL;
import static ldpbayes.client.Clients.attempted;
import static ldpbayes.client.Clients.reported;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import ldpbayes.client.journal.JournalStore;
import ldpbayes.testing.MemoryStore;
import ldpbayes.testing.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Several clients of one journal, clients without a thread, and functions of the application that fail. */
class SeveralClientsTest {
    private static final String ZEROS = String.format("%064d", 0);

    private final Clients clients = new Clients();

    @AfterEach
    void close() {
        clients.close();
    }

    /** Makes a client of another survey without a family, at the collector of a host. */
    private Client other(String survey, String host, Consumer<ClientOptions> change) {
        ClientOptions options = Clients.options(clients.store, clients.recorder);
        change.accept(options);
        byte[] plan = Clients.changed(PLAN, "id", survey, "family", "rounds-" + survey);
        return clients.keep(new Client(plan, "https://" + host + "/v1/surveys/" + survey, options));
    }

    private Client diet(Consumer<ClientOptions> change) {
        ClientOptions options = Clients.options(clients.store, clients.recorder);
        change.accept(options);
        byte[] plan = Clients.changed(PLAN, "id", "diet", "family", "food");
        return clients.keep(new Client(plan, "https://collector.example/v1/surveys/diet", options));
    }

    @Test
    void aReportIsSentAlthoughAnotherClientOfItsSurveyWasClosed() {
        Client client = reported(clients.make(options -> options.spread(0.2)));
        clients.make(options -> options.transport((method, url, body, timeout) -> {
            throw new IOException("no network");
        })).close();
        Clients.await(() -> client.status().state() == State.SENT);
        assertEquals(1, clients.recorder.bodies().size());
    }

    @Test
    void theCollectorsAnswerGoesToTheClientThatMadeTheReport() {
        List<String> outcomes = Collections.synchronizedList(new ArrayList<>());
        clients.make(options -> options.onOutcome(receipt -> outcomes.add("earlier " + receipt)));
        reported(
            clients.make(options -> options.onOutcome(receipt -> outcomes.add("client " + receipt.state()))));
        Client later =
            clients.make(options -> options.onOutcome(receipt -> outcomes.add("later " + receipt)));
        assertEquals(State.SENT, later.flush(60).state());
        assertEquals(Arrays.asList("client queued", "client sent"), outcomes);
    }

    @Test
    void aReportIsSentIfOneOfTheOpenClientsOfItsSurveyAcceptsIt() {
        reported(clients.make());
        assertEquals(State.SENT, clients.make(options -> options.digest(ZEROS)).flush(60).state());
        assertEquals(1, clients.recorder.reports().size());
    }

    @Test
    void aReportWaitsIfAllOpenClientsOfItsSurveyRefuseItAlthoughAClosedOneAcceptedIt() {
        Client client = reported(clients.make());
        clients.recorder.setOffline(true);
        Client stricter = clients.make(options -> options.digest(ZEROS));
        client.close(60);
        clients.recorder.setOffline(false);
        assertEquals("plan-changed", attempted(stricter).reason());
        stricter.close(60);
        assertEquals(0, clients.recorder.bodies().size());
        assertEquals(State.SENT, clients.make().flush(60).state());
    }

    @Test
    void aReportIsSentThatATemporaryClientMade() {
        reported(clients.make(options -> options.spread(0.05)));
        Clients.await(() -> clients.recorder.reports().size() == 1);
    }

    @Test
    void clientsThatAreClosedInTurnDoNotSendRightAfterEachOther() {
        reported(clients.make(options -> options.spread(86_400))).close(60);
        reported(diet(options -> options.spread(86_400))).close(60);
        assertEquals(1, clients.recorder.reports().size());
    }

    @Test
    void flushSendsTheReportThatItNamesAndNoOther() {
        Client one = reported(clients.make(options -> options.spread(1e9)));
        Client two = reported(diet(options -> options.spread(1e9)));
        assertEquals(State.SENT, two.flush(60).state());
        assertEquals(State.QUEUED, one.status().state());
        one.close(60);
        two.close(60);
        assertEquals(1, clients.recorder.reports().size());
    }

    @Test
    void aCollectorsReasonToWaitHoldsForItsOtherSurveys() {
        clients.recorder.respond(Recorder.Behaviour.NORMAL, 0);
        Client one = reported(clients.make());
        clients.recorder.respond(Recorder.Behaviour.BUSY, 30);
        attempted(one);
        Client two = reported(diet(options -> options.transport((method, url, body, timeout) -> {
            throw new AssertionError("it must wait");
        })));
        Receipt receipt = two.flush(0.1);
        assertEquals("queued too-many-requests", receipt.state() + " " + receipt.reason());
        assertEquals(1, clients.recorder.bodies().size());
    }

    @Test
    void aFailingSurveyDoesNotDelayAnother() {
        Transport mixed = (method, url, body, timeout) -> url.contains("/diet/") || body == null
            ? clients.recorder.request(method, url, body, timeout)
            : new Transport.Response(404, Clients.bytes("{\"reason\":\"unknown-survey\"}"), 0);
        Client gone = reported(clients.make(options -> options.transport(mixed)));
        assertEquals("unknown-survey", attempted(gone).reason());
        assertEquals(State.SENT, reported(diet(options -> options.transport(mixed))).flush(60).state());
    }

    @Test
    void aTransportThatFailsInAnyWayIsNoAnswerAndSendingGoesOn() {
        List<Transport> failures = new ArrayList<>();
        failures.add((method, url, body, timeout) -> null);
        failures.add((method, url, body, timeout) -> {
            throw new AssertionError("a mistake");
        });
        failures.add((method, url, body, timeout) -> new Transport.Response(503, null, Double.NaN));
        failures.add((method, url, body, timeout) -> new Transport.Response(200, Clients.bytes("[1]"), 0));
        failures.add(
            (method, url, body, timeout) -> new Transport.Response(200, new byte[] {'"', -1, '"'}, -3));
        for (Transport failure : failures) {
            AtomicInteger posts = new AtomicInteger();
            Recorder recorder = new Recorder(PLAN);
            Transport transport = (method, url, body, timeout) ->
                (body != null && posts.getAndIncrement() == 0 ? failure : recorder).request(method, url, body,
                    timeout);
            Client client = clients.keep(new Client(URL, Clients.options(new MemoryStore(), transport)));
            assertEquals(State.SENT, reported(client).flush(60).state());
            assertEquals(2, posts.get());
        }
    }

    @Test
    void anExceptionInOnOutcomeIsLoggedByItsTypeAlone() {
        List<String> logged = Collections.synchronizedList(new ArrayList<>());
        Logger logger = Logger.getLogger("ldpbayes");
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                logged.add(record.getMessage() + record.getThrown());
            }

            @Override
            public void flush() {
                // nothing is buffered
            }

            @Override
            public void close() {
                // nothing is open
            }
        };
        logger.addHandler(handler);
        logger.setUseParentHandlers(false);
        try {
            Client client = reported(clients.make(options -> options.onOutcome(receipt -> {
                throw new IllegalStateException("a value");
            })));
            assertEquals(State.SENT, client.flush(60).state());
        } finally {
            logger.removeHandler(handler);
            logger.setUseParentHandlers(true);
        }
        assertEquals(Collections.nCopies(2, "onOutcome failed: IllegalStateExceptionnull"), logged);
    }

    @Test
    void onOutcomeMayCallTheClient() {
        Client[] client = new Client[1];
        List<String> states = Collections.synchronizedList(new ArrayList<>());
        client[0] = clients.make(options -> options.onOutcome(receipt -> {
            states.add(client[0].flush(5).state() + " " + client[0].status().state());
            if (receipt.state() == State.SENT) client[0].close();
        }));
        client[0].grant();
        client[0].report(ROW, LABEL);
        client[0].flush(5);
        Clients.await(() -> states.size() == 2);
        assertEquals("sent sent", states.get(1));
    }

    @Test
    void aReportThatWaitsForAnotherAttemptIsNotSentOnceTheApplicationForbidsIt() {
        AtomicBoolean isOptedOut = new AtomicBoolean();
        AtomicInteger posts = new AtomicInteger();
        Client client = reported(clients.make(options -> options.optOut(isOptedOut::get).spread(0.1)
            .transport((method, url, body, timeout) -> {
                if (body == null) return clients.recorder.request(method, url, null, timeout);
                posts.incrementAndGet();
                isOptedOut.set(true);
                throw new IOException("no network");
            })));
        Clients.await(isOptedOut::get);
        Clients.pause(1000);
        assertEquals("do-not-track", client.flush(0.1).reason());
        assertEquals(1, posts.get());
        assertEquals("do-not-track", client.status().reason());
        client.close(60);
        assertEquals(0, clients.recorder.bodies().size());
        isOptedOut.set(false);
        assertEquals(State.SENT, clients.make().flush(60).state());
        Client broken =
            clients.keep(new Client(URL, Clients.options(new MemoryStore(), clients.recorder).optOut(() -> {
            throw new IllegalStateException("the settings cannot be read");
        })));
        assertEquals("do-not-track", broken.grant().reason());
    }

    @Test
    void aClosedClientLeavesMemory() {
        Client client = new Client(Clients.URL, Clients.options(clients.store, clients.recorder)
            .onOutcome(new ArrayList<Receipt>()::add));
        reported(client).close(60);
        WeakReference<Client> watched = new WeakReference<>(client);
        client = null;
        Clients.await(() -> {
            System.gc();
            return watched.get() == null;
        });
    }

    @Test
    void aFlushWithoutAnEndWaitsForTheCollectorsAnswer() {
        Client client = reported(clients.make());
        assertEquals(State.SENT, client.flush(Double.POSITIVE_INFINITY).state());
    }

    @Test
    void anInterruptEndsFlushAndStays() throws Exception {
        clients.recorder.respond(Recorder.Behaviour.NORMAL, 0);
        for (boolean isInBackground : new boolean[] {true, false}) {
            MemoryStore store = new MemoryStore();
            Recorder recorder = new Recorder(PLAN);
            ClientOptions options = Clients.options(store, recorder).background(isInBackground);
            Client client = reported(clients.keep(new Client(URL, options)));
            recorder.setOffline(true);
            AtomicBoolean isInterrupted = new AtomicBoolean();
            Thread thread = new Thread(() -> {
                client.flush(60);
                isInterrupted.set(Thread.currentThread().isInterrupted());
            });
            thread.start();
            Clients.pause(100);
            thread.interrupt();
            thread.join(60_000);
            assertTrue(isInterrupted.get());
            recorder.setOffline(false);
            assertEquals(State.SENT, client.flush(60).state());
        }
    }

    // -- opt-outs and stores of several clients -----------------------------------------------------

    @Test
    void theOptOutOfAClosedClientDoesNotForbidReportsOfOpenOnes() {
        clients.make(options -> options.optOut(() -> true)).close();
        diet(options -> options.optOut(() -> {
            throw new IllegalStateException("the database was closed");
        })).close();
        assertEquals(State.SENT, reported(clients.make()).flush(60).state());
    }

    @Test
    void theOptOutOfTheLastClientHoldsWhileItsThreadEnds() {
        AtomicBoolean isOptedOut = new AtomicBoolean();
        Client client = reported(clients.make(options -> options.optOut(isOptedOut::get)));
        isOptedOut.set(true);
        client.close(60);
        assertEquals(0, clients.recorder.bodies().size());
    }

    @Test
    void theOptOutOfAnotherOpenClientIsTheReasonThatAReportWaits() {
        Client client = reported(clients.make());
        diet(options -> options.optOut(() -> true));
        long start = System.nanoTime();
        assertEquals("do-not-track", client.flush(600).reason());
        assertTrue(System.nanoTime() - start < 100e9);
        assertEquals("do-not-track", client.status().reason());
    }

    @Test
    void anOptOutOfAClosedClientLeavesMemory() {
        Object[] screen = {new Object()};
        WeakReference<Object> watched = new WeakReference<>(screen[0]);
        ClientOptions options = Clients.options(clients.store, clients.recorder);
        optionsOf(screen[0]).accept(options);
        new Client(URL, options).close(60);
        options = null;
        screen[0] = null;
        Clients.await(() -> {
            System.gc();
            return watched.get() == null;
        });
    }

    private static Consumer<ClientOptions> optionsOf(Object screen) {
        return options -> options.optOut(() -> screen.equals("never"));
    }

    @Test
    void reportsAreSentAfterAnOptOutHasEnded() {
        AtomicBoolean isOptedOut = new AtomicBoolean();
        Client client = reported(clients.make(options -> options.optOut(isOptedOut::get).spread(0.1)));
        isOptedOut.set(true);
        Clients.pause(500);
        isOptedOut.set(false);
        Clients.await(() -> clients.recorder.reports().size() == 1);
        Clients.await(() -> client.status().state() == State.SENT);
    }

    @Test
    void anErrorOfOptOutForbidsReports() {
        Client client = clients.make(options -> options.optOut(() -> {
            throw new AssertionError("a mistake");
        }));
        assertEquals("do-not-track", client.status().reason());
        assertEquals("do-not-track", client.grant().reason());
    }

    @Test
    void anErrorOfAStoreIsAReceiptAndEndsNoThread() {
        List<Throwable> uncaught = Collections.synchronizedList(new ArrayList<>());
        AtomicBoolean isBroken = new AtomicBoolean();
        JournalStore store = new JournalStore() {
            @Override
            public String name() {
                return clients.store.name();
            }

            @Override
            public Map<String, byte[]> read() throws IOException {
                if (isBroken.get()) throw new AssertionError("a mistake");
                return clients.store.read();
            }

            @Override
            public void update(Consumer<Map<String, byte[]>> change) throws IOException {
                read();
                clients.store.update(change);
            }
        };
        ClientOptions options = Clients.options(store, clients.recorder).spread(0.2);
        Client client = reported(clients.keep(new Client(URL, options)));
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> uncaught.add(error));
        try {
            isBroken.set(true);
            for (Receipt each : new Receipt[] {client.status(), client.grant(), client.report(ROW, LABEL),
                client.withdraw(), client.flush(0.5)}) {
                assertEquals("unavailable journal-unavailable", each.state() + " " + each.reason());
                assertFalse(each.why().contains("a mistake"));
            }
            Clients.pause(400); // the thread tries to send
            isBroken.set(false);
            client.grant();
            assertEquals(State.SENT, client.flush(60).state());
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(null);
        }
        assertEquals(Collections.emptyList(), uncaught);
    }

    @Test
    void theSenderUsesTheStoreOfTheLatestClient() {
        MemoryStore closed = new MemoryStore();
        JournalStore sameName = Stores.named(clients.store, closed.name());
        clients.keep(new Client(URL, Clients.options(closed, clients.recorder))).close();
        closed.setBroken(true);
        Client client = clients.keep(new Client(URL, Clients.options(sameName, clients.recorder)));
        assertEquals(State.SENT, reported(client).flush(60).state());
    }

    @Test
    void aStoreNeedsAName() {
        assertThrows(OptionException.class,
            () -> new Client(URL, Clients.options(Stores.named(clients.store, null), clients.recorder)));
    }

    // -- moments that would link reports ------------------------------------------------------------

    @Test
    void aReportThatFellDueWithoutAClientIsNotSentWhenOneIsMade() {
        Client one = reported(clients.make(options -> options.spread(1)));
        Client two = reported(diet(options -> options.spread(1)));
        one.close(60);
        two.close(60); // one report is sent, and the other one waits
        int posts = clients.recorder.bodies().size();
        Clients.pause(1100);
        other("weather", "collector.example", options -> { });
        Clients.pause(1200);
        assertEquals(posts, clients.recorder.bodies().size());
    }

    @Test
    void withoutAThreadFlushSendsNoOtherReport() {
        for (String host : new String[] {"collector.example", "down.example"}) {
            List<String> posts = Collections.synchronizedList(new ArrayList<>());
            Transport transport = (method, url, body, timeout) -> {
                posts.add(url);
                if (url.contains("down.example")) throw new IOException("no network");
                boolean isFirst = url.contains("/first");
                return new Transport.Response(isFirst ? 403 : 200,
                    Clients.bytes(isFirst ? "{\"reason\":\"wrong-plan\"}" : "{\"status\":\"recorded\"}"), 0);
            };
            Consumer<ClientOptions> change =
                options -> options.background(false).spread(0.05).transport(transport);
            String name = host.substring(0, 4);
            Client first = reported(other("first-" + name, host, change));
            Client second = reported(other("second-" + name, "collector.example", change));
            Clients.pause(200);
            while (posts.size() < 2) assertEquals(State.QUEUED, first.flush(2).state());
            for (String each : posts) assertTrue(each.contains("/first"), each);
            assertEquals(State.SENT, second.flush(60).state());
        }
    }

    @Test
    void aThreadThatOnOutcomeInterruptsSendsTheOtherReports() {
        reported(clients.make(options -> options.spread(0.05).onOutcome(receipt -> {
            if (receipt.state() == State.SENT) Thread.currentThread().interrupt();
        })));
        reported(diet(options -> options.spread(1)));
        Clients.await(() -> clients.recorder.reports().size() == 2);
    }

    // -- clients without a thread -------------------------------------------------------------------

    private static boolean hasThread() {
        Set<Thread> threads = Thread.getAllStackTraces().keySet();
        for (Thread each : threads) {
            if (each.getName().equals("ldpbayes") && each.isAlive()) return true;
        }
        return false;
    }

    @Test
    void withoutAThreadOnlyFlushSends() {
        Clients.await(() -> !hasThread()); // of other tests
        Client client = reported(clients.make(options -> options.background(false).spread(0)));
        assertFalse(hasThread());
        Clients.pause(100);
        assertEquals(0, clients.recorder.bodies().size());
        client.close(60);
        assertEquals(0, clients.recorder.bodies().size());
        List<Thread> senders = Collections.synchronizedList(new ArrayList<>());
        Client later =
            clients.make(options -> options.background(false).transport((method, url, body, timeout) -> {
            senders.add(Thread.currentThread());
            return clients.recorder.request(method, url, body, timeout);
        }));
        assertEquals(State.SENT, later.flush(60).state());
        assertEquals(Arrays.asList(Thread.currentThread()), senders);
        assertFalse(hasThread());
    }

    @Test
    void aTimeoutThatIsNoNumberIsNone() {
        clients.recorder.setOffline(true);
        for (boolean isInBackground : new boolean[] {false, true}) {
            Client client = clients.make(options -> options.background(isInBackground));
            if (!isInBackground) {
                clients.recorder.setOffline(false);
                reported(client);
                clients.recorder.setOffline(true);
            }
            assertTimeoutPreemptively(Duration.ofSeconds(60), () -> {
                assertEquals(State.QUEUED, client.flush(Double.NaN).state());
                client.close(Double.NaN);
            });
        }
    }

    @Test
    void withoutAThreadFlushTriesAgainUntilItsTimeout() {
        AtomicInteger posts = new AtomicInteger();
        Transport transport = (method, url, body, timeout) -> {
            if (body != null && posts.incrementAndGet() < 3) throw new IOException("no network");
            return clients.recorder.request(method, url, body, timeout);
        };
        Client client = reported(clients.make(options -> options.background(false).transport(transport)));
        assertEquals("queued collector-unreachable",
            client.flush(0).state() + " " + client.flush(0).reason());
        assertTrue(posts.get() >= 1);
        assertEquals(State.SENT, client.flush(60).state());
    }

    @Test
    void withoutAThreadTwoCallsOfFlushSendOneAfterTheOther() throws Exception {
        Client one = reported(clients.make(options -> options.background(false)));
        Client two = reported(diet(options -> options.background(false)));
        List<State> states = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (Client each : new Client[] {one, two, one, two}) {
            threads.add(new Thread(() -> states.add(each.flush(60).state())));
        }
        for (Thread each : threads) each.start();
        for (Thread each : threads) each.join();
        assertEquals(Collections.nCopies(4, State.SENT), states);
        assertEquals(2, clients.recorder.bodies().size());
    }

    @Test
    void aWithdrawnReportKeepsNoThread() {
        Clients.await(() -> !hasThread()); // of other tests
        Client client = reported(clients.make(options -> options.spread(1e6)));
        assertTrue(hasThread());
        assertEquals(State.WITHDRAWN, client.withdraw().state());
        Clients.await(() -> !hasThread());
        client.close(60);
        assertEquals(0, clients.recorder.bodies().size());
    }

    @Test
    void aClientWithAThreadSendsAlthoughAnotherClientHasNone() {
        Client one = reported(clients.make(options -> options.background(false).spread(0)));
        Client two = reported(diet(options -> options.spread(0)));
        Clients.await(() -> clients.recorder.reports().size() == 2);
        Clients.await(() -> one.status().state() == State.SENT && two.status().state() == State.SENT);
    }
}
