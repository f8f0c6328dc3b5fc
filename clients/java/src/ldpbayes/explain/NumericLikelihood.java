package ldpbayes.explain;

import static ldpbayes.ProbabilityTables.WORD;
import static ldpbayes.ProbabilityTables.toInteger;

import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;
import ldpbayes.Fraction;
import ldpbayes.mechanisms.Noise;
import ldpbayes.mechanisms.NumericDomain;
import ldpbayes.mechanisms.Parameters;

/** The probability of a payload for each true number and class, up to a factor that all answers share. */
final class NumericLikelihood {
    private static final int POSITIONS = 128;
    private static final int PARTS = 1 << 14;

    private NumericLikelihood() {
    }

    /** Returns the likelihood of a payload of a mechanism for numbers. */
    static Likelihood of(String name, NumericDomain domain, Map<?, ?> tables, byte[] payload) {
        switch (name) {
            case "sign":
                return sign(domain, tables, payload);
            case "onebit":
            case "sign-vector":
                return coin(name.equals("onebit"), domain, tables, payload);
            case "piecewise":
                return piecewise(domain, tables, payload);
            default:
                return laplace(domain, tables, payload);
        }
    }

    private static Likelihood sign(NumericDomain domain, Map<?, ?> tables, byte[] payload) {
        int labels = domain.labels();
        int answers = (domain.mayBeMissing(0) ? 3 : 2) * labels;
        Likelihood oracle = Likelihood.ofOracle((String) tables.get("oracle"), answers, tables, payload);
        int lowest = domain.isSquare() ? NumericDomain.GRID : 0;
        return value -> {
            long code = value[0] / labels;
            long label = value[0] % labels;
            if (code >= NumericDomain.CODES) {
                return oracle.of(new long[] {2 * labels + label});
            }
            Fraction up = oracle.of(new long[] {labels + label});
            Fraction down = oracle.of(new long[] {label});
            return Likelihood.mix(code - lowest, 2 * NumericDomain.GRID - lowest, up, down);
        };
    }

    /** Returns the likelihood if one coin is reported, or a coin for each slot. */
    private static Likelihood coin(boolean isSingle, NumericDomain domain, Map<?, ?> tables, byte[] payload) {
        BigInteger q = Likelihood.read(tables, "q");
        BigInteger range = WORD.subtract(q.shiftLeft(1));
        return value -> {
            int slot = domain.slotOf(value[0]);
            int index = Likelihood.readIndex(payload);
            int code = isSingle && index >> 1 != slot ? NumericDomain.GRID : domain.codeOf(value[0]);
            int bit = isSingle ? index & 1 : Likelihood.readBit(payload, slot);
            BigInteger ones =
                range.multiply(BigInteger.valueOf(code)).shiftRight(NumericDomain.GRID_BITS).add(q);
            return new Fraction(bit == 1 ? ones : WORD.subtract(ones), WORD);
        };
    }

    private static Likelihood piecewise(NumericDomain domain, Map<?, ?> tables, byte[] payload) {
        BigInteger near = Likelihood.read(tables, "near");
        int window = 2 * Likelihood.read(tables, "reach").intValue() + 1;
        int line = POSITIONS + window;
        int cell = Likelihood.readIndex(payload);
        BigInteger any = WORD.subtract(near).multiply(Likelihood.draws(cell, line * domain.slots(0)));
        return value -> {
            int code = domain.codeOf(value[0]);
            int place = domain.isSquare() ? 2 * (code - NumericDomain.GRID) : code;
            int first = domain.slotOf(value[0]) * line + place / PARTS;
            Fraction inWindow = Likelihood.mix(
                place % PARTS, PARTS, inWindow(cell - first - 1, window), inWindow(cell - first, window));
            BigInteger parts = inWindow.denominator();
            return new Fraction(near.multiply(inWindow.numerator()).add(any.multiply(parts)), parts);
        };
    }

    private static Fraction inWindow(int place, int window) {
        boolean isInside = 0 <= place && place < window;
        return Likelihood.whole(isInside ? Likelihood.draws(place, window) : BigInteger.ZERO);
    }

    private static Likelihood laplace(NumericDomain domain, Map<?, ?> tables, byte[] payload) {
        long[] weights = Parameters.readWeights(tables.get("weights"));
        int steps = Likelihood.read(tables, "steps").intValue();
        int most = weights.length - 1 - steps;
        int width = NumericDomain.GRID / steps;
        Map<Integer, long[]> laws = new HashMap<>();
        for (int x = -steps; x <= steps; x++) {
            laws.put(x, Noise.law(weights, x, -most, most));
        }
        return value -> {
            Fraction product = Likelihood.whole(BigInteger.ONE);
            int start = 0;
            for (int number = 0; number < value.length; number++) {
                int cell = Likelihood.readInteger(payload, start + domain.slotOf(value[number])) + most;
                int code = domain.codeOf(value[number]);
                int x = code / width - steps;
                int rest = code % width;
                Fraction held = Likelihood.mix(
                    rest, width, law(laws, x + (rest > 0 ? 1 : 0), cell), law(laws, x, cell));
                Fraction empty = new Fraction(BigInteger.ONE, law(laws, 0, cell).numerator());
                product = product.multiply(held.multiply(empty));
                start += domain.slots(number);
            }
            return product;
        };
    }

    private static Fraction law(Map<Integer, long[]> laws, int x, int cell) {
        return Likelihood.whole(toInteger(laws.get(x)[cell]));
    }
}
