package ldpbayes.client;

import static ldpbayes.client.Clients.LABEL;
import static ldpbayes.client.Clients.PLAN;
import static ldpbayes.client.Clients.ROW;
import static ldpbayes.client.Clients.responding;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import ldpbayes.client.journal.FileStore;
import ldpbayes.client.journal.Journals;
import ldpbayes.testing.MemoryStore;
import ldpbayes.testing.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The client returns every state with every reason of docs/embedding.md, and throws these exceptions if
 * strict.
 */
class StatesTest {
    /** What this client does not have: relays, a default client, rehearsals, and consent to a series. */
    private static final List<String> NOT_HERE = Arrays.asList(
        "no_consent asks-again ConsentError", "rejected bad-option OptionError",
        "rejected bad-option BudgetError",
        "no_consent rehearsal ConsentError", "unavailable not-configured ", "unavailable bad-option ",
        "unavailable relay-unpinned TransportError", "unavailable relay-unreachable TransportError",
        "rejected other-plan PlanError", "queued relay-unreachable ", "rejected other-plan ",
        "queued network-full ", "rejected code-missing ", "rejected code-unknown ", "rejected code-used ",
            "rejected bad-seal ",
        "withdrawn passed-on ", "withdrawn survey-closed ", "withdrawn relay-unreachable ");
    private static final String CLOSED = "{\"reason\":\"survey-closed\"}";

    /** Makes clients of one test; its base options are strict or not. */
    private static final class Maker {
        final Clients clients = new Clients();
        final boolean isStrict;

        Maker(boolean isStrict) {
            this.isStrict = isStrict;
        }

        Client make(Consumer<ClientOptions> change) {
            return clients.make(change.andThen(options -> options.strict(isStrict)));
        }

        Client make() {
            return make(options -> { });
        }

        Client granted(Consumer<ClientOptions> change) {
            Client client = make(change);
            assertEquals("ready", client.grant().toString());
            return client;
        }

        Client reported(Consumer<ClientOptions> change) {
            Client client = granted(change);
            Receipt receipt = client.report(ROW, LABEL);
            assertEquals(State.QUEUED, receipt.state());
            assertTrue(receipt.epsilon() > 0);
            return client;
        }

        Receipt delivered(Transport transport) {
            return Clients.attempted(reported(options -> options.transport(transport)));
        }
    }

    private interface Act {
        Receipt on(Maker maker) throws Exception;
    }

    @TempDir
    File folder;
    private final List<Maker> makers = new ArrayList<>();
    private final CountDownLatch ended = new CountDownLatch(1);

    @AfterEach
    void close() {
        ended.countDown();
        for (Maker each : makers) each.clients.close();
    }

    private static Transport serving(byte[] plan) {
        return (method, url, body, timeout) -> new Transport.Response(200, plan, 0);
    }

    private static byte[] overspent() {
        return Clients.changed(PLAN, "epsilon", "0.5");
    }

    private static final class ValueException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        ValueException() {
            super("a value of the row");
        }
    }

    /** A log that cannot be written. */
    static final class BrokenHandler extends Handler {
        @Override
        public void publish(LogRecord record) {
            assertFalse(record.getMessage().contains("a value of the row"));
            throw new ValueException();
        }

        @Override
        public void flush() {
        }

        @Override
        public void close() {
        }
    }

    /** A row that throws an exception of its own. */
    private static Map<String, Object> trap() {
        return new LinkedHashMap<String, Object>(ROW) {
            private static final long serialVersionUID = 1L;

            @Override
            public Object get(Object name) {
                throw new ValueException();
            }
        };
    }

    /** Serves the plan, and does not respond to reports before the test ends. */
    private Transport silent() {
        return (method, url, body, timeout) -> {
            if (body == null) return new Transport.Response(200, PLAN, 0);
            try {
                ended.await(30, TimeUnit.SECONDS);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
            throw new IOException("no response");
        };
    }

    /** The calls that lead to each state, reason and exception. */
    private Map<String, Act> cases() {
        Map<String, Act> cases = new LinkedHashMap<>();
        cases.put("no_consent no-consent ConsentError", maker -> maker.make().report(ROW, LABEL));
        cases.put("no_consent do-not-track ConsentError",
            maker -> maker.make(options -> options.optOut(() -> true)).grant());
        cases.put("ready  ", maker -> maker.make().grant());
        cases.put("waiting  ", maker -> waiting(maker, -1, -1));
        cases.put("missed  ", maker -> waiting(maker, -1, 14 * 86_400));
        cases.put("not_asked  ", maker -> waiting(maker, 14 * 86_400, 14 * 86_400));
        cases.put("queued  ", maker -> maker.granted(options -> { }).report(ROW, LABEL));
        cases.put("queued rehearsal ",
            maker -> maker.delivered(responding(503, "{\"reason\":\"rehearsal\"}")));
        cases.put("queued collector-unreachable ", maker -> maker.delivered((method, url, body, timeout) -> {
            if (body != null) throw new IOException("no route to 10.0.0.7");
            return new Transport.Response(200, PLAN, 0);
        }));
        cases.put("queued do-not-track ", maker -> {
            AtomicBoolean isOptedOut = new AtomicBoolean();
            Client client = maker.reported(options -> options.optOut(isOptedOut::get));
            isOptedOut.set(true);
            Receipt receipt = client.flush(0.2);
            assertEquals(0, maker.clients.recorder.bodies().size());
            return receipt;
        });
        cases.put("queued closed-once ", maker -> maker.delivered(responding(410, CLOSED)));
        cases.put("queued no-answer-yet ",
            maker -> maker.reported(options -> options.transport(silent())).flush(0.05));
        cases.put("queued client-closed ", maker -> {
            Client client = maker.reported(options -> options.transport(silent()));
            client.close(0.05);
            return client.flush(0);
        });
        cases.put("sent  ", maker -> maker.delivered(responding(200, "{\"status\":\"recorded\"}")));
        cases.put("duplicate  ", maker -> maker.delivered(responding(200, "{\"status\":\"duplicate\"}")));
        cases.put("already_reported  ", maker -> maker.reported(options -> { }).report(ROW, LABEL));
        cases.put("invalid invalid-row RowError",
            maker -> maker.granted(options -> { }).report(ROW, "no such label"));
        cases.put("invalid invalid-token TokenError",
            maker -> maker.make(options -> options.token("misspelt")).grant());
        cases.put("unavailable collector-unreachable TransportError", maker -> {
            maker.clients.recorder.setOffline(true);
            return maker.make().grant();
        });
        cases.put("unavailable journal-unavailable JournalError", maker -> {
            Client client = maker.make();
            maker.clients.store.setBroken(true);
            return client.grant();
        });
        cases.put("unavailable journal-damaged JournalError", maker -> {
            File own = new File(folder, String.valueOf(maker.isStrict));
            Files.createDirectories(own.toPath());
            Files.write(new File(own, "journal").toPath(), new byte[100]);
            ClientOptions options = Clients.options(new FileStore(own, null), maker.clients.recorder);
            return maker.clients.keep(new Client(Clients.URL, options.strict(maker.isStrict))).grant();
        });
        cases.put("unavailable queue-full JournalError", maker -> {
            Client client = maker.granted(options -> { });
            Journals.fillQueue(maker.clients.store);
            return client.report(ROW, LABEL);
        });
        cases.put("unavailable client-closed ClosedError", maker -> {
            Client client = maker.make();
            client.close();
            return client.grant();
        });
        cases.put("queued internal-error the original error", maker -> {
            Handler broken = new BrokenHandler();
            Logger logger = Logger.getLogger("ldpbayes");
            logger.addHandler(broken);
            logger.setUseParentHandlers(false);
            try {
                return maker.granted(options -> options.onOutcome(receipt -> {
                    throw new ValueException();
                })).report(ROW, LABEL);
            } finally {
                logger.removeHandler(broken);
                logger.setUseParentHandlers(true);
            }
        });
        cases.put("unavailable internal-error the original error",
            maker -> maker.granted(options -> { }).report(trap(), LABEL));
        cases.put("unavailable relay-unsupported TransportError", maker -> {
            byte[] plan = Clients.changed(PLAN, "relay", new LinkedHashMap<>());
            return maker.make(options -> options.transport(serving(plan))).grant();
        });
        cases.put("rejected epsilon-above-cap BudgetError",
            maker -> maker.make(options -> options.maxEpsilon(0.5)).grant());
        cases.put("rejected total-epsilon-spent BudgetError",
            maker -> maker.make(options -> options.maxTotalEpsilon(0.5)).grant());
        cases.put("rejected plan-changed PlanError",
            maker -> maker.make(options -> options.digest(String.format("%064d", 0))).grant());
        cases.put("rejected bad-signature SignatureError", maker -> {
            Transport badlySigned = (method, url, body, timeout) -> new Transport.Response(
                200, url.endsWith("/signature") ? Clients.bytes("AAAA") : PLAN, 0);
            String key = String.format("%043d", 0).replace('0', 'A') + "=";
            return maker.make(options -> options.publicKey(key).transport(badlySigned)).grant();
        });
        cases.put("rejected invalid-plan SurveyError", maker -> {
            Transport other = serving(Clients.bytes("{\"format\":1}"));
            return maker.make(options -> options.transport(other)).grant();
        });
        cases.put("rejected invalid-plan PrivacyError",
            maker -> maker.make(options -> options.transport(serving(overspent()))).grant());
        cases.put("expired survey-closed ExpiredError", maker -> {
            maker.clients.recorder.respond(Recorder.Behaviour.CLOSED, 0);
            return maker.make().grant();
        });
        cases.put("withdrawn  ", maker -> {
            Client client = maker.reported(options -> { });
            client.withdraw();
            assertEquals("withdrawn", client.flush(0).toString());
            assertEquals("withdrawn", client.grant().toString());
            assertEquals(0, maker.clients.recorder.bodies().size());
            return client.report(ROW, LABEL);
        });
        for (String reason : new String[] {"too-many-requests", "store-unavailable", "survey-not-open",
            "incomplete-body", "internal-error", "unknown-survey", "wrong-plan", "not-enrolled",
                "not-authorised",
            "length-required", "unsupported-media-type", "too-many-reports", "no-such-page"}) {
            cases.put("queued " + reason + " ", maker -> maker.delivered(responding(400, refusal(reason))));
        }
        for (String reason :
            new String[] {"malformed", "too-large", "unknown-question", "bad-payload", "id-reused"}) {
            cases.put("rejected " + reason + " ", maker -> maker.delivered(responding(400, refusal(reason))));
        }
        for (String reason : new String[] {"unknown-survey", "store-unavailable"}) {
            Transport refusing = (method, url, body, timeout) ->
                new Transport.Response(404, Clients.bytes(refusal(reason)), 0);
            cases.put("unavailable " + reason + " TransportError",
                maker -> maker.make(options -> options.transport(refusing)).grant());
        }
        return cases;
    }

    /** Agrees, and answers later; both times are in seconds from the beginning of the first wave. */
    private static Receipt waiting(Maker maker, long agrees, long answers) {
        byte[] plan = WavesTest.inWaves(PLAN, "drawn");
        long[] now = {WavesTest.FIRST + agrees};
        Client client = maker.make(options -> {
            options.transport(serving(plan)).random(count -> new byte[count]); // of the first wave
            options.clock = () -> now[0];
        });
        client.grant();
        now[0] = WavesTest.FIRST + answers;
        return client.report(trap(), LABEL);
    }

    private static String refusal(String reason) {
        return "{\"reason\":\"" + reason + "\",\"retryable\":true}";
    }

    @TestFactory
    List<DynamicTest> receiptsHaveTheStateAndTheReason() {
        List<DynamicTest> tests = new ArrayList<>();
        cases().forEach((name, act) -> tests.add(DynamicTest.dynamicTest(name, () -> {
            Receipt receipt = act.on(maker(false));
            String[] words = name.split(" ", 3);
            assertEquals(words[0] + " " + words[1], receipt.state() + " " + receipt.reason());
            assertFalse(receipt.toString().contains("a value of the row"));
            assertFalse(receipt.toString().contains("10.0.0.7"));
            boolean isExplained = receipt.reason().isEmpty() || !receipt.why().isEmpty()
                || receipt.reason().equals("no-consent") || receipt.state() == State.REJECTED;
            assertTrue(isExplained, receipt.toString());
        })));
        return tests;
    }

    @TestFactory
    List<DynamicTest> strictClientsThrow() {
        List<DynamicTest> tests = new ArrayList<>();
        cases().forEach((name, act) -> {
            String expected = name.split(" ", 3)[2];
            if (expected.isEmpty()) return;
            tests.add(DynamicTest.dynamicTest(name, () -> {
                Throwable error = assertThrows(Throwable.class, () -> act.on(maker(true)));
                String type = error instanceof ValueException ? "the original error"
                    : error.getClass().getSimpleName().replace("Exception", "Error");
                assertEquals(expected, type);
            }));
        });
        return tests;
    }

    private Maker maker(boolean isStrict) {
        Maker maker = new Maker(isStrict);
        makers.add(maker);
        return maker;
    }

    @Test
    void statesReasonsAndExceptionsAreThoseOfTheDocumentation() throws IOException {
        File root = new File("").getAbsoluteFile();
        while (!new File(root, "docs").isDirectory()) root = root.getParentFile();
        Set<String> documented = new TreeSet<>();
        boolean isTable = false;
        for (String line
            : Files.readAllLines(new File(root, "docs/embedding.md").toPath(), StandardCharsets.UTF_8)) {
            if (line.startsWith("| `state` | `reason` |")) isTable = true;
            if (line.isEmpty()) isTable = false;
            String[] cells = line.split("\\|");
            if (!isTable || !cells[1].trim().matches("`[a-z_]+`")) continue;
            if (cells[1].contains("`state`")) continue;
            boolean isAny = cells[2].trim().startsWith("another");
            List<String> reasons = isAny ? Arrays.asList("store-unavailable") : words(cells[2]);
            boolean isOriginal = cells[3].trim().equals("the original error");
            List<String> errors = isOriginal ? Arrays.asList("the original error") : words(cells[3]);
            for (String reason : reasons) {
                for (String error : errors) documented.add(words(cells[1]).get(0) + " " + reason + " "
                    + error);
            }
        }
        Set<String> reached = new TreeSet<>(cases().keySet());
        reached.addAll(NOT_HERE);
        assertEquals(String.join("\n", documented), String.join("\n", reached));
    }

    private static List<String> words(String cell) {
        List<String> words = new ArrayList<>();
        Matcher found = Pattern.compile("`([^`]+)`").matcher(cell);
        while (found.find()) words.add(found.group(1));
        return words.isEmpty() ? Arrays.asList("") : words;
    }

    @Test
    void aStoreOfTheApplicationThatFailsIsNotQuoted() {
        Maker maker = maker(false);
        Client client = maker.make();
        MemoryStore store = maker.clients.store;
        store.setBroken(true);
        for (Receipt each :
            new Receipt[] {client.status(), client.grant(), client.report(ROW, LABEL), client.withdraw(),
            client.flush(0)}) {
            assertEquals("unavailable journal-unavailable", each.state() + " " + each.reason());
            assertFalse(each.why().contains("the store is broken"));
        }
    }
}
