package ldpbayes.relay;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import ldpbayes.Answer;
import ldpbayes.Bytes;
import ldpbayes.LdpException;
import ldpbayes.RandomSource;
import ldpbayes.SurveyException;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Randomise;
import org.junit.jupiter.api.Test;

/** The plan's entry about a relay, against the vectors. */
class RelayTest {
    private static final Map<?, ?> PLANS = Answer.readVectors("relay-plans");

    @Test
    void plansAtTheLimitsAreTakenAndTheCoreRefusesThem() {
        List<?> good = (List<?>) PLANS.get("good");
        assertTrue(good.size() >= 5);
        for (Object each : good) {
            byte[] plan = planOf(each);
            assertTrue(Relay.readPlan(plan).asksAll(), nameOf(each));
            LdpException error = assertThrows(SurveyException.class, () -> Plan.read(plan));
            assertEquals("relay-unsupported", error.reason());
        }
    }

    @Test
    void plansJustAboveALimitAreRefused() {
        List<?> bad = (List<?>) PLANS.get("bad");
        assertTrue(bad.size() >= 20);
        for (Object each : bad) {
            assertThrows(SurveyException.class, () -> Relay.readPlan(planOf(each)), nameOf(each));
        }
    }

    @Test
    void aRelayHasTheTimesOfTheWaves() {
        for (long[] times : new long[][] {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
            byte[] plan = EnvelopeTest.withWaves(times[0], times[1]);
            if (times[0] == 0 && times[1] == 0) {
                assertEquals(2, Relay.readPlan(plan).waves().list().size());
            } else {
                assertThrows(SurveyException.class, () -> Relay.readPlan(plan));
            }
        }
    }

    @Test
    void noQuestionIsDrawnIfEachPersonAnswersAll() {
        Plan plan = Relay.readPlan(planOf(((List<?>) PLANS.get("good")).get(0)));
        assertThrows(LdpException.class, () -> Randomise.drawQuestion(plan, RandomSource.SYSTEM));
    }

    @Test
    void everyAddressOfTheVectorsIsTakenOrRefused() {
        Map<?, ?> addresses = Answer.readVectors("relay-addresses");
        for (Object each : (List<?>) addresses.get("good")) {
            assertTrue(Relay.isUrl((String) each), (String) each);
        }
        for (Object each : (List<?>) addresses.get("bad")) {
            assertFalse(Relay.isUrl((String) each), (String) each);
        }
    }

    private static byte[] planOf(Object named) {
        return Bytes.fromText((String) ((Map<?, ?>) named).get("plan"));
    }

    private static String nameOf(Object named) {
        return (String) ((Map<?, ?>) named).get("name");
    }
}
