package ldpbayes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import ldpbayes.survey.Plan;

/**
 * Prints the time to read and prove a plan, and to make one report of it, in milliseconds.
 *
 * <p>{@code java -cp ... ldpbayes.Speed clients/javascript/benchmarks/typical.json} measures a typical plan.
 * The first time is that of a new JVM, which has only loaded the file; an application reads its plan once.
 * The other times are medians of many runs; a report is drawn with the system's generator.
 */
final class Speed {
    private static final int RUNS = 200;

    private Speed() {
    }

    public static void main(String[] files) throws IOException {
        String vectors = new String(Files.readAllBytes(Paths.get(files[0])), "UTF-8");
        // nothing of this client may run before the first plan is read
        int start = vectors.indexOf("\"plan\": \"") + 9;
        String text = vectors.substring(start, vectors.indexOf("}\"", start) + 1).replace("\\\"", "\"");
        byte[] plan = text.getBytes("UTF-8");

        long begin = System.nanoTime();
        Plan read = Core.readPlan(plan);
        double first = (System.nanoTime() - begin) / 1e6;

        Map<?, ?> given = (Map<?, ?>) ((List<?>) ((Map<?, ?>) Json.parse(vectors)).get("cases")).get(0);
        Map<String, Object> row = Answer.rowOf(given.get("row"));
        Object label = Answer.valueOf(given.get("label"));
        begin = System.nanoTime();
        Core.makeReport(read, row, label);
        double firstReport = (System.nanoTime() - begin) / 1e6;
        double again = median(() -> Core.readPlan(plan));
        double report = median(() -> Core.makeReport(read, row, label));
        System.out.printf(
            Locale.ROOT, "first read %.1f, first report %.1f, read %.2f, report %.3f%n",
            first, firstReport, again, report);
    }

    private static double median(Runnable action) {
        double[] times = new double[RUNS];
        for (int i = 0; i < RUNS; i++) {
            long begin = System.nanoTime();
            action.run();
            times[i] = (System.nanoTime() - begin) / 1e6;
        }
        Arrays.sort(times);
        return times[RUNS / 2];
    }
}
