package ldpbayes.client;

import static ldpbayes.client.Clients.LABEL;
import static ldpbayes.client.Clients.ROW;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import ldpbayes.Bytes;
import ldpbayes.Core;
import ldpbayes.LdpException;
import ldpbayes.RandomSource;
import ldpbayes.TokenException;
import ldpbayes.client.journal.JournalEntry;
import ldpbayes.client.journal.Journals;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Randomise;
import ldpbayes.survey.Waves.Wave;
import ldpbayes.testing.MemoryStore;
import ldpbayes.testing.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A client in a survey with waves: it draws one when the person agrees, and answers in that wave alone; as
 * tests/ldp_client/test_waves.py.
 */
class WavesTest {
    private static final long DAY = 86_400;
    static final long FIRST = 30_000 * DAY;
    private static final byte[] PLAN = inWaves(Clients.PLAN, "drawn");
    private static final byte[] NOW_PLAN = inWaves(Clients.PLAN, "now");
    private static final List<Wave> WAVES = Plan.read(PLAN).waves().list();
    private static final int QUESTIONS = Plan.read(PLAN).questions().size();
    private static final String RELAY = "https://relay.example";

    private final Clients clients = new Clients();
    private final AtomicLong clock = new AtomicLong(FIRST - DAY);
    private Recorder recorder = new Recorder(PLAN);
    private MemoryStore store = new MemoryStore();

    @AfterEach
    void close() {
        recorder.setOffline(true);
        clients.close();
    }

    /** Returns a plan with three waves of 14 days, 30 days from one to the next. */
    static byte[] inWaves(byte[] plan, String assign) {
        List<Object> list = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Map<String, Object> wave = new LinkedHashMap<>();
            wave.put("closes", FIRST + (30 * i + 14) * DAY);
            wave.put("name", "wave-" + i);
            wave.put("opens", FIRST + 30 * i * DAY);
            list.add(wave);
        }
        Map<String, Object> waves = new LinkedHashMap<>();
        waves.put("assign", assign);
        waves.put("list", list);
        return Clients.changed(plan, "waves", waves);
    }

    private Client make(Consumer<ClientOptions> change) {
        ClientOptions options = Clients.options(store, recorder).spread(0);
        options.clock = clock::get;
        change.accept(options);
        return clients.keep(new Client(Clients.URL, options));
    }

    private Client make() {
        return make(options -> { });
    }

    /** Returns a source whose draws of 8 bytes are for one of three waves. */
    private static RandomSource drawing(int wave) {
        return count -> {
            byte[] bytes = RandomSource.SYSTEM.take(count);
            if (count == 8) Arrays.fill(bytes, (byte) (85 * wave + 10));
            return bytes;
        };
    }

    private JournalEntry entry() {
        return Journals.only(store);
    }

    /** Returns the wave in the journal. */
    private Wave drawn() {
        return Plan.read(PLAN).waves().find(entry().wave);
    }

    private static int indexOf(byte[] report) {
        int first = report[36] & 255;
        return first < 128 ? first : first == 0xcc ? report[37] & 255
            : (report[37] & 255) << 8 | report[38] & 255;
    }

    /** A row that must not be read. */
    private static Map<String, Object> unread() {
        return new LinkedHashMap<String, Object>(ROW) {
            private static final long serialVersionUID = 1L;

            @Override
            public Object get(Object name) {
                throw new AssertionError("the row was read");
            }
        };
    }

    @Test
    void aPersonIsAskedOnceInADrawnWave() {
        Client client = make();
        Receipt granted = client.grant();
        assertEquals("waiting (the wave " + drawn().name + " has not opened yet)", granted.toString());
        assertEquals(0, granted.epsilon());
        assertEquals(drawn().opens, granted.opens());
        assertEquals(drawn().closes, granted.closes());
        clock.set(drawn().opens - 1);
        assertEquals(State.WAITING, client.report(unread(), LABEL).state());
        assertEquals(State.WAITING, make().status().state()); // after a restart
        clock.set(drawn().opens);
        Receipt ready = client.status();
        assertEquals("ready", ready.toString());
        assertEquals(0, ready.opens() + ready.closes());
        Receipt queued = client.report(ROW, LABEL);
        assertEquals("queued", queued.state().toString());
        assertEquals(Double.parseDouble(Plan.read(PLAN).epsilon()), queued.epsilon());
        assertEquals(State.SENT, client.flush(60).state());
        assertEquals(drawn().index, indexOf(recorder.bodies().get(0)) / QUESTIONS);
        for (Wave later : WAVES) {
            clock.set(later.opens);
            assertEquals(State.ALREADY_REPORTED, client.report(ROW, LABEL).state());
        }
        assertEquals(1, recorder.bodies().size());
    }

    @Test
    void theWaveIsDrawnByTheRandomBytesOfTheGrant() {
        for (int wave = 0; wave < 3; wave++) {
            store = new MemoryStore();
            RandomSource random = drawing(wave);
            make(options -> options.random(random)).grant();
            assertEquals("wave-" + wave, entry().wave);
        }
    }

    @Test
    void aPersonWhoDoesNotAnswerInTimeHasMissedTheirWave() {
        List<State> outcomes = new ArrayList<>();
        Client client = make(options -> options.onOutcome(receipt -> outcomes.add(receipt.state())));
        client.grant();
        clock.set(drawn().closes);
        Receipt missed = client.report(unread(), LABEL);
        assertEquals("missed (the wave " + drawn().name + " is over)", missed.toString());
        assertEquals(drawn().closes, missed.closes());
        assertEquals(State.MISSED, client.grant().state());
        assertEquals(State.MISSED, client.status().state());
        clock.set(WAVES.get(2).closes + DAY);
        assertEquals(State.MISSED, client.report(ROW, LABEL).state());
        assertEquals(State.MISSED, client.flush(0).state());
        assertEquals(Arrays.asList(State.MISSED, State.MISSED), outcomes);
        assertEquals(0, recorder.bodies().size());
    }

    @Test
    void aWaveIsKeptThroughWithdrawalsAndGrants() {
        Client client = make();
        client.grant();
        String wave = entry().wave;
        for (int i = 0; i < 20; i++) {
            assertEquals(State.NO_CONSENT, client.withdraw().state());
            assertEquals(State.NO_CONSENT, client.report(unread(), LABEL).state());
            client.grant();
            assertEquals(wave, entry().wave);
        }
    }

    @Test
    void whoAgreesAfterTheirWaveIsNotAskedEvenAfterAWithdrawal() {
        clock.set(WAVES.get(2).opens);
        Client client = make(options -> options.random(drawing(0)));
        assertEquals("not_asked (the wave wave-0 was over when the person agreed)",
            client.grant().toString());
        client.withdraw();
        assertEquals(State.NO_CONSENT, client.status().state());
        Client again = make(options -> options.random(drawing(2)));
        assertEquals(State.NOT_ASKED, again.grant().state());
        assertEquals(State.NOT_ASKED, again.report(unread(), LABEL).state());
        store = new MemoryStore();
        assertEquals("ready", make(options -> options.random(drawing(2))).grant().toString());
        assertEquals(0, recorder.bodies().size());
    }

    @Test
    void clientsOfOneJournalShareOneWaveAndOneReport() throws Exception {
        List<Client> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) all.add(make(options -> options.strict(true)));
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            List<Future<Receipt>> grants = new ArrayList<>();
            for (Client each : all) grants.add(threads.submit(() -> each.grant()));
            for (Future<Receipt> each : grants) {
                long opens = each.get().opens();
                assertEquals(drawn().opens, opens);
            }
            clock.set(drawn().opens);
            List<Future<Receipt>> reports = new ArrayList<>();
            for (Client each : all) reports.add(threads.submit(() -> each.report(ROW, LABEL)));
            int queued = 0;
            for (Future<Receipt> each : reports) {
                boolean isQueued = each.get().state() == State.QUEUED;
                queued += isQueued ? 1 : 0;
                if (!isQueued) assertEquals(State.ALREADY_REPORTED, each.get().state());
            }
            assertEquals(1, queued);
        } finally {
            threads.shutdown();
        }
    }

    @Test
    void aWaveThatEndsWhileTheRowIsReadDrawsNothing() {
        for (String assign : new String[] {"drawn", "now"}) {
            store = new MemoryStore();
            recorder = new Recorder(inWaves(Clients.PLAN, assign));
            clock.set(WAVES.get(2).opens);
            Client client = make(options -> options.random(count -> {
                if (count == 16) throw new AssertionError("was drawn");
                return drawing(2).take(count);
            }));
            assertEquals(State.READY, client.grant().state());
            Receipt receipt = client.report(new LinkedHashMap<String, Object>(ROW) {
                private static final long serialVersionUID = 1L;

                @Override
                public Object get(Object name) {
                    clock.set(WAVES.get(2).closes);
                    return super.get(name);
                }
            }, LABEL);
            assertEquals("missed (the wave wave-2 is over)", receipt.toString());
            assertEquals(0, receipt.epsilon());
            assertNull(entry().report);
            assertEquals("0", entry().epsilon);
        }
    }

    @Test
    void aClockThatIsSetBackAnswersOnce() {
        Client client = make(options -> options.spread(3600)); // the report waits until flush
        client.grant();
        clock.set(drawn().opens);
        client.report(ROW, LABEL);
        byte[] made = entry().report;
        clock.set(FIRST - DAY);
        assertEquals(State.SENT, client.flush(60).state());
        client.grant();
        clock.set(drawn().opens);
        assertEquals(State.ALREADY_REPORTED, client.report(ROW, LABEL).state());
        assertEquals(1, recorder.bodies().size());
        assertArrayEquals(made, recorder.bodies().get(0));
    }

    @Test
    void nowAsksInTheOpenWave() {
        recorder = new Recorder(NOW_PLAN);
        Client client = make();
        assertEquals(WAVES.get(0).opens, client.grant().opens());
        assertEquals(JournalEntry.OPEN_WAVE, entry().wave);
        clock.set(WAVES.get(0).closes); // between two waves
        Receipt waiting = client.report(unread(), LABEL);
        assertEquals(State.WAITING, waiting.state());
        assertEquals(WAVES.get(1).opens, waiting.opens());
        clock.set(WAVES.get(1).opens);
        assertEquals(State.READY, client.status().state());
        assertEquals(State.QUEUED, client.report(ROW, LABEL).state());
        assertEquals("wave-1", entry().wave);
        client.flush(60);
        assertEquals(1, indexOf(recorder.bodies().get(0)) / QUESTIONS);
    }

    @Test
    void afterTheLastWaveNobodyIsAsked() {
        recorder = new Recorder(NOW_PLAN);
        clock.set(WAVES.get(2).closes);
        assertEquals(State.NOT_ASKED, make().grant().state());
    }

    @Test
    void aTokenNamesTheWave() {
        Map<?, ?> vectors = Clients.readVectors("tokens-waves");
        byte[] bytes = Clients.bytes((String) vectors.get("plan"));
        Plan plan = Plan.read(bytes);
        List<?> cases = (List<?>) vectors.get("cases");
        int count = plan.questions().size();
        String[] tokens = new String[3];
        for (int i = 0; i < 3; i++) tokens[i] = (String) ((Map<?, ?>) cases.get(i * count)).get("token");
        Map<String, Object> row = Clients.rowOf((Map<?, ?>) cases.get(0));
        recorder = new Recorder(bytes);
        clock.set(plan.waves().list().get(0).opens - DAY);
        String url = "https://collector.example/v1/surveys/" + plan.id();
        List<Client> invited = new ArrayList<>();
        for (String token : tokens) {
            ClientOptions options = Clients.options(store, recorder).spread(0).token(token);
            options.clock = clock::get;
            invited.add(clients.keep(new Client(url, options)));
        }
        for (int wave : new int[] {2, 1}) {
            Receipt waiting = invited.get(wave).grant();
            assertEquals(plan.waves().list().get(wave).opens, waiting.opens());
            assertEquals(plan.waves().list().get(wave).name, entry().wave);
        }
        clock.set(plan.waves().list().get(1).opens);
        Receipt refused = invited.get(0).report(row, "often");
        assertEquals("invalid invalid-token", refused.state() + " " + refused.reason());
        assertTrue(refused.why().contains("another wave"));
        assertEquals("0", entry().epsilon);
        invited.get(1).report(row, "often");
        invited.get(1).flush(60);
        assertEquals(1, recorder.bodies().size());
        assertEquals(count, indexOf(recorder.bodies().get(0)));
        assertThrows(TokenException.class, () -> Core.makeReport(
            plan, row, "often", (String) ((Map<?, ?>) cases.get(3 * count)).get("token"), drawing(0)));
    }

    @Test
    void aPreviewIsOfTheDrawnWave() {
        Client client = make(options -> options.random(drawing(1)));
        String before = client.preview(ROW, LABEL).text();
        assertTrue(before.startsWith("You are asked once, in one of "), before);
        client.grant();
        Client later = make(options -> options.random(drawing(2)));
        String after = later.preview(ROW, LABEL).text();
        assertTrue(after.startsWith("You are asked once, in the wave wave-1, from 2052-03-21 00:00 UTC to "
            + "2052-04-04 00:00 UTC. Nothing is sent in other waves.\n"), after);
        assertEquals(1, indexOf(later.preview(ROW, LABEL).report()) / QUESTIONS);
    }

    @Test
    void aSurveyWithWavesNeedsAWaveAndAnotherHasNone() {
        Plan plan = Plan.read(PLAN);
        assertThrows(LdpException.class,
            () -> Core.makeReport(plan, ROW, LABEL, null, count -> {
                throw new AssertionError("was drawn");
            }));
        Plan other = Plan.read(Clients.PLAN);
        assertThrows(LdpException.class, () -> Randomise.randomise(
            other, ROW, LABEL, null, drawing(0), WAVES.get(0)));
        assertThrows(LdpException.class, () -> plan.waves().find("wave-3"));
    }

    @Test
    void aWaveThroughARelayHasItsOwnAddressAndEnd() throws IOException {
        Map<?, ?> survey = (Map<?, ?>) ((List<?>) Clients.readVectors("envelopes").get("surveys")).get(0);
        Map<?, ?> known = (Map<?, ?>) ((List<?>) survey.get("cases")).get(0);
        byte[] plan = inWaves(relayedUntil(Clients.bytes((String) survey.get("plan"))), "drawn");
        String digest = Bytes.toHex(Bytes.sha256(plan));
        String url = RELAY + "/" + Clients.idOf(plan);
        Recorder relay = new Recorder(plan);
        List<String> requests = new ArrayList<>();
        ClientOptions options = Clients.options(store, (method, address, body, timeout) -> {
            requests.add(method + " " + address.substring(RELAY.length()));
            return relay.request(method, address, body, timeout);
        }).maxEpsilon(2).spread(0).digest(digest).relay(RELAY).random(drawing(1)).background(false);
        options.clock = clock::get;
        Client client = clients.keep(new Client(url, options));
        assertEquals(WAVES.get(1).opens, client.grant().opens());
        clock.set(WAVES.get(1).opens);
        assertEquals(State.QUEUED, client.report(Clients.rowOf(known), known.get("label")).state());
        assertEquals(WAVES.get(1).closes, entry().closes);
        byte[] envelope = entry().report;
        assertEquals(State.SENT, client.flush(60).state());
        assertNull(entry().plan);
        assertArrayEquals(envelope, entry().report);
        assertEquals("", client.withdraw().reason());
        String address = " /" + Clients.idOf(plan) + "/" + digest + "/wave-1";
        assertEquals(Arrays.asList("POST" + address, "DELETE" + address), requests.subList(1, 3));
        assertEquals(0, relay.reports().size());
        assertNull(entry().report);
    }

    /** Returns a plan whose relay has the times of the waves. */
    private static byte[] relayedUntil(byte[] plan) {
        Map<String, Object> relay = new TreeMap<>();
        ((Map<?, ?>) Clients.documentOf(plan).get("relay")).forEach((name, value) ->
            relay.put((String) name, value));
        relay.put("opens", FIRST);
        relay.put("closes", FIRST + 74 * DAY);
        return Clients.changed(plan, "relay", relay);
    }
}
