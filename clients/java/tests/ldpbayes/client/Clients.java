package ldpbayes.client;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import ldpbayes.Json;
import ldpbayes.client.journal.JournalStore;
import ldpbayes.testing.MemoryStore;
import ldpbayes.testing.Recorder;

/** Clients with fakes of everything outside, for tests. */
public final class Clients {
    public static final Map<?, ?> VECTORS = readVectors("good-values");
    public static final byte[] PLAN = bytes((String) VECTORS.get("plan"));
    public static final String SURVEY = idOf(PLAN);
    public static final String URL = "https://collector.example/v1/surveys/" + SURVEY;
    public static final Map<String, Object> ROW = rowOf(firstCase(VECTORS));
    public static final Object LABEL = firstCase(VECTORS).get("label");

    private final List<Client> made = new ArrayList<>();
    public final MemoryStore store = new MemoryStore();
    public final Recorder recorder = new Recorder(PLAN);

    /** Returns the content of a file of vectors. */
    public static Map<?, ?> readVectors(String name) {
        File folder = new File("").getAbsoluteFile();
        while (!new File(folder, "tests/vectors").isDirectory()) folder = folder.getParentFile();
        try {
            byte[] content = Files.readAllBytes(new File(folder, "tests/vectors/" + name + ".json").toPath());
            return (Map<?, ?>) Json.parse(new String(content, StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    public static Map<?, ?> firstCase(Map<?, ?> vectors) {
        return (Map<?, ?>) ((List<?>) vectors.get("cases")).get(0);
    }

    public static Map<String, Object> rowOf(Map<?, ?> vector) {
        Map<String, Object> row = new LinkedHashMap<>();
        ((Map<?, ?>) vector.get("row")).forEach((name, value) -> row.put((String) name, value));
        return row;
    }

    public static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @SuppressWarnings("unchecked")
    public static Map<String, Object> documentOf(byte[] plan) {
        return (Map<String, Object>) Json.parse(new String(plan, StandardCharsets.UTF_8));
    }

    public static String idOf(byte[] plan) {
        return (String) documentOf(plan).get("id");
    }

    /** Returns a plan with other entries at its top. */
    public static byte[] changed(byte[] plan, Object... entries) {
        Map<String, Object> document = documentOf(plan);
        for (int i = 0; i < entries.length; i += 2) document.put((String) entries[i], entries[i + 1]);
        return bytes(Json.write(document));
    }

    /** Returns options with fakes, as in the other methods. */
    public static ClientOptions options(JournalStore store, Transport transport) {
        return new ClientOptions().journal(store).transport(transport).maxEpsilon(100).spread(3600);
    }

    /** Makes a client of this test's journal and recorder. */
    public Client make() {
        return make(options -> { });
    }

    /** Makes a client with changed options. */
    public Client make(Consumer<ClientOptions> change) {
        return make(URL, change);
    }

    public Client make(String url, Consumer<ClientOptions> change) {
        ClientOptions options = options(store, recorder);
        change.accept(options);
        return keep(new Client(url, options));
    }

    public Client keep(Client client) {
        made.add(client);
        return client;
    }

    /** Agrees and answers; returns the client. */
    static Client reported(Client client) {
        client.grant();
        Receipt receipt = client.report(ROW, LABEL);
        if (receipt.state() != State.QUEUED) throw new AssertionError(receipt);
        return client;
    }

    /** Ends all clients, which send nothing more. */
    public void close() {
        recorder.setOffline(true);
        for (Client each : made) each.close(5);
    }

    /** Returns a transport that serves the plan, and responds to each report in one way. */
    public static Transport responding(int status, String content, double retryAfter) {
        return (method, url, body, timeout) -> body == null
            ? new Transport.Response(200, PLAN, 0)
                : new Transport.Response(status, bytes(content), retryAfter);
    }

    public static Transport responding(int status, String content) {
        return responding(status, content, 0);
    }

    /** Returns what became of the first attempt to send, however late a busy machine makes it. */
    public static Receipt attempted(Client client) {
        await(() -> !client.flush(0.2).reason().equals("no-answer-yet"));
        return client.flush(0.05);
    }

    /** Waits at most two minutes for a condition. */
    public static void await(java.util.function.BooleanSupplier condition) {
        for (int i = 0; i < 24_000 && !condition.getAsBoolean(); i++) pause(5);
        if (condition.getAsBoolean()) return;
        AssertionError error = new AssertionError("waited without effect");
        Thread.getAllStackTraces().forEach((thread, frames) -> {
            if (thread.getName().startsWith("ldpbayes")) {
                Throwable place = new Throwable(thread.getName());
                place.setStackTrace(frames);
                error.addSuppressed(place);
            }
        });
        throw error;
    }

    public static void pause(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }
}
