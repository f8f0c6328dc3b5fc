package ldpbayes.mechanisms;

import static ldpbayes.ProbabilityTables.cellSizes;
import static ldpbayes.ProbabilityTables.isBelow;
import static ldpbayes.ProbabilityTables.multiplyShift;
import static ldpbayes.ProbabilityTables.toInteger;
import static ldpbayes.SurveyException.requireValid;

import java.math.BigInteger;
import java.util.Map;
import ldpbayes.Bytes;
import ldpbayes.Fraction;

/**
 * The piecewise mechanism with the class hidden: a report is a class and a number near the true one.
 *
 * <p>It reports a cell: one of the window around the true number with probability near / 2^64, otherwise any
 * cell.
 */
final class Piecewise extends Mechanism {
    private static final int POSITIONS = 64;
    private static final int POSITION_BITS = NumericDomain.GRID_BITS - 7;
    private static final int MAX_CELLS = 1 << 16;

    private final NumericDomain domain;
    private final long near;
    private final int window;

    private Piecewise(NumericDomain domain, long near, int window) {
        super(2, 24, worstRatio(near, window, domain.slots()));
        this.domain = domain;
        this.near = near;
        this.window = window;
    }

    static Mechanism build(NumericDomain domain, Map<?, ?> tables) {
        domain.check(1);
        Parameters.checkKeyCount(tables, 2);
        long near = Parameters.readProbability(tables.get("near"));
        int window = 2 * Parameters.readSmallInteger(tables.get("reach"), 0, POSITIONS) + 1;
        requireValid(domain.slots() * line(window) <= MAX_CELLS);
        return new Piecewise(domain, near, window);
    }

    /** Returns the number of cells of a slot. */
    private static int line(int window) {
        return 2 * POSITIONS + window;
    }

    @Override
    public byte[] perturb(long[] value, byte[] random) {
        int code = domain.codeOf(value[0]);
        int place = domain.isSquare() ? 2 * (code - NumericDomain.GRID) : code;
        int rest = place & (1 << POSITION_BITS) - 1;
        int up = isBelow(Bytes.readHighBits(random, 0, POSITION_BITS), rest);
        int first = domain.slotOf(value[0]) * line(window) + (place >> POSITION_BITS) + up;
        long choice = Bytes.readWord(random, 2);
        int inWindow = first + multiplyShift(choice, window);
        int any = multiplyShift(choice, domain.slots() * line(window));
        int isNear = isBelow(Bytes.readWord(random, 1), near);
        return Bytes.fromIndex(any + isNear * (inWindow - any), 2);
    }

    private static Fraction worstRatio(long near, int window, int slots) {
        Fraction draws = greatestDrawRatio(window, slots);
        BigInteger rest = toInteger(-near).multiply(draws.denominator());
        return new Fraction(rest.add(toInteger(near).multiply(draws.numerator())), rest).reduce();
    }

    /**
     * Returns the greatest ratio of a cell's draws within a window to its draws among all cells.
     *
     * <p>Cells have two sizes that differ by one draw. Not every pair of sizes occurs, so all windows are
     * searched.
     */
    private static Fraction greatestDrawRatio(int window, int slots) {
        int line = line(window);
        int cells = slots * line;
        boolean[][] found = new boolean[2][2];
        for (int place = 0; place < window; place++) {
            int isLarge = largeBefore(place + 1, window) - largeBefore(place, window);
            for (int first = place; first < cells; first += line) {
                // the cells at this place of the windows on one line
                int end = first + 2 * POSITIONS + 1;
                boolean areAllLarge = largeBefore(end, cells) - largeBefore(first, cells) == end - first;
                found[isLarge][areAllLarge ? 1 : 0] = true;
            }
        }
        BigInteger[] sizes = cellSizes(window);
        BigInteger[] sizesOfAll = cellSizes(cells);
        Fraction most = new Fraction(BigInteger.ZERO, BigInteger.ONE);
        for (int i = 0; i < 4; i++) {
            Fraction ratio = new Fraction(sizes[i / 2], sizesOfAll[i % 2]);
            if (found[i / 2][i % 2] && ratio.isGreaterThan(most)) {
                most = ratio;
            }
        }
        return most;
    }

    /** Returns how many of the first cells have the greatest number of draws. */
    private static int largeBefore(int end, int cells) {
        int rest = (int) (((1L << 32) % cells) * ((1L << 32) % cells) % cells);
        return (int) (((long) end * (rest == 0 ? cells : rest) + cells - 1) / cells);
    }
}
