package ldpbayes.relay;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import ldpbayes.Bytes;
import ldpbayes.Json;
import ldpbayes.SurveyException;

/**
 * Prints which plans of a file, a JSON list of texts, the client takes; as one JSON list of true and false.
 * Of lists of a ratio, a number of reports and an epsilon in place of texts, it prints the shuffled delta.
 */
final class Plans {
    private Plans() {
    }

    public static void main(String[] files) throws IOException {
        List<Object> taken = new ArrayList<>();
        for (Object plan : (List<?>) Json.parse(Bytes.toText(Files.readAllBytes(Paths.get(files[0]))))) {
            boolean isText = plan instanceof String;
            taken.add(isText ? isTaken(Bytes.fromText((String) plan)) : delta((List<?>) plan));
        }
        System.out.println(taken);
    }

    private static double delta(List<?> given) {
        double ratio = ((Number) given.get(0)).doubleValue();
        return Shuffling.shuffledDelta(
            ratio, ((Number) given.get(1)).intValue(), ((Number) given.get(2)).doubleValue());
    }

    private static boolean isTaken(byte[] plan) {
        try {
            Relay.readPlan(plan);
            return true;
        } catch (SurveyException error) {
            return false;
        }
    }
}
