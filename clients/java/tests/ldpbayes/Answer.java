package ldpbayes;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Randomise;
import ldpbayes.survey.Waves;

/** Reads the test vectors, and answers one request of tools/vectors/check_port.py; see docs/porting.md. */
public final class Answer {
    /** The directory of the vectors. The tests run in the root of the repository, or in clients/java. */
    static final Path VECTORS =
        Paths.get(Files.exists(Paths.get("tests/vectors")) ? "" : "../..").resolve("tests/vectors");

    /** Plans that were read, by their text: most requests use the same few plans. */
    private static final Map<String, Plan> PLANS = new HashMap<>();

    private Answer() {
    }

    /** Makes one report, or returns the reason of the refusal. */
    static synchronized Map<String, Object> to(Map<?, ?> request) {
        GivenBytes random = new GivenBytes((String) request.get("random"));
        try {
            Plan plan = planOf((String) request.get("plan"));
            Object label = valueOf(request.get("label"));
            byte[] report = Randomise.randomise(plan, rowOf(request.get("row")), label,
                (String) request.get("token"), random, waveOf(plan, request)).report();
            return random.isUsedUp()
                ? Collections.<String, Object>singletonMap("report", Bytes.toHex(report))
                : Collections.<String, Object>singletonMap("error", "random");
        } catch (SurveyException error) {
            return Collections.singletonMap("error", "plan");
        } catch (TokenException error) {
            return Collections.singletonMap("error", "token");
        } catch (RowException error) {
            Map<String, Object> refused = new LinkedHashMap<>();
            refused.put("error", "row");
            refused.put("field", error.field());
            return refused;
        } catch (IndexOutOfBoundsException | LdpException error) { // or the survey has no such wave
            return Collections.singletonMap("error", "random");
        }
    }

    /** Returns the wave that a request or a case of the vectors names, or null. */
    public static Waves.Wave waveOf(Plan plan, Map<?, ?> given) {
        boolean isNamed = plan.waves() != null && given.containsKey("wave");
        return isNamed ? plan.waves().find((String) given.get("wave")) : null;
    }

    static synchronized Plan planOf(String text) {
        Plan known = PLANS.containsKey(text) ? PLANS.get(text) : Core.readPlan(Bytes.fromText(text));
        if (PLANS.size() > 8) {
            PLANS.clear();
        }
        PLANS.put(text, known);
        return known;
    }

    /** Returns the row that stands in JSON. */
    public static Map<String, Object> rowOf(Object written) {
        Map<String, Object> row = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) written).entrySet()) {
            row.put((String) entry.getKey(), valueOf(entry.getValue()));
        }
        return row;
    }

    /** Returns the value of a row that stands in JSON. */
    public static Object valueOf(Object written) {
        if (written instanceof List) {
            List<Object> values = new ArrayList<>();
            for (Object each : (List<?>) written) {
                values.add(valueOf(each));
            }
            return values;
        }
        if (!(written instanceof Map)) {
            return written;
        }
        Map<?, ?> number = (Map<?, ?>) written;
        if (number.containsKey("integer")) {
            return new BigInteger((String) number.get("integer"));
        }
        String text = (String) number.get("double");
        return Double.valueOf(text.replace("inf", "Infinity").replace("nan", "NaN"));
    }

    /** Returns the content of a file of vectors. */
    public static Map<?, ?> readVectors(String name) {
        try {
            return (Map<?, ?>) Json.parse(Bytes.toText(Files.readAllBytes(VECTORS.resolve(name + ".json"))));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Returns the plan of a file of vectors. */
    static Plan readPlan(String name) {
        return planOf((String) readVectors(name).get("plan"));
    }

    /** Returns the first case of a file of vectors that has a report. */
    static Map<?, ?> firstCase(String name) {
        for (Object each : (List<?>) readVectors(name).get("cases")) {
            if (((Map<?, ?>) each).containsKey("report")) {
                return (Map<?, ?>) each;
            }
        }
        throw new IllegalArgumentException(name);
    }

    /** Returns the row of that case. */
    static Map<String, Object> firstRow(String name) {
        return rowOf(firstCase(name).get("row"));
    }

    /** Returns the label of that case. */
    static Object firstLabel(String name) {
        return valueOf(firstCase(name).get("label"));
    }

    /** A source of fixed bytes, for test vectors only. */
    public static final class GivenBytes implements RandomSource {
        private final byte[] bytes;
        private int next;

        public GivenBytes(String hex) {
            bytes = fromHex(hex);
        }

        @Override
        public byte[] take(int count) {
            if (next + count > bytes.length) {
                throw new IndexOutOfBoundsException("more random bytes are needed");
            }
            next += count;
            return Arrays.copyOfRange(bytes, next - count, next);
        }

        boolean isUsedUp() {
            return next == bytes.length;
        }
    }

    /** Returns the bytes that hexadecimal digits stand for. */
    public static byte[] fromHex(String digits) {
        byte[] bytes = new byte[digits.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }
}
