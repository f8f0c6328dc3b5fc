package ldpbayes.mechanisms;

import static ldpbayes.ProbabilityTables.isBelow;
import static ldpbayes.SurveyException.requireValid;

import java.util.Arrays;
import java.util.Map;
import ldpbayes.Bytes;

/**
 * A number rounded at random to a sign, which a frequency oracle randomises with the class.
 *
 * <p>The oracle's value is the sign with the class: 0 for -, 1 for +, 2 for a missing number.
 */
final class Sign extends Mechanism {
    private final NumericDomain domain;
    private final Mechanism oracle;

    private Sign(NumericDomain domain, Mechanism oracle) {
        super(oracle.payloadBytes(), 8 + oracle.randomBytes(), oracle.ratio());
        this.domain = domain;
        this.oracle = oracle;
    }

    static Mechanism build(NumericDomain domain, Map<?, ?> tables) {
        domain.check(1);
        String name = (String) tables.get("oracle");
        requireValid(Arrays.asList("DE", "SUE", "OUE").contains(name));
        int signs = domain.mayBeMissing(0) ? 3 : 2;
        Map<?, ?> rest = Parameters.without("oracle", tables);
        return new Sign(domain, buildOracle(name, signs * domain.labels(), rest, null));
    }

    @Override
    public byte[] perturb(long[] value, byte[] random) {
        int labels = domain.labels();
        int bits = NumericDomain.GRID_BITS - (domain.isSquare() ? 1 : 0);
        int lowest = domain.isSquare() ? NumericDomain.GRID : 0;
        long code = value[0] / labels;
        int up = isBelow(Bytes.readHighBits(random, 0, bits), code - lowest);
        int rounded = up + NumericDomain.isAbsent(code);
        long[] answer = {rounded * labels + value[0] % labels};
        return oracle.perturb(answer, Arrays.copyOfRange(random, 8, random.length));
    }
}
