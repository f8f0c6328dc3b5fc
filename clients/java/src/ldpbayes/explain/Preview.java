package ldpbayes.explain;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import ldpbayes.Bytes;
import ldpbayes.Decimals;
import ldpbayes.EpsilonProof;
import ldpbayes.Fraction;
import ldpbayes.LdpException;
import ldpbayes.RandomSource;
import ldpbayes.Reason;
import ldpbayes.mechanisms.NumericDomain;
import ldpbayes.survey.CodedRow;
import ldpbayes.survey.Invitation;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Question;
import ldpbayes.survey.Randomise;
import ldpbayes.survey.RandomisedReport;
import ldpbayes.survey.Waves;

/**
 * What a device would send of one row, explained to the person: the question, the bytes to send, and the
 * likelihood of each true answer. If each person answers all questions, it has the properties of the first
 * report, and {@code answers} has a preview of each.
 *
 * <p>A preview takes the same steps as a report, but sends and stores nothing. It contains the true answer,
 * so only the person may see it; its {@code toString} does not contain it. Never send its report: another one
 * must follow from a new draw.
 */
public final class Preview {
    /** Number of possible answers that are listed; of a larger domain the likeliest are listed. */
    private static final int MAX_LISTED = 16;
    /** Probabilities below this one, or as close to 1, are written with more digits, up to a limit. */
    private static final double RARE = 0.001;
    private static final int MAX_DIGITS = 12;
    private static final int SQUARE = 2;

    private final Plan plan;
    /** All that would be sent: one report, or one for each question. */
    private final List<RandomisedReport> all;
    private final RandomisedReport randomised;
    private final List<String> clipped;
    private final Wording wording;
    /** The wave in which the person is asked, or null if it is drawn later, or if there are none. */
    private final Waves.Wave wave;

    private Preview(
        Plan plan, List<RandomisedReport> all, List<String> clipped, Wording wording, Waves.Wave wave
    ) {
        this.wave = wave;
        this.plan = plan;
        this.all = all;
        this.randomised = all.get(0);
        this.clipped = clipped;
        this.wording = wording;
    }

    /**
     * Makes what a person sends of a row by the steps of a device, and sends nothing.
     *
     * @param plan the plan of the survey
     * @param row every entry of the survey by name
     * @param label the label, or null if the survey has no label
     * @return the preview
     * @throws ldpbayes.RowException if the row or label does not fit the survey
     */
    public static Preview of(Plan plan, Map<String, ?> row, Object label) {
        return of(plan, row, label, new PreviewOptions());
    }

    /**
     * Makes what a person sends of a row by the steps of a device, and sends nothing.
     *
     * @param plan the plan of the survey
     * @param row every entry of the survey by name
     * @param label the label, or null if the survey has no label
     * @param options which question is previewed, and in which words
     * @return the preview
     * @throws ldpbayes.RowException if the row or label does not fit the survey
     * @throws ldpbayes.TokenException if the token does not fit the survey
     * @throws LdpException if the survey does not have the question
     */
    public static Preview of(Plan plan, Map<String, ?> row, Object label, PreviewOptions options) {
        CodedRow coded = plan.encode(row, label);
        Invitation chosen = chooseQuestion(plan, options);
        Waves.Wave wave = chosen == null || chosen.wave() == null ? options.wave : chosen.wave();
        if (plan.waves() != null && (chosen == null || chosen.wave() == null)) {
            chosen = Invitation.inWave(
                chosen, options.wave == null ? plan.waves().draw(options.random) : options.wave);
        }
        List<RandomisedReport> made = options.question == null
            ? Randomise.randomiseAll(plan, coded, options.random, chosen)
            : Collections.singletonList(Randomise.randomiseCoded(plan, coded, options.random, chosen));
        Wording wording = Wording.of(plan, options.texts, options.words);
        return new Preview(plan, made, coded.clipped(), wording, wave);
    }

    /**
     * Returns a preview of each report that would be sent, in the plan's order: of one, or of all.
     *
     * @return a list that cannot be changed
     */
    public List<Preview> answers() {
        List<Preview> answers = new ArrayList<>();
        for (RandomisedReport each : all) {
            answers.add(new Preview(plan, Collections.singletonList(each), clipped, wording, wave));
        }
        return Collections.unmodifiableList(answers);
    }

    /** Returns the question to preview, or null if it is drawn with the report. */
    private static Invitation chooseQuestion(Plan plan, PreviewOptions options) {
        RandomSource random = options.random;
        if (options.question == null) {
            boolean lacksToken = options.token == null || options.token.isEmpty();
            return plan.byInvitation() && lacksToken
                ? Invitation.toQuestion(Randomise.drawQuestion(plan, random))
                : Invitation.read(plan, options.token);
        }
        StringBuilder known = new StringBuilder();
        for (int i = 0; i < plan.questions().size(); i++) {
            String name = Meaning.questionName(plan, plan.questions().get(i));
            if (name.equals(options.question)) {
                return Invitation.toQuestion(i);
            }
            known.append(i == 0 ? "" : "; ").append(name);
        }
        throw new LdpException(
            "there is no question " + options.question + "; the survey asks " + known, Reason.ERROR);
    }

    /**
     * Returns what a person must read about the relay before they agree; previews contain it, too.
     *
     * @param plan the plan of the survey
     * @return a paragraph, empty for a survey without a relay
     */
    public static String describeRelay(Plan plan) {
        return plan.relay() == null ? "" : RelayWords.describe(plan);
    }

    /**
     * Returns the name of the question.
     *
     * @return the name
     */
    public String question() {
        return Meaning.questionName(plan, randomised.question());
    }

    /**
     * Returns the probability that a person is asked this question.
     *
     * @return a probability
     */
    public double questionProbability() {
        long total = 0;
        for (Question question : plan.questions()) {
            total += question.weight();
        }
        return plan.asksAll() ? 1 : (double) randomised.question().weight() / total;
    }

    /**
     * Returns the name of the mechanism that randomises the answer.
     *
     * @return the name
     */
    public String mechanism() {
        return randomised.question().mechanismName();
    }

    /**
     * Returns the true answer in words, as pairs of a name and a text; with texts, of a title and a text.
     *
     * <p>It stays on the device.
     *
     * @return a list that cannot be changed
     */
    public List<Map.Entry<String, String>> truth() {
        return Meaning.of(plan, randomised.question(), randomised.truth(), wording);
    }

    /**
     * Returns the names of the entries of the row that are outside their range, and are moved to the nearest
     * end.
     *
     * @return a list that cannot be changed
     */
    public List<String> clipped() {
        return clipped;
    }

    /**
     * Returns the bytes that would be sent.
     *
     * @return a new array
     */
    public byte[] report() {
        return randomised.report();
    }

    /**
     * Returns the privacy budget that sending all of it would spend.
     *
     * @return a decimal, for example "1"
     */
    public String epsilon() {
        return plan.epsilon();
    }

    /**
     * Returns the largest factor by which what is sent changes the odds between two answers: e^epsilon.
     *
     * @return the factor
     */
    public double oddsBound() {
        return toDouble(EpsilonProof.expLowerBound(Decimals.parse(plan.epsilon())));
    }

    /**
     * Returns possible true answers with their probabilities after this report, the likeliest first.
     *
     * <p>Of a question about numbers the lowest, the middle and the highest are listed. The truth is always
     * listed.
     *
     * @return a list that cannot be changed
     */
    public List<PossibleAnswer> possibleAnswers() {
        Question question = randomised.question();
        long[] truth = randomised.truth();
        Likelihood likelihood = Likelihood.of(question, randomised.payload());
        List<long[]> values = sampleValues(question, truth);
        double[] chances = new double[values.size()];
        List<Integer> order = new ArrayList<>();
        double total = 0;
        for (int i = 0; i < chances.length; i++) {
            chances[i] = toDouble(likelihood.of(values.get(i)));
            total += chances[i];
            order.add(i);
        }
        Collections.sort(order, Comparator.comparingDouble(index -> -chances[index]));
        List<PossibleAnswer> answers = new ArrayList<>();
        for (int index : order) {
            long[] value = values.get(index);
            boolean isTruth = Arrays.equals(value, truth);
            if (answers.size() < MAX_LISTED || isTruth) {
                answers.add(new PossibleAnswer(
                    Meaning.of(plan, question, value, wording), chances[index] / total, isTruth));
            }
        }
        return Collections.unmodifiableList(answers);
    }

    /**
     * Returns the explanation as lines of text.
     *
     * <p>It contains the true answer, so only the person may see it.
     *
     * @return the lines, separated by line breaks
     */
    public String text() {
        List<String> lines = new ArrayList<>();
        if (wave != null) {
            lines.add(Wording.sentence("wave", wave.name, time(wave.opens), time(wave.closes)));
        } else if (plan.waves() != null) {
            List<Waves.Wave> list = plan.waves().list();
            lines.add(Wording.sentence("waves", "" + list.size(), time(list.get(0).opens),
                time(list.get(list.size() - 1).closes)));
        }
        if (plan.asksAll()) {
            lines.add(describeRelay(plan));
            addClipped(lines);
            for (Preview each : answers()) {
                int number = plan.questions().indexOf(each.randomised.question()) + 1;
                lines.add("");
                lines.add(Wording.sentence(
                    "answered", "" + number, "" + plan.questions().size(), each.question()));
                each.addAnswer(lines);
            }
            lines.add("");
            lines.add(Wording.sentence("spendsAll", epsilon()) + ".");
        } else {
            String how = plan.byInvitation()
                ? Wording.sentence("invited")
                : Wording.sentence("drawn", percent(questionProbability()));
            lines.add(Wording.sentence("asked", how, question()));
            addAnswer(lines);
            lines.add(Wording.sentence("bound", epsilon(), roundUp(oddsBound())) + " "
                + Wording.sentence("spends", epsilon()) + ".");
        }
        return String.join("\n", lines);
    }

    private void addClipped(List<String> lines) {
        for (String name : clipped) {
            lines.add(Wording.sentence("clipped", name));
        }
    }

    /** Adds the lines about one report. */
    private void addAnswer(List<String> lines) {
        if (randomised.question().moment() == SQUARE) {
            lines.add(Meaning.ofSquare(plan, randomised.question()));
        }
        lines.add(Wording.sentence("truth") + " " + writeAnswer(truth()) + ".");
        if (!plan.asksAll()) {
            addClipped(lines);
        }
        lines.add(Wording.sentence("mechanism", mechanism()) + ".");
        String digits = Bytes.toHex(report());
        StringBuilder bytes = new StringBuilder();
        for (int i = 0; i < digits.length(); i += 2) {
            bytes.append(' ').append(digits, i, i + 2);
        }
        lines.add(Wording.sentence("bytes", "" + digits.length() / 2) + bytes);
        if (plan.byInvitation()) {
            lines.add(Wording.sentence("invitation"));
        }
        if (plan.relay() != null && !plan.asksAll()) {
            lines.add(describeRelay(plan));
        }
        lines.add(Wording.sentence("every") + " " + Wording.sentence("beliefs"));
        for (PossibleAnswer each : possibleAnswers()) {
            lines.add("  " + writeAnswer(each.answer()) + ": " + percent(each.belief())
                + (each.isTruth() ? " (the truth)" : ""));
        }
    }

    /**
     * Returns what a log may contain: neither the true answer nor the report.
     *
     * @return a text with the name of the question
     */
    @Override
    public String toString() {
        return "Preview[" + question() + "]";
    }

    /**
     * Returns the answers to list: all of a question about categories; of numbers the lowest, the middle, the
     * highest and the missing one in every class, and the truth.
     */
    private static List<long[]> sampleValues(Question question, long[] truth) {
        List<long[]> values = new ArrayList<>();
        NumericDomain domain = question.domain();
        if (domain == null) {
            for (int value = 0; value < question.cells(); value++) {
                values.add(new long[] {value});
            }
            return values;
        }
        int highest = 2 * NumericDomain.GRID;
        int lowest = domain.isSquare() ? NumericDomain.GRID : 0;
        boolean mayBeMissing = true;
        for (int number = 0; number < domain.numbers(); number++) {
            mayBeMissing &= domain.mayBeMissing(number);
        }
        int[] codes = {lowest, (lowest + highest) / 2, highest, highest + 1};
        boolean isTruthListed = false;
        for (int label = 0; label < domain.labels(); label++) {
            for (int i = 0; i < (mayBeMissing ? 4 : 3); i++) {
                long[] value = new long[truth.length];
                Arrays.fill(value, (long) codes[i] * domain.labels() + label);
                values.add(value);
                isTruthListed |= Arrays.equals(value, truth);
            }
        }
        if (!isTruthListed) {
            values.add(truth);
        }
        return values;
    }

    private static double toDouble(Fraction fraction) {
        BigInteger scaled = fraction.numerator().shiftLeft(128).divide(fraction.denominator());
        return scaled.doubleValue() / 0x1p128;
    }

    private static String writeAnswer(List<Map.Entry<String, String>> answer) {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<String, String> each : answer) {
            text.append(text.length() == 0 ? "" : ", ");
            text.append(each.getKey()).append(" = ").append(each.getValue());
        }
        return text.toString();
    }

    /** Writes a probability as 65.8%, with enough digits to distinguish it from 0 and from 1. */
    private static String percent(double share) {
        double margin = Math.min(share, 1 - share);
        int digits = 0 < margin && margin < RARE ? (int) Math.ceil(-Math.log10(margin)) - 1 : 1;
        if (digits > MAX_DIGITS) {
            return share < RARE ? "nearly 0%" : "nearly 100%";
        }
        return new BigDecimal(100 * share).setScale(digits, RoundingMode.HALF_EVEN).toPlainString() + "%";
    }

    /** Writes seconds since 1970 as 2027-01-31 00:00 UTC. */
    private static String time(long seconds) {
        return Instant.ofEpochSecond(seconds).toString().replace('T', ' ').substring(0, 16) + " UTC";
    }

    /** Writes an upper bound with four decimals, rounded up. */
    private static String roundUp(double bound) {
        BigDecimal rounded = new BigDecimal(Math.ceil(bound * 1e4) / 1e4);
        return rounded.setScale(4, RoundingMode.HALF_EVEN).toPlainString();
    }
}
