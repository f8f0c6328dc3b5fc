package ldpbayes.survey;

import java.util.Arrays;
import ldpbayes.Bytes;
import ldpbayes.TokenException;

/**
 * An invitation: in a survey by invitation, a token determines the question and counts once.
 *
 * <p>A token is the id of a report, which the operator draws instead of the device. A device receives it as
 * text with four check bytes: it refuses a misspelt token, or one of another plan, before anything is drawn.
 */
public final class Invitation {
    private static final int LETTERS = 32;
    private static final int TOKEN_BYTES = 20;
    private static final int ID_BYTES = 16;
    static final int DRAWN = -1;
    private static final byte[] PREFIX = Bytes.fromText("ldp-bayes token check\0");

    /** The question, or DRAWN. */
    final int question;
    /** The report's id, or null if the device draws it. */
    final byte[] id;
    private final Waves.Wave wave;

    private Invitation(int question, Waves.Wave wave, byte[] id) {
        this.question = question;
        this.wave = wave;
        this.id = id;
    }

    /** {@return the wave, or null without waves} */
    public Waves.Wave wave() { return wave; }

    /**
     * Reads a token.
     *
     * @param plan the plan of the survey
     * @param token the text of the token, or null
     * @return the question and the report's id in the token, or null if the survey needs no invitation
     * @throws TokenException if the token does not fit the plan, is missing or is not needed
     */
    public static Invitation read(Plan plan, String token) {
        if (plan.relay() != null) {
            readCode(plan, token); // the relay reads it, and the report does not contain it
            return null;
        }
        if (token != null != plan.byInvitation()) {
            throw new TokenException(
                token != null ? "is not needed: leave it out" : "is missing: give the person's invitation");
        }
        return token == null ? null : parse(plan, token);
    }

    /**
     * Chooses a question in place of a drawn one, for previews.
     *
     * <p>Never send such a report: the choice of the question may depend on the row.
     *
     * @param question index of the question
     * @return what {@code Randomise} takes
     */
    public static Invitation toQuestion(int question) {
        return new Invitation(question, null, null);
    }

    /**
     * Chooses the wave of a report.
     *
     * @param chosen what is chosen besides, or null if the question is drawn
     * @param wave the wave, or null without waves
     * @return what {@code Randomise} takes
     */
    public static Invitation inWave(Invitation chosen, Waves.Wave wave) {
        return chosen == null ? new Invitation(DRAWN, wave, null)
            : new Invitation(chosen.question, wave, chosen.id);
    }

    /**
     * Reads a code of the survey's relay, which has the form of a token.
     *
     * @param plan the plan of the survey
     * @param code the text of the code, or null
     * @return the code's 16 bytes, or none without a code
     * @throws TokenException if the code does not fit the plan
     */
    public static byte[] readCode(Plan plan, String code) {
        return code == null ? new byte[0] : parseId(plan, code);
    }

    private static Invitation parse(Plan plan, String token) {
        byte[] id = parseId(plan, token);
        int index = (id[0] & 255) << 8 | id[1] & 255;
        int count = plan.questions().size();
        if (index >= count * (plan.waves() == null ? 1 : plan.waves().list().size())) {
            throw misspelt();
        }
        Waves.Wave wave = plan.waves() == null ? null : plan.waves().list().get(index / count);
        return new Invitation(index % count, wave, id);
    }

    private static byte[] parseId(Plan plan, String token) {
        byte[] data = decodeBase32(token);
        if (data == null) {
            throw misspelt();
        }
        byte[] id = Arrays.copyOf(data, ID_BYTES);
        byte[] whole = Bytes.concatenate(id, Bytes.sha256(PREFIX, plan.digestBytes(), id));
        if (!Arrays.equals(Arrays.copyOf(whole, TOKEN_BYTES), data)) {
            throw misspelt();
        }
        return id;
    }

    private static TokenException misspelt() {
        return new TokenException("is misspelt, or of another survey: copy all 32 characters");
    }

    /**
     * Decodes base32 (RFC 4648, section 6) of 20 bytes; returns null if the text is something else.
     *
     * <p>Eight letters are five bytes. A to Z stand for 0 to 25, 2 to 7 for 26 to 31. Case, hyphens and
     * spaces are ignored.
     */
    private static byte[] decodeBase32(String text) {
        byte[] data = new byte[TOKEN_BYTES];
        int bits = 0;
        int letters = 0;
        for (int i = 0; i < text.length(); i++) {
            char letter = text.charAt(i);
            if ("- \t\r\n".indexOf(letter) >= 0) {
                continue;
            }
            // no other character than an ASCII letter becomes one if it is in lower case
            int digit = "abcdefghijklmnopqrstuvwxyz234567".indexOf(
                'A' <= letter && letter <= 'Z' ? letter + 'a' - 'A' : letter);
            if (digit < 0 || letters == LETTERS) {
                return null;
            }
            bits = bits << 5 | digit;
            letters++;
            int complete = 5 * letters / 8;
            if (complete > 5 * (letters - 1) / 8) {
                data[complete - 1] = (byte) (bits >> 5 * letters % 8);
            }
        }
        return letters == LETTERS ? data : null;
    }
}
