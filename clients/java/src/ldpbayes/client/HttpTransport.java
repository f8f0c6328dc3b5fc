package ldpbayes.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.HttpURLConnection;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URL;
import java.security.GeneralSecurityException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;

/**
 * The client's HTTP: fetches a plan and posts a report with {@code HttpURLConnection}.
 *
 * <p>Requests have no cookies, caches or redirects, and the same headers on every device. Each is sent over a
 * separate connection, whose TLS session is never resumed: that would link two requests of a device. It is
 * made by a thread of its own, because {@code HttpURLConnection} cannot bound the time of a whole exchange.
 */
public final class HttpTransport implements Transport {
    private static final int MAX_RESPONSE_BYTES = 1 << 20; // a plan is never larger

    /** Makes a transport; all of them are alike. */
    public HttpTransport() {
    }

    @Override
    public Response request(String method, String url, byte[] body, double timeout) throws IOException {
        if (Thread.currentThread().isInterrupted()) throw new InterruptedIOException();
        int milliseconds = (int) Math.max(1, Math.min(timeout * 1000, Integer.MAX_VALUE));
        HttpURLConnection connection = open(new URL(url));
        separate(connection);
        connection.setConnectTimeout(milliseconds);
        connection.setReadTimeout(milliseconds);
        AtomicBoolean isOver = new AtomicBoolean();
        FutureTask<Response> exchange = new FutureTask<>(() -> exchange(connection, method, body, isOver));
        new RequestThread(exchange).start();
        try {
            return exchange.get(milliseconds, TimeUnit.MILLISECONDS);
        } catch (TimeoutException error) {
            throw new SocketTimeoutException("the server did not respond in time");
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException();
        } catch (ExecutionException error) {
            throw new IOException("no response", error.getCause());
        } finally {
            isOver.set(true); // a thread that still connects cannot be stopped, and must not post later
            connection.disconnect();
        }
    }

    private static Response exchange(HttpURLConnection connection, String method, byte[] body,
            AtomicBoolean isOver) throws IOException {
        connection.setRequestMethod(method);
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        connection.setRequestProperty("Accept-Encoding", "identity");
        connection.setRequestProperty("User-Agent", "ldp-client");
        connection.setRequestProperty("Accept", "application/json");
        connection.setRequestProperty("Connection", "close");
        if (body != null) {
            connection.setRequestProperty("Content-Type", "application/vnd.msgpack");
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(body.length);
            try (OutputStream out = connection.getOutputStream()) {
                // the connection exists now, which may have taken longer than the timeout
                if (isOver.get()) throw new IOException("the request is over");
                out.write(body);
            }
        }
        int status = connection.getResponseCode();
        InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        byte[] content = in == null ? new byte[0] : read(in);
        int length = connection.getContentLength();
        if (in != null && length > content.length) throw new IOException("the response is incomplete");
        return new Response(status, content, retryAfter(connection));
    }

    /**
     * Prevents that requests share a connection or a TLS session, and that the application's passwords are
     * sent.
     *
     * <p>Android closes a connection after a request with {@code Connection: close}. A JDK keeps it if the
     * server does, but closes it before a request with another authenticator. Sessions are stored in their
     * context, so each request has a new one.
     */
    private static void separate(HttpURLConnection connection) throws IOException {
        if (connection instanceof HttpsURLConnection) {
            try {
                SSLContext context = SSLContext.getInstance("TLS");
                context.init(null, null, null); // certificates are checked as the system does
                ((HttpsURLConnection) connection).setSSLSocketFactory(context.getSocketFactory());
            } catch (GeneralSecurityException error) {
                throw new IOException("there is no TLS", error);
            }
        }
        try {
            HttpURLConnection.class.getMethod("setAuthenticator", Authenticator.class)
                .invoke(connection, new Authenticator() { });
        } catch (ReflectiveOperationException error) {
            // Android, or Java 8
        }
    }

    private static byte[] read(InputStream in) throws IOException {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        byte[] part = new byte[8192];
        for (int count; (count = in.read(part)) >= 0;) {
            content.write(part, 0, count);
            if (content.size() > MAX_RESPONSE_BYTES) throw new IOException("the response is too long");
        }
        return content.toByteArray();
    }

    /**
     * Returns the seconds of the Retry-After header, or 0; a date is compared with the response's Date
     * header.
     */
    private static double retryAfter(HttpURLConnection connection) {
        String text = connection.getHeaderField("Retry-After");
        if (text == null) return 0;
        if (text.trim().matches("[0-9]+")) return Double.parseDouble(text);
        long end = connection.getHeaderFieldDate("Retry-After", 0);
        long now = connection.getDate();
        return end > now && now > 0 ? (end - now) / 1000.0 : 0;
    }

    /**
     * Opens a connection without cookies, although the application may have set a CookieHandler for its own.
     */
    private static synchronized HttpURLConnection open(URL url) throws IOException {
        CookieHandler handler = CookieHandler.getDefault();
        if (handler == null) return (HttpURLConnection) url.openConnection();
        // a connection takes the default of this moment; those of other threads have their cookies even so
        CookieHandler filter = new CookieFilter(handler);
        CookieHandler.setDefault(filter);
        try {
            return (HttpURLConnection) url.openConnection();
        } finally {
            if (CookieHandler.getDefault() == filter) CookieHandler.setDefault(handler);
        }
    }

    /** A thread that makes one request, without cookies. */
    private static final class RequestThread extends Thread {
        RequestThread(Runnable exchange) {
            super(exchange, "ldpbayes-request");
            setDaemon(true);
        }
    }

    /**
     * Leaves cookies to the application's handler, except those of the client's requests, which have none.
     */
    private static final class CookieFilter extends CookieHandler {
        private final CookieHandler handler;

        CookieFilter(CookieHandler handler) {
            this.handler = handler;
        }

        @Override
        public Map<String, List<String>> get(URI uri, Map<String, List<String>> headers) throws IOException {
            boolean isOurs = Thread.currentThread() instanceof RequestThread;
            return isOurs ? Collections.emptyMap() : handler.get(uri, headers);
        }

        @Override
        public void put(URI uri, Map<String, List<String>> headers) throws IOException {
            if (!(Thread.currentThread() instanceof RequestThread)) handler.put(uri, headers);
        }
    }
}
