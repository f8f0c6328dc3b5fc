package ldpbayes.survey;

import static ldpbayes.SurveyException.requireValid;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import ldpbayes.Decimals;
import ldpbayes.SurveyException;
import ldpbayes.mechanisms.NumericDomain;
import ldpbayes.mechanisms.Parameters;

/**
 * A public projection: computes a few numbers from several numbers of a row, in fixed point.
 *
 * <p>Each input is clipped to its public bounds and normalised to [-1, 1]. Each component is a weighted sum
 * of the inputs plus an offset.
 */
final class Projection {
    /** Denominator of weights and offsets. */
    private static final int UNIT = 1_000_000;
    private static final int MAX_DECIMALS = 6;
    /**
     * Largest sum of the absolute weights and the absolute offset: below it every sum is exact as a double.
     */
    private static final long MAX_SUM = 8000L * UNIT;

    /** The inputs, which are numeric features. */
    final List<Feature> inputs = new ArrayList<>();
    /** The weights and the offset, in millionths, by the name of the feature that each component computes. */
    private final Map<Object, long[]> components = new HashMap<>();

    private Projection() {
    }

    /**
     * Reads the projection of a plan or a validation, if there is one, and checks it against the features.
     */
    static Projection read(Map<?, ?> document, List<Feature> features) {
        Projection projection = new Projection();
        if (document.containsKey("projection")) {
            projection.readEntry((Map<?, ?>) document.get("projection"), features);
        }
        return projection;
    }

    private void readEntry(Map<?, ?> entry, List<Feature> features) {
        Parameters.checkKeyCount(entry, 2);
        boolean mayBeMissing = false;
        for (Object each : (List<?>) entry.get("inputs")) {
            Feature input = Features.readFeature(each);
            requireValid(input.kind() == Feature.Kind.NUMERIC);
            mayBeMissing |= input.mayBeMissing();
            inputs.add(input);
        }
        List<?> listed = (List<?>) entry.get("components");
        for (Object each : listed) {
            Map<?, ?> component = (Map<?, ?>) each;
            Feature taker = find(component.get("name"), features);
            requireValid(taker.isNumber() && (taker.mayBeMissing() || !mayBeMissing));
            components.put(taker.name(), readWeights(component, inputs.size()));
        }
        requireValid(!listed.isEmpty() && listed.size() <= inputs.size());
        requireValid(listed.size() == components.size());
    }

    private static Feature find(Object name, List<Feature> features) {
        for (Feature feature : features) {
            if (feature.name().equals(name)) {
                return feature;
            }
        }
        throw new SurveyException();
    }

    private static long[] readWeights(Map<?, ?> component, int inputs) {
        Parameters.checkKeyCount(component, 3);
        List<Object> texts = new ArrayList<Object>((List<?>) component.get("weights"));
        texts.add(component.get("offset"));
        requireValid(texts.size() == inputs + 1);
        long[] millionths = new long[texts.size()];
        double total = 0;
        for (int i = 0; i < millionths.length; i++) {
            requireValid(Decimals.isDecimal(texts.get(i)));
            String text = (String) texts.get(i);
            requireValid(text.indexOf('.') < 0 || text.length() - text.indexOf('.') - 1 <= MAX_DECIMALS);
            double exact = Math.rint(Double.parseDouble(text) * UNIT);
            total += Math.abs(exact);
            millionths[i] = (long) exact;
        }
        requireValid(total <= MAX_SUM);
        return millionths;
    }

    /** Returns whether a feature is computed by a component. */
    boolean computes(Feature feature) {
        return components.containsKey(feature.name());
    }

    /** Computes a component from the codes of all inputs; returns null if an input is missing. */
    Double compute(Feature feature, int[] codes) {
        long[] weights = components.get(feature.name());
        // the offset is the weight of an input that is always 1
        long sum = weights[codes.length] * NumericDomain.GRID;
        for (int i = 0; i < codes.length; i++) {
            if (codes[i] > 2 * NumericDomain.GRID) {
                return null;
            }
            sum += weights[i] * (codes[i] - NumericDomain.GRID);
        }
        return sum / ((double) UNIT * NumericDomain.GRID);
    }
}
