package ldpbayes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import ldpbayes.explain.Preview;
import ldpbayes.explain.PreviewOptions;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Randomise;
import ldpbayes.survey.Waves.Wave;
import org.junit.jupiter.api.Test;

/** Draws of the wave, reports and previews of surveys with waves, against the vectors. */
class WaveVectorsTest {
    private static final Map<?, ?> VECTORS = Answer.readVectors("good-waves");
    private static final Plan PLAN = Answer.readPlan("good-waves");

    @Test
    void everyWaveIsDrawnFromItsFirstToItsLastRandomNumber() {
        List<?> draws = (List<?>) VECTORS.get("draws");
        assertEquals(2 * PLAN.waves().list().size(), draws.size());
        for (Object each : draws) {
            Map<?, ?> known = (Map<?, ?>) each;
            Answer.GivenBytes random = new Answer.GivenBytes((String) known.get("random"));
            assertEquals(known.get("wave"), (long) PLAN.waves().draw(random).index);
            assertTrue(random.isUsedUp());
        }
    }

    @Test
    void everyReportNamesTheQuestionOfItsWave() {
        for (String name : new String[] {"good-waves", "tokens-waves"}) {
            for (Object each : (List<?>) Answer.readVectors(name).get("cases")) {
                Map<Object, Object> request = new HashMap<>((Map<?, ?>) each);
                request.put("plan", Answer.readVectors(name).get("plan"));
                Map<?, ?> known = (Map<?, ?>) each;
                String key = known.containsKey("report") ? "report" : "error";
                assertEquals(Collections.singletonMap(key, known.get(key)), Answer.to(request));
            }
        }
    }

    @Test
    void theLongestReportsAreThoseOfTheLastWave() {
        List<?> cases = (List<?>) VECTORS.get("cases");
        for (int i = 0; i < PLAN.questions().size(); i++) {
            Map<?, ?> last = (Map<?, ?>) cases.get(cases.size() - PLAN.questions().size() + i);
            assertEquals(((String) last.get("report")).length() / 2, Randomise.reportBytes(PLAN, i));
        }
    }

    @Test
    void aPreviewIsOfTheWaveOfItsToken() {
        Plan plan = Answer.readPlan("tokens-waves");
        Map<?, ?> last = null;
        for (Object each : (List<?>) Answer.readVectors("tokens-waves").get("cases")) {
            last = ((Map<?, ?>) each).containsKey("report") ? (Map<?, ?>) each : last;
        }
        Wave wave = plan.waves().list().get(2);
        PreviewOptions options = new PreviewOptions().token((String) last.get("token"))
            .random(new Answer.GivenBytes((String) last.get("random"))).wave(plan.waves().list().get(0));
        Preview shown = Preview.of(plan, Answer.rowOf(last.get("row")), last.get("label"), options);
        assertEquals(last.get("report"), Bytes.toHex(shown.report()));
        assertTrue(shown.text().startsWith("You are asked once, in the wave " + wave.name + ", from "));
    }

    @Test
    void theListOfWavesCannotBeChanged() {
        assertThrows(UnsupportedOperationException.class, () -> PLAN.waves().list().clear());
        assertEquals(Arrays.asList(true, false), Arrays.asList(
            PLAN.waves().areDrawn(), Answer.readPlan("tokens-waves").waves().areDrawn()));
    }
}
