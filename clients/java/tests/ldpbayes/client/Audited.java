package ldpbayes.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import ldpbayes.Bytes;
import ldpbayes.Core;
import ldpbayes.RandomSource;
import ldpbayes.survey.Plan;
import ldpbayes.testing.MemoryStore;

/** What the audit of the repository sees of this client: reports, retries and whole requests. */
public final class Audited {
    private static final double OFFLINE_SECONDS = 0.03;
    private static final double TIMEOUT_SECONDS = 60;
    private static final byte[] RECORDED = Bytes.fromText("{\"status\":\"recorded\"}");
    /** One for all requests of this process: another port would change their header Host. */
    private static Collector collector;

    private Audited() {
    }

    /**
     * Answers a call of benchmarks/port_client.py.
     *
     * @param path one of the paths of that class
     * @param posted the JSON that was posted
     * @return JSON, or null for another path
     * @throws IOException if the network of this process fails
     */
    public static Object call(String path, Map<?, ?> posted) throws IOException {
        switch (path) {
            case "/audit/reports":
                return makeReports((Map<?, ?>) posted.get("answer"), (List<?>) posted.get("tokens"));
            case "/audit/attempts":
                return attempt((Map<?, ?>) posted.get("answer"));
            case "/audit/requests":
                return captureRequests((List<?>) posted.get("answers"));
            default:
                return null;
        }
    }

    /** Returns independent reports of one answer in hexadecimal, one for each invitation or null. */
    private static List<String> makeReports(Map<?, ?> answer, List<?> tokens) {
        Plan plan = Core.readPlan(planOf(answer));
        List<String> reports = new ArrayList<>();
        for (Object token : tokens) {
            Object label = answer.get("label");
            reports.add(Bytes.toHex(
                Core.makeReport(plan, rowOf(answer), label, (String) token, RandomSource.SYSTEM)));
        }
        return reports;
    }

    /** Returns the bodies that a client posts while the network fails, and after a restart. */
    private static List<String> attempt(Map<?, ?> answer) {
        List<String> bodies = new CopyOnWriteArrayList<>();
        MemoryStore store = new MemoryStore();
        for (boolean isOffline : new boolean[] {true, false}) {
            Transport transport = (method, url, body, timeout) -> {
                bodies.add(Bytes.toHex(body));
                if (isOffline) throw new IOException("the network is down");
                return new Transport.Response(200, RECORDED, 0);
            };
            // the second client has the journal under another name, because its process is another one
            ClientOptions options = new ClientOptions().transport(transport);
            options.journal(Stores.renamed(store));
            Client client = makeClient(answer, "http://127.0.0.1:1", options);
            send(client, answer, isOffline ? OFFLINE_SECONDS : TIMEOUT_SECONDS);
            for (int turn = 0; bodies.isEmpty() && turn < 1000; turn++) {
                client.flush(OFFLINE_SECONDS);  // a busy machine had no time for the first attempt
            }
        }
        return bodies;
    }

    /** Returns all requests of a new device on which a person answers surveys in turn. */
    private static List<Map<String, String>> captureRequests(List<?> answers) throws IOException {
        if (collector == null) collector = new Collector();
        collector.requests.clear();
        MemoryStore store = new MemoryStore();
        for (Object each : answers) {
            Map<?, ?> answer = (Map<?, ?>) each;
            ClientOptions options = new ClientOptions().journal(store);
            try (Client client = makeClient(answer, collector.url(), options)) {
                send(client, answer, TIMEOUT_SECONDS);
            }
        }
        return collector.requests;
    }

    private static void send(Client client, Map<?, ?> answer, double timeout) {
        client.grant();
        client.report(rowOf(answer), answer.get("label"));
        client.flush(timeout);
    }

    private static Client makeClient(Map<?, ?> answer, String base, ClientOptions options) {
        Plan plan = Core.readPlan(planOf(answer));
        options.token((String) answer.get("token")).maxEpsilon(Double.parseDouble(plan.epsilon()));
        options.spread(0).strict(true);
        return new Client(planOf(answer), base + "/v1/surveys/" + plan.id(), options);
    }

    private static byte[] planOf(Map<?, ?> answer) {
        return Bytes.fromText((String) answer.get("plan"));
    }

    private static Map<String, Object> rowOf(Map<?, ?> answer) {
        Map<String, Object> row = new LinkedHashMap<>();
        for (Map.Entry<?, ?> each : ((Map<?, ?>) answer.get("row")).entrySet()) {
            row.put((String) each.getKey(), each.getValue());
        }
        return row;
    }

    /** A server that records the bytes of each request, and responds that the report was counted. */
    private static final class Collector extends Thread {
        final List<Map<String, String>> requests = new CopyOnWriteArrayList<>();
        private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));

        Collector() throws IOException {
            setDaemon(true);
            start();
        }

        String url() {
            return "http://127.0.0.1:" + server.getLocalPort();
        }

        @Override
        public void run() {
            try {
                while (true) {
                    try (Socket connection = server.accept()) {
                        respond(connection);
                    }
                }
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        private void respond(Socket connection) throws IOException {
            InputStream in = connection.getInputStream();
            String head = "";
            while (!head.endsWith("\r\n\r\n")) head += (char) in.read();
            byte[] body = new byte[contentLength(head)];
            for (int place = 0; place < body.length; place++) body[place] = (byte) in.read();
            Map<String, String> request = new LinkedHashMap<>();
            request.put("head", Bytes.toHex(Bytes.fromText(head.trim())));
            request.put("body", Bytes.toHex(body));
            requests.add(request);
            ByteArrayOutputStream response = new ByteArrayOutputStream();
            String head200 = "HTTP/1.1 200 OK\r\nContent-Length: " + RECORDED.length + "\r\n\r\n";
            response.write(Bytes.fromText(head200));
            response.write(RECORDED);
            connection.getOutputStream().write(response.toByteArray());
        }

        private static int contentLength(String head) {
            for (String line : Arrays.asList(head.toLowerCase(Locale.ROOT).split("\r\n"))) {
                if (line.startsWith("content-length: ")) return Integer.parseInt(line.substring(16));
            }
            return 0;
        }
    }
}
