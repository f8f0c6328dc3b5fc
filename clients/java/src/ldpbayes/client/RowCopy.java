package ldpbayes.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import ldpbayes.survey.Feature;
import ldpbayes.survey.Plan;

/**
 * Copies a row: the application may change its objects meanwhile, and each value is read once.
 *
 * <p>The application's own objects may throw anything, with a value in its text, so their exceptions are
 * marked.
 */
final class RowCopy {
    /** An exception of the application's objects, as the cause. */
    static final class ForeignException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        ForeignException(Throwable cause) {
            super(null, cause, false, false);
        }
    }

    private RowCopy() {
    }

    /** Returns the entries of a row that a plan asks for. */
    static Map<String, Object> of(Plan plan, Map<String, ?> row) {
        return guard(() -> {
            if (row == null) return null;
            Map<String, Object> copy = new LinkedHashMap<>();
            for (Feature each : plan.entries()) {
                if (row.containsKey(each.name())) copy.put(each.name(), copyValue(row.get(each.name())));
            }
            return copy;
        });
    }

    /** Returns a copy of one value. */
    static Object of(Object value) {
        return guard(() -> copyValue(value));
    }

    private static Object copyValue(Object value) {
        if (value instanceof CharSequence) return Objects.requireNonNull(value.toString());
        boolean isArray = value instanceof Object[];
        if (!isArray && !(value instanceof Collection)) return value;
        List<Object> copy = new ArrayList<>();
        for (Object each : isArray ? Arrays.asList((Object[]) value) : (Collection<?>) value) {
            copy.add(each instanceof CharSequence ? Objects.requireNonNull(each.toString()) : each);
        }
        return copy;
    }

    private static <T> T guard(Callable<T> read) {
        try {
            return read.call();
        } catch (Throwable error) {
            throw new ForeignException(error);
        }
    }
}
