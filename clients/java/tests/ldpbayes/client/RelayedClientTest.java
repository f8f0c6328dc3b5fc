package ldpbayes.client;

import static ldpbayes.client.Clients.bytes;
import static ldpbayes.client.Clients.changed;
import static ldpbayes.client.Clients.documentOf;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.security.Provider;
import java.security.Security;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import ldpbayes.Bytes;
import ldpbayes.RandomSource;
import ldpbayes.client.journal.JournalEntry;
import ldpbayes.client.journal.Journals;
import ldpbayes.relay.Relay;
import ldpbayes.testing.MemoryStore;
import ldpbayes.testing.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Surveys with a relay: which plans a client takes, and the one envelope that it sends. */
class RelayedClientTest {
    private static final String RELAY = "https://relay.example";
    private static final Map<?, ?> SURVEY =
        (Map<?, ?>) ((List<?>) Clients.readVectors("envelopes").get("surveys")).get(0);
    /** Each person answers all questions; the sum is 4.5. */
    private static final byte[] PLAN = relayed(bytes((String) SURVEY.get("plan")), "closes", 8_000_000_000L);
    private static final String URL = RELAY + "/envelopes";
    private static final Map<?, ?> CASE = (Map<?, ?>) ((List<?>) SURVEY.get("cases")).get(0);
    private static final Map<String, Object> ROW = Clients.rowOf(CASE);
    private static final String HELD = "the relay has it; it is counted when enough others have answered";

    private final Clients clients = new Clients();
    private final FakeRelay relay = new FakeRelay();
    private MemoryStore store = new MemoryStore();
    private byte[] plan = PLAN;

    @AfterEach
    void close() {
        clients.close();
    }

    /** A relay in memory. */
    private final class FakeRelay implements Transport {
        final List<String> requests = new ArrayList<>();
        final List<byte[]> posted = new ArrayList<>();
        final Set<String> held = new HashSet<>();
        /** The next answers to requests with a body; null does not answer. */
        final Deque<Transport.Response[]> answers = new ArrayDeque<>();

        void answer(int status, String content) {
            answers.add(new Transport.Response[] {new Transport.Response(status, bytes(content), 0)});
        }

        @Override
        public synchronized Response request(String method, String url, byte[] body, double timeout)
            throws IOException {
            requests.add(method + " " + url);
            if (body == null) return new Response(200, plan, 0);
            if (method.equals("POST")) posted.add(body.clone());
            if (!answers.isEmpty()) {
                Response answer = answers.remove()[0];
                if (answer == null) throw new IOException("no network");
                return answer;
            }
            if (!url.equals(URL + "/" + digest(plan))) {
                return new Response(404, bytes("{\"reason\":\"other-plan\"}"), 0);
            }
            if (method.equals("POST")) {
                held.add(Bytes.toHex(body));
                return new Response(202, bytes("{\"status\":\"held\"}"), 0);
            }
            held.remove(Bytes.toHex(body));
            return new Response(204, null, 0);
        }
    }

    private Client make() {
        return make(options -> { });
    }

    private Client make(Consumer<ClientOptions> change) {
        ClientOptions options = Clients.options(store, relay).maxEpsilon(2).spread(0)
            .digest(digest(plan)).relay(RELAY);
        change.accept(options);
        return clients.keep(new Client(URL, options));
    }

    private static String digest(byte[] plan) {
        return Bytes.toHex(Bytes.sha256(plan));
    }

    /** Returns a plan with other entries about its relay. */
    private static byte[] relayed(byte[] plan, Object... entries) {
        Map<String, Object> relay = new LinkedHashMap<>();
        ((Map<?, ?>) documentOf(plan).get("relay")).forEach((name, value) -> relay.put((String) name, value));
        for (int i = 0; i < entries.length; i += 2) relay.put((String) entries[i], entries[i + 1]);
        return changed(plan, "relay", new java.util.TreeMap<>(relay));
    }

    private Client reported(Client client) {
        assertEquals("ready", client.grant().toString());
        Receipt queued = client.report(ROW, CASE.get("label"));
        assertEquals("queued", queued.toString());
        assertEquals(4.5, queued.epsilon());
        return client;
    }

    private Client sent() {
        Client client = reported(make());
        assertEquals("sent (" + HELD + ")", client.flush(60).toString());
        return client;
    }

    private JournalEntry entry() {
        return Journals.only(store);
    }

    @Test
    void allAnswersAreOneEnvelopeForTheRelayAndNothingElseIsSentOrStored() throws IOException {
        List<String> outcomes = new ArrayList<>();
        Client client = reported(make(options -> options.background(false)
            .onOutcome(receipt -> outcomes.add(receipt.toString()))));
        byte[] envelope = entry().report;
        int inner = 0;
        for (Object each : (List<?>) CASE.get("reports")) inner += ((String) each).length() / 2 + 51;
        assertEquals(49 + inner, envelope.length);
        assertEquals("4.5", entry().epsilon);
        byte[] start = Arrays.copyOf(Bytes.sha256(PLAN), 32);
        for (byte[] stored : store.read().values()) { // a report contains the digest in binary
            assertFalse(Bytes.toHex(stored).contains("c420" + Bytes.toHex(start)));
        }
        assertEquals("sent (" + HELD + ")", client.flush(60).toString());
        assertEquals("already_reported (this device has answered the survey before, or another round of it)",
            client.report(ROW, CASE.get("label")).toString());
        client.flush(0.1);
        assertEquals(
            Arrays.asList("GET " + URL + "/plan", "POST " + URL + "/" + digest(PLAN)), relay.requests);
        assertArrayEquals(envelope, relay.posted.get(0));
        assertArrayEquals(envelope, entry().report); // for a withdrawal
        assertNull(entry().plan);
        assertEquals("sent (" + HELD + ")", outcomes.get(1));
    }

    @Test
    void everyAttemptSendsTheSameBytesUntilTheRelayHasThem() {
        relay.answers.add(new Transport.Response[] {null});
        relay.answer(503, "{\"reason\":\"store-unavailable\"}");
        relay.answer(200, "{\"status\":\"recorded\"}"); // of a collector
        relay.answer(202, "{}");
        relay.answer(429, "{\"reason\":\"network-full\"}");
        Client client = reported(make(options -> options.background(false)));
        List<String> reasons = new ArrayList<>();
        for (int i = 0; i < 5; i++) reasons.add(client.flush(0).reason());
        assertEquals(Arrays.asList("relay-unreachable", "store-unavailable", "relay-unreachable",
            "relay-unreachable", "network-full"), reasons);
        Client later = make(options -> options.background(false)); // after a restart
        assertEquals(State.SENT, later.flush(60).state());
        assertEquals(6, relay.posted.size());
        for (byte[] each : relay.posted) assertArrayEquals(relay.posted.get(0), each);
        assertEquals(1, relay.held.size());
    }

    @Test
    void whatTheRelayRefusesForGoodIsDeleted() {
        for (String reason : new String[] {"bad-seal", "other-plan", "malformed", "code-used"}) {
            store = new MemoryStore();
            relay.answer(409, "{\"reason\":\"" + reason + "\"}");
            Receipt receipt = reported(make(options -> options.background(false))).flush(60);
            assertEquals("rejected " + reason, receipt.state() + " " + receipt.reason());
            assertNull(entry().report);
        }
        assertEquals("this code was used before, and the first answer counts", entry().why());
    }

    @Test
    void aWithdrawalDeletesTheWholeEnvelopeAtTheRelay() {
        Client client = sent();
        assertEquals("withdrawn (the relay does not have the report, and will not pass it on)",
            client.withdraw().toString());
        assertEquals("DELETE " + URL + "/" + digest(PLAN), relay.requests.get(2));
        assertEquals(new HashSet<>(), relay.held);
        assertNull(entry().report);
        client.withdraw();
        assertEquals(3, relay.requests.size());
        assertEquals(State.WITHDRAWN, client.report(ROW, CASE.get("label")).state());
    }

    @Test
    void aReportThatWaitsIsDeletedAtTheRelayTooBecauseAnAttemptMayHaveReachedIt() {
        relay.answers.add(new Transport.Response[] {null});
        Client client = reported(make(options -> options.background(false)));
        client.flush(0);
        assertEquals("", client.withdraw().reason());
        assertEquals("DELETE " + URL + "/" + digest(PLAN), relay.requests.get(2));
        assertEquals(State.WITHDRAWN, client.flush(1).state());
        assertEquals(3, relay.requests.size());
    }

    @Test
    void aWithdrawalThatTheRelayDoesNotConfirmCanBeRepeated() {
        Client client = sent();
        relay.answers.add(new Transport.Response[] {null});
        assertEquals("relay-unreachable", client.withdraw().reason());
        assertEquals("relay-unreachable", client.status().reason());
        relay.answer(409, "{\"reason\":\"passed-on\"}");
        assertEquals("passed-on", make().withdraw().reason());
        assertNull(entry().report);
        assertEquals("passed-on", make().status().reason());
    }

    @Test
    void theFakeOfAnApplicationsTestsIsARelayToo() {
        Recorder recorder = new Recorder(PLAN);
        Client client = reported(make(options -> options.transport(recorder)));
        assertEquals(State.SENT, client.flush(60).state());
        assertEquals(1, recorder.reports().size());
        assertEquals("", client.withdraw().reason());
        assertEquals(0, recorder.reports().size());
    }

    @Test
    void aClosedRelayHasNothingToDelete() {
        Client client = sent();
        relay.answer(410, "{\"reason\":\"survey-closed\"}");
        assertEquals("survey-closed", client.withdraw().reason());
        assertNull(entry().report);
    }

    @Test
    void anEnvelopeIsForgottenAWeekAfterTheRelayStops() {
        long day = 86_400;
        plan = relayed(PLAN, "opens", 1L, "closes", System.currentTimeMillis() / 1000 - 8 * day);
        Client client = reported(make(options -> options.background(false)));
        assertTrue(entry().report != null); // it waits
        assertEquals(State.SENT, client.flush(60).state());
        client.flush(5);
        make(options -> options.background(false));
        Clients.await(() -> {
            make();
            return entry().report == null;
        });
        assertEquals("sent (the relay has passed it on, or deleted it because too few others answered)",
            client.status().toString());
    }

    @Test
    void aCodeIsForTheRelayAlone() {
        byte[] code = new byte[16];
        Arrays.fill(code, (byte) 7);
        byte[] check = Bytes.sha256(bytes("ldp-bayes token check\0"), Bytes.sha256(PLAN), code);
        String text = base32(Bytes.concatenate(code, Arrays.copyOf(check, 4)));
        int without = sent().status().toString().length() > 0 ? relay.posted.get(0).length : 0;
        store = new MemoryStore();
        reported(make(options -> options.token(text))).flush(60);
        assertEquals(without + 16, relay.posted.get(1).length);
        store = new MemoryStore();
        assertEquals(State.INVALID, make(options -> options.token(text.replace('a', 'b'))).grant().state());
    }

    private static String base32(byte[] bytes) {
        StringBuilder text = new StringBuilder(new java.math.BigInteger(1, bytes).toString(32));
        while (text.length() < 8 * bytes.length / 5) text.insert(0, '0');
        for (int i = 0; i < text.length(); i++) {
            text.setCharAt(i, "abcdefghijklmnopqrstuvwxyz234567".charAt(Character.digit(text.charAt(i), 32)));
        }
        return text.toString();
    }

    @Test
    void theApplicationsLimitsHoldBeforeAnythingIsDrawn() {
        refuses("unavailable relay-unpinned", options -> options.digest = "");
        refuses("unavailable relay-unsupported", options -> options.relay = "");
        refuses("rejected plan-changed", options -> options.digest(String.format("%064d", 0)));
        refuses("rejected epsilon-above-cap", options -> options.maxEpsilon(0.99));
        refuses("rejected epsilon-above-cap", options -> options.maxLocalEpsilon(4.4));
        refuses("rejected total-epsilon-spent", options -> options.maxTotalEpsilon(4.4));
        refuses("ready ", options -> options.maxEpsilon(1).maxLocalEpsilon(4.5).maxTotalEpsilon(4.5));
        for (String url : new String[] {"https://other.example/envelopes", RELAY + ":444/envelopes"}) {
            plan = relayed(PLAN, "url", url);
            refuses("rejected other-plan", options -> { });
        }
        plan = Clients.PLAN;
        refuses("rejected invalid-plan", options -> { }); // of another survey
        plan = changed(Clients.PLAN, "id", "envelopes");
        refuses("rejected other-plan", options -> { });
    }

    @Test
    void aMistakeInTheEntryOfTheRelayIsRefused() {
        String key = (String) ((Map<?, ?>) documentOf(PLAN).get("relay")).get("collector_key");
        byte[] low = Base64.getDecoder().decode(key);
        Arrays.fill(low, 3, 35, (byte) 0);
        byte[] suite = Base64.getDecoder().decode(key);
        suite[38] = 2;
        Object[][] mistakes = {
            {"batch", 100L}, {"honest", "0.02"}, {"epsilon", "0.1"},
            {"delta", "0.000000001", "epsilon", "0.3"},
            {"url", RELAY + "/other"}, {"url", URL + "/"}, {"url", RELAY + "/x/envelopes"},
            {"url", "http://relay.example/envelopes"}, {"url", RELAY + ":99999/envelopes"}, {"url", null},
            {"batch", 1L}, {"batch", "2000"}, {"batch", true}, {"batch", 10_000_001L}, {"honest", "0.0001"},
            {"honest", "1.01"}, {"honest", "-0.73"}, {"honest", "0.730"}, {"honest", "1e-1"}, {"honest", 1L},
            {"epsilon", "0.0009"}, {"epsilon", "32.1"}, {"epsilon", "1.0"}, {"delta", "0.0000000009"},
            {"delta", "0.00002"}, {"delta", "1e-6"}, {"opens", 8_000_000_000L}, {"opens", "1700000000"},
            {"opens", 0L}, {"closes", 1L << 33}, {"relay_key", key}, {"relay_key", ""}, {"relay_key", null},
            {"collector_key", key.substring(1)}, {"collector_key", key + "\n"}, {"ask", "one"}, {"mail", ""},
            {"collector_key", Base64.getEncoder().encodeToString(suite)},
            {"collector_key", Base64.getEncoder().encodeToString(low)},
            {"relay_key", Base64.getEncoder().encodeToString(low)},
        };
        for (Object[] each : mistakes) {
            plan = relayed(PLAN, each);
            refuses("rejected invalid-plan", options -> { });
        }
    }

    @Test
    void aPlatformThatCannotSealDrawsNothing() {
        List<Provider> removed = new ArrayList<>();
        for (Provider each : Security.getProviders()) {
            if (each.getService("KeyAgreement", "XDH") != null) removed.add(each);
        }
        try {
            removed.forEach(each -> Security.removeProvider(each.getName()));
            refuses("unavailable relay-unsupported", options -> { });
        } finally {
            removed.forEach(Security::addProvider);
        }
    }

    /** Grants and reports, and checks that nothing is drawn or posted unless the person may answer. */
    private void refuses(String expected, Consumer<ClientOptions> change) {
        store = new MemoryStore();
        relay.requests.clear();
        AtomicInteger draws = new AtomicInteger();
        Client client = make(options -> {
            options.random(count -> {
                draws.incrementAndGet();
                return RandomSource.SYSTEM.take(count);
            }).background(false);
            change.accept(options);
        });
        Receipt receipt = client.grant();
        String shown = receipt.state() + " " + receipt.reason();
        assertEquals(expected, shown, () -> receipt + " " + documentOf(plan).get("relay"));
        if (receipt.state() == State.READY) return;
        assertEquals(State.NO_CONSENT, client.report(ROW, CASE.get("label")).state());
        assertEquals(0, draws.get());
        for (String each : relay.requests) assertTrue(each.startsWith("GET " + RELAY + "/"), each);
    }

    @Test
    void theAddressAtTheRelayIsNeededAndARelayIsAnOrigin() {
        for (String url : new String[] {"https://collector.example/v1/surveys/envelopes",
            RELAY + "/v1/surveys/envelopes", "https://relay.example:444/envelopes"}) {
            OptionException error = assertThrows(OptionException.class,
                () -> new Client(url, Clients.options(new MemoryStore(), relay).relay(RELAY)));
            assertTrue(error.getMessage().contains(RELAY + "/ID"), error.getMessage());
        }
        for (String each : new String[] {"relay.example", RELAY + "/x", "http://relay.example", null, ""}) {
            assertThrows(OptionException.class, () -> new ClientOptions().relay(each), each);
        }
        assertEquals(RELAY, new ClientOptions().relay(RELAY + ":443/").relay);
        assertEquals(3600, new ClientOptions().relay(RELAY).spread());
        assertEquals(2, new ClientOptions().spread());
        assertThrows(OptionException.class, () -> new ClientOptions().maxLocalEpsilon(0));
    }

    @Test
    void aStricterClientDoesNotSendTheEnvelopeOfAnEarlierRun() {
        reported(make(options -> options.background(false))).close();
        for (Consumer<ClientOptions> stricter : Arrays.<Consumer<ClientOptions>>asList(
            options -> options.maxLocalEpsilon(4), options -> options.maxEpsilon(0.5),
            options -> options.relay = "")) {
            Client client = make(options -> stricter.accept(options.background(false)));
            client.flush(1);
            client.close();
            assertEquals(0, relay.posted.size());
        }
        assertEquals(State.SENT, make().flush(60).state());
    }

    @Test
    void ofASurveyThatAsksOneQuestionOneReportIsSealed() {
        Map<String, Object> relayEntry = new java.util.TreeMap<>();
        ((Map<?, ?>) documentOf(PLAN).get("relay")).forEach((name, value) -> {
            if (!name.equals("ask")) relayEntry.put((String) name, value);
        });
        Map<?, ?> vectors = Clients.readVectors("good-the-0.25");
        relayEntry.put("batch", 10_000L);
        plan = changed(bytes((String) vectors.get("plan")), "id", "envelopes", "relay", relayEntry);
        Client client = make(options -> options.background(false));
        assertEquals("ready", client.grant().toString());
        Map<?, ?> first = Clients.firstCase(vectors);
        Receipt queued = client.report(Clients.rowOf(first), first.get("label"));
        assertEquals("queued 4.0", queued + " " + queued.epsilon());
        assertEquals(State.SENT, client.flush(60).state());
        int longest = 0; // all messages have one length, whatever the question
        for (Object each : (List<?>) vectors.get("cases")) {
            longest = Math.max(longest, ((String) ((Map<?, ?>) each).get("report")).length() / 2);
        }
        assertEquals(100 + longest, relay.posted.get(0).length);
        plan = relayed(plan, "epsilon", "0.1");
        assertThrows(ldpbayes.PrivacyException.class, () -> Relay.readPlan(plan));
    }
}
