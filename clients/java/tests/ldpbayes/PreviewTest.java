package ldpbayes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import ldpbayes.explain.PossibleAnswer;
import ldpbayes.explain.Preview;
import ldpbayes.explain.PreviewOptions;
import ldpbayes.survey.Feature;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Question;
import org.junit.jupiter.api.Test;

/** A preview shows the true answer to the person, and to nobody else. */
class PreviewTest {
    private static final Plan PLAN = Answer.readPlan("good-auto");
    private static final Map<String, Object> ROW = Answer.firstRow("good-auto");
    private static final Object LABEL = Answer.firstLabel("good-auto");

    private static Preview preview(String question) {
        return Preview.of(PLAN, ROW, LABEL, new PreviewOptions().question(question));
    }

    @Test
    void aPreviewOfANamedQuestionAnswersThatQuestion() {
        for (String question : new String[] {"smokes", "age", "hours", "district"}) {
            Preview shown = preview(question);
            assertEquals(question, shown.question());
            Question asked = PLAN.questions().get(shown.report()[36]);
            assertEquals(1, asked.features().length);
            assertEquals(question, PLAN.schema().features().get(asked.features()[0]).name());
        }
        LdpException error = assertThrows(LdpException.class, () -> preview("weight"));
        assertEquals(Reason.ERROR, error.reason());
    }

    @Test
    void aLogOfAPreviewContainsNeitherTheTrueAnswerNorTheReport() {
        Preview shown = preview("age");
        assertEquals("age=young", shown.truth().get(0).toString());
        assertEquals("Preview[age]", shown.toString());
        assertFalse(shown.possibleAnswers().toString().contains("young"));
        assertThrows(UnsupportedOperationException.class, () -> shown.truth().clear());
        assertThrows(UnsupportedOperationException.class, () -> shown.possibleAnswers().clear());
        assertThrows(UnsupportedOperationException.class, () -> shown.clipped().add("x"));
    }

    @Test
    void theTextOfAPreviewContainsTheQuestionTheBytesAndEveryAnswer() {
        Map<String, Object> row = new LinkedHashMap<>(ROW);
        row.put("hours", 99);
        Preview shown = Preview.of(PLAN, row, LABEL, new PreviewOptions().question("age"));
        String[] parts = {
            "age", "young", "middle", "old", "(missing)", "(the truth)", "hours is outside its range",
            "e^1.25",
        };
        for (String part : parts) {
            assertTrue(shown.text().contains(part), part);
        }
        assertEquals(Arrays.asList("hours"), shown.clipped());
    }

    @Test
    void previewsOfASurveyWithoutALabelDoNotMentionOne() {
        for (String name : new String[] {"good-unlabelled", "good-choices-together"}) {
            Plan plan = Answer.readPlan(name);
            for (Question question : plan.questions()) {
                StringBuilder about = new StringBuilder();
                for (int place : question.features()) {
                    about.append(about.length() == 0 ? "" : ", ");
                    about.append(plan.schema().features().get(place).name());
                }
                String named = about + new String[] {"", " (mean)", " (square)", ""}[question.moment()];
                Preview shown =
                    Preview.of(plan, Answer.firstRow(name), null, new PreviewOptions().question(named));
                StringBuilder titles = new StringBuilder();
                for (Map.Entry<String, String> pair : shown.truth()) {
                    titles.append(titles.length() == 0 ? "" : ", ").append(pair.getKey());
                }
                assertEquals(about.toString(), titles.toString());
                for (String part : new String[] {"label", "null", "\n  :", "= ,", ", :", "\n = "}) {
                    assertFalse(shown.text().contains(part), part);
                }
            }
        }
    }

    @Test
    void aChoiceIsAQuestionToAnswerWithYesOrNo() {
        Plan plan = Answer.readPlan("good-choices");
        Preview shown = Preview.of(
            plan, Answer.firstRow("good-choices"), Answer.firstLabel("good-choices"),
            new PreviewOptions().question("snacks: fruit"));
        assertEquals("snacks: fruit=yes", shown.truth().get(0).toString());
        Set<String> answers = new HashSet<>();
        for (PossibleAnswer possible : shown.possibleAnswers()) {
            answers.add(possible.answer().get(0).getValue());
        }
        assertEquals(new HashSet<>(Arrays.asList("no", "yes", "(missing)")), answers);
    }

    @Test
    void theBeliefsAddUpToOneAndRespectTheBound() {
        for (String question : new String[] {"smokes", "age", "hours"}) {
            Preview shown = preview(question);
            double sum = 0;
            double least = 1;
            double greatest = 0;
            for (PossibleAnswer possible : shown.possibleAnswers()) {
                sum += possible.belief();
                least = Math.min(least, possible.belief());
                greatest = Math.max(greatest, possible.belief());
            }
            assertEquals(1, sum, 1e-12);
            assertTrue(greatest / least <= shown.oddsBound());
        }
    }

    @Test
    void aSurveyByInvitationHasPreviewsWithoutATokenButNotWithAWrongOne() {
        Plan plan = Answer.readPlan("tokens");
        Map<String, Object> row = Answer.firstRow("tokens");
        Object label = Answer.firstLabel("tokens");
        String token = (String) Answer.firstCase("tokens").get("token");
        assertFalse(Preview.of(plan, row, label).truth().isEmpty());
        PreviewOptions options = new PreviewOptions().token(token);
        assertTrue(Preview.of(plan, row, label, options).text().contains("chosen by the invitation"));
        options.token(token.replaceAll(".", "a"));
        assertThrows(TokenException.class, () -> Preview.of(plan, row, label, options));
    }

    @Test
    void aRowThatDoesNotFitHasNoPreviewAndNothingIsDrawn() {
        Map<String, Object> row = new LinkedHashMap<>(ROW);
        row.put("age", "secret");
        PreviewOptions options = new PreviewOptions().random(count -> {
            throw new AssertionError("random bytes were drawn");
        });
        RowException error = assertThrows(RowException.class, () -> Preview.of(PLAN, row, LABEL, options));
        assertFalse(error.toString().contains("secret"));
    }

    @Test
    void aRowThatChangesIsReadOnce() {
        Map<String, Object> row = new LinkedHashMap<String, Object>(ROW) {
            private static final long serialVersionUID = 1L;

            @Override
            public Object get(Object name) {
                return name.equals("hours") ? super.put("hours", "secret") : super.get(name);
            }
        };
        row.put("hours", 99);
        assertEquals(Arrays.asList("hours"), Preview.of(PLAN, row, LABEL).clipped());
    }

    @Test
    void aFeatureSaysWhatItAsksFor() {
        Feature age = PLAN.entries().get(0);
        assertEquals(Feature.Kind.CATEGORICAL, age.kind());
        assertEquals(age.count() + (age.mayBeMissing() ? 1 : 0), age.size());
    }
}
