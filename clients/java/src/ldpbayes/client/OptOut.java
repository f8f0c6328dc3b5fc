package ldpbayes.client;

import java.util.Locale;
import java.util.function.BooleanSupplier;
import ldpbayes.Reason;

/**
 * What forbids all reports, whatever the person agreed to: environment variables, and the option {@code
 * optOut}.
 */
final class OptOut {
    private OptOut() {
    }

    /** Returns the exception that says why nothing may be drawn or sent; null if nothing forbids it. */
    static ConsentException find(BooleanSupplier isOptedOut) {
        for (String name : new String[] {"DO_NOT_TRACK", "LDP_CLIENT_OFF"}) {
            if (isSet(name)) return forbidden("the variable " + name + " is set", Reason.DO_NOT_TRACK);
        }
        if (isSet("LDP_REHEARSAL")) {
            return forbidden("LDP_REHEARSAL is set, and this client does not rehearse", Reason.REHEARSAL);
        }
        return asks(isOptedOut) ? forbidden("a setting forbids reports", Reason.DO_NOT_TRACK) : null;
    }

    /** Returns a function that says whether reports are forbidden. */
    static BooleanSupplier test(BooleanSupplier isOptedOut) {
        return () -> find(isOptedOut) != null;
    }

    /** Throws ConsentException if reports are forbidden. */
    static void requirePermission(BooleanSupplier isOptedOut) {
        ConsentException error = find(isOptedOut);
        if (error != null) throw error;
    }

    private static ConsentException forbidden(String cause, String reason) {
        return new ConsentException(cause + ": nothing is drawn or sent", reason);
    }

    /** Returns whether the application's function forbids reports; one that throws does. */
    private static boolean asks(BooleanSupplier isOptedOut) {
        try {
            return isOptedOut.getAsBoolean();
        } catch (Throwable error) {
            return true;
        }
    }

    private static boolean isSet(String name) {
        String value = System.getenv(name);
        return value != null && !value.isEmpty() && !value.equals("0")
            && !value.toLowerCase(Locale.ROOT).equals("false");
    }
}
