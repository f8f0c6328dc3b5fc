package ldpbayes.survey;

import static ldpbayes.SurveyException.requireValid;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import ldpbayes.RowException;
import ldpbayes.RowProblem;

/** The label, features and projection that code rows: those of a plan, or of the model that it validates. */
public final class RowSchema {
    final Projection projection;
    private final Feature label;
    private final List<Feature> listed = new ArrayList<>();
    private final List<Feature> features = new ArrayList<>();

    /** Reads the label, features and projection of a plan or of a validation. */
    RowSchema(Map<?, ?> entry) {
        label = Features.readLabel(entry);
        List<Object> names = new ArrayList<>();
        for (Object each : (List<?>) entry.get("features")) {
            Feature feature = Features.readFeature(each);
            names.add(feature.name());
            listed.add(feature);
            if (feature.kind() != Feature.Kind.CHOICES) {
                features.add(feature);
                continue;
            }
            for (String choice : feature.values()) {
                Feature single = new Feature(feature, choice);
                names.add(single.name());
                features.add(single);
            }
        }
        projection = Projection.read(entry, features);
        for (Feature input : projection.inputs) {
            names.add(input.name());
        }
        for (Object name : names) {
            requireValid(Features.isText(name));
        }
        names.add(label.name());
        requireValid(Features.areDistinct(names));
    }

    /**
     * Returns the label.
     *
     * @return a feature without a name if the survey has no label
     */
    public Feature label() {
        return label;
    }

    /**
     * Returns the features that questions ask for: each choice of an entry with several answers is one.
     *
     * @return a list that cannot be changed
     */
    public List<Feature> features() {
        return Collections.unmodifiableList(features);
    }

    /**
     * Returns the features as the plan lists them: all choices of an entry are one.
     *
     * @return a list that cannot be changed
     */
    public List<Feature> listed() {
        return Collections.unmodifiableList(listed);
    }

    /**
     * Returns the entries that a row must have: the inputs of the projection, and features that are not
     * projected.
     *
     * @return a new list
     */
    public List<Feature> requiredEntries() {
        List<Feature> entries = new ArrayList<>(projection.inputs);
        for (Feature feature : listed) {
            if (!projection.computes(feature)) {
                entries.add(feature);
            }
        }
        return entries;
    }

    /**
     * Codes a row and its label; every entry is read once and checked, independently of the question.
     *
     * @throws RowException if an entry does not fit
     */
    CodedRow encode(Map<?, ?> row, Object label) {
        if (row == null) {
            throw new RowException("row", "must be a map from name to value");
        }
        List<RowProblem> problems = new ArrayList<>();
        List<String> clipped = new ArrayList<>();
        int[] inputs = new int[projection.inputs.size()];
        for (int i = 0; i < inputs.length; i++) {
            int[] code = codeEntry(projection.inputs.get(i), row, problems, clipped);
            inputs[i] = code == null ? 0 : code[0];
        }
        int[] codes = new int[features.size()];
        int next = 0;
        for (Feature feature : listed) {
            Map<?, ?> source = projection.computes(feature)
                ? Collections.singletonMap(feature.name(), projection.compute(feature, inputs))
                : row;
            int[] code = codeEntry(feature, source, problems, clipped);
            for (int i = 0; code != null && i < code.length; i++) {
                codes[next + i] = code[i];
            }
            next += feature.kind() == Feature.Kind.CHOICES ? feature.values().size() : 1;
        }
        int[] labelCode = codeEntry(
            this.label, Collections.singletonMap(this.label.name(), label), problems, clipped);
        if (!problems.isEmpty()) {
            throw new RowException(problems);
        }
        return new CodedRow(codes, labelCode[0], Collections.unmodifiableList(clipped));
    }

    /** Codes an entry of a row; adds to the problems and returns null if it does not fit. */
    private static int[] codeEntry(
        Feature entry, Map<?, ?> row, List<RowProblem> problems, List<String> clipped) {
        try {
            Object value = ParseValue.rowEntry(row, entry.name());
            int[] code = entry.code(value);
            if (entry.isOutside(value)) {
                clipped.add(entry.name());
            }
            return code;
        } catch (RowException error) {
            problems.addAll(error.problems());
        } catch (Exception error) {
            // the application's own objects may throw anything, with a value in its text
            problems.addAll(new RowException(entry.name(), "could not be read").problems());
        }
        return null;
    }
}
