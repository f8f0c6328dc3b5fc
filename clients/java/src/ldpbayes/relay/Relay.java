package ldpbayes.relay;

import static ldpbayes.ProbabilityTables.WORD;
import static ldpbayes.ProbabilityTables.cellSizes;
import static ldpbayes.SurveyException.requireValid;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import ldpbayes.Bytes;
import ldpbayes.Decimals;
import ldpbayes.EpsilonProof;
import ldpbayes.Fraction;
import ldpbayes.PrivacyException;
import ldpbayes.relay.Composition.Message;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Question;
import ldpbayes.survey.Waves;

/**
 * The relay of a survey: an organisation that hides who sent which report, and the promise that follows.
 *
 * <p>The same rules as {@code encoders/survey/relay.py} and {@code plan_checks.py} of the Python package.
 */
public final class Relay {
    /** Entries of a plan besides {@code ask}, which is left out if each person answers one question. */
    private static final int ENTRIES = 9;
    private static final String BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    /** The rest of a label. The last label begins with a letter: other readers take 127.1 for a number. */
    private static final String REST = "(?:[a-z0-9-]{0,61}[a-z0-9])?";
    private static final Pattern ADDRESS = Pattern.compile(
        "(?:https://(?:" + BYTE + "(?:\\." + BYTE + "){3}|(?:[a-z0-9]" + REST + "\\.)*[a-z]" + REST + ")"
        + "|http://(?:localhost|127(?:\\." + BYTE + "){3}))(?::([1-9][0-9]{0,4}))?/[a-z0-9][a-z0-9-]{0,63}");
    private static final int MAX_ADDRESS = 255;
    private static final int KEY_BYTES = 39;
    /** What a key contains before and after the public key: the only suite. */
    private static final String SUITE = "002000010001";
    private static final int MAX_COLUMNS = 256;
    private static final int MAX_ENVELOPE_BYTES = 60_000;
    /** The largest epsilon of one of several answers. */
    private static final Fraction MAX_EACH = Decimals.parse("4");
    /** More than the rounding of a fraction to a double. */
    private static final double ROUNDING = 1 + 1e-12;

    final byte[] collectorKey;
    final byte[] relayKey;
    private final String url;
    private final long batch;
    private final int honestReports;
    private final String epsilon;
    private final String delta;
    private final long opens;
    private final long closes;

    private Relay(Map<?, ?> entry) {
        boolean asksAll = entry.containsKey("ask");
        requireValid(entry.size() == ENTRIES + (asksAll ? 1 : 0));
        requireValid(!asksAll || "all".equals(entry.get("ask")));
        url = (String) entry.get("url");
        batch = (Long) entry.get("batch");
        epsilon = (String) entry.get("epsilon");
        delta = (String) entry.get("delta");
        closes = (Long) entry.get("closes");
        requireValid(isUrl(url) && 2 <= batch && batch <= Shuffling.MAX_REPORTS
            && isWithin(epsilon, "0.001", "32") && isWithin(delta, "0.000000001", "0.00001"));
        Fraction honest = Decimals.parse(entry.get("honest"));
        // in exact decimals: .29 x 100 is 29
        BigInteger reports =
            honest.numerator().multiply(BigInteger.valueOf(batch)).divide(honest.denominator());
        requireValid(reports.signum() > 0 && honest.numerator().compareTo(honest.denominator()) <= 0);
        honestReports = reports.intValue();
        opens = (Long) entry.get("opens");
        requireValid(0 < opens && opens < closes && closes < 1L << 33);
        collectorKey = readKey((String) entry.get("collector_key"));
        relayKey = readKey((String) entry.get("relay_key"));
        requireValid(!Arrays.equals(collectorKey, relayKey));
    }

    /**
     * Reads a plan like {@link Plan#read(byte[])}; if it has a relay, checks that its promise follows.
     *
     * @param plan the bytes of the plan, as the relay sends them
     * @return the plan
     * @throws ldpbayes.SurveyException if the bytes are not a plan
     * @throws PrivacyException if the plan spends more than epsilon, or if the promise does not follow
     */
    public static Plan readPlan(byte[] plan) {
        return Plan.read(plan, relayed -> of(relayed).check(relayed));
    }

    /**
     * Returns the relay of a plan.
     *
     * @param plan a plan with a relay
     * @return the relay
     */
    public static Relay of(Plan plan) {
        return new Relay(plan.relay());
    }

    /**
     * Returns whether a text is the address of a survey at a relay that every reader understands alike.
     *
     * @param text any text
     * @return whether it is
     */
    public static boolean isUrl(String text) {
        Matcher found = ADDRESS.matcher(text.length() <= MAX_ADDRESS ? text : "");
        return found.matches() && (found.group(1) == null || Integer.parseInt(found.group(1)) < 65_536);
    }

    /** {@return the survey's address at the relay} */
    public String url() { return url; }

    /** {@return the smallest number of messages that the relay passes on together} */
    public long batch() { return batch; }

    /** {@return how many of them come from people who do not help the collector, at least} */
    public int honestReports() { return honestReports; }

    /** {@return the epsilon that is promised towards everybody but the relay, as a decimal} */
    public String epsilon() { return epsilon; }

    /** {@return the delta that is promised with it, as a decimal} */
    public String delta() { return delta; }

    /** {@return when the relay stops, in seconds since 1970} */
    public long closes() { return closes; }

    /** Checks that a plan fits its relay, and that the promise follows from its questions. */
    private void check(Plan plan) {
        // a token names its holder to the organisation that gave it
        requireValid(!plan.byInvitation() && url.endsWith("/" + plan.id()));
        List<Waves.Wave> waves = plan.waves() == null ? Collections.emptyList() : plan.waves().list();
        requireValid(waves.isEmpty()
            || opens == waves.get(0).opens && closes == waves.get(waves.size() - 1).closes);
        requireValid(Envelope.size(plan) <= MAX_ENVELOPE_BYTES);
        if (plan.asksAll()) {
            checkSum(plan);
        }
        List<Message> messages = new ArrayList<>();
        double most = 0;
        for (Question question : plan.questions()) {
            Message message = boundMessage(question);
            messages.add(message);
            most = Math.max(most, message.ratio);
        }
        double promised = Double.parseDouble(epsilon);
        double attained = plan.asksAll() ? Composition.composedDelta(messages, honestReports, promised)
            : Shuffling.shuffledDelta(most, honestReports, promised);
        if (attained > Double.parseDouble(delta)) {
            throw new PrivacyException();
        }
    }

    /** Checks that a person can answer all questions, and that all answers together spend at most epsilon. */
    private static void checkSum(Plan plan) {
        List<Question> questions = plan.questions();
        requireValid(2 <= questions.size() && questions.size() <= MAX_COLUMNS);
        Fraction each = EpsilonProof.expLowerBound(MAX_EACH);
        BigInteger numerator = BigInteger.ONE;
        BigInteger denominator = BigInteger.ONE;
        boolean isPrivate = true;
        for (Question question : questions) {
            requireValid(question.weight() == 1);
            Fraction ratio = question.mechanism().ratio();
            isPrivate &= !ratio.isGreaterThan(each);
            numerator = numerator.multiply(ratio.numerator());
            denominator = denominator.multiply(ratio.denominator());
        }
        Fraction limit = EpsilonProof.expLowerBound(Decimals.parse(plan.epsilon()));
        if (!isPrivate || new Fraction(numerator, denominator).isGreaterThan(limit)) {
            throw new PrivacyException();
        }
    }

    /**
     * Returns what bounds the message of a question.
     *
     * <p>Direct encoding is bounded by two values, or by the exact cells of more: any two probabilities of
     * one output add up to at most p + 1 times the least one. Any other mechanism is bounded by its ratio.
     */
    static Message boundMessage(Question question) {
        boolean isDirect = question.mechanismName().equals("DE");
        if (!isDirect || question.cells() == 2) {
            return new Message(roundUp(question.mechanism().ratio()), 1, isDirect);
        }
        // the probabilities of an output, in units of 2^-128
        BigInteger keep = new BigInteger((String) question.tables().get("keep"));
        BigInteger[] cells = cellSizes(question.cells() - 1);
        BigInteger kept = keep.multiply(WORD);
        BigInteger small = WORD.subtract(keep).multiply(cells[0]);
        BigInteger large = WORD.subtract(keep).multiply(cells[1]);
        BigInteger least = kept.min(small);
        BigInteger p = large.add(kept.max(large)).subtract(least); // in units of the least
        BigInteger others = BigInteger.valueOf(question.cells() - 2).multiply(large.subtract(small));
        BigInteger variation = kept.subtract(small).max(large.subtract(kept)).add(others);
        Fraction move = new Fraction(
            variation.multiply(p.add(least)), WORD.multiply(WORD).multiply(p.subtract(least)));
        return new Message(roundUp(new Fraction(p, least)), Math.min(1, roundUp(move)), false);
    }

    private static double roundUp(Fraction fraction) {
        return fraction.nearestDouble() * ROUNDING;
    }

    private static boolean isWithin(String number, String low, String high) {
        Fraction value = Decimals.parse(number);
        return !Decimals.parse(low).isGreaterThan(value) && !value.isGreaterThan(Decimals.parse(high));
    }

    /** Reads a public key: its id, and the key between the codes of the only suite. */
    private static byte[] readKey(String text) {
        byte[] key = Base64.getDecoder().decode(text);
        requireValid(key.length == KEY_BYTES && Base64.getEncoder().encodeToString(key).equals(text));
        byte[] suite = Bytes.concatenate(Arrays.copyOfRange(key, 1, 3), Arrays.copyOfRange(key, 35, 39));
        requireValid(Bytes.toHex(suite).equals(SUITE));
        return key;
    }
}
