package ldpbayes.survey;

import static ldpbayes.SurveyException.requireValid;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import ldpbayes.EpsilonProof;
import ldpbayes.Fraction;
import ldpbayes.PrivacyException;
import ldpbayes.mechanisms.Mechanism;
import ldpbayes.mechanisms.Noise;

/**
 * Reads the questions of a survey, and proves that each spends at most epsilon.
 *
 * <p>Each person answers exactly one question, which is drawn by public weights without looking at their row.
 */
final class Questions {
    final Map<?, ?> tables;
    final RowSchema schema;
    private final Fraction limit;
    /** Mechanisms that questions share. */
    private final Map<Object, Mechanism> built = new HashMap<>();
    /** Noise that mechanisms share, by tables and moment. */
    private final Map<Object, Noise> noises = new HashMap<>();

    private Questions(Map<?, ?> tables, RowSchema schema, Fraction limit) {
        this.tables = tables;
        this.schema = schema;
        this.limit = limit;
    }

    /**
     * Reads the questions of a plan whose tables have been checked; the limit is a lower bound of e^epsilon.
     */
    static List<Question> read(Map<?, ?> plan, RowSchema schema, Fraction limit) {
        Questions reader = new Questions((Map<?, ?>) plan.get("tables"), schema, limit);
        List<Question> questions = new ArrayList<>();
        for (Object entry : (List<?>) plan.get("questions")) {
            questions.add(new Question((Map<?, ?>) entry, reader));
        }
        requireValid(!questions.isEmpty());
        checkOrder(questions, schema.features().size());
        return questions;
    }

    /**
     * Checks the order of questions, that no two are equal, and that each number has its mean and its square,
     * or one question for both.
     */
    private static void checkOrder(List<Question> questions, int all) {
        int last = -4;
        Set<Object> different = new HashSet<>();
        List<Object> means = new ArrayList<>();
        List<Object> squares = new ArrayList<>();
        Set<Integer> numbers = new HashSet<>();
        for (Question each : questions) {
            int[] features = each.features();
            // the order is: the label, by the first feature, all numbers at once
            int first = features.length == 0 ? -1 : features[0];
            int place = 4 * (each.mechanismName().equals(Mechanism.LAPLACE) ? all : first) + each.moment();
            String about = Arrays.toString(features);
            requireValid(last <= place && different.add(about + each.moment() + " " + each.width()));
            last = place;
            if ((each.moment() & Question.MEAN) > 0) {
                means.add(about);
                for (int number : features) {
                    requireValid(numbers.add(number));
                }
            }
            if ((each.moment() & Question.SQUARE) > 0) {
                squares.add(about);
            }
        }
        requireValid(means.equals(squares));
    }

    /** Builds the mechanism of a question, and proves that it spends at most epsilon. */
    Mechanism prove(Question question, Map<?, ?> entry) {
        List<Object> key = Arrays.asList(
            question.mechanismName(), question.cells() + " " + question.domain(), entry.get("tables"),
            entry.get("epsilon"), entry.get("ratio"));
        Mechanism mechanism = built.get(key);
        if (mechanism == null) {
            Object alike = Arrays.asList(entry.get("tables"), question.moment());
            mechanism = Mechanism.build(
                question.mechanismName(), question.cells(), question.domain(), question.tables(),
                noises.get(alike));
            noises.put(alike, mechanism.noise());
            checkMechanism(mechanism, entry);
            built.put(key, mechanism);
        }
        return mechanism;
    }

    /**
     * Checks that a question states the ratio of its mechanism, and proves that the ratio is at most
     * e^epsilon.
     */
    private void checkMechanism(Mechanism mechanism, Map<?, ?> entry) {
        Fraction ratio = mechanism.ratio();
        List<String> stated = Arrays.asList(ratio.numerator().toString(), ratio.denominator().toString());
        requireValid(stated.equals(entry.get("ratio"))
            && EpsilonProof.isRealisedEpsilon(ratio, entry.get("epsilon"))
            && mechanism.payloadBytes() <= Randomise.MAX_PAYLOAD_BYTES);
        if (ratio.isGreaterThan(limit)) {
            throw new PrivacyException();
        }
    }
}
