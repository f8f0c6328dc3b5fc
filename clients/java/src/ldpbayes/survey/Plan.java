package ldpbayes.survey;

import static ldpbayes.ProbabilityTables.WORD;
import static ldpbayes.SurveyException.requireValid;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import ldpbayes.Bytes;
import ldpbayes.Decimals;
import ldpbayes.EpsilonProof;
import ldpbayes.Fraction;
import ldpbayes.Json;
import ldpbayes.LdpException;
import ldpbayes.Reason;
import ldpbayes.SurveyException;
import ldpbayes.mechanisms.Parameters;

/**
 * A survey's plan that has been read and checked: the immutable, hashed form of a survey that device,
 * collector and trainer share.
 */
public final class Plan {
    private static final int MAX_PLAN_BYTES = 1 << 20;
    private static final String ID = "[a-z0-9][a-z0-9-]{0,63}";
    /** The name of a series, and its author's key, 32 bytes in base64. */
    private static final String SERIES =
        "\\{\"key\":\"[A-Za-z0-9+/]{43}=\",\"name\":\"" + ID + "\"}";
    static final String ID_LETTERS = "-0123456789abcdefghijklmnopqrstuvwxyz";
    private static final String[] OPTIONAL = {
        "enrolment", "family", "label", "projection", "relay", "series", "texts", "validation", "waves",
    };

    /** The question's index is the number of these limits that are at most a 64-bit draw. */
    final long[] limits;
    private final String id;
    private final String family;
    private final String epsilon;
    private final boolean byInvitation;
    private final RowSchema schema;
    /** The model that devices validate, or null. */
    private final ValidationRound validation;
    private final List<Question> questions;
    /** The waves in which the questions are asked, or null. */
    private final Waves waves;
    private final byte[] digestBytes;
    private final String texts;
    /** The entry about the relay, or null. */
    private final Map<?, ?> relay;

    private Plan(Map<?, ?> document, byte[] bytes, Consumer<Plan> checkRelay) {
        int count = 6;
        for (String key : OPTIONAL) {
            count += document.containsKey(key) ? 1 : 0;
        }
        Parameters.checkKeyCount(document, count);
        requireValid(Long.valueOf(1).equals(document.get("format")));
        id = (String) document.get("id");
        family = document.containsKey("family") ? (String) document.get("family") : id;
        requireValid(isId(id) && isId(family) && document.containsKey("family") != family.equals(id));
        byInvitation = document.containsKey("enrolment");
        requireValid(!byInvitation || "token".equals(document.get("enrolment")));
        texts = (String) document.get("texts");
        requireValid(!document.containsKey("texts") || isDigest(texts));
        epsilon = (String) document.get("epsilon");
        relay = (Map<?, ?>) document.get("relay");
        Fraction limit = readEpsilon(epsilon, asksAll() ? 64 : 32);
        requireValid(!document.containsKey("series") || Json.write(document.get("series")).matches(SERIES));
        checkTables(document);
        schema = new RowSchema(document);
        validation = document.containsKey("validation") ? new ValidationRound(document) : null;
        questions = Collections.unmodifiableList(
            Questions.read(document, schema, EpsilonProof.expLowerBound(limit)));
        requireValid(validation == null || areAllAsked());
        waves = document.containsKey("waves")
            ? new Waves((Map<?, ?>) document.get("waves"), questions.size()) : null;
        requireValid(waves == null || validation == null);
        digestBytes = Bytes.sha256(bytes);
        long[] weights = new long[questions.size()];
        for (int i = 0; i < weights.length; i++) {
            weights[i] = questions.get(i).weight;
        }
        limits = limits(weights);
        if (document.containsKey("relay")) {
            if (checkRelay == null) { // its reports must not be sent to the collector
                throw new SurveyException("the survey is answered through a relay", Reason.RELAY_UNSUPPORTED);
            }
            checkRelay.accept(this);
        }
    }

    /**
     * Reads a plan, checks everything in it, and proves that each question spends at most epsilon.
     *
     * @param plan the bytes of the plan, as the collector sends them
     * @return the plan
     * @throws SurveyException if the bytes are not a plan, or the survey is answered through a relay
     * @throws ldpbayes.PrivacyException if a question spends more than epsilon
     */
    public static Plan read(byte[] plan) {
        return read(plan, null);
    }

    /**
     * Reads a plan like {@link #read(byte[])}, and leaves the entry about a relay to another check.
     *
     * @param plan the bytes of the plan
     * @param checkRelay is called for a plan with a relay; any exception that it throws refuses the plan, and
     *     null refuses every such plan
     * @return the plan
     */
    public static Plan read(byte[] plan, Consumer<Plan> checkRelay) {
        try {
            byte[] bytes = plan.clone();
            requireValid(bytes.length <= MAX_PLAN_BYTES);
            return new Plan((Map<?, ?>) Json.parseCanonical(Bytes.toText(bytes)), bytes, checkRelay);
        } catch (LdpException error) {
            throw error;
        } catch (RuntimeException error) {
            // an entry is absent or has another type
            throw new SurveyException();
        }
    }

    /** {@return the survey's id} */
    public String id() { return id; }

    /** {@return the id of the first of several rounds; by default the survey's own id} */
    public String family() { return family; }

    /**
     * Returns the nominal privacy budget of one report; of all reports of a person if they answer all
     * questions.
     *
     * @return a decimal, for example "1"
     */
    public String epsilon() {
        return epsilon;
    }

    /** {@return whether only people with an invitation may answer, so that a report needs a token} */
    public boolean byInvitation() { return byInvitation; }

    /** {@return the SHA-256 of the plan, 64 hexadecimal digits in lower case} */
    public String digest() { return Bytes.toHex(digestBytes); }

    /** {@return the SHA-256 of the plan, 32 bytes in a new array} */
    public byte[] digestBytes() { return digestBytes.clone(); }

    /**
     * Returns the SHA-256 of the survey's texts in hexadecimal.
     *
     * @return 64 digits in lower case, or null if the survey has no texts
     */
    public String texts() {
        return texts;
    }

    /**
     * Returns the plan's entry about the relay; {@code ldpbayes.relay.Relay} reads it.
     *
     * @return a map that cannot be changed, or null for a survey without a relay
     */
    public Map<?, ?> relay() {
        return relay;
    }

    /**
     * Returns whether each person answers all questions, in one envelope.
     *
     * @return false if each answers one
     */
    public boolean asksAll() {
        return relay != null && "all".equals(relay.get("ask"));
    }

    /** {@return the questions, of which each person answers one, or all; a list that cannot be changed} */
    public List<Question> questions() { return questions; }

    /** {@return the waves in which the questions are asked, or null if they are asked once} */
    public Waves waves() { return waves; }

    /** {@return the label, features and projection of the plan, which questions refer to} */
    public RowSchema schema() { return schema; }

    /**
     * Returns the label, features and projection that code rows: the plan's own, or the model's in a
     * validation round.
     *
     * @return the schema
     */
    public RowSchema rowSchema() {
        return validation == null ? schema : validation.schema;
    }

    /**
     * Returns the label that {@code makeReport} takes beside the row.
     *
     * @return null if the survey has no label
     */
    public Feature label() {
        Feature label = rowSchema().label();
        return label.name().isEmpty() ? null : label;
    }

    /**
     * Returns the entries that a row must have.
     *
     * @return a list that cannot be changed
     */
    public List<Feature> entries() {
        return Collections.unmodifiableList(rowSchema().requiredEntries());
    }

    /**
     * Codes a row and its label, and evaluates the model if there is one.
     *
     * <p>Every entry is read once and checked, independently of the question.
     *
     * @param row every entry of the survey by name
     * @param label the label, or null if the survey has no label
     * @return the codes
     * @throws ldpbayes.RowException if the row or label does not fit
     */
    public CodedRow encode(Map<String, ?> row, Object label) {
        CodedRow coded = rowSchema().encode(row, label);
        return validation == null ? coded : validation.validate(coded);
    }

    private static boolean isId(String text) {
        return text.matches(ID);
    }

    private static boolean isDigest(String text) {
        return text.matches("[0-9a-f]{64}");
    }

    /** Reads the epsilon of a plan, which is at least 0.001. */
    private static Fraction readEpsilon(String text, int most) {
        Fraction epsilon = Decimals.parse(text);
        BigInteger units = epsilon.numerator();
        BigInteger scale = epsilon.denominator();
        requireValid(units.multiply(BigInteger.valueOf(1000)).compareTo(scale) >= 0);
        requireValid(units.compareTo(scale.multiply(BigInteger.valueOf(most))) <= 0);
        return epsilon;
    }

    /** Checks that questions name all tables, and that each has the key that follows from its content. */
    private static void checkTables(Map<?, ?> document) {
        Map<?, ?> tables = (Map<?, ?>) document.get("tables");
        Set<Object> named = new HashSet<>();
        for (Object question : (List<?>) document.get("questions")) {
            named.add(((Map<?, ?>) question).get("tables"));
        }
        requireValid(named.equals(tables.keySet()));
        for (Map.Entry<?, ?> entry : tables.entrySet()) {
            byte[] digest = Bytes.sha256(Bytes.fromText(Json.write(entry.getValue())));
            requireValid(Bytes.toHex(Arrays.copyOf(digest, 8)).equals(entry.getKey()));
        }
    }

    /** Returns whether each feature occurs in a question. */
    private boolean areAllAsked() {
        Set<Integer> asked = new HashSet<>();
        for (Question question : questions) {
            for (int place : question.features()) {
                asked.add(place);
            }
        }
        return asked.size() == schema.features().size();
    }

    /** Returns the limits of a 64-bit draw by weights. */
    static long[] limits(long[] weights) {
        long total = 0;
        for (long weight : weights) {
            total += weight;
        }
        long[] limits = new long[weights.length - 1];
        long reached = 0;
        for (int i = 0; i < limits.length; i++) {
            reached += weights[i];
            limits[i] = WORD.multiply(BigInteger.valueOf(reached))
                .divide(BigInteger.valueOf(total)).longValue();
        }
        return limits;
    }
}
