package ldpbayes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import ldpbayes.survey.Plan;
import org.junit.jupiter.api.Test;

/** Only a whole, canonical and private plan is read. */
class PlanTest {
    private static final String TEXT = (String) Answer.readVectors("good-values").get("plan");
    /** Entries without which a plan may be another valid plan. */
    private static final List<String> OPTIONAL =
        Arrays.asList("enrolment", "family", "ordered", "projection", "texts", "validation", "waves");

    private static SurveyException assertRefused(byte[] bytes, String name) {
        SurveyException error = assertThrows(SurveyException.class, () -> Core.readPlan(bytes), name);
        assertEquals("plan", error.field());
        assertNull(error.getCause());
        return error;
    }

    private static SurveyException assertRefused(Object document, String name) {
        return assertRefused(Bytes.fromText(Json.write(document)), name);
    }

    @Test
    void bytesThatAreNotAPlanAreRefused() {
        byte[] plan = Bytes.fromText(TEXT);
        char[] nested = new char[500_000];
        Arrays.fill(nested, '[');
        List<byte[]> wrong = new ArrayList<>(Arrays.asList(
            new byte[0], new byte[(1 << 20) + 1], null, Bytes.fromText("\ufeff" + TEXT),
            Bytes.fromText(TEXT + "\n"), Bytes.fromText(" " + TEXT), Arrays.copyOf(plan, plan.length - 1),
            Bytes.concatenate(new byte[] {(byte) 0xff}, plan), Bytes.fromText(TEXT.replace("caf", "\\ud800")),
            TEXT.getBytes(StandardCharsets.ISO_8859_1), Bytes.fromText(new String(nested)),
            Bytes.fromText(TEXT.replace("\"format\":1", "\"format\":1.0")),
            Bytes.fromText(TEXT.replace("\"format\":1", "\"format\":1,\"format\":1")),
            Bytes.fromText(TEXT.replace("\u00e9", "\\u00e9")),
            Bytes.fromText(TEXT.replace("\u00e9", "e\u0301"))));
        String[] others = {"null", "[]", "{}", "\"\"", "1", "{\"format\":1}", "<!doctype html>"};
        for (String text : others) {
            wrong.add(Bytes.fromText(text));
        }
        for (byte[] bytes : wrong) {
            assertEquals(Reason.INVALID_PLAN, assertRefused(bytes, Arrays.toString(bytes)).reason());
        }
    }

    @Test
    void aLongTextIsRefusedBeforeItIsNormalised() throws Throwable {
        char[] marks = new char[400_000];
        Arrays.fill(marks, 0, marks.length / 2, '\u0301');
        Arrays.fill(marks, marks.length / 2, marks.length, '\u0316');
        String[] plans = {
            "{\"" + new String(marks) + "\":1}", TEXT.replace("\"text\"", "\"" + new String(marks) + "\""),
        };
        for (String plan : plans) {
            CoreTest.assertComputesFor(5, () -> assertRefused(Bytes.fromText(plan), "marks"));
        }
    }

    @Test
    void aLongNameIsRefusedBeforeEachChoiceRepeatsIt() {
        char[] name = new char[500_000];
        Arrays.fill(name, 'x');
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) values.add(String.valueOf(10_000 + i));
        Map<String, Object> entry = new LinkedHashMap<>();
        entry.put("kind", "choices");
        entry.put("missing", "error");
        entry.put("name", new String(name));
        entry.put("values", values);
        @SuppressWarnings("unchecked")
        Map<String, Object> document = (Map<String, Object>) Json.parse(TEXT);
        document.put("features", Arrays.asList(entry));
        assertRefused(document, "10 GB of names");
    }

    @Test
    void noPlanOfTheVectorsWithAMistakeIsRead() {
        for (String name : new String[] {"bad-plans", "bad-plans-unlabelled"}) {
            Map<?, ?> vectors = Answer.readVectors(name);
            assertNotNull(Core.readPlan(Bytes.fromText((String) vectors.get("honest"))));
            List<?> plans = (List<?>) vectors.get("plans");
            assertTrue(plans.size() > 50);
            for (Object each : plans) {
                String plan = (String) ((Map<?, ?>) each).get("plan");
                assertRefused(Bytes.fromText(plan), (String) ((Map<?, ?>) each).get("name"));
            }
        }
    }

    @Test
    void aPlanThatSpendsMoreThanEpsilonIsRefusedAsSuch() {
        Object document = Json.parse(TEXT);
        put(document, "epsilon", "0.001");
        assertThrows(PrivacyException.class, () -> Core.readPlan(Bytes.fromText(Json.write(document))));
    }

    @Test
    void aPlanWithARelayIsRefusedSoThatNoReportIsSentDirectly() {
        Object document = Json.parse(TEXT);
        put(document, "relay", new LinkedHashMap<>());
        assertEquals(Reason.RELAY_UNSUPPORTED, assertRefused(document, "relay").reason());
    }

    @Test
    void anObjectInPlaceOfAListIsRefusedEverywhereInAPlan() {
        String[] names = {
            "good-values", "good-numeric-laplace", "good-numeric-projection", "good-validation",
            "good-choices", "good-waves",
        };
        for (String name : names) {
            String plan = (String) Answer.readVectors(name).get("plan");
            int lists = 0;
            for (List<Object> path : paths(Json.parse(plan), new ArrayList<>())) {
                Object changed = Json.parse(plan);
                Object list = at(changed, path);
                if (list instanceof List) {
                    Map<String, Object> object = new LinkedHashMap<>();
                    for (Object each : (List<?>) list) {
                        object.put(String.valueOf(object.size()), each);
                    }
                    object.put("length", object.size());
                    put(at(changed, path.subList(0, path.size() - 1)), path.get(path.size() - 1), object);
                    assertRefused(changed, name + path);
                    lists++;
                }
            }
            assertTrue(lists > 5);
        }
    }

    @Test
    void anEntryMoreOrLessIsRefusedEverywhereInAPlan() {
        String[] names = {
            "good-values", "good-validation", "good-the", "good-numeric-laplace", "good-numeric-sign",
            "good-numeric-projection", "good-choices", "good-choices-validation", "good-unlabelled",
            "good-tables", "good-waves",
        };
        for (String name : names) {
            String plan = (String) Answer.readVectors(name).get("plan");
            assertEquals(plan, Json.write(Json.parse(plan)));
            for (List<Object> path : paths(Json.parse(plan), new ArrayList<>())) {
                Object original = at(Json.parse(plan), path);
                if (!(original instanceof Map)) {
                    continue;
                }
                Object more = Json.parse(plan);
                put(at(more, path), "zebra", 1);
                assertRefused(more, name + path);
                for (Object key : ((Map<?, ?>) original).keySet()) {
                    Object value = ((Map<?, ?>) original).get(key);
                    Object less = Json.parse(plan);
                    ((Map<?, ?>) at(less, path)).remove(key);
                    if (!OPTIONAL.contains(key)) {
                        assertRefused(less, name + path + " without " + key);
                    }
                    put(at(less, path), "zebra", value);
                    assertRefused(less, name + path + " renamed " + key);
                    Object empty = Json.parse(plan);
                    put(at(empty, path), key, null);
                    if (value != null) { // the feature of the question about the label is null already
                        assertRefused(empty, name + path + " null " + key);
                    }
                }
            }
        }
    }

    @Test
    void namesOfObjectsAreOrdinaryNames() {
        for (String name : new String[] {"constructor", "toString", "__proto__", "class", "label", "row"}) {
            String text = TEXT.replace("\"name\":\"text\"", "\"name\":\"" + name + "\"");
            Plan plan = Core.readPlan(Bytes.fromText(text));
            Map<String, Object> row = Answer.firstRow("good-values");
            RowException error = assertThrows(RowException.class, () -> Core.makeReport(plan, row, "good"));
            assertEquals(name, error.field());
            row.put(name, row.remove("text"));
            assertTrue(Core.makeReport(plan, row, "good").length > 50);
        }
    }

    @SuppressWarnings("unchecked")
    private static void put(Object parent, Object key, Object value) {
        if (parent instanceof List) {
            ((List<Object>) parent).set((Integer) key, value);
        } else {
            ((Map<Object, Object>) parent).put(key, value);
        }
    }

    private static Object at(Object document, List<Object> path) {
        Object found = document;
        for (Object key : path) {
            found = found instanceof List
                ? ((List<?>) found).get((Integer) key)
                : ((Map<?, ?>) found).get(key);
        }
        return found;
    }

    /** Returns the paths to all values, without the many rows of scores but the first. */
    private static List<List<Object>> paths(Object value, List<Object> path) {
        List<List<Object>> found = new ArrayList<>();
        found.add(path);
        List<Object> keys = new ArrayList<>();
        if (value instanceof Map) {
            keys.addAll(((Map<?, ?>) value).keySet());
        } else if (value instanceof List) {
            for (int i = 0; i < ((List<?>) value).size(); i++) {
                keys.add(i);
            }
        }
        for (Object key : keys.subList(0, Math.min(keys.size(), 12))) {
            List<Object> longer = new ArrayList<>(path);
            longer.add(key);
            found.addAll(paths(at(value, longer.subList(path.size(), longer.size())), longer));
        }
        return found;
    }
}
