package ldpbayes;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import ldpbayes.survey.CodedRow;
import ldpbayes.survey.Feature;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Question;
import ldpbayes.survey.Randomise;
import ldpbayes.survey.RandomisedReport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The core refuses what must not become a report, and never repeats a value of a row. */
class CoreTest {
    private static final Map<?, ?> VALUES = Answer.readVectors("good-values");
    private static final Plan PLAN = Answer.readPlan("good-values");
    private static final Map<String, Object> ROW = Answer.firstRow("good-values");
    private static final String LABEL = "good";
    private static final int TEXT = 0;

    /** A source that must not be used. */
    private static final RandomSource NONE = count -> {
        throw new AssertionError("random bytes were drawn");
    };

    private static Map<String, Object> rowWith(String name, Object value) {
        Map<String, Object> row = new LinkedHashMap<>(ROW);
        row.put(name, value);
        return row;
    }

    private static byte[] make(Plan plan, Map<String, ?> row, Object label) {
        return Core.makeReport(plan, row, label, null, NONE);
    }

    /** Requires that a row is refused because of an entry, before anything is drawn, without its value. */
    private static RowException assertRefused(String field, Plan plan, Map<String, ?> row, Object label) {
        RowException error = assertThrows(RowException.class, () -> make(plan, row, label));
        assertEquals(field, error.field());
        assertEquals(Reason.INVALID_ROW, error.reason());
        assertNull(error.getCause());
        StringWriter written = new StringWriter();
        error.printStackTrace(new PrintWriter(written, true));
        assertFalse((written + " " + error + " " + error.why() + " " + error.problems()).contains("secret"));
        return error;
    }

    @Test
    void reportsOfOneRowDifferInTheirIdsAndHaveTheSameLengthForAQuestion() {
        Set<String> ids = new HashSet<>();
        Map<Byte, Integer> lengths = new HashMap<>();
        for (int i = 0; i < 200; i++) {
            byte[] report = Core.makeReport(PLAN, ROW, LABEL);
            ids.add(Bytes.toHex(Arrays.copyOfRange(report, 39, 55)));
            Integer before = lengths.put(report[36], report.length);
            assertTrue(before == null || before == report.length);
        }
        assertEquals(200, ids.size());
        assertTrue(lengths.size() > 3);
    }

    @Test
    void theNumberOfRandomBytesDependsOnlyOnTheQuestion() {
        String[] names = {"good-values", "good-numeric-laplace", "good-unlabelled", "good-she"};
        for (String name : names) {
            Plan plan = Answer.readPlan(name);
            Map<String, Set<Integer>> taken = new HashMap<>();
            for (Object each : (List<?>) Answer.readVectors(name).get("cases")) {
                Map<?, ?> given = (Map<?, ?>) each;
                List<Integer> counts = new ArrayList<>();
                RandomSource counted = count -> {
                    counts.add(count);
                    return RandomSource.SYSTEM.take(count);
                };
                byte[] report = Core.makeReport(
                    plan, Answer.rowOf(given.get("row")), Answer.valueOf(given.get("label")), null, counted);
                assertEquals(Arrays.asList(8, 16), counts.subList(0, 2));
                assertEquals(3, counts.size());
                String question = report[36] + " " + report.length;
                taken.computeIfAbsent(question, key -> new HashSet<>()).add(counts.get(2));
            }
            for (Set<Integer> counts : taken.values()) {
                assertEquals(1, counts.size());
            }
        }
    }

    @Test
    void theSystemsGeneratorReturnsAsManyBytesAsRequested() {
        for (int count : new int[] {0, 1, 16, 150_000}) {
            assertEquals(count, RandomSource.SYSTEM.take(count).length);
        }
        assertFalse(Arrays.equals(RandomSource.SYSTEM.take(16), RandomSource.SYSTEM.take(16)));
    }

    @Test
    void aSourceThatFillsOneArrayAgainMakesTheSameReport() {
        Plan plan = Answer.readPlan("good-de");
        Set<String> reports = new HashSet<>();
        for (boolean isReused : new boolean[] {false, true}) {
            byte[] array = new byte[16]; // the id and the noise of DE have 16 bytes
            int[] calls = {0};
            RandomSource random = count -> {
                byte[] bytes = isReused && count == 16 ? array : new byte[count];
                Arrays.fill(bytes, (byte) calls[0]++);
                return bytes;
            };
            byte[] report = Core.makeReport(
                plan, Answer.firstRow("good-de"), Answer.firstLabel("good-de"), null, random);
            reports.add(Bytes.toHex(report));
        }
        assertEquals(1, reports.size());
        assertTrue(reports.toString().contains(String.join("", Collections.nCopies(16, "01"))));
    }

    @Test
    void aSourceThatReturnsTooFewOrTooManyBytesIsRefused() {
        List<RandomSource> sources =
            Arrays.asList(count -> new byte[3], count -> null, count -> new byte[count + 1]);
        for (RandomSource random : sources) {
            LdpException error = assertThrows(
                LdpException.class, () -> Core.makeReport(PLAN, ROW, LABEL, null, random));
            assertEquals(Reason.NO_RANDOMNESS, error.reason());
        }
    }

    @Test
    void aRowWithSeveralMistakesIsRefusedWithAProblemForEach() {
        Map<String, Object> wrong = rowWith("text", "secret answer");
        wrong.put("bin", "12 secret");
        wrong.remove("kind");
        RowException error = assertRefused("text", PLAN, wrong, "secret label");
        Set<String> fields = new TreeSet<>();
        for (RowProblem problem : error.problems()) {
            fields.add(problem.field());
            assertFalse(problem.why().isEmpty());
        }
        assertEquals(new TreeSet<>(Arrays.asList("bin", "kind", "mood", "text")), fields);
        assertThrows(UnsupportedOperationException.class, () -> error.problems().clear());
    }

    @Test
    void aNameThatIsNotInTheRowIsNotAMissingValue() {
        assertRefused("text", PLAN, without("text"), LABEL);
        assertEquals(code(rowWith("text", null)), code(rowWith("text", "")));
        assertRefused("kind", PLAN, rowWith("kind", null), LABEL);
    }

    private static Map<String, Object> without(String name) {
        Map<String, Object> row = new LinkedHashMap<>(ROW);
        row.remove(name);
        return row;
    }

    private static int code(Map<String, ?> row) {
        return PLAN.encode(row, LABEL).codes()[TEXT];
    }

    @Test
    void anEntryOfARowIsReadOnce() {
        Map<Object, Integer> reads = new HashMap<>();
        Map<String, Object> counted = new LinkedHashMap<String, Object>(ROW) {
            private static final long serialVersionUID = 1L;

            @Override
            public Object get(Object name) {
                reads.merge(name, 1, Integer::sum);
                return super.get(name);
            }
        };
        Core.makeReport(PLAN, counted, LABEL);
        assertEquals(PLAN.entries().size(), reads.size());
        assertEquals(Collections.singleton(1), new HashSet<>(reads.values()));
    }

    @Test
    void aValueOfAnotherTypeIsRefused() {
        assertRefused("row", PLAN, null, LABEL);
        List<Object> others = Arrays.<Object>asList(
            new Object(), new Object[0], new ArrayList<>(), new Date(), new StringBuilder[0], 'A',
            new int[] {1}, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Float.POSITIVE_INFINITY);
        for (Object value : others) {
            assertRefused("text", PLAN, rowWith("text", value), LABEL);
            assertRefused("bin", PLAN, rowWith("bin", value), LABEL);
        }
        for (Object value : Arrays.asList(0.5, BigInteger.TEN.pow(100), BigDecimal.ONE, "secret")) {
            assertRefused("text", PLAN, rowWith("text", value), LABEL);
        }
        for (Object value : Arrays.asList("1", " ", true)) {
            assertRefused("bin", PLAN, rowWith("bin", value), LABEL);
        }
        assertRefused("mood", PLAN, ROW, null);
        assertRefused("mood", PLAN, ROW, "secret");
    }

    /** Checks how long a call computes; the time of other programs on a busy machine does not count. */
    static void assertComputesFor(double seconds, Executable call) throws Throwable {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long start = threads.getCurrentThreadCpuTime();
        call.execute();
        double took = (threads.getCurrentThreadCpuTime() - start) / 1e9;
        assertTrue(took < seconds, took + " s");
    }

    @Test
    void aLongTextIsRefusedBeforeItIsNormalised() throws Throwable {
        char[] marks = new char[400_000];
        Arrays.fill(marks, 0, marks.length / 2, '\u0301');
        Arrays.fill(marks, marks.length / 2, marks.length, '\u0316');
        assertComputesFor(5, () -> assertRefused("text", PLAN, rowWith("text", new String(marks)), LABEL));
    }

    @Test
    void exceptionsOfTheApplicationsObjectsAreNotQuoted() {
        CharSequence failing = new CharSequence() {
            @Override
            public int length() {
                return 1;
            }

            @Override
            public char charAt(int index) {
                return 'a';
            }

            @Override
            public CharSequence subSequence(int start, int end) {
                return this;
            }

            @Override
            public String toString() {
                throw new IllegalStateException("secret");
            }
        };
        Map<String, Object> row = new LinkedHashMap<String, Object>(ROW) {
            private static final long serialVersionUID = 1L;

            @Override
            public Object get(Object name) {
                return name.equals("kind") ? failing.toString() : super.get(name);
            }
        };
        RowException error = assertRefused("kind", PLAN, row, failing);
        assertEquals(2, error.problems().size());
        assertEquals("could not be read", error.why());
        assertRefused("text", PLAN, rowWith("text", failing), LABEL);
        Plan plan = Answer.readPlan("good-choices");
        Map<String, Object> choices = new LinkedHashMap<>(Answer.firstRow("good-choices"));
        choices.put("cups", new AbstractList<Object>() {
            @Override
            public Object get(int index) {
                return failing.toString();
            }

            @Override
            public int size() {
                return 1;
            }
        });
        assertRefused("cups", plan, choices, Answer.firstLabel("good-choices"));
    }

    @Test
    void numbersOfAllTypesAreReadExactly() {
        List<Number> ones = Arrays.asList(
            (byte) 1, (short) 1, 1, 1L, 1f, 1d, BigInteger.ONE, BigDecimal.ONE, new BigDecimal("1.00"));
        Set<List<Integer>> found = new HashSet<>();
        for (Number one : ones) {
            Map<String, Object> row = rowWith("bin", one);
            row.put("word", one instanceof BigDecimal ? "1" : one);
            int[] coded = PLAN.encode(row, LABEL).codes();
            found.add(Arrays.asList(coded[1], coded[2]));
        }
        assertEquals(Collections.singleton(Arrays.asList(3, 3)), found);
        // the nearest double of 2^53 + 1 is 2^53, and a float is not rounded to the nearest decimal
        Object[][] binned = {
            {0.1f, 2}, {0.1, 2}, {Math.nextDown(0.1), 1}, {0.3f, 3}, {0.3, 3}, {9007199254740993L, 4},
            {new BigInteger("9007199254740993"), 4}, {new BigInteger("9007199254740995"), 6},
            {new BigDecimal("0.09999999999999999999999"), 2}, {new BigDecimal("1e400"), 6},
            {BigInteger.TEN.pow(400).negate(), 0}, {-Double.MAX_VALUE, 0}, {Long.MAX_VALUE, 6},
        };
        for (Object[] each : binned) {
            int[] codes = PLAN.encode(rowWith("bin", each[0]), LABEL).codes();
            assertEquals(each[1], codes[2], each[0].toString());
        }
        Object[][] words = {
            {-0.0, 4}, {0f, 4}, {1e23, 10}, {9007199254740993L, 12},
            {new BigInteger("18446744073709551615"), 13}, {1e21, 9}, {true, 0}, {"true", 0},
            {new StringBuilder("True"), 2}, {-1L, 6},
        };
        for (Object[] each : words) {
            int[] codes = PLAN.encode(rowWith("word", each[0]), LABEL).codes();
            assertEquals(each[1], codes[1], each[0].toString());
        }
    }

    @Test
    void nullNanAndAnEmptyTextAreTheSameMissingValue() {
        Set<Integer> codes = new HashSet<>();
        for (Object value : Arrays.asList(null, Double.NaN, Float.NaN, "", new StringBuilder())) {
            codes.add(code(rowWith("text", value)));
        }
        assertEquals(Collections.singleton(PLAN.schema().features().get(TEXT).size() - 1), codes);
    }

    @Test
    void tickedChoicesAreACollectionOrAnArray() {
        Plan plan = Answer.readPlan("good-choices");
        Map<String, Object> row = new LinkedHashMap<>(Answer.firstRow("good-choices"));
        Object label = Answer.firstLabel("good-choices");
        List<Object> same = Arrays.asList(
            Arrays.asList("small", "3"), new LinkedHashSet<>(Arrays.asList("3", "small")),
            new Object[] {"small", 3L, "small"}, new String[] {"3", "small"}, Arrays.asList(3, "small"));
        for (Object ticked : same) {
            row.put("cups", ticked);
            int[] codes = plan.encode(row, label).codes();
            assertArrayEquals(new int[] {1, 1, 0, 0}, Arrays.copyOfRange(codes, 4, 8));
        }
        List<Object> wrong = Arrays.asList(
            "small", Collections.singletonMap("small", true), new int[] {3}, Arrays.asList("small", null),
            Arrays.asList("secret"), new Object[] {"secret"}, Arrays.asList(Arrays.asList("small")),
            Collections.singleton(""), new Object[] {Double.NaN}, true, 3);
        for (Object ticked : wrong) {
            row.put("cups", ticked);
            assertRefused("cups", plan, row, label);
        }
    }

    @Test
    void theCallersRowIsNotChanged() {
        Map<String, Object> row = Collections.unmodifiableMap(new TreeMap<>(ROW));
        Map<String, Object> before = new HashMap<>(row);
        Core.makeReport(PLAN, row, LABEL);
        assertEquals(before, row);
    }

    @Test
    void aSurveyWithoutALabelRefusesALabel() {
        Plan plan = Answer.readPlan("good-unlabelled");
        Map<String, Object> row = Answer.firstRow("good-unlabelled");
        assertTrue(Core.makeReport(plan, row, null).length > 50);
        RowException error = assertRefused("label", plan, row, "yes");
        assertEquals("label: this survey has no label: pass only the row", error.getMessage());
        assertNull(plan.label());
        List<String> several = new ArrayList<>();
        for (Feature each : plan.entries()) {
            if (each.kind() == Feature.Kind.CHOICES) {
                several.add(each.name());
            }
        }
        assertEquals(Arrays.asList("cups", "snacks"), several);
    }

    @Test
    void aPlanCannotBeChanged() {
        byte[] bytes = Bytes.fromText((String) VALUES.get("plan"));
        Plan plan = Core.readPlan(bytes);
        bytes[20] ^= 1;
        plan.digestBytes()[0] ^= 1;
        assertEquals(PLAN.digest(), plan.digest());
        assertEquals(plan.digest(), Bytes.toHex(plan.digestBytes()));
        Question question = plan.questions().get(1);
        assertThrows(UnsupportedOperationException.class, () -> plan.questions().clear());
        assertThrows(UnsupportedOperationException.class, () -> plan.entries().clear());
        assertThrows(UnsupportedOperationException.class, () -> plan.entries().get(0).values().clear());
        assertThrows(UnsupportedOperationException.class, () -> plan.schema().features().clear());
        assertThrows(UnsupportedOperationException.class, () -> plan.schema().listed().clear());
        assertThrows(UnsupportedOperationException.class, () -> question.tables().clear());
        Object weights = Answer.readPlan("good-she").questions().get(0).tables().get("weights");
        assertThrows(UnsupportedOperationException.class, () -> ((List<?>) weights).clear());
        question.features()[0] = 99;
        question.sizes()[0] = 99;
        assertNotEquals(99, question.features()[0]);
        assertNotEquals(99, question.sizes()[0]);
        CodedRow coded = plan.encode(ROW, LABEL);
        coded.codes()[0] = 99;
        assertNotEquals(99, coded.codes()[0]);
        RandomisedReport made = Randomise.randomise(plan, ROW, LABEL, null, RandomSource.SYSTEM, null);
        assertNotSameArrays(made.report(), made.report());
        assertNotSameArrays(made.payload(), made.payload());
        assertFalse(made.truth() == made.truth());
    }

    private static void assertNotSameArrays(byte[] one, byte[] other) {
        assertFalse(one == other);
        assertArrayEquals(one, other);
    }

    @Test
    void aTokenIsRefusedBeforeAnythingIsDrawnWithoutRepeatingIt() {
        Plan plan = Answer.readPlan("tokens");
        Map<?, ?> good = Answer.firstCase("tokens");
        Map<String, Object> row = Answer.rowOf(good.get("row"));
        Object label = Answer.valueOf(good.get("label"));
        String token = (String) good.get("token");
        assertTrue(Core.makeReport(plan, row, label, token, RandomSource.SYSTEM).length > 50);
        List<String> wrong = new ArrayList<>(Arrays.asList(
            null, "", token + "a", token.substring(1), "1" + token.substring(1),
            token.replace("s", "\u017f").replace("k", "\u212a")));
        for (int i = 0; i < token.length(); i++) {
            char other = token.charAt(i) == 'a' ? 'b' : 'a';
            wrong.add(token.substring(0, i) + other + token.substring(i + 1));
        }
        for (String each : wrong) {
            TokenException error = assertThrows(
                TokenException.class, () -> Core.makeReport(plan, row, label, each, NONE));
            assertFalse(error.toString().contains(token.substring(2)));
            assertEquals("invalid-token token", error.reason() + " " + error.field());
        }
        assertThrows(TokenException.class, () -> Core.makeReport(PLAN, ROW, LABEL, token, NONE));
        // the row is checked first
        assertThrows(RowException.class, () -> Core.makeReport(plan, without("text"), label, token, NONE));
    }

    @Test
    void everyCaseOfTheVectorsHasItsReportOrRefusal() {
        String[] files = {"good-values", "good-unlabelled", "good-validation", "normal-forms", "tokens"};
        for (String name : files) {
            Map<?, ?> vectors = Answer.readVectors(name);
            for (Object each : (List<?>) vectors.get("cases")) {
                Map<String, Object> posted = new HashMap<>();
                posted.put("plan", vectors.get("plan"));
                for (Map.Entry<?, ?> entry : ((Map<?, ?>) each).entrySet()) {
                    posted.put((String) entry.getKey(), entry.getValue());
                }
                posted.putIfAbsent("random", "");
                Map<String, Object> answer = Answer.to(posted);
                assertEquals(posted.get("report"), answer.get("report"), name + ": " + posted.get("name"));
                assertEquals(posted.get("error"), answer.get("error"), name + ": " + posted.get("name"));
            }
        }
    }

    @Test
    void noRowOfTheVectorsWithAMistakeIsReported() {
        for (String name : new String[] {"bad-rows", "bad-rows-unlabelled", "bad-rows-validation"}) {
            Plan plan = Answer.readPlan(name);
            for (Object each : (List<?>) Answer.readVectors(name).get("cases")) {
                Map<?, ?> given = (Map<?, ?>) each;
                Map<String, Object> row = Answer.rowOf(given.get("row"));
                assertRefused((String) given.get("field"), plan, row, Answer.valueOf(given.get("label")));
            }
        }
    }

    @Test
    void aMissingLabelOfAValidationRoundIsRefused() {
        Plan plan = Answer.readPlan("good-validation");
        Map<String, Object> row = Answer.firstRow("good-validation");
        assertRefused(plan.rowSchema().label().name(), plan, row, null);
        assertSame(plan.rowSchema().label(), plan.label());
        assertNotEquals(plan.schema().label().name(), plan.label().name());
    }
}
