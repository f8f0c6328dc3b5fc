package ldpbayes;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import ldpbayes.client.Audited;

/**
 * This client behind the interface of docs/porting.md, for tools/vectors/check_port.py; and for the audit.
 *
 * <p>{@code java -cp ... ldpbayes.Adapter --port 9000} serves it and prints its URL. Never use it for real
 * reports: the random bytes are part of the request. With {@code --with-parent} it ends when its input is
 * closed.
 */
final class Adapter {
    private static final int PORT = 9000;

    private Adapter() {
    }

    public static void main(String[] arguments) throws IOException {
        List<String> given = Arrays.asList(arguments);
        int place = given.indexOf("--port");
        int port = place < 0 ? PORT : Integer.parseInt(given.get(place + 1));
        // a checker may compute for a while between two requests
        System.setProperty("sun.net.httpserver.idleInterval", "86400");
        // otherwise the two packets of a response are 40 ms apart
        System.setProperty("sun.net.httpserver.nodelay", "true");
        InetAddress host = InetAddress.getByName("127.0.0.1");
        HttpServer server = HttpServer.create(new InetSocketAddress(host, port), 0);
        server.createContext("/", Adapter::respond);
        server.start();
        System.out.println("http://127.0.0.1:" + server.getAddress().getPort());
        if (given.contains("--with-parent")) {
            readAll(System.in);
            server.stop(0);
        }
    }

    private static void respond(HttpExchange exchange) throws IOException {
        byte[] posted = readAll(exchange.getRequestBody());
        String path = exchange.getRequestURI().getPath();
        Map<?, ?> request = (Map<?, ?>) Json.parse(Bytes.toText(posted));
        Object answer = path.equals("/report") ? Answer.to(request) : Audited.call(path, request);
        byte[] body = Bytes.fromText(Json.write(answer == null ? Collections.emptyMap() : answer));
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(answer == null ? 404 : 200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static byte[] readAll(InputStream input) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] part = new byte[8192];
        for (int count = input.read(part); count >= 0; count = input.read(part)) {
            all.write(part, 0, count);
        }
        return all.toByteArray();
    }
}
