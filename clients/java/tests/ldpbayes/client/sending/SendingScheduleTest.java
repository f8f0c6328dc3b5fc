package ldpbayes.client.sending;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import ldpbayes.client.SurveyIdentity;
import org.junit.jupiter.api.Test;

/** The rules of when a report is sent, one by one; as tests/ldp_client/sending/test_sending_times.py. */
class SendingScheduleTest {
    static final double HOUR = 3600;
    static final double DAY = 86_400;

    private double now = 1000;

    static SurveyIdentity survey(int number) {
        return new SurveyIdentity("survey-" + number, "http://collector.test", "");
    }

    static List<SendingSchedule.Report> reports(int surveys, double spread, boolean isNew) {
        List<SendingSchedule.Report> queued = new ArrayList<>();
        for (int each = 0; each < surveys; each++) queued.add(report(each, spread, isNew));
        return queued;
    }

    static SendingSchedule.Report report(int number, double spread, boolean isNew) {
        return new SendingSchedule.Report(survey(number), spread, isNew);
    }

    private SendingSchedule schedule(long seed, int surveys, double spread, boolean isNew) {
        SplittableRandom random = new SplittableRandom(seed);
        SendingSchedule schedule = new SendingSchedule(() -> now, random::nextDouble);
        schedule.update(reports(surveys, spread, isNew));
        return schedule;
    }

    private static double wait(SendingSchedule schedule) {
        return Math.max(0, schedule.secondsUntil(schedule.nextDue()));
    }

    private SurveyIdentity failNext(SendingSchedule schedule, double retryAfter) {
        SurveyIdentity survey = schedule.nextDue();
        now += Math.max(0, schedule.secondsUntil(survey));
        schedule.beginAttempt(survey);
        schedule.collectorFailed(survey, retryAfter);
        return survey;
    }

    private static double mean(List<Double> values) {
        double sum = 0;
        for (double each : values) sum += each;
        return sum / values.size();
    }

    @Test
    void firstAttemptsAreSpreadEvenlyOverTheSpread() {
        int[] counts = new int[10];
        for (int seed = 0; seed < 4000; seed++) counts[(int) (10 * wait(schedule(seed, 1, 7, true)) / 7)]++;
        for (int count : counts) assertTrue(Math.abs(count - 400) < 152, "8 sigma: " + count);
    }

    @Test
    void reportsOfAnEarlierRunWaitForExponentialTimes() {
        double[][] cases = {{1, 2, 300}, {2, 2, HOUR}, {20, 2, 6000}, {2, DAY, DAY}};
        for (double[] each : cases) {
            // the least of n exponential times is exponential, with an nth of the mean
            List<Double> waits = new ArrayList<>();
            for (int seed = 0; seed < 4000; seed++) {
                waits.add(each[0] * wait(schedule(seed, (int) each[0], each[1], false)));
            }
            assertTrue(Math.abs(mean(waits) / each[2] - 1) < 6 / Math.sqrt(4000), "mean " + mean(waits));
            waits.removeIf(wait -> wait <= each[2]);
            assertTrue(Math.abs(waits.size() / 4000.0 - 0.3679) < 6 * 0.0077);
        }
    }

    @Test
    void afterAFailureEveryReportWaitsForAsLongAsTheCollectorAskedAtLeast() {
        for (int seed = 0; seed < 50; seed++) {
            SendingSchedule schedule = schedule(seed, 2, 2, true);
            failNext(schedule, 50);
            assertTrue(wait(schedule) >= 60); // 50 s in a step that all devices share
            List<SendingSchedule.Report> more = reports(3, 2, true);
            schedule.update(more); // one was made meanwhile
            assertTrue(wait(schedule) >= 60);
        }
    }

    @Test
    void pauseOfSeveralReportsIsAMinuteAnHourOrADay() {
        double[][] cases = {{0, 0}, {1, 60}, {60, 60}, {61, HOUR}, {3601, DAY}};
        for (double[] each : cases) assertEquals(each[1], SendingSchedule.roundUp(each[0]));
        assertEquals(DAY, SendingSchedule.limit(999_999));
        assertEquals(0, SendingSchedule.limit(-5));
        assertEquals(0, SendingSchedule.limit(Double.NaN));
    }

    @Test
    void aReportThatWaitsAloneIsTriedAgainSoon() {
        SendingSchedule schedule = schedule(1, 1, 2, true);
        for (int failures = 0; failures < 8; failures++) {
            failNext(schedule, 0);
            assertTrue(wait(schedule) <= 0.5 * (1 << failures));
        }
        failNext(schedule, 100);
        assertTrue(wait(schedule) >= 100);
    }

    @Test
    void reportsThatTheirCollectorDoesNotAcceptNowWaitIndependently() {
        List<Double> waits = new ArrayList<>();
        for (int seed = 0; seed < 400; seed++) {
            SendingSchedule schedule = schedule(seed, 2, 2, true);
            schedule.beginAttempt(survey(0));
            schedule.reportFailed(survey(0), true, 0);
            schedule.remove(survey(1), false);
            waits.add(wait(schedule));
        }
        assertTrue(Math.abs(mean(waits) / HOUR - 1) < 6 / Math.sqrt(400));
    }

    @Test
    void aCollectorThatAnswersForOneSurveyHasNotFailedForTheOthers() {
        SendingSchedule schedule = schedule(1, 1, 2, true);
        failNext(schedule, 0);
        schedule.reportFailed(survey(0), true, 0);
        schedule.remove(survey(0), false);
        List<SendingSchedule.Report> other = new ArrayList<>();
        other.add(report(1, 2, true));
        schedule.update(other);
        assertTrue(wait(schedule) <= 2);
    }

    @Test
    void aReportWithoutSpreadWhoseAttemptCouldNotBeginIsNotDueAtOnce() {
        for (int surveys = 1; surveys <= 2; surveys++) {
            SendingSchedule schedule = schedule(1, surveys, 0, true);
            for (int each = 0; each < surveys; each++) schedule.reportFailed(survey(each), false, 0);
            assertTrue(wait(schedule) > 0);
            assertNull(schedule.nextBeforeExit());
        }
    }

    @Test
    void retryAfterOfNanIsIgnored() {
        SendingSchedule schedule = schedule(1, 2, 2, true);
        failNext(schedule, Double.NaN);
        assertTrue(wait(schedule) >= 0 && wait(schedule) < 1e6);
    }

    @Test
    void aReportThatFallsDueDuringAnAttemptDoesNotFollowItAtOnce() {
        List<Double> gaps = new ArrayList<>();
        int close = 0;
        for (int seed = 0; seed < 200; seed++) {
            SendingSchedule schedule = schedule(seed, 2, 10, true);
            SurveyIdentity survey = schedule.nextDue();
            now += Math.max(0, schedule.secondsUntil(survey));
            schedule.beginAttempt(survey);
            now += 10; // a slow collector
            schedule.remove(survey, true);
            gaps.add(wait(schedule));
            close += wait(schedule) < 0.1 ? 1 : 0;
        }
        assertTrue(close <= UnlinkableTimesTest.mostByChance(200, 0.01, 1e-7));
        assertTrue(Math.abs(mean(gaps) - 5) < 6 * 2.9 / Math.sqrt(200));
    }

    @Test
    void oneReportAtATimeIsChosenAtRandomAmongThoseThatAreDue() {
        int first = 0;
        for (int seed = 0; seed < 1000; seed++) {
            first += schedule(seed, 2, 0, true).nextDue().equals(survey(0)) ? 1 : 0;
        }
        assertTrue(Math.abs(first - 500) < 6 * 16, "first: " + first);
    }

    @Test
    void knownReportsKeepTheirTimesWhenAnotherOneIsMade() {
        SendingSchedule schedule = schedule(1, 1, HOUR, true);
        double due = now + wait(schedule);
        List<SendingSchedule.Report> more = reports(1, HOUR, true);
        more.add(report(1, 1e9, true));
        schedule.update(more);
        now += 1;
        assertEquals(due, now + wait(schedule), 1e-6);
    }

    @Test
    void aReportThatIsWaitedForIsTriedAgainSoonAndOthersAreNot() {
        SendingSchedule schedule = schedule(1, 2, DAY, true);
        schedule.expedite(survey(1));
        for (int each = 0; each < 3; each++) assertEquals(survey(1), failNext(schedule, 0));
        assertTrue(now < 1010);
        schedule.endExpedite(survey(1));
        schedule.remove(survey(1), true);
        assertTrue(wait(schedule) > 60, "less once in 1440");
    }

    @Test
    void anExpeditedReportIsSentAlthoughNoCallerWaits() {
        SendingSchedule schedule = schedule(1, 0, 0, true);
        for (int each = 0; each < 2; each++) {
            schedule.expedite(survey(each));
            schedule.endExpedite(survey(each));
        }
        schedule.update(reports(3, DAY, false));
        for (int each = 0; each < 2; each++) {
            SurveyIdentity survey = schedule.nextDue();
            assertEquals(0, wait(schedule));
            schedule.beginAttempt(survey);
            now += 1;
            schedule.remove(survey, true);
        }
        assertTrue(wait(schedule) > 60, "less once in 1440");
    }

    @Test
    void anExitSendsOneReportAndNoneRightAfterAnother() {
        Map<SurveyIdentity, Integer> chosen = new HashMap<>();
        for (int seed = 0; seed < 999; seed++) {
            chosen.merge(schedule(seed, 3, DAY, true).nextBeforeExit(), 1, Integer::sum);
        }
        for (int count : chosen.values()) assertTrue(Math.abs(count - 333) < 6 * 15, "chosen: " + chosen);
        SendingSchedule schedule = schedule(1, 3, DAY, true);
        SurveyIdentity survey = schedule.nextBeforeExit();
        schedule.beginAttempt(survey);
        schedule.endAttempt();
        schedule.remove(survey, true);
        now += DAY - 1;
        List<SendingSchedule.Report> more = new ArrayList<>();
        more.add(report(9, 2 * DAY, true));
        schedule.update(more);
        assertNull(schedule.nextBeforeExit());
        now += DAY + 2;
        assertNotNull(schedule.nextBeforeExit());
    }

    @Test
    void anExitDoesNotTryACollectorThatHasFailed() {
        SendingSchedule schedule = schedule(1, 3, 2, true);
        failNext(schedule, 0);
        assertNull(schedule.nextBeforeExit());
    }

    @Test
    void aClosedSurveyIsTriedAgainAfterOneToSixHours() {
        for (int seed = 0; seed < 50; seed++) {
            SendingSchedule schedule = schedule(seed, 1, 2, true);
            schedule.beginAttempt(survey(0));
            schedule.surveyClosed(survey(0));
            assertTrue(wait(schedule) >= HOUR && wait(schedule) <= 6 * HOUR);
            assertFalse(schedule.pauseEnd(survey(0)) < now + HOUR);
        }
    }
}
