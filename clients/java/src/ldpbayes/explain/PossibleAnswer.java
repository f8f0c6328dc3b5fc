package ldpbayes.explain;

import java.util.List;
import java.util.Map;

/**
 * A possible true answer, with its probability after a report. It says whether it is the person's own answer.
 */
public final class PossibleAnswer {
    private final List<Map.Entry<String, String>> answer;
    private final double belief;
    private final boolean isTruth;

    PossibleAnswer(List<Map.Entry<String, String>> answer, double belief, boolean isTruth) {
        this.answer = answer;
        this.belief = belief;
        this.isTruth = isTruth;
    }

    /**
     * Returns the answer in words, as pairs of a name and a text; with texts, of a title and a text.
     *
     * @return a list that cannot be changed
     */
    public List<Map.Entry<String, String>> answer() {
        return answer;
    }

    /**
     * Returns the probability of this answer after the report, if all listed ones were equally likely before.
     *
     * @return a probability
     */
    public double belief() {
        return belief;
    }

    /**
     * Returns whether this is the true answer.
     *
     * @return whether it is
     */
    public boolean isTruth() {
        return isTruth;
    }
}
