package ldpbayes.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.CookieManager;
import java.net.HttpCookie;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.PasswordAuthentication;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import ldpbayes.testing.MemoryStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** HTTP as devices send it, against a real socket. */
class HttpTransportTest {
    private interface Server {
        void respond(OutputStream out) throws Exception;
    }

    private ServerSocket listener;
    private volatile Server behaviour = responding("HTTP/1.1 503 Busy", "Retry-After: 7\r\nSet-Cookie: id=1",
        "busy");
    /** Each connection's requests: head and body. */
    private final List<String> requests = Collections.synchronizedList(new ArrayList<>());

    private static Server responding(String status, String headers, String body) {
        String content = status + "\r\n" + headers + (headers.isEmpty() ? "" : "\r\n") + "Content-Length: "
            + body.length() + "\r\n\r\n" + body;
        return out -> out.write(content.getBytes(StandardCharsets.ISO_8859_1));
    }

    @BeforeEach
    void start() throws IOException {
        listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        serveAll(listener, this::serve);
    }

    @AfterEach
    void stop() throws IOException {
        CookieHandler.setDefault(null);
        listener.close();
    }

    private static void startThread(Runnable run) {
        Thread thread = new Thread(run);
        thread.setDaemon(true);
        thread.start();
    }

    /** Serves each connection in a thread of its own, until the socket is closed. */
    private static void serveAll(ServerSocket socket, Consumer<Socket> serve) {
        startThread(() -> {
            while (!socket.isClosed()) {
                try {
                    Socket connection = socket.accept();
                    startThread(() -> serve.accept(connection));
                } catch (IOException error) {
                    // the test ends
                }
            }
        });
    }

    private void serve(Socket connection) {
        try (Socket open = connection) {
            ByteArrayOutputStream request = new ByteArrayOutputStream();
            InputStream in = open.getInputStream();
            String text = "";
            while (!text.contains("\r\n\r\n")) {
                request.write(in.read());
                text = request.toString("ISO-8859-1");
            }
            int length = text.contains("Content-Length: ")
                ? Integer.parseInt(text.split("Content-Length: ")[1].split("\r\n")[0]) : 0;
            for (int i = 0; i < length; i++) request.write(in.read());
            requests.add(request.toString("ISO-8859-1"));
            behaviour.respond(open.getOutputStream());
            open.shutdownOutput();
            while (in.read() >= 0) requests.add("more on this connection");
        } catch (Exception error) {
            // the client has closed the connection
        }
    }

    private String base() {
        return "http://127.0.0.1:" + listener.getLocalPort();
    }

    private Transport.Response get() throws IOException {
        return new HttpTransport().request("GET", base() + "/v1/surveys/sleep", null, 5);
    }

    private Transport.Response post() throws IOException {
        return new HttpTransport().request("POST", base() + "/v1/surveys/sleep/reports",
            Clients.bytes("body"), 5);
    }

    @Test
    void requestsCarryTheBodyAndNothingAboutTheDevice() throws IOException {
        Transport.Response response = post();
        assertEquals("503 busy 7.0",
            response.status() + " " + new String(response.body()) + " " + response.retryAfter());
        get();
        String host = "127.0.0.1:" + listener.getLocalPort();
        List<String> head = Arrays.asList("Accept-Encoding: identity", "User-Agent: ldp-client",
            "Accept: application/json", "Connection: close", "Cache-Control: no-cache", "Pragma: no-cache");
        List<String> posted = new ArrayList<>(Arrays.asList(requests.get(0).split("\r\n")));
        assertEquals("POST /v1/surveys/sleep/reports HTTP/1.1", posted.remove(0));
        assertEquals("body", posted.remove(posted.size() - 1));
        List<String> expected = new ArrayList<>(head);
        expected.addAll(
            Arrays.asList("Content-Type: application/vnd.msgpack", "Host: " + host, "Content-Length: 4", ""));
        Collections.sort(expected);
        Collections.sort(posted);
        assertEquals(expected, posted);
        List<String> got = new ArrayList<>(Arrays.asList(requests.get(1).split("\r\n")));
        assertEquals("GET /v1/surveys/sleep HTTP/1.1", got.remove(0));
        expected = new ArrayList<>(head);
        expected.add("Host: " + host);
        Collections.sort(expected);
        Collections.sort(got);
        assertEquals(expected, got);
    }

    @Test
    void eachRequestHasAConnectionOfItsOwn() throws IOException {
        for (int each = 0; each < 3; each++) post();
        get();
        Clients.pause(50);
        assertEquals(4, requests.size());
        assertFalse(requests.contains("more on this connection"));
    }

    @Test
    void noTlsSessionIsResumed(@TempDir Path folder) throws Exception {
        String keys = folder.resolve("keys").toString();
        int code = new ProcessBuilder(System.getProperty("java.home") + "/bin/keytool", "-genkeypair",
            "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-keystore", keys, "-storepass", "secret",
            "-storetype", "PKCS12", "-alias", "x", "-keyalg", "RSA", "-dname", "CN=x", "-ext",
            "san=ip:127.0.0.1").redirectErrorStream(true).start().waitFor();
        assertEquals(0, code);
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(folder.resolve("keys"))) {
            store.load(in, "secret".toCharArray());
        }
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(store, "secret".toCharArray());
        System.setProperty("javax.net.ssl.trustStore", keys);
        System.setProperty("javax.net.ssl.trustStorePassword", "secret");
        try {
            for (String protocol : new String[] {"TLSv1.2", "TLSv1.3"}) {
                assertEquals(2, countTlsSessions(managers, protocol), protocol);
            }
        } finally {
            System.clearProperty("javax.net.ssl.trustStore");
            System.clearProperty("javax.net.ssl.trustStorePassword");
        }
    }

    /** Makes two requests; returns the number of TLS sessions: a resumed one keeps its time of creation. */
    private int countTlsSessions(KeyManagerFactory managers, String protocol) throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(managers.getKeyManagers(), null, null);
        Set<Long> created = Collections.synchronizedSet(new HashSet<>());
        listener.close();
        SSLServerSocket secure = (SSLServerSocket) context.getServerSocketFactory().createServerSocket(0, 50,
            InetAddress.getLoopbackAddress());
        secure.setEnabledProtocols(new String[] {protocol});
        listener = secure;
        serveAll(secure, connection -> {
            created.add(((SSLSocket) connection).getSession().getCreationTime());
            serve(connection);
        });
        for (String method : new String[] {"GET", "POST"}) {
            byte[] body = method.equals("GET") ? null : Clients.bytes("body");
            String url = "https://127.0.0.1:" + secure.getLocalPort() + "/";
            assertEquals(503, new HttpTransport().request(method, url, body, 10).status());
            Clients.pause(20);
        }
        return created.size();
    }

    @Test
    void aRequestThatHasFailedPostsNothingLater() throws Exception {
        ProxySelector former = ProxySelector.getDefault();
        ProxySelector.setDefault(new ProxySelector() {
            @Override
            public List<Proxy> select(URI uri) {
                Clients.pause(600); // as a slow resolution of a name
                return Collections.singletonList(Proxy.NO_PROXY);
            }

            @Override
            public void connectFailed(URI uri, SocketAddress address, IOException error) {
                // the request fails
            }
        });
        try {
            String url = base() + "/v1/surveys/sleep/reports";
            byte[] body = Clients.bytes("body");
            assertThrows(IOException.class, () -> new HttpTransport().request("POST", url, body, 0.2));
            Clients.await(() -> !hasRequestThread());
        } finally {
            ProxySelector.setDefault(former);
        }
        Clients.pause(100);
        for (String each : requests) assertFalse(each.contains("body"), each);
    }

    @Test
    void anInterruptedThreadStartsNoRequest() {
        Thread.currentThread().interrupt();
        assertThrows(IOException.class, this::post);
        assertTrue(Thread.interrupted());
        Clients.pause(200);
        assertEquals(Collections.emptyList(), requests);
    }

    @Test
    void concurrentRequestsLeaveTheApplicationsCookieHandlerInPlace() throws Exception {
        CookieManager cookies = new CookieManager();
        CookieHandler.setDefault(cookies);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(new Thread(() -> {
                for (int each = 0; each < 300; each++) {
                    try {
                        new HttpTransport().request("GET", "http://127.0.0.1:9/", null, 5);
                    } catch (IOException error) {
                        // nothing listens there
                    }
                }
            }));
        }
        for (Thread each : threads) each.start();
        for (Thread each : threads) each.join();
        assertSame(cookies, CookieHandler.getDefault());
    }

    /** Sets the application's cookies. */
    private CookieManager setCookies() throws Exception {
        CookieManager cookies = new CookieManager();
        HttpCookie cookie = new HttpCookie("session", "secret");
        cookie.setPath("/");
        cookie.setVersion(0);
        cookies.getCookieStore().add(new URI(base()), cookie);
        CookieHandler.setDefault(cookies);
        return cookies;
    }

    @Test
    void aServerThatKeepsConnectionsOpenGetsEachRequestOverAnotherOne() throws Exception {
        AtomicInteger connections = new AtomicInteger();
        AtomicInteger answered = new AtomicInteger();
        try (ServerSocket keeping = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            serveAll(keeping, connection -> {
                connections.incrementAndGet();
                keepResponding(connection, answered);
            });
            String url = "http://127.0.0.1:" + keeping.getLocalPort() + "/";
            for (int each = 0; each < 10; each++) {
                new HttpTransport().request("POST", url, Clients.bytes("body"), 5);
                new HttpTransport().request("GET", url, null, 5);
            }
        }
        assertEquals(20, answered.get());
        assertEquals(20, connections.get());
    }

    /** Responds to requests without the end of a connection: empty bodies and others. */
    private static void keepResponding(Socket connection, AtomicInteger answered) {
        try (Socket open = connection) {
            InputStream in = open.getInputStream();
            while (true) {
                StringBuilder head = new StringBuilder();
                while (head.indexOf("\r\n\r\n") < 0) {
                    int next = in.read();
                    if (next < 0) return;
                    head.append((char) next);
                }
                for (int i = 0; i < (head.indexOf("POST") == 0 ? 4 : 0); i++) in.read();
                int number = answered.getAndIncrement();
                String body = number % 4 < 2 ? "" : "{}";
                String response = "HTTP/1.1 " + (number % 3 == 0 ? 200 : 503) + " X\r\nContent-Length: "
                    + body.length() + "\r\nConnection: keep-alive\r\n\r\n" + body;
                open.getOutputStream().write(Clients.bytes(response));
            }
        } catch (IOException error) {
            // the client has closed the connection
        }
    }

    @Test
    void cookiesOfTheApplicationAreNeitherSentNorStored() throws Exception {
        CookieManager cookies = setCookies();
        post();
        get();
        assertSame(cookies, CookieHandler.getDefault());
        for (String each : requests) assertFalse(each.contains("Cookie"), each);
        assertEquals(1, cookies.getCookieStore().getCookies().size());
        HttpURLConnection own = (HttpURLConnection) new URL(base() + "/v1/surveys/sleep").openConnection();
        assertEquals(503, own.getResponseCode());
        assertTrue(requests.get(2).contains("session"), "the application's own requests have them");
    }

    @Test
    void aConnectionThatTheApplicationOpensMeanwhileHasItsCookies() throws Exception {
        setCookies();
        List<String> missing = Collections.synchronizedList(new ArrayList<>());
        Thread application = new Thread(() -> {
            for (int each = 0; each < 200; each++) {
                try {
                    ((HttpURLConnection) new URL(base() + "/own").openConnection()).getResponseCode();
                } catch (IOException error) {
                    missing.add(error.toString());
                }
            }
        });
        application.start();
        while (application.isAlive()) post();
        application.join();
        assertEquals(Collections.emptyList(), missing);
        int own = 0;
        for (String each : requests) {
            assertEquals(each.startsWith("GET /own"), each.contains("session"), each);
            own += each.startsWith("GET /own") ? 1 : 0;
        }
        assertEquals(200, own);
    }

    @Test
    void aServerThatDoesNotExistIsAnException() {
        assertThrows(IOException.class,
            () -> new HttpTransport().request("GET", "http://127.0.0.1:9/", null, 1));
        assertThrows(IOException.class,
            () -> new HttpTransport().request("GET", "https" + base().substring(4), null, 0.5));
    }

    @Test
    void redirectsAreNotFollowed() throws IOException {
        behaviour = responding("HTTP/1.1 302 Found", "Location: /elsewhere", "");
        assertEquals(302, get().status());
        assertEquals(302, post().status());
        behaviour = responding("HTTP/1.1 307 Temporary Redirect", "Location: /elsewhere", "x");
        assertEquals(307, post().status());
        assertEquals(3, requests.size());
    }

    @Test
    void errorsHaveTheirBody() throws IOException {
        for (String status :
            new String[] {"400 Bad", "403 Forbidden", "404 Not Found", "410 Gone", "429 Too Many",
            "500 Broken"}) {
            behaviour = responding("HTTP/1.1 " + status, "Content-Type: application/problem+json",
                "{\"reason\":\"x\"}");
            assertEquals("{\"reason\":\"x\"}", new String(get().body()), status);
            assertEquals("{\"reason\":\"x\"}", new String(post().body()), status);
        }
        behaviour = responding("HTTP/1.1 204 No Content", "", "");
        assertEquals(0, get().body().length);
    }

    @Test
    void aRequestForCredentialsIsNotAnswered() throws IOException {
        behaviour = responding("HTTP/1.1 401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"", "{}");
        Authenticator.setDefault(new Authenticator() {
            @Override
            protected PasswordAuthentication getPasswordAuthentication() {
                return new PasswordAuthentication("user", "secret".toCharArray());
            }
        });
        try {
            assertEquals(401, get().status());
            assertEquals(401, post().status());
            CollectorResponse response =
                CollectorResponse.post(new HttpTransport(), base() + "/", Clients.bytes("body"), false);
            assertEquals("not-authorised", response.reason);
            assertFalse(response.isShared());
        } finally {
            Authenticator.setDefault(null);
        }
        assertEquals(3, requests.size());
    }

    @Test
    void retryAfterIsSecondsOrADateOnTheServersClock() throws IOException {
        String date = "Date: Sun, 22 Nov 2026 20:00:00 GMT\r\n";
        String[][] cases = {{"Retry-After: 30", "30"},
            {"Retry-After: 1000000000000000000000", "1e21"},
            {date + "Retry-After: Sun, 22 Nov 2026 20:01:30 GMT", "90"},
            {date + "Retry-After: Sun, 22 Nov 2026 19:00:00 GMT", "0"}, {"Retry-After: soon", "0"},
                {"X: 1", "0"},
            {"Retry-After: Sun, 22 Nov 2026 20:01:00 GMT", "0"}, {"Retry-After: -5", "0"},
                {"Retry-After: 1e9", "0"}};
        for (String[] each : cases) {
            behaviour = responding("HTTP/1.1 503 Busy", each[0], "");
            assertEquals(Double.parseDouble(each[1]), post().retryAfter(), each[0]);
        }
    }

    @Test
    void aResponseThatIsTooLongOrIncompleteIsRefused() throws IOException {
        String mebibyte = new String(new char[1 << 20]).replace('\0', 'x');
        behaviour = responding("HTTP/1.1 200 OK", "", mebibyte);
        assertEquals(1 << 20, get().body().length);
        behaviour = responding("HTTP/1.1 200 OK", "", mebibyte + "x");
        assertThrows(IOException.class, this::get);
        behaviour = out -> {
            out.write(Clients.bytes("HTTP/1.1 200 OK\r\n\r\n"));
            while (true) out.write(new byte[1 << 16]);
        };
        assertThrows(IOException.class, this::get);
        behaviour = out -> out.write(Clients.bytes("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}"));
        assertThrows(IOException.class, this::get);
        behaviour =
            out -> out.write(Clients.bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}"));
        assertThrows(IOException.class, this::get);
        behaviour =
            out -> out.write(
            Clients.bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"));
        assertEquals("{}", new String(get().body()));
        behaviour = out -> out.write(Clients.bytes("no HTTP at all\r\n\r\n"));
        assertTrue(statusOrZero() < 200);
    }

    private int statusOrZero() {
        try {
            return get().status();
        } catch (IOException error) {
            return 0;
        }
    }

    @Test
    void aServerThatDripsIsCutOffInTime() {
        for (String start : new String[] {"", "HTTP/1.1 200 OK\r\nX-Endless: ",
            "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n",
            "HTTP/1.0 200 OK\r\n\r\n{}"}) {
            behaviour = out -> {
                out.write(Clients.bytes(start));
                while (true) {
                    out.write('x');
                    Thread.sleep(20);
                }
            };
            long began = System.nanoTime();
            assertThrows(IOException.class,
                () -> new HttpTransport().request("GET", base() + "/", null, 0.3));
            double seconds = (System.nanoTime() - began) / 1e9;
            assertTrue((start.isEmpty() || seconds > 0.25) && seconds < 60, "after " + seconds + " s");
        }
        Clients.await(() -> !hasRequestThread());
    }

    private static boolean hasRequestThread() {
        for (Thread each : Thread.getAllStackTraces().keySet()) {
            if (each.getName().equals("ldpbayes-request")) return true;
        }
        return false;
    }

    @Test
    void aWholeClientSendsOverHttp() {
        behaviour = out -> {
            boolean isPlan = requests.get(requests.size() - 1).startsWith("GET");
            String content = isPlan ? new String(Clients.PLAN, StandardCharsets.ISO_8859_1)
                : "{\"status\":\"recorded\"}";
            responding("HTTP/1.1 200 OK", "", content).respond(out);
        };
        String url = base() + "/v1/surveys/" + Clients.SURVEY;
        ClientOptions options = Clients.options(new MemoryStore(), new HttpTransport());
        try (Client client = new Client(url, options)) {
            assertEquals("ready", client.grant().toString());
            assertEquals(State.QUEUED, client.report(Clients.ROW, Clients.LABEL).state());
            assertEquals("sent", client.flush(60).toString());
        }
        behaviour = responding("HTTP/1.1 200 OK", "", "<html>Sign in</html>");
        try (Client client = new Client(url, Clients.options(new MemoryStore(), new HttpTransport()))) {
            assertEquals("collector-unreachable", client.grant().reason());
        }
    }
}
