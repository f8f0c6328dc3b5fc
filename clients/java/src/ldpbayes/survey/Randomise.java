package ldpbayes.survey;

import static ldpbayes.ProbabilityTables.countUpTo;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import ldpbayes.Bytes;
import ldpbayes.LdpException;
import ldpbayes.RandomSource;
import ldpbayes.Randomness;
import ldpbayes.Reason;

/** The device's protocol, from a row to the bytes of one report. */
public final class Randomise {
    /** Largest length of a payload: a report has at most 4,096 bytes, of which 64 are for everything else. */
    static final int MAX_PAYLOAD_BYTES = 4032;

    private Randomise() {
    }

    /**
     * Makes one report of a row.
     *
     * @param plan the plan of the survey
     * @param row every entry of the survey by name
     * @param label the label, or null if the survey has no label
     * @param token the invitation, or null if the survey needs none
     * @param random source of random bytes
     * @param wave the wave, which a token determines too; null without waves
     * @return the report with what it is made of
     * @throws ldpbayes.RowException if the row or label does not fit
     * @throws ldpbayes.TokenException if the token does not fit
     */
    public static RandomisedReport randomise(Plan plan, Map<String, ?> row, Object label, String token,
        RandomSource random, Waves.Wave wave) {
        // 1. code and check every value of the row, also for other questions
        CodedRow coded = plan.encode(row, label);
        Invitation invited = Invitation.read(plan, token);
        return randomiseCoded(
            plan, coded, random, invited == null ? Invitation.inWave(null, wave) : invited);
    }

    /**
     * Makes one report of a row that is coded already; it uses integers only, and hashes nothing.
     *
     * @param plan the plan that coded the row
     * @param coded the codes of the row
     * @param random source of random bytes
     * @param chosen what {@link Invitation#read} returned: null if the question is drawn; with the wave, if
     *     there are waves
     * @return the report with what it is made of
     */
    public static RandomisedReport randomiseCoded(
        Plan plan, CodedRow coded, RandomSource random, Invitation chosen) {
        // 2. draw the question and the report's id, by public weights and without looking at the row
        Waves.Wave wave = chosen == null ? null : chosen.wave();
        if ((wave == null) != (plan.waves() == null)) {
            throw new LdpException("give a wave if the survey has waves, and otherwise none", Reason.ERROR);
        }
        boolean isDrawn = chosen == null || chosen.question == Invitation.DRAWN;
        int index = isDrawn ? drawQuestion(plan, random) : chosen.question;
        byte[] id = chosen == null || chosen.id == null ? Randomness.take(random, 16) : chosen.id;
        Question question = plan.questions().get(index);
        // 3. the true answer: the question's features, with the label unless it is about values alone
        long[] truth = question.trueAnswer(coded);
        // 4. randomise it under epsilon-local differential privacy: the last line that reads the true answer
        byte[] noise = Randomness.take(random, question.mechanism.randomBytes());
        byte[] payload = question.mechanism.perturb(truth, noise);
        // 5. pack the report
        int earlier = wave == null ? 0 : wave.index * plan.questions().size();
        byte[] report = pack(plan.digestBytes(), earlier + index, id, payload);
        return new RandomisedReport(question, wave, truth, payload, report);
    }

    /**
     * Makes all that a person sends of a coded row: one report, or one for each question in the plan's order.
     *
     * @param plan the plan that coded the row
     * @param coded the codes of the row
     * @param random source of random bytes, of which each answer gets fresh ones
     * @param chosen what {@link Invitation#read} returned, with the wave if there are waves
     * @return the reports
     */
    public static List<RandomisedReport> randomiseAll(
        Plan plan, CodedRow coded, RandomSource random, Invitation chosen) {
        List<RandomisedReport> made = new ArrayList<>();
        for (int i = 0; i < (plan.asksAll() ? plan.questions().size() : 1); i++) {
            Invitation asked = plan.asksAll() && chosen == null ? Invitation.toQuestion(i)
                : plan.asksAll() ? Invitation.inWave(Invitation.toQuestion(i), chosen.wave()) : chosen;
            made.add(randomiseCoded(plan, coded, random, asked));
        }
        return made;
    }

    /**
     * Returns the length of all reports to a question; with waves, of those in the last one, the longest.
     *
     * @param plan the plan of the survey
     * @param index the question's index
     * @return number of bytes
     */
    public static int reportBytes(Plan plan, int index) {
        byte[] payload = new byte[plan.questions().get(index).mechanism.payloadBytes()];
        int earlier = plan.waves() == null ? 0 : plan.waves().list().size() - 1;
        int last = earlier * plan.questions().size() + index;
        return pack(plan.digestBytes(), last, new byte[16], payload).length;
    }

    /**
     * Draws the index of a question by the public weights.
     *
     * @param plan the plan of the survey
     * @param random source of random bytes
     * @return the index
     * @throws LdpException if each person answers all questions
     */
    public static int drawQuestion(Plan plan, RandomSource random) {
        if (plan.asksAll()) {
            throw new LdpException("everybody answers all questions", Reason.ERROR);
        }
        return countUpTo(plan.limits, Bytes.readWord(Randomness.take(random, 8), 0));
    }

    /** Returns a report's bytes: one msgpack array of five entries in its shortest encoding. */
    private static byte[] pack(byte[] planDigest, int question, byte[] id, byte[] payload) {
        byte[] head = {(byte) 0x95, 1};
        byte[] index = question < 0x80 ? new byte[] {(byte) question} : packNumber(0xcc, question);
        return Bytes.concatenate(
            head, packNumber(0xc4, planDigest.length), planDigest, index,
            packNumber(0xc4, id.length), id, packNumber(0xc4, payload.length), payload);
    }

    /** Returns a number of one byte after a type of msgpack, or of two bytes after the next type. */
    private static byte[] packNumber(int type, int number) {
        return number < 0x100
            ? new byte[] {(byte) type, (byte) number}
            : new byte[] {(byte) (type + 1), (byte) (number >> 8), (byte) number};
    }
}
