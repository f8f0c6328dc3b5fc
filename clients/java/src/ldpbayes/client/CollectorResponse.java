package ldpbayes.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import ldpbayes.Json;
import ldpbayes.Reason;

/** Interprets the response of a collector or a relay: the outcome of a report, or why the attempt failed. */
public final class CollectorResponse {
    private static final double TIMEOUT_SECONDS = 10;
    /** Reasons that reject the bytes of a report for good; any other reason may pass. */
    private static final Set<String> FINAL_REASONS = new HashSet<>(Arrays.asList(
        Reason.MALFORMED, Reason.TOO_LARGE, Reason.UNKNOWN_QUESTION, Reason.BAD_PAYLOAD, Reason.ID_REUSED));
    private static final Set<String> FINAL_RELAY_REASONS = new HashSet<>(Arrays.asList(
        Reason.MALFORMED, Reason.BAD_SEAL, Reason.OTHER_PLAN, Reason.CODE_MISSING, Reason.CODE_UNKNOWN,
        Reason.CODE_USED));
    private static final Set<String> OTHER_REASONS = new HashSet<>(Arrays.asList(
        Reason.SURVEY_CLOSED, Reason.WRONG_PLAN, Reason.NOT_ENROLLED, Reason.LENGTH_REQUIRED,
        Reason.INCOMPLETE_BODY, Reason.UNSUPPORTED_MEDIA_TYPE, Reason.UNKNOWN_SURVEY, Reason.NO_SIGNATURE,
        Reason.NO_TEXTS, Reason.SURVEY_NOT_OPEN, Reason.TOO_MANY_REQUESTS, Reason.TOO_MANY_REPORTS,
        Reason.STORE_UNAVAILABLE, Reason.NOT_AUTHORISED, Reason.NO_SUCH_PAGE, Reason.RELAY_REQUIRED,
        Reason.REHEARSAL, Reason.INTERNAL_ERROR, Reason.NETWORK_FULL, Reason.PASSED_ON));

    /** The HTTP status; 0 without a response. */
    public final int status;
    /** The seconds that the server asks to wait; 0 if it asks for none. */
    public final double retryAfter;
    /** A report's final state; null if it must be sent again. */
    public final State state;
    /** Why the collector did not take the report; empty if it did. */
    public final String reason;
    /** The reason as a sentence. */
    public final String why;
    final byte[] body;
    /** "collector" or "relay". */
    final String server;
    /** The JSON object in the body; empty if there is none. */
    final Map<?, ?> content;

    private CollectorResponse(Transport.Response response, String failure, boolean isRelay) {
        server = isRelay ? "relay" : "collector";
        status = response.status();
        body = response.body();
        retryAfter = response.retryAfter();
        content = parseObject(body);
        // a JDK gives no body with this status
        Object word = status == 401 && body.length == 0 ? Reason.NOT_AUTHORISED : content.get("reason");
        Set<String> finals = isRelay ? FINAL_RELAY_REASONS : FINAL_REASONS;
        boolean isKnown =
            FINAL_REASONS.contains(word) || OTHER_REASONS.contains(word) || finals.contains(word);
        state = isKnown ? rejection(status, (String) word, finals)
            : delivery(status, content.get("status"), isRelay);
        reason = isKnown ? (String) word : state == null ? server + "-unreachable" : "";
        why = isKnown ? explain((String) word)
            : status == 0 ? "the " + server + " did not respond" + failure
            : "a response with status " + status + ", not from a " + server;
    }

    /**
     * Posts a report, and interprets the response.
     *
     * <p>Only the collector's own response about these bytes, or about the end of this survey, has a final
     * state. The page of a proxy and the "200 OK" of a network's sign-in page have none.
     *
     * @param transport sends the request; it may be the application's, and throw or return anything
     * @param url where to post
     * @param report the report's bytes
     * @param isRelay whether a relay responds
     * @return the interpreted response
     */
    public static CollectorResponse post(Transport transport, String url, byte[] report, boolean isRelay) {
        return exchange(transport, "POST", url, report, isRelay);
    }

    /** Sends a request, and interprets the response. */
    static CollectorResponse exchange(
            Transport transport, String method, String url, byte[] body, boolean isRelay) {
        Transport.Response response = null;
        String failure = "";
        try {
            response = transport.request(method, url, body, TIMEOUT_SECONDS);
        } catch (Throwable error) { // the application's own transport may throw anything
            Throwable cause = error;
            for (int i = 0; i < 10 && cause.getCause() != null; i++) cause = cause.getCause();
            failure = " (" + Receipt.typeName(cause) + ")"; // its message may contain an address
        }
        if (response == null) response = new Transport.Response(0, null, 0);
        return new CollectorResponse(response, failure, isRelay);
    }

    /** Returns a collector's reason as a sentence; some need an operator, and a cause. */
    private String explain(String reason) {
        String cause = "";
        switch (reason) {
            case Reason.LENGTH_REQUIRED: cause = "Content-Length was removed on the way"; break;
            case Reason.NO_SUCH_PAGE: cause = "a survey's URL looks like https://host/v1/surveys/ID"; break;
            case Reason.NETWORK_FULL:
                cause = "too many people have answered from your network; try another one";
                break;
            case Reason.NOT_AUTHORISED: cause = "the gateway's token is wrong or missing"; break;
            case Reason.NOT_ENROLLED: cause = "it does not know the invitation"; break;
            case Reason.STORE_UNAVAILABLE: cause = "it cannot use its store"; break;
            case Reason.UNKNOWN_SURVEY: cause = "it does not serve this survey, or not yet"; break;
            case Reason.UNSUPPORTED_MEDIA_TYPE: cause = "Content-Type was changed on the way"; break;
            case Reason.WRONG_PLAN: cause = "it serves another plan than the person agreed to"; break;
            default: break;
        }
        return "the " + server + " responded: " + reason + (cause.isEmpty() ? "" : "; " + cause);
    }

    /**
     * Returns whether a failure concerns all surveys of the collector: it is busy, or cannot be reached.
     *
     * @return whether no report can be delivered to the collector
     */
    public boolean isShared() {
        boolean isFull = reason.equals(Reason.NETWORK_FULL); // for this survey only
        return status == 429 && !isFull || status >= 500 || reason.equals(server + "-unreachable");
    }

    private static State rejection(int status, String reason, Set<String> finals) {
        if (status == 410 && reason.equals(Reason.SURVEY_CLOSED)) return State.EXPIRED;
        return status >= 400 && status < 500 && finals.contains(reason) ? State.REJECTED : null;
    }

    private static State delivery(int status, Object word, boolean isRelay) {
        if (isRelay) return status == 202 && "held".equals(word) ? State.SENT : null;
        if (status != 200) return null;
        return "recorded".equals(word) ? State.SENT : "duplicate".equals(word) ? State.DUPLICATE : null;
    }

    private static Map<?, ?> parseObject(byte[] body) {
        try {
            Object content = Json.parse(new String(body, StandardCharsets.UTF_8));
            if (content instanceof Map) return (Map<?, ?>) content;
        } catch (IllegalArgumentException error) {
            // not from a collector
        }
        return Collections.emptyMap();
    }
}
