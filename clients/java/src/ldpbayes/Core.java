package ldpbayes;

import java.util.Map;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Randomise;

/**
 * Reads plans and makes reports; it stores nothing and sends nothing.
 *
 * <p>The values of a row are null for a missing answer, texts ({@code CharSequence}), {@code Boolean},
 * numbers, or for a feature with several answers a {@code Collection} or {@code Object[]} of the ticked
 * choices. A number is a {@code Byte}, {@code Short}, {@code Integer}, {@code Long}, {@code BigInteger},
 * {@code Float} or {@code Double}. A {@code BigDecimal} is read where the survey asks for a number, and is
 * not one of the survey's values elsewhere. NaN and the empty text are missing answers, too.
 */
public final class Core {
    private Core() {
    }

    /**
     * Reads a plan, checks everything in it, and proves that each question spends at most epsilon.
     *
     * @param plan the bytes of the plan, as the collector sends them
     * @return the plan
     * @throws SurveyException if the bytes are not a plan, or the survey is answered through a relay
     * @throws PrivacyException if a question spends more than epsilon
     */
    public static Plan readPlan(byte[] plan) {
        return Plan.read(plan);
    }

    /**
     * Draws a question, randomises the row's answer to it, and returns the bytes of one report.
     *
     * @param plan the plan of the survey
     * @param row every entry of the survey by name; a missing answer is null, and an absent name is refused
     * @param label the label, or null if the survey has no label
     * @return the report
     * @throws RowException if the row or label does not fit the survey; nothing has been drawn
     * @throws TokenException if the survey needs an invitation
     */
    public static byte[] makeReport(Plan plan, Map<String, ?> row, Object label) {
        return makeReport(plan, row, label, null, RandomSource.SYSTEM);
    }

    /**
     * Makes a report like {@link #makeReport(Plan, Map, Object)}, for a survey by invitation or with another
     * source of random bytes. In a survey with waves, {@link Randomise#randomise} makes it.
     *
     * @param plan the plan of the survey
     * @param row every entry of the survey by name
     * @param label the label, or null if the survey has no label
     * @param token the invitation, or null if the survey needs none
     * @param random source of random bytes
     * @return the report
     * @throws RowException if the row or label does not fit the survey; nothing has been drawn
     * @throws TokenException if the token does not fit the survey; nothing has been drawn
     */
    public static byte[] makeReport(
        Plan plan, Map<String, ?> row, Object label, String token, RandomSource random) {
        return Randomise.randomise(plan, row, label, token, random, null).report();
    }
}
