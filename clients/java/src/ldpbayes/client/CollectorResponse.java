package ldpbayes.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import ldpbayes.Json;
import ldpbayes.Reason;

/** Interprets the response of a collector: the outcome of a report, or why the attempt failed. */
public final class CollectorResponse {
    private static final double TIMEOUT_SECONDS = 10;
    /** Reasons that reject the bytes of a report for good; any other reason may pass. */
    private static final Set<String> FINAL_REASONS = new HashSet<>(Arrays.asList(
        Reason.MALFORMED, Reason.TOO_LARGE, Reason.UNKNOWN_QUESTION, Reason.BAD_PAYLOAD, Reason.ID_REUSED));
    private static final Set<String> OTHER_REASONS = new HashSet<>(Arrays.asList(
        Reason.SURVEY_CLOSED, Reason.WRONG_PLAN, Reason.NOT_ENROLLED, Reason.LENGTH_REQUIRED,
        Reason.INCOMPLETE_BODY, Reason.UNSUPPORTED_MEDIA_TYPE, Reason.UNKNOWN_SURVEY, Reason.NO_SIGNATURE,
        Reason.NO_TEXTS, Reason.SURVEY_NOT_OPEN, Reason.TOO_MANY_REQUESTS, Reason.TOO_MANY_REPORTS,
        Reason.STORE_UNAVAILABLE, Reason.NOT_AUTHORISED, Reason.NO_SUCH_PAGE, Reason.RELAY_REQUIRED,
        Reason.REHEARSAL, Reason.INTERNAL_ERROR));

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
    /** The JSON object in the body; empty if there is none. */
    final Map<?, ?> content;

    private CollectorResponse(Transport.Response response, String failure) {
        status = response.status();
        body = response.body();
        retryAfter = response.retryAfter();
        content = parseObject(body);
        // a JDK gives no body with this status
        Object word = status == 401 && body.length == 0 ? Reason.NOT_AUTHORISED : content.get("reason");
        boolean isKnown = FINAL_REASONS.contains(word) || OTHER_REASONS.contains(word);
        state = isKnown ? rejection(status, (String) word) : delivery(status, content.get("status"));
        reason = isKnown ? (String) word : state == null ? Reason.COLLECTOR_UNREACHABLE : "";
        why = isKnown ? explain((String) word)
            : status == 0 ? "the collector did not respond" + failure
            : "a response with status " + status + ", not from a collector";
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
     * @return the interpreted response
     */
    public static CollectorResponse post(Transport transport, String url, byte[] report) {
        return exchange(transport, "POST", url, report);
    }

    /** Fetches a page, and interprets the response. */
    static CollectorResponse get(Transport transport, String url) {
        return exchange(transport, "GET", url, null);
    }

    private static CollectorResponse exchange(Transport transport, String method, String url, byte[] body) {
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
        return new CollectorResponse(response, failure);
    }

    /** Returns a collector's reason as a sentence; some need an operator, and a cause. */
    private static String explain(String reason) {
        String cause = "";
        switch (reason) {
            case Reason.LENGTH_REQUIRED: cause = "Content-Length was removed on the way"; break;
            case Reason.NO_SUCH_PAGE: cause = "a survey's URL looks like https://host/v1/surveys/ID"; break;
            case Reason.NOT_AUTHORISED: cause = "the gateway's token is wrong or missing"; break;
            case Reason.NOT_ENROLLED: cause = "it does not know the invitation"; break;
            case Reason.STORE_UNAVAILABLE: cause = "it cannot use its store"; break;
            case Reason.UNKNOWN_SURVEY: cause = "it does not serve this survey, or not yet"; break;
            case Reason.UNSUPPORTED_MEDIA_TYPE: cause = "Content-Type was changed on the way"; break;
            case Reason.WRONG_PLAN: cause = "it serves another plan than the person agreed to"; break;
            default: break;
        }
        return "the collector responded: " + reason + (cause.isEmpty() ? "" : "; " + cause);
    }

    /**
     * Returns whether a failure concerns all surveys of the collector: it is busy, or cannot be reached.
     *
     * @return whether no report can be delivered to the collector
     */
    public boolean isShared() {
        return status == 429 || status >= 500 || reason.equals(Reason.COLLECTOR_UNREACHABLE);
    }

    private static State rejection(int status, String reason) {
        if (status == 410 && reason.equals(Reason.SURVEY_CLOSED)) return State.EXPIRED;
        return status >= 400 && status < 500 && FINAL_REASONS.contains(reason) ? State.REJECTED : null;
    }

    private static State delivery(int status, Object word) {
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
