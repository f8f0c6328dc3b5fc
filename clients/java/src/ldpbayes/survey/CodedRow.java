package ldpbayes.survey;

import java.util.List;

/** The codes of a row: whole numbers, one for each feature, and one for the label. */
public final class CodedRow {
    final int[] codes;
    final int labelCode;
    final List<String> clipped;

    CodedRow(int[] codes, int labelCode, List<String> clipped) {
        this.codes = codes;
        this.labelCode = labelCode;
        this.clipped = clipped;
    }

    /**
     * Returns the code of each feature.
     *
     * @return a new array
     */
    public int[] codes() {
        return codes.clone();
    }

    /**
     * Returns the names of the numbers that are beyond the public bounds; they are moved to the nearest end.
     *
     * @return a list that cannot be changed
     */
    public List<String> clipped() {
        return clipped;
    }
}
