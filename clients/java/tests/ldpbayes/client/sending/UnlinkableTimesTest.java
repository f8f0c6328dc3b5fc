package ldpbayes.client.sending;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.DoubleSupplier;
import ldpbayes.client.SurveyIdentity;
import org.junit.jupiter.api.Test;

/** The times of a device's reports do not link them; as tests/ldp_client/sending/test_unlinkable_times.py. */
class UnlinkableTimesTest {
    private static final double HOUR = 3600;
    private static final double DAY = 86_400;
    private static final double ATTEMPT_SECONDS = 0.01;
    private static final int DEVICES = 100;

    private interface Rule {
        SendingSchedule make(DoubleSupplier clock, DoubleSupplier uniform);
    }

    private interface Outage {
        boolean isDown(double now, int attempts);
    }

    /**
     * The former rule: one pause per collector, after which all reports of the device are due, within some
     * time.
     */
    private static final class SharedPause extends SendingSchedule {
        private final double spreadAfter;

        SharedPause(DoubleSupplier clock, DoubleSupplier uniform, double spreadAfter) {
            super(clock, uniform);
            this.spreadAfter = spreadAfter;
        }

        @Override
        void collectorFailed(SurveyIdentity survey, double retryAfter) {
            Collector state = collectors.computeIfAbsent(survey.origin, name -> new Collector());
            double pause = backoffLimit(state.failures) * uniform.getAsDouble();
            double end = clock.getAsDouble() + Math.max(pause, limit(retryAfter));
            state.failures++;
            for (Report each : reports.values()) {
                each.due = Math.max(each.due, end) + spreadAfter * uniform.getAsDouble();
            }
        }

        @Override
        void redrawOverdue(double now) {
            // all times stay as they are
        }
    }

    private static final Rule OWN = SendingSchedule::new;
    private static final Rule SHARED = (clock, uniform) -> new SharedPause(clock, uniform, 0);
    private static final Rule SHARED_THEN_SPREAD = (clock, uniform) -> new SharedPause(clock, uniform, 2);

    /** An attempt as the collector sees it, with the device that it does not see. */
    private static final class Sent {
        final double when;
        final int device;
        final SurveyIdentity survey;
        final boolean isTaken;

        Sent(double when, int device, SurveyIdentity survey, boolean isTaken) {
            this.when = when;
            this.device = device;
            this.survey = survey;
            this.isTaken = isTaken;
        }
    }

    /** Devices that start at some times, and an outage of their collector. */
    private static final class Scene {
        List<Double> starts;
        Outage outage;
        int surveys = 2;
        double spread = 2;
        boolean isNew = true;
        double until = 1e9;
        double retryAfter;

        Scene(List<Double> starts, Outage outage) {
            this.starts = starts;
            this.outage = outage;
        }

        List<Sent> run(Rule rule) {
            List<Sent> seen = new ArrayList<>();
            for (int device = 0; device < starts.size(); device++) {
                double[] now = {starts.get(device)};
                int attempts = 0;
                SendingSchedule schedule = rule.make(() -> now[0], new SplittableRandom(device)::nextDouble);
                schedule.update(SendingScheduleTest.reports(surveys, spread, isNew));
                for (SurveyIdentity survey; (survey = schedule.nextDue()) != null;) {
                    double wait = Math.max(0, schedule.secondsUntil(survey));
                    if (now[0] + wait > until) break;
                    now[0] += wait;
                    boolean isDown = outage.isDown(now[0], attempts++);
                    seen.add(new Sent(now[0], device, survey, !isDown));
                    schedule.beginAttempt(survey);
                    now[0] += ATTEMPT_SECONDS;
                    if (isDown) schedule.collectorFailed(survey, retryAfter);
                    else schedule.remove(survey, true);
                }
            }
            return seen;
        }
    }

    private static List<Double> uniform(double end) {
        SplittableRandom random = new SplittableRandom(17);
        List<Double> starts = new ArrayList<>();
        for (int each = 0; each < DEVICES; each++) starts.add(end * random.nextDouble());
        return starts;
    }

    private static Outage until(double end) {
        return (now, attempts) -> now < end;
    }

    private static Scene longOutage() {
        return new Scene(uniform(HOUR), until(2 * HOUR));
    }

    private static Scene one503() {
        Scene scene = new Scene(uniform(HOUR), (now, attempts) -> attempts == 0);
        scene.spread = HOUR;
        scene.retryAfter = 1.5 * HOUR;
        return scene;
    }

    private static Scene start(boolean isNew) {
        Scene scene = new Scene(uniform(600), (now, attempts) -> false);
        scene.isNew = isNew;
        return scene;
    }

    private static Scene networkThatReturns() {
        return new Scene(new ArrayList<>(Collections.nCopies(DEVICES, 0.0)), until(1200));
    }

    /** Returns the number of successes that a binomial variable exceeds with a small probability. */
    static int mostByChance(int count, double share, double rate) {
        double[] terms = new double[count + 1];
        double logBinomial = 0;
        for (int k = 0; k <= count; k++) {
            terms[k] = Math.exp(logBinomial + k * Math.log(share) + (count - k) * Math.log(1 - share));
            logBinomial += Math.log(count - k) - Math.log(k + 1);
        }
        int most = count;
        for (double tail = 0; tail + terms[most] <= rate; most--) tail += terms[most];
        return most;
    }

    /**
     * Returns whether reports of a device are closer or more often neighbours than by chance; wrong once in
     * 1e7.
     */
    private static boolean isLinked(List<Sent> seen) {
        double[][] when = new double[2][DEVICES];
        for (double[] each : when) Arrays.fill(each, Double.NaN);
        for (Sent each : seen) {
            if (each.isTaken) when[each.survey.equals(SendingScheduleTest.survey(0)) ? 0 : 1][each.device] =
                each.when;
        }
        int nearest = 0;
        List<Double> gaps = new ArrayList<>();
        List<Double> others = new ArrayList<>();
        for (int device = 0; device < DEVICES; device++) {
            double own = Math.abs(when[0][device] - when[1][device]);
            assertFalse(Double.isNaN(own), "a report was not taken");
            gaps.add(own);
            boolean isNearest = true;
            for (int other = 0; other < DEVICES; other++) {
                if (other == device) continue;
                others.add(Math.abs(when[0][device] - when[1][other]));
                for (double[] each : when) isNearest &= Math.abs(when[0][device] - each[other]) >= own;
            }
            nearest += isNearest ? 1 : 0;
        }
        Collections.sort(others);
        double usual = (others.get(others.size() / 2 - 1) + others.get(others.size() / 2)) / 2;
        gaps.removeIf(gap -> gap >= usual);
        return nearest > mostByChance(DEVICES, 1.0 / (2 * DEVICES - 1), 5e-8)
            || gaps.size() > mostByChance(DEVICES, 0.5, 5e-8);
    }

    @Test
    void timesDoNotLinkTheTwoReportsOfADevice() {
        assertFalse(isLinked(longOutage().run(OWN)), "a long outage");
        assertFalse(isLinked(new Scene(uniform(10), until(15)).run(OWN)), "a short outage");
        assertFalse(isLinked(one503().run(OWN)), "one 503 for each device");
        assertFalse(isLinked(start(false).run(OWN)), "a start of the application");
        assertFalse(isLinked(networkThatReturns().run(OWN)), "a network that returns");
    }

    @Test
    void aSharedPauseLinksTheReportsOfADevice() {
        for (Rule rule : Arrays.asList(SHARED, SHARED_THEN_SPREAD)) {
            assertTrue(isLinked(longOutage().run(rule)));
            assertTrue(isLinked(one503().run(rule)));
            assertTrue(isLinked(networkThatReturns().run(rule)));
        }
    }

    @Test
    void reportsOfAnEarlierRunSentWithinTheSpreadAreLinked() {
        assertTrue(isLinked(start(true).run(OWN)));
    }

    /** Returns how often 20 devices try in an outage of a day. */
    private static int countAttempts(Rule rule, int surveys, double retryAfter) {
        Scene scene = new Scene(new ArrayList<>(Collections.nCopies(20, 0.0)), until(DAY));
        scene.surveys = surveys;
        scene.until = DAY;
        scene.retryAfter = retryAfter;
        return scene.run(rule).size();
    }

    @Test
    void aDeviceWithManyReportsTriesNoMoreOftenInAnOutage() {
        // 20 devices with some 300 attempts each, or with 24 by Retry-After; one more attempt per device
        // allows for the first failure of each collector
        for (double retryAfter : new double[] {0, 30, HOUR}) {
            int former = countAttempts(SHARED, 1, retryAfter);
            int one = countAttempts(OWN, 1, retryAfter);
            for (int surveys : new int[] {1, 2, 5, 20}) {
                int attempts = countAttempts(OWN, surveys, retryAfter);
                assertTrue(attempts <= former + 20, attempts + " attempts with " + surveys);
                assertTrue(attempts <= 1.1 * one + 20, attempts + " attempts with " + surveys);
            }
        }
    }

    @Test
    void theBoundIsTheExactOneOfTheBinomialDistribution() {
        assertEquals(76, mostByChance(100, 0.5, 5e-8)); // as the function of the Python client's tests
        assertEquals(13, mostByChance(200, 0.01, 1e-7));
        assertEquals(8, mostByChance(10, 0.0952, 1e-7));
    }
}
