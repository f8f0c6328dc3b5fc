package ldpbayes.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import ldpbayes.Bytes;
import ldpbayes.Ed25519;
import ldpbayes.Reason;

/** Fetches the plan of a survey from its collector, or from its relay. */
final class PlanSource {
    private PlanSource() {
    }

    /**
     * Returns the bytes of a survey's plan, with a verified signature if a key is given; the plan is not
     * checked.
     */
    static byte[] fetchPlan(Transport transport, String url, String publicKey, boolean isRelayed) {
        byte[] plan = fetchPage(transport, isRelayed ? url + "/plan" : url, false, isRelayed);
        if (!publicKey.isEmpty()) {
            byte[] prefix = "ldp-bayes plan v1\0".getBytes(StandardCharsets.US_ASCII);
            byte[] message = Arrays.copyOf(prefix, prefix.length + 32);
            System.arraycopy(Bytes.sha256(plan), 0, message, prefix.length, 32);
            byte[] line = fetchPage(transport, url + "/signature", true, isRelayed);
            byte[] signature = readBase64(new String(line, StandardCharsets.ISO_8859_1), 64);
            byte[] key = readBase64(publicKey, 32);
            if (signature == null || !Ed25519.verify(key, message, signature)) throw unsigned();
        }
        return plan;
    }

    /** Fetches a plan, texts or a signature; any other page, of a sign-in, is a fault of the network. */
    static byte[] fetchPage(Transport transport, String url, boolean isSignature, boolean isRelayed) {
        CollectorResponse response = CollectorResponse.exchange(transport, "GET", url, null, isRelayed);
        String line = new String(response.body, StandardCharsets.ISO_8859_1).trim();
        boolean isWanted = isSignature ? line.length() % 4 == 0 && line.matches("[\\w+/=]+")
            : response.content.get("format") instanceof Number;
        if (response.status == 200 && isWanted) return response.body;
        if (response.state == State.EXPIRED) {
            throw new ExpiredException("the " + response.server + " has closed the survey");
        }
        if (response.reason.equals(Reason.NO_SIGNATURE)) throw unsigned();
        String reason = response.reason.isEmpty() ? response.server + "-unreachable" : response.reason;
        throw new TransportException(response.why, reason);
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
