package ldpbayes.relay;

import java.security.KeyPair;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;
import ldpbayes.Bytes;
import ldpbayes.LdpException;
import ldpbayes.Reason;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Randomise;
import ldpbayes.survey.Waves;

/**
 * Seals what a person sends through a relay: each report for the collector, and all of them for the relay.
 *
 * <p>An envelope has one inner message for each column. If each person answers all questions, column j is for
 * question j; otherwise the only column is for all questions. All messages of a column have one length.
 */
public final class Envelope {
    static final int CODE_BYTES = 16;
    private static final int LENGTH_BYTES = 2;
    /** What a seal adds: the key's id, an ephemeral public key, and the tag of AES-GCM. */
    private static final int SEAL_BYTES = 1 + 32 + 16;

    private Envelope() {
    }

    /**
     * Seals a person's reports with the keys in the plan. Each call gives another envelope: send only one.
     *
     * @param plan a plan that {@link Relay#readPlan} has read
     * @param reports one report, or one for each question in the plan's order if each person answers all
     * @param code the relay's code, 16 bytes, which the collector never gets; empty without one
     * @param wave the wave of the reports, or null without waves
     * @return the bytes to post to the survey's address at the relay, {@code /}, and the plan's digest; with
     *     waves followed by {@code /} and the wave's name
     * @throws ldpbayes.SurveyException if a public key in the plan has a low order
     * @throws LdpException with the reason {@code relay-unsupported} if the platform lacks X25519
     */
    public static byte[] seal(Plan plan, List<byte[]> reports, byte[] code, Waves.Wave wave) {
        return seal(plan, reports, code, wave, Hpke::makeKeyPair);
    }

    static byte[] seal(
        Plan plan, List<byte[]> reports, byte[] code, Waves.Wave wave, Supplier<KeyPair> keyPairs) {
        Relay relay = Relay.of(plan);
        List<Integer> columns = columns(plan);
        boolean fits = reports.size() == columns.size() && (code.length == 0 || code.length == CODE_BYTES)
            && (wave == null) == (plan.waves() == null);
        byte[] content = code;
        for (int i = 0; fits && i < columns.size(); i++) {
            byte[] report = reports.get(i);
            byte[] length = {(byte) (report.length >> 8), (byte) report.length};
            fits = report.length <= columns.get(i); // a longer message would show the question
            byte[] zeros = new byte[Math.max(0, columns.get(i) - report.length)];
            byte[] padded = Bytes.concatenate(length, report, zeros);
            content = Bytes.concatenate(
                content, seal(relay.collectorKey, "ldp-bayes report\0", plan, null, padded, keyPairs.get()));
        }
        if (!fits) {
            throw new LdpException("the reports, code or wave are not of this survey", Reason.ERROR);
        }
        return seal(relay.relayKey, "ldp-bayes relay\0", plan, wave, content, keyPairs.get());
    }

    private static byte[] seal(
        byte[] key, String purpose, Plan plan, Waves.Wave wave, byte[] text, KeyPair keyPair) {
        byte[] mark = wave == null ? new byte[0] : new byte[] {(byte) (wave.index >> 8), (byte) wave.index};
        byte[] info = Bytes.concatenate(Bytes.fromText(purpose), plan.digestBytes(), mark);
        byte[] publicKey = Arrays.copyOfRange(key, 3, 35);
        return Bytes.concatenate(new byte[] {key[0]}, Hpke.sealTo(publicKey, keyPair, info, text));
    }

    /**
     * Returns the length of the longest report of each column.
     *
     * @param plan a plan with a relay
     * @return of each question, or of all of them
     */
    public static List<Integer> columns(Plan plan) {
        List<Integer> columns = new ArrayList<>();
        int longest = 0;
        for (int i = 0; i < plan.questions().size(); i++) {
            columns.add(Randomise.reportBytes(plan, i));
            longest = Math.max(longest, columns.get(i));
        }
        return plan.asksAll() ? columns : Collections.singletonList(longest);
    }

    /** Returns the length of all envelopes of a plan whose relay gives codes. */
    static int size(Plan plan) {
        int size = SEAL_BYTES + CODE_BYTES;
        for (int each : columns(plan)) {
            size += LENGTH_BYTES + each + SEAL_BYTES;
        }
        return size;
    }
}
