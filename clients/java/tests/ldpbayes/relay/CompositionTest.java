package ldpbayes.relay;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import ldpbayes.Answer;
import ldpbayes.SurveyException;
import ldpbayes.relay.Composition.Message;
import org.junit.jupiter.api.Test;

/** The privacy bound for people who answer every question through a relay, against the Python package. */
class CompositionTest {
    private static final Message MESSAGE = new Message(3, 1, false);

    @Test
    void everyBoundOfTheVectorsIsThatOfPython() {
        List<?> cases = (List<?>) Answer.readVectors("compositions").get("cases");
        assertTrue(cases.size() > 60);
        for (Object each : cases) {
            Map<?, ?> known = (Map<?, ?>) each;
            List<Message> messages = new ArrayList<>();
            for (Object run : (List<?>) known.get("messages")) {
                Map<?, ?> given = (Map<?, ?>) run;
                Message message = new Message(
                    number(given, "ratio"), number(given, "move"), (Boolean) given.get("is_yes_no"));
                messages.addAll(Collections.nCopies((int) number(given, "count"), message));
            }
            double delta = number(known, "delta");
            long people = (long) number(known, "people");
            double found = Composition.composedDelta(messages, people, number(known, "epsilon"));
            assertEquals(delta, found, Math.max(1e-12, 1e-9 * delta));
        }
    }

    @Test
    void moreQuestionsAndFewerPeopleRaiseTheBound() {
        double delta = Composition.composedDelta(Arrays.asList(MESSAGE, MESSAGE), 500, 0.3);
        List<Message> more = Arrays.asList(MESSAGE, MESSAGE, MESSAGE);
        assertTrue(Composition.composedDelta(more, 500, 0.3) > delta);
        assertTrue(Composition.composedDelta(Arrays.asList(MESSAGE, MESSAGE), 400, 0.3) > delta);
        List<Message> clamped = Arrays.asList(MESSAGE, new Message(3, 1.5, false));
        assertEquals(delta, Composition.composedDelta(clamped, 500, 0.3)); // a move of 1 is always valid
    }

    @Test
    void whatHasNoBoundIsRefused() {
        assertRefused(Collections.singletonList(MESSAGE), 0);
        assertRefused(Collections.emptyList(), 5);
        for (double wrong : new double[] {0, -1, Double.NaN}) {
            assertRefused(Arrays.asList(MESSAGE, new Message(3, wrong, false)), 5);
            assertRefused(Arrays.asList(MESSAGE, new Message(1 + wrong, 1, false)), 5);
        }
    }

    private static void assertRefused(List<Message> messages, long people) {
        assertThrows(
            SurveyException.class, () -> Composition.composedDelta(messages, people, 0.5));
    }

    private static double number(Map<?, ?> object, String name) {
        return ((Number) object.get(name)).doubleValue();
    }
}
