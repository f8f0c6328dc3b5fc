package ldpbayes.client.sending;

import java.nio.ByteBuffer;
import java.util.function.DoubleSupplier;
import ldpbayes.RandomSource;

/** Computes the pause before the next attempt: the collector's Retry-After, and exponential backoff. */
final class RetryAfter {
    static final double FIRST_BACKOFF_SECONDS = 0.5;
    static final double MAX_BACKOFF_SECONDS = 300;
    static final double MAX_SECONDS = 86_400;
    private static final double[] STEPS_SECONDS = {0, 60, 3600, MAX_SECONDS};

    private RetryAfter() {
    }

    /** Limits the seconds that a collector asks a device to wait: at most a day; 0 if it asks for none. */
    static double limit(double seconds) {
        return seconds > 0 ? Math.min(seconds, MAX_SECONDS) : 0; // NaN is not above 0
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

    /** Draws a pause uniformly below the limit. */
    static double drawBackoff(int failures, DoubleSupplier uniform) {
        return backoffLimit(failures) * uniform.getAsDouble();
    }

    /** Draws a number uniformly from [0, 1); sending times are drawn with it, independently of the report. */
    static double drawUniform() {
        return (ByteBuffer.wrap(RandomSource.SYSTEM.take(4)).getInt() & 0xFFFFFFFFL) / 4294967296.0;
    }
}
