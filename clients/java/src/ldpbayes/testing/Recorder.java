package ldpbayes.testing;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import ldpbayes.Bytes;
import ldpbayes.client.Transport;

/**
 * A collector in memory, for an application's tests: it counts equal bytes once, and does not check reports.
 * At the address of a relay it is a relay, which also deletes a report.
 *
 * <p>Pass it as the option {@code transport}.
 */
public final class Recorder implements Transport {
    /** What a recorder does with reports. */
    public enum Behaviour {
        /** Counts them. */
        NORMAL,
        /** Responds with 429 and Retry-After. */
        BUSY,
        /** Has closed the survey. */
        CLOSED,
        /** Refuses reports for good. */
        REJECTED,
        /** Answers every request with HTML and the status 200. */
        SIGN_IN_PAGE
    }

    private final byte[] plan;
    private final List<byte[]> bodies = new ArrayList<>();
    private final Set<String> reports = new LinkedHashSet<>();
    private Behaviour behaviour = Behaviour.NORMAL;
    private double retryAfter;
    private boolean isOffline;

    /**
     * Makes a collector.
     *
     * @param plan the plan that it serves, at any URL
     */
    public Recorder(byte[] plan) {
        this.plan = plan.clone();
    }

    /** {@return every body that was posted, including repeated ones} */
    public synchronized List<byte[]> bodies() { return new ArrayList<>(bodies); }

    /** {@return each counted report, once, in hexadecimal} */
    public synchronized List<String> reports() { return new ArrayList<>(reports); }

    /**
     * Chooses how the collector responds from now on.
     *
     * @param behaviour what it does with reports
     * @param retryAfter the seconds that a busy collector asks for
     */
    public synchronized void respond(Behaviour behaviour, double retryAfter) {
        this.behaviour = behaviour;
        this.retryAfter = retryAfter;
    }

    /**
     * Sets whether every request fails, as without a network.
     *
     * @param isOffline whether requests fail from now on
     */
    public synchronized void setOffline(boolean isOffline) {
        this.isOffline = isOffline;
    }

    @Override
    public synchronized Response request(String method, String url, byte[] body, double timeout)
            throws IOException {
        if (isOffline) throw new IOException("there is no network");
        if (method.equals("DELETE")) {
            reports.remove(Bytes.toHex(body));
            return response(204, "");
        }
        if (body != null) bodies.add(body.clone());
        if (behaviour == Behaviour.SIGN_IN_PAGE) return response(200, "<!doctype html>Sign in");
        if (behaviour == Behaviour.CLOSED) return response(410, "{\"reason\":\"survey-closed\"}");
        if (body == null) return new Response(200, plan, 0);
        if (behaviour == Behaviour.BUSY) return response(429, "{\"reason\":\"too-many-requests\"}");
        if (behaviour == Behaviour.REJECTED) return response(400, "{\"reason\":\"bad-payload\"}");
        if (url.contains("/" + Bytes.toHex(Bytes.sha256(plan)))) {
            reports.add(Bytes.toHex(body));
            return response(202, "{\"status\":\"held\"}");
        }
        String status = reports.add(Bytes.toHex(body)) ? "recorded" : "duplicate";
        return response(200, "{\"status\":\"" + status + "\"}");
    }

    private Response response(int status, String content) {
        return new Response(status, content.getBytes(StandardCharsets.UTF_8), status == 429 ? retryAfter : 0);
    }
}
