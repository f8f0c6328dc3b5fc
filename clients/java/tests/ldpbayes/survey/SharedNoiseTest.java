package ldpbayes.survey;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import ldpbayes.Bytes;
import ldpbayes.Json;
import ldpbayes.mechanisms.Noise;
import org.junit.jupiter.api.Test;

/** A table needs memory once, whatever the number of its questions: a plan may have thousands. */
class SharedNoiseTest {
    private static List<Question> readQuestions(String name) throws IOException {
        Path root = Paths.get(Files.exists(Paths.get("tests/vectors")) ? "" : "../..");
        byte[] file = Files.readAllBytes(root.resolve("tests/vectors/" + name + ".json"));
        Map<?, ?> vectors = (Map<?, ?>) Json.parse(Bytes.toText(file));
        return Plan.read(Bytes.fromText((String) vectors.get("plan"))).questions();
    }

    @Test
    void questionsWithTheSameTableAndMomentShareTheirNoise() throws IOException {
        for (String name : new String[] {"good-she", "good-numeric-sampled-laplace"}) {
            Map<Object, Noise> noises = new HashMap<>();
            int shared = 0;
            for (Question each : readQuestions(name)) {
                Noise noise = each.mechanism.noise();
                if (noise != null) {
                    Noise before = noises.put(Arrays.asList(each.tables(), each.moment()), noise);
                    assertTrue(before == null || before == noise);
                    shared += before == null ? 0 : 1;
                }
            }
            assertTrue(shared > 0);
            // a square has another ratio than its number
            assertEquals(noises.size(), new HashSet<>(noises.values()).size());
        }
    }
}
