package ldpbayes.client.sending;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.DoubleSupplier;
import ldpbayes.RandomSource;
import ldpbayes.client.SurveyIdentity;

/**
 * Draws the times at which queued reports are sent, so that times do not link the reports of a device.
 *
 * <ul>
 * <li>A report of this run is first sent at a random time, uniform within its {@code spread}.
 * <li>A report that waits alone for its collector is tried again after a random pause that grows with every
 * failure.
 * <li>All other reports wait for independent, exponential times: reports of an earlier run, reports that wait
 * with others for a collector that failed, and reports whose pauses have reached their limit. Such times are
 * memoryless: they depend neither on another report nor on the device's last attempt.
 * </ul>
 *
 * <p>The mean grows with the number of reports that wait for the same collector, so a device with many
 * reports tries no more often than one with a single report. The schedule has no thread, network or journal.
 * Times are seconds.
 */
class SendingSchedule {
    /** The minimum of the mean time that a report waits where several wait for one collector. */
    static final double MIN_MEAN_SECONDS = 3600;
    /** The shortest and the longest pause after a collector said that the survey is closed. */
    static final double CLOSED_MIN_SECONDS = 3600;
    static final double CLOSED_MAX_SECONDS = 21_600;
    private static final double FIRST_BACKOFF_SECONDS = 0.5;
    private static final double MAX_BACKOFF_SECONDS = 300;
    private static final double MAX_RETRY_AFTER_SECONDS = 86_400;
    private static final double[] STEPS_SECONDS = {0, 60, 3600, MAX_RETRY_AFTER_SECONDS};

    /** A queued report with its times, on the clock of the schedule. */
    static final class Report {
        final SurveyIdentity survey;
        final double spread;
        /** Whether this run of the application made the report. */
        boolean isNew;
        double due;
        int failures;
        double pauseEnd;
        boolean isTried;
        /** Whether the report is sent as soon as possible, independently of other reports. */
        boolean isUrgent;
        /** Whether the report stays urgent after its next attempt. */
        boolean staysUrgent;

        Report(SurveyIdentity survey, double spread, boolean isNew) {
            this.survey = survey;
            this.spread = spread;
            this.isNew = isNew;
        }
    }

    /** A collector that failed. */
    static final class Collector {
        int failures;
        double pauseEnd;
        /** {@code pauseEnd}, rounded up to a step that is common to all devices. */
        double roundedPauseEnd;
    }

    final DoubleSupplier clock;
    final DoubleSupplier uniform;
    Map<SurveyIdentity, Report> reports = new LinkedHashMap<>();
    final Map<String, Collector> collectors = new HashMap<>();
    private final Set<SurveyIdentity> expeditedBeforeKnown = new HashSet<>();
    /** The report of the latest attempt, or null; and the time of its beginning or end. */
    private SurveyIdentity latestSurvey;
    private double latestTime = Double.NEGATIVE_INFINITY;

    /**
     * Makes an empty schedule.
     *
     * @param clock seconds of a monotonic clock
     * @param uniform draws from [0, 1)
     */
    SendingSchedule(DoubleSupplier clock, DoubleSupplier uniform) {
        this.clock = clock;
        this.uniform = uniform;
    }

    /** Replaces the reports; draws a time for each new one, and keeps all other times. */
    void update(List<Report> queued) {
        Map<SurveyIdentity, Report> former = reports;
        reports = new LinkedHashMap<>();
        List<Report> added = new ArrayList<>();
        for (Report each : queued) {
            Report known = former.get(each.survey);
            boolean isAdded = known == null || (each.isNew && !known.isNew && !known.isTried);
            if (isAdded) added.add(each);
            reports.put(each.survey, isAdded ? each : known);
        }
        Map<String, Integer> counts = countReports();
        collectors.entrySet().removeIf(each ->
            !counts.containsKey(each.getKey()) && each.getValue().roundedPauseEnd <= clock.getAsDouble());
        drawTimes(added);
        for (SurveyIdentity survey : expeditedBeforeKnown) {
            if (!reports.containsKey(survey)) continue;
            expedite(survey);
            reports.get(survey).staysUrgent = false;
        }
        expeditedBeforeKnown.clear();
    }

    /** Treats all reports as those of an earlier run. */
    void beginRun() {
        for (Report each : reports.values()) each.isNew = false;
    }

    boolean contains(SurveyIdentity survey) {
        return reports.containsKey(survey);
    }

    /** Returns the report that is due next, a random one if several are due; null if none waits. */
    SurveyIdentity nextDue() {
        double now = clock.getAsDouble();
        List<Report> due = new ArrayList<>();
        List<Report> urgent = new ArrayList<>();
        Report first = null;
        for (Report each : reports.values()) {
            if (each.due <= now) (each.isUrgent ? urgent : due).add(each);
            if (first == null || each.due < first.due) first = each;
        }
        if (!urgent.isEmpty()) return chooseRandom(urgent);
        if (!due.isEmpty()) return chooseRandom(due);
        return first == null ? null : first.survey;
    }

    /** Returns the seconds until a report is due; not above 0 if it is. */
    double secondsUntil(SurveyIdentity survey) {
        return reports.get(survey).due - clock.getAsDouble();
    }

    /**
     * Returns a random report that may be sent before the application ends, or null.
     *
     * <p>The report is due, or untried at a collector that has not failed. An untried report must not follow
     * the attempt of another one within its own window.
     */
    SurveyIdentity nextBeforeExit() {
        double now = clock.getAsDouble();
        Map<String, Integer> counts = countReports();
        List<Report> ready = new ArrayList<>();
        for (Report each : reports.values()) {
            double window = each.isNew ? each.spread : meanSeconds(each, counts);
            boolean isUnlinkable = each.survey.equals(latestSurvey) || now - latestTime >= window;
            boolean isUntried = !each.isTried && collectorOf(each).failures == 0;
            if (each.due <= now || (isUntried && isUnlinkable)) ready.add(each);
        }
        return ready.isEmpty() ? null : chooseRandom(ready);
    }

    /** Returns the time at which the pause ends that the collector asked for. */
    double pauseEnd(SurveyIdentity survey) {
        Report report = reports.get(survey);
        return report == null ? 0 : Math.max(report.pauseEnd, collectorOf(report).pauseEnd);
    }

    /**
     * Makes a report due now, or at the end of the pause that its collector asked for.
     *
     * <p>Until {@code endExpedite}, each failure is followed by a short backoff, independently of other
     * reports.
     */
    void expedite(SurveyIdentity survey) {
        Report report = reports.get(survey);
        if (report == null) {
            expeditedBeforeKnown.add(survey);
            return;
        }
        report.isUrgent = report.staysUrgent = true;
        report.due = Math.max(clock.getAsDouble(), pauseEnd(survey));
    }

    /** Ends the effect of {@code expedite}; an attempt that is due already is still made. */
    void endExpedite(SurveyIdentity survey) {
        Report report = reports.get(survey);
        if (report == null) return;
        report.staysUrgent = false;
        report.isUrgent = report.due <= clock.getAsDouble();
    }

    /** Records that an attempt to send a report begins. */
    void beginAttempt(SurveyIdentity survey) {
        Report report = reports.get(survey);
        report.isTried = true;
        report.isUrgent = report.staysUrgent;
        latestSurvey = survey;
        latestTime = clock.getAsDouble();
    }

    /** Records that the latest attempt ends, whose response no report may follow at once. */
    void endAttempt() {
        latestTime = clock.getAsDouble();
    }

    /** Draws new times for all reports of a collector that did not respond, or cannot serve any. */
    void collectorFailed(SurveyIdentity survey, double retryAfter) {
        double now = clock.getAsDouble();
        double pause = limit(retryAfter);
        Report failed = reports.get(survey);
        Collector collector = collectors.computeIfAbsent(survey.origin, name -> new Collector());
        collector.pauseEnd = now + pause;
        collector.roundedPauseEnd = now + roundUp(pause);
        collector.failures++;
        drawRetry(failed, collector.failures - 1, pause);
        List<Report> concerned = new ArrayList<>(reports.values());
        concerned.removeIf(each -> !each.survey.origin.equals(survey.origin));
        List<Report> others = new ArrayList<>(concerned);
        others.removeIf(each -> each.isUrgent || each == failed);
        drawTimes(others);
        for (Report each : concerned) each.due = Math.max(each.due, collector.pauseEnd);
        redrawOverdue(now);
    }

    /**
     * Draws a new time for one report; {@code isAnswered} if its collector did respond, for this report only.
     */
    void reportFailed(SurveyIdentity survey, boolean isAnswered, double retryAfter) {
        Report report = reports.get(survey);
        double now = clock.getAsDouble();
        if (isAnswered) collectors.remove(survey.origin);
        report.isTried = true; // also if the journal could not be read: otherwise it would be due at once
        double pause = limit(retryAfter);
        report.pauseEnd = now + pause;
        drawRetry(report, report.failures, pause);
        report.failures++;
        redrawOverdue(now);
    }

    /** Draws the time of the next attempt after the collector said that the survey is closed. */
    void surveyClosed(SurveyIdentity survey) {
        Report report = reports.get(survey);
        double now = clock.getAsDouble();
        collectors.remove(survey.origin);
        double pause = CLOSED_MIN_SECONDS + (CLOSED_MAX_SECONDS - CLOSED_MIN_SECONDS) * uniform.getAsDouble();
        report.due = report.pauseEnd = now + pause;
        redrawOverdue(now);
    }

    /**
     * Removes a report; {@code hasOutcome} if its collector accepted or rejected it, so the collector works.
     */
    void remove(SurveyIdentity survey, boolean hasOutcome) {
        if (hasOutcome) collectors.remove(survey.origin);
        reports.remove(survey);
        redrawOverdue(clock.getAsDouble());
    }

    /** Draws new times for reports that fell due during an attempt: they must not follow it at once. */
    void redrawOverdue(double now) {
        List<Report> overdue = new ArrayList<>();
        for (Report each : reports.values()) {
            if (each.due <= now && !each.isUrgent) overdue.add(each);
        }
        drawTimes(overdue);
    }

    /** Draws the next time of a report that failed: after a backoff if it is urgent, or waits alone. */
    private void drawRetry(Report report, int failures, double pause) {
        boolean isAlone = countReports().get(report.survey.origin) == 1;
        boolean isShort = backoffLimit(failures) < MAX_BACKOFF_SECONDS;
        if (report.isUrgent || (isAlone && isShort)) {
            double backoff = backoffLimit(failures) * uniform.getAsDouble();
            report.due = clock.getAsDouble() + Math.max(pause, backoff);
        } else {
            drawTimes(Collections.singletonList(report));
        }
    }

    /** Draws a time for each report, independently of all others. */
    private void drawTimes(List<Report> drawn) {
        double now = clock.getAsDouble();
        Map<String, Integer> counts = countReports();
        for (Report each : drawn) {
            Collector collector = collectorOf(each);
            if (each.isNew && !each.isTried && collector.failures == 0) {
                each.due = now + each.spread * uniform.getAsDouble();
            } else {
                double wait = -meanSeconds(each, counts) * Math.log(1 - uniform.getAsDouble());
                each.due = Math.max(now, Math.max(collector.roundedPauseEnd, each.pauseEnd)) + wait;
            }
        }
    }

    private Collector collectorOf(Report report) {
        Collector found = collectors.get(report.survey.origin);
        return found == null ? new Collector() : found;
    }

    /** Returns the number of waiting reports of each collector. */
    private Map<String, Integer> countReports() {
        Map<String, Integer> counts = new HashMap<>();
        for (Report each : reports.values()) counts.merge(each.survey.origin, 1, Integer::sum);
        return counts;
    }

    private static double meanSeconds(Report report, Map<String, Integer> counts) {
        int count = counts.get(report.survey.origin);
        double minimum = count > 1 ? MIN_MEAN_SECONDS : 0;
        return Math.max(report.spread, Math.max(count * MAX_BACKOFF_SECONDS, minimum));
    }

    /** Limits the seconds that a collector asks a device to wait: at most a day; 0 if it asks for none. */
    static double limit(double seconds) {
        return seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : 0; // NaN is not above 0
    }

    /**
     * Rounds limited seconds up to a step that all devices share: by exact times, a collector could mark a
     * device.
     */
    static double roundUp(double seconds) {
        int step = 0;
        while (STEPS_SECONDS[step] < seconds) step++;
        return STEPS_SECONDS[step];
    }

    /** Returns the longest backoff after a number of failures in a row; it doubles with every failure. */
    static double backoffLimit(int failures) {
        return Math.min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * (1 << Math.min(failures, 16)));
    }

    /** Draws a number uniformly from [0, 1); sending times are drawn with it, independently of the report. */
    static double drawUniform() {
        try {
            return (ByteBuffer.wrap(RandomSource.SYSTEM.take(4)).getInt() & 0xFFFFFFFFL) / 4294967296.0;
        } catch (RuntimeException error) {
            return Math.random(); // a report that is made must be sent
        }
    }

    private SurveyIdentity chooseRandom(List<Report> ready) {
        return ready.get((int) (uniform.getAsDouble() * ready.size())).survey;
    }
}
