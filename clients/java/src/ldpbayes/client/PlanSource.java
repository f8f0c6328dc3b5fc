package ldpbayes.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import ldpbayes.Ed25519;
import ldpbayes.Reason;
import ldpbayes.Sha256;

/** Fetches the plan of a survey from its collector. */
final class PlanSource {
    private PlanSource() {
    }

    /**
     * Returns the bytes of a survey's plan, with a verified signature if a key is given; the plan is not
     * checked.
     */
    static byte[] fetchPlan(Transport transport, String url, String publicKey) {
        byte[] plan = fetchPage(transport, url);
        if (!publicKey.isEmpty()) {
            byte[] prefix = "ldp-bayes plan v1\0".getBytes(StandardCharsets.US_ASCII);
            byte[] message = Arrays.copyOf(prefix, prefix.length + 32);
            System.arraycopy(Sha256.of(plan), 0, message, prefix.length, 32);
            String line = new String(fetchPage(transport, url + "/signature"), StandardCharsets.ISO_8859_1);
            byte[] signature = readBase64(line, 64);
            byte[] key = readBase64(publicKey, 32);
            if (signature == null || !Ed25519.verify(key, message, signature)) throw unsigned();
        }
        return plan;
    }

    /** Fetches a URL from the collector; returns the body of the response. */
    static byte[] fetchPage(Transport transport, String url) {
        CollectorResponse response = CollectorResponse.get(transport, url);
        if (response.status == 200) return response.body;
        if (response.state == State.EXPIRED) {
            throw new ExpiredException("the collector has closed the survey");
        }
        if (response.reason.equals(Reason.NO_SIGNATURE)) throw unsigned();
        throw new TransportException(response.why, response.reason);
    }

    /** Decodes one line of base64; returns null unless it is that of so many bytes. */
    static byte[] readBase64(String line, int count) {
        try {
            byte[] bytes = Base64.getDecoder().decode(line.trim());
            boolean isCanonical = Base64.getEncoder().encodeToString(bytes).equals(line.trim());
            return isCanonical && bytes.length == count ? bytes : null;
        } catch (IllegalArgumentException error) {
            return null;
        }
    }

    private static SignatureException unsigned() {
        return new SignatureException("the plan lacks the required signature: its author must sign it");
    }
}
