package ldpbayes.client;

import static ldpbayes.client.Clients.PLAN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import ldpbayes.Bytes;
import ldpbayes.Json;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real processes with one journal, which a collector counts: many at once, killed, without disk space. */
class ProcessesTest {
    /** How many processes are killed at a random moment; more with -Dkills=200. */
    private static final int KILLS = Integer.getInteger("kills", 12);
    private static final String ROW = Json.write(wholeRow());

    @TempDir
    File folder;
    private HttpServer server;
    private final List<String> bodies = Collections.synchronizedList(new ArrayList<>());
    private final Set<String> counted = Collections.synchronizedSet(new HashSet<>());
    private volatile int refusals;

    /** Returns a row of texts only, which canonical JSON can write. */
    private static Map<String, Object> wholeRow() {
        Map<String, Object> row = Clients.rowOf(Clients.firstCase(Clients.readVectors("good-de")));
        row.replaceAll((name, value) -> value instanceof Double ? value.toString() : value);
        return row;
    }

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
        server.createContext("/", this::respond);
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private static byte[] plan() {
        return Clients.bytes((String) Clients.readVectors("good-de").get("plan"));
    }

    private String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/v1/surveys/" + Clients.idOf(plan());
    }

    private void respond(HttpExchange exchange) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        try (InputStream in = exchange.getRequestBody()) {
            byte[] part = new byte[4096];
            for (int count; (count = in.read(part)) >= 0;) body.write(part, 0, count);
        }
        byte[] content = plan();
        int status = 200;
        if (exchange.getRequestMethod().equals("POST")) {
            bodies.add(Bytes.toHex(body.toByteArray()));
            boolean isRefused = refusals-- > 0;
            status = isRefused ? 503 : 200;
            content = Clients.bytes(isRefused ? "{\"reason\":\"store-unavailable\"}"
                : counted.add(Bytes.toHex(body.toByteArray())) ? "{\"status\":\"recorded\"}"
                    : "{\"status\":\"duplicate\"}");
        }
        exchange.sendResponseHeaders(status, content.length);
        exchange.getResponseBody().write(content);
        exchange.close();
    }

    private List<String> command(File journal, String... settings) {
        List<String> command = new ArrayList<>(Arrays.asList(
            System.getProperty("java.home") + "/bin/java", "-XX:-UsePerfData", "-Xshare:auto",
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-cp", System.getProperty("java.class.path"), "ldpbayes.client.Answer", url(), journal.getPath(),
                ROW,
            "label=" + Clients.firstCase(Clients.readVectors("good-de")).get("label")));
        command.addAll(Arrays.asList(settings));
        return command;
    }

    private Process start(List<String> command) throws IOException {
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    /** Returns the state and reason of each receipt that a process prints. */
    private static List<String> receipts(Process process) throws IOException {
        List<String> receipts = new ArrayList<>();
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null;) {
            if (!line.startsWith("{")) continue;
            Map<?, ?> receipt = (Map<?, ?>) Json.parse(line);
            receipts.add(
                (receipt.get("call") + " " + receipt.get("state") + " " + receipt.get("reason")).trim());
        }
        return receipts;
    }

    private List<String> run(File journal, String... settings) throws IOException {
        return receipts(start(command(journal, settings)));
    }

    private void requireForgotten(File journal) throws IOException {
        for (File each : journal.listFiles()) {
            String content = Bytes.toHex(Files.readAllBytes(each.toPath()));
            for (String body : counted) assertFalse(content.contains(body), each + " still has the report");
        }
    }

    @Test
    void aProcessAnswersOnceAndForgetsTheReport() throws IOException {
        assertEquals(Arrays.asList("grant ready", "report queued", "flush sent", "close sent"), run(folder));
        assertEquals(Arrays.asList("grant sent", "report already_reported", "flush sent", "close sent"),
            run(folder));
        assertEquals(1, bodies.size());
        requireForgotten(folder);
    }

    @Test
    void environmentVariablesForbidReports() throws IOException {
        for (String variable : new String[] {"DO_NOT_TRACK", "LDP_CLIENT_OFF", "LDP_REHEARSAL"}) {
            ProcessBuilder builder = new ProcessBuilder(command(folder));
            builder.environment().put(variable, "1");
            String reason = variable.equals("LDP_REHEARSAL") ? "rehearsal" : "do-not-track";
            for (String each : receipts(builder.start())) assertTrue(each.endsWith(" no_consent " + reason),
                each);
            assertEquals(0, folder.list().length);
        }
        ProcessBuilder builder = new ProcessBuilder(command(folder));
        builder.environment().put("DO_NOT_TRACK", "False");
        assertTrue(receipts(builder.start()).contains("flush sent"));
    }

    /** Starts a process, and lets it call the client when it is ready. */
    private Process startWaiting(File journal) throws IOException {
        Process process = start(command(journal, "wait=true"));
        assertEquals('w', process.getInputStream().read());
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
        return process;
    }

    @Test
    void processesAtOnceMakeOneReportBetweenThem() throws Exception {
        List<Process> processes = new ArrayList<>();
        for (int number = 0; number < 8; number++) {
            processes.add(start(command(folder, "wait=true", "spread=3600", "calls=grant,report")));
        }
        for (Process each : processes) {
            assertEquals('w', each.getInputStream().read()); // it is ready
        }
        for (Process each : processes) {
            each.getOutputStream().write('\n');
            each.getOutputStream().flush();
        }
        List<String> reports = new ArrayList<>();
        for (Process each : processes) {
            for (String receipt : receipts(each)) {
                if (receipt.startsWith("report")) reports.add(receipt);
            }
        }
        Collections.sort(reports);
        List<String> expected = new ArrayList<>(Collections.nCopies(7, "report already_reported"));
        expected.add("report queued");
        assertEquals(expected, reports);
        assertTrue(run(folder).contains("flush sent"));
        assertEquals(1, counted.size());
    }

    @Test
    void aProcessThatEndsWhileItRandomisesLeavesTheSurveyUnanswered() throws IOException {
        assertEquals(Arrays.asList("grant ready"), run(folder, "halt=in-draw"));
        assertEquals(Arrays.asList("status ready"), run(folder, "calls=status"));
        assertEquals(0, bodies.size());
        assertTrue(run(folder).contains("flush sent"));
        assertEquals(1, counted.size());
    }

    @Test
    void aProcessThatEndsAroundItsPostSendsTheSameBytesInItsNextRun() throws IOException {
        File after = new File(folder, "after");
        run(after, "halt=after-post");
        assertEquals(1, bodies.size());
        assertTrue(run(after).contains("flush duplicate"));
        assertEquals(1, counted.size());
        File before = new File(folder, "before");
        run(before, "halt=before-post");
        assertEquals(1, counted.size());
        assertEquals(Arrays.asList("grant queued", "report already_reported", "flush sent", "close sent"),
            run(before));
        assertEquals(2, counted.size());
        requireForgotten(after);
        requireForgotten(before);
    }

    @Test
    void withoutAThreadTheNextRunSends() throws IOException {
        String[] settings = {"background=false", "calls=grant,report,close"};
        assertEquals(Arrays.asList("grant ready", "report queued", "close queued"), run(folder, settings));
        assertEquals(0, bodies.size());
        refusals = 2;
        assertEquals(Arrays.asList("flush sent"), run(folder, "background=false", "calls=flush"));
        assertEquals(3, bodies.size());
        assertEquals(1, counted.size());
    }

    @Test
    void processesThatAreKilledRandomiseOnceAndLoseNothing() throws Exception {
        Process undisturbed = startWaiting(new File(folder, "undisturbed"));
        long start = System.nanoTime();
        receipts(undisturbed);
        double usual = (System.nanoTime() - start) / 1e6;
        Random random = new Random();
        int devices = 1;
        for (int killed = 0; killed < KILLS; devices++) {
            File journal = new File(folder, "device-" + devices);
            Set<String> before = new HashSet<>(counted);
            for (int attempt = 0; attempt < 2; attempt++) {
                refusals = random.nextInt(2);
                Process process = startWaiting(journal);
                long moment = (long) (usual * random.nextDouble());
                boolean hasEnded = process.waitFor(moment, TimeUnit.MILLISECONDS);
                process.destroyForcibly().waitFor();
                killed += hasEnded ? 0 : 1;
            }
            refusals = 0;
            List<String> last = run(journal);
            assertTrue(last.contains("flush sent") || last.contains("flush duplicate"), last.toString());
            Set<String> made = new HashSet<>(counted);
            made.removeAll(before);
            assertEquals(1, made.size(), "reports of one device");
            requireForgotten(journal);
        }
        assertEquals(devices, counted.size(), "a report was lost, or a survey randomised twice");
        assertEquals(counted, new HashSet<>(bodies), "other bytes were posted");
    }

    @Test
    void aFullDiskIsAReceiptAndSpendsNothing() throws IOException {
        assumeTrue(File.separatorChar == '/');
        assertEquals(Arrays.asList("grant ready"), run(folder, "calls=grant"));
        long size = new File(folder, "journal").length();
        StringBuilder quoted = new StringBuilder("ulimit -f " + size / 2048 + " && exec");
        for (String each : command(folder, "calls=status,report,status")) {
            quoted.append(" '").append(each.replace("'", "'\\''")).append("'");
        }
        List<String> receipts = receipts(start(Arrays.asList("bash", "-c", quoted.toString())));
        assertEquals(Arrays.asList("status ready", "report unavailable journal-unavailable", "status ready"),
            receipts);
        assertFalse(new File(folder, "journal.new").exists());
        assertTrue(run(folder).contains("flush sent"));
        assertEquals(1, counted.size());
    }

    @Test
    void thePlanIsLongEnoughForTheTestOfAFullDisk() {
        assertTrue(PLAN.length > 2048 && plan().length > 2048);
    }
}
