package ldpbayes;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** A row or label that does not fit the survey; thrown before anything is drawn. */
public final class RowException extends LdpException {
    private static final long serialVersionUID = 1L;

    /** Every entry that does not fit. */
    private final RowProblem[] problems;

    /**
     * Describes one entry that does not fit.
     *
     * @param field name of the feature or label
     * @param why what is wrong, without the value
     */
    public RowException(String field, String why) {
        super(why, Reason.INVALID_ROW, field);
        problems = new RowProblem[] {new RowProblem(field, why)};
    }

    /**
     * Describes all entries that do not fit.
     *
     * @param problems at least one; the first one is the field of the exception
     */
    public RowException(List<RowProblem> problems) {
        super(problems.get(0).why(), Reason.INVALID_ROW, problems.get(0).field());
        this.problems = problems.toArray(new RowProblem[0]);
    }

    /**
     * Returns every entry that does not fit; the first one is {@link #field()}.
     *
     * @return a list that cannot be changed
     */
    public List<RowProblem> problems() {
        return Collections.unmodifiableList(Arrays.asList(problems));
    }
}
