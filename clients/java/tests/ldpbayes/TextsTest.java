package ldpbayes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.IntFunction;
import ldpbayes.explain.Preview;
import ldpbayes.explain.PreviewOptions;
import ldpbayes.survey.DisplayTexts;
import ldpbayes.survey.EntryTexts;
import ldpbayes.survey.Plan;
import ldpbayes.survey.SurveyTexts;
import org.junit.jupiter.api.Test;

/** The texts that people read: those of the plan and no others, in the language that fits best. */
class TextsTest {
    private static final Map<?, ?> VECTORS = Answer.readVectors("good-texts");
    private static final Plan PLAN = Answer.readPlan("good-texts");
    private static final SurveyTexts TEXTS =
        SurveyTexts.read(PLAN, Bytes.fromText((String) VECTORS.get("texts")));
    /** A file with one language and no texts. */
    private static final String BASE = "{'about':{},'format':1,'languages':['en'],'texts':{'en':{}}}";

    private static DisplayTexts display(String... wanted) {
        return DisplayTexts.of(PLAN, TEXTS, Arrays.asList(wanted));
    }

    /** Returns the plan whose texts are these. */
    private static Plan planWith(byte[] texts) {
        String plan = (String) VECTORS.get("plan");
        return Core.readPlan(Bytes.fromText(plan.replace(PLAN.texts(), Bytes.toHex(Bytes.sha256(texts)))));
    }

    private static SurveyTexts read(String file) {
        byte[] bytes = Bytes.fromText(file.replace('\'', '"'));
        return SurveyTexts.read(planWith(bytes), bytes);
    }

    @Test
    void everyLanguageOfTheVectorsIsDisplayedAsByPython() {
        for (String name : new String[] {"good-texts", "good-unlabelled-texts"}) {
            Map<?, ?> vectors = Answer.readVectors(name);
            Plan plan = Answer.readPlan(name);
            SurveyTexts texts = SurveyTexts.read(plan, Bytes.fromText((String) vectors.get("texts")));
            List<?> displayed = (List<?>) vectors.get("displayed");
            assertTrue(displayed.size() > 3);
            for (Object each : displayed) {
                Map<?, ?> expected = (Map<?, ?>) each;
                String requested = (String) expected.get("requested");
                DisplayTexts shown = DisplayTexts.of(plan, texts, Collections.singletonList(requested));
                assertEquals(expected.get("language"), shown.language());
                assertEquals(expected.get("title"), shown.title());
                EntryTexts label = shown.label();
                assertEquals(expected.get("label"), label == null ? null : plain(label));
                Map<String, Object> features = new LinkedHashMap<>();
                for (Map.Entry<String, EntryTexts> entry : shown.features().entrySet()) {
                    features.put(entry.getKey(), plain(entry.getValue()));
                }
                assertEquals(expected.get("features"), features);
            }
        }
    }

    /** Returns the entry of the vectors for displayed texts. */
    private static Map<String, Object> plain(EntryTexts texts) {
        Map<String, Object> entry = new LinkedHashMap<>();
        entry.put("help", texts.help());
        entry.put("title", texts.title());
        entry.put("values", texts.values());
        return entry;
    }

    @Test
    void theSameQuestionsAreHiddenAsByPython() {
        Map<?, ?> vectors = Answer.readVectors("conditions");
        Plan plan = Answer.readPlan("conditions");
        SurveyTexts texts = SurveyTexts.read(plan, Bytes.fromText((String) vectors.get("texts")));
        DisplayTexts shown = DisplayTexts.of(plan, texts, Collections.<String>emptyList());
        for (Object each : (List<?>) vectors.get("hidden")) {
            Map<String, Object> answers = new LinkedHashMap<>();
            for (Map.Entry<?, ?> answer : ((Map<?, ?>) ((Map<?, ?>) each).get("answers")).entrySet()) {
                answers.put((String) answer.getKey(), answer.getValue());
            }
            List<?> expected = (List<?>) ((Map<?, ?>) each).get("hidden");
            assertEquals(expected, new ArrayList<>(new TreeSet<>(shown.hidden(answers))), answers.toString());
            answers.replaceAll((name, value) -> value instanceof List ? ((List<?>) value).toArray() : value);
            assertEquals(new HashSet<Object>(expected), shown.hidden(answers));
        }
    }

    @Test
    void mistakenConditionsOfTheVectorsAreRefused() {
        Map<?, ?> vectors = Answer.readVectors("conditions");
        Plan plan = Answer.readPlan("conditions");
        for (Object each : (List<?>) vectors.get("refused")) {
            Map<?, ?> wrong = (Map<?, ?>) each;
            byte[] bytes = Bytes.fromText((String) wrong.get("texts"));
            Plan other = Core.readPlan(Bytes.fromText(((String) vectors.get("plan"))
                .replace(plan.texts(), Bytes.toHex(Bytes.sha256(bytes)))));
            SurveyException error = assertThrows(
                SurveyException.class, () -> SurveyTexts.read(other, bytes), wrong.get("case").toString());
            assertTrue(error.getMessage().contains("the texts are not those of the plan"));
        }
    }

    @Test
    void theFirstRequestedLanguageThatTheSurveyHasCounts() {
        assertEquals("pt-BR", display("xx", "PT_br", "en").language());
        assertEquals("en", display("xx").language());
        assertEquals("en", display().language());
        assertEquals("en", display("en-GB", "pt").language());
    }

    @Test
    void whatTheAuthorWroteAboutTheSurveyIsShownInThePersonsLanguage() {
        String about = "'about':{'contact':'A','purpose':'Purpose'}";
        byte[] bytes = Bytes.fromText(BASE.replace("'about':{}", about)
            .replace("['en']", "['en','de']")
            .replace("'texts':{", "'texts':{'de':{'about':{'purpose':'Zweck'}},").replace('\'', '"'));
        Plan plan = planWith(bytes);
        SurveyTexts texts = SurveyTexts.read(plan, bytes);
        DisplayTexts shown = DisplayTexts.of(plan, texts, Collections.singletonList("de-AT"));
        assertEquals("Zweck", shown.about().get("purpose"));
        assertEquals("A", shown.about().get("contact"));
        assertEquals("de", shown.textLanguages().get("about.purpose"));
        assertEquals(
            "Purpose", DisplayTexts.of(plan, texts, Collections.<String>emptyList()).about().get("purpose"));
    }

    @Test
    void eachTextKnowsItsLanguageAndANameHasNone() {
        DisplayTexts shown = display("pt-BR");
        assertEquals("pt-BR", shown.features().get("age").textLanguages().get("title"));
        assertEquals("en", shown.features().get("age").textLanguages().get("values.young"));
        assertEquals("pt", shown.label().textLanguages().get("title"));
        assertNull(shown.features().get("hours").textLanguages().get("title"));
    }

    @Test
    void aSurveyWithoutTextsIsDisplayedWithItsNames() {
        Plan plan = Answer.readPlan("good-values");
        DisplayTexts shown = DisplayTexts.of(plan, null, Collections.singletonList("de"));
        assertEquals("", shown.language());
        assertEquals(plan.id(), shown.title());
        assertEquals(plan.label().values(), new ArrayList<>(shown.label().values().keySet()));
        assertEquals("text", shown.features().get("text").title());
    }

    @Test
    void textsOfAnotherPlanAreRefused() {
        String texts = (String) VECTORS.get("texts");
        String[] others = {texts.replace("In years.", "In months."), texts.substring(1), "", "{}"};
        for (String other : others) {
            assertThrows(SurveyException.class, () -> SurveyTexts.read(PLAN, Bytes.fromText(other)));
        }
        Plan without = Answer.readPlan("good-values");
        assertThrows(SurveyException.class, () -> SurveyTexts.read(without, Bytes.fromText(texts)));
    }

    @Test
    void textsInAnotherFormAreRefused() {
        StringBuilder many = new StringBuilder("'en-100'");
        StringBuilder tables = new StringBuilder("'en-100':{}");
        for (int i = 101; i <= 200; i++) {
            many.append(",'en-").append(i).append('\'');
            tables.append(",'en-").append(i).append("':{}");
        }
        char[] tooLong = new char[301];
        Arrays.fill(tooLong, 'a');
        String[] changes = {
            "'format':1", "'format':2",
            "'format':1", "'format':1,'help':1",
            "'about':{},", "",
            "'about':{}", "'about':[]",
            "'about':{}", "'about':{'title':1}",
            "'about':{}", "'about':{'other':'x'}",
            "['en']", "['en','de']",
            "['en']", "['en','en']",
            "['en']", "['en','EN']",
            "['en']", "'en'",
            "'en'", "'English'",
            "'en'", "'en-'",
            "'en'", "'e'",
            "['en'],'texts':{'en':{}}", "[" + many + "],'texts':{" + tables + "}",
            "'en':{}", "'en':{'subtitle':'x'}",
            "'en':{}", "'en':{'about':{'title':'x'}}",
            "'en':{}", "'en':{'about':{'purpose':1}}",
            "'en':{}", "'en':{'about':'x'}",
            "'en':{}", "'en':{'title':1}",
            "'en':{}", "'en':{'title':' '}",
            "'en':{}", "'en':{'title':' \u200d'}",
            "'en':{}", "'en':{'title':'e\u0301'}",
            "'en':{}", "'en': {}",
            "'about':{},'format':1", "'format':1,'about':{}",
            "'en':{}", "'en':{'title':'a\\nb'}",
            "'en':{}", "'en':{'title':'a\u202eb'}",
            "'en':{}", "'en':{'title':'" + new String(tooLong) + "'}",
            "'en':{}", "'en':{'features':{'weight':{}}}",
            "'en':{}", "'en':{'features':{'rested':{}}}",
            "'en':{}", "'en':{'features':{'age':{'values':{'ancient':'x'}}}}",
            "'en':{}", "'en':{'features':{'age':{'values':{'old':'x','young':'x'}}}}",
            "'en':{}", "'en':{'features':{'age':{'values':{'old':'x','young':'x\u3164'}}}}",
            "'en':{}", "'en':{'features':{'age':{'values':{'old':'x','young':'\u200fx'}}}}",
            "'en':{}", "'en':{'features':{'age':{'values':{'old':'x','young':'x\ufe0f'}}}}",
            "'en':{}", "'en':{'features':{'age':{'values':{'old':'a b','young':'a\u00a0b'}}}}",
            "'en':{}", "'en':{'title':'\u3164\ufe0f \u200d'}",
            "'en':{}", "'en':{'label':{'values':{'maybe':'x'}}}",
            "'format'", "'ask_if':{'hours':{'feature':'weight','value':'x'}},'format'",
            "'format'", "'ask_if':{'hours':{'feature':'age','value':'ancient'}},'format'",
            "'format'", "'ask_if':{'hours':{'feature':'age','value':'(missing)'}},'format'",
            "'format'", "'ask_if':{'age':{'feature':'age','value':'young'}},'format'",
            "'format'", "'ask_if':{'weight':{'feature':'age','value':'young'}},'format'",
            "'format'", "'ask_if':{'hours':{'feature':'age','not':true,'value':'young'}},'format'",
            "'format'", "'ask_if':{'hours':{'feature':'age'}},'format'",
            "'format'", "'ask_if':null,'format'",
            "'format'", "'ask_if':{},'format'",
        };
        assertEquals(1, read(BASE).languages().size());
        String emoji = "'en':{'features':{'age':{'values':{'old':'\ud83d\udc68\u200d\ud83d\udc69',"
            + "'young':'\ud83d\udc68 \ud83d\udc69'}}},'title':'\u2639\ufe0f \u2800'}";
        assertEquals(1, read(BASE.replace("'en':{}", emoji)).languages().size());
        for (int i = 0; i < changes.length; i += 2) {
            String wrong = BASE.replace(changes[i], changes[i + 1]);
            assertThrows(SurveyException.class, () -> read(wrong), wrong);
        }
    }

    /** Returns texts between commas, without a comma at the end. */
    private static String join(int from, int to, IntFunction<String> text) {
        StringBuilder joined = new StringBuilder();
        for (int i = from; i < to; i++) {
            joined.append(i == from ? "" : ",").append(text.apply(i));
        }
        return joined.toString();
    }

    /** Returns a plan with these features and texts; it asks for the first feature, which has four codes. */
    private static Plan planOf(String features, String texts) {
        String tables = "{'keep':'13835058055282163712'}".replace('\'', '"');
        String key = Bytes.toHex(Arrays.copyOf(Bytes.sha256(Bytes.fromText(tables)), 8));
        return Core.readPlan(Bytes.fromText(("{'epsilon':'3','features':[" + features
            + "],'format':1,'id':'x','questions':[{'domain':4,'epsilon':'2.19722457734',"
            + "'feature':0,'mechanism':'DE','ratio':"
            + "['55340232221128654848','6148914691236517205'],'tables':'" + key + "','weight':1}],'tables':{'"
            + key + "':" + tables + "},'texts':'" + Bytes.toHex(Bytes.sha256(Bytes.fromText(texts))) + "'}")
            .replace('\'', '"')));
    }

    private static String feature(String name, String values) {
        return "{'kind':'categorical','missing':'category','name':'" + name + "','values':[" + values + "]}";
    }

    @Test
    void aLargeFileIsReadInLinearTime() throws Throwable {
        String first = feature("first", "'a','b','c'");
        IntFunction<String> value = i -> "'" + (10_000 + i) + "'";
        String values = join(45_000, 60_000, i -> value.apply(i) + ":" + value.apply(i));
        String valuesFile = BASE.replace(
            "'en':{}", "'en':{'features':{'many':{'values':{" + values + "}}}}").replace('\'', '"');
        Plan many = planOf(first + "," + feature("many", join(0, 60_000, value)), valuesFile);
        CoreTest.assertComputesFor(2, () -> SurveyTexts.read(many, Bytes.fromText(valuesFile)));
        String chain = join(
            0, 6000, i -> value.apply(i) + ":{'feature':" + value.apply(i + 1) + ",'value':'a'}");
        String chainFile = BASE.replace("'format'", "'ask_if':{" + chain + "},'format'").replace('\'', '"');
        String features = join(0, 6001, i -> feature(String.valueOf(10_000 + i), "'a'"));
        Plan chained = planOf(first + "," + features, chainFile);
        CoreTest.assertComputesFor(1, () -> SurveyTexts.read(chained, Bytes.fromText(chainFile)));
    }

    @Test
    void textsThatOnlyJustFitAreRead() {
        char[] title = new char[300];
        Arrays.fill(title, 'a');
        String file = BASE.replace(
            "'en':{}", "'en':{'help':'a\\n\u200fb','title':'" + new String(title) + "'}").replace('\'', '"');
        Plan plan = planWith(Bytes.fromText(file));
        DisplayTexts shown = DisplayTexts.of(
            plan, SurveyTexts.read(plan, Bytes.fromText(file)), Collections.<String>emptyList());
        assertEquals("a\n\u200fb", shown.help());
        assertEquals(300, shown.title().length());
    }

    @Test
    void aPreviewIsWrittenInTheTextsOfALanguage() {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("age", null);
        row.put("hours", 7);
        PreviewOptions options = new PreviewOptions().texts(display("en")).question("age");
        Preview shown = Preview.of(PLAN, row, "yes", options);
        assertEquals(
            "[How old are you?=No answer, Do you feel rested?=Yes]", shown.truth().toString());
        assertTrue(shown.text().contains("How old are you? = Under 30"));
        options.words(Collections.singletonMap("between", "{1} {0} {2}")).question("hours (mean)");
        assertTrue(Preview.of(PLAN, row, "yes", options).text().length() > 100);
    }
}
