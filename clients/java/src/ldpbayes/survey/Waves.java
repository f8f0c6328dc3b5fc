package ldpbayes.survey;

import static ldpbayes.ProbabilityTables.countUpTo;
import static ldpbayes.SurveyException.requireValid;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import ldpbayes.Bytes;
import ldpbayes.LdpException;
import ldpbayes.RandomSource;
import ldpbayes.Randomness;
import ldpbayes.Reason;
import ldpbayes.mechanisms.Parameters;

/**
 * The waves of a survey: the same questions are asked several times, and each person answers in one wave.
 *
 * <p>The same rules as {@code encoders/survey/waves.py} of the Python package.
 */
public final class Waves {
    private static final int MAX_WAVES = 400;
    /** In all waves together. */
    private static final int MAX_QUESTIONS = 4096;
    private static final int MAX_NAME = 32;
    private static final long LAST_TIME = 1L << 33;

    private final List<Wave> list;
    private final boolean areDrawn;

    /** One wave; the times are in seconds since 1970. */
    public static final class Wave {
        /** The number of earlier waves. */
        public final int index;
        /** The name. */
        public final String name;
        /** The first second in which people may answer. */
        public final long opens;
        /** The first second after the wave. */
        public final long closes;

        Wave(int index, Map<?, ?> entry) {
            Parameters.checkKeyCount(entry, 3);
            this.index = index;
            name = (String) entry.get("name");
            opens = (Long) entry.get("opens");
            closes = (Long) entry.get("closes");
            requireValid(!name.isEmpty() && name.length() <= MAX_NAME
                && Parameters.hasOnly(Plan.ID_LETTERS, name) && opens < closes && closes < LAST_TIME);
        }
    }

    /** Reads the waves of a plan with so many questions. */
    Waves(Map<?, ?> entry, int questions) {
        Parameters.checkKeyCount(entry, 2);
        areDrawn = "drawn".equals(entry.get("assign"));
        requireValid(areDrawn || "now".equals(entry.get("assign")));
        List<Wave> waves = new ArrayList<>();
        Set<String> names = new HashSet<>(Arrays.asList("all", "last")); // what commands call several waves
        long end = 1;
        for (Object each : (List<?>) entry.get("list")) {
            Wave wave = new Wave(waves.size(), (Map<?, ?>) each);
            requireValid(end <= wave.opens && names.add(wave.name));
            end = wave.closes;
            waves.add(wave);
        }
        int count = waves.size();
        requireValid(2 <= count && count <= MAX_WAVES && count * questions <= MAX_QUESTIONS);
        list = Collections.unmodifiableList(waves);
    }

    /** {@return the waves in the order of time, in a list that cannot be changed} */
    public List<Wave> list() { return list; }

    /** {@return whether each device draws its wave; otherwise it answers in the wave that is open} */
    public boolean areDrawn() { return areDrawn; }

    /**
     * Draws the wave of a device; every wave is as probable as any other.
     *
     * @param random source of 8 random bytes
     * @return the wave
     */
    public Wave draw(RandomSource random) {
        long[] weights = new long[list.size()];
        Arrays.fill(weights, 1);
        return list.get(countUpTo(Plan.limits(weights), Bytes.readWord(Randomness.take(random, 8), 0)));
    }

    /**
     * Returns the wave with a name; throws LdpException if the survey has none.
     *
     * @param name the name
     * @return the wave
     */
    public Wave find(String name) {
        for (Wave each : list) {
            if (each.name.equals(name)) return each;
        }
        throw new LdpException("the survey has no wave " + name, Reason.ERROR);
    }
}
