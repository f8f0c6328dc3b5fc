package ldpbayes;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import ldpbayes.explain.PossibleAnswer;
import ldpbayes.explain.Preview;
import ldpbayes.explain.PreviewOptions;
import ldpbayes.relay.Relay;
import ldpbayes.survey.Plan;

/** Prints the preview of each case of the files of vectors that are named, as one JSON list. */
final class Previews {
    private Previews() {
    }

    public static void main(String[] files) throws IOException {
        List<Object> previews = new ArrayList<>();
        for (String file : files) {
            Map<?, ?> vectors = (Map<?, ?>) Json.parse(Bytes.toText(Files.readAllBytes(Paths.get(file))));
            Plan plan = Relay.readPlan(Bytes.fromText((String) vectors.get("plan")));
            for (Object each : (List<?>) vectors.get("cases")) {
                if (((Map<?, ?>) each).containsKey("report")) {
                    previews.add(describe(plan, (Map<?, ?>) each));
                }
            }
        }
        new PrintStream(System.out, true, "UTF-8").println(write(previews));
    }

    private static Map<String, Object> describe(Plan plan, Map<?, ?> given) {
        PreviewOptions options = new PreviewOptions()
            .random(new Answer.GivenBytes((String) given.get("random")))
            .token((String) given.get("token")).wave(Answer.waveOf(plan, given));
        Preview shown = Preview.of(
            plan, Answer.rowOf(given.get("row")), Answer.valueOf(given.get("label")), options);
        List<Object> answers = new ArrayList<>();
        for (PossibleAnswer possible : shown.possibleAnswers()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("answer", pairs(possible.answer()));
            answer.put("belief", possible.belief());
            answer.put("isTruth", possible.isTruth());
            answers.add(answer);
        }
        Map<String, Object> described = new LinkedHashMap<>();
        described.put("question", shown.question());
        described.put("chance", shown.questionProbability());
        described.put("truth", pairs(shown.truth()));
        described.put("clipped", shown.clipped());
        described.put("report", Bytes.toHex(shown.report()));
        described.put("oddsBound", shown.oddsBound());
        described.put("answers", answers);
        described.put("text", shown.text());
        return described;
    }

    private static List<Object> pairs(List<Map.Entry<String, String>> answer) {
        List<Object> pairs = new ArrayList<>();
        for (Map.Entry<String, String> each : answer) {
            List<Object> pair = new ArrayList<>();
            pair.add(each.getKey());
            pair.add(each.getValue());
            pairs.add(pair);
        }
        return pairs;
    }

    /** Returns a value as JSON, which may contain doubles. */
    private static String write(Object value) {
        if (value instanceof Double) {
            return value.toString();
        }
        if (value instanceof Map) {
            List<String> members = new ArrayList<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                members.add(Json.write(entry.getKey()) + ":" + write(entry.getValue()));
            }
            return "{" + String.join(",", members) + "}";
        }
        if (value instanceof List) {
            List<String> elements = new ArrayList<>();
            for (Object each : (List<?>) value) {
                elements.add(write(each));
            }
            return "[" + String.join(",", elements) + "]";
        }
        return Json.write(value);
    }
}
